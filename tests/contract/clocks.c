/* SPDX-License-Identifier: MIT */
#include "contract/clocks.h"

#include <string.h>

static _Atomic int64_t since_ms;

int64_t clocks_elapsed(void *ctx)
{
    (void)ctx;
    return atomic_load(&since_ms);
}

struct jumps_told told_of;

static void note_jump(void *ctx, int64_t by_ms, bool stopped)
{
    (void)ctx;
    told_of.times++;
    told_of.by_ms = by_ms;
    told_of.stopped = stopped;
}

int clocks_begin(void **state)
{
    if (harness_begin_closed(state))
        return -1;
    atomic_store(&since_ms, 500 * SECOND_MS);
    memset(&told_of, 0, sizeof told_of);
    options.elapsed = clocks_elapsed;
    options.clock_jumped = note_jump;
    options.settings.follow_burst = 2;
    return try_open() ? -1 : 0;
}

void jump(int64_t ms)
{
    atomic_fetch_add(&clock_ms, ms);
}

void pass(int64_t ms)
{
    atomic_fetch_add(&since_ms, ms);
    jump(ms);
}

void stop_and_start(int64_t jump_ms)
{
    close_engine();
    jump(jump_ms);
    open_engine();
}

enum tidings_err try_follow(void)
{
    return run(follow_op(BOB, ANN));
}

void drain(void)
{
    for (int i = 0; i < 100 && !try_follow(); i++)
        ;
    assert_int_equal(answer.err, TIDINGS_RATE_LIMITED);
    assert_in_range(answer.retry_after_ms, 1, 1000);
}

void assert_refills(void)
{
    drain();
    pass(SECOND_MS);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(try_follow(), TIDINGS_RATE_LIMITED);
    pass(2 * SECOND_MS);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(try_follow(), TIDINGS_RATE_LIMITED);
}

uint64_t posts_of(uint64_t user)
{
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = user, .u.user.user_id = user});
    return answer.u.counters.posts;
}
