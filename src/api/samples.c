/* SPDX-License-Identifier: MIT */
#include "api/samples.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "api/internal.h"
#include "base/thread.h"

struct sample {
    int64_t at_ms;
    struct metrics_sums sums;
    uint64_t batches, changes;
    uint64_t commit[TIDINGS_STATS_BUCKETS];
    uint64_t waiting, streams, connections;
    uint64_t data_bytes, log_bytes;
};

struct samples {
    struct api *api;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wanted; /* to stop */
    bool stopping;
    struct sample ring[SAMPLES_MAX];
    size_t n, next;
};

static struct sample take_sample(struct api *api)
{
    struct sample sample = {.at_ms = api_now_ms()};
    struct tidings_stats stats;
    struct http_counters counters;
    tidings_stats(api->config.tidings, &stats);
    api_counters(api, &counters);
    metrics_sum(api, &sample.sums);
    for (size_t i = 0; i < TIDINGS_STATS_BUCKETS; i++) {
        sample.batches += stats.batch_size[i];
        sample.commit[i] = stats.commit_time_us[i];
    }
    sample.changes = stats.changes;
    sample.waiting = stats.waiting;
    sample.streams = counters.streams_open;
    sample.connections = counters.open;
    sample.data_bytes = stats.data_bytes;
    sample.log_bytes = stats.log_bytes;
    return sample;
}

/* ---- The thread ----------------------------------------------------------------------------- */

static void keep(struct samples *samples, const struct sample *sample)
{
    pthread_mutex_lock(&samples->mutex);
    samples->ring[samples->next] = *sample;
    samples->next = (samples->next + 1) % SAMPLES_MAX;
    samples->n += samples->n < SAMPLES_MAX;
    pthread_mutex_unlock(&samples->mutex);
}

/* False when it is time to stop. */
static bool wait_until(struct samples *samples, const struct timespec *until)
{
    int err = 0;
    pthread_mutex_lock(&samples->mutex);
    while (!samples->stopping && err != ETIMEDOUT)
        err = pthread_cond_timedwait(&samples->wanted, &samples->mutex, until);
    bool go_on = !samples->stopping;
    pthread_mutex_unlock(&samples->mutex);
    return go_on;
}

static void *samples_main(void *arg)
{
    struct samples *samples = arg;
    struct timespec next;
    thread_name("samples");
    clock_gettime(CLOCK_MONOTONIC, &next);
    do {
        struct sample sample = take_sample(samples->api);
        keep(samples, &sample);
        next.tv_sec += SAMPLES_EVERY_MS / 1000;
    } while (wait_until(samples, &next));
    return NULL;
}

struct samples *samples_start(struct api *api)
{
    struct samples *samples = calloc(1, sizeof *samples);
    pthread_condattr_t clock;
    if (!samples)
        return NULL;
    samples->api = api;
    pthread_mutex_init(&samples->mutex, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&samples->wanted, &clock);
    pthread_condattr_destroy(&clock);
    if (!pthread_create(&samples->thread, NULL, samples_main, samples))
        return samples;
    pthread_mutex_destroy(&samples->mutex);
    pthread_cond_destroy(&samples->wanted);
    free(samples);
    return NULL;
}

void samples_stop(struct samples *samples)
{
    if (!samples)
        return;
    pthread_mutex_lock(&samples->mutex);
    samples->stopping = true;
    pthread_cond_signal(&samples->wanted);
    pthread_mutex_unlock(&samples->mutex);
    pthread_join(samples->thread, NULL);
    pthread_mutex_destroy(&samples->mutex);
    pthread_cond_destroy(&samples->wanted);
    free(samples);
}

/* ---- The answer ----------------------------------------------------------------------------- */

static void put_counts_list(struct json_out *out, const char *key, const uint64_t *counts, size_t n)
{
    json_out_key(out, key);
    json_out_array(out);
    for (size_t i = 0; i < n; i++)
        json_out_u64(out, counts[i]);
    json_out_end(out);
}

static void put_sample(struct json_out *out, const struct sample *sample)
{
    json_out_object(out);
    put_i64(out, "at", sample->at_ms);
    put_u64(out, "requests", sample->sums.requests);
    put_u64(out, "failures", sample->sums.failures);
    put_counts_list(out, "latency", sample->sums.by_time, METRICS_BOUNDS + 1);
    put_u64(out, "batches", sample->batches);
    put_u64(out, "changes", sample->changes);
    put_counts_list(out, "commit", sample->commit, TIDINGS_STATS_BUCKETS);
    put_u64(out, "write_queue", sample->waiting);
    put_u64(out, "streams", sample->streams);
    put_u64(out, "connections", sample->connections);
    put_u64(out, "data_bytes", sample->data_bytes);
    put_u64(out, "log_bytes", sample->log_bytes);
    json_out_end(out);
}

/* Upper bounds of the two histograms, of every bucket but the last, which has none. */
static void put_bounds(struct json_out *out)
{
    uint64_t latency[METRICS_BOUNDS], commit[TIDINGS_STATS_BUCKETS - 1];
    for (size_t i = 0; i < METRICS_BOUNDS; i++)
        latency[i] = metrics_bounds_us[i];
    for (size_t i = 0; i < TIDINGS_STATS_BUCKETS - 1; i++)
        commit[i] = (UINT64_C(1) << i) - 1;
    put_counts_list(out, "latency_bounds_us", latency, METRICS_BOUNDS);
    put_counts_list(out, "commit_bounds_us", commit, TIDINGS_STATS_BUCKETS - 1);
}

void run_samples(struct exchange *ex)
{
    struct samples *samples = ex->api->samples;
    struct buf *buf = &exchange_loop(ex)->out;
    struct sample now = take_sample(ex->api);
    struct json_out out;
    buf_clear(buf);
    json_out_init(&out, buf);
    json_out_object(&out);
    put_u64(&out, "every_ms", SAMPLES_EVERY_MS);
    put_bounds(&out);
    json_out_key(&out, "items");
    json_out_array(&out);
    pthread_mutex_lock(&samples->mutex);
    for (size_t i = 0; i < samples->n; i++)
        put_sample(&out,
                   &samples->ring[(samples->next + SAMPLES_MAX - samples->n + i) % SAMPLES_MAX]);
    pthread_mutex_unlock(&samples->mutex);
    put_sample(&out, &now);
    json_out_end(&out);
    json_out_end(&out);
    exchange_json(ex, 200, "application/json", buf);
}
