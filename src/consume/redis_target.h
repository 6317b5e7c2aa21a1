/* SPDX-License-Identifier: MIT */
/*
 * Keys in Redis that others read, as a target: docs/FORMAT.md "Keys for others" has their form, docs/decisions/0041 the reasons.
 * A key may be missing; it is never older than what was told.
 *
 *     redis_keys.c     names and values
 *     redis_calls.c    changes of keys, many at once, which leave newer ones alone
 *     redis_read.c     what the engine answers, as keys
 *     redis_events.c   which keys a page of events changes, and how
 *     redis_fill.c     all keys anew: what is there is removed, then all users, their posts and the comments on them are gone through
 *     redis_marks.c    whether Redis still has what it was told
 */
#ifndef CONSUME_REDIS_TARGET_H
#define CONSUME_REDIS_TARGET_H

#include "consume/consumer.h"
#include "redis/redis.h"

struct redis_target;

extern const struct consumer_target redis_target;

/* `page`: rows in one question. What the options point to is copied. NULL: *message says what is wrong. Nobody is connected to yet. */
struct redis_target *redis_target_new(struct tidings *tidings, const struct redis_options *options,
                                      uint32_t page, const char **message);
void redis_target_free(struct redis_target *target);

#endif
