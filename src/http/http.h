/* SPDX-License-Identifier: MIT */
/*
 * The HTTP/1.1 server: bytes to requests, answers to bytes. It knows no route and no domain.
 *
 * N loop threads each have their own listener, connections and memory. A connection, its requests
 * and its stream live and die on one loop. All functions that take a request or a stream are called
 * on that loop's thread, with the exception of http_request_post() and http_post(), which are how
 * other threads get there.
 *
 * The life of a request: the handler is called once the whole body has arrived. From then on the
 * request belongs to the handler, until it calls http_respond() or http_stream_begin(), at once or
 * later; exactly one of them, exactly once. If the client goes away meanwhile, the request stays
 * valid; answering it then only frees it. Answers go out in the order of the requests.
 *
 * Nothing grows without bound: see struct http_config. What a client gets wrong about HTTP itself
 * is answered here with a problem document (RFC 9457), and the connection is closed.
 */
#ifndef HTTP_HTTP_H
#define HTTP_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct http_cors;
struct http_loop;
struct http_request;
struct http_server;
struct http_stream;

enum http_err {
    HTTP_OK,
    HTTP_ERR_MEMORY,
    HTTP_ERR_ADDRESS, /* the listening address cannot be parsed or resolved */
    HTTP_ERR_LISTEN,  /* it cannot be listened on */
    HTTP_ERR_THREAD,
};

/* ---- Refusals and counters ----------------------------------------------------------------- */

/* What the layer itself answers: name, status, code in the problem document. */
#define HTTP_REFUSALS(X)                       \
    X(MALFORMED, 400, "malformed_request")     \
    X(BAD_FRAMING, 400, "bad_framing")         \
    X(BAD_HOST, 400, "bad_host")               \
    X(BAD_TARGET, 400, "bad_target")           \
    X(TIMEOUT, 408, "request_timeout")         \
    X(BODY_TOO_LARGE, 413, "body_too_large")   \
    X(TARGET_TOO_LONG, 414, "target_too_long") \
    X(EXPECTATION, 417, "expectation_failed")  \
    X(HEAD_TOO_LARGE, 431, "header_too_large") \
    X(NOT_IMPLEMENTED, 501, "not_implemented") \
    X(OVERLOADED, 503, "overloaded")           \
    X(VERSION, 505, "http_version")

enum http_refusal {
    HTTP_ACCEPTED,
#define X(name, status, code) HTTP_REFUSED_##name,
    HTTP_REFUSALS(X)
#undef X
        HTTP_REFUSAL_COUNT
};

/* Connections cut off, mostly by a clock: name, label. */
#define HTTP_CUTS(X)                                                      \
    X(HEAD, "head")     /* the head did not arrive in time */             \
    X(BODY, "body")     /* the body did not */                            \
    X(WRITE, "write")   /* the client takes its answer too slowly */      \
    X(BUDGET, "budget") /* too many unsent bytes in all, these longest */ \
    X(IDLE, "idle")     /* nothing asked for too long */                  \
    X(LINGER, "linger")

/* Counts and, marked so, gauges: name, help. One row is a metric elsewhere. */
#define HTTP_COUNTERS(X)                                                      \
    X(accepted, "connections accepted")                                       \
    X(open, "connections open now")                                           \
    X(full_server, "connections refused: too many in all")                    \
    X(full_address, "connections refused: too many from one address")         \
    X(requests, "requests handed to the handler")                             \
    X(responses, "answers")                                                   \
    X(aborted, "requests whose client left before the answer")                \
    X(bytes_in, "bytes received")                                             \
    X(bytes_out, "bytes sent")                                                \
    X(unsent, "bytes of memory that wait to be taken, the kernel's included") \
    X(over_output, "connections cut: more unsent output than allowed")        \
    X(streams_opened, "streams begun")                                        \
    X(streams_open, "streams open now")                                       \
    X(streams_slow, "streams cut: too slow a reader")                         \
    X(wakeups, "times another thread woke a loop")

enum http_cut {
#define X(name, label) HTTP_CUT_##name,
    HTTP_CUTS(X)
#undef X
        HTTP_CUT_COUNT
};

struct http_counters {
#define X(name, help) uint64_t name;
    HTTP_COUNTERS(X)
#undef X
    uint64_t cut[HTTP_CUT_COUNT];
    uint64_t refused[HTTP_REFUSAL_COUNT];
};

/* "body_too_large"; a static string. */
const char *http_refusal_code(enum http_refusal refusal);
int http_refusal_status(enum http_refusal refusal);

/* ---- Requests ------------------------------------------------------------------------------ */

