/* SPDX-License-Identifier: MIT */
/*
 * Answers as bytes. A head is put together in one piece, body behind it, in the connection's output
 * or, if earlier requests are not answered yet, in the request's own buffer.
 */
#include "http/internal.h"

#include <string.h>

/* A lasting body that is no longer is copied: it fits into one write with its head. Any answer that
 * is no longer than the other may be kept, however much is kept already. */
enum { COPIED_MAX = 4096, SMALL_MAX = 16384, PROBLEM_MAX = 160 };
/* Who is refused for lack of room is asked to wait for so long, and made to. */
enum { LATER_MS = 1000 };

/* ---- Words --------------------------------------------------------------------------------- */

const char *http_status_phrase(int status)
{
    switch (status) {
#define X(code, text) \
    case code:        \
        return text;
        X(200, "OK")
        X(201, "Created")
        X(202, "Accepted")
        X(204, "No Content")
        X(301, "Moved Permanently")
        X(302, "Found")
        X(303, "See Other")
        X(304, "Not Modified")
        X(307, "Temporary Redirect")
        X(308, "Permanent Redirect")
        X(400, "Bad Request")
        X(401, "Unauthorized")
        X(403, "Forbidden")
        X(404, "Not Found")
        X(405, "Method Not Allowed")
        X(406, "Not Acceptable")
        X(408, "Request Timeout")
        X(409, "Conflict")
        X(410, "Gone")
        X(411, "Length Required")
        X(412, "Precondition Failed")
        X(413, "Content Too Large")
        X(414, "URI Too Long")
        X(415, "Unsupported Media Type")
        X(417, "Expectation Failed")
        X(422, "Unprocessable Content")
        X(428, "Precondition Required")
        X(429, "Too Many Requests")
        X(431, "Request Header Fields Too Large")
        X(500, "Internal Server Error")
        X(501, "Not Implemented")
        X(502, "Bad Gateway")
        X(503, "Service Unavailable")
        X(504, "Gateway Timeout")
        X(505, "HTTP Version Not Supported")
        X(507, "Insufficient Storage")
#undef X
    default:
        return "Unknown";
    }
}

static const struct {
    int status;
    const char *code;
} refusals[HTTP_REFUSAL_COUNT] = {[HTTP_ACCEPTED] = {200, "ok"},
#define X(name, number, text) [HTTP_REFUSED_##name] = {number, text},
                                  HTTP_REFUSALS(X)
#undef X
};

const char *http_refusal_code(enum http_refusal refusal)
{
    return refusals[refusal].code;
}

int http_refusal_status(enum http_refusal refusal)
{
    return refusals[refusal].status;
}

/* ---- Heads --------------------------------------------------------------------------------- */

static bool is_sendable(const char *text)
{
    for (; *text; text++)
        if (((unsigned char)*text < 0x20 && *text != '\t') || *text == 0x7f)
            return false;
    return true;
}

static bool are_sendable(const struct http_field *fields, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!is_sendable(fields[i].name) || !is_sendable(fields[i].value))
            return false;
    return true;
}

static void put_field(struct buf *out, const char *name, const char *value)
{
    buf_text(out, name);
    buf_literal(out, ": ");
    buf_text(out, value);
    buf_literal(out, "\r\n");
}

/* Status line and the fields that every answer has. */
static void put_head(struct buf *out, const struct http_request *req, int status,
                     const char *content_type, const struct http_field *fields, size_t n_fields)
{
    if (status == 200) {
        buf_literal(out, "HTTP/1.1 200 OK\r\n");
    } else {
        buf_literal(out, "HTTP/1.1 ");
        buf_u64(out, (uint64_t)status);
        buf_char(out, ' ');
        buf_text(out, http_status_phrase(status));
        buf_literal(out, "\r\n");
    }
    buf_append(out, req->loop->date, DATE_LINE);
    buf_literal(out, "X-Request-Id: ");
    buf_hex64(out, req->id);
    buf_literal(out, "\r\n");
    cors_put_fields(out, req);
    if (content_type)
        put_field(out, "Content-Type", content_type);
    for (size_t i = 0; i < n_fields; i++)
        put_field(out, fields[i].name, fields[i].value);
}

