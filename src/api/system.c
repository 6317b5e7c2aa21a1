/* SPDX-License-Identifier: MIT */
/* What operators and tools ask: health, metrics, the document of the API, status, verify. */
#include <stdlib.h>
#include <string.h>

#include "api/embedded.h"
#include "api/handlers.h"
#include "api/internal.h"
#include "base/log.h"

enum { REPORT_MAX = 65536, METRICS_MAX = 4 << 20 };

void run_healthz(struct exchange *ex)
{
    static const char body[] = "{\"status\":\"ok\"}";
    exchange_respond(ex, 200, "application/json", body, sizeof body - 1);
}

void run_readyz(struct exchange *ex)
{
    static const char ready[] = "{\"status\":\"ready\",\"durability\":\"commit\"}";
    if (atomic_load(&ex->api->ready))
        exchange_respond(ex, 200, "application/json", ready, sizeof ready - 1);
    else
        exchange_problem(ex, 503, "stopping", "The server is stopping.");
}

void run_metrics(struct exchange *ex)
{
    struct buf page;
    buf_init(&page, METRICS_MAX);
    metrics_print(ex->api, &page);
    exchange_respond(ex, 200, "text/plain; version=0.0.4; charset=utf-8", page.data, page.len);
    buf_release(&page);
}

void run_openapi(struct exchange *ex)
{
    exchange_respond(ex, 200, "application/json", embedded_openapi, embedded_openapi_size);
}

void run_docs(struct exchange *ex)
{
    exchange_respond(ex, 200, "text/html; charset=utf-8", embedded_docs, embedded_docs_size);
}

void run_status(struct exchange *ex)
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
    put_i64(&out, "uptime_ms", api_now_ms() - (int64_t)ex->api->started_ms);
    put_u64(&out, "connections", counters.open);
    put_u64(&out, "streams", counters.streams_open);
    put_u64(&out, "requests", counters.requests);
    put_u64(&out, "write_queue", stats.waiting);
    put_u64(&out, "changes", stats.changes);
    put_u64(&out, "batches", stats.batches);
    put_u64(&out, "batches_failed", stats.failures);
    put_u64(&out, "faults", stats.faults);
    put_u64(&out, "data_bytes", stats.data_bytes);
    put_u64(&out, "newest_id", stats.newest_id);
    json_out_end(&out);
    exchange_respond(ex, 200, "application/json", buf->data, buf->len);
}

/* ---- Verify --------------------------------------------------------------------------------- */

/* Runs on a thread of its own: it may take minutes, and writing stands still meanwhile. In the request's arena. */
struct verification {
    struct exchange *ex;
    struct tidings_verify verify;
    enum tidings_err err;
    struct buf report;
    char bytes[REPORT_MAX];
};

/* Keeps the beginning of the report; a damaged directory has no end of differences. */
static ssize_t keep_report(void *cookie, const char *bytes, size_t n)
{
    struct buf *report = cookie;
    size_t room = REPORT_MAX - report->len;
    buf_append(report, bytes, n < room ? n : room);
    return (ssize_t)n;
}

static void respond_verified(struct http_request *req, void *arg)
{
    struct verification *v = arg;
    struct exchange *ex = v->ex;
    (void)req;
    atomic_store(&ex->api->verifying, false);
    if (v->err) {
        ex->answer.err = v->err;
        exchange_refuse(ex);
        return;
    }
    struct json_out out;
    struct buf *buf = &exchange_loop(ex)->out;
    buf_clear(buf);
    json_out_init(&out, buf);
    json_out_object(&out);
    put_u64(&out, "checked", v->verify.checked);
    put_u64(&out, "differences", v->verify.differences);
    put_u64(&out, "repaired", v->verify.repaired);
    json_out_key(&out, "report");
    json_out_string(&out, v->report.data, v->report.len);
    json_out_end(&out);
    exchange_respond(ex, 200, "application/json", buf->data, buf->len);
}

static void *verify_main(void *arg)
{
    struct verification *v = arg;
    cookie_io_functions_t io = {.write = keep_report};
    v->verify.report = fopencookie(&v->report, "w", io);
    v->err = tidings_verify(v->ex->api->config.tidings, &v->verify);
    if (v->verify.report)
        fclose(v->verify.report);
    http_request_post(v->ex->req, respond_verified, v);
    return NULL;
}

void api_join(struct api *api)
{
    if (api->has_verifier)
        pthread_join(api->verifier, NULL);
    api->has_verifier = false;
}

void run_verify(struct exchange *ex)
{
    static const char *const members[] = {"repair", NULL};
    struct api *api = ex->api;
    bool repair = false, given;
    if (http_request_body(ex->req).n &&
        !(arg_body(ex, members) && arg_bool(ex, "repair", &repair, &given)))
        return;
    if (atomic_exchange(&api->verifying, true)) {
        exchange_problem(ex, 503, "busy", "It is being verified already.");
        return;
    }
    api_join(api); /* an earlier one, which has answered */
    struct verification *v = arena_alloc(http_request_arena(ex->req), sizeof *v);
    if (v) {
        *v = (struct verification){.ex = ex, .verify.repair = repair};
        buf_init_borrowed(&v->report, v->bytes, sizeof v->bytes);
        api->has_verifier = !pthread_create(&api->verifier, NULL, verify_main, v);
    }
    if (!api->has_verifier) {
        atomic_store(&api->verifying, false);
        exchange_problem(ex, 503, "busy", "Too much to do at the moment. Try again later.");
    }
}
