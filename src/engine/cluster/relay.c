/* SPDX-License-Identifier: MIT */
/*
 * Tells Kafka what happened: events of the outbox by their position, a page at a time. A page is told, all of it acknowledged, and
 * then the position moves behind it. So an event may be told twice, after a crash or by a relay that slept; but every relay tells
 * without a gap from a position behind which all was told, so the first times that events are told are in their order, in each
 * partition.
 *
 * An event that no broker takes goes to the dead letters with its reason. Which one of a page it is shows when they are told one
 * by one, each acknowledged before the next.
 */
#include "engine/cluster/relay.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/thread.h"
#include "base/wait.h"
#include "domain/event_json.h"
#include "domain/events.h"

enum { EVERY_MS = 50, STANDBY_MS = 1000, POLL_MS = 50, TOPIC_MS = 3000, AGAIN_MS = 1000 };
/* Without an acknowledgement for so long it is somebody else's turn, and for so long this server does not ask for it. */
enum { SILENT_MS = 30000, REST_MS = 2 * RELAY_LEASE_MS };
enum { MESSAGE_MAX = 1024, KEY_MAX = 32 };

#define RETENTION_MS (INT64_C(14) * 24 * 60 * 60 * 1000)

static const char cannot_be_read[] = "its row is damaged: there is no such type or reaction";
static const char is_refused[] = "the brokers take no message of its size or form";

static void note(struct relay *relay, const char *trouble)
{
    snprintf(relay->trouble, sizeof relay->trouble, "%s", trouble);
}

/* ---- The lease ------------------------------------------------------------------------------ */

/* What was put and is not acknowledged is told again from the position, by whoever has the lease. */
static void drop(struct relay *relay)
{
    kafka_free(relay->kafka);
    relay->kafka = NULL;
    relay->has_topic = false;
}

static void lose(struct relay *relay)
{
    drop(relay);
    relay->held = false;
}

/* The connection, or the transaction on it, is of no use; whether the lease still stands is found out on another. */
static void fail(struct relay *relay)
{
    desk_disconnect(&relay->desk);
    buf_clear(&relay->desk.text);
    if (wait_now_ms() - relay->renewed_ms >= RELAY_LEASE_MS)
        lose(relay);
}

static bool take(struct relay *relay)
{
    bool ours = false;
    int64_t now_ms = wait_now_ms();
    if (now_ms < relay->rest_until_ms)
        return false;
    if (relay_take(relay, &ours)) {
        fail(relay);
        return false;
    }
    relay->held = ours;
    relay->renewed_ms = relay->told_ms = now_ms;
    return ours;
}

/* Whether it may go on: the lease is renewed when that is due, and counts from before it was asked for. */
static bool goes_on(struct relay *relay)
{
    bool kept = false;
    int64_t now_ms = wait_now_ms();
    if (!ticker_wait(&relay->ticker, 0))
        return false;
    if (now_ms - relay->renewed_ms < RELAY_RENEW_MS)
        return true;
    if (!desk_connect(relay->cluster, &relay->desk, now_ms + RELAY_LEASE_MS) ||
        relay_keep(relay, &kept)) {
        fail(relay);
        return relay->held;
    }
    if (!kept)
        lose(relay);
    else
        relay->renewed_ms = now_ms;
    return kept;
}

/* Kafka may be silent for this server alone. */
static bool is_in_vain(struct relay *relay)
{
    if (wait_now_ms() - relay->told_ms < SILENT_MS)
        return false;
    if (relay->desk.sql)
        relay_let_go(relay);
    lose(relay);
    relay->rest_until_ms = wait_now_ms() + REST_MS;
    return true;
}

/* ---- Telling -------------------------------------------------------------------------------- */

