/* SPDX-License-Identifier: MIT */
/*
 * What the connections of one loop share: clocks, spare memory, counters, and the list of messages
 * from other threads. All but http_post() run on the loop's thread.
 */
#include "http/internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- Beginning and end --------------------------------------------------------------------- */

void loop_init(struct http_loop *loop, const struct http_config *config, unsigned index,
               uint64_t id_seed, _Atomic uint64_t *unsent, void (*wake)(struct http_loop *))
{
    *loop = (struct http_loop){.config = config,
                               .index = index,
                               .next_id = id_seed,
                               .date_s = -1,
                               .unsent = unsent,
                               .wake = wake};
    for (int kind = 0; kind < TIMERS; kind++)
        loop->timers[kind].prev = loop->timers[kind].next = &loop->timers[kind];
    loop->timer_ms[TIMER_HEAD] = config->head_timeout_ms;
    loop->timer_ms[TIMER_BODY] = config->body_timeout_ms;
    loop->timer_ms[TIMER_IDLE] = config->idle_timeout_ms;
    loop->timer_ms[TIMER_LINGER] = config->linger_timeout_ms;
    loop->timer_ms[TIMER_BEAT] = config->heartbeat_ms;
    /* A timer that is due when it is set would never let a sweep end. */
    for (int kind = 0; kind < TIMERS; kind++)
        loop->timer_ms[kind] += loop->timer_ms[kind] == 0;
}

void loop_release(struct http_loop *loop)
{
    while (loop->held)
        request_free(loop->held);
    while (loop->spare_requests) {
        struct http_request *req = loop->spare_requests;
        loop->spare_requests = req->next;
        buf_release(&req->head_bytes);
        buf_release(&req->body);
        arena_release(&req->arena);
        free(req);
    }
    while (loop->n_spare_bufs)
        buf_release(&loop->spare_bufs[--loop->n_spare_bufs]);
}

void loop_begin_stop(struct http_loop *loop)
{
    loop->stopping = true;
    for (struct http_conn *conn = loop->conns; conn; conn = conn->next) {
        if (conn->stream)
            stream_doom(conn->stream, HTTP_STREAM_STOP);
        for (struct http_request *req = conn->first; req; req = req->next)
            if (req->stream)
                stream_doom(req->stream, HTTP_STREAM_STOP);
        if (conn->state == CONN_IDLE && !conn->in_flight)
            conn_deafen(conn, NULL);
        conn_touch(conn);
    }
}

/* ---- Time ---------------------------------------------------------------------------------- */

void loop_set_time(struct http_loop *loop, uint64_t now_ms, int64_t unix_s)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    loop->now_ms = now_ms;
    if (unix_s == loop->date_s)
        return;
    loop->date_s = unix_s;
    struct tm tm;
    time_t t = (time_t)unix_s;
    gmtime_r(&t, &tm);
    struct buf buf;
    /* Not strftime: it would speak the language of the locale. */
    buf_init_borrowed(&buf, loop->date, sizeof loop->date);
    buf_printf(&buf, "Date: %.3s, %02d %.3s %04d %02d:%02d:%02d GMT\r\n", days + 3 * tm.tm_wday,
               tm.tm_mday, months + 3 * tm.tm_mon, tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
               tm.tm_sec);
}

bool loop_is_out_of_time(const struct http_loop *loop)
{
    return loop->slice_ms && monotonic_ns() / 1000000 >= loop->now_ms + loop->slice_ms;
}

void timer_clear(struct timer *timer)
{
    if (!timer->prev)
        return;
    timer->prev->next = timer->next;
    timer->next->prev = timer->prev;
    timer->prev = timer->next = NULL;
}

void timer_set(struct http_loop *loop, struct timer *timer, enum timer_kind kind)
{
    struct timer *list = &loop->timers[kind];
    timer_clear(timer);
    timer->kind = kind;
    timer->at_ms = loop->now_ms + loop->timer_ms[kind];
    timer->prev = list->prev;
    timer->next = list;
    list->prev->next = timer;
    list->prev = timer;
}

void loop_run_timers(struct http_loop *loop)
{
    for (int kind = 0; kind < TIMERS; kind++) {
        struct timer *list = &loop->timers[kind];
        /* Those set again from here on are due later, so this ends. */
        while (list->next != list && list->next->at_ms <= loop->now_ms) {
            struct timer *timer = list->next;
            timer_clear(timer);
            if (kind == TIMER_BEAT)
                stream_beat(CONTAINER(timer, struct http_stream, beat));
            else
                conn_expired(CONTAINER(timer, struct http_conn, read_timer), (enum timer_kind)kind);
        }
    }
}

/* ---- Messages from other threads ----------------------------------------------------------- */

void http_post(struct http_loop *loop, struct http_post *post)
{
    struct http_post *head = atomic_load_explicit(&loop->posts, memory_order_relaxed);
    do
        post->next = head;
    while (!atomic_compare_exchange_weak_explicit(&loop->posts, &head, post, memory_order_release,
                                                  memory_order_relaxed));
    /* Whoever found the list empty wakes the loop, which takes the whole list: one wake-up a batch.
     */
    if (!head)
        loop->wake(loop);
}

void loop_run_posts(struct http_loop *loop)
{
    struct http_post *newest = atomic_exchange_explicit(&loop->posts, NULL, memory_order_acquire);
    struct http_post *oldest = NULL;
    while (newest) {
        struct http_post *next = newest->next;
        newest->next = oldest;
        oldest = newest;
        newest = next;
    }
    if (oldest)
        count(&loop->counters.wakeups, 1);
    while (oldest) {
        struct http_post *next = oldest->next;
        oldest->run(oldest); /* may post it again or free it */
        oldest = next;
    }
}

/* ---- Memory and ids ------------------------------------------------------------------------ */

struct http_conn *loop_take_touched(struct http_loop *loop)
{
    while (loop->lost) {
        struct http_stream *stream = loop->lost;
        loop->lost = stream->lost_next;
        stream_finish(stream);
    }
    struct http_conn *conn = loop->touched;
    if (conn) {
        loop->touched = conn->touched_next;
        conn->touched = false;
    }
    return conn;
}

/* Ids count up from a random number; mixing makes neighbours look different in a log. */
uint64_t loop_next_id(struct http_loop *loop)
{
    uint64_t x = loop->next_id++;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

void loop_take_buf(struct http_loop *loop, struct buf *buf, size_t max)
{
    if (loop->n_spare_bufs)
        *buf = loop->spare_bufs[--loop->n_spare_bufs];
    else
        buf_init(buf, max);
    buf->max = max;
}

void loop_give_buf(struct http_loop *loop, struct buf *buf)
{
    buf_clear(buf);
    if (buf->data && buf->cap <= SPARE_BUF_MAX && loop->n_spare_bufs < SPARE_BUFS) {
        loop->spare_bufs[loop->n_spare_bufs++] = *buf;
        buf->data = NULL;
        buf->cap = 0;
    } else {
        buf_release(buf);
    }
}
