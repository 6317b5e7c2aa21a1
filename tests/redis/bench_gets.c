/* SPDX-License-Identifier: MIT */
/*
 * GETs a second by one thread, so many at a time: tests/support/with-redis build/tests/bench_redis_gets
 * docs/decisions/0027-redis-client.md has what came of it, and what to compare it with.
 */
#include "redis/support.h"

enum { KEYS = 1000, VALUE = 100, SECONDS = 2, LONG_MS = 20000 };

static void add_all(struct batch *batch, const char *command, const char *value, size_t from,
                    size_t n)
{
    char key[32];
    batch_clear(batch);
    for (size_t i = from; i < from + n; i++) {
        snprintf(key, sizeof key, "bench:%zu", i % KEYS);
        batch_add(batch, command, key, value, NULL);
    }
}

static void measure(struct redis *redis, struct batch *batch, size_t at_a_time)
{
    struct timespec cpu;
    uint64_t done = 0, began = wait_now_us(), end = began + SECONDS * 1000000;
    add_all(batch, "GET", NULL, 0, at_a_time);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    double cpu_before = (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9;
    while (wait_now_us() < end) {
        redis_run(redis, batch->calls, batch->n, wait_now_ms() + LONG_MS);
        done += batch_count(batch, REDIS_DONE);
    }
    double seconds = (double)(wait_now_us() - began) / 1e6;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    printf("%6zu at a time: %8.0f a second, %5.2f us of CPU each\n", at_a_time,
           (double)done / seconds,
           ((double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9 - cpu_before) / (double)done * 1e6);
}

int main(void)
{
    static const size_t sizes[] = {1, 16, 64, 256, 1000};
    char value[VALUE + 1];
    struct redis *redis = client_new();
    struct batch batch;
    memset(value, 'v', VALUE);
    value[VALUE] = '\0';
    batch_init(&batch);
    add_all(&batch, "SET", value, 0, KEYS);
    batch_run(redis, &batch, LONG_MS);
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        measure(redis, &batch, sizes[i]);
    batch_release(&batch);
    redis_free(redis);
    return 0;
}