/* Events about one post share a key, and so do those of one user that are about none. */
static struct bytes key_of(const struct tidings_event *event, char key[KEY_MAX])
{
    bool of_post = !strcmp(tidings_event_target(event->type), "post");
    uint64_t post_id = of_post ? event->target_id : event->post_id;
    int n = post_id ? snprintf(key, KEY_MAX, "post:%" PRIu64, post_id)
                    : snprintf(key, KEY_MAX, "user:%" PRIu64, event->actor_user_id);
    return (struct bytes){(const uint8_t *)key, (size_t)n};
}

static void put(struct relay *relay, size_t i)
{
    char storage[MESSAGE_MAX], key[KEY_MAX];
    const struct tidings_event *event = &relay->events[i];
    struct json_out out;
    struct buf text;
    relay->reasons[i] = event_is_sound(event) ? NULL : cannot_be_read;
    relay->fates[i] = KAFKA_TOLD;
    if (relay->reasons[i])
        return;
    buf_init_borrowed(&text, storage, sizeof storage);
    json_out_init(&out, &text);
    json_out_object(&out);
    event_members(&out, event);
    json_out_end(&out);
    kafka_put(relay->kafka, relay->topic, key_of(event, key),
              (struct bytes){(const uint8_t *)text.data, text.len}, relay->late, &relay->fates[i]);
}

/* Until nothing waits from `first` up to `end`; false: it must not go on. */
static bool await(struct relay *relay, size_t first, size_t end)
{
    for (;;) {
        size_t before = first;
        while (first < end && relay->fates[first] != KAFKA_WAITS)
            first++;
        if (first > before)
            relay->told_ms = wait_now_ms();
        note(relay, kafka_trouble(relay->kafka));
        if (first == end || kafka_is_broken(relay->kafka))
            return true;
        kafka_poll(relay->kafka, POLL_MS);
        if (!goes_on(relay) || is_in_vain(relay))
            return false;
    }
}

/* A producer, and the topic. */
static bool is_ready(struct relay *relay)
{
    if (relay->kafka && kafka_is_broken(relay->kafka))
        drop(relay);
    if (!relay->kafka)
        relay->kafka = kafka_new(&relay->options, relay->trouble);
    if (!relay->kafka || relay->has_topic)
        return relay->kafka != NULL;
    relay->has_topic =
        kafka_make_topic(relay->kafka, relay->topic, relay->partitions, RETENTION_MS, TOPIC_MS);
    note(relay, kafka_trouble(relay->kafka));
    return relay->has_topic;
}

/* One whose fate is not known is told again: by a producer that has not failed. */
static bool tell_one(struct relay *relay, size_t i)
{
    do {
        if (!goes_on(relay) || is_in_vain(relay))
            return false;
        if (!is_ready(relay))
            continue;
        put(relay, i);
        if (!await(relay, i, i + 1))
            return false;
    } while (relay->fates[i] != KAFKA_TOLD && relay->fates[i] != KAFKA_NEVER);
    if (relay->fates[i] == KAFKA_NEVER)
        relay->reasons[i] = is_refused;
    return true;
}

/* Those that are not told yet. */
static bool tell_singly(struct relay *relay)
{
    for (size_t i = 0; i < relay->n; i++)
        if (relay->fates[i] != KAFKA_TOLD && !tell_one(relay, i))
            return false;
    return true;
}

