/* SPDX-License-Identifier: MIT */
#include "api/metrics.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "api/consumer.h"
#include "api/internal.h"
#include "api/replica.h"
#include "api/targets.h"

/* Statuses that a route can answer with; the last stands for any other. */
static const int statuses[] = {200, 201, 204, 400, 401, 403, 404, 405, 410, 422, 429, 500, 503, 0};
enum { N_STATUSES = sizeof statuses / sizeof *statuses };

const uint32_t metrics_bounds_us[METRICS_BOUNDS] = {50,     100,    250,    500,     1000,
                                                    2500,   5000,   10000,  25000,   50000,
                                                    100000, 250000, 500000, 1000000, 5000000};

/* One writer, any reader: relaxed loads and stores are enough. */
typedef _Atomic uint64_t counter;

struct route_metrics {
    counter by_status[N_STATUSES];
    counter by_time[METRICS_BOUNDS + 1];
    counter time_us;
};

struct metrics {
    counter tokens[JWT_REASON_COUNT];
    struct route_metrics routes[]; /* n_routes + 1 */
};

struct metrics *metrics_new(void)
{
    return calloc(1, sizeof(struct metrics) + (n_routes + 1) * sizeof(struct route_metrics));
}

void metrics_free(struct metrics *metrics)
{
    free(metrics);
}

static void add(counter *to, uint64_t value)
{
    atomic_store_explicit(to, atomic_load_explicit(to, memory_order_relaxed) + value,
                          memory_order_relaxed);
}

static uint64_t value_of(counter *from)
{
    return atomic_load_explicit(from, memory_order_relaxed);
}

void metrics_count(struct metrics *metrics, size_t route, int status, uint64_t duration_us)
{
    struct route_metrics *m = &metrics->routes[route];
    size_t i = 0, bound = 0;
    while (i < N_STATUSES - 1 && statuses[i] != status)
        i++;
    while (bound < METRICS_BOUNDS && duration_us > metrics_bounds_us[bound])
        bound++;
    add(&m->by_status[i], 1);
    add(&m->by_time[bound], 1);
    add(&m->time_us, duration_us);
}

void metrics_count_token(struct metrics *metrics, unsigned reason)
{
    add(&metrics->tokens[reason], 1);
}

/* ---- The page ------------------------------------------------------------------------------- */

void metrics_head(struct buf *to, const char *name, const char *type, const char *help)
{
    buf_printf(to, "# HELP tidings_%s %s\n# TYPE tidings_%s %s\n", name, help, name, type);
}

void metrics_single(struct buf *to, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    metrics_head(to, name, type, help);
    buf_printf(to, "tidings_%s %" PRIu64 "\n", name, value);
}

static const char *route_label(size_t route)
{
    return route < n_routes ? routes[route].name : "none";
}

static uint64_t sum(struct api *api, size_t route, size_t offset)
{
    uint64_t total = 0;
    for (unsigned i = 0; i < api->config.threads; i++) {
        char *m = (char *)&api->loops[i].metrics->routes[route];
        total += value_of((counter *)(void *)(m + offset));
    }
    return total;
}

static bool is_held(size_t route)
{
    static const char *const held[] = {"stream", "verify", "backup"};
    for (size_t i = 0; i < sizeof held / sizeof *held; i++)
        if (!strcmp(route_label(route), held[i]))
            return true;
    return false;
}

void metrics_sum(struct api *api, struct metrics_sums *sums)
{
    *sums = (struct metrics_sums){0};
    for (size_t r = 0; r <= n_routes; r++) {
        for (size_t i = 0; i < N_STATUSES; i++) {
            uint64_t n =
                sum(api, r, offsetof(struct route_metrics, by_status) + i * sizeof(counter));
            sums->requests += n;
            sums->failures += statuses[i] >= 500 ? n : 0;
        }
        for (size_t i = 0; i <= METRICS_BOUNDS && !is_held(r); i++)
            sums->by_time[i] +=
                sum(api, r, offsetof(struct route_metrics, by_time) + i * sizeof(counter));
    }
}

static void print_requests(struct api *api, struct buf *to)
{
    metrics_head(to, "requests_total", "counter", "Requests answered, by operation and status.");
    for (size_t r = 0; r <= n_routes; r++)
        for (size_t i = 0; i < N_STATUSES; i++) {
            uint64_t n =
                sum(api, r, offsetof(struct route_metrics, by_status) + i * sizeof(counter));
            if (!n)
                continue;
            if (statuses[i])
                buf_printf(to,
                           "tidings_requests_total{operation=\"%s\",status=\"%d\"} %" PRIu64 "\n",
                           route_label(r), statuses[i], n);
            else
                buf_printf(
                    to, "tidings_requests_total{operation=\"%s\",status=\"other\"} %" PRIu64 "\n",
                    route_label(r), n);
        }
}

static void print_times(struct api *api, struct buf *to)
{
    static const char name[] = "request_seconds";
    metrics_head(to, name, "histogram", "Time from the whole request to its answer, by operation.");
    for (size_t r = 0; r <= n_routes; r++) {
        uint64_t n = 0;
        const char *label = route_label(r);
        if (!sum(api, r, offsetof(struct route_metrics, time_us)))
            continue;
        for (size_t i = 0; i <= METRICS_BOUNDS; i++) {
            n += sum(api, r, offsetof(struct route_metrics, by_time) + i * sizeof(counter));
            if (i < METRICS_BOUNDS)
                buf_printf(to, "tidings_%s_bucket{operation=\"%s\",le=\"%g\"} %" PRIu64 "\n", name,
                           label, metrics_bounds_us[i] / 1e6, n);
        }
        buf_printf(to, "tidings_%s_bucket{operation=\"%s\",le=\"+Inf\"} %" PRIu64 "\n", name, label,
                   n);
        buf_printf(to, "tidings_%s_sum{operation=\"%s\"} %.6f\n", name, label,
                   (double)sum(api, r, offsetof(struct route_metrics, time_us)) / 1e6);
        buf_printf(to, "tidings_%s_count{operation=\"%s\"} %" PRIu64 "\n", name, label, n);
    }
}

