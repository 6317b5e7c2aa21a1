/* SPDX-License-Identifier: MIT */
/* Everything that can be asked about reactions, comments and heat; see sweep.c. */
#include "sweep.h"

#include "invariants.h"

#include <inttypes.h>
#include <stdlib.h>

/* Asks as an admin, whom nothing is kept from. */
static struct tidings_op admin_question(const struct sweep *sweep, enum tidings_op_kind kind)
{
    struct tidings_op op = question(sweep, kind, sweep->run->recording->user_ids[0]);

    op.role = TIDINGS_ROLE_ADMIN;
    return op;
}

static bool same(struct sweep *sweep, uint64_t id, const char *what, uint64_t count, uint64_t rows)
{
    if (count == rows)
        return true;
    return run_fail(sweep->run, "%" PRIu64 ": %s %" PRIu64 ", but %" PRIu64 " rows", id, what,
                    count, rows);
}

/* The counts are the lengths of the lists. */
static bool sweep_target(struct sweep *sweep, enum tidings_target target, uint64_t id,
                         struct tidings_counts *counts)
{
    struct tidings_op stats = admin_question(sweep, TIDINGS_OP_STATS);
    struct tidings_op reactors = admin_question(sweep, TIDINGS_OP_REACTORS);
    uint64_t n;

    stats.u.react.target = target;
    stats.u.react.id = id;
    if (!ask(sweep, &stats))
        return false;
    *counts = sweep->run->answer.u.stats.counts;
    reactors.u.reactors.target = target;
    reactors.u.reactors.id = id;
    reactors.u.reactors.reaction = TIDINGS_LIKE;
    if (!page_through(sweep, reactors, &n) || !same(sweep, id, "likes", counts->like_count, n))
        return false;
    if (target == TIDINGS_TARGET_COMMENT)
        return true;
    reactors.u.reactors.reaction = TIDINGS_FAV;
    return page_through(sweep, reactors, &n) && same(sweep, id, "favs", counts->fav_count, n);
}

/* Pages through the comments of one parent and counts those that are visible. */
static bool count_visible(struct sweep *sweep, struct tidings_op op, uint64_t *rows,
                          uint64_t *visible)
{
    struct tidings_page *page = &op.u.comments.page;
    struct tidings_cursor model_after = {0, 0};

    page->limit = sweep->limit;
    *rows = *visible = 0;
    do {
        if (!run_op(sweep->run, &op, model_after))
            return false;
        *rows += sweep->run->answer.u.comments.n;
        for (size_t i = 0; i < sweep->run->answer.u.comments.n; i++)
            *visible += sweep->run->answer.u.comments.rows[i].status == TIDINGS_COMMENT_VISIBLE;
        page->after = answer_next(op.kind, &sweep->run->answer);
        model_after = run_model_next(sweep->run, &op);
    } while (page->after.a != 0 || page->after.b != 0);
    return true;
}

/* The comments under one parent in every order; as many in each. */
static bool sweep_level(struct sweep *sweep, uint64_t post_id, uint64_t parent_id,
                        uint64_t *visible)
{
    struct tidings_op op = admin_question(sweep, TIDINGS_OP_COMMENTS);
    uint64_t hot;
    uint64_t rows;

    op.u.comments.post_id = post_id;
    op.u.comments.parent_id = parent_id;
    op.u.comments.sort = TIDINGS_HOT;
    if (!count_visible(sweep, op, &hot, visible))
        return false;
    op.u.comments.include_hidden = true;
    op.u.comments.sort = TIDINGS_NEW;
    if (!page_through(sweep, op, &rows) || !same(sweep, post_id, "hot, new", hot, rows))
        return false;
    op.u.comments.sort = TIDINGS_OLD;
    return page_through(sweep, op, &rows) && same(sweep, post_id, "hot, old", hot, rows);
}

