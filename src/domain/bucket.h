/* SPDX-License-Identifier: MIT */
/*
 * A token bucket kept as one number: the time at which it will be full again. Nothing needs to be
 * refilled, and a bucket left alone for a year or for a second is right without being touched.
 */
#ifndef DOMAIN_BUCKET_H
#define DOMAIN_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

struct bucket_rule {
    int64_t burst;     /* tokens in a full bucket */
    int64_t refill_ms; /* time for one token to come back */
};

/*
 * Takes so many tokens at now_ms, or all of a full bucket if it has fewer: true, and *full_at moves. If there are
 * not as many: false, and *retry_after_ms is the wait for them. A full_at in the past (0 for a new bucket) is a full
 * bucket.
 */
bool bucket_take(const struct bucket_rule *rule, int64_t tokens, int64_t now_ms, int64_t *full_at,
                 int64_t *retry_after_ms);

/* How many tokens are left at now_ms, and in *next_ms how long until there is one more; 0 in a full bucket. */
int64_t bucket_left(const struct bucket_rule *rule, int64_t now_ms, int64_t full_at,
                    int64_t *next_ms);

#endif
