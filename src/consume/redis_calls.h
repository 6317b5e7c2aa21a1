/* SPDX-License-Identifier: MIT */
/*
 * Many changes of keys, sent together. Each is written with the position of an event, of which it is at least: what the engine answers, or what it has
 * become by all events up to there. A key that is of a later one is left alone (a script compares, in one step), so a server that has lost its turn without
 * knowing, and a call that comes late, change nothing that is newer.
 *
 * A list is changed where it is there, and is otherwise for the caller to fill: redis_calls_run tells of those.
 *
 * What is put while `compares` is set is not written, but held against what is there: redis_calls_run tells which keys differ, and which Redis refuses to compare. Changes and buckets are not put
 * then.
 */
#ifndef CONSUME_REDIS_CALLS_H
#define CONSUME_REDIS_CALLS_H

#include "base/arena.h"
#include "consume/redis_keys.h"
#include "redis/redis.h"

enum { REDIS_CALLS_MAX = 2048, REDIS_CALLS_WAIT_MS = 3000, REDIS_TROUBLE_MAX = 240 };

/* How long companions stay that say up to which event a list is: what comes later than that is not kept out. */
#define REDIS_COMPANION_MS "3600000"

struct redis_member {
    uint64_t id;
    int64_t at_ms;
    bool is_removed; /* in changes */
};

/* What a call is about. */
struct redis_about {
    enum redis_kind kind;
    uint64_t id;
};

struct redis_calls {
    struct redis *redis;
    struct arena memory;
    size_t n;
    struct redis_call calls[REDIS_CALLS_MAX];
    struct redis_about about[REDIS_CALLS_MAX];
    bool short_of_memory;
    bool compares;
    uint64_t n_builds;
    size_t n_built; /* members of the list that is being built */
    char token[40]; /* of this process, in names of lists that are being built */
    /* By the last run: lists that were not there, and keys that Redis refuses to have: better gone than old. */
    size_t n_missing, n_refused;
    struct redis_about missing[REDIS_CALLS_MAX], refused[REDIS_CALLS_MAX];
    size_t n_different; /* keys, some of them twice, that are not as they were put */
    struct redis_about different[REDIS_CALLS_MAX];
    char trouble[REDIS_TROUBLE_MAX];
};

/* NULL, and why, if the options make no sense. */
struct redis_calls *redis_calls_new(const struct redis_options *options, const char **message);
void redis_calls_free(struct redis_calls *calls);

/* Whether there is no room for another key: run them first. */
bool redis_calls_full(const struct redis_calls *calls);

void redis_calls_put_counts(struct redis_calls *calls, uint64_t user,
                            const struct tidings_counters *counters, uint64_t position);
/* 0: no key. */
void redis_calls_put_number(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                            uint64_t number, uint64_t position);
void redis_calls_put_bucket(struct redis_calls *calls, uint64_t user, int64_t left_ms);
void redis_calls_put_change(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                            const struct redis_member *members, size_t n, uint64_t position);
/* The whole list; none: no key. */
void redis_calls_put_list(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                          const struct redis_member *members, size_t n, uint64_t position);
/* A list that is too long for one call is built beside, a part at a time, and then put in place. Between them the calls are run: no order is promised among
 * those of one run. */
void redis_calls_put_part(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                          const struct redis_member *members, size_t n);
void redis_calls_put_built(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                           uint64_t position);
void redis_calls_begin_build(struct redis_calls *calls);

/* Removes a key of that name, which belongs to that key. */
void redis_calls_put_remove(struct redis_calls *calls, enum redis_kind kind, uint64_t id,
                            struct bytes name);

/* Runs and forgets them. False: `trouble` says why; some may be done, all must be put again. */
bool redis_calls_run(struct redis_calls *calls);

#endif
