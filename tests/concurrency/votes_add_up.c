/* SPDX-License-Identifier: MIT */
/* When all have voted: the counts are what the rows say, and what the events say; see votes.h. */
#include "votes.h"

#include <inttypes.h>
#include <stdlib.h>

/* What the events alone say. */
struct tale {
    struct ballot *ballot;
    enum tidings_reaction votes[VOTES_USERS][CONTESTED];
    bool hidden[CONTESTED];
    uint64_t likes[CONTESTED];
    uint64_t downs[CONTESTED];
    int64_t comments; /* visible ones of the topic */
    int64_t liked[VOTES_USERS];
    int64_t faved[VOTES_USERS];
    bool moderated; /* the first comment, and not for the first time */
};

static bool same(struct ballot *ballot, uint64_t id, const char *what, uint64_t a, uint64_t b)
{
    if (a == b)
        return true;
    world_fail(&ballot->world, "in the end, %" PRIu64 ": %s: %" PRIu64 " and %" PRIu64, id, what, a,
               b);
    return false;
}

/* ---- The events ---------------------------------------------------------------------------- */

static bool find_comment(const struct tale *tale, uint64_t id, unsigned *number)
{
    for (*number = 0; *number < CONTESTED; ++*number) {
        if (tale->ballot->comments[*number] == id)
            return true;
    }
    return false;
}

/* Nobody sets what is set, removes what is not, or has both. */
static bool tell_vote(struct tale *tale, const struct tidings_event *event, unsigned c)
{
    bool set = event->type == TIDINGS_EVENT_VOTE_CREATED;
    enum tidings_reaction *vote = &tale->votes[event->actor_user_id % VOTES_USERS][c];

    if (*vote != (set ? 0 : event->reaction) || event->delta != (set ? +1 : -1)) {
        world_fail(&tale->ballot->world, "event %" PRIu64 ": %d after %d", event->event_id,
                   (int)event->reaction, (int)*vote);
        return false;
    }
    *vote = set ? event->reaction : 0;
    *(event->reaction == TIDINGS_LIKE ? &tale->likes[c] : &tale->downs[c]) +=
        (uint64_t)event->delta;
    return true;
}

/* It folds when the votes say so, and is back when they no longer do; unless a moderator says. */
static bool tell_folding(struct tale *tale, const struct tidings_event *event, unsigned c)
{
    const struct tidings_settings *s = &tale->ballot->world.options.settings;
    bool hidden = event->type == TIDINGS_EVENT_COMMENT_HIDDEN;
    bool folds = tale->downs[c] >= s->fold_down &&
                 tale->downs[c] * 100 >= s->fold_percent * (tale->likes[c] + 1);
    bool moderator = event->actor_user_id == MODERATOR;

    tale->moderated = tale->moderated || moderator;
    if (hidden == tale->hidden[c] || (!moderator && hidden != folds) ||
        (c == 0 && tale->moderated && !moderator)) {
        world_fail(&tale->ballot->world,
                   "event %" PRIu64 ": comment %u hidden %d with %" PRIu64 " likes, %" PRIu64
                   " downs",
                   event->event_id, c, hidden, tale->likes[c], tale->downs[c]);
        return false;
    }
    tale->hidden[c] = hidden;
    return true;
}

static bool tell(struct tale *tale, const struct tidings_event *event)
{
    uint64_t actor = event->actor_user_id % VOTES_USERS;
    bool known;
    unsigned c;

    known = find_comment(tale, event->target_id, &c);
    switch (event->type) {
    case TIDINGS_EVENT_VOTE_CREATED:
    case TIDINGS_EVENT_VOTE_DELETED:
        return !known || tell_vote(tale, event, c);
    case TIDINGS_EVENT_COMMENT_HIDDEN:
    case TIDINGS_EVENT_COMMENT_RESTORED:
        tale->comments += event->delta;
        return !known || tell_folding(tale, event, c);
    case TIDINGS_EVENT_COMMENT_CREATED:
    case TIDINGS_EVENT_COMMENT_DELETED:
        tale->comments += event->delta;
        return true;
    case TIDINGS_EVENT_REACTION_CREATED:
    case TIDINGS_EVENT_REACTION_DELETED:
        *(event->reaction == TIDINGS_LIKE ? &tale->liked[actor] : &tale->faved[actor]) +=
            event->delta;
        return true;
    default:
        return true;
    }
}

