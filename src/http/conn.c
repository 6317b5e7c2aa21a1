/* SPDX-License-Identifier: MIT */
/*
 * One connection: bytes come in pieces, requests go out to the handler, answers come back in any
 * order and leave in the order of their requests.
 *
 *   IDLE -> HEAD -> (BODY ->) handler, IDLE again ...      until DEAF, when no more requests are
 * taken: refused, to be closed, a stream, or the end
 *
 * Requests under way stand in a queue (first ... last). The answer of the first goes to `out`; one
 * that is answered before its turn keeps its bytes. While the queue is full, or too much output
 * waits, or others are to have their turn, input that has already come is stashed and the transport
 * reads no more.
 *
 * It knows no socket: see internal.h for how the transport drives it.
 */
#include "http/internal.h"

#include <string.h>

/* With more unsent output than this no further request of the connection is begun. */
enum { OUTPUT_PAUSE = 65536 };

void conn_init(struct http_conn *conn, struct http_loop *loop, const struct http_peer *peer)
{
    *conn = (struct http_conn){.loop = loop, .fresh = true, .peer = *peer, .next = loop->conns};
    buf_init(&conn->out, loop->config->output_max);
    if (loop->conns)
        loop->conns->prev = conn;
    loop->conns = conn;
    /* A client that connects and says nothing has as long as one that speaks slowly. */
    timer_set(loop, &conn->read_timer, TIMER_HEAD);
    count(&loop->counters.accepted, 1);
    count(&loop->counters.open, 1);
}

void conn_touch(struct http_conn *conn)
{
    if (conn->touched)
        return;
    conn->touched = true;
    conn->touched_next = conn->loop->touched;
    conn->loop->touched = conn;
}

void conn_kill(struct http_conn *conn)
{
    conn->dead = true;
    conn_touch(conn);
}

static bool is_full(const struct http_conn *conn)
{
    return conn->in_flight >= conn->loop->config->pipeline_max || conn->waits || conn->resumes_ms ||
           conn_pending(conn) + conn->queued > OUTPUT_PAUSE;
}

/* Whether the first of the queue has something for `out`, and `out` may grow. */
static bool is_ready(const struct http_conn *conn)
{
    if (conn->fixed.n)
        return false;
    return conn->first ? conn->first->answered || conn->first->stream : conn->owes_continue;
}

bool conn_wants_input(const struct http_conn *conn)
{
    return !conn->eof && (conn->state == CONN_DEAF || (!is_full(conn) && !conn->stash.len));
}

bool conn_is_put_off(const struct http_conn *conn)
{
    return conn->stash.len && !conn->dead && !is_full(conn);
}

bool conn_can_resume(const struct http_conn *conn)
{
    return (is_ready(conn) && !conn->dead) ||
           (conn_is_put_off(conn) && !loop_is_out_of_time(conn->loop));
}

bool conn_wants_close(const struct http_conn *conn)
{
    return conn->finishing && !conn->first && !conn->stream && !conn_pending(conn);
}

/* ---- The queue of requests ----------------------------------------------------------------- */

/* Forgets a request: what is still its handler's becomes an orphan, everything else is freed. */
static void drop_request(struct http_request *req)
{
    if (req->stream) {
        stream_lose(req->stream);
        request_free(req);
    } else if (req->held && !req->answered) {
        req->conn = NULL;
        req->next = NULL;
    } else {
        request_free(req);
    }
}

/* Drops everything from `req` to the end of the queue. */
static void drop_queue(struct http_conn *conn, struct http_request *req)
{
    while (req) {
        struct http_request *next = req->next;
        conn->queued -= req->out.len;
        drop_request(req);
        conn->in_flight--;
        req = next;
    }
}

