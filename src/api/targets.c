/* SPDX-License-Identifier: MIT */
#include "api/targets.h"

#include <stdio.h>
#include <string.h>

#include "api/handlers.h"
#include "api/internal.h"

static const char prefix[] = "webhook:", prefix_encoded[] = "webhook%3A";

bool target_row_name(const char *name, size_t n, char row[TARGET_NAME_BYTES])
{
    size_t skip = 0;
    if (n > sizeof prefix - 1 && !memcmp(name, prefix, sizeof prefix - 1))
        skip = sizeof prefix - 1;
    else if (n > sizeof prefix_encoded - 1 &&
             !strncasecmp(name, prefix_encoded, sizeof prefix_encoded - 1))
        skip = sizeof prefix_encoded - 1;
    if (!n || n - skip + 2 > TARGET_NAME_BYTES)
        return false;
    snprintf(row, TARGET_NAME_BYTES, "%s%.*s", skip ? "" : ".", (int)(n - skip), name + skip);
    return true;
}

/* ---- Documents ------------------------------------------------------------------------------ */

static const char *const target_states[] = {
    [TIDINGS_WEBHOOK_OK] = "ok",
    [TIDINGS_WEBHOOK_RETRYING] = "retrying",
    [TIDINGS_WEBHOOK_DEAD] = "dead",
    [TIDINGS_WEBHOOK_DISABLED] = "disabled",
};

static bool target_is_consumer(const struct tidings_webhook *row)
{
    return row->name.n > 1 && *row->name.p == '.';
}

static void put_target_name(struct json_out *out, const struct tidings_webhook *row)
{
    char name[sizeof prefix + TARGET_NAME_BYTES], kind[TARGET_NAME_BYTES];
    bool consumer = target_is_consumer(row);
    snprintf(name, sizeof name, "%s%.*s", consumer ? "" : prefix,
             (int)(row->name.n - (consumer ? 1 : 0)), row->name.p + (consumer ? 1 : 0));
    snprintf(kind, sizeof kind, "%.*s", (int)strcspn(name, ":-_"), name);
    put_word(out, "name", name);
    put_word(out, "kind", kind);
}

/* A target that gets on has told more than what waits: its state is of a webhook that was called. */
static const char *target_state(const struct tidings_webhook *row)
{
    if (target_is_consumer(row))
        return row->failing_since ? "retrying" : "ok";
    return target_states[row->state];
}

static void put_target(struct json_out *out, const struct tidings_webhook *row, uint64_t newest)
{
    int64_t now = api_now_ms();
    bool waits = row->waiting_since && now > row->waiting_since;
    bool consumer = target_is_consumer(row);
    json_out_object(out);
    put_target_name(out, row);
    put_word(out, "state", target_state(row));
    put_u64(out, "position", row->position);
    if (newest)
        put_u64(out, "newest_event", newest);
    put_i64(out, "lag_ms", waits ? now - row->waiting_since : 0);
    put_time(out, "failing_since", row->failing_since);
    put_word(out, "trouble", row->failing_since && row->last_error.n ? row->last_error.p : "");
    put_u64(out, "told", row->delivered);
    put_u64(out, "refused", consumer ? row->failed : row->dead);
    put_u64(out, "missed", consumer ? row->dead : 0);
    put_u64(out, "dead", row->letters);
    put_u64(out, "dead_waiting", row->letters_again);
    put_u64(out, "dead_dropped", row->letters_lost);
    put_bool(out, "can_rebuild", row->fills);
    put_bool(out, "rebuilding", row->rebuild != 0);
    put_bool(out, "can_reconcile", row->reconciles);
    put_bool(out, "reconciling", row->reconcile != 0);
    json_out_end(out);
}

void targets_put(struct json_out *out, const struct tidings_answer *answer)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.webhooks.n; i++)
        put_target(out, &answer->u.webhooks.rows[i], answer->u.webhooks.newest);
    json_out_end(out);
    json_out_end(out);
}

void target_put(struct json_out *out, const struct tidings_answer *answer)
{
    put_target(out, &answer->u.webhook, 0);
}

void letters_put(struct json_out *out, const struct tidings_answer *answer)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.letters.n; i++) {
        const struct tidings_letter *letter = &answer->u.letters.rows[i];
        json_out_object(out);
        put_u64(out, "event_id", letter->event_id);
        put_i64(out, "happened_at", letter->happened_at);
        put_i64(out, "noted_at", letter->noted_at);
        put_bool(out, "again", letter->again);
        put_text(out, "reason", letter->reason);
        json_out_end(out);
    }
    json_out_end(out);
    put_u64(out, "kept", answer->u.letters.all);
    put_u64(out, "dropped", answer->u.letters.lost);
    put_id(out, "next_after", answer->u.letters.next.a);
    json_out_end(out);
}

