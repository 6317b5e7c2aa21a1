/* SPDX-License-Identifier: MIT */
/*
 * What the files of src/http share. Two halves:
 *
 *   the core       loop.c, request.c, respond.c, conn.c, output.c, stream.c: what happens to bytes,
 *                  requests and clocks. No sockets and no libuv, so that a test or a fuzzer can drive it.
 *   the transport  net.c, server.c: sockets and threads (libuv).
 *
 * The transport enters the core at the beginning of a turn (bytes came, a clock ran out, another
 * thread posted) with conn_input(), conn_eof(), loop_run_timers(), loop_run_posts(). The core never
 * calls back: it puts each connection it touched on the loop's list. At the end of the turn the
 * transport takes them from there (loop_take_touched), calls conn_settle(), and then looks at what
 * the connection wants: bytes in `out` and then `fixed` are to be written, conn_wants_input() says whether to read
 * on, conn_wants_close() and `dead` whether to close. So nothing is freed under anybody's feet, and
 * answers of one turn go out in one write.
 */
#ifndef HTTP_INTERNAL_H
#define HTTP_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "http/http.h"
#include "http/parser.h"

/* The struct that the member pointed to is part of. */
#define CONTAINER(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* ---- Clocks -------------------------------------------------------------------------------- */

/*
 * Each kind of timer has one duration, so a list to which timers are appended as they are set is in
 * the order of their ends: setting and clearing cost a few pointers, and a sweep looks at those
 * that are due and no others.
 */
enum timer_kind { TIMER_HEAD, TIMER_BODY, TIMER_IDLE, TIMER_LINGER, TIMER_BEAT, TIMERS };

struct timer {
    struct timer *prev; /* NULL: not set */
    struct timer *next;
    uint64_t at_ms;
    enum timer_kind kind;
};

/* ---- The loop ------------------------------------------------------------------------------ */

/* Written by the loop's thread only, read by all. */
struct loop_counters {
#define X(name, help) _Atomic uint64_t name;
    HTTP_COUNTERS(X)
#undef X
    _Atomic uint64_t cut[HTTP_CUT_COUNT];
    _Atomic uint64_t refused[HTTP_REFUSAL_COUNT];
};

/* One writer: no locked instruction is needed. */
static inline void count(_Atomic uint64_t *counter, uint64_t n)
{
    uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, value + n, memory_order_relaxed);
}

enum { SPARE_REQUESTS = 64, SPARE_BUFS = 16, SPARE_BUF_MAX = 65536, DATE_LINE = 37 };

struct http_loop {
    const struct http_config *config;
    unsigned index;
    uint64_t now_ms;   /* monotonic; set by the transport at the beginning of a turn */
    uint64_t slice_ms; /* how long requests are begun in one round of the transport; 0: for ever */
    bool stopping;
    char date[DATE_LINE + 1]; /* "Date: ...\r\n" */
    int64_t date_s;
    uint64_t next_id;
    struct http_conn *conns;
    struct http_conn *touched;
    struct http_stream *lost;  /* streams whose owners are to be told at the end of the turn */
    struct http_request *held; /* requests that are their handlers' */
    size_t n_held;
    struct http_request *spare_requests;
    size_t n_spare_requests;
    struct buf spare_bufs[SPARE_BUFS];
    size_t n_spare_bufs;
    struct timer timers[TIMERS]; /* list heads */
    uint64_t timer_ms[TIMERS];
    struct loop_counters counters;
    _Atomic uint64_t *unsent;             /* of all loops */
    uint64_t barren_until_ms;             /* until then nobody is to be found that could be cut */
    _Atomic(struct http_post *) posts;    /* newest first */
    void (*wake)(struct http_loop *loop); /* any thread */
};

/* loop.c */
void loop_init(struct http_loop *loop, const struct http_config *config, unsigned index,
               uint64_t id_seed, _Atomic uint64_t *unsent, void (*wake)(struct http_loop *));
