/* SPDX-License-Identifier: MIT */
#include "domain/bucket.h"

bool bucket_take(const struct bucket_rule *rule, int64_t tokens, int64_t now_ms, int64_t *full_at,
                 int64_t *retry_after_ms)
{
    int64_t wanted = tokens < rule->burst ? tokens : rule->burst;
    int64_t after = (*full_at > now_ms ? *full_at : now_ms) + wanted * rule->refill_ms;
    int64_t over = after - now_ms - rule->burst * rule->refill_ms;
    if (over > 0) {
        *retry_after_ms = over;
        return false;
    }
    *full_at = after;
    return true;
}

int64_t bucket_left(const struct bucket_rule *rule, int64_t now_ms, int64_t full_at,
                    int64_t *next_ms)
{
    int64_t missing_ms = full_at > now_ms ? full_at - now_ms : 0;
    int64_t missing = (missing_ms + rule->refill_ms - 1) / rule->refill_ms;
    /* More may be missing than fits in, if it was larger before. */
    int64_t over = missing > rule->burst ? missing - rule->burst : 0;
    *next_ms = missing ? missing_ms - (missing - 1 - over) * rule->refill_ms : 0;
    return rule->burst - (missing - over);
}
