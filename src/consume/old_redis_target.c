/* SPDX-License-Identifier: MIT */
#include "consume/old_redis_target.h"

#include <stdlib.h>

#include "base/log.h"
#include "legacy/bridge.h"

struct old_redis_target {
    struct old *old;
    struct bridge *bridge;
    struct consumer *consumer; /* of the step that is under way; NULL: none */
    uint64_t events;           /* gone through before that */
};

static bool old_redis_goes_on(void *ctx)
{
    struct old_redis_target *target = ctx;
    return target->consumer && consume_goes_on(target->consumer);
}

static void old_redis_say(void *ctx, const char *text)
{
    struct log_line line;
    (void)ctx;
    log_begin(&line, LOG_INFO, text);
    log_text(&line, "consumer", old_redis_target.name + 1);
    log_end(&line);
}

static bool old_redis_step(void *ctx, struct consumer *consumer, struct consumer_work *work)
{
    struct old_redis_target *target = ctx;
    target->consumer = consumer;
    bool fine = bridge_step(target->bridge, work->generation, &work->more);
    target->consumer = NULL;
    struct bridge_progress progress = bridge_look(target->bridge);
    work->position = progress.position;
    work->waiting_since = progress.waiting_since;
    work->told = progress.events - target->events;
    target->events = progress.events;
    if (!fine && *bridge_trouble(target->bridge))
        consume_note(consumer, bridge_trouble(target->bridge));
    return fine;
}

static void old_redis_rest(void *ctx)
{
    struct old_redis_target *target = ctx;
    bridge_rest(target->bridge);
}

const struct consumer_target old_redis_target = {
    .name = ".old_redis",
    .step = old_redis_step,
    .rest = old_redis_rest,
};

struct old_redis_target *old_redis_target_new(const struct consume_config *config,
                                              const char **message)
{
    struct old_redis_target *target = calloc(1, sizeof *target);
    *message = "out of memory";
    if (!target)
        return NULL;
    target->old = old_open(config->old_redis, config->old_names, message);
    struct bridge_options options = {
        .tidings = config->tidings,
        .old = target->old,
        .share = config->old_share,
        .schemes = config->old_schemes,
        .refill = config->old_refill,
        .goes_on = old_redis_goes_on,
        .say = old_redis_say,
        .ctx = target,
    };
    if (target->old) {
        target->bridge = bridge_new(&options);
        *message = "out of memory";
    }
    if (target->bridge)
        return target;
    old_redis_target_free(target);
    return NULL;
}

void old_redis_target_free(struct old_redis_target *target)
{
    if (!target)
        return;
    bridge_free(target->bridge);
    old_close(target->old);
    free(target);
}
