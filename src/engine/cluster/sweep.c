/* SPDX-License-Identifier: MIT */
/*
 * What is nobody's any more is removed, some rows a transaction: history up to a clearing, events past their time, idempotency
 * keys likewise, messages of deleted stories' scenes. By one server at a time, though two would do no harm.
 */
#include "domain/ids.h"
#include "engine/cluster/cluster.h"
#include "engine/ops/ops.h"

enum { PIECE = 500, NO_SLOT = 255 };

static const struct tidings_op nobody;

/* Runs what stands on the desk and tells how many rows the last statement was about. */
static enum sql_outcome run(struct desk *desk, uint64_t *rows)
{
    enum sql_outcome outcome = sql_run_counted(desk->sql, &desk->text, rows);
    buf_clear(&desk->text);
    return outcome;
}

/* The numbers that a query answers with, PIECE at most. */
static enum sql_outcome list(struct desk *desk, uint64_t *numbers, size_t *n)
{
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    for (*n = 0; !outcome && *n < PIECE && sql_row(desk->sql);)
        numbers[(*n)++] = sql_u64(desk->sql, 0);
    buf_clear(&desk->text);
    return outcome;
}

/* Each of those that the query on the desk answers with. */
static enum sql_outcome sweep_listed(struct desk *desk,
                                     enum sql_outcome (*sweep)(struct desk *desk, uint64_t id,
                                                               bool *more),
                                     bool *more)
{
    uint64_t ids[PIECE];
    size_t n = 0;
    enum sql_outcome outcome = list(desk, ids, &n);
    *more = n == PIECE;
    for (size_t i = 0; i < n && !outcome; i++) {
        outcome = sweep(desk, ids[i], more);
        buf_clear(&desk->text);
    }
    return outcome;
}

/* ---- Events --------------------------------------------------------------------------------- */

/* What Kafka has not been told waits for that as long again as it is kept, if anybody is there to tell. */
struct held {
    uint64_t told;
    int64_t limit_ms; /* what is older waits no more */
};

static enum sql_outcome find_held(struct caretaker *caretaker, int64_t limit_ms, struct held *held)
{
    struct desk *desk = &caretaker->desk;
    int64_t days = (int64_t)caretaker->cluster->settings.event_days;
    *held = (struct held){.told = UINT64_MAX, .limit_ms = limit_ms - days * 24 * 60 * 60 * 1000};
    buf_literal(&desk->text, "SELECT position FROM relay WHERE id=1 AND wanted_at > NOW(3) - "
                             "INTERVAL 1 DAY");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome && sql_row(desk->sql))
        held->told = sql_u64(desk->sql, 0);
    buf_clear(&desk->text);
    return outcome;
}

static bool is_held(const struct held *held, const struct tidings_event *event)
{
    return event->event_id > held->told && event->happened_at >= held->limit_ms;
}

/* The first ones that are too old, in the order of their positions. */
static enum sql_outcome old_events(struct caretaker *caretaker, struct tidings_event *events,
                                   size_t *n, uint64_t *missed)
{
    struct held held;
    struct desk *desk = &caretaker->desk;
    struct desk_view own = desk_view_of(caretaker->cluster, desk, &nobody, 0);
    int64_t limit_ms = id_time_ms(event_oldest_kept(&own.view));
    struct question question = {.what = ASKS_NEWS,
                                .after = {0, INT64_MAX},
                                .up_to = NO_SLOT,
                                .most = PIECE,
                                .events = events};
    enum sql_outcome outcome = find_held(caretaker, limit_ms, &held);
    if (outcome)
        return outcome;
    question_put(desk, &question);
    outcome = sql_send(desk->sql, &desk->text);
    if (!outcome)
        question_take(desk, &question);
    buf_clear(&desk->text);
    for (*n = 0;
         *n < question.n && events[*n].happened_at < limit_ms && !is_held(&held, &events[*n]); ++*n)
        *missed += events[*n].event_id > held.told;
    return outcome;
}

/* Webhooks that have not had them yet never will. */
static enum sql_outcome forget(struct caretaker *caretaker, const struct tidings_event *events,
                               size_t n)
{
    struct desk *desk = &caretaker->desk;
    enum sql_outcome outcome = SQL_DONE;
    bool ready = false;
    while (!ready && !outcome) {
        struct desk_view own = desk_view_of(caretaker->cluster, desk, &nobody, 0);
        own.view.err = &own.err;
        for (size_t i = 0; i < n && !own.incomplete; i++)
            webhook_forget_event(&own.view, events[i].event_id, &events[i]);
        ready = !own.incomplete;
        if (!ready || own.err)
            sheet_undo(&desk->sheet);
        sheet_keep(&desk->sheet);
        if (!ready)
            outcome = desk_load(desk, 0);
    }
    return outcome;
}

static enum sql_outcome sweep_events(struct caretaker *caretaker, bool *more)
{
    struct tidings_event events[PIECE];
    struct desk *desk = &caretaker->desk;
    size_t n = 0;
    uint64_t missed = 0;
    enum sql_outcome outcome = old_events(caretaker, events, &n, &missed);
    *more = n == PIECE;
    if (outcome || !n)
        return outcome;
    outcome = sql_run_text(desk->sql, "BEGIN");
    if (!outcome)
        outcome = forget(caretaker, events, n);
    if (outcome)
        return outcome;
    desk_write(desk);
    if (missed)
        buf_printf(&desk->text, "UPDATE relay SET missed=missed+%llu WHERE id=1;",
                   (unsigned long long)missed);
    buf_printf(&desk->text, "DELETE FROM outbox_event WHERE position <= %llu;COMMIT",
               (unsigned long long)events[n - 1].event_id);
    return desk->sheet.failed ? SQL_FULL : sql_run(desk->sql, &desk->text);
}

