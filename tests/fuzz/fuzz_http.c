/* SPDX-License-Identifier: MIT */
/*
 * Bytes in arbitrary pieces into the connection's state machine, without sockets: the core of
 * src/http is driven as net.c drives it, with handlers that answer at once, later, out of order,
 * with a stream, or after the client has gone. The input is a script; the first byte of each step
 * says what happens next:
 *
 *   0..0xbf  that many bytes of input follow
 *   0xc0..   time passes, an answer that waits is given, the transport sends or stalls, the client
 *            takes some of it or ends
 *
 * Checked besides memory: answers are well formed, never more of them than requests, bounds hold.
 */
// sources: src/http/conn.c src/http/cors.c src/http/loop.c src/http/output.c src/http/parser.c src/http/query.c
// sources: src/http/request.c
// sources: src/http/respond.c src/http/stream.c src/base/arena.c src/base/buf.c
// libs: -lhttp_parser
#include <stdlib.h>
#include <string.h>

#include "http/internal.h"
#include "http/query.h"

enum { WAITING_MAX = 64 };

struct world {
    struct http_config config;
    struct http_loop loop;
    struct http_conn conn;
    struct http_request *waiting[WAITING_MAX];
    size_t n_waiting;
    struct http_stream *stream; /* the last one begun */
    size_t streams_begun, streams_closed;
    size_t observed;
    _Atomic uint64_t unsent;
    bool stalled;
    bool gone;
};

/* A body that need not be copied. */
static char lasting[5000];

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

static void wake(struct http_loop *loop)
{
    (void)loop;
}

static void answer(struct http_request *req)
{
    struct http_text path = http_request_path(req);
    struct http_field field = {"X-Path", "x"};
    if (path.n > 1 && path.p[1] == 'l') {
        http_respond(
            req, &(struct http_response){
                     .status = 200, .body = lasting, .body_len = sizeof lasting, .lasting = true});
        return;
    }
    http_respond(req, &(struct http_response){.status = path.n % 2 ? 200 : 404,
                                              .content_type = "text/plain",
                                              .fields = &field,
                                              .n_fields = path.n % 3 ? 1 : 0,
                                              .body = path.p,
                                              .body_len = path.n});
}

static void closed(struct http_stream *stream, enum http_stream_end why, void *ctx)
{
    struct world *world = ctx;
    (void)why;
    world->streams_closed++;
    if (world->stream == stream)
        world->stream = NULL;
}

/* Every byte that a handler may look at is looked at, for the sanitizers. */
static void look(struct http_request *req)
{
    struct http_text parts[] = {http_request_path(req), http_request_query(req),
                                http_request_body(req), http_request_header(req, "host", NULL)};
    volatile unsigned sum = 0;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        for (size_t k = 0; k < parts[i].n; k++)
            sum += (unsigned char)parts[i].p[k];
    (void)sum;
    CHECK(parts[0].n > 0 && (parts[0].p[0] == '/' || parts[0].p[0] == '*'));
    struct http_query query;
    struct http_text culprit;
    http_query_parse(parts[1], http_request_arena(req), &query, &culprit);
}

static void handle(struct http_request *req, void *ctx)
{
    struct world *world = ctx;
    struct http_text path = http_request_path(req);
    look(req);
    switch (path.n > 1 ? path.p[1] : 0) {
    case 'w':
        if (world->n_waiting < WAITING_MAX) {
            world->waiting[world->n_waiting++] = req;
            return;
        }
        break;
    case 's': {
        struct http_stream *stream = http_stream_begin(req, NULL, 0, closed, world);
        if (stream) {
            world->stream = stream;
            world->streams_begun++;
            http_stream_send(stream, "data: x\n\n", 9);
        }
        return;
    }
    }
    answer(req);
}

static void see(const struct http_observation *seen, void *ctx)
{
    struct world *world = ctx;
    CHECK(seen->status >= 200 && seen->status < 600);
    world->observed++;
}

/* The kernel takes everything; what the client takes of it is another step's matter. */
static void send(struct world *world, struct http_conn *conn)
{
    CHECK(conn->out.len <= world->config.output_max);
    CHECK(!conn->out.len || !memcmp(conn->out.data, "HTTP/1.1 ", 9) || conn->stream ||
          world->streams_begun);
    if (!conn_is_sending(conn))
        conn_begins_sending(conn);
    conn_gave(conn, conn_pending(conn));
    loop_give_buf(&world->loop, &conn->out);
    conn->fixed = (struct http_text){0};
}

