/* SPDX-License-Identifier: MIT */
/* What operators and tools ask: health, metrics, status. */
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "api/consumer.h"
#include "api/handlers.h"
#include "api/internal.h"
#include "api/replica.h"
#include "base/log.h"

enum { METRICS_MAX = 4 << 20 };

void run_ticket(struct exchange *ex)
{
    int64_t now_ms = api_now_ms(), token_ms = ex->claims.until_ms - now_ms;
    int64_t life_ms = token_ms < 0 ? 0 : token_ms < TICKET_MS ? token_ms : TICKET_MS;
    struct ticket ticket = {
        .claims = ex->claims,
        .user_id = ex->user_id,
        .until_ms = tidings_elapsed(ex->api->config.tidings) + life_ms,
    };
    char text[SEAL_TEXT_MAX + 1];
    struct json_out out;
    struct buf *buf = &exchange_loop(ex)->out;
    if (RAND_bytes(ticket.name, sizeof ticket.name) != 1 ||
        !ticket_write(exchange_loop(ex)->seal, &ticket, text)) {
        exchange_problem(ex, 503, "busy", "Too much to do at the moment. Try again later.");
        return;
    }
    buf_clear(buf);
    json_out_init(&out, buf);
    json_out_object(&out);
    put_word(&out, "ticket", text);
    put_i64(&out, "expires_at", now_ms + life_ms);
    json_out_end(&out);
    exchange_json(ex, ex->route->status, "application/json", buf);
}

void run_healthz(struct exchange *ex)
{
    static const char body[] = "{\"status\":\"ok\"}\n";
    exchange_respond(ex, 200, "application/json", body, sizeof body - 1);
}

static bool is_writable(const struct tidings_stats *stats)
{
    return !stats->read_only && !stats->clock_stopped;
}

/* Reading goes on when nothing can be written, so that is no reason to take the server out. */
void run_readyz(struct exchange *ex)
{
    struct tidings_stats stats;
    struct json_out out;
    struct buf *buf = &exchange_loop(ex)->out;
    if (!atomic_load(&ex->api->ready)) {
        exchange_problem(ex, 503, "stopping", "The server is stopping.");
        return;
    }
    const char *trouble = replica_trouble(ex->api->config.tidings);
    if (trouble) {
        exchange_problem(ex, 503, tidings_err_code(TIDINGS_STANDBY), trouble);
        return;
    }
    tidings_stats(ex->api->config.tidings, &stats);
    buf_clear(buf);
    json_out_init(&out, buf);
    json_out_object(&out);
    put_word(&out, "status", "ready");
    put_word(&out, "durability", ex->api->config.durability);
    put_bool(&out, "writable", is_writable(&stats));
    json_out_end(&out);
    exchange_json(ex, 200, "application/json", buf);
}

static void respond_metrics(struct exchange *ex)
{
    struct buf page;
    buf_init(&page, METRICS_MAX);
    metrics_print(ex->api, &ex->answer, &page);
    exchange_respond(ex, 200, "text/plain; version=0.0.4; charset=utf-8", page.data, page.len);
    buf_release(&page);
}

/* The webhooks' numbers are the engine's, which may have to ask for them. */
void run_metrics(struct exchange *ex)
{
    ex->respond = respond_metrics;
    ex->user_id = 1;
    ex->claims.role = JWT_ROLE_SERVICE;
    ex->op.kind = TIDINGS_OP_WEBHOOKS;
    exchange_submit(ex);
}

/* Whether the clock can be believed; the last jump is null if there was none. */
static void put_clock(struct json_out *out, const struct tidings_stats *stats)
{
    json_out_key(out, "clock");
    json_out_object(out);
    put_u64(out, "jumps", stats->clock_jumps);
    json_out_key(out, "last_jump");
    if (stats->clock_jumps) {
        json_out_object(out);
        put_i64(out, "by_ms", stats->clock_jump_ms);
        put_i64(out, "at", stats->clock_jump_at);
        json_out_end(out);
    } else {
        json_out_null(out);
    }
    put_bool(out, "stopped", stats->clock_stopped);
    json_out_end(out);
}

static void respond_status(struct exchange *ex)
{
    struct tidings_stats stats;
    struct http_counters counters;
    struct json_out out;
    struct buf *buf = &exchange_loop(ex)->out;
    tidings_stats(ex->api->config.tidings, &stats);
    api_counters(ex->api, &counters);
    buf_clear(buf);
    json_out_init(&out, buf);
    json_out_object(&out);
    put_bool(&out, "ready", atomic_load(&ex->api->ready));
    put_u64(&out, "uptime_ms", (api_now_us() - ex->api->started_us) / 1000);
    put_u64(&out, "connections", counters.open);
    put_u64(&out, "streams", counters.streams_open);
    put_u64(&out, "requests", counters.requests);
    put_u64(&out, "write_queue", stats.waiting);
    put_u64(&out, "changes", stats.changes);
    put_u64(&out, "batches", stats.batches);
    put_u64(&out, "batches_failed", stats.failures);
    put_u64(&out, "faults", stats.faults);
    put_u64(&out, "data_bytes", stats.data_bytes);
    put_u64(&out, "log_bytes", stats.log_bytes);
    put_u64(&out, "snapshots", stats.snapshots);
    put_u64(&out, "snapshots_failed", stats.snapshots_failed);
    put_bool(&out, "writable", is_writable(&stats));
    put_clock(&out, &stats);
    put_word(&out, "durability", ex->api->config.durability);
    put_u64(&out, "newest_id", stats.newest_id);
    put_job(&out, &ex->api->job);
    put_replica(&out, ex->api->config.tidings);
    put_consumers_status(&out, &ex->answer);
    json_out_end(&out);
    exchange_json(ex, 200, "application/json", buf);
}

/* Consumers of events are rows of the engine. */
void run_status(struct exchange *ex)
{
    ex->respond = respond_status;
    ex->user_id = 1;
    ex->claims.role = JWT_ROLE_SERVICE;
    ex->op.kind = TIDINGS_OP_WEBHOOKS;
    exchange_submit(ex);
}
