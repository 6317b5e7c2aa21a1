/* SPDX-License-Identifier: MIT */
/*
 * A community in plain SQL: tables of schema.sql, one transaction per operation, many connections. bench/cluster fills the tables
 * and measures replicas beside it: docs/bench/cluster.md, "plain SQL".
 *
 *     world.c     who does what in the n-th step
 *     singly.c    through libmariadb, one transaction a step, many connections
 *     main.c      arguments, and what is printed
 */
#ifndef BENCH_DATABASE_BENCH_H
#define BENCH_DATABASE_BENCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* What bench/cluster made. Users and authors have ids of their own from 1 on; authors' come behind AUTHORS_FROM. */
struct world {
    uint64_t users;
    uint64_t authors;    /* whom users follow, each with as many posts */
    uint64_t followed;   /* by each user */
    uint64_t posts;      /* of each author, numbered in the order of ids */
    uint64_t first_post; /* its id */
};

enum { AUTHORS_FROM = 2000000, STRANGERS_FROM = 3000000, NEWCOMERS_FROM = 10000000 };

enum work {
    WORK_MARKS,
    WORK_FOLLOWS,
    WORK_LIKES,
    WORK_ONE_POST,
    WORK_BADGE,
    WORK_PAGE,
    WORK_COUNTERS,
    WORK_FOLLOWING,
    WORKS
};

struct step {
    uint64_t user, author, post;
    uint32_t number; /* of the post among its author's */
};

/* The n-th step of that work: never the same twice before the world is used up, where false is returned. */
bool world_step(const struct world *world, enum work work, uint64_t n, struct step *step);

struct bench {
    const char *socket;
    const char *database;
    uint64_t server; /* its process id; 0: its time is not known */
    struct world world;
    enum work work;
    unsigned connections;
    double seconds;
    _Atomic uint64_t next; /* step */
};

struct outcome {
    uint64_t steps;
    double seconds;
    double cpu_s; /* of this process and of the server */
};

double bench_now(void);
/* What this process and the server have used so far. */
double bench_cpu(const struct bench *bench);
_Noreturn void bench_fail(const char *what, const char *why);

struct outcome bench_singly(struct bench *bench);

#endif