/* What net.c does at the end of a turn. */
static void end_turn(struct world *world)
{
    struct http_conn *conn;
    while ((conn = loop_take_touched(&world->loop))) {
        do {
            conn_settle(conn);
            if (!world->stalled && conn_pending(conn))
                send(world, conn);
        } while (conn_can_resume(conn));
        conn_recharge(conn);
        CHECK(conn->dead || conn->charged == conn_kept(conn) + conn->kernel);
        CHECK(conn->in_flight <= world->config.pipeline_max + 1);
        CHECK(conn->stash.len == 0 || !conn_wants_input(conn) || conn->state == CONN_DEAF);
        if ((conn->dead || conn_wants_close(conn)) && !world->gone) {
            world->gone = true;
            conn_release(conn);
        }
    }
}

static void step(struct world *world, uint8_t what)
{
    switch (what & 7) {
    case 0: /* an answer that waits, the oldest or the newest */
    case 1:
        if (world->n_waiting) {
            size_t at = what & 1 ? world->n_waiting - 1 : 0;
            struct http_request *req = world->waiting[at];
            world->n_waiting--;
            memmove(&world->waiting[at], &world->waiting[at + 1],
                    (world->n_waiting - at) * sizeof *world->waiting);
            answer(req);
        }
        break;
    case 2:
        loop_set_time(&world->loop, world->loop.now_ms + (what & 0x38u) * 50, 0);
        loop_run_timers(&world->loop);
        if (!world->gone && what & 0x20)
            conn_measured(&world->conn, what & 0x10 ? world->conn.kernel / 2 : 0);
        break;
    case 3:
        world->stalled = !world->stalled;
        if (!world->gone)
            conn_touch(&world->conn);
        break;
    case 4:
        if (!world->gone && conn_wants_input(&world->conn))
            conn_eof(&world->conn);
        break;
    case 5:
        if (world->stream)
            http_stream_send(world->stream, "data: 0123456789\n\n", 18);
        break;
    case 6:
        if (world->stream)
            http_stream_end(world->stream);
        break;
    case 7:
        if (what & 0x20)
            loop_begin_stop(&world->loop);
        else if (what & 0x10)
            loop_shed(&world->loop);
        break;
    }
    end_turn(world);
}

static void input(struct world *world, const uint8_t *data, size_t n)
{
    if (world->gone || !n || !conn_wants_input(&world->conn))
        return;
    /* A copy of exactly this size: reading past a piece is then an error that is seen. */
    char *piece = malloc(n);
    CHECK(piece);
    memcpy(piece, data, n);
    conn_input(&world->conn, piece, n);
    free(piece);
    end_turn(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world world;
    static const struct http_peer peer;
    memset(&world, 0, sizeof world);
    struct http_config *config = &world.config;
#define X(name, standard, least, text) config->name = standard;
    HTTP_SETTINGS(X)
#undef X
    config->handler = handle;
    config->observer = see;
    config->ctx = &world;
    config->head_max = 512;
    config->target_max = 128;
    config->body_max = 64;
    config->headers_max = 8;
    config->pipeline_max = 4;
    config->output_max = 4096;
    config->stream_output_max = 256;
    config->send_buffer = 4096;
    config->unsent_max = 8192;
    loop_init(&world.loop, config, 0, 1, &world.unsent, wake);
    loop_set_time(&world.loop, 1000, 0);
    conn_init(&world.conn, &world.loop, &peer);

    while (size) {
        uint8_t what = *data++;
        size--;
        if (what >= 0xc0) {
            step(&world, what);
            continue;
        }
        size_t n = what < size ? what : size;
        input(&world, data, n);
        data += n;
        size -= n;
    }
    if (!world.gone)
        conn_release(&world.conn);
    world.gone = true;
    end_turn(&world);
    CHECK(world.streams_begun == world.streams_closed);
    while (world.n_waiting)
        answer(world.waiting[--world.n_waiting]);
    CHECK(world.loop.n_held == 0);
    CHECK(world.unsent == 0);
    loop_release(&world.loop);
    return 0;
}
