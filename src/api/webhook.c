/* SPDX-License-Identifier: MIT */
/* Webhooks for admins, and their metrics. The secret comes in and never goes out. */
#include <inttypes.h>
#include <string.h>

#include "api/handlers.h"
#include "api/internal.h"
#include "push/secret.h"

/* By enum tidings_webhook_state. */
static const char *const states[] = {"ok", "retrying", "dead", "disabled"};

static const char *state_name(enum tidings_webhook_state state)
{
    return states[state - TIDINGS_WEBHOOK_OK];
}

/* The name is the path's fourth part. */
static struct tidings_text name_in_path(const struct exchange *ex)
{
    static const char before[] = "/v1/admin/webhooks/";
    struct http_text path = http_request_path(ex->req);
    const char *from = path.p + sizeof before - 1, *end = path.p + path.n;
    const char *slash = memchr(from, '/', (size_t)(end - from));
    return (struct tidings_text){from, (size_t)((slash ? slash : end) - from)};
}

static bool prepare_named(struct exchange *ex, enum tidings_op_kind kind)
{
    ex->op.kind = kind;
    ex->op.u.webhook.name = name_in_path(ex);
    return true;
}

bool prepare_webhook(struct exchange *ex)
{
    return prepare_named(ex, TIDINGS_OP_WEBHOOK);
}

bool prepare_webhook_delete(struct exchange *ex)
{
    return prepare_named(ex, TIDINGS_OP_WEBHOOK_DELETE);
}

bool prepare_webhook_retry(struct exchange *ex)
{
    return prepare_named(ex, TIDINGS_OP_WEBHOOK_RETRY);
}

/* Names of events' types, as a set; at least one. */
static bool take_events(struct exchange *ex, uint64_t *events)
{
    const json_t *value = json_object_get(ex->body, "events");
    if (!value || json_is_null(value))
        return true;
    size_t n = json_array_size(value); /* 0 also of what is no array */
    bool fine = n;
    for (size_t i = 0; fine && i < n; i++) {
        const json_t *name = json_array_get(value, i);
        uint64_t bits = json_is_string(name)
                            ? tidings_event_bits(json_string_value(name), json_string_length(name))
                            : 0;
        *events |= bits;
        fine = bits;
    }
    if (!fine)
        exchange_invalid(ex, "events", "names of events' types, at least one");
    return fine;
}

/* What the engine does not know: where a webhook may lead, and which secrets other programs can read. */
static bool check_set(struct exchange *ex)
{
    struct tidings_text url = ex->op.u.webhook.url, secret = ex->op.u.webhook.secret;
    bool trusted;
    const char *field = "url";
    const char *wrong = push_check_url(ex->api->config.rules, url.p, url.n, &trusted);
    if (!wrong && secret.p) {
        field = "secret";
        wrong = secret_check(secret.p, secret.n);
    }
    if (wrong)
        exchange_invalid(ex, field, "%s", wrong);
    return !wrong;
}

bool prepare_webhook_set(struct exchange *ex)
{
    static const char *const members[] = {"url", "secret", "disabled", "events", NULL};
    bool given;
    prepare_named(ex, TIDINGS_OP_WEBHOOK_SET);
    return arg_body(ex, members) && arg_text(ex, "url", &ex->op.u.webhook.url, NULL) &&
           arg_text(ex, "secret", &ex->op.u.webhook.secret, &given) &&
           arg_bool(ex, "disabled", &ex->op.u.webhook.disabled, &given) &&
           take_events(ex, &ex->op.u.webhook.events) && check_set(ex);
}

bool prepare_webhooks(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_WEBHOOKS;
    return true;
}

/* Each name once, in the order of the types; null: what has a tag. */
static void put_events(struct json_out *out, uint64_t events)
{
    json_out_key(out, "events");
    if (!events) {
        json_out_null(out);
        return;
    }
    json_out_array(out);
    for (unsigned type = 0; events >> type; type++) {
        if (!(events >> type & 1))
            continue;
        const char *name = tidings_event_name((enum tidings_event_type)type);
        json_out_text(out, name);
        events &= ~tidings_event_bits(name, strlen(name));
    }
    json_out_end(out);
}

