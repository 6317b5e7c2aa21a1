/* SPDX-License-Identifier: MIT */
/*
 * A server on src/http for the tests in this folder: it shows what it was asked, and lets a test
 * decide in which order and when requests are answered, so that no test has to wait by the clock.
 *
 *     echo_server [name=value ...]     the settings of http.h, and port, host, threads, log,
 * stop_ms
 *
 *   /healthz            "ok"
 *   /info               the request as JSON; with its body
 *   /big?n              n bytes
 *   /defer              answered from another thread
 *   /hold/NAME          kept until /release/NAME, which answers how many it found
 *   /held               how many are kept
 *   /split              an answer with a line break in a header
 *   /stream             server-sent events
 *   /publish            sends its body to every stream; answers when every loop has done so
 *   /endstreams         ends every stream
 *   /counters           the layer's counters
 *
 * It prints "listening PORT" and, after SIGTERM or SIGINT, "stopped HELD".
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_out.h"
#include "base/log.h"
#include "http/http.h"

/* ---- The thread that answers later --------------------------------------------------------- */

enum { KEPT_MAX = 4096 };

struct kept {
    struct http_request *req;
    char name[128];
};

struct app {
    struct http_server *server;
    unsigned threads;
    bool log;
    pthread_mutex_t lock; /* for all below */
    pthread_cond_t changed;
    struct kept kept[KEPT_MAX];
    size_t n_kept;
    struct http_request *due[KEPT_MAX];
    size_t n_due;
    bool stop;
    struct subscriber *streams[256]; /* one list a loop, touched only by that loop */
};

static void answer_text(struct http_request *req, int status, const char *text)
{
    http_respond(req, &(struct http_response){.status = status,
                                              .content_type = "text/plain",
                                              .body = text,
                                              .body_len = strlen(text)});
}

static void answer_deferred(struct http_request *req, void *arg)
{
    struct http_text path = http_request_path(req);
    (void)arg;
    http_respond(
        req, &(struct http_response){
                 .status = 200, .content_type = "text/plain", .body = path.p, .body_len = path.n});
}

static void *answer_later(void *arg)
{
    struct app *app = arg;
    static struct http_request *taken[KEPT_MAX];
    for (;;) {
        pthread_mutex_lock(&app->lock);
        while (!app->n_due && !app->stop)
            pthread_cond_wait(&app->changed, &app->lock);
        size_t n = app->n_due;
        memcpy(taken, app->due, n * sizeof *taken);
        app->n_due = 0;
        bool stop = app->stop;
        pthread_mutex_unlock(&app->lock);
        for (size_t i = 0; i < n; i++)
            http_request_post(taken[i], answer_deferred, NULL);
        if (stop && !n)
            return NULL;
    }
}

static void defer(struct app *app, struct http_request *req)
{
    pthread_mutex_lock(&app->lock);
    bool room = app->n_due < KEPT_MAX;
    if (room)
        app->due[app->n_due++] = req;
    pthread_cond_signal(&app->changed);
    pthread_mutex_unlock(&app->lock);
    if (!room)
        answer_text(req, 503, "full\n");
}

static void hold(struct app *app, struct http_request *req, const char *name)
{
    pthread_mutex_lock(&app->lock);
    bool room = app->n_kept < KEPT_MAX;
    if (room) {
        struct kept *kept = &app->kept[app->n_kept++];
        kept->req = req;
        snprintf(kept->name, sizeof kept->name, "%s", name);
    }
    pthread_mutex_unlock(&app->lock);
    if (!room)
        answer_text(req, 503, "full\n");
}

static unsigned release_held(struct app *app, const char *name)
{
    unsigned found = 0;
    pthread_mutex_lock(&app->lock);
    for (size_t i = 0; i < app->n_kept;) {
        if (strcmp(app->kept[i].name, name) != 0 || app->n_due == KEPT_MAX) {
            i++;
            continue;
        }
        app->due[app->n_due++] = app->kept[i].req;
        memmove(&app->kept[i], &app->kept[i + 1], (--app->n_kept - i) * sizeof *app->kept);
        found++;
    }
    pthread_cond_signal(&app->changed);
    pthread_mutex_unlock(&app->lock);
    return found;
}