/* comment_count is the number of visible comments at every depth, reply_count of those below. */
static bool sweep_post(struct sweep *sweep, const struct model_post *post)
{
    struct tidings_counts counts;
    struct tidings_counts comment_counts;
    uint64_t visible;
    uint64_t all_visible;

    if (!sweep_target(sweep, TIDINGS_TARGET_POST, post->id, &counts) ||
        !sweep_level(sweep, post->id, 0, &all_visible))
        return false;
    for (size_t i = 0; i < post->n_comments; i++) {
        uint64_t id = sweep->run->model.comments[post->comments[i]].id;

        if (!sweep_target(sweep, TIDINGS_TARGET_COMMENT, id, &comment_counts) ||
            !sweep_level(sweep, post->id, id, &visible) ||
            !same(sweep, id, "replies", comment_counts.reply_count, visible))
            return false;
        all_visible += visible;
    }
    return same(sweep, post->id, "comments", counts.comment_count, all_visible);
}

static int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

/* A hot list has every post of its kind exactly once. */
static bool sweep_hot(struct sweep *sweep, enum tidings_post_kind kind)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_HOT, sweep->run->recording->user_ids[0]);
    const struct model *model = &sweep->run->model;
    uint64_t *ids = calloc(2 * model->n_posts + 2 * (size_t)sweep->limit, sizeof *ids);
    struct tidings_cursor model_after = {0, 0};
    size_t living = 0;
    size_t n = 0;
    bool ok;

    for (size_t i = 0; i < model->n_posts; i++)
        living += model->posts[i].kind == kind && !model->posts[i].deleted;
    op.u.hot.kind = kind;
    op.u.hot.page.limit = sweep->limit;
    do {
        ok = run_op(sweep->run, &op, model_after);
        for (size_t i = 0; ok && i < sweep->run->answer.u.hot.n; i++)
            ids[n++] = sweep->run->answer.u.hot.rows[i].post_id;
        op.u.hot.page.after = answer_next(op.kind, &sweep->run->answer);
        model_after = run_model_next(sweep->run, &op);
    } while (ok && n <= living && (op.u.hot.page.after.a != 0 || op.u.hot.page.after.b != 0));
    qsort(ids, n, sizeof *ids, by_number);
    ok = ok && same(sweep, (uint64_t)kind, "posts of the kind", living, n);
    for (size_t i = 1; ok && i < n; i++) {
        if (ids[i] == ids[i - 1])
            ok = run_fail(sweep->run, "post %" PRIu64 " is twice in a hot list", ids[i]);
    }
    free(ids);
    return ok;
}

bool sweep_interactions(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->run->model.n_posts; i++) {
        if (!sweep_post(sweep, &sweep->run->model.posts[i]))
            return false;
    }
    return sweep_hot(sweep, TIDINGS_NOTE) && sweep_hot(sweep, TIDINGS_ACTIVITY) &&
           sweep_hot(sweep, TIDINGS_STORY);
}

bool sweep_reacted(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_REACTED, viewer);
    struct tidings_op counters = question(sweep, TIDINGS_OP_COUNTERS, viewer);
    uint64_t liked;
    uint64_t faved;
    uint64_t n;

    counters.u.user.user_id = viewer;
    op.u.reactors.target = TIDINGS_TARGET_POST;
    op.u.reactors.reaction = TIDINGS_LIKE;
    if (!page_through(sweep, op, &liked))
        return false;
    op.u.reactors.reaction = TIDINGS_FAV;
    if (!page_through(sweep, op, &faved))
        return false;
    op.u.reactors.target = TIDINGS_TARGET_COMMENT;
    op.u.reactors.reaction = TIDINGS_LIKE;
    if (!page_through(sweep, op, &n) || !ask(sweep, &counters))
        return false;
    return same(sweep, viewer, "liked_posts", sweep->run->answer.u.counters.liked_posts, liked) &&
           same(sweep, viewer, "faved_posts", sweep->run->answer.u.counters.faved_posts, faved);
}
