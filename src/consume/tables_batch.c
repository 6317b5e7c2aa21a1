/* SPDX-License-Identifier: MIT */
/*
 * Events as changes of rows. Follows and comments are written in the order of events, so that the last word of a row counts. Of a
 * reaction only the last word is written, and of the counts the sum: both sorted first.
 */
#include <stdlib.h>
#include <string.h>

#include "consume/tables_internal.h"
#include "domain/event_yl.h"
#include "domain/ids.h"

/* Rows of each kind that an event can change at most: a comment counts for its post and its parent, and has a row of its own. */
enum { STATS_AN_EVENT = 3, DELETES_TOGETHER = 200 };

struct reaction_change {
    uint64_t user_id, target_id, at;
    uint64_t target, reaction; /* words */
    size_t order;
    bool stands;
};

struct stats_change {
    enum tables_form_id form;
    uint64_t id;
    size_t order;
    int64_t delta[4]; /* in the order of the columns */
};

struct tables_batch {
    size_t n_follows, n_comments, n_reactions, n_stats;
    struct tidings_event follows[TABLES_EVENTS_MAX], comments[TABLES_EVENTS_MAX];
    struct reaction_change reactions[TABLES_EVENTS_MAX];
    struct stats_change stats[STATS_AN_EVENT * TABLES_EVENTS_MAX];
};

struct tables_batch *tables_batch_new(void)
{
    return calloc(1, sizeof(struct tables_batch));
}

void tables_batch_free(struct tables_batch *batch)
{
    free(batch);
}

void tables_batch_clear(struct tables_batch *batch)
{
    batch->n_follows = batch->n_comments = batch->n_reactions = batch->n_stats = 0;
}

/* ---- Events ------------------------------------------------------------------------------------ */

/* The counts' columns; a and c differ by what it is: like, fav or down, comment or reply. */
static void batch_count(struct tables_batch *batch, enum tables_form_id form, uint64_t id,
                        const int64_t delta[3], const uint64_t weight[3])
{
    struct stats_change *change = &batch->stats[batch->n_stats];
    *change = (struct stats_change){.form = form, .id = id, .order = batch->n_stats};
    for (int i = 0; i < 3; i++) {
        change->delta[i] = delta[i];
        change->delta[3] += delta[i] * (int64_t)weight[i];
    }
    if (form == FORM_COMMENT_STATS)
        change->delta[3] -= 2 * delta[1] * (int64_t)weight[1];
    batch->n_stats++;
}

static void batch_count_post(struct tables_batch *batch, enum tidings_post_kind kind, uint64_t id,
                             const int64_t delta[3], const struct tidings_settings *settings)
{
    const uint64_t weight[3] = {settings->hot_like, settings->hot_fav, settings->hot_comment};
    if (kind)
        batch_count(batch, kind == TIDINGS_ACTIVITY ? FORM_ACTIVITY_STATS : FORM_CONTENT_STATS, id,
                    delta, weight);
}

static void batch_count_comment(struct tables_batch *batch, uint64_t id, const int64_t delta[3],
                                const struct tidings_settings *settings)
{
    const uint64_t weight[3] = {settings->hot_comment_like, settings->hot_comment_down,
                                settings->hot_comment_reply};
    batch_count(batch, FORM_COMMENT_STATS, id, delta, weight);
}

static void batch_react(struct tables_batch *batch, const struct tidings_event *event,
                        bool on_comment, const struct tidings_settings *settings)
{
    const int64_t delta[3] = {event->reaction == TIDINGS_LIKE ? event->delta : 0,
                              event->reaction == TIDINGS_LIKE ? 0 : event->delta, 0};
    if (!on_comment && !event->post_kind)
        return;
    batch->reactions[batch->n_reactions] = (struct reaction_change){
        .user_id = event->actor_user_id,
        .target_id = event->target_id,
        .at = (uint64_t)event->happened_at,
        .target = tables_word_target(event, on_comment),
        .reaction = tables_word_reaction(event->reaction),
        .order = batch->n_reactions,
        .stands = event->delta > 0,
    };
    batch->n_reactions++;
    if (on_comment)
        batch_count_comment(batch, event->target_id, delta, settings);
    else
        batch_count_post(batch, event->post_kind, event->target_id, delta, settings);
}

/* The event's delta is what the visible comments become more by, of the post as of the parent. */
static void batch_comment(struct tables_batch *batch, const struct tidings_event *event,
                          const struct tidings_settings *settings)
{
    const int64_t delta[3] = {0, 0, event->delta}, none[3] = {0};
    batch->comments[batch->n_comments++] = *event;
    batch_count_post(batch, event->post_kind, event->post_id, delta, settings);
    if (event->parent_id)
        batch_count_comment(batch, event->parent_id, delta, settings);
    if (event->type == TIDINGS_EVENT_COMMENT_CREATED)
        batch_count_comment(batch, event->target_id, none, settings);
}

