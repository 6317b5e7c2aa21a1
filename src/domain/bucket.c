/* SPDX-License-Identifier: MIT */
#include "domain/bucket.h"

bool bucket_take(const struct bucket_rule *rule, int64_t now_ms, int64_t *full_at,
                 int64_t *retry_after_ms)
{
    int64_t after = (*full_at > now_ms ? *full_at : now_ms) + rule->refill_ms;
    int64_t over = after - now_ms - rule->burst * rule->refill_ms;
    if (over > 0) {
        *retry_after_ms = over;
        return false;
    }
    *full_at = after;
    return true;
}
