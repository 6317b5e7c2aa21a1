/* SPDX-License-Identifier: MIT */
/* Their numbers are rows of the engine's, so every server tells the same, and they go on after a restart. */
#include "api/consumer.h"

#include <inttypes.h>

#include "api/exchange.h"
#include "api/internal.h"
#include "api/metrics.h"

static bool is_consumer(const struct tidings_webhook *row)
{
    return row->name.n > 1 && !row->url.n;
}

static void put_consumer(struct json_out *out, const struct tidings_webhook *row)
{
    json_out_object(out);
    put_word(out, "name", row->name.p + 1);
    put_u64(out, "position", row->position);
    put_u64(out, "told", row->delivered);
    put_u64(out, "refused", row->failed);
    put_u64(out, "missed", row->dead);
    put_bool(out, "rebuilding", row->rebuild != 0);
    put_time(out, "waiting_since", row->waiting_since);
    put_time(out, "failing_since", row->failing_since);
    put_word(out, "trouble", row->failing_since ? row->last_error.p : "");
    json_out_end(out);
}

void put_consumers_status(struct json_out *out, const struct tidings_answer *answer)
{
    json_out_key(out, "consumers");
    if (answer->err) {
        json_out_null(out);
        return;
    }
    json_out_array(out);
    for (size_t i = 0; i < answer->u.webhooks.n; i++)
        if (is_consumer(&answer->u.webhooks.rows[i]))
            put_consumer(out, &answer->u.webhooks.rows[i]);
    json_out_end(out);
}

static uint64_t since_s(int64_t since)
{
    int64_t now = api_now_ms();
    return since && now > since ? (uint64_t)(now - since) / 1000 : 0;
}

/* metric, type, help, value of a row */
#define CONSUMER_METRICS(X)                                                                      \
    X("consumer_position", "gauge", "Last event that a consumer was told of.", row->position)    \
    X("consumer_told_total", "counter", "Events that a consumer was told of.", row->delivered)   \
    X("consumer_refused_total", "counter", "Events that a consumer will not take.", row->failed) \
    X("consumer_missed_total", "counter", "Events that were removed before they could be told.", \
      row->dead)                                                                                 \
    X("consumer_rebuilding", "gauge", "1: what the consumer keeps is made anew.",                \
      (uint64_t) !!row->rebuild)                                                                 \
    X("consumer_failing", "gauge", "1: the consumer cannot be told.",                            \
      (uint64_t) !!row->failing_since)                                                           \
    X("consumer_backlog_seconds", "gauge",                                                       \
      "Age of the oldest event known to wait for a consumer.", since_s(row->waiting_since))

void consumer_metrics(const struct tidings_answer *answer, struct buf *to)
{
    bool any = false;
    for (size_t i = 0; !answer->err && i < answer->u.webhooks.n; i++)
        any |= is_consumer(&answer->u.webhooks.rows[i]);
    if (!any)
        return;
#define X(metric, type, help, value)                                                             \
    metrics_head(to, metric, type, help);                                                        \
    for (size_t i = 0; i < answer->u.webhooks.n; i++) {                                          \
        const struct tidings_webhook *row = &answer->u.webhooks.rows[i];                         \
        if (is_consumer(row))                                                                    \
            buf_printf(to, "tidings_%s{consumer=\"%s\"} %" PRIu64 "\n", metric, row->name.p + 1, \
                       value);                                                                   \
    }
    CONSUMER_METRICS(X)
#undef X
}