enum http_verb {
    HTTP_VERB_OTHER, /* known to HTTP; see method for which */
    HTTP_VERB_GET,   /* also HEAD: the layer leaves the body out */
    HTTP_VERB_POST,
    HTTP_VERB_PUT,
    HTTP_VERB_PATCH,
    HTTP_VERB_DELETE,
    HTTP_VERB_OPTIONS,
};

/* Bytes of the request: not NUL-terminated, valid as long as the request. */
struct http_text {
    const char *p;
    size_t n;
};

/* A peer's address; IPv4 as ::ffff:a.b.c.d. */
struct http_peer {
    uint8_t address[16];
    uint16_t port;
};

enum http_verb http_request_verb(const struct http_request *req);
/* As sent: "GET", "HEAD", "PROPFIND". A static string. */
const char *http_request_method(const struct http_request *req);
/* Begins with '/', or is "*" for OPTIONS. Not decoded. Visible ASCII only. */
struct http_text http_request_path(const struct http_request *req);
/* What follows the '?', not decoded; p is NULL if there is no '?'. */
struct http_text http_request_query(const struct http_request *req);
/* n is 0 if there is none; p is never NULL. */
struct http_text http_request_body(const struct http_request *req);
uint64_t http_request_id(const struct http_request *req);
struct http_peer http_request_peer(const struct http_request *req);
/* The index of the request's loop, 0 ... threads - 1: for memory that a handler keeps per loop. */
unsigned http_request_loop_index(const struct http_request *req);
struct http_loop *http_request_loop(const struct http_request *req);
/* Whether the client has gone: the answer will reach nobody. */
bool http_request_gone(const struct http_request *req);
/* While a request waits, its handler not having begun with it, no further request of its connection is begun. */
void http_request_waits(struct http_request *req, bool waits);
/* Memory that lives as long as the request, bounded by config.arena_max. */
struct arena *http_request_arena(struct http_request *req);

/*
 * The value of a header, name compared without case; p is NULL if there is none. *count, if wanted,
 * is how often it is there: the value is the first. For headers that may be given only once.
 */
struct http_text http_request_header(const struct http_request *req, const char *name,
                                     size_t *count);

/* ---- Answers ------------------------------------------------------------------------------- */

struct http_field {
    const char *name;
    const char *value;
};

/*
 * Content-Length, Date, Connection and X-Request-Id are the layer's. What it points to is copied
 * before http_respond returns, but for a lasting body. A field value with control characters makes
 * the answer a plain 500: it would split the answer in two. A large answer to a GET for which there
 * is no memory left (config.unsent_max) becomes a 503.
 */
struct http_response {
    int status;               /* 200 ... 599 */
    const char *content_type; /* may be NULL */
    const struct http_field *fields;
    size_t n_fields;
    const void *body;
    size_t body_len;
    bool lasting; /* the body outlives the server: it is not copied */
    bool close;   /* close the connection after this answer */
};

/* "Not Found"; a static string. */
const char *http_status_phrase(int status);

/* Answers and frees the request, in any case. */
void http_respond(struct http_request *req, const struct http_response *response);

/* ---- From other threads -------------------------------------------------------------------- */

/*
 * A message to a loop, embedded in something of the caller's, so that posting allocates nothing and
 * cannot fail. Untouched from the post until `run` is called; free to be posted again from then on.
 */
struct http_post {
    void (*run)(struct http_post *post);
    struct http_post *next; /* private */
};

/* Any thread. `run` is called on the loop's thread; posts of one thread in their order. A batch
 * costs one wake-up. */
void http_post(struct http_loop *loop, struct http_post *post);

/* Any thread: `run` is called with the request on its loop. The same as http_post with a post
 * inside the request, so at most one at a time. */
void http_request_post(struct http_request *req, void (*run)(struct http_request *req, void *arg),
                       void *arg);

/* ---- Streams ------------------------------------------------------------------------------- */

enum http_stream_end {
    HTTP_STREAM_ENDED, /* by http_stream_end */
    HTTP_STREAM_GONE,  /* the client left */
    HTTP_STREAM_SLOW,  /* the client did not read fast enough */
    HTTP_STREAM_STOP,  /* the server stops */
};

/*
 * Turns a request into a stream of server-sent events (200, text/event-stream) that ends with the
 * connection. The request is freed. `closed` is called exactly once, on the loop's thread, never
 * within another function of this header; the stream is gone after it.
 *
 * NULL if there was no memory or the client has gone: the request is freed all the same, and
 * `closed` is not called. A HEAD gets the head only, and NULL.
 */
struct http_stream *http_stream_begin(
    struct http_request *req, const struct http_field *fields, size_t n_fields,
    void (*closed)(struct http_stream *stream, enum http_stream_end why, void *ctx), void *ctx);

