/* SPDX-License-Identifier: MIT */
/*
 * Keeps the old system's keys in step with Tidings, for a share of the users, so that the old application can go on reading them:
 * docs/decisions/0033-bridge.md. It is driven step by step, by one thread (consume/old_redis_target.c).
 */
#ifndef LEGACY_BRIDGE_H
#define LEGACY_BRIDGE_H

#include "legacy/old.h"
#include "tidings.h"

/* Which of the old system's schemes are kept, as bits. */
enum { SCHEME_1 = 1, SCHEME_2 = 2 };

/* All of it is the caller's, and stays where it is. */
struct bridge_options {
    struct tidings *tidings;
    struct old *old;
    uint32_t share; /* in millionths */
    unsigned schemes;
    bool refill; /* begin with filling everybody's keys anew, whatever is there */
    /* False: it is another server's turn, or time to stop. Asked before anything is written. */
    bool (*goes_on)(void *ctx);
    void (*say)(void *ctx, const char *line); /* what happens to keys as a whole */
    void *ctx;
};

struct bridge;

/* NULL: memory is short. It hears of reading from then on. */
struct bridge *bridge_new(const struct bridge_options *options);

/* NULL is fine. Keeps no lease: bridge_rest() comes first. */
void bridge_free(struct bridge *bridge);

/*
 * Some of the work. `row` is the generation of the server's row of this target (tidings.h, CONSUMER_SET): with another one than the keys
 * were filled for, all are filled anew. *more: there is more to be done now. False: it cannot be done now; bridge_trouble() says why, unless
 * goes_on() was false.
 */
bool bridge_step(struct bridge *bridge, uint64_t row, bool *more);

/* "" after a step that went well. */
const char *bridge_trouble(const struct bridge *bridge);

/* It is another server's turn, or time to stop: lets go of the lease. */
void bridge_rest(struct bridge *bridge);

/* How far it is. Zeros where nothing is known yet. */
struct bridge_progress {
    uint64_t position; /* all events up to it are in the keys */
    uint64_t events;   /* gone through since bridge_new() */
    int64_t
        waiting_since; /* of the oldest event that is not in all keys, or when filling began; 0: everything is in step */
};
struct bridge_progress bridge_look(const struct bridge *bridge);

#endif