/* ---- Streams ------------------------------------------------------------------------------- */

struct subscriber {
    struct http_stream *stream;
    struct app *app;
    unsigned loop;
    struct subscriber *prev, *next;
};

static void stream_closed(struct http_stream *stream, enum http_stream_end why, void *ctx)
{
    struct subscriber *sub = ctx;
    (void)stream;
    (void)why;
    if (sub->prev)
        sub->prev->next = sub->next;
    else
        sub->app->streams[sub->loop] = sub->next;
    if (sub->next)
        sub->next->prev = sub->prev;
    free(sub);
}

static void begin_stream(struct app *app, struct http_request *req)
{
    unsigned loop = http_request_loop_index(req);
    struct subscriber *sub = calloc(1, sizeof *sub);
    if (!sub) {
        answer_text(req, 503, "memory\n");
        return;
    }
    sub->app = app;
    sub->loop = loop;
    sub->stream = http_stream_begin(req, NULL, 0, stream_closed, sub);
    if (!sub->stream) {
        free(sub);
        return;
    }
    sub->next = app->streams[loop];
    if (sub->next)
        sub->next->prev = sub;
    app->streams[loop] = sub;
    http_stream_send(sub->stream, "data: hello\n\n", 13);
}

/* A message that visits every loop, then goes home to answer its request. */
struct tour {
    struct http_post post;
    struct app *app;
    struct http_request *req;
    unsigned at;
    bool end;
};

static void tour_done(struct http_request *req, void *arg)
{
    free(arg);
    answer_text(req, 200, "published\n");
}

static void tour_visit(struct http_post *post)
{
    struct tour *tour = (struct tour *)(void *)((char *)post - offsetof(struct tour, post));
    struct app *app = tour->app;
    struct http_text body = http_request_body(tour->req);
    for (struct subscriber *sub = app->streams[tour->at]; sub; sub = sub->next) {
        if (tour->end)
            http_stream_end(sub->stream);
        else
            http_stream_send(sub->stream, body.p, body.n);
    }
    if (++tour->at < app->threads)
        http_post(http_server_loop(app->server, tour->at), &tour->post);
    else
        http_request_post(tour->req, tour_done, tour);
}

static void publish(struct app *app, struct http_request *req, bool end)
{
    struct tour *tour = calloc(1, sizeof *tour);
    if (!tour) {
        answer_text(req, 503, "memory\n");
        return;
    }
    *tour = (struct tour){.post.run = tour_visit, .app = app, .req = req, .end = end};
    http_post(http_server_loop(app->server, 0), &tour->post);
}

/* ---- Handlers ------------------------------------------------------------------------------ */

static void answer_json(struct http_request *req, struct buf *buf)
{
    http_respond(req, &(struct http_response){.status = 200,
                                              .content_type = "application/json",
                                              .body = buf->data,
                                              .body_len = buf->len});
    buf_release(buf);
}

static void put_member(struct json_out *json, const char *key, struct http_text text)
{
    json_out_key(json, key);
    if (text.p)
        json_out_string(json, text.p, text.n);
    else
        json_out_null(json);
}

static void answer_info(struct http_request *req)
{
    struct buf buf;
    struct json_out json;
    size_t tests;
    buf_init(&buf, 1 << 20);
    json_out_init(&json, &buf);
    json_out_object(&json);
    json_out_key(&json, "method");
    json_out_text(&json, http_request_method(req));
    put_member(&json, "path", http_request_path(req));
    put_member(&json, "query", http_request_query(req));
    put_member(&json, "host", http_request_header(req, "host", NULL));
    put_member(&json, "test", http_request_header(req, "X-TEST", &tests));
    json_out_key(&json, "tests");
    json_out_u64(&json, tests);
    put_member(&json, "body", http_request_body(req));
    json_out_end(&json);
    answer_json(req, &buf);
}

