/* SPDX-License-Identifier: MIT */
#include "engine/cluster/consumer.h"

#include <stdio.h>

#include "base/wait.h"
#include "engine/cluster/cluster.h"

enum { NO_SLOT = 255, LEASE_S = CONSUMER_LEASE_MS / 1000 };

void consumer_init(struct consumer *consumer, struct cluster *cluster, enum tidings_consumer id,
                   bool reads)
{
    consumer->cluster = cluster;
    consumer->id = id;
    desk_init(cluster, &consumer->desk, reads);
    ticker_init(&consumer->ticker);
}

void consumer_release(struct consumer *consumer)
{
    desk_release(&consumer->desk);
    ticker_release(&consumer->ticker);
}

void consumer_note(struct consumer *consumer, const char *trouble)
{
    snprintf(consumer->trouble, sizeof consumer->trouble, "%s", trouble);
}

bool consumer_connect(struct consumer *consumer)
{
    return desk_connect(consumer->cluster, &consumer->desk, wait_now_ms() + CONSUMER_LEASE_MS);
}

void consumer_fail(struct consumer *consumer)
{
    desk_disconnect(&consumer->desk);
    buf_clear(&consumer->desk.text);
    if (wait_now_ms() - consumer->renewed_ms >= CONSUMER_LEASE_MS)
        consumer->held = false;
}

static enum sql_outcome run(struct consumer *consumer, uint64_t *rows)
{
    struct desk *desk = &consumer->desk;
    enum sql_outcome outcome = sql_run_counted(desk->sql, &desk->text, rows);
    buf_clear(&desk->text);
    return outcome;
}

/* ---- The lease ------------------------------------------------------------------------------ */

static enum sql_outcome read_row(struct consumer *consumer)
{
    struct desk *desk = &consumer->desk;
    buf_printf(&desk->text, "SELECT fence, position FROM relay WHERE id=%u",
               (unsigned)consumer->id);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome && sql_row(desk->sql)) {
        consumer->fence = sql_u64(desk->sql, 0);
        consumer->position = sql_u64(desk->sql, 1);
    }
    buf_clear(&desk->text);
    return outcome;
}

/* One who has it already takes it anew, too: under another fence. */
static enum sql_outcome take_row(struct consumer *consumer, bool *ours)
{
    uint64_t rows = 0;
    buf_printf(&consumer->desk.text,
               "UPDATE relay SET fence=fence+1, slot=%u, wanted_at=NOW(3), "
               "held_until=NOW(3) + INTERVAL %d SECOND "
               "WHERE id=%u AND (held_until < NOW(3) OR fence=%llu)",
               atomic_load(&consumer->cluster->slot), LEASE_S, (unsigned)consumer->id,
               (unsigned long long)consumer->fence);
    enum sql_outcome outcome = run(consumer, &rows);
    *ours = !outcome && rows;
    return outcome || !rows ? outcome : read_row(consumer);
}

bool consumer_take(struct consumer *consumer)
{
    bool ours = false;
    int64_t now_ms = wait_now_ms();
    if (now_ms < consumer->rest_until_ms)
        return false;
    if (take_row(consumer, &ours)) {
        consumer_fail(consumer);
        return false;
    }
    consumer->held = ours;
    consumer->renewed_ms = now_ms;
    return ours;
}

/* Still, with what is wrong. False also if somebody has moved the position. */
static enum sql_outcome keep_row(struct consumer *consumer, bool *kept)
{
    struct buf *text = &consumer->desk.text;
    uint64_t rows = 0;
    buf_printf(
        text, "UPDATE relay SET wanted_at=NOW(3), held_until=NOW(3) + INTERVAL %d SECOND, trouble=",
        LEASE_S);
    sql_put_text(text,
                 (struct bytes){(const uint8_t *)consumer->trouble, strlen(consumer->trouble)});
    buf_printf(text, " WHERE id=%u AND fence=%llu AND position=%llu", (unsigned)consumer->id,
               (unsigned long long)consumer->fence, (unsigned long long)consumer->position);
    enum sql_outcome outcome = run(consumer, &rows);
    *kept = !outcome && rows;
    return outcome;
}

/* The lease counts from before it was asked for. */
bool consumer_goes_on(struct consumer *consumer)
{
    bool kept = false;
    int64_t now_ms = wait_now_ms();
    if (!ticker_wait(&consumer->ticker, 0))
        return false;
    if (now_ms - consumer->renewed_ms < CONSUMER_RENEW_MS)
        return true;
    if (!consumer_connect(consumer) || keep_row(consumer, &kept)) {
        consumer_fail(consumer);
        return consumer->held;
    }
    consumer->held = kept;
    if (kept)
        consumer->renewed_ms = now_ms;
    return kept;
}

void consumer_let_go(struct consumer *consumer)
{
    uint64_t rows;
    if (!consumer->held || !consumer->desk.sql)
        return;
    buf_printf(&consumer->desk.text,
               "UPDATE relay SET held_until=NOW(3) WHERE id=%u AND fence=%llu",
               (unsigned)consumer->id, (unsigned long long)consumer->fence);
    run(consumer, &rows);
    consumer->held = false;
}

/* ---- Reading, and moving on ------------------------------------------------------------------ */

enum sql_outcome consumer_ask(struct consumer *consumer, struct question *question)
{
    struct desk *desk = &consumer->desk;
    question->most = CONSUMER_PAGE;
    question->events = consumer->events;
    question_put(desk, question);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome)
        question_take(desk, question);
    consumer->n = outcome ? 0 : question->n;
    buf_clear(&desk->text);
    return outcome;
}

enum sql_outcome consumer_read(struct consumer *consumer)
{
    struct question question = {
        .what = ASKS_NEWS, .after = {consumer->position, INT64_MAX}, .up_to = NO_SLOT};
    return consumer_ask(consumer, &question);
}

enum sql_outcome consumer_commit(struct consumer *consumer, uint64_t position, uint64_t told,
                                 bool *moved)
{
    uint64_t rows = 0;
    buf_printf(&consumer->desk.text,
               "UPDATE relay SET position=%llu, told=told+%llu WHERE id=%u AND position=%llu AND "
               "fence=%llu",
               (unsigned long long)position, (unsigned long long)told, (unsigned)consumer->id,
               (unsigned long long)consumer->position, (unsigned long long)consumer->fence);
    enum sql_outcome outcome = run(consumer, &rows);
    if (!outcome)
        outcome = sql_run_text(consumer->desk.sql, rows ? "COMMIT" : "ROLLBACK");
    *moved = !outcome && rows;
    if (*moved)
        consumer->position = position;
    return outcome;
}

bool consumer_settle(struct consumer *consumer,
                     enum sql_outcome (*write)(struct consumer *consumer, bool *moved))
{
    bool moved = false;
    if (!consumer_connect(consumer) || write(consumer, &moved))
        consumer_fail(consumer);
    else if (!moved)
        consumer->held = false;
    return moved;
}
