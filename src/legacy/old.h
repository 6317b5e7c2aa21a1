/* SPDX-License-Identifier: MIT */
/*
 * The Redis of the system that people come from, and calls to it that are put together one word at a time and run together. On a
 * Redis Cluster the keys of a user have the user's number as their hash tag. One thread at a time.
 */
#ifndef LEGACY_OLD_H
#define LEGACY_OLD_H

#include "base/arena.h"
#include "legacy/keys.h"
#include "redis/redis.h"

struct old {
    struct redis *redis;
    struct legacy_names names;
    bool
        replaced; /* another process than before has answered for a slot: what was written may be gone */
    uint32_t runs[REDIS_SLOTS]; /* digests of run ids; 0: not known */
    uint64_t processes;         /* a digest of who has answered for all slots: old_look */
    char trouble[256];          /* of the last call that failed */
};

/* NULL, and why, if the options make no sense. */
struct old *old_open(const struct redis_options *options, const struct legacy_names *names,
                     const char **message);
void old_close(struct old *old);

struct bundle {
    struct arena texts;
    struct bytes *args;
    struct redis_call *calls;
    size_t *firsts; /* of each call's arguments */
    size_t n_args, args_room, n, room;
    bool failed; /* memory was short */
};

void bundle_init(struct bundle *bundle);
void bundle_release(struct bundle *bundle);
void bundle_clear(struct bundle *bundle);

/* Begins a call: a command, whose key is the next word; or a script with so many keys. The words that follow are its own. */
void bundle_command(struct bundle *bundle, const char *command);
void bundle_script(struct bundle *bundle, const struct redis_script *script, unsigned n_keys);
void bundle_text(struct bundle *bundle, const char *text);
void bundle_bytes(struct bundle *bundle, const char *text, size_t n);
void bundle_u64(struct bundle *bundle, uint64_t number);
void bundle_i64(struct bundle *bundle, int64_t number);
void bundle_key(struct bundle *bundle, const struct old *old, enum legacy_key key, uint64_t first,
                uint64_t second);

/* What may be refused, and is an answer then: nothing; a key of another kind than it should be; whatever it is. */
enum old_refusals { OLD_NONE, OLD_KIND, OLD_ANY };

/* Runs all of them; whether each has an answer, in its call, or has been refused where that is allowed. */
bool old_run(struct old *old, struct bundle *bundle, enum old_refusals refusals);

/* Asks every node for a sign of life, so that one that was replaced is noticed. */
bool old_look(struct old *old);

/* The same, and those who answer now are the ones that are known: `replaced` is about what comes. */
bool old_accept(struct old *old);

/* The last failure was for the user, the password or the certificate: waiting will not mend it. */
bool old_is_unwelcome(const struct old *old);

/* The answer's number; a missing one is `otherwise`. */
int64_t reply_number(const struct redisReply *reply, int64_t otherwise);

/* A walk through all keys of all masters, some at a time: SCAN. Zeros are its beginning. */
enum { WALK_NODES = 256 };
struct walk {
    unsigned slot;
    char cursor[24];
    uint32_t run;              /* a digest of who gave the cursor */
    uint32_t seen[WALK_NODES]; /* nodes that were gone through: each has many ranges of slots */
    unsigned n_seen;
    bool done;
};

/* Tells of some keys; false if it is not to be had now. A walk that is disturbed begins again at that node. */
bool old_walk(struct old *old, struct walk *walk,
              void (*tell)(void *ctx, const char *key, size_t n), void *ctx);

#endif