static void answer_counters(struct app *app, struct http_request *req)
{
    static const char *const cuts[] = {
#define X(name, label) label,
        HTTP_CUTS(X)
#undef X
    };
    struct http_counters sum;
    struct buf buf;
    struct json_out json;
    buf_init(&buf, 65536);
    json_out_init(&json, &buf);
    http_server_counters(app->server, &sum);
    json_out_object(&json);
#define X(name, help)           \
    json_out_key(&json, #name); \
    json_out_u64(&json, sum.name);
    HTTP_COUNTERS(X)
#undef X
    for (int i = 0; i < HTTP_CUT_COUNT; i++) {
        json_out_key(&json, cuts[i]);
        json_out_u64(&json, sum.cut[i]);
    }
    for (int i = 1; i < HTTP_REFUSAL_COUNT; i++) {
        json_out_key(&json, http_refusal_code((enum http_refusal)i));
        json_out_u64(&json, sum.refused[i]);
    }
    json_out_end(&json);
    answer_json(req, &buf);
}

static size_t number_of(struct http_text query)
{
    size_t n = 0;
    for (size_t i = 0; i < query.n && query.p[i] >= '0' && query.p[i] <= '9'; i++)
        n = n * 10 + (size_t)(query.p[i] - '0');
    return n;
}

/* 0, 1, 2 ... 255, 0 ... */
static char lasting[1 << 20];

static void answer_lasting(struct http_request *req)
{
    size_t n = number_of(http_request_query(req));
    http_respond(req, &(struct http_response){.status = 200,
                                              .body = lasting,
                                              .body_len = n < sizeof lasting ? n : sizeof lasting,
                                              .lasting = true});
}

/* Takes so many microseconds. */
static void answer_spin(struct http_request *req)
{
    uint64_t us = number_of(http_request_query(req));
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while ((uint64_t)(now.tv_sec - begin.tv_sec) * 1000000 + (uint64_t)now.tv_nsec / 1000 <
             us + (uint64_t)begin.tv_nsec / 1000);
    answer_text(req, 200, "spun\n");
}

static void answer_big(struct http_request *req)
{
    size_t n = number_of(http_request_query(req));
    char *bytes = n < 1 << 28 ? malloc(n + 1) : NULL;
    if (!bytes) {
        answer_text(req, 503, "memory\n");
        return;
    }
    memset(bytes, 'x', n);
    http_respond(req, &(struct http_response){.status = 200, .body = bytes, .body_len = n});
    free(bytes);
}

static void answer_held(struct app *app, struct http_request *req)
{
    char text[32];
    pthread_mutex_lock(&app->lock);
    snprintf(text, sizeof text, "%zu", app->n_kept);
    pthread_mutex_unlock(&app->lock);
    answer_text(req, 200, text);
}

static void handle(struct http_request *req, void *ctx)
{
    struct app *app = ctx;
    struct http_text path = http_request_path(req);
    char name[128] = "";
    char text[32];
    memcpy(name, path.p, path.n < sizeof name ? path.n : sizeof name - 1);
    if (!strcmp(name, "/healthz")) {
        answer_text(req, 200, "ok\n");
    } else if (!strcmp(name, "/info")) {
        answer_info(req);
    } else if (!strcmp(name, "/big")) {
        answer_big(req);
    } else if (!strcmp(name, "/spin")) {
        answer_spin(req);
    } else if (!strcmp(name, "/lasting")) {
        answer_lasting(req);
    } else if (!strcmp(name, "/defer")) {
        defer(app, req);
    } else if (!strncmp(name, "/hold/", 6)) {
        hold(app, req, name + 6);
    } else if (!strncmp(name, "/release/", 9)) {
        snprintf(text, sizeof text, "%u", release_held(app, name + 9));
        answer_text(req, 200, text);
    } else if (!strcmp(name, "/held")) {
        answer_held(app, req);
    } else if (!strcmp(name, "/split")) {
        struct http_field field = {"X-Bad", "a\r\nSet-Cookie: b"};
        http_respond(req, &(struct http_response){.status = 200, .fields = &field, .n_fields = 1});
    } else if (!strcmp(name, "/nothing")) {
        http_respond(req, &(struct http_response){.status = 204});
    } else if (!strcmp(name, "/stream")) {
        begin_stream(app, req);
    } else if (!strcmp(name, "/publish") || !strcmp(name, "/endstreams")) {
        publish(app, req, name[1] == 'e');
    } else if (!strcmp(name, "/counters")) {
        answer_counters(app, req);
    } else {
        answer_text(req, 404, "nothing here\n");
    }
}

static void see(const struct http_observation *seen, void *ctx)
{
    struct app *app = ctx;
    struct log_line line;
    if (!app->log)
        return;
    log_begin(&line, LOG_INFO, "request");
    log_text(&line, "method", seen->method);
    log_string(&line, "path", seen->path.p, seen->path.n);
    log_u64(&line, "status", (uint64_t)seen->status);
    log_u64(&line, "bytes", seen->bytes);
    log_u64(&line, "duration_us", seen->duration_us);
    log_hex(&line, "id", seen->request_id);
    log_end(&line);
}

/* ---- Beginning and end --------------------------------------------------------------------- */

static bool set_option(struct http_config *config, const char *name, uint64_t value)
{
#define X(setting, standard, least, text) \
    if (!strcmp(name, #setting)) {        \
        config->setting = value;          \
        return true;                      \
    }
    HTTP_SETTINGS(X)
#undef X
    return false;
}

int main(int argc, char **argv)
{
    static struct app app = {.lock = PTHREAD_MUTEX_INITIALIZER,
                             .changed = PTHREAD_COND_INITIALIZER};
    struct http_config config;
    const char *host = "127.0.0.1";
    uint64_t port = 0, stop_ms = 5000;
    char listen[256];
    for (size_t i = 0; i < sizeof lasting; i++)
        lasting[i] = (char)i;
    http_config_init(&config);
    config.connections_per_address = 0;
    config.threads = 2;
    for (int i = 1; i < argc; i++) {
        char *value = strchr(argv[i], '=');
        if (!value)
            return 2;
        *value++ = '\0';
        if (!strcmp(argv[i], "host"))
            host = value;
        else if (!strcmp(argv[i], "port"))
            port = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "stop_ms"))
            stop_ms = strtoull(value, NULL, 10);
        else if (!strcmp(argv[i], "log"))
            app.log = *value == '1';
        else if (!strcmp(argv[i], "threads"))
            config.threads = (unsigned)strtoull(value, NULL, 10);
        else if (!set_option(&config, argv[i], strtoull(value, NULL, 10)))
            return 2;
    }
    snprintf(listen, sizeof listen, "%s:%u", host, (unsigned)port);
    config.listen = listen;
    config.handler = handle;
    config.observer = app.log ? see : NULL;
    config.ctx = &app;
    app.threads = config.threads;

    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    const char *message = "";
    pthread_t thread;
    if (http_server_start(&config, &app.server, &message) != HTTP_OK) {
        fprintf(stderr, "%s: %s\n", listen, message);
        return 1;
    }
    pthread_create(&thread, NULL, answer_later, &app);
    printf("listening %u\n", http_server_port(app.server));
    fflush(stdout);

    int got;
    sigwait(&set, &got);
    size_t held = http_server_stop(app.server, stop_ms);
    pthread_mutex_lock(&app.lock);
    app.stop = true;
    pthread_cond_signal(&app.changed);
    pthread_mutex_unlock(&app.lock);
    pthread_join(thread, NULL);
    http_server_free(app.server);
    printf("stopped %zu\n", held);
    return 0;
}
