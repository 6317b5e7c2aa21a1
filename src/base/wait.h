/* SPDX-License-Identifier: MIT */
/* Conditions that are waited for until a time. By a clock that nobody sets: by the clock on the wall, somebody who is to
 * look again in a second would do so in an hour after it was set back by one. */
#ifndef BASE_WAIT_H
#define BASE_WAIT_H

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static inline void wait_init(pthread_cond_t *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* What that clock says. */
static inline uint64_t wait_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static inline int64_t wait_now_ms(void)
{
    return (int64_t)(wait_now_us() / 1000);
}

/* For pthread_cond_timedwait on such a condition. */
static inline struct timespec wait_until(unsigned seconds)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += seconds;
    return until;
}

static inline struct timespec wait_until_ms(unsigned ms)
{
    struct timespec until = wait_until(ms / 1000);
    until.tv_nsec += (long)(ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    return until;
}

/* Until the descriptor can be read. False: not in time. */
static inline bool wait_readable(int fd, int ms)
{
    struct pollfd wanted = {.fd = fd, .events = POLLIN};
    return poll(&wanted, 1, ms) > 0;
}

#endif