static void put_webhook(struct json_out *out, const struct tidings_webhook *webhook)
{
    json_out_object(out);
    put_text(out, "name", webhook->name);
    put_text(out, "url", webhook->url);
    put_events(out, webhook->events);
    json_out_key(out, "state");
    json_out_text(out, state_name(webhook->state));
    put_u64(out, "position", webhook->position);
    put_time(out, "waiting_since", webhook->waiting_since);
    put_time(out, "failing_since", webhook->failing_since);
    put_u64(out, "attempts", webhook->attempts);
    put_time(out, "retry_at", webhook->retry_at);
    put_u64(out, "delivered", webhook->delivered);
    put_u64(out, "failed", webhook->failed);
    put_u64(out, "dead", webhook->dead);
    json_out_key(out, "last_error");
    if (webhook->last_error.n)
        json_out_string(out, webhook->last_error.p, webhook->last_error.n);
    else
        json_out_null(out);
    put_i64(out, "created_at", webhook->created_at);
    json_out_end(out);
}

void render_webhook(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    (void)ex;
    put_webhook(out, &answer->u.webhook);
}

void render_webhooks(const struct exchange *ex, const struct tidings_answer *answer,
                     struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.webhooks.n; i++)
        if (answer->u.webhooks.rows[i].url.n) /* others are consumers' */
            put_webhook(out, &answer->u.webhooks.rows[i]);
    json_out_end(out);
    json_out_end(out);
}

/* ---- Metrics -------------------------------------------------------------------------------- */

/* metric, type, help, value of a webhook w */
#define WEBHOOK_METRICS(X)                                                                        \
    X("webhook_delivered_total", "counter", "Events that a webhook took.", w->delivered)          \
    X("webhook_failed_total", "counter", "Calls to a webhook that failed.", w->failed)            \
    X("webhook_dead_total", "counter", "Events that a webhook never took: given up.", w->dead)    \
    X("webhook_backlog_seconds", "gauge", "Age of the oldest event known to wait for a webhook.", \
      age_s(w->waiting_since))

static uint64_t age_s(int64_t since)
{
    int64_t now = api_now_ms();
    return since && now > since ? (uint64_t)(now - since) / 1000 : 0;
}

static void head(struct buf *to, const char *name, const char *type, const char *help)
{
    buf_printf(to, "# HELP tidings_%s %s\n# TYPE tidings_%s %s\n", name, help, name, type);
}

static void print_states(const struct tidings_answer *answer, struct buf *to)
{
    head(to, "webhook_state", "gauge", "1 for the state that a webhook is in.");
    for (size_t i = 0; i < answer->u.webhooks.n; i++)
        for (size_t k = 0; answer->u.webhooks.rows[i].url.n && k < sizeof states / sizeof *states;
             k++)
            buf_printf(to, "tidings_webhook_state{webhook=\"%s\",state=\"%s\"} %d\n",
                       answer->u.webhooks.rows[i].name.p, states[k],
                       states[k] == state_name(answer->u.webhooks.rows[i].state));
}

static void print_numbers(const struct tidings_answer *answer, struct buf *to)
{
#define X(metric, type, help, value)                                                          \
    head(to, metric, type, help);                                                             \
    for (size_t i = 0; i < answer->u.webhooks.n; i++) {                                       \
        const struct tidings_webhook *w = &answer->u.webhooks.rows[i];                        \
        if (!w->url.n)                                                                        \
            continue;                                                                         \
        buf_printf(to, "tidings_%s{webhook=\"%s\"} %" PRIu64 "\n", metric, w->name.p, value); \
    }
    WEBHOOK_METRICS(X)
#undef X
}

/* The totals are the engine's, so they go on after a restart. */
void webhook_metrics(const struct tidings_answer *answer, struct buf *to)
{
    bool any = false;
    for (size_t i = 0; !answer->err && i < answer->u.webhooks.n; i++)
        any |= answer->u.webhooks.rows[i].url.n != 0;
    if (!any)
        return;
    print_states(answer, to);
    print_numbers(answer, to);
}
