/* SPDX-License-Identifier: MIT */
/*
 * A clock that goes faster, for a process that this library is loaded into: SOAK_SPEED=288 makes five minutes a day. The time of
 * day and the time since boot go alike, so that nothing looks like a clock that was set; what programs wait by
 * (CLOCK_MONOTONIC) is left alone.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

enum { CLOCKS = 16, SECOND_NS = 1000000000 };

#define SHOWN __attribute__((visibility("default")))

typedef int get_time(clockid_t id, struct timespec *time);

static get_time *real_clock;
static double speed;
static struct timespec began[CLOCKS];

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("SOAK_SPEED");
    void *found = dlsym(RTLD_NEXT, "clock_gettime");
    __builtin_memcpy(&real_clock, &found, sizeof real_clock);
    speed = text ? strtod(text, NULL) : 1;
    for (clockid_t id = 0; id < CLOCKS; id++)
        real_clock(id, &began[id]);
}

static int is_fast(clockid_t id)
{
    return id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE || id == CLOCK_BOOTTIME;
}

/* The coarse clock begins where the exact one does, lest it run behind by what it is coarse. */
SHOWN int clock_gettime(clockid_t id, struct timespec *time)
{
    if (!real_clock)
        begin();
    if (!is_fast(id))
        return real_clock(id, time);
    clockid_t exact = id == CLOCK_REALTIME_COARSE ? CLOCK_REALTIME : id;
    int failed = real_clock(exact, time);
    if (failed)
        return failed;
    long long passed = (long long)(time->tv_sec - began[exact].tv_sec) * SECOND_NS + time->tv_nsec -
                       began[exact].tv_nsec;
    long long ns = began[exact].tv_nsec + (long long)((double)passed * speed);
    time->tv_sec = began[exact].tv_sec + ns / SECOND_NS;
    time->tv_nsec = ns % SECOND_NS;
    return 0;
}

SHOWN time_t time(time_t *to)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (to)
        *to = now.tv_sec;
    return now.tv_sec;
}