void conn_deafen(struct http_conn *conn, struct http_request *behind)
{
    conn->state = CONN_DEAF;
    conn->finishing = true;
    conn->owes_continue = false;
    timer_clear(&conn->read_timer);
    buf_release(&conn->stash);
    if (conn->current) {
        request_free(conn->current);
        conn->current = NULL;
    }
    if (behind) {
        drop_queue(conn, behind->next);
        behind->next = NULL;
        conn->last = behind;
    }
    conn_touch(conn);
}

void conn_release(struct http_conn *conn)
{
    struct http_loop *loop = conn->loop;
    conn_deafen(conn, NULL);
    drop_queue(conn, conn->first);
    if (conn->stream)
        stream_lose(conn->stream);
    conn->dead = true;
    conn_recharge(conn);
    if (conn->out.data)
        loop_give_buf(loop, &conn->out);
    if (conn->prev)
        conn->prev->next = conn->next;
    else
        loop->conns = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    for (struct http_conn **at = &loop->touched; *at; at = &(*at)->touched_next) {
        if (*at == conn) {
            *at = conn->touched_next;
            break;
        }
    }
    count(&loop->counters.open, (uint64_t)-1);
}

static struct buf *with_memory(struct http_conn *conn, struct buf *out)
{
    if (!out->data)
        loop_take_buf(conn->loop, out, conn->loop->config->output_max);
    return out;
}

struct buf *conn_out(struct http_conn *conn, struct http_request *req)
{
    bool its_turn = req == conn->first && !conn->fixed.n;
    return with_memory(conn, its_turn ? &conn->out : &req->out);
}

static void pop_first(struct http_conn *conn)
{
    struct http_request *req = conn->first;
    conn->first = req->next;
    if (!conn->first)
        conn->last = NULL;
    conn->in_flight--;
    request_free(req);
}

static void send_continue(struct http_conn *conn)
{
    conn->owes_continue = false;
    buf_literal(with_memory(conn, &conn->out), "HTTP/1.1 100 Continue\r\n\r\n");
}

/* Between requests; a keep-alive connection that is not waited for any more goes on to its end. */
static void rest(struct http_conn *conn)
{
    if (conn->state != CONN_IDLE || conn->in_flight)
        return;
    if (conn->loop->stopping)
        conn_deafen(conn, NULL);
    else
        timer_set(conn->loop, &conn->read_timer, TIMER_IDLE);
}

/* The first of the queue is answered: its bytes go out, and it with them. */
static void send_first(struct http_conn *conn)
{
    struct http_request *req = conn->first;
    conn->queued -= req->out.len;
    if (req->out.data)
        buf_append(with_memory(conn, &conn->out), req->out.data, req->out.len);
    conn->fixed = req->fixed;
    if (req->close)
        conn_deafen(conn, req);
    pop_first(conn);
}

/* Sends what the first ones of the queue have ready, up to fixed bytes: nothing can be put behind
 * those until they are gone. */
static void advance(struct http_conn *conn)
{
    while (is_ready(conn)) {
        if (!conn->first)
            send_continue(conn);
        else if (conn->first->answered)
            send_first(conn);
        else
            stream_promote(conn, conn->first);
    }
    rest(conn);
}

void conn_answered(struct http_conn *conn, struct http_request *req)
{
    bool failed = req->out.failed;
    req->answered = true;
    conn->queued += req->out.len;
    if (req == conn->first)
        advance(conn);
    /* Output over its limit, or no memory for it: half an answer is of no use to anybody. */
    size_t waiting = conn->out.len + conn->queued + conn->kept;
    if (failed || conn->out.failed || waiting > conn->loop->config->output_max) {
        count(&conn->loop->counters.over_output, 1);
        conn->reset = true;
        conn_kill(conn);
    }
    /* Most answers have left by the end of the turn: the counter that all loops share can wait. */
    if (waiting > OUTPUT_PAUSE)
        conn_recharge(conn);
    conn_touch(conn);
}

static void enqueue(struct http_conn *conn, struct http_request *req)
{
    if (conn->last)
        conn->last->next = req;
    else
        conn->first = req;
    conn->last = req;
    conn->in_flight++;
}