/* After the last turn; frees also the requests still held. */
void loop_release(struct http_loop *loop);
/* Sets the clock for this turn, and the Date line with it. */
void loop_set_time(struct http_loop *loop, uint64_t now_ms, int64_t unix_s);
/* Whether others have waited long enough: no further request is begun in this round. */
bool loop_is_out_of_time(const struct http_loop *loop);
/* Runs what other threads posted. */
void loop_run_posts(struct http_loop *loop);
/* Sends heartbeats and ends what took too long. */
void loop_run_timers(struct http_loop *loop);
/* The next connection touched in this turn, or NULL. Tells the owners of streams lost meanwhile. */
struct http_conn *loop_take_touched(struct http_loop *loop);
/* Ends what can be ended now; the rest ends with its answers. */
void loop_begin_stop(struct http_loop *loop);
uint64_t loop_next_id(struct http_loop *loop);
/* An empty buffer with memory of an earlier one, if there is any. */
void loop_take_buf(struct http_loop *loop, struct buf *buf, size_t max);
void loop_give_buf(struct http_loop *loop, struct buf *buf);

void timer_set(struct http_loop *loop, struct timer *timer, enum timer_kind kind);
void timer_clear(struct timer *timer);

/* ---- Connections --------------------------------------------------------------------------- */

enum conn_state {
    CONN_IDLE, /* between requests */
    CONN_HEAD,
    CONN_BODY,
    CONN_DEAF, /* no more requests from here: input is thrown away */
};

struct http_conn {
    struct http_loop *loop;
    struct http_conn *prev, *next; /* loop->conns */
    struct http_conn *touched_next;
    struct timer read_timer;
    enum conn_state state;
    bool touched;
    bool fresh;         /* nothing has come yet */
    bool finishing;     /* close when the answers are out */
    bool dead;          /* close now */
    bool reset;         /* and let the kernel forget what it has, too */
    bool eof;           /* the client has sent all it will send */
    bool owes_continue; /* 100 Continue, as soon as the answers before it are out */
    unsigned in_flight;
    struct http_request *current;      /* being received */
    struct http_request *first, *last; /* handed over, in order */
    struct http_stream *stream;
    struct buf out;         /* to be written */
    struct http_text fixed; /* to be written behind it; while it is there, `out` does not grow */
    struct buf stash;       /* input that came when the pipeline was full */
    bool waits;             /* a request for its handler: see http_request_waits */
    uint64_t resumes_ms;    /* refused for lack of room: what else it has sent waits until then */
    size_t queued;          /* bytes of answers in the queue's own buffers */
    size_t unsent;          /* bytes that the transport has taken but not yet sent */
    size_t kept;            /* bytes of memory that it keeps for them */
    size_t kernel;          /* bytes that the kernel has, as far as known */
    uint64_t charged;       /* see output.c, as for what follows */
    uint64_t given;         /* bytes given to the kernel so far */
    uint64_t since_ms;      /* what is sent now is watched since then, */
    uint64_t taken_then;    /* when the client had taken so many bytes, */
    uint64_t waiting_until; /* until it will have taken so many */
    struct http_peer peer;
};

/* conn.c */
void conn_init(struct http_conn *conn, struct http_loop *loop, const struct http_peer *peer);
/* The transport has closed it. Requests that are their handlers' live on without it. */
void conn_release(struct http_conn *conn);
void conn_input(struct http_conn *conn, const char *bytes, size_t n);
void conn_eof(struct http_conn *conn);
/* End of a turn: ends streams that are to end, goes on with stashed input if there is room again.
 */
void conn_settle(struct http_conn *conn);
bool conn_wants_input(const struct http_conn *conn);
/* Whether there is something to go on with, and room and time for it. */
bool conn_can_resume(const struct http_conn *conn);
/* Whether nothing but time is missing: it is the transport's to come back to it. */
bool conn_is_put_off(const struct http_conn *conn);
/* Whether all is said: nothing to write, nothing under way, and to be closed. */
bool conn_wants_close(const struct http_conn *conn);
/* The client reads no more answers: we have closed our side and wait for it to close its own. */
void conn_linger(struct http_conn *conn);
void conn_expired(struct http_conn *conn, enum timer_kind kind);
void conn_touch(struct http_conn *conn);
/* No answer can reach the client any more. */
void conn_kill(struct http_conn *conn);
/* Takes no more requests; those behind `req`, if given, and a half received one are forgotten. */
void conn_deafen(struct http_conn *conn, struct http_request *behind);
/* Where the bytes of this request's answer go now: out, or its own buffer until it is its turn. */
struct buf *conn_out(struct http_conn *conn, struct http_request *req);
/* The request, answered, leaves; so do answered ones behind it, if it was the first. */
void conn_answered(struct http_conn *conn, struct http_request *req);