/* ---- Requests ------------------------------------------------------------------------------- */

/* The name is the path's fourth part. */
static bool take_target_name(struct exchange *ex, struct tidings_text *name)
{
    static const char before[] = "/v1/admin/targets/";
    struct http_text path = http_request_path(ex->req);
    const char *from = path.p + sizeof before - 1, *end = path.p + path.n;
    const char *slash = memchr(from, '/', (size_t)(end - from));
    if (!target_row_name(from, (size_t)((slash ? slash : end) - from), ex->target_name)) {
        exchange_invalid(ex, "name", "that of a target");
        return false;
    }
    *name = (struct tidings_text){ex->target_name, strlen(ex->target_name)};
    return true;
}

static bool prepare_wish(struct exchange *ex, enum tidings_wish wish)
{
    ex->op.kind = TIDINGS_OP_TARGET_WISH;
    ex->op.u.wish.wish = wish;
    return take_target_name(ex, &ex->op.u.wish.name);
}

bool prepare_targets(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_WEBHOOKS;
    return true;
}

bool prepare_target_replay(struct exchange *ex)
{
    static const char *const members[] = {"after", "since_ms", NULL};
    bool has_event = false, has_time = false;
    if (!prepare_wish(ex, TIDINGS_WISH_REPLAY) || !arg_body(ex, members) ||
        !arg_id(ex, "after", &ex->op.u.wish.after, &has_event) ||
        !arg_time(ex, "since_ms", &ex->op.u.wish.since_ms, &has_time))
        return false;
    if (has_event == has_time) {
        exchange_invalid(ex, "after", "this or since_ms, one of the two");
        return false;
    }
    return true;
}

bool prepare_target_retry(struct exchange *ex)
{
    return prepare_wish(ex, TIDINGS_WISH_RETRY);
}

bool prepare_target_rebuild(struct exchange *ex)
{
    return prepare_wish(ex, TIDINGS_WISH_REBUILD);
}

bool prepare_target_reconcile(struct exchange *ex)
{
    return prepare_wish(ex, TIDINGS_WISH_RECONCILE);
}

bool prepare_letters(struct exchange *ex)
{
    struct tidings_page page = {0};
    bool given;
    ex->op.kind = TIDINGS_OP_LETTERS;
    if (!take_target_name(ex, &ex->op.u.letters.name) ||
        !query_id(ex, "after", &ex->op.u.letters.after, &given) || !query_limit(ex, &page))
        return false;
    ex->op.u.letters.limit = page.limit;
    return true;
}

void render_targets(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    (void)ex;
    targets_put(out, answer);
}

void render_target(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    (void)ex;
    target_put(out, answer);
}

void render_letters(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    (void)ex;
    letters_put(out, answer);
}

/* ---- Metrics -------------------------------------------------------------------------------- */

/* metric, type, help, value of a row */
#define TARGET_METRICS(X)                                                                    \
    X("target_dead_letters", "gauge", "Events that a target has refused for good, kept.",    \
      row->letters)                                                                          \
    X("target_dead_letters_dropped_total", "counter", "Such events dropped for newer ones.", \
      row->letters_lost)                                                                     \
    X("target_lag_seconds", "gauge", "Age of the oldest event known to wait for a target.",  \
      target_lag_s(row))                                                                     \
    X("target_failing", "gauge", "1: the target cannot be told.", (uint64_t) !!row->failing_since)

static uint64_t target_lag_s(const struct tidings_webhook *row)
{
    int64_t now = api_now_ms();
    return row->waiting_since && now > row->waiting_since
               ? (uint64_t)(now - row->waiting_since) / 1000
               : 0;
}

void target_metrics(const struct tidings_answer *answer, struct buf *to)
{
    if (answer->err || !answer->u.webhooks.n)
        return;
#define X(metric, type, help, value)                                                         \
    metrics_head(to, metric, type, help);                                                    \
    for (size_t i = 0; i < answer->u.webhooks.n; i++) {                                      \
        const struct tidings_webhook *row = &answer->u.webhooks.rows[i];                     \
        bool consumer = target_is_consumer(row);                                             \
        buf_printf(to, "tidings_%s{target=\"%s%s\"} %llu\n", metric, consumer ? "" : prefix, \
                   row->name.p + (consumer ? 1 : 0), (unsigned long long)(value));           \
    }
    TARGET_METRICS(X)
#undef X
}
