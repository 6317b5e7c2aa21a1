/* SPDX-License-Identifier: MIT */
/* The keys of an old application's Redis, as a target: legacy/bridge.h keeps them. */
#ifndef CONSUME_OLD_REDIS_TARGET_H
#define CONSUME_OLD_REDIS_TARGET_H

#include "consume/consume.h"
#include "consume/consumer.h"

struct old_redis_target;

extern const struct consumer_target old_redis_target;

/* What the config points to must outlive it. NULL: *message says what is wrong. Nobody is connected to yet. */
struct old_redis_target *old_redis_target_new(const struct consume_config *config,
                                              const char **message);
void old_redis_target_free(struct old_redis_target *target);

#endif
