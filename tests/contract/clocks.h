/* SPDX-License-Identifier: MIT */
/* A clock that is set back and ahead, while time goes on all the same. */
#ifndef CONTRACT_CLOCKS_H
#define CONTRACT_CLOCKS_H

#include "contract/harness.h"

enum { ANN = 1, BOB = 2 };

#define SECOND_MS INT64_C(1000)
#define HOUR_MS   INT64_C(3600000)
#define DAY_MS    (24 * HOUR_MS)
#define YEAR_MS   (365 * DAY_MS)

/* What the engine said of jumps. */
struct jumps_told {
    unsigned times;
    int64_t by_ms;
    bool stopped;
};
extern struct jumps_told told_of;

/* A setup: an engine with such a clock, and follows that are soon too many. */
int clocks_begin(void **state);

/* How many ms have elapsed, for options.elapsed. */
int64_t clocks_elapsed(void *ctx);
void jump(int64_t ms);
void pass(int64_t ms);
void stop_and_start(int64_t jump_ms);

/* BOB follows ANN until that is too often; and a token comes a second. */
enum tidings_err try_follow(void);
void drain(void);
void assert_refills(void);

uint64_t posts_of(uint64_t user);

#endif
