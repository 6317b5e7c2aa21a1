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
enum { SILENT_MS = 30000, REST_MS = 2 * CONSUMER_LEASE_MS };
enum { MESSAGE_MAX = 1024, KEY_MAX = 32 };
_Static_assert((int)CONSUMER_TROUBLE_BYTES >= (int)KAFKA_WHY_MAX,
               "why a producer fails is told as it is");

#define RETENTION_MS (INT64_C(14) * 24 * 60 * 60 * 1000)

static const char cannot_be_read[] = "its row is damaged: there is no such type or reaction";
static const char is_refused[] = "the brokers take no message of its size or form";

/* ---- The lease ------------------------------------------------------------------------------ */

/* What was put and is not acknowledged is told again from the position, by whoever has the lease. */
static void drop(struct relay *relay)
{
    kafka_free(relay->kafka);
    relay->kafka = NULL;
    relay->has_topic = false;
}

static bool take(struct relay *relay)
{
    drop(relay);
    relay->told_ms = wait_now_ms();
    return consumer_take(&relay->consumer);
}

/* Kafka may be silent for this server alone. */
static bool is_in_vain(struct relay *relay)
{
    struct consumer *consumer = &relay->consumer;
    if (wait_now_ms() - relay->told_ms < SILENT_MS)
        return false;
    consumer_let_go(consumer);
    consumer->held = false;
    consumer->rest_until_ms = wait_now_ms() + REST_MS;
    drop(relay);
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
    const struct tidings_event *event = &relay->consumer.events[i];
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
        consumer_note(&relay->consumer, kafka_trouble(relay->kafka));
        if (first == end || kafka_is_broken(relay->kafka))
            return true;
        kafka_poll(relay->kafka, POLL_MS);
        if (!consumer_goes_on(&relay->consumer) || is_in_vain(relay))
            return false;
    }
}

/* A producer, and the topic. */
static bool is_ready(struct relay *relay)
{
    if (relay->kafka && kafka_is_broken(relay->kafka))
        drop(relay);
    if (!relay->kafka)
        relay->kafka = kafka_new(&relay->options, relay->consumer.trouble);
    if (!relay->kafka || relay->has_topic)
        return relay->kafka != NULL;
    relay->has_topic =
        kafka_make_topic(relay->kafka, relay->topic, relay->partitions, RETENTION_MS, TOPIC_MS);
    consumer_note(&relay->consumer, kafka_trouble(relay->kafka));
    return relay->has_topic;
}

/* One whose fate is not known is told again: by a producer that has not failed. */
static bool tell_one(struct relay *relay, size_t i)
{
    do {
        if (!consumer_goes_on(&relay->consumer) || is_in_vain(relay))
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
    for (size_t i = 0; i < relay->consumer.n; i++)
        if (relay->fates[i] != KAFKA_TOLD && !tell_one(relay, i))
            return false;
    return true;
}

/* All that was read; false: not all of it is settled. */
static bool tell(struct relay *relay)
{
    bool whole = true;
    for (size_t i = 0; i < relay->consumer.n; i++)
        put(relay, i);
    if (!await(relay, 0, relay->consumer.n))
        return false;
    for (size_t i = 0; i < relay->consumer.n && whole; i++)
        whole = relay->fates[i] == KAFKA_TOLD;
    return whole || tell_singly(relay);
}

/* ---- Pages ---------------------------------------------------------------------------------- */

static void tell_dead(struct relay *relay)
{
    int64_t now_ms = wait_now_ms();
    if (now_ms - relay->again_ms < AGAIN_MS)
        return;
    relay->again_ms = now_ms;
    if (relay_read_again(relay)) {
        consumer_fail(&relay->consumer);
        return;
    }
    for (size_t i = 0; i < relay->consumer.n; i++)
        relay->fates[i] = KAFKA_FAILED;
    relay->late = true;
    if (relay->consumer.n && tell_singly(relay))
        consumer_settle(&relay->consumer, relay_settle_again);
    relay->late = false;
}

/* Whether there may be more. */
static bool tell_page(struct relay *relay)
{
    struct consumer *consumer = &relay->consumer;
    if (!consumer->held || !consumer->desk.sql || consumer_read(consumer)) {
        consumer_fail(consumer);
        return false;
    }
    if (!consumer->n)
        relay->told_ms = wait_now_ms(); /* there is nothing that Kafka could acknowledge */
    return consumer->n && tell(relay) && consumer_settle(consumer, relay_move) &&
           consumer->n == CONSUMER_PAGE;
}

/* How long to wait until the next look. */
static int work(struct relay *relay)
{
    struct consumer *consumer = &relay->consumer;
    if (!consumer_connect(consumer))
        return STANDBY_MS;
    if (!consumer->held && !take(relay))
        return STANDBY_MS;
    if (!consumer_goes_on(consumer) || !consumer->desk.sql)
        return 0;
    if (!is_ready(relay))
        return is_in_vain(relay) ? STANDBY_MS : EVERY_MS;
    tell_dead(relay);
    return consumer->held && tell_page(relay) ? 0 : EVERY_MS;
}

static void *relay_main(void *arg)
{
    struct relay *relay = arg;
    thread_name("relay");
    int pause_ms = 0;
    while (ticker_wait(&relay->consumer.ticker, pause_ms))
        pause_ms = work(relay);
    consumer_let_go(&relay->consumer);
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
    relay->partitions = (unsigned)cluster->settings.kafka_partitions;
    relay->options = (struct kafka_options){
        .brokers = copy(options->kafka),
        .sasl = copy(options->kafka_sasl),
        .user = copy(options->kafka_user),
        .password = copy(options->kafka_password),
        .ca_file = copy(options->kafka_ca_file),
        .tls = cluster->settings.kafka_tls,
    };
    consumer_init(&relay->consumer, cluster, TIDINGS_CONSUMER_KAFKA, false);
}

void kafka_relay_release(struct cluster *cluster)
{
    struct relay *relay = &cluster->relay;
    const char *texts[] = {relay->options.brokers, relay->options.sasl, relay->options.user,
                           relay->options.password, relay->options.ca_file};
    drop(relay);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free((void *)(uintptr_t)texts[i]);
    consumer_release(&relay->consumer);
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
    return ticker_start(&relay->consumer.ticker, relay_main, relay) ? TIDINGS_OK
                                                                    : TIDINGS_NO_MEMORY;
}