/* ---- Output -------------------------------------------------------------------------------- */

/* Looking at all connections found nobody to cut: not again for so long. */
enum { BARREN_MS = 100 };

/* output.c */
/* Bytes on their way to the client that the kernel does not have yet. */
size_t conn_pending(const struct http_conn *conn);
/* Our memory that waits for the client, or for its turn. */
size_t conn_kept(const struct http_conn *conn);
/* Whether the transport has to look after it: something is on its way, or it is to go on later. */
bool conn_is_sending(const struct http_conn *conn);
/* Brings its part of loop->unsent up to date. */
void conn_recharge(struct http_conn *conn);
/* Too slow, or too much. */
void conn_cut(struct http_conn *conn, enum http_cut why);
/* The transport begins to write and nothing waited before; the kernel took n bytes; it still has so
 * many, which may be too many for too long. */
void conn_begins_sending(struct http_conn *conn);
void conn_gave(struct http_conn *conn, size_t n);
void conn_measured(struct http_conn *conn, size_t kernel);
/* Whether so much waits that it should be measured how much it really is. */
bool loop_is_pressed(const struct http_loop *loop);
/* Cuts this loop's part of what is too much. */
void loop_shed(struct http_loop *loop);
/* Whether n more bytes may wait; cuts slow ones for it. */
bool loop_make_room(struct http_loop *loop, uint64_t n);

/* ---- Requests ------------------------------------------------------------------------------ */

struct http_request {
    struct http_loop *loop;
    struct http_conn *conn; /* NULL: the client has gone */
    struct http_request *next;
    struct http_request *held_prev, *held_next;
    struct http_scan scan;
    struct http_chunks chunks;
    struct buf head_bytes;
    struct buf body;
    struct buf out;         /* the answer, until it is its turn */
    struct http_text fixed; /* and what follows it */
    struct arena arena;
    bool held;
    bool answered;
    bool close;
    enum http_refusal refusal;
    struct http_stream *stream;
    struct http_peer peer;
    uint64_t id;
    uint64_t start_ns;
    struct http_post post;
    void (*post_run)(struct http_request *req, void *arg);
    void *post_arg;
    struct http_head head; /* last: its array of headers is long and mostly untouched */
};

/* request.c */
/* A fresh request of this connection, or NULL if there is no memory. */
struct http_request *request_new(struct http_conn *conn);
void request_free(struct http_request *req);
void request_hold(struct http_request *req);
uint64_t monotonic_ns(void);

/* cors.c */
/* What a browser wants to see, for a page of another origin, on this answer. */
void cors_put_fields(struct buf *out, const struct http_request *req);

/* respond.c */
/* Answers with a problem document and closes the connection behind it. */
void respond_refusal(struct http_request *req, enum http_refusal refusal);
/* The head of a stream. False if a field is not fit to be sent. */
bool respond_stream_head(struct http_request *req, struct buf *out, const struct http_field *fields,
                         size_t n_fields);
/* Tells the observer, if there is one. */
void observe(struct http_request *req, int status, uint64_t bytes);

/* ---- Streams ------------------------------------------------------------------------------- */

struct http_stream {
    struct http_loop *loop;
    struct http_conn *conn;
    struct http_request *req; /* its place in the queue, until it is its turn */
    struct http_stream *lost_next;
    struct timer beat;
    void (*closed)(struct http_stream *stream, enum http_stream_end why, void *ctx);
    void *ctx;
    bool ending;
    enum http_stream_end why;
    uint64_t bytes;
    uint64_t start_ns;
    uint64_t id;
    size_t path_len;
    char path[]; /* for the observer */
};

/* stream.c */
void stream_beat(struct http_stream *stream);
/* It is the stream's turn: what it sends goes straight to the connection from now on. */
void stream_promote(struct http_conn *conn, struct http_request *req);
/* Marks it to be ended at the end of the turn. */
void stream_doom(struct http_stream *stream, enum http_stream_end why);
/* Its connection is gone: to be finished at the end of the turn. */
void stream_lose(struct http_stream *stream);
/* Tells its owner and frees it. Only at the end of a turn. */
void stream_finish(struct http_stream *stream);

#endif
