/* SPDX-License-Identifier: MIT */
/* The voters; see votes.h. */
#include "votes.h"

#include "scenes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

uint64_t own_user(const struct booth *booth, unsigned i)
{
    return FIRST_OWN_USER + booth->seat.number * OWN_USERS + i;
}

static bool is_own(const struct booth *booth, uint64_t user, unsigned *i)
{
    *i = (unsigned)(user - own_user(booth, 0));
    return user >= own_user(booth, 0) && *i < OWN_USERS;
}

static uint64_t some_voter(struct booth *booth)
{
    if (rng_percent(&booth->seat.rng, 30))
        return FIRST_SHARED_USER + rng_below(&booth->seat.rng, SHARED_USERS);
    return own_user(booth, (unsigned)rng_below(&booth->seat.rng, OWN_USERS));
}

static struct tidings_op react_op(bool set, uint64_t user, enum tidings_target target, uint64_t id,
                                  enum tidings_reaction reaction)
{
    struct tidings_op op = op_of(set ? TIDINGS_OP_REACT : TIDINGS_OP_UNREACT, user);

    op.u.react.target = target;
    op.u.react.id = id;
    op.u.react.reaction = reaction;
    return op;
}

/* ---- Voting -------------------------------------------------------------------------------- */

/* In waves that all threads share, so that comments fold and come back. */
static enum tidings_reaction some_vote(struct booth *booth)
{
    bool down = atomic_fetch_add(&booth->ballot->votes, 1) / WAVE % 2 == 0;

    return rng_percent(&booth->seat.rng, 85) == down ? TIDINGS_DOWNVOTE : TIDINGS_LIKE;
}

static void vote(struct booth *booth)
{
    unsigned c = (unsigned)rng_below(&booth->seat.rng, CONTESTED);
    enum tidings_reaction reaction = some_vote(booth);
    bool set = rng_percent(&booth->seat.rng, 75);
    uint64_t user = some_voter(booth);
    struct tidings_op op =
        react_op(set, user, TIDINGS_TARGET_COMMENT, booth->ballot->comments[c], reaction);
    unsigned i;

    if (!ask(&booth->seat, &op) || !is_own(booth, user, &i))
        return;
    if (booth->seat.answer.u.reaction.changed != ((booth->votes[i][c] == reaction) != set))
        world_fail(&booth->ballot->world,
                   "user %" PRIu64 " had %d on comment %" PRIu64 " and %s %d: changed %d", user,
                   (int)booth->votes[i][c], op.u.react.id, set ? "set" : "removed", (int)reaction,
                   booth->seat.answer.u.reaction.changed);
    if (set)
        booth->votes[i][c] = reaction;
    else if (booth->votes[i][c] == reaction)
        booth->votes[i][c] = 0;
}

static void like_a_post(struct booth *booth)
{
    struct world *world = &booth->ballot->world;
    uint64_t id = booth->ballot->posts[rng_below(&booth->seat.rng, CONTESTED)];
    struct tidings_op op;

    if (rng_percent(&booth->seat.rng, 60))
        id = atomic_load(&world->recent[rng_below(&booth->seat.rng, DOOMED)]);
    op = react_op(rng_percent(&booth->seat.rng, 65), some_voter(booth), TIDINGS_TARGET_POST, id,
                  rng_percent(&booth->seat.rng, 60) ? TIDINGS_LIKE : TIDINGS_FAV);
    if (id != 0)
        ask(&booth->seat, &op);
}

/* One of its own replies at a time: it comes, it goes. */
static void reply(struct booth *booth)
{
    struct tidings_op op = op_of(TIDINGS_OP_COMMENT, some_voter(booth));

    if (booth->reply != 0) {
        op = op_of(TIDINGS_OP_COMMENT_DELETE, booth->reply_user);
        op.u.comment_id.comment_id = booth->reply;
        booth->reply = 0;
        ask(&booth->seat, &op);
        return;
    }
    op.u.comment.post_id = booth->ballot->topic;
    op.u.comment.parent_id = booth->ballot->comments[rng_below(&booth->seat.rng, CONTESTED)];
    op.u.comment.body = (struct tidings_text){"so it is", 8};
    if (ask(&booth->seat, &op)) {
        booth->reply = booth->seat.answer.u.comment.id;
        booth->reply_user = op.user_id;
    }
}

static void publish_or_delete(struct booth *booth)
{
    struct world *world = &booth->ballot->world;
    struct tidings_op op = op_of(TIDINGS_OP_PUBLISH, DOOMED_AUTHOR);

    if (rng_percent(&booth->seat.rng, 50)) {
        op = op_of(TIDINGS_OP_DELETE, DOOMED_AUTHOR);
        op.u.post.post_id = atomic_load(&world->recent[rng_below(&booth->seat.rng, DOOMED)]);
        if (op.u.post.post_id != 0)
            ask(&booth->seat, &op);
        return;
    }
    op.u.publish.kind = TIDINGS_NOTE;
    op.u.publish.title = (struct tidings_text){"doomed", 6};
    if (ask(&booth->seat, &op))
        atomic_store(&world->recent[atomic_fetch_add(&world->recent_at, 1) % DOOMED],
                     booth->seat.answer.u.post.id);
}

static void moderate(struct booth *booth)
{
    bool hide = rng_percent(&booth->seat.rng, 50);
    struct tidings_op op =
        op_of(hide ? TIDINGS_OP_COMMENT_HIDE : TIDINGS_OP_COMMENT_RESTORE, MODERATOR);

    op.role = TIDINGS_ROLE_ADMIN;
    op.u.comment_id.comment_id = booth->ballot->comments[0];
    ask(&booth->seat, &op);
}