void tables_batch_add(struct tables_batch *batch, const struct tidings_event *event,
                      const struct tidings_settings *settings)
{
    static const int64_t none[3] = {0};
    switch (event->type) {
    case TIDINGS_EVENT_FOLLOW_CREATED:
    case TIDINGS_EVENT_FOLLOW_CANCELED:
        batch->follows[batch->n_follows++] = *event;
        break;
    case TIDINGS_EVENT_POST_PUBLISHED:
        batch_count_post(batch, event->post_kind, event->target_id, none, settings);
        break;
    case TIDINGS_EVENT_REACTION_CREATED:
    case TIDINGS_EVENT_REACTION_DELETED:
        batch_react(batch, event, false, settings);
        break;
    case TIDINGS_EVENT_VOTE_CREATED:
    case TIDINGS_EVENT_VOTE_DELETED:
        batch_react(batch, event, true, settings);
        break;
    case TIDINGS_EVENT_COMMENT_CREATED:
    case TIDINGS_EVENT_COMMENT_HIDDEN:
    case TIDINGS_EVENT_COMMENT_RESTORED:
    case TIDINGS_EVENT_COMMENT_DELETED:
        batch_comment(batch, event, settings);
        break;
    default:
        break;
    }
}

/* ---- Follows ----------------------------------------------------------------------------------- */

/* An unfollow keeps the row, its id and since when; where there is no row it makes one that says so. */
static void batch_put_follows(const struct tables_batch *batch, struct buf *text, const char *table)
{
    if (!batch->n_follows)
        return;
    buf_literal(text, ";INSERT INTO ");
    buf_text(text, table);
    buf_literal(text, " (id,from_user_id,to_user_id,rel_status,created_at,updated_at) VALUES ");
    for (size_t i = 0; i < batch->n_follows; i++) {
        const struct tidings_event *event = &batch->follows[i];
        tables_put(text, i ? ",(" : "(", event->event_id);
        tables_put(text, ",", event->actor_user_id);
        tables_put(text, ",", event->target_id);
        buf_text(text, event->type == TIDINGS_EVENT_FOLLOW_CREATED ? ",1," : ",0,");
        tables_put_time(text, (uint64_t)event->happened_at);
        buf_char(text, ',');
        tables_put_time(text, (uint64_t)event->happened_at);
        buf_char(text, ')');
    }
    buf_literal(text, " ON DUPLICATE KEY UPDATE id=IF(VALUES(rel_status)=1,VALUES(id),id)"
                      ",created_at=IF(VALUES(rel_status)=1,VALUES(created_at),created_at)"
                      ",rel_status=VALUES(rel_status),updated_at=VALUES(updated_at)");
}

/* ---- Reactions ---------------------------------------------------------------------------------- */

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_places(const struct reaction_change *a, const struct reaction_change *b)
{
    int order = compare_u64(a->user_id, b->user_id);
    if (!order)
        order = compare_u64(a->target, b->target);
    if (!order)
        order = compare_u64(a->target_id, b->target_id);
    return order ? order : compare_u64(a->reaction, b->reaction);
}

static int compare_reactions(const void *a, const void *b)
{
    const struct reaction_change *one = a, *other = b;
    int order = compare_places(one, other);
    return order ? order : compare_u64(one->order, other->order);
}

/* Sorted, only the last of each. */
static void batch_sort_reactions(struct tables_batch *batch)
{
    struct reaction_change *rows = batch->reactions;
    size_t n = 0;
    qsort(rows, batch->n_reactions, sizeof *rows, compare_reactions);
    for (size_t i = 0; i < batch->n_reactions; i++)
        if (i + 1 == batch->n_reactions || compare_places(&rows[i], &rows[i + 1]))
            rows[n++] = rows[i];
    batch->n_reactions = n;
}

static struct tables_row row_of(const struct reaction_change *change)
{
    return (struct tables_row){{(int64_t)change->user_id, (int64_t)change->target,
                                (int64_t)change->target_id, (int64_t)change->reaction,
                                (int64_t)change->at}};
}

static void batch_put_reactions(struct tables_batch *batch, struct buf *text)
{
    struct tables_row rows[DELETES_TOGETHER];
    for (int stands = 0; stands < 2; stands++) {
        size_t n = 0;
        for (size_t i = 0; i <= batch->n_reactions; i++) {
            bool end = i == batch->n_reactions;
            if (n && (end || n == DELETES_TOGETHER)) {
                (stands ? tables_put_rows : tables_put_gone)(text, &tables_forms[FORM_REACTION],
                                                             rows, n);
                n = 0;
            }
            if (!end && batch->reactions[i].stands == stands)
                rows[n++] = row_of(&batch->reactions[i]);
        }
    }
}

