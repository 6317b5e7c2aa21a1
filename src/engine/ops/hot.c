/* SPDX-License-Identifier: MIT */
/* Counts, heat, and the hot lists. What the lists are ordered by is in domain/heat.h. */
#include "domain/heat.h"
#include "domain/ids.h"
#include "engine/ops/halves.h"
#include "engine/ops/target.h"

enum tidings_err answer_stats(struct view *view, struct reply *reply)
{
    struct target target;
    enum tidings_err err =
        target_look(view, reply, reply->op->u.react.target, reply->op->u.react.id, &target);
    if (err)
        return err;
    struct tidings_counts *counts = &reply->answer->u.stats.counts;
    if (target.kind == TIDINGS_TARGET_COMMENT) {
        *counts = comment_counts(view, &target.comment);
        return TIDINGS_OK;
    }
    struct counts_record stored = view->rows->get_counts(view, target.id);
    int64_t age_ms = view->now_ms - id_time_ms(target.id);
    *counts = post_counts(view, &stored);
    reply->answer->u.stats.age_ms = age_ms;
    reply->answer->u.stats.heat = heat_decayed(view->settings, counts->hot_score, age_ms);
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
        .created_at = id_time_ms(id),
        .counts = post_counts(view, &counts),
    };
    row->heat = heat_decayed(view->settings, row->counts.hot_score, view->now_ms - row->created_at);
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
