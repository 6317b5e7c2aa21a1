/* SPDX-License-Identifier: MIT */
/* Counts, heat, and the hot lists. What the lists are ordered by is in domain/heat.h. */
#include "domain/heat.h"
#include "domain/ids.h"
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
    struct counts_record stored = view_counts(view, target.id);
    int64_t age_ms = view->now_ms - id_time_ms(target.id);
    *counts = post_counts(view, &stored);
    reply->answer->u.stats.age_ms = age_ms;
    reply->answer->u.stats.heat = heat_decayed(view->settings, counts->hot_score, age_ms);
    return TIDINGS_OK;
}

static void fill_row(struct view *view, struct reply *reply, uint64_t id)
{
    struct tidings_hot_row *row = &reply->answer->u.hot.rows[reply->answer->u.hot.n++];
    struct counts_record counts = view_counts(view, id);
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
    const struct tidings_page *page = &reply->op->u.hot.page;
    enum tidings_post_kind kind = reply->op->u.hot.kind;
    size_t limit = view_limit(view, page);
    struct key prefix = key_hot_list(kind), from = prefix;
    struct tidings_cursor last = {0, 0};
    struct bytes key, value;

    reply->answer->u.hot.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.hot.rows);
    if (page->after.a)
        from = page->after.b ? key_hot(kind, page->after.a, page->after.b - 1)
                             : key_hot(kind, page->after.a - 1, ID_MASK);
    bool found = kv_seek(view->txn, TABLE_HOT, &from, &key, &value);
    for (; found && key_has_prefix(key, &prefix) && !view_failed(view);
         found = kv_next(view->txn, TABLE_HOT, &key, &value)) {
        if (key.n != (size_t)prefix.n + 2 * ID_BYTES) {
            view_corrupt(view);
            break;
        }
        if (reply->answer->u.hot.n == limit) {
            reply->answer->u.hot.next = last;
            break;
        }
        last.a = get_id_descending(key.p + prefix.n);
        last.b = get_id_descending(key.p + prefix.n + ID_BYTES);
        fill_row(view, reply, last.b);
    }
    return TIDINGS_OK;
}