/* Sends bytes as they are: whole events. More unsent than config.stream_output_max ends the stream
 * (SLOW). After the end, but before `closed`, it does nothing. */
void http_stream_send(struct http_stream *stream, const void *bytes, size_t n);

/* Ends the stream after what was sent. */
void http_stream_end(struct http_stream *stream);

struct http_loop *http_stream_loop(const struct http_stream *stream);

/* ---- The server ---------------------------------------------------------------------------- */

/* One finished answer, for logs and histograms. Pointers live only during the call. */
struct http_observation {
    const char *method; /* "-" if the request was not understood */
    struct http_text path;
    int status;
    enum http_refusal refusal; /* if the layer answered by itself */
    bool aborted;              /* the client left before the answer */
    bool stream;               /* seen when it ends */
    uint64_t bytes;            /* of the answer, with its head */
    uint64_t duration_us;      /* from the first byte of the request to the answer */
    uint64_t request_id;
    struct http_peer peer;
    unsigned loop_index;
};

/* name, default, least, what it is; milliseconds and bytes. */
#define HTTP_SETTINGS(X)                                                                          \
    X(head_max, 8192, 1, "bytes in a request's head")                                             \
    X(target_max, 4096, 1, "bytes in a request's target")                                         \
    X(body_max, 131072, 1, "bytes in a request's body")                                           \
    X(headers_max, 64, 1, "headers in a request, 128 at most")                                    \
    X(arena_max, 1048576, 1, "bytes of memory a handler may take for one request")                \
    X(pipeline_max, 16, 1, "requests of one connection under way at the same time")               \
    X(output_max, 8388608, 1, "unsent bytes of answers for one connection")                       \
    X(stream_output_max, 262144, 1, "unsent bytes of one stream")                                 \
    X(unsent_max, 67108864, 65536, "unsent bytes of all connections, the kernel's included")      \
    X(send_buffer, 131072, 131072, "of them in the kernel for one connection")                    \
    X(connections_max, 16384, 1, "connections open at the same time")                             \
    X(connections_per_address, 1024, 0, "of them from one IPv4 address or IPv6 /64; 0: no limit") \
    X(head_timeout_ms, 10000, 1, "time for a head to arrive")                                     \
    X(body_timeout_ms, 10000, 1, "time for a body to arrive")                                     \
    X(write_timeout_ms, 10000, 1, "time that output may wait for too slow a reader")              \
    X(write_rate_min, 1000, 0, "bytes a second that are not too slow")                            \
    X(idle_timeout_ms, 60000, 1, "time between two requests of a connection")                     \
    X(linger_timeout_ms, 2000, 1, "time for a client to close after us")                          \
    X(heartbeat_ms, 15000, 1, "time between two heartbeats of a stream")

enum { HTTP_HEADERS_MAX = 128, HTTP_THREADS_MAX = 256 };

struct http_config {
    const char *listen; /* "127.0.0.1:8080", "[::1]:0", "localhost:80" */
    unsigned threads;
    void (*handler)(struct http_request *req, void *ctx);
    void (*observer)(const struct http_observation *seen, void *ctx); /* may be NULL */
    void *ctx;                                                        /* for both */
    const struct http_cors *cors; /* see cors.h; NULL: nothing for pages of other origins */
#define X(name, standard, least, text) uint64_t name;
    HTTP_SETTINGS(X)
#undef X
};

/* Defaults; no listen, handler or observer; one thread. */
void http_config_init(struct http_config *config);

/*
 * Listens and starts the threads; the config is copied, `listen` not needed any more. *server is
 * set before the first handler can run. On failure it is NULL, and *message, if wanted, is a static
 * text with the detail.
 */
enum http_err http_server_start(const struct http_config *config, struct http_server **server,
                                const char **message);

/* The port it listens on, if 0 was asked for too. Any thread. */
uint16_t http_server_port(const struct http_server *server);

/* The loop of that index, for http_post. Any thread. */
struct http_loop *http_server_loop(struct http_server *server, unsigned index);

/* The sum over all loops at about this moment. Any thread. */
void http_server_counters(const struct http_server *server, struct http_counters *sum);

/*
 * Stops: no new connections; idle ones are closed, streams ended, requests under way answered with
 * Connection: close. What is left after deadline_ms is cut. Returns when the threads are joined;
 * the answer is how many requests their handlers still hold. Not from a loop thread; once.
 */
size_t http_server_stop(struct http_server *server, uint64_t deadline_ms);

/*
 * Frees a stopped server and every request still held. Whoever held one, or could post, must be
 * done before: stop the server, close the engine, free the server. NULL is fine.
 */
void http_server_free(struct http_server *server);

#endif
