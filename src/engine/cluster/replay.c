/* SPDX-License-Identifier: MIT */
/* What operators do from outside: they look at dead letters, have them told again, and send consumers back. */
#include "engine/cluster/cluster.h"

#include <stdio.h>

/* ---- Dead letters --------------------------------------------------------------------------- */

static enum sql_outcome list_dead(struct sql *sql,
                                  void (*tell)(void *ctx, const struct tidings_dead_letter *letter),
                                  void *ctx)
{
    struct buf text;
    char reason[256];
    buf_init(&text, 1 << 10);
    buf_literal(&text, "SELECT position, happened_at, CAST(UNIX_TIMESTAMP(noted_at) * 1000 AS "
                       "SIGNED), again, reason FROM dead_letter ORDER BY position");
    enum sql_outcome outcome = sql_send(sql, &text);
    while (!outcome && sql_row(sql)) {
        struct bytes why = sql_bytes(sql, 4);
        snprintf(reason, sizeof reason, "%.*s", (int)why.n, (const char *)why.p);
        tell(ctx, &(struct tidings_dead_letter){.event_id = sql_u64(sql, 0),
                                                .happened_at = sql_i64(sql, 1),
                                                .noted_at = sql_i64(sql, 2),
                                                .again = sql_u64(sql, 3),
                                                .reason = reason});
    }
    buf_release(&text);
    return outcome;
}

enum tidings_err engine_cluster_dead(const struct tidings_options *options, bool retry,
                                     void (*tell)(void *ctx,
                                                  const struct tidings_dead_letter *letter),
                                     void *ctx, const char **message)
{
    enum tidings_err err;
    struct sql *sql = cluster_connect(options, &err, message);
    if (!sql)
        return err;
    enum sql_outcome outcome = SQL_DONE;
    if (retry)
        outcome = sql_run_text(sql, "UPDATE dead_letter SET again=1");
    if (!outcome)
        outcome = list_dead(sql, tell, ctx);
    err = cluster_refused(sql, outcome, message);
    sql_close(sql);
    return err;
}

/* ---- Telling again -------------------------------------------------------------------------- */

static enum sql_outcome one_number(struct sql *sql, struct buf *text, uint64_t *number)
{
    enum sql_outcome outcome = sql_send(sql, text);
    if (!outcome && sql_row(sql))
        *number = sql_u64(sql, 0);
    buf_clear(text);
    return outcome;
}

/* Times grow with positions, but for what servers' clocks differ, and how long a change may have waited for its commit. */
enum { OUT_OF_ORDER_MS = 10 * 60 * 1000 };

/* A place before which nothing happened at that time or later. There is no index of times, and all that is kept may be much: it is
 * halved until nothing is between an event that is too early by far and the next one that is not. */
static enum sql_outcome find_place(struct sql *sql, struct buf *text, int64_t since_ms,
                                   uint64_t *place)
{
    uint64_t low = 0, high = 0;
    buf_literal(text, "SELECT MAX(position)+1 FROM outbox_event");
    enum sql_outcome outcome = one_number(sql, text, &high);
    while (!outcome && low < high) {
        uint64_t middle = low + (high - low) / 2, early = 0;
        buf_printf(text,
                   "SELECT position FROM (SELECT position, happened_at FROM outbox_event WHERE "
                   "position>=%llu ORDER BY position LIMIT 1) e WHERE happened_at<%lld",
                   (unsigned long long)middle, (long long)since_ms - OUT_OF_ORDER_MS);
        outcome = one_number(sql, text, &early);
        if (early)
            low = early + 1;
        else
            high = middle;
    }
    *place = low;
    return outcome;
}

/* The first event that is told again, 0 if there is none; and how far the consumer has come. */
static enum sql_outcome find(struct sql *sql, struct buf *text, enum tidings_consumer consumer,
                             uint64_t event_id, int64_t since_ms, uint64_t *first,
                             uint64_t *position)
{
    enum sql_outcome outcome = event_id ? SQL_DONE : find_place(sql, text, since_ms, &event_id);
    buf_printf(text,
               "SELECT position FROM outbox_event WHERE position>=%llu AND happened_at>=%lld "
               "ORDER BY position LIMIT 1",
               (unsigned long long)event_id, (long long)since_ms);
    outcome = outcome ? outcome : one_number(sql, text, first);
    buf_clear(text);
    buf_printf(text, "SELECT position FROM relay WHERE id=%u", (unsigned)consumer);
    return outcome ? outcome : one_number(sql, text, position);
}

/* One that is under way finds the position changed when it wants to move it, and looks again. */
static enum sql_outcome send_back(struct sql *sql, struct buf *text, enum tidings_consumer consumer,
                                  uint64_t first)
{
    buf_printf(text, "UPDATE relay SET position=LEAST(position, %llu) WHERE id=%u",
               (unsigned long long)first - 1, (unsigned)consumer);
    return sql_run(sql, text);
}

enum tidings_err engine_cluster_replay(const struct tidings_options *options,
                                       enum tidings_consumer consumer, uint64_t event_id,
                                       int64_t since_ms, uint64_t *first, uint64_t *positions,
                                       const char **message)
{
    enum tidings_err err;
    struct buf text;
    uint64_t position = 0;
    struct sql *sql = cluster_connect(options, &err, message);
    if (!sql)
        return err;
    *first = *positions = 0;
    buf_init(&text, 1 << 10);
    enum sql_outcome outcome = find(sql, &text, consumer, event_id, since_ms, first, &position);
    if (!outcome && *first && *first <= position) {
        outcome = send_back(sql, &text, consumer, *first);
        *positions = position - *first + 1;
    }
    err = cluster_refused(sql, outcome, message);
    buf_release(&text);
    sql_close(sql);
    return err;
}
