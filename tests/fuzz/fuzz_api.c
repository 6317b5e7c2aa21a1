/* SPDX-License-Identifier: MIT */
/*
 * Any path, query and body, with a good token, through the whole API and a real engine. Without sockets: the core
 * of src/http is driven as net.c drives it. The input: a byte for the route, a line for the query, the rest is the
 * body. A zero byte in the place of the route's number sends the line as the path instead.
 *
 * Checked besides memory: an answer comes, it is no 500, and what it says is JSON.
 */
// sources: src/api/*.c src/auth/*.c src/base/*.c src/domain/*.c src/engine/*.c src/engine/local/*.c
// sources: src/http/conn.c src/http/loop.c src/http/parser.c src/http/query.c src/http/request.c
// sources: src/http/respond.c src/http/stream.c tests/fuzz/no_server.c
// libs: -llmdb -lhttp_parser -ljansson -lcrypto -lpthread
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "http/internal.h"

static const char secret[] = "a secret of at least thirty-two bytes";

static struct {
    struct api *api;
    struct http_config config;
    struct http_loop loop;
    char token[JWT_MAX];
    sem_t woken;
} world;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

static void wake(struct http_loop *loop)
{
    (void)loop;
    sem_post(&world.woken);
}

static struct tidings *open_engine(void)
{
    static char dir[] = "/tmp/tidings-fuzz-XXXXXX";
    struct tidings_options options;
    struct tidings *tidings;
    tidings_options_init(&options);
    options.dir = mkdtemp(dir);
    options.settings.map_mb = 256;
    CHECK(options.dir && !tidings_open(&options, &tidings, NULL));
    return tidings;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    struct keys_note note;
    struct keys *keys = keys_new();
    CHECK(keys && !keys_add_secrets(keys, secret, &note));
    CHECK(jwt_sign_hs256(keys, 1, JWT_ROLE_ADMIN, (int64_t)time(NULL), 86400, world.token));
    struct api_config config = {
        .tidings = open_engine(),
        .keys = keyring_new(keys),
        .seal_secret = secret,
        .seal_secret_n = sizeof secret - 1,
        .threads = 1,
        .durability = "commit",
    };
    world.api = api_new(&config);
    CHECK(world.api && config.keys);
    http_config_init(&world.config);
    world.config.handler = api_handle;
    world.config.ctx = world.api;
    sem_init(&world.woken, 0, 0);
    loop_init(&world.loop, &world.config, 0, 1, wake);
    return 0;
}

static void check_answer(const struct buf *out)
{
    CHECK(out->len > 12 && !memcmp(out->data, "HTTP/1.1 ", 9));
    int status = atoi(out->data + 9);
    CHECK(status >= 200 && status < 600 && status != 500);
    const char *body = memmem(out->data, out->len, "\r\n\r\n", 4);
    CHECK(body);
    body += 4;
    size_t n = out->len - (size_t)(body - out->data);
    if (n && memmem(out->data, out->len, "json\r\n", 6)) {
        json_t *json = json_loadb(body, n, JSON_REJECT_DUPLICATES, NULL);
        CHECK(json);
        json_decref(json);
    }
}

static void put_path(struct buf *request, uint8_t number, const char *line, size_t n)
{
    if (number == 0 || number > n_routes) {
        buf_append(request, line, n);
        return;
    }
    const char *pattern = routes[number - 1].pattern;
    for (; *pattern; pattern++) {
        if (*pattern == '{') {
            buf_literal(request, "1");
            pattern = strchr(pattern, '}');
        } else {
            buf_char(request, *pattern);
        }
    }
    buf_char(request, '?');
    buf_append(request, line, n);
}

static const char *method_of(uint8_t number)
{
    static const char *const names[] = {[HTTP_VERB_GET] = "GET",
                                        [HTTP_VERB_POST] = "POST",
                                        [HTTP_VERB_PUT] = "PUT",
                                        [HTTP_VERB_PATCH] = "PATCH",
                                        [HTTP_VERB_DELETE] = "DELETE"};
    return number == 0 || number > n_routes ? "GET" : names[routes[number - 1].verb];
}

static void talk(struct buf *request)
{
    static const struct http_peer peer;
    struct http_conn conn;
    conn_init(&conn, &world.loop, &peer);
    conn_input(&conn, request->data, request->len);
    while (!conn.out.len && !conn.dead && world.loop.n_held) {
        sem_wait(&world.woken);
        loop_run_posts(&world.loop);
    }
    if (conn.out.len)
        check_answer(&conn.out);
    while (loop_take_touched(&world.loop))
        conn_settle(&conn);
    conn_release(&conn);
    while (loop_take_touched(&world.loop))
        ;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf request;
    if (size < 1 || size > 8000)
        return 0;
    const char *line = (const char *)data + 1;
    const char *end = memchr(line, '\n', size - 1);
    size_t n = end ? (size_t)(end - line) : size - 1;
    const char *body = end ? end + 1 : line + n;
    size_t body_n = size - 1 - (size_t)(body - line);

    loop_set_time(&world.loop, 1000, (int64_t)time(NULL));
    buf_init(&request, 1 << 20);
    buf_text(&request, method_of(data[0]));
    buf_char(&request, ' ');
    put_path(&request, data[0], line, n);
    buf_printf(&request,
               " HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %zu\r\n\r\n",
               world.token, body_n);
    buf_append(&request, body, body_n);
    talk(&request);
    buf_release(&request);
    return 0;
}
