/* SPDX-License-Identifier: MIT */
/*
 * What time it is: by the clock, which anybody may set, and elapsed, which advances by itself and goes on across a
 * restart as far as can be known. Ids and what is shown follow the clock; limits, and what is kept for some time, go by what
 * has elapsed. docs/decisions/0023-clocks.md has the reasons.
 *
 * Where a clock is injected and no time elapsed, the clock is both.
 */
#ifndef ENGINE_CLOCK_H
#define ENGINE_CLOCK_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/boot.h"
#include "domain/ages.h"
#include "tidings.h"

/* What is stored of it. */
struct clock_row {
    char boot[BOOT_BYTES]; /* the run of the machine that the next one holds for */
    int64_t offset_ms;     /* elapsed - time since the boot */
    int64_t lead_ms;       /* clock - elapsed, as far as the clock is believed */
    struct ages ages;
};

/* Where the last one to use the data left it. */
struct clock_left {
    bool has_elapsed; /* false: the data are new, or from before that was kept */
    int64_t elapsed_ms;
    int64_t newest_ms;           /* the time in the newest id */
    const struct clock_row *row; /* NULL: none */
    bool
        shared; /* by several machines: how long this one has been up says nothing about the others */
};

struct clock {
    int64_t (*wall)(void *ctx);
    int64_t (*since)(void *ctx); /* NULL: the clock is all there is */
    void *ctx;
    void (*jumped)(void *ctx, int64_t by_ms, bool stopped);
    void *jumped_ctx;
    int64_t keep_ms;           /* nobody asks for anything older */
    _Atomic int64_t offset_ms; /* elapsed - time since the boot; never less than before */
    _Atomic int64_t lead_ms;

    int64_t told_ms;   /* writer: clock - elapsed when a jump was last told of */
    int64_t record_ms; /* writer: the time of the newest record in the log */
    bool is_new;       /* writer: the row is not stored yet */
    bool
        is_open; /* it runs: the time elapsed never goes back, not when a follower takes over either */

    pthread_mutex_t mutex; /* guards what follows; only the writer changes it */
    struct clock_row row;
    uint64_t jumps;
    int64_t jump_ms, jump_at;
    bool stopped;
};

/* What time it is for an operation. */
struct moment {
    int64_t wall_ms;
    int64_t elapsed_ms;
    bool
        stopped; /* the clock is more than a day ahead: it is not believed, and nothing may be written */
};

void clock_init(struct clock *clock, const struct tidings_options *options);
void clock_release(struct clock *clock);

/* Goes on from there; again when a follower becomes the writer. */
void clock_open(struct clock *clock, const struct clock_left *left);

/* Thread-safe: now. */
struct moment clock_read(const struct clock *clock);

/*
 * Thread-safe: the moment of an operation, when the newest change so far was made at these times. One that says itself when
 * it happens (given_ms; 0: it does not) says thereby how much time has elapsed since. Elapsed is never less than before.
 */
struct moment clock_at(const struct clock *clock, int64_t given_ms, int64_t last_ms,
                       int64_t last_elapsed_ms);

/* Thread-safe: the time in ids up to which all is at least that old, when so much time has elapsed, or now. */
int64_t clock_limit(struct clock *clock, int64_t elapsed_ms, int64_t age_ms);
int64_t clock_limit_now(void *clock, int64_t age_ms);

/* Thread-safe: how far the clock is ahead of the time elapsed, believed or not; 0 where it is both. */
int64_t clock_ahead(const struct clock *clock);

/* Thread-safe, where several servers share the data: others know that so much time has elapsed, and have made these marks. */
void clock_raise(struct clock *clock, int64_t elapsed_ms);
void clock_share(struct clock *clock, const struct ages *ages);

/* Thread-safe. */
void clock_stats(struct clock *clock, struct tidings_stats *stats);

/* ---- For the writer ------------------------------------------------------------------------- */

/* The same as clock_read; tells of it if the clock has jumped. */
struct moment clock_look(struct clock *clock);

/* What a batch has to say of the time. */
struct clock_change {
    struct clock_row row;
    int64_t record_ms; /* the time of its record: the clock's, even if that was set back */
    bool stores;       /* the row is to be stored */
    bool is_news;      /* to be written though nothing else changes */
};

/* Of a batch that ends at that moment; the newest id before it, and now. */
struct clock_change clock_next(const struct clock *clock, const struct moment *at, uint64_t last_id,
                               uint64_t id);

/* It is durable. */
void clock_commit(struct clock *clock, const struct clock_change *change);

#endif