/* All that was read; false: not all of it is settled. */
static bool tell(struct relay *relay)
{
    bool whole = true;
    for (size_t i = 0; i < relay->n; i++)
        put(relay, i);
    if (!await(relay, 0, relay->n))
        return false;
    for (size_t i = 0; i < relay->n && whole; i++)
        whole = relay->fates[i] == KAFKA_TOLD;
    return whole || tell_singly(relay);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

/* False: somebody has moved the position, or has the lease; or it cannot be written now. */
static bool settle(struct relay *relay, enum sql_outcome (*write)(struct relay *relay, bool *moved))
{
    bool moved = false;
    if (!desk_connect(relay->cluster, &relay->desk, wait_now_ms() + RELAY_LEASE_MS) ||
        write(relay, &moved))
        fail(relay);
    else if (!moved)
        lose(relay);
    return moved;
}

static void tell_dead(struct relay *relay)
{
    int64_t now_ms = wait_now_ms();
    if (now_ms - relay->again_ms < AGAIN_MS)
        return;
    relay->again_ms = now_ms;
    if (relay_read_again(relay)) {
        fail(relay);
        return;
    }
    for (size_t i = 0; i < relay->n; i++)
        relay->fates[i] = KAFKA_FAILED;
    relay->late = true;
    if (relay->n && tell_singly(relay))
        settle(relay, relay_settle_again);
    relay->late = false;
}

/* Whether there may be more. */
static bool tell_page(struct relay *relay)
{
    if (!relay->held || !relay->desk.sql || relay_read(relay)) {
        fail(relay);
        return false;
    }
    if (!relay->n)
        relay->told_ms = wait_now_ms(); /* there is nothing that Kafka could acknowledge */
    return relay->n && tell(relay) && settle(relay, relay_move) && relay->n == RELAY_PAGE;
}

/* How long to wait until the next look. */
static int work(struct relay *relay)
{
    if (!desk_connect(relay->cluster, &relay->desk, wait_now_ms() + RELAY_LEASE_MS))
        return STANDBY_MS;
    if (!relay->held && !take(relay))
        return STANDBY_MS;
    if (!goes_on(relay) || !relay->desk.sql)
        return 0;
    if (!is_ready(relay))
        return is_in_vain(relay) ? STANDBY_MS : EVERY_MS;
    tell_dead(relay);
    return relay->held && tell_page(relay) ? 0 : EVERY_MS;
}

static void *relay_main(void *arg)
{
    struct relay *relay = arg;
    thread_name("relay");
    int pause_ms = 0;
    while (ticker_wait(&relay->ticker, pause_ms))
        pause_ms = work(relay);
    if (relay->held && relay->desk.sql)
        relay_let_go(relay);
    drop(relay);
    return NULL;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static char *copy(const char *text)
{
    return text ? strdup(text) : NULL;
}

void kafka_relay_init(struct cluster *cluster, const struct tidings_options *options)
{
    struct relay *relay = &cluster->relay;
    relay->cluster = cluster;
    relay->partitions = (unsigned)cluster->settings.kafka_partitions;
    relay->options = (struct kafka_options){
        .brokers = copy(options->kafka),
        .sasl = copy(options->kafka_sasl),
        .user = copy(options->kafka_user),
        .password = copy(options->kafka_password),
        .ca_file = copy(options->kafka_ca_file),
        .tls = cluster->settings.kafka_tls,
    };
    desk_init(cluster, &relay->desk, false);
    ticker_init(&relay->ticker);
}

void kafka_relay_release(struct cluster *cluster)
{
    struct relay *relay = &cluster->relay;
    const char *texts[] = {relay->options.brokers, relay->options.sasl, relay->options.user,
                           relay->options.password, relay->options.ca_file};
    drop(relay);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free((void *)(uintptr_t)texts[i]);
    desk_release(&relay->desk);
    ticker_release(&relay->ticker);
}

enum tidings_err kafka_relay_start(struct cluster *cluster, const char **message)
{
    struct relay *relay = &cluster->relay;
    static _Thread_local char why[KAFKA_WHY_MAX];
    if (!relay->options.brokers)
        return TIDINGS_OK;
    snprintf(relay->topic, sizeof relay->topic, "tidings.%s.events", cluster->url.database);
    relay->kafka = kafka_new(&relay->options, why);
    if (!relay->kafka) {
        *message = why;
        return TIDINGS_INVALID;
    }
    drop(relay);
    if (!cluster->settings.workers)
        return TIDINGS_OK;
    return ticker_start(&relay->ticker, relay_main, relay) ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}
