/* SPDX-License-Identifier: MIT */
/* Counts, heat, and the hot lists. What the lists are ordered by is in domain/heat.h. */
#include "domain/heat.h"
#include "domain/ids.h"
#include "domain/permit.h"
#include "engine/ops/halves.h"
#include "engine/ops/target.h"

static struct tidings_target_stats stats_of(struct view *view, const struct target *target)
{
    struct tidings_target_stats stats = {0};
    if (target->kind == TIDINGS_TARGET_COMMENT) {
        stats.counts = comment_counts(view, &target->comment);
        return stats;
    }
    struct counts_record stored = view->rows->get_counts(view, target->id);
    stats.counts = post_counts(view, &stored);
    stats.age_ms = view->now_ms - id_time_ms(target->id);
    stats.heat = heat_decayed(view->settings, stats.counts.hot_score, stats.age_ms);
    return stats;
}

enum tidings_err answer_stats(struct view *view, struct reply *reply)
{
    struct target target;
    enum tidings_err err =
        target_look(view, reply, reply->op->u.react.target, reply->op->u.react.id, &target);
    if (!err)
        reply->answer->u.stats = stats_of(view, &target);
    return err;
}

static struct tidings_stats_row stats_row(struct view *view, const struct tidings_op *op,
                                          uint64_t id)
{
    struct tidings_stats_row row = {.post_id = id};
    struct target target;
    if (!target_find(view, TIDINGS_TARGET_POST, id, &target))
        row.err = TIDINGS_NOT_FOUND;
    else if (target_is_gone(&target) && !permits_admin(op))
        row.err = TIDINGS_DELETED;
    else
        row.stats = stats_of(view, &target);
    return row;
}

enum tidings_err answer_stats_many(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    size_t n = op->u.posts.n_post_ids;
    struct tidings_stats_row *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; rows && i < n && !view_failed(view); i++)
        rows[i] = stats_row(view, op, op->u.posts.post_ids[i]);
    reply->answer->u.stats_many.rows = rows;
    reply->answer->u.stats_many.n = n;
    return TIDINGS_OK;
}

static void fill_row(struct view *view, struct reply *reply, uint64_t id,
                     struct tidings_hot_row *row)
{
    struct counts_record counts = view->rows->get_counts(view, id);
    struct post_record post;
    if (!view_post(view, id, &post)) {
        view_corrupt(view);
        return;
    }
    *row = (struct tidings_hot_row){
        .post_id = id,
        .author_id = post.author,
        .title = view_text(view, reply->arena, post.title),
        .excerpt = view_text(view, reply->arena, post.excerpt),
        .created_at = view_time(view, id),
        .counts = post_counts(view, &counts),
    };
    row->heat = heat_decayed(view->settings, row->counts.hot_score, view->now_ms - id_time_ms(id));
    view_profile(view, post.author, reply->arena, &row->author_name, NULL);
}

enum tidings_err answer_hot(struct view *view, struct reply *reply)
{
    struct list list = {.kind = LIST_HOT, .of = reply->op->u.hot.kind};
    struct place *places;
    size_t n = view_page(view, &list, &reply->op->u.hot.page, &places, &reply->answer->u.hot.next);
    struct tidings_hot_row *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; i < n && !view_failed(view); i++)
        fill_row(view, reply, places[i].id, &rows[i]);
    reply->answer->u.hot.rows = rows;
    reply->answer->u.hot.n = n;
    return TIDINGS_OK;
}
