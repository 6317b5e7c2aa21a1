/* SPDX-License-Identifier: MIT */
/*
 * The relay's row: who has the lease, and how far the telling has come. Every change of it names the fence that it was taken with, so
 * a relay that slept changes nothing; and every move names the position that it starts from, so that somebody who sends the relay
 * back (`tidings cluster replay`) need not ask it.
 */
#include "engine/cluster/relay.h"

enum { NO_SLOT = 255, LEASE_S = RELAY_LEASE_MS / 1000 };

static enum sql_outcome run(struct relay *relay, uint64_t *rows)
{
    struct desk *desk = &relay->desk;
    enum sql_outcome outcome = sql_run_counted(desk->sql, &desk->text, rows);
    buf_clear(&desk->text);
    return outcome;
}

/* ---- The lease ------------------------------------------------------------------------------ */

static enum sql_outcome read_row(struct relay *relay)
{
    struct desk *desk = &relay->desk;
    buf_literal(&desk->text, "SELECT fence, position FROM relay WHERE id=1");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome && sql_row(desk->sql)) {
        relay->fence = sql_u64(desk->sql, 0);
        relay->position = sql_u64(desk->sql, 1);
    }
    buf_clear(&desk->text);
    return outcome;
}

/* One who has it already takes it anew, too: under another fence. */
enum sql_outcome relay_take(struct relay *relay, bool *ours)
{
    uint64_t rows = 0;
    buf_printf(&relay->desk.text,
               "UPDATE relay SET fence=fence+1, slot=%u, wanted_at=NOW(3), "
               "held_until=NOW(3) + INTERVAL %d SECOND "
               "WHERE id=1 AND (held_until < NOW(3) OR fence=%llu)",
               atomic_load(&relay->cluster->slot), LEASE_S, (unsigned long long)relay->fence);
    enum sql_outcome outcome = run(relay, &rows);
    *ours = !outcome && rows;
    return outcome || !rows ? outcome : read_row(relay);
}

enum sql_outcome relay_keep(struct relay *relay, bool *kept)
{
    uint64_t rows = 0;
    buf_printf(
        &relay->desk.text,
        "UPDATE relay SET wanted_at=NOW(3), held_until=NOW(3) + INTERVAL %d SECOND, trouble=",
        LEASE_S);
    sql_put_text(&relay->desk.text,
                 (struct bytes){(const uint8_t *)relay->trouble, strlen(relay->trouble)});
    buf_printf(&relay->desk.text, " WHERE id=1 AND fence=%llu AND position=%llu",
               (unsigned long long)relay->fence, (unsigned long long)relay->position);
    enum sql_outcome outcome = run(relay, &rows);
    *kept = !outcome && rows;
    return outcome;
}

void relay_let_go(struct relay *relay)
{
    uint64_t rows;
    buf_printf(&relay->desk.text, "UPDATE relay SET held_until=NOW(3) WHERE id=1 AND fence=%llu",
               (unsigned long long)relay->fence);
    run(relay, &rows);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static enum sql_outcome ask(struct relay *relay, struct question *question)
{
    struct desk *desk = &relay->desk;
    question->most = RELAY_PAGE;
    question->events = relay->events;
    question_put(desk, question);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome)
        question_take(desk, question);
    relay->n = outcome ? 0 : question->n;
    buf_clear(&desk->text);
    return outcome;
}

enum sql_outcome relay_read(struct relay *relay)
{
    struct question question = {
        .what = ASKS_NEWS, .after = {relay->position, INT64_MAX}, .up_to = NO_SLOT};
    return ask(relay, &question);
}

enum sql_outcome relay_read_again(struct relay *relay)
{
    struct question question = {.what = ASKS_DEAD};
    return ask(relay, &question);
}

/* ---- Moving on ------------------------------------------------------------------------------ */

static void put_reason(struct buf *text, const char *reason)
{
    sql_put_text(text, (struct bytes){(const uint8_t *)reason, strlen(reason)});
}

/* With all of its row: that of the outbox is removed some day. */
static void put_dead(struct buf *text, uint64_t position, const char *reason)
{
    buf_literal(text,
                "REPLACE INTO dead_letter SELECT position, event_type, happened_at, actor_id, "
                "target_id, author_id, delta, post_id, reaction, 0, NOW(3), ");
    put_reason(text, reason);
    buf_printf(text, " FROM outbox_event WHERE position=%llu;", (unsigned long long)position);
}

static void put_again(struct buf *text, uint64_t position, const char *reason)
{
    if (!reason) {
        buf_printf(text, "DELETE FROM dead_letter WHERE position=%llu;",
                   (unsigned long long)position);
        return;
    }
    buf_literal(text, "UPDATE dead_letter SET again=0, noted_at=NOW(3), reason=");
    put_reason(text, reason);
    buf_printf(text, " WHERE position=%llu;", (unsigned long long)position);
}

/* Ends the transaction on the desk with the fence. */
static enum sql_outcome commit(struct relay *relay, uint64_t position, uint64_t told, bool *moved)
{
    uint64_t rows = 0;
    buf_printf(&relay->desk.text,
               "UPDATE relay SET position=%llu, told=told+%llu WHERE id=1 AND position=%llu AND "
               "fence=%llu",
               (unsigned long long)position, (unsigned long long)told,
               (unsigned long long)relay->position, (unsigned long long)relay->fence);
    enum sql_outcome outcome = run(relay, &rows);
    if (!outcome)
        outcome = sql_run_text(relay->desk.sql, rows ? "COMMIT" : "ROLLBACK");
    *moved = !outcome && rows;
    if (*moved)
        relay->position = position;
    return outcome;
}

enum sql_outcome relay_move(struct relay *relay, bool *moved)
{
    uint64_t told = relay->n;
    buf_literal(&relay->desk.text, "BEGIN;");
    for (size_t i = 0; i < relay->n; i++) {
        if (!relay->reasons[i])
            continue;
        put_dead(&relay->desk.text, relay->events[i].event_id, relay->reasons[i]);
        told--;
    }
    return commit(relay, relay->events[relay->n - 1].event_id, told, moved);
}

enum sql_outcome relay_settle_again(struct relay *relay, bool *moved)
{
    uint64_t told = 0;
    buf_literal(&relay->desk.text, "BEGIN;");
    for (size_t i = 0; i < relay->n; i++) {
        put_again(&relay->desk.text, relay->events[i].event_id, relay->reasons[i]);
        told += !relay->reasons[i];
    }
    return commit(relay, relay->position, told, moved);
}