static bool read_tale(struct seat *seat, struct tale *tale)
{
    struct tidings_op op = op_of(TIDINGS_OP_EVENTS, AUTHOR);
    size_t n;

    op.role = TIDINGS_ROLE_SERVICE;
    op.u.page.limit = 100;
    do {
        if (!ask(seat, &op))
            return false;
        n = seat->answer.u.events.n;
        for (size_t i = 0; i < n; i++) {
            if (!tell(tale, &seat->answer.u.events.rows[i]))
                return false;
        }
        op.u.page.after = seat->answer.u.events.next;
    } while (n > 0);
    return true;
}

/* ---- What is there ------------------------------------------------------------------------- */

/* The comments as this user sees them: with their own votes. */
static bool users_votes(struct seat *seat, const struct tale *tale, uint64_t user,
                        const enum tidings_reaction *votes)
{
    struct tidings_op op = op_of(TIDINGS_OP_COMMENTS, user);

    op.u.comments.post_id = tale->ballot->topic;
    op.u.comments.sort = TIDINGS_OLD;
    op.u.comments.page.limit = CONTESTED;
    if (!ask(seat, &op))
        return false;
    for (unsigned c = 0; c < CONTESTED; c++) {
        const struct tidings_comment *row = &seat->answer.u.comments.rows[c];
        enum tidings_reaction vote = row->liked       ? TIDINGS_LIKE
                                     : row->downvoted ? TIDINGS_DOWNVOTE
                                                      : 0;

        if (!same(tale->ballot, row->id, "the comment", row->id, tale->ballot->comments[c]) ||
            !same(tale->ballot, row->id, "a vote", vote, votes[c]) ||
            !same(tale->ballot, row->id, "likes", row->counts.like_count, tale->likes[c]) ||
            !same(tale->ballot, row->id, "downvotes", row->counts.down_count, tale->downs[c]) ||
            !same(tale->ballot, row->id, "hidden", row->status == TIDINGS_COMMENT_HIDDEN,
                  tale->hidden[c]))
            return false;
    }
    return true;
}

static bool votes_are_there(struct seat *seat, const struct tale *tale, struct booth *voters)
{
    for (uint64_t user = FIRST_SHARED_USER; user < VOTES_USERS; user++) {
        if (!users_votes(seat, tale, user, tale->votes[user]))
            return false;
    }
    for (unsigned i = 0; i < VOTERS * OWN_USERS; i++) {
        struct booth *voter = &voters[i / OWN_USERS];

        if (!users_votes(seat, tale, own_user(voter, i % OWN_USERS), voter->votes[i % OWN_USERS]))
            return false;
    }
    return true;
}

/* The tale's votes are the recount of its counts. */
static bool tale_adds_up(const struct tale *tale)
{
    for (unsigned c = 0; c < CONTESTED; c++) {
        uint64_t likes = 0;
        uint64_t downs = 0;

        for (unsigned user = 0; user < VOTES_USERS; user++) {
            likes += tale->votes[user][c] == TIDINGS_LIKE;
            downs += tale->votes[user][c] == TIDINGS_DOWNVOTE;
        }
        if (!same(tale->ballot, c, "likes, by events", tale->likes[c], likes) ||
            !same(tale->ballot, c, "downvotes, by events", tale->downs[c], downs))
            return false;
    }
    return true;
}

/* Posts of an author, and the likes and favs on them. */
struct received {
    uint64_t *ids;
    size_t n;
    uint64_t likes;
    uint64_t favs;
};

static void gather(void *ctx, uint64_t id)
{
    struct received *received = ctx;

    received->ids = realloc(received->ids, (received->n + 1) * sizeof *received->ids);
    received->ids[received->n++] = id;
}