static void put_answer(struct buf *out, struct http_request *req,
                       const struct http_response *answer)
{
    put_head(out, req, answer->status, answer->content_type, answer->fields, answer->n_fields);
    bool has_body = answer->status != 204 && answer->status != 304;
    if (has_body) {
        buf_literal(out, "Content-Length: ");
        buf_u64(out, answer->body_len);
        buf_literal(out, "\r\n");
    }
    if (req->close)
        buf_literal(out, "Connection: close\r\n");
    else if (!req->head.is_http11)
        buf_literal(out, "Connection: keep-alive\r\n");
    buf_literal(out, "\r\n");
    if (!has_body || req->head.is_head)
        return;
    if (answer->lasting && answer->body_len > COPIED_MAX)
        req->fixed = (struct http_text){.p = answer->body, .n = answer->body_len};
    else
        buf_append(out, answer->body, answer->body_len);
}

bool respond_stream_head(struct http_request *req, struct buf *out, const struct http_field *fields,
                         size_t n_fields)
{
    if (!are_sendable(fields, n_fields))
        return false;
    /* The end of the connection is the end of the stream: no framing around events. */
    put_head(out, req, 200, "text/event-stream", fields, n_fields);
    buf_literal(out, "Cache-Control: no-store\r\nConnection: close\r\n\r\n");
    return true;
}

/* ---- Answering ----------------------------------------------------------------------------- */

void observe(struct http_request *req, int status, uint64_t bytes)
{
    struct http_loop *loop = req->loop;
    count(&loop->counters.responses, 1);
    if (!req->conn)
        count(&loop->counters.aborted, 1);
    if (!loop->config->observer)
        return;
    struct http_observation seen = {
        .method = req->head.method ? req->head.method : "-",
        .path = req->head.path.n ? http_request_path(req) : (struct http_text){.p = "", .n = 0},
        .status = status,
        .refusal = req->refusal,
        .aborted = !req->conn,
        .bytes = bytes,
        .duration_us = (monotonic_ns() - req->start_ns) / 1000,
        .request_id = req->id,
        .peer = req->peer,
        .loop_index = loop->index,
    };
    loop->config->observer(&seen, loop->config->ctx);
}

/* A problem document, and the counting of it. */
static struct http_response problem(struct http_request *req, enum http_refusal refusal,
                                    char text[PROBLEM_MAX])
{
    struct buf body;
    int status = refusals[refusal].status;
    req->refusal = refusal;
    count(&req->loop->counters.refused[refusal], 1);
    buf_init_borrowed(&body, text, PROBLEM_MAX);
    buf_printf(&body, "{\"type\":\"about:blank\",\"title\":\"%s\",\"status\":%d,\"code\":\"%s\"}\n",
               http_status_phrase(status), status, refusals[refusal].code);
    return (struct http_response){.status = status,
                                  .content_type = "application/problem+json",
                                  .body = text,
                                  .body_len = body.len};
}

/* Whether there is memory for it to wait in. Only reading can be refused by now: what has been
 * changed must be told. */
static bool has_room(struct http_request *req, const struct http_response *answer)
{
    return req->head.verb != HTTP_VERB_GET || req->head.is_head || answer->lasting ||
           answer->body_len <= SMALL_MAX || loop_make_room(req->loop, answer->body_len);
}

void http_respond(struct http_request *req, const struct http_response *response)
{
    static const struct http_response broken = {.status = 500};
    static const struct http_field later = {"Retry-After", "1"};
    char text[PROBLEM_MAX];
    struct http_response overloaded;
    struct http_conn *conn = req->conn;
    if (!conn) {
        observe(req, response->status, 0);
        request_free(req);
        return;
    }
    if (!are_sendable(response->fields, response->n_fields) ||
        (response->content_type && !is_sendable(response->content_type)))
        response = &broken;
    if (!has_room(req, response)) {
        overloaded = problem(req, HTTP_REFUSED_OVERLOADED, text);
        overloaded.fields = &later;
        overloaded.n_fields = 1;
        response = &overloaded;
        conn->resumes_ms = req->loop->now_ms + LATER_MS;
    }

    /* A server that stops closes behind the last request that it has already taken. */
    bool last = req->loop->stopping && !req->next && !conn->current;
    req->close |= response->close || !req->head.keep_alive || last;
    struct buf *out = conn_out(conn, req);
    size_t before = out->len;
    put_answer(out, req, response);
    observe(req, response->status, out->len - before + req->fixed.n);
    conn_answered(conn, req);
}

void respond_refusal(struct http_request *req, enum http_refusal refusal)
{
    char text[PROBLEM_MAX];
    struct http_response answer = problem(req, refusal, text);
    answer.close = true;
    http_respond(req, &answer);
}
