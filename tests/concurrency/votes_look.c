/* SPDX-License-Identifier: MIT */
/* The lookers; see votes.h. What must hold in one answer is checked by ask(). */
#include "votes.h"

#include "invariants.h"

#include <inttypes.h>
#include <string.h>

static bool is_among(const uint64_t *ids, uint64_t id)
{
    for (size_t i = 0; i < QUIET; i++) {
        if (ids[i] == id)
            return true;
    }
    return false;
}

/* ---- Lists in which others move ------------------------------------------------------------ */

/* Ids of the page that are among the quiet ones. */
static void gather(const struct tidings_op *op, const struct tidings_answer *answer,
                   const uint64_t *quiet, uint64_t *ids, size_t *n)
{
    bool posts = op->kind == TIDINGS_OP_HOT;
    size_t rows = posts ? answer->u.hot.n : answer->u.comments.n;

    for (size_t i = 0; i < rows && *n <= QUIET; i++) {
        uint64_t id = posts ? answer->u.hot.rows[i].post_id : answer->u.comments.rows[i].id;

        if (is_among(quiet, id))
            ids[(*n)++] = id;
    }
}

bool list_quiet_comments(struct booth *booth, uint64_t *ids, size_t *n)
{
    struct tidings_op op = op_of(TIDINGS_OP_COMMENTS, AUTHOR);
    struct tidings_cursor after = {0, 0};

    op.u.comments.post_id = booth->ballot->topic;
    op.u.comments.sort = TIDINGS_HOT;
    *n = 0;
    do {
        op.u.comments.page =
            (struct tidings_page){(uint32_t)rng_between(&booth->seat.rng, 1, 9), after};
        op.u.comments.include_hidden = rng_percent(&booth->seat.rng, 50);
        if (!ask(&booth->seat, &op))
            return false;
        gather(&op, &booth->seat.answer, booth->ballot->quiet_comments, ids, n);
        after = answer_next(op.kind, &booth->seat.answer);
    } while (after.a != 0 || after.b != 0);
    return true;
}

bool list_quiet_posts(struct booth *booth, uint64_t *ids, size_t *n)
{
    struct tidings_op op = op_of(TIDINGS_OP_HOT, AUTHOR);
    struct tidings_cursor after = {0, 0};

    op.u.hot.kind = TIDINGS_NOTE;
    *n = 0;
    do {
        op.u.hot.page =
            (struct tidings_page){(uint32_t)rng_between(&booth->seat.rng, 1, 40), after};
        if (!ask(&booth->seat, &op))
            return false;
        gather(&op, &booth->seat.answer, booth->ballot->quiet_posts, ids, n);
        after = answer_next(op.kind, &booth->seat.answer);
    } while (after.a != 0 || after.b != 0);
    return true;
}

static bool as_ever(struct booth *booth, const char *what, const uint64_t *was, const uint64_t *is,
                    size_t n)
{
    if (n == QUIET && memcmp(was, is, QUIET * sizeof *is) == 0)
        return true;
    world_fail(&booth->ballot->world,
               "of %d quiet %s %zu were listed, or not in the order they always were in", QUIET,
               what, n);
    return false;
}

/* ---- A moment in which nothing happens ----------------------------------------------------- */

/* Reads the events to their end; *n is how many there were. Everything that happens here writes one. */
static bool catch_up(struct booth *booth, uint64_t *n)
{
    struct tidings_op op = op_of(TIDINGS_OP_EVENTS, AUTHOR);

    op.role = TIDINGS_ROLE_SERVICE;
    op.u.page.limit = 100;
    *n = 0;
    do {
        op.u.page.after = booth->seat.event;
        if (!ask(&booth->seat, &op))
            return false;
        *n += booth->seat.answer.u.events.n;
        booth->seat.event = booth->seat.answer.u.events.next;
    } while (booth->seat.answer.u.events.n == op.u.page.limit);
    return true;
}

/* What was seen of one contested comment, and of its post. */
struct sight {
    struct tidings_counts stats;  /* by STATS */
    struct tidings_counts listed; /* by COMMENTS */
    uint64_t likers;              /* by REACTORS */
    uint64_t comment_count;       /* by POST */
    uint64_t visible;             /* by COMMENTS: those on the top level, and their replies */
};