static bool count_list(struct seat *seat, uint64_t id, enum tidings_reaction reaction, uint64_t *n)
{
    struct tidings_op op = op_of(TIDINGS_OP_REACTORS, AUTHOR);

    op.u.reactors.target = TIDINGS_TARGET_POST;
    op.u.reactors.reaction = reaction;
    op.u.reactors.id = id;
    op.u.reactors.page.limit = 100; /* more than there are users who vote */
    if (!ask(seat, &op))
        return false;
    *n = seat->answer.u.users.n;
    return true;
}

static bool recount_post(struct seat *seat, struct ballot *ballot, uint64_t id,
                         struct received *received)
{
    struct tidings_op op = op_of(TIDINGS_OP_STATS, AUTHOR);
    uint64_t likes;
    uint64_t favs;

    op.u.react.target = TIDINGS_TARGET_POST;
    op.u.react.id = id;
    if (!count_list(seat, id, TIDINGS_LIKE, &likes) || !count_list(seat, id, TIDINGS_FAV, &favs) ||
        !ask(seat, &op))
        return false;
    received->likes += likes;
    received->favs += favs;
    return same(ballot, id, "likes", seat->answer.u.stats.counts.like_count, likes) &&
           same(ballot, id, "favs", seat->answer.u.stats.counts.fav_count, favs);
}

static bool author_adds_up(struct seat *seat, struct ballot *ballot, uint64_t author)
{
    struct tidings_op page = op_of(TIDINGS_OP_AUTHOR_PAGE, author);
    struct tidings_op counters = op_of(TIDINGS_OP_COUNTERS, author);
    struct received received = {0};
    bool ok;

    page.u.feed.author_id = author;
    counters.u.user.user_id = author;
    ok = page_through(seat, page, UINT32_MAX, gather, &received);
    for (size_t i = 0; ok && i < received.n; i++)
        ok = recount_post(seat, ballot, received.ids[i], &received);
    ok =
        ok && ask(seat, &counters) &&
        same(ballot, author, "likes received", seat->answer.u.counters.likes_received,
             received.likes) &&
        same(ballot, author, "favs received", seat->answer.u.counters.favs_received, received.favs);
    free(received.ids);
    return ok;
}

static bool users_add_up(struct seat *seat, const struct tale *tale)
{
    for (uint64_t user = FIRST_QUIET_USER; user < VOTES_USERS; user++) {
        struct tidings_op op = op_of(TIDINGS_OP_COUNTERS, user);

        op.u.user.user_id = user;
        if (!ask(seat, &op) ||
            !same(tale->ballot, user, "liked posts", seat->answer.u.counters.liked_posts,
                  (uint64_t)tale->liked[user]) ||
            !same(tale->ballot, user, "faved posts", seat->answer.u.counters.faved_posts,
                  (uint64_t)tale->faved[user]))
            return false;
    }
    return true;
}

static bool topic_adds_up(struct seat *seat, const struct tale *tale)
{
    struct tidings_op op = op_of(TIDINGS_OP_POST, AUTHOR);

    op.u.post.post_id = tale->ballot->topic;
    return ask(seat, &op) &&
           same(tale->ballot, op.u.post.post_id, "comments",
                seat->answer.u.post.counts.comment_count, (uint64_t)tale->comments);
}

bool votes_add_up(struct ballot *ballot, struct booth *voters)
{
    struct tale *tale = calloc(1, sizeof *tale);
    struct seat *seat = &voters[0].seat;
    bool ok;

    tale->ballot = ballot;
    ok = world_verify(&ballot->world) && read_tale(seat, tale) && tale_adds_up(tale) &&
         votes_are_there(seat, tale, voters) && users_add_up(seat, tale) &&
         topic_adds_up(seat, tale) && author_adds_up(seat, ballot, AUTHOR) &&
         author_adds_up(seat, ballot, DOOMED_AUTHOR) && look_around(&voters[0]);
    for (unsigned c = 0; ok && c < CONTESTED; c++)
        ok = look_at_a_quiet_moment(&voters[0], c);
    free(tale);
    return ok;
}