static void print_tokens(struct api *api, struct buf *to)
{
    metrics_head(to, "tokens_refused_total", "counter", "Bearer tokens refused, by reason.");
    for (unsigned reason = 0; reason < JWT_REASON_COUNT; reason++) {
        uint64_t n = 0;
        for (unsigned i = 0; i < api->config.threads; i++)
            n += value_of(&api->loops[i].metrics->tokens[reason]);
        if (n)
            buf_printf(to, "tidings_tokens_refused_total{reason=\"%s\"} %" PRIu64 "\n",
                       jwt_reason_label((enum jwt_reason)reason), n);
    }
}

/* What is open or waits now goes up and down; everything else only up. */
static void print_http_counter(struct buf *to, const char *name, const char *help, uint64_t value)
{
    char full[64];
    bool gauge = !strcmp(name, "open") || !strcmp(name, "streams_open") || !strcmp(name, "unsent");
    snprintf(full, sizeof full, "http_%s%s", name, gauge ? "" : "_total");
    metrics_single(to, full, gauge ? "gauge" : "counter", help, value);
}

static void print_http(struct api *api, struct buf *to)
{
    struct http_counters counters;
    api_counters(api, &counters);
#define X(name, help) print_http_counter(to, #name, help, counters.name);
    HTTP_COUNTERS(X)
#undef X
    metrics_head(to, "http_cut_total", "counter",
                 "Connections cut because something took too long or too much.");
#define X(name, label)                                                         \
    buf_printf(to, "tidings_http_cut_total{what=\"%s\"} %" PRIu64 "\n", label, \
               counters.cut[HTTP_CUT_##name]);
    HTTP_CUTS(X)
#undef X
    metrics_head(to, "http_refused_total", "counter",
                 "Requests refused before they reached a route.");
    for (unsigned i = HTTP_ACCEPTED + 1; i < HTTP_REFUSAL_COUNT; i++)
        buf_printf(to, "tidings_http_refused_total{code=\"%s\"} %" PRIu64 "\n",
                   http_refusal_code((enum http_refusal)i), counters.refused[i]);
}

/* The engine's histograms count powers of two: bucket i ends below 2^i. */
static void print_engine_histogram(struct buf *to, const char *name, const char *help,
                                   const uint64_t *buckets, double unit, double total)
{
    uint64_t n = 0;
    metrics_head(to, name, "histogram", help);
    for (unsigned i = 0; i < TIDINGS_STATS_BUCKETS; i++) {
        n += buckets[i];
        if (i + 1 < TIDINGS_STATS_BUCKETS)
            buf_printf(to, "tidings_%s_bucket{le=\"%g\"} %" PRIu64 "\n", name,
                       (double)((UINT64_C(1) << i) - 1) * unit, n);
    }
    buf_printf(to, "tidings_%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, n);
    buf_printf(to, "tidings_%s_sum %.6f\n", name, total);
    buf_printf(to, "tidings_%s_count %" PRIu64 "\n", name, n);
}

static void print_engine(struct api *api, struct buf *to)
{
    struct tidings_stats stats;
    tidings_stats(api->config.tidings, &stats);
    metrics_single(to, "write_queue", "gauge", "Changes waiting for the writer.", stats.waiting);
    metrics_single(to, "write_queue_refused_total", "counter",
                   "Changes refused: the queue was full.", stats.refused_busy);
    metrics_single(to, "batches_failed_total", "counter", "Batches that could not be made durable.",
                   stats.failures);
    metrics_single(to, "faults_total", "counter",
                   "Changes refused: a count would have gone below zero.", stats.faults);
    metrics_single(to, "data_bytes", "gauge", "Bytes of the data file in use.", stats.data_bytes);
    metrics_single(to, "log_bytes", "gauge", "Bytes of redo log behind the newest base image.",
                   stats.log_bytes);
    metrics_single(to, "snapshots_total", "counter", "Base images made.", stats.snapshots);
    metrics_single(to, "snapshots_failed_total", "counter", "Base images that could not be made.",
                   stats.snapshots_failed);
    metrics_single(to, "read_only", "gauge",
                   "1: nothing can be written: no room, or storage that failed.", stats.read_only);
    metrics_single(to, "clock_jumps_total", "counter", "Jumps of the clock by more than a minute.",
                   stats.clock_jumps);
    metrics_single(to, "clock_stopped", "gauge",
                   "1: the clock is not believed, nothing is written.", stats.clock_stopped);
    print_engine_histogram(to, "batch_size", "Changes made durable together.", stats.batch_size, 1,
                           (double)stats.changes);
    print_engine_histogram(to, "commit_seconds", "Time to make a batch durable, syncing included.",
                           stats.commit_time_us, 1e-6, (double)stats.commit_us / 1e6);
}

void metrics_print(struct api *api, const struct tidings_answer *webhooks, struct buf *to)
{
    print_requests(api, to);
    print_times(api, to);
    print_tokens(api, to);
    print_http(api, to);
    print_engine(api, to);
    replica_metrics(api->config.tidings, to);
    webhook_metrics(webhooks, to);
    consumer_metrics(webhooks, to);
    target_metrics(webhooks, to);
}