/* ---- Idempotency keys ----------------------------------------------------------------------- */

static enum sql_outcome sweep_once(struct caretaker *caretaker, bool *more)
{
    struct desk *desk = &caretaker->desk;
    struct desk_view own = desk_view_of(caretaker->cluster, desk, &nobody, 0);
    uint64_t rows = 0;
    buf_printf(&desk->text, "DELETE FROM idempotency WHERE stamp < %llu LIMIT %d",
               (unsigned long long)once_oldest_kept(&own.view), PIECE);
    enum sql_outcome outcome = run(desk, &rows);
    *more = rows == PIECE;
    return outcome;
}

/* ---- History -------------------------------------------------------------------------------- */

/* Under the reader's lock: nobody clears more meanwhile. */
static enum sql_outcome sweep_reader(struct desk *desk, uint64_t reader, bool *more)
{
    uint64_t rows = 0;
    buf_printf(&desk->text,
               "BEGIN;SELECT history_cleared INTO @cleared FROM user WHERE user_id=%llu FOR UPDATE;"
               "DELETE FROM history WHERE user_id=%llu AND stamp <= @cleared LIMIT %d",
               (unsigned long long)reader, (unsigned long long)reader, PIECE);
    enum sql_outcome outcome = run(desk, &rows);
    if (rows == PIECE)
        *more = true;
    else
        buf_printf(&desk->text, "DELETE FROM history_cleared WHERE user_id=%llu;",
                   (unsigned long long)reader);
    buf_literal(&desk->text, "COMMIT");
    return outcome ? outcome : sql_run(desk->sql, &desk->text);
}

static enum sql_outcome sweep_history(struct caretaker *caretaker, bool *more)
{
    buf_printf(&caretaker->desk.text, "SELECT user_id FROM history_cleared LIMIT %d", PIECE);
    return sweep_listed(&caretaker->desk, sweep_reader, more);
}

/* ---- Scenes --------------------------------------------------------------------------------- */

static void put_ids(struct buf *text, const char *table, const uint64_t *ids, size_t n)
{
    buf_printf(text, "DELETE FROM %s WHERE scene_id IN (", table);
    for (size_t i = 0; i < n; i++)
        buf_printf(text, "%s%llu", i ? "," : "", (unsigned long long)ids[i]);
    buf_literal(text, ");");
}

static enum sql_outcome sweep_story(struct desk *desk, uint64_t story, bool *more)
{
    uint64_t scenes[PIECE];
    size_t n = 0;
    buf_printf(&desk->text,
               "SELECT s.scene_id FROM scene s JOIN scene_messages m ON m.scene_id = s.scene_id "
               "WHERE s.story_id=%llu LIMIT %d",
               (unsigned long long)story, PIECE);
    enum sql_outcome outcome = list(desk, scenes, &n);
    if (outcome)
        return outcome;
    buf_literal(&desk->text, "BEGIN;");
    if (n) {
        put_ids(&desk->text, "scene_message_id", scenes, n);
        put_ids(&desk->text, "scene_messages", scenes, n);
    }
    if (n == PIECE)
        *more = true;
    else
        buf_printf(&desk->text, "DELETE FROM story_closed WHERE story_id=%llu;",
                   (unsigned long long)story);
    buf_literal(&desk->text, "COMMIT");
    return sql_run(desk->sql, &desk->text);
}

static enum sql_outcome sweep_scenes(struct caretaker *caretaker, bool *more)
{
    buf_printf(&caretaker->desk.text, "SELECT story_id FROM story_closed LIMIT %d", PIECE);
    return sweep_listed(&caretaker->desk, sweep_story, more);
}

/* ---- News that has passed ------------------------------------------------------------------- */

static enum sql_outcome sweep_news(struct caretaker *caretaker, bool *more)
{
    struct desk *desk = &caretaker->desk;
    uint64_t rows = 0;
    buf_printf(&desk->text,
               "DELETE FROM passing_news WHERE told_at < NOW(3) - INTERVAL 60 SECOND LIMIT %d",
               PIECE);
    enum sql_outcome outcome = run(desk, &rows);
    *more = rows == PIECE;
    return outcome;
}

/* ---- All of it ------------------------------------------------------------------------------ */

bool cluster_sweep(struct caretaker *caretaker)
{
    static enum sql_outcome (*const sweeps[])(struct caretaker * caretaker, bool *more) = {
        sweep_events, sweep_once, sweep_history, sweep_scenes, sweep_news};
    struct desk *desk = &caretaker->desk;
    bool any = false;
    if (!desk_connect(caretaker->cluster, desk, 0))
        return false;
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps; i++) {
        bool more = false;
        enum sql_outcome outcome = sweeps[i](caretaker, &more);
        desk_clear(desk);
        if (outcome && (outcome == SQL_LOST || sql_run_text(desk->sql, "ROLLBACK"))) {
            sql_close(desk->sql);
            desk->sql = NULL;
            return false;
        }
        any |= more && !outcome;
    }
    return any;
}
