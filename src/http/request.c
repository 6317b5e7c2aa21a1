/* SPDX-License-Identifier: MIT */
/*
 * Requests as things: made, looked at, freed. A loop keeps a few that were freed, with their
 * memory, so that in steady state a request allocates nothing.
 */
#include "http/internal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

/* What a spare request may keep: enough for most, little enough to keep 64 of them. */
enum { KEEP_BYTES = 16384 };

uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

struct http_request *request_new(struct http_conn *conn)
{
    struct http_loop *loop = conn->loop;
    struct http_request *req = loop->spare_requests;
    if (req) {
        loop->spare_requests = req->next;
        loop->n_spare_requests--;
    } else {
        req = calloc(1, sizeof *req);
        if (!req)
            return NULL;
        buf_init(&req->head_bytes, loop->config->head_max);
        buf_init(&req->body, loop->config->body_max);
        arena_init(&req->arena, loop->config->arena_max);
    }
    req->loop = loop;
    req->conn = conn;
    req->next = NULL;
    req->peer = conn->peer;
    req->id = loop_next_id(loop);
    req->start_ns = monotonic_ns();
    return req;
}

void request_hold(struct http_request *req)
{
    struct http_loop *loop = req->loop;
    req->held = true;
    req->held_prev = NULL;
    req->held_next = loop->held;
    if (loop->held)
        loop->held->held_prev = req;
    loop->held = req;
    loop->n_held++;
}

static void let_go(struct http_request *req)
{
    struct http_loop *loop = req->loop;
    if (req->held_prev)
        req->held_prev->held_next = req->held_next;
    else
        loop->held = req->held_next;
    if (req->held_next)
        req->held_next->held_prev = req->held_prev;
    loop->n_held--;
    req->held = false;
}

void request_free(struct http_request *req)
{
    struct http_loop *loop = req->loop;
    if (req->held)
        let_go(req);
    if (req->out.data)
        loop_give_buf(loop, &req->out);
    bool spare = loop->n_spare_requests < SPARE_REQUESTS;
    if (!spare || req->body.cap > KEEP_BYTES)
        buf_release(&req->body);
    if (!spare || req->arena.total > KEEP_BYTES)
        arena_release(&req->arena);
    if (!spare) {
        buf_release(&req->head_bytes);
        free(req);
        return;
    }
    buf_clear(&req->head_bytes);
    buf_clear(&req->body);
    arena_clear(&req->arena);
    memset(&req->scan, 0, sizeof req->scan);
    memset(&req->chunks, 0, sizeof req->chunks);
    req->answered = req->close = false;
    req->refusal = HTTP_ACCEPTED;
    req->stream = NULL;
    req->fixed = (struct http_text){0};
    memset(&req->head, 0, offsetof(struct http_head, headers));
    req->next = loop->spare_requests;
    loop->spare_requests = req;
    loop->n_spare_requests++;
}

/* ---- Looking at one ------------------------------------------------------------------------ */

static struct http_text text_of(const struct http_request *req, struct http_span span)
{
    return (struct http_text){.p = req->head_bytes.data + span.at, .n = span.n};
}

enum http_verb http_request_verb(const struct http_request *req)
{
    return req->head.verb;
}

const char *http_request_method(const struct http_request *req)
{
    return req->head.method;
}

struct http_text http_request_path(const struct http_request *req)
{
    return text_of(req, req->head.path);
}

struct http_text http_request_query(const struct http_request *req)
{
    return req->head.has_query ? text_of(req, req->head.query) : (struct http_text){0};
}

struct http_text http_request_body(const struct http_request *req)
{
    return (struct http_text){.p = req->body.len ? req->body.data : "", .n = req->body.len};
}

uint64_t http_request_id(const struct http_request *req)
{
    return req->id;
}

struct http_peer http_request_peer(const struct http_request *req)
{
    return req->peer;
}

unsigned http_request_loop_index(const struct http_request *req)
{
    return req->loop->index;
}

struct http_loop *http_request_loop(const struct http_request *req)
{
    return req->loop;
}

bool http_request_gone(const struct http_request *req)
{
    return !req->conn;
}

void http_request_waits(struct http_request *req, bool waits)
{
    if (!req->conn)
        return;
    req->conn->waits = waits;
    conn_touch(req->conn);
}

struct arena *http_request_arena(struct http_request *req)
{
    return &req->arena;
}

struct http_text http_request_header(const struct http_request *req, const char *name,
                                     size_t *times)
{
    struct http_text found = {0};
    size_t n = strlen(name), seen = 0;
    for (size_t i = 0; i < req->head.n_headers; i++) {
        struct http_span at = req->head.headers[i].name;
        if (at.n != n || strncasecmp(req->head_bytes.data + at.at, name, n) != 0)
            continue;
        if (!seen++)
            found = text_of(req, req->head.headers[i].value);
    }
    if (times)
        *times = seen;
    return found;
}

/* ---- From other threads -------------------------------------------------------------------- */

static void run_request_post(struct http_post *post)
{
    struct http_request *req = CONTAINER(post, struct http_request, post);
    req->post_run(req, req->post_arg);
}

void http_request_post(struct http_request *req, void (*run)(struct http_request *, void *),
                       void *arg)
{
    req->post_run = run;
    req->post_arg = arg;
    req->post.run = run_request_post;
    http_post(req->loop, &req->post);
}
