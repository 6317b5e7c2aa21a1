/* SPDX-License-Identifier: MIT */
/* What the parts of bench-engine share. */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include "tidings.h"

enum { PAGE = 10 };

struct bench {
    struct tidings *tidings;
    const char *dir;
    uint64_t users, authors, followed, posts, fans, comments, samples;
    uint64_t in_flight; /* changes at the same time, at most */
    uint64_t random;
    const char *only; /* part of the name of what is to be measured; NULL is everything */
    bool fill_only;   /* measure nothing */
};

uint64_t bench_random(struct bench *bench);
/* The author with --fans fans, who have the ids before. */
uint64_t bench_big(const struct bench *bench);
uint64_t bench_user(struct bench *bench);

/* Ends the program. */
_Noreturn void bench_fail(const char *what, enum tidings_err err);

/* Whether --only lets that measurement through. */
bool bench_wants(const struct bench *bench, const char *what);

/* Many changes in flight, of which each must succeed. */
struct pool;
struct pool *pool_new(const struct bench *bench);
void pool_drain(struct pool *pool);
void pool_free(struct pool *pool);
void bench_submit(struct bench *bench, struct pool *pool, struct tidings_op op);

/* What n operations took of the clock and of the CPU. */
struct usage {
    uint64_t wall, user, sys;
};
struct usage bench_usage(void);
void bench_print_usage(const char *what, struct usage from, uint64_t n);

/* Times single operations, one after the other. */
typedef struct tidings_op make_op(struct bench *bench, struct tidings_answer *answer);
void bench_time(struct bench *bench, const char *what, make_op *make);

/* An ordinary post. */
struct tidings_op bench_publish(uint64_t author);

/* bench_interactions.c: reactions, comments, hot lists. */
void bench_interactions(struct bench *bench);

#endif