static void *voter(void *arg)
{
    struct booth *booth = arg;

    while (world_goes_on(&booth->ballot->world)) {
        unsigned way = (unsigned)rng_below(&booth->seat.rng, 100);

        if (way < 55)
            vote(booth);
        else if (way < 85)
            like_a_post(booth);
        else if (way < 97)
            reply(booth);
        else if (way < 99)
            publish_or_delete(booth);
        else
            moderate(booth);
    }
    return NULL;
}

static void *looker(void *arg)
{
    struct booth *booth = arg;

    while (world_goes_on(&booth->ballot->world) && look_around(booth))
        ;
    return NULL;
}

/* ---- Before and after ---------------------------------------------------------------------- */

static bool new_post(struct booth *booth, uint64_t *id)
{
    struct tidings_op op = op_of(TIDINGS_OP_PUBLISH, AUTHOR);

    op.u.publish.kind = TIDINGS_NOTE;
    op.u.publish.title = (struct tidings_text){"to be voted on", 14};
    if (!ask(&booth->seat, &op))
        return false;
    *id = booth->seat.answer.u.post.id;
    return true;
}

static bool new_comment(struct booth *booth, uint64_t *id)
{
    struct tidings_op op = op_of(TIDINGS_OP_COMMENT, AUTHOR);

    op.u.comment.post_id = booth->ballot->topic;
    op.u.comment.body = (struct tidings_text){"first", 5};
    if (!ask(&booth->seat, &op))
        return false;
    *id = booth->seat.answer.u.comment.id;
    return true;
}

static bool like_quietly(struct booth *booth, enum tidings_target target, uint64_t id, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        struct tidings_op op = react_op(true, FIRST_QUIET_USER + i, target, id, TIDINGS_LIKE);

        if (!ask(&booth->seat, &op))
            return false;
    }
    return true;
}

/* The quiet ones have no, few and many likes, so that the others pass between them. */
static bool set_up(struct booth *booth)
{
    struct ballot *ballot = booth->ballot;
    size_t n_comments;
    size_t n_posts;

    if (!new_post(booth, &ballot->topic))
        return false;
    for (unsigned i = 0; i < CONTESTED; i++) {
        if (!new_comment(booth, &ballot->comments[i]) || !new_post(booth, &ballot->posts[i]))
            return false;
    }
    for (unsigned i = 0; i < QUIET; i++) {
        unsigned likes = i % (QUIET_USERS + 1);

        if (!new_comment(booth, &ballot->quiet_comments[i]) ||
            !new_post(booth, &ballot->quiet_posts[i]) ||
            !like_quietly(booth, TIDINGS_TARGET_COMMENT, ballot->quiet_comments[i], likes) ||
            !like_quietly(booth, TIDINGS_TARGET_POST, ballot->quiet_posts[i], likes))
            return false;
    }
    /* From now on in the order in which they are listed. */
    uint64_t comments[QUIET + 1];
    uint64_t posts[QUIET + 1];

    if (!list_quiet_comments(booth, comments, &n_comments) ||
        !list_quiet_posts(booth, posts, &n_posts))
        return false;
    if (n_comments != QUIET || n_posts != QUIET) {
        world_fail(&ballot->world, "%zu comments and %zu posts are listed, not %d", n_comments,
                   n_posts, QUIET);
        return false;
    }
    memcpy(ballot->quiet_comments, comments, sizeof ballot->quiet_comments);
    memcpy(ballot->quiet_posts, posts, sizeof ballot->quiet_posts);
    return true;
}

static void run_threads(struct ballot *ballot, struct booth *booths)
{
    pthread_t threads[VOTERS + LOOKERS];

    ballot->world.end_ns = monotonic_ns() + (int64_t)test_seconds * 1000000000;
    for (unsigned i = 0; i < VOTERS + LOOKERS; i++)
        pthread_create(&threads[i], NULL, i < VOTERS ? voter : looker, &booths[i]);
    for (unsigned i = 0; i < VOTERS + LOOKERS; i++)
        pthread_join(threads[i], NULL);
}

bool votes_fold_and_unfold(const char *dir, uint64_t seed)
{
    struct ballot *ballot = calloc(1, sizeof *ballot);
    struct booth *booths = calloc(VOTERS + LOOKERS, sizeof *booths);
    struct tidings_options options;
    bool ok;

    tidings_options_init(&options);
    options.settings.map_mb = 4096;
    options.settings.react_burst = options.settings.comment_burst = 1000000;
    options.settings.publish_burst = 1000000;
    options.settings.react_refill_ms = options.settings.comment_refill_ms = 1;
    ok = world_open(&ballot->world, dir, seed, &options.settings);
    for (unsigned i = 0; i < VOTERS + LOOKERS; i++) {
        seat_init(&booths[i].seat, &ballot->world, 8, i);
        booths[i].ballot = ballot;
    }
    ok = ok && set_up(&booths[0]);
    if (ok)
        run_threads(ballot, booths);
    ok = ok && votes_add_up(ballot, booths) && world_reopen(&ballot->world) &&
         votes_add_up(ballot, booths);
    printf("    %" PRIu64 " answers, %" PRIu64 " votes, %" PRIu64 " times folded or back, %" PRIu64
           " quiet moments\n",
           (uint64_t)atomic_load(&ballot->world.answers), (uint64_t)atomic_load(&ballot->votes),
           (uint64_t)atomic_load(&ballot->flips), (uint64_t)atomic_load(&ballot->quiets));
    for (unsigned i = 0; i < VOTERS + LOOKERS; i++)
        seat_release(&booths[i].seat);
    ok = ok && !atomic_load(&ballot->world.failed);
    world_close(&ballot->world);
    free(booths);
    free(ballot);
    return ok;
}