/* ---- Comments ----------------------------------------------------------------------------------- */

static uint64_t batch_status(const struct tidings_event *event)
{
    switch (event->type) {
    case TIDINGS_EVENT_COMMENT_HIDDEN:
        return WORD_HIDDEN;
    case TIDINGS_EVENT_COMMENT_DELETED:
        return WORD_DELETED;
    default:
        return WORD_VISIBLE;
    }
}

/* Only the first event of a comment knows who wrote it, and is told before all others of it. */
static void batch_put_comments(const struct tables_batch *batch, struct buf *text)
{
    size_t n = 0;
    for (size_t i = 0; i < batch->n_comments; i++) {
        const struct tidings_event *event = &batch->comments[i];
        bool created = event->type == TIDINGS_EVENT_COMMENT_CREATED;
        if (!event->post_kind)
            continue;
        if (!n++)
            buf_literal(text, ";INSERT INTO yl_comment "
                              "(id,target_type,target_id,parent_id,user_id,status,created_at) "
                              "VALUES ");
        tables_put(text, n > 1 ? ",(" : "(", event->target_id);
        buf_literal(text, ",'");
        buf_text(text, tables_word(COLUMN_TARGET, tables_word_kind(event->post_kind)));
        tables_put(text, "',", event->post_id);
        if (event->parent_id)
            tables_put(text, ",", event->parent_id);
        else
            buf_literal(text, ",NULL");
        tables_put(text, ",", created ? event->actor_user_id : 0);
        buf_literal(text, ",'");
        buf_text(text, tables_word(COLUMN_STATUS, batch_status(event)));
        buf_literal(text, "',");
        tables_put_time(text, (uint64_t)id_time_ms(event->target_id));
        buf_char(text, ')');
    }
    if (n)
        buf_literal(text, " ON DUPLICATE KEY UPDATE status=VALUES(status)");
}

/* ---- Counts ------------------------------------------------------------------------------------- */

static int compare_stats(const void *a, const void *b)
{
    const struct stats_change *one = a, *other = b;
    int order = compare_u64(one->form, other->form);
    return order ? order : compare_u64(one->id, other->id);
}

static void batch_sum_stats(struct tables_batch *batch)
{
    struct stats_change *rows = batch->stats;
    size_t n = 0;
    qsort(rows, batch->n_stats, sizeof *rows, compare_stats);
    for (size_t i = 0; i < batch->n_stats; i++) {
        if (n && !compare_stats(&rows[n - 1], &rows[i]))
            for (int k = 0; k < 4; k++)
                rows[n - 1].delta[k] += rows[i].delta[k];
        else
            rows[n++] = rows[i];
    }
    batch->n_stats = n;
}

static void batch_end_stats(struct buf *text, const struct tables_form *form)
{
    buf_literal(text, " ON DUPLICATE KEY UPDATE ");
    for (unsigned i = 1; i < form->n; i++) {
        const char *name = form->columns[i].name;
        buf_text(text, i > 1 ? "," : "");
        buf_text(text, name);
        buf_char(text, '=');
        buf_text(text, name);
        buf_literal(text, "+VALUES(");
        buf_text(text, name);
        buf_char(text, ')');
    }
}

static void batch_begin_stats(struct buf *text, const struct tables_form *form)
{
    buf_literal(text, ";INSERT INTO ");
    buf_text(text, form->table);
    buf_literal(text, " (");
    tables_put_columns(text, form);
    buf_literal(text, ") VALUES ");
}

static void batch_put_stats(const struct tables_batch *batch, struct buf *text)
{
    const struct stats_change *rows = batch->stats;
    for (size_t i = 0; i < batch->n_stats; i++) {
        bool first = !i || rows[i - 1].form != rows[i].form;
        bool last = i + 1 == batch->n_stats || rows[i + 1].form != rows[i].form;
        if (first)
            batch_begin_stats(text, &tables_forms[rows[i].form]);
        tables_put(text, first ? "(" : ",(", rows[i].id);
        for (int k = 0; k < 4; k++) {
            buf_char(text, ',');
            buf_i64(text, rows[i].delta[k]);
        }
        buf_char(text, ')');
        if (last)
            batch_end_stats(text, &tables_forms[rows[i].form]);
    }
}

/* ------------------------------------------------------------------------------------------------- */

void tables_batch_put(struct tables_batch *batch, struct buf *text)
{
    batch_sort_reactions(batch);
    batch_sum_stats(batch);
    batch_put_follows(batch, text, "following");
    batch_put_follows(batch, text, "follower");
    batch_put_reactions(batch, text);
    batch_put_comments(batch, text);
    batch_put_stats(batch, text);
}
