/* SPDX-License-Identifier: MIT */
/*
 * A page is told, and all of it acknowledged, before the position moves behind it; what is told has no gap. So the first times
 * that events are told are in their order, in each partition.
 *
 * An event that no broker takes is passed over, counted and named in the log. Which one of a page it is shows when they are
 * told one by one, each acknowledged before the next.
 */
#include "consume/kafka_target.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/event_json.h"
#include "domain/events.h"

enum { POLL_MS = 50, TOPIC_MS = 3000, MESSAGE_MAX = 2048, KEY_MAX = 32 };

#define RETENTION_MS (INT64_C(14) * 24 * 60 * 60 * 1000)

struct kafka_target {
    struct kafka_options options;
    char topic[KAFKA_TOPIC_MAX + 1];
    unsigned partitions;
    struct kafka *kafka; /* NULL: there is no producer now */
    bool has_topic;
    enum kafka_fate fates[CONSUMER_PAGE];
};

/* What was put and is not acknowledged is told again from the position. */
static void kafka_target_drop(struct kafka_target *target)
{
    kafka_free(target->kafka);
    target->kafka = NULL;
    target->has_topic = false;
}

/* ---- Telling -------------------------------------------------------------------------------- */

/* Events about one post share a key, and so do those of one user that are about none. */
static struct bytes kafka_key_of(const struct tidings_event *event, char key[KEY_MAX])
{
    bool of_post = !strcmp(tidings_event_target(event->type), "post");
    uint64_t post_id = of_post ? event->target_id : event->post_id;
    int n = post_id ? snprintf(key, KEY_MAX, "post:%" PRIu64, post_id)
                    : snprintf(key, KEY_MAX, "user:%" PRIu64, event->actor_user_id);
    return (struct bytes){(const uint8_t *)key, (size_t)n};
}

static void kafka_target_put(struct kafka_target *target, const struct tidings_event *event,
                             enum kafka_fate *fate)
{
    char storage[MESSAGE_MAX], key[KEY_MAX];
    struct json_out out;
    struct buf text;
    if (!event_is_sound(event)) {
        *fate = KAFKA_NEVER;
        return;
    }
    buf_init_borrowed(&text, storage, sizeof storage);
    json_out_init(&out, &text);
    json_out_object(&out);
    event_members(&out, event);
    json_out_end(&out);
    kafka_put(target->kafka, target->topic, kafka_key_of(event, key),
              (struct bytes){(const uint8_t *)text.data, text.len}, false, fate);
}

/* Until nothing waits from `first` up to `end`; false: it must not go on. */
static bool kafka_target_await(struct kafka_target *target, struct consumer *consumer, size_t first,
                               size_t end)
{
    for (;;) {
        while (first < end && target->fates[first] != KAFKA_WAITS)
            first++;
        if (first == end || kafka_is_broken(target->kafka))
            return true;
        kafka_poll(target->kafka, POLL_MS);
        if (*kafka_trouble(target->kafka))
            consume_note(consumer, kafka_trouble(target->kafka));
        if (!consume_goes_on(consumer)) {
            kafka_target_drop(target);
            return false;
        }
    }
}

/* A producer, and the topic. */
static bool kafka_target_is_ready(struct kafka_target *target, struct consumer *consumer)
{
    char why[KAFKA_WHY_MAX] = "";
    if (target->kafka && kafka_is_broken(target->kafka))
        kafka_target_drop(target);
    if (!target->kafka)
        target->kafka = kafka_new(&target->options, why);
    if (target->kafka && !target->has_topic)
        target->has_topic = kafka_make_topic(target->kafka, target->topic, target->partitions,
                                             RETENTION_MS, TOPIC_MS);
    if (target->kafka && target->has_topic)
        return true;
    const char *trouble = target->kafka ? kafka_trouble(target->kafka) : why;
    consume_note(consumer, *trouble ? trouble : "the brokers do not answer");
    return false;
}

/* One whose fate is not known is told again: by a producer that has not failed. */
static bool kafka_target_tell_one(struct kafka_target *target, struct consumer *consumer,
                                  struct consumer_page *page, size_t i)
{
    do {
        if (!consume_goes_on(consumer) || !kafka_target_is_ready(target, consumer))
            return false;
        kafka_target_put(target, &page->events[i], &target->fates[i]);
        if (!kafka_target_await(target, consumer, i, i + 1))
            return false;
    } while (target->fates[i] != KAFKA_TOLD && target->fates[i] != KAFKA_NEVER);
    return true;
}

/* Those that are not told yet. */
static bool kafka_target_tell_singly(struct kafka_target *target, struct consumer *consumer,
                                     struct consumer_page *page)
{
    for (; page->done < page->n; page->done++) {
        if (target->fates[page->done] != KAFKA_TOLD &&
            !kafka_target_tell_one(target, consumer, page, page->done))
            return false;
        if (target->fates[page->done] != KAFKA_NEVER)
            continue;
        if (!consume_refused(consumer, page->events[page->done].event_id,
                             "the brokers take no message of its size or form"))
            return false;
        page->refused++;
    }
    return true;
}

static bool kafka_target_tell(void *ctx, struct consumer *consumer, struct consumer_page *page)
{
    struct kafka_target *target = ctx;
    bool whole = true;
    if (!kafka_target_is_ready(target, consumer))
        return false;
    for (size_t i = 0; i < page->n; i++)
        kafka_target_put(target, &page->events[i], &target->fates[i]);
    if (!kafka_target_await(target, consumer, 0, page->n))
        return false;
    for (size_t i = 0; i < page->n && whole; i++)
        whole = target->fates[i] == KAFKA_TOLD;
    if (!whole)
        return kafka_target_tell_singly(target, consumer, page);
    page->done = page->n;
    return true;
}

static void kafka_target_rest(void *ctx)
{
    kafka_target_drop(ctx);
}

const struct consumer_target kafka_target = {
    .name = ".kafka",
    .tell = kafka_target_tell,
    .rest = kafka_target_rest,
};

/* ---- Life ----------------------------------------------------------------------------------- */

struct kafka_target *kafka_target_new(const struct kafka_options *options, const char *topic,
                                      unsigned partitions, char why[KAFKA_WHY_MAX])
{
    struct kafka_target *target = calloc(1, sizeof *target);
    snprintf(why, KAFKA_WHY_MAX, "out of memory");
    if (!target)
        return NULL;
    target->options = *options;
    target->partitions = partitions;
    snprintf(target->topic, sizeof target->topic, "%s", topic);
    target->kafka = kafka_new(options, why); /* whether the options make sense */
    if (!target->kafka) {
        free(target);
        return NULL;
    }
    kafka_target_drop(target);
    return target;
}

void kafka_target_free(struct kafka_target *target)
{
    if (!target)
        return;
    kafka_target_drop(target);
    free(target);
}