/* ---- Receiving ----------------------------------------------------------------------------- */

static void refuse(struct http_conn *conn, enum http_refusal refusal)
{
    struct http_request *req = conn->current;
    conn->current = NULL;
    enqueue(conn, req);
    conn_deafen(conn, NULL);
    respond_refusal(req, refusal);
}

static void hand_over(struct http_conn *conn)
{
    struct http_request *req = conn->current;
    conn->current = NULL;
    conn->state = CONN_IDLE;
    conn->owes_continue = false;
    timer_clear(&conn->read_timer);
    enqueue(conn, req);
    request_hold(req);
    /* What follows on a connection that is to be closed is not looked at. */
    if (!req->head.keep_alive)
        conn_deafen(conn, NULL);
    count(&conn->loop->counters.requests, 1);
    conn->loop->config->handler(req, conn->loop->config->ctx);
}

static void head_complete(struct http_conn *conn, bool more_came)
{
    const struct http_config *config = conn->loop->config;
    struct http_request *req = conn->current;
    enum http_refusal refusal =
        http_parse_head(req->head_bytes.data, req->head_bytes.len, config, &req->head);
    if (!refusal && req->head.framing == HTTP_BODY_LENGTH && req->head.length > config->body_max)
        refusal = HTTP_REFUSED_BODY_TOO_LARGE;
    if (refusal) {
        refuse(conn, refusal);
        return;
    }
    if (req->head.framing == HTTP_BODY_NONE) {
        hand_over(conn);
        return;
    }
    conn->state = CONN_BODY;
    timer_set(conn->loop, &conn->read_timer, TIMER_BODY);
    if (req->head.expects_continue && !more_came) {
        conn->owes_continue = true;
        if (is_ready(conn))
            send_continue(conn);
    }
}

/* Each of these takes what it can of n > 0 bytes and answers how much that was. */

static size_t take_head(struct http_conn *conn, const char *bytes, size_t n)
{
    const struct http_config *config = conn->loop->config;
    struct http_request *req = conn->current;
    struct buf *head = &req->head_bytes;
    size_t skip = 0, used = 0;
    enum http_scan_result result = http_scan_head(&req->scan, bytes, n, &skip, &used);
    if (result == HTTP_SCAN_BAD) {
        refuse(conn, HTTP_REFUSED_MALFORMED);
        return n;
    }
    if (skip)
        buf_clear(head);
    if (used - skip > config->head_max - head->len) {
        refuse(conn, req->scan.lines ? HTTP_REFUSED_HEAD_TOO_LARGE : HTTP_REFUSED_TARGET_TOO_LONG);
        return n;
    }
    buf_append(head, bytes + skip, used - skip);
    if (head->failed)
        conn_kill(conn);
    else if (result == HTTP_SCAN_DONE)
        head_complete(conn, used < n);
    return used;
}

static size_t take_length_body(struct http_conn *conn, const char *bytes, size_t n)
{
    struct http_request *req = conn->current;
    uint64_t left = req->head.length - req->body.len;
    size_t take = n < left ? n : (size_t)left;
    buf_append(&req->body, bytes, take);
    if (req->body.failed)
        conn_kill(conn);
    else if (req->body.len == req->head.length)
        hand_over(conn);
    return take;
}

static size_t take_chunked_body(struct http_conn *conn, const char *bytes, size_t n)
{
    struct http_request *req = conn->current;
    size_t used = 0;
    switch (http_chunks_feed(&req->chunks, bytes, n, &req->body, &used)) {
    case HTTP_CHUNK_MORE:
        break;
    case HTTP_CHUNK_DONE:
        hand_over(conn);
        break;
    case HTTP_CHUNK_BAD:
        refuse(conn, HTTP_REFUSED_BAD_FRAMING);
        return n;
    case HTTP_CHUNK_TOO_LARGE:
        refuse(conn, HTTP_REFUSED_BODY_TOO_LARGE);
        return n;
    }
    if (conn->current && req->body.failed)
        conn_kill(conn);
    return used;
}

