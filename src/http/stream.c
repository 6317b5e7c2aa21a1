/* SPDX-License-Identifier: MIT */
/*
 * Server-sent events. A stream takes over its connection: the request and its buffers are given
 * back, what stays is the connection and a struct of about two hundred bytes. Its bytes leave
 * through the connection's output, which is empty and without memory whenever the client keeps up.
 *
 * It knows nothing of events: the bytes are the owner's.
 */
#include "http/internal.h"

#include <stdlib.h>
#include <string.h>

static struct http_stream *stream_new(struct http_request *req)
{
    struct http_text path = http_request_path(req);
    struct http_stream *stream = malloc(sizeof *stream + path.n);
    if (!stream)
        return NULL;
    *stream = (struct http_stream){.loop = req->loop,
                                   .conn = req->conn,
                                   .req = req,
                                   .start_ns = req->start_ns,
                                   .id = req->id,
                                   .path_len = path.n};
    memcpy(stream->path, path.p, path.n);
    return stream;
}

void stream_promote(struct http_conn *conn, struct http_request *req)
{
    struct http_stream *stream = req->stream;
    conn->queued -= req->out.len;
    if (req->out.data)
        buf_append(&conn->out, req->out.data, req->out.len);
    if (conn->out.failed)
        stream_doom(stream, HTTP_STREAM_SLOW);
    stream->req = NULL;
    conn->stream = stream;
    conn->first = conn->last = NULL;
    conn->in_flight = 0;
    request_free(req);
}

struct http_stream *http_stream_begin(
    struct http_request *req, const struct http_field *fields, size_t n_fields,
    void (*closed)(struct http_stream *stream, enum http_stream_end why, void *ctx), void *ctx)
{
    struct http_conn *conn = req->conn;
    if (!conn || req->head.is_head || req->loop->stopping) {
        http_respond(req, &(struct http_response){
                              .status = req->loop->stopping ? 503 : 200,
                              .content_type = req->loop->stopping ? NULL : "text/event-stream",
                              .fields = fields,
                              .n_fields = n_fields,
                              .close = true});
        return NULL;
    }
    struct http_stream *stream = stream_new(req);
    struct buf *out = conn_out(conn, req);
    size_t before = out->len;
    if (!stream || !respond_stream_head(req, out, fields, n_fields)) {
        free(stream);
        http_respond(req, &(struct http_response){.status = 500, .close = true});
        return NULL;
    }
    stream->closed = closed;
    stream->ctx = ctx;
    stream->bytes = out->len - before;
    count(&req->loop->counters.streams_opened, 1);
    count(&req->loop->counters.streams_open, 1);
    timer_set(req->loop, &stream->beat, TIMER_BEAT);
    req->stream = stream;
    conn->queued += req->out.len;
    /* Nothing can be answered behind a stream that has no end. */
    conn_deafen(conn, req);
    if (out == &conn->out)
        stream_promote(conn, req);
    return stream;
}

void http_stream_send(struct http_stream *stream, const void *bytes, size_t n)
{
    struct http_conn *conn = stream->conn;
    if (stream->ending)
        return;
    struct buf *out = stream->req ? &stream->req->out : &conn->out;
    if (!out->data)
        loop_take_buf(stream->loop, out, stream->loop->config->output_max);
    if (out->len + conn->unsent + n > stream->loop->config->stream_output_max) {
        stream_doom(stream, HTTP_STREAM_SLOW);
        return;
    }
    buf_append(out, bytes, n);
    if (stream->req && !out->failed)
        conn->queued += n;
    if (out->failed)
        stream_doom(stream, HTTP_STREAM_SLOW);
    stream->bytes += n;
    conn_touch(conn);
}

void http_stream_end(struct http_stream *stream)
{
    stream_doom(stream, HTTP_STREAM_ENDED);
}

struct http_loop *http_stream_loop(const struct http_stream *stream)
{
    return stream->loop;
}

void stream_beat(struct http_stream *stream)
{
    http_stream_send(stream, ":\n\n", 3);
    timer_set(stream->loop, &stream->beat, TIMER_BEAT);
}

void stream_doom(struct http_stream *stream, enum http_stream_end why)
{
    if (stream->ending)
        return;
    stream->ending = true;
    stream->why = why;
    if (stream->conn)
        conn_touch(stream->conn);
}

void stream_lose(struct http_stream *stream)
{
    stream_doom(stream, HTTP_STREAM_GONE);
    stream->req = NULL;
    stream->conn = NULL;
    stream->lost_next = stream->loop->lost;
    stream->loop->lost = stream;
}

void stream_finish(struct http_stream *stream)
{
    struct http_loop *loop = stream->loop;
    struct http_conn *conn = stream->conn;
    if (conn) {
        conn->stream = NULL;
        /* Who was too slow will not take the rest either. */
        conn->reset |= stream->why == HTTP_STREAM_SLOW;
        if (stream->why == HTTP_STREAM_SLOW || stream->why == HTTP_STREAM_GONE)
            conn_kill(conn);
    }
    timer_clear(&stream->beat);
    count(&loop->counters.streams_open, (uint64_t)-1);
    if (stream->why == HTTP_STREAM_SLOW)
        count(&loop->counters.streams_slow, 1);
    if (loop->config->observer) {
        struct http_observation seen = {
            .method = "GET",
            .path = {.p = stream->path, .n = stream->path_len},
            .status = 200,
            .stream = true,
            .aborted = stream->why == HTTP_STREAM_GONE || stream->why == HTTP_STREAM_SLOW,
            .bytes = stream->bytes,
            .duration_us = (monotonic_ns() - stream->start_ns) / 1000,
            .request_id = stream->id,
            .loop_index = loop->index,
        };
        if (conn)
            seen.peer = conn->peer;
        loop->config->observer(&seen, loop->config->ctx);
    }
    stream->closed(stream, stream->why, stream->ctx);
    free(stream);
}
