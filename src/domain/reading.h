/* SPDX-License-Identifier: MIT */
/*
 * Where a reader stopped in a story, as several devices tell it, each with its own time and in any
 * order.
 *
 * A state is three maxima: the furthest read (by time, then by position), the latest entering, the
 * latest erasing. Whatever a device tells is such a state too, and states are joined part by part.
 * A maximum does not care about order or repeats, so the same news in any order end in the same
 * state, and what is shown follows from the state alone.
 */
#ifndef DOMAIN_READING_H
#define DOMAIN_READING_H

#include <stdbool.h>
#include <stdint.h>

/* Times in ms since 1970; 0 is never. */
struct reading {
    int64_t read_at;
    uint64_t scene; /* not 0 if and only if read_at is not */
    uint64_t message;
    int64_t entered_at; /* entered without reading on */
    int64_t erased_at;  /* what was read or entered up to then is void */
};

/* One write of a device: scene 0 is entering. */
struct reading reading_write(int64_t time, uint64_t scene, uint64_t message);

struct reading reading_erasure(int64_t time);

struct reading reading_join(struct reading a, struct reading b);

/* What a reader sees of it. */
struct reading_shown {
    bool any;
    int64_t modified_at;
    uint64_t scene; /* 0: entered, not read on */
    uint64_t message;
};

/* With what all stories' readings were cleared up to: it counts as an erasing of each. */
struct reading_shown reading_show(const struct reading *reading, int64_t cleared_at);

bool reading_same(const struct reading_shown *a, const struct reading_shown *b);

/* A device's time as it counts: 0 is now, and what is ahead of the server's clock is now too. */
int64_t reading_time(int64_t device_ms, int64_t now_ms);

#endif
