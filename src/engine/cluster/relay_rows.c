/* SPDX-License-Identifier: MIT */
/* What becomes of events that Kafka is told, or could not be: dead letters. */
#include "engine/cluster/relay.h"

struct relay *relay_of(struct consumer *consumer)
{
    return (struct relay *)consumer;
}

enum sql_outcome relay_read_again(struct relay *relay)
{
    struct question question = {.what = ASKS_DEAD};
    return consumer_ask(&relay->consumer, &question);
}

static void put_reason(struct buf *text, const char *reason)
{
    sql_put_text(text, (struct bytes){(const uint8_t *)reason, strlen(reason)});
}

/* With all of its row: that of the outbox is removed some day. */
static void put_dead(struct buf *text, uint64_t position, const char *reason)
{
    buf_literal(
        text, "REPLACE INTO dead_letter (position, event_type, happened_at, actor_id, target_id, "
              "author_id, delta, post_id, reaction, again, noted_at, reason) SELECT position, "
              "event_type, happened_at, actor_id, target_id, author_id, delta, post_id, reaction, "
              "0, NOW(3), ");
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

enum sql_outcome relay_move(struct consumer *consumer, bool *moved)
{
    const struct relay *relay = relay_of(consumer);
    uint64_t told = consumer->n;
    buf_literal(&consumer->desk.text, "BEGIN;");
    for (size_t i = 0; i < consumer->n; i++) {
        if (!relay->reasons[i])
            continue;
        put_dead(&consumer->desk.text, consumer->events[i].event_id, relay->reasons[i]);
        told--;
    }
    return consumer_commit(consumer, consumer->events[consumer->n - 1].event_id, told, moved);
}

enum sql_outcome relay_settle_again(struct consumer *consumer, bool *moved)
{
    const struct relay *relay = relay_of(consumer);
    uint64_t told = 0;
    buf_literal(&consumer->desk.text, "BEGIN;");
    for (size_t i = 0; i < consumer->n; i++) {
        put_again(&consumer->desk.text, consumer->events[i].event_id, relay->reasons[i]);
        told += !relay->reasons[i];
    }
    return consumer_commit(consumer, consumer->position, told, moved);
}
