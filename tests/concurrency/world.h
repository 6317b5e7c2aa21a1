/* SPDX-License-Identifier: MIT */
/*
 * What the threads of the concurrency test share, and what each has of its own.
 *
 * Who is who decides what can be checked:
 *
 *   authors         publish and delete, by any writer
 *   steady authors  publish only, by any writer
 *   fans            follow, read, purge, by any writer
 *   keepers' fans   follow the steady authors and their keeper's own author for good; nobody but
 *                   their keeper changes what they have read, so the keeper knows what must be
 * there
 */
#ifndef TIDINGS_TESTS_WORLD_H
#define TIDINGS_TESTS_WORLD_H

#include "random.h"
#include "tidings.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
    AUTHORS = 6,
    STEADY_AUTHORS = 3,
    FANS = 12,
    KEEPERS = 2,
    READERS = 8,
    WRITERS = 24,

    FIRST_AUTHOR = 1,
    FIRST_STEADY_AUTHOR = 21,
    FIRST_FAN = 41,
    FIRST_KEEPERS_FAN = 61,
    FIRST_KEEPERS_AUTHOR = 71,
    USERS = 80, /* all ids are below */

    RECENT = 256,
    SERVERS_MOST = 5,
};

struct world {
    struct tidings *engines[SERVERS_MOST]; /* several servers on one log: see engine_servers */
    unsigned servers;
    struct tidings_options options;
    uint64_t seed;
    int64_t end_ns; /* when the threads stop, on the monotonic clock */

    atomic_bool failed;
    atomic_uint_fast64_t answers;
    atomic_uint_fast64_t recent[RECENT]; /* ids of posts published lately; 0 is none yet */
    atomic_uint_fast64_t recent_at;
    pthread_mutex_t print_lock;
};

/* One thread's place. */
struct seat {
    struct world *world;
    unsigned number; /* among its kind */
    struct rng rng;
    struct tidings_answer answer;    /* to the last operation */
    struct tidings_moment as_of;     /* the last one seen: they never go back */
    struct tidings_op as_of_op;      /* what had it in its answer */
    uint64_t newest[STEADY_AUTHORS]; /* the newest posts seen: they are never deleted */
    struct tidings_cursor event; /* tail, looker: where it stands, and what it has seen so far */
    uint64_t events;
    uint64_t events_mixed;
};

bool world_open(struct world *world, const char *dir, uint64_t seed,
                const struct tidings_settings *settings);
void world_close(struct world *world);
/* Closes and opens each engine, one after the other: with several, another one takes over meanwhile. */
bool world_reopen(struct world *world);
/* Verifies each engine's data; and all have the same facts. */
bool world_verify(struct world *world);
bool world_goes_on(struct world *world);
/* Prints what went wrong and stops the threads. */
void world_fail(struct world *world, const char *format, ...) __attribute__((format(printf, 2, 3)));

int64_t monotonic_ns(void);

/* One of the engines, at random. */
struct tidings *seat_engine(struct seat *seat);

void seat_init(struct seat *seat, struct world *world, unsigned kind, unsigned number);
void seat_release(struct seat *seat);

/*
 * Runs an operation and checks everything that must hold in its answer. True if it succeeded. An
 * error that cannot be right in this world fails it.
 */
bool ask(struct seat *seat, const struct tidings_op *op);

struct tidings_op op_of(enum tidings_op_kind kind, uint64_t viewer);

/*
 * Pages through a list with random limits and checks that it goes strictly downwards across pages.
 * Calls row() for each post or user id; stops after `most` pages. False if something failed.
 */
bool page_through(struct seat *seat, struct tidings_op op, unsigned most,
                  void (*row)(void *ctx, uint64_t id), void *ctx);

/* The threads; each takes a struct seat. */
void *writer(void *seat);
void *reader(void *seat);
void *keeper(void *seat);
void *tail(void *seat);

/* What the keepers' fans and everybody else follow at the beginning. */
bool world_begin(struct seat *seat);

/* When all threads have ended: what the tail saw as it was written is what is there now. */
bool tail_missed_nothing(struct seat *tail);

/* When all threads have ended: the answers fit together for every user, and the events tell the
 * whole story. */
bool world_adds_up(struct seat *seat);

#endif
