/* SPDX-License-Identifier: MIT */
/*
 * Requests by route and status, and how long they took. Each loop counts for itself, with plain
 * stores that others may read at any time; the page adds them up.
 */
#ifndef API_METRICS_H
#define API_METRICS_H

#include <stddef.h>
#include <stdint.h>

struct api;
struct buf;
struct metrics;
struct tidings_answer;

struct metrics *metrics_new(void);
void metrics_free(struct metrics *metrics);

/* On the loop's own thread. `route` is an index in the table, or n_routes for none of them. */
void metrics_count(struct metrics *metrics, size_t route, int status, uint64_t duration_us);

/* A token that was refused, by enum jwt_reason. */
void metrics_count_token(struct metrics *metrics, unsigned reason);

/* Upper bounds of the buckets of request times; one more bucket has no bound. */
enum { METRICS_BOUNDS = 15 };
extern const uint32_t metrics_bounds_us[METRICS_BOUNDS];

/* Over all operations. The times leave out what is held open, or at work for minutes, on purpose. */
struct metrics_sums {
    uint64_t requests;
    uint64_t failures; /* of these: answered with 5xx */
    uint64_t by_time[METRICS_BOUNDS + 1];
};

/* Any thread. */
void metrics_sum(struct api *api, struct metrics_sums *sums);

/* A family's head; and one that is a single number. Names are without "tidings_". */
void metrics_head(struct buf *to, const char *name, const char *type, const char *help);
void metrics_single(struct buf *to, const char *name, const char *type, const char *help,
                    uint64_t value);

/* The part about webhooks (webhook.c). */
void webhook_metrics(const struct tidings_answer *answer, struct buf *to);

/* Everything, in Prometheus' text. Any thread. */
void metrics_print(struct api *api, const struct tidings_answer *webhooks, struct buf *to);

#endif