/* All fit on a page. */
static bool see_comments(struct booth *booth, uint64_t id, struct sight *sight)
{
    struct tidings_op op = op_of(TIDINGS_OP_COMMENTS, AUTHOR);

    op.u.comments.post_id = booth->ballot->topic;
    op.u.comments.sort = TIDINGS_NEW;
    op.u.comments.page.limit = 100;
    if (!ask(&booth->seat, &op))
        return false;
    for (size_t i = 0; i < booth->seat.answer.u.comments.n; i++) {
        const struct tidings_comment *row = &booth->seat.answer.u.comments.rows[i];

        sight->visible += (row->status == TIDINGS_COMMENT_VISIBLE) + row->counts.reply_count;
        if (row->id == id)
            sight->listed = row->counts;
    }
    for (unsigned c = 0; c < CONTESTED; c++) {
        for (size_t i = 0; i < booth->seat.answer.u.comments.n; i++) {
            const struct tidings_comment *row = &booth->seat.answer.u.comments.rows[i];
            bool hidden = row->status == TIDINGS_COMMENT_HIDDEN;

            if (row->id != booth->ballot->comments[c])
                continue;
            if (hidden != booth->hidden[c])
                atomic_fetch_add(&booth->ballot->flips, 1);
            booth->hidden[c] = hidden;
        }
    }
    return true;
}

static bool see(struct booth *booth, uint64_t id, struct sight *sight)
{
    struct tidings_op stats = op_of(TIDINGS_OP_STATS, AUTHOR);
    struct tidings_op reactors = op_of(TIDINGS_OP_REACTORS, AUTHOR);
    struct tidings_op post = op_of(TIDINGS_OP_POST, AUTHOR);

    memset(sight, 0, sizeof *sight);
    stats.u.react.target = TIDINGS_TARGET_COMMENT;
    stats.u.react.id = id;
    if (!ask(&booth->seat, &stats))
        return false;
    sight->stats = booth->seat.answer.u.stats.counts;
    reactors.u.reactors.target = TIDINGS_TARGET_COMMENT;
    reactors.u.reactors.reaction = TIDINGS_LIKE;
    reactors.u.reactors.id = id;
    reactors.u.reactors.page.limit = 100;
    if (!ask(&booth->seat, &reactors))
        return false;
    sight->likers = booth->seat.answer.u.users.n;
    post.u.post.post_id = booth->ballot->topic;
    if (!ask(&booth->seat, &post))
        return false;
    sight->comment_count = booth->seat.answer.u.post.counts.comment_count;
    return see_comments(booth, id, sight);
}

bool look_at_a_quiet_moment(struct booth *booth, unsigned number)
{
    uint64_t id = booth->ballot->comments[number];
    struct sight sight;
    uint64_t n;

    if (!catch_up(booth, &n) || !see(booth, id, &sight) || !catch_up(booth, &n))
        return false;
    if (n > 0)
        return true;
    atomic_fetch_add(&booth->ballot->quiets, 1);
    if (memcmp(&sight.stats, &sight.listed, sizeof sight.stats) == 0 &&
        sight.stats.like_count == sight.likers && sight.comment_count == sight.visible)
        return true;
    world_fail(&booth->ballot->world,
               "comment %" PRIu64 ": stats %" PRIu64 " likes %" PRIu64 " downs %" PRIu64
               " replies; listed %" PRIu64 ", %" PRIu64 ", %" PRIu64 "; %" PRIu64
               " likers; %" PRIu64 " comments, %" PRIu64 " visible",
               id, sight.stats.like_count, sight.stats.down_count, sight.stats.reply_count,
               sight.listed.like_count, sight.listed.down_count, sight.listed.reply_count,
               sight.likers, sight.comment_count, sight.visible);
    return false;
}

bool look_around(struct booth *booth)
{
    uint64_t ids[QUIET + 1];
    size_t n;

    return list_quiet_comments(booth, ids, &n) &&
           as_ever(booth, "comments", booth->ballot->quiet_comments, ids, n) &&
           list_quiet_posts(booth, ids, &n) &&
           as_ever(booth, "posts", booth->ballot->quiet_posts, ids, n) &&
           look_at_a_quiet_moment(booth, (unsigned)rng_below(&booth->seat.rng, CONTESTED));
}
