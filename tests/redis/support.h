/* SPDX-License-Identifier: MIT */
/* What tests of the Redis client share: the cluster that with-redis has started, and many calls at once. */
#ifndef TESTS_REDIS_SUPPORT_H
#define TESTS_REDIS_SUPPORT_H

#include "base/arena.h"
#include "base/wait.h"
#include "redis/redis.h"
#include "unit/test.h"

/* ---- The cluster ----------------------------------------------------------------------------------- */

/* Of TIDINGS_TEST_REDIS, with user, password and TLS as TIDINGS_TEST_REDIS_USER, …_PASSWORD and …_TLS say. */
struct redis *client_new(void);

/* Tells with-redis: "pause 0". The number that it answers with, if any. */
int control(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* What redis-cli prints for this command, a line of the shell, given to that node; until the next call. */
const char *cli(int node, const char *format, ...) __attribute__((format(printf, 2, 3)));

int node_port(int node);
/* The first nodes are masters when a test begins. */
enum { MASTERS = 3, NODES = 6 };

/* ---- Calls ------------------------------------------------------------------------------------------ */

struct batch {
    struct redis_call *calls;
    size_t n, cap;
    struct arena words;
};

void batch_init(struct batch *batch);
void batch_release(struct batch *batch);
void batch_clear(struct batch *batch);

/* As an argument of a script: the run id of whoever runs it. */
extern const char RUN_ID[];

/* Words until NULL; the second says where it goes. The call, until the next is added. */
struct redis_call *batch_add(struct batch *batch, ...) __attribute__((sentinel));
/* Keys and arguments until NULL; the first says where it goes. */
struct redis_call *batch_script(struct batch *batch, const struct redis_script *script,
                                unsigned n_keys, ...) __attribute__((sentinel));
void batch_run(struct redis *redis, struct batch *batch, int64_t for_ms);

/* How many had that outcome. */
size_t batch_count(const struct batch *batch, enum redis_outcome outcome);
/* All were done; otherwise fails with the first message. */
void assert_done(const struct batch *batch);
void assert_text(const struct redis_call *call, const char *text);

/* One call and its outcome; the answer as text or number is in *call. */
enum redis_outcome run_one(struct redis *redis, struct batch *batch, int64_t for_ms);

struct redis_health health_of(const struct redis *redis);

#endif