static size_t take_some(struct http_conn *conn, const char *bytes, size_t n)
{
    switch (conn->state) {
    case CONN_DEAF:
        return n;
    case CONN_IDLE:
        conn->current = request_new(conn);
        if (!conn->current) {
            conn_kill(conn);
            return n;
        }
        conn->state = CONN_HEAD;
        if (!conn->fresh)
            timer_set(conn->loop, &conn->read_timer, TIMER_HEAD);
        conn->fresh = false;
        return take_head(conn, bytes, n);
    case CONN_HEAD:
        return take_head(conn, bytes, n);
    case CONN_BODY:
        conn->owes_continue = false;
        if (conn->current->head.framing == HTTP_BODY_CHUNKED)
            return take_chunked_body(conn, bytes, n);
        return take_length_body(conn, bytes, n);
    }
    return n;
}

static size_t take_all(struct http_conn *conn, const char *bytes, size_t n)
{
    size_t used = 0;
    while (used < n && !conn->dead) {
        if (conn->state == CONN_IDLE && (is_full(conn) || loop_is_out_of_time(conn->loop)))
            break;
        used += take_some(conn, bytes + used, n - used);
    }
    /* Only who asks for more without waiting for answers is held up by a refusal. */
    if (used == n)
        conn->resumes_ms = 0;
    return conn->dead ? n : used;
}

void conn_input(struct http_conn *conn, const char *bytes, size_t n)
{
    count(&conn->loop->counters.bytes_in, n);
    size_t used = take_all(conn, bytes, n);
    if (used < n) {
        /* At most one piece as the transport reads them: it reads no more until this is used up. */
        buf_init(&conn->stash, n - used);
        buf_append(&conn->stash, bytes + used, n - used);
        if (conn->stash.failed)
            conn_kill(conn);
    }
    conn_touch(conn);
}

void conn_settle(struct http_conn *conn)
{
    if (conn->stream && conn->stream->ending)
        stream_finish(conn->stream);
    if (is_ready(conn) && !conn->dead)
        advance(conn);
    if (conn_is_put_off(conn)) {
        struct buf stash = conn->stash;
        buf_init(&conn->stash, 0);
        size_t used = take_all(conn, stash.data, stash.len);
        if (used < stash.len) {
            memmove(stash.data, stash.data + used, stash.len - used);
            stash.len -= used;
            conn->stash = stash;
        } else {
            buf_release(&stash);
        }
    }
}

void conn_eof(struct http_conn *conn)
{
    conn->eof = true;
    if (conn->stream)
        stream_doom(conn->stream, HTTP_STREAM_GONE);
    /* A client may close its side and still wait for its answers. */
    conn_deafen(conn, NULL);
}

/* ---- Clocks -------------------------------------------------------------------------------- */

void conn_linger(struct http_conn *conn)
{
    timer_set(conn->loop, &conn->read_timer, TIMER_LINGER);
}

void conn_expired(struct http_conn *conn, enum timer_kind kind)
{
    static const enum http_cut cuts[TIMERS] = {
        [TIMER_HEAD] = HTTP_CUT_HEAD,
        [TIMER_BODY] = HTTP_CUT_BODY,
        [TIMER_IDLE] = HTTP_CUT_IDLE,
        [TIMER_LINGER] = HTTP_CUT_LINGER,
    };
    /* Closing now would leave the rest to the kernel, where nobody watches it. */
    if (kind == TIMER_LINGER && conn->kernel) {
        conn_linger(conn);
        return;
    }
    count(&conn->loop->counters.cut[cuts[kind]], 1);
    if (kind == TIMER_LINGER)
        conn_kill(conn);
    else if (conn->current)
        refuse(conn, HTTP_REFUSED_TIMEOUT);
    else
        conn_deafen(conn, NULL);
}
