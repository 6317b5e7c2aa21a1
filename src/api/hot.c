/* SPDX-License-Identifier: MIT */
/* Counts and heat: of one post or comment, explained if asked for, and the hot lists. */
#include "api/handlers.h"
#include "api/internal.h"
#include "domain/heat.h"

static bool prepare_stats(struct exchange *ex, enum tidings_target target)
{
    ex->op.kind = TIDINGS_OP_STATS;
    ex->op.u.react.target = target;
    ex->op.u.react.id = ex->ids[0];
    return query_flag(ex, "explain", &ex->explain);
}

bool prepare_post_stats(struct exchange *ex)
{
    return prepare_stats(ex, TIDINGS_TARGET_POST);
}

bool prepare_comment_stats(struct exchange *ex)
{
    return prepare_stats(ex, TIDINGS_TARGET_COMMENT);
}

static void put_term(struct json_out *out, const char *name, uint64_t count, int64_t weight)
{
    json_out_object(out);
    json_out_key(out, "name");
    json_out_text(out, name);
    put_u64(out, "count", count);
    put_i64(out, "weight", weight);
    put_i64(out, "value", (int64_t)count * weight);
    json_out_end(out);
}

/* The terms add up to hot_score. */
static void put_terms(struct json_out *out, enum tidings_target target,
                      const struct tidings_counts *counts, const struct tidings_settings *settings)
{
    json_out_key(out, "terms");
    json_out_array(out);
    if (target == TIDINGS_TARGET_POST) {
        put_term(out, "like", counts->like_count, (int64_t)settings->hot_like);
        put_term(out, "fav", counts->fav_count, (int64_t)settings->hot_fav);
        put_term(out, "comment", counts->comment_count, (int64_t)settings->hot_comment);
    } else {
        put_term(out, "like", counts->like_count, (int64_t)settings->hot_comment_like);
        put_term(out, "reply", counts->reply_count, (int64_t)settings->hot_comment_reply);
        put_term(out, "down", counts->down_count, -(int64_t)settings->hot_comment_down);
    }
    json_out_end(out);
}

/* heat = hot_score * factor; null if heat does not decay. */
static void put_decay(struct json_out *out, const struct tidings_answer *answer,
                      const struct tidings_settings *settings)
{
    int64_t age_ms = answer->u.stats.age_ms;
    json_out_key(out, "decay");
    if (!settings->hot_half_life_hours) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_u64(out, "half_life_hours", settings->hot_half_life_hours);
    put_i64(out, "age_ms", age_ms);
    put_double(out, "factor", heat_decayed(settings, 1, age_ms));
    put_double(out, "heat", answer->u.stats.heat);
    json_out_end(out);
}

void render_stats(const struct exchange *ex, const struct tidings_answer *answer,
                  struct json_out *out)
{
    enum tidings_target target = ex->op.u.react.target;
    const struct tidings_settings *settings = &ex->api->config.settings;
    json_out_object(out);
    put_counts(out, target, &answer->u.stats.counts);
    if (ex->explain)
        put_terms(out, target, &answer->u.stats.counts, settings);
    if (ex->explain && target == TIDINGS_TARGET_POST)
        put_decay(out, answer, settings);
    json_out_end(out);
}

bool prepare_stats_many(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_STATS_MANY;
    return query_posts(ex);
}

void render_stats_many(const struct exchange *ex, const struct tidings_answer *answer,
                       struct json_out *out)
{
    (void)ex;
    begin_items(out);
    for (size_t i = 0; i < answer->u.stats_many.n; i++) {
        const struct tidings_stats_row *row = &answer->u.stats_many.rows[i];
        json_out_object(out);
        put_u64(out, "post_id", row->post_id);
        put_found(out, row->err);
        if (!row->err)
            put_counts(out, TIDINGS_TARGET_POST, &row->stats.counts);
        json_out_end(out);
    }
    end_items(out);
}

bool prepare_hot(struct exchange *ex)
{
    unsigned kind = 0;
    ex->op.kind = TIDINGS_OP_HOT;
    if (!query_word(ex, "kind", post_kinds, &kind))
        return false;
    ex->op.u.hot.kind = (enum tidings_post_kind)(kind + TIDINGS_NOTE);
    return query_page(ex, SEAL_HOT, &ex->op.u.hot.page);
}

void render_hot(const struct exchange *ex, const struct tidings_answer *answer,
                struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.hot.n; i++) {
        const struct tidings_hot_row *row = &answer->u.hot.rows[i];
        json_out_object(out);
        put_u64(out, "post_id", row->post_id);
        json_out_key(out, "kind");
        json_out_text(out, post_kind_name(ex->op.u.hot.kind));
        put_u64(out, "author_id", row->author_id);
        put_text(out, "author_name", row->author_name);
        put_text(out, "title", row->title);
        put_text(out, "excerpt", row->excerpt);
        put_i64(out, "created_at", row->created_at);
        put_stats(out, TIDINGS_TARGET_POST, &row->counts);
        put_double(out, "heat", row->heat);
        json_out_end(out);
    }
    json_out_end(out);
    put_cursor(ex, out, SEAL_HOT, answer->u.hot.next);
    json_out_end(out);
}
