/* SPDX-License-Identifier: MIT */
/*
 * Any path, query and body, with a good token, through the whole API and a real engine. Without sockets: the core
 * of src/http is driven as net.c drives it. The input: a line `operation?query`, the rest is the body. Ids in the
 * operation's path are those of a post, a comment, a story and a scene that exist. A line that begins with / is the path itself; one
 * that names no operation takes its first byte for one, so that the fuzzer finds its way from each to each.
 *
 * Checked besides memory: an answer comes, it is no 500, and what it says is JSON.
 */
// sources: src/api/*.c src/auth/*.c src/base/*.c src/domain/*.c src/engine/*.c src/engine/*/*.c src/engine/local/*/*.c
// sources: src/kafka/*.c src/peer/*.c src/redis/*.c src/sql/*.c
// sources: src/http/conn.c src/http/cors.c src/http/loop.c src/http/output.c src/http/parser.c src/http/query.c
// sources: src/http/request.c
// sources: src/http/respond.c src/http/stream.c src/push/address.c src/push/rules.c
// sources: src/push/secret.c tests/fuzz/no_server.c
// libs: -I/usr/include/mariadb -lmariadb -lhiredis -lssl -lrdkafka -llmdb -lhttp_parser -ljansson -lcrypto -lcurl -lpthread -lm
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/internal.h"
#include "http/cors.h"
#include "http/internal.h"
#include "no_server.h"

static const char secret[] = "a secret of at least thirty-two bytes";

static struct {
    struct tidings *tidings;
    uint64_t post_id, comment_id, story_id, scene_id;
    struct api *api;
    struct http_config config;
    struct http_loop loop;
    _Atomic uint64_t unsent;
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

static void make_story(struct tidings_answer *answer)
{
    static const struct tidings_message messages[] = {{0, {"m", 1}}, {0, {"[img]i[/img]", 12}}};
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .role = TIDINGS_ROLE_ADMIN, /* who takes no token */
                            .user_id = 1,
                            .u.publish = {TIDINGS_STORY, {"s", 1}, {"b", 1}}};
    CHECK(!tidings_run(world.tidings, &op, answer));
    world.story_id = answer->u.post.id;
    op = (struct tidings_op){.kind = TIDINGS_OP_SUBSCRIBE, .user_id = 1};
    op.u.post.post_id = world.story_id;
    tidings_run(world.tidings, &op, answer); /* as long as there is room for more */
    op = (struct tidings_op){.kind = TIDINGS_OP_SCENE_PUBLISH,
                             .user_id = 1,
                             .u.scene = {world.story_id, 0, {"t", 1}, messages, 2}};
    CHECK(!tidings_run(world.tidings, &op, answer));
    world.scene_id = answer->u.scene.id;
}

static void make_targets(void)
{
    struct tidings_answer answer;
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .role = TIDINGS_ROLE_ADMIN,
                            .user_id = 1,
                            .u.publish = {TIDINGS_NOTE, {"t", 1}, {"b", 1}}};
    tidings_answer_init(&answer);
    CHECK(!tidings_run(world.tidings, &op, &answer));
    world.post_id = answer.u.post.id;
    op.kind = TIDINGS_OP_COMMENT;
    memset(&op.u, 0, sizeof op.u);
    op.u.comment.post_id = world.post_id;
    op.u.comment.body = (struct tidings_text){"c", 1};
    CHECK(!tidings_run(world.tidings, &op, &answer));
    world.comment_id = answer.u.comment.id;
    make_story(&answer);
    tidings_answer_release(&answer);
}

static void open_engine(struct api_config *config)
{
    static char dir[] = "/tmp/tidings-fuzz-XXXXXX";
    struct tidings_options options;
    tidings_options_init(&options);
    options.dir = mkdtemp(dir);
    options.settings.map_mb = 256;
    options.durability = TIDINGS_DURABLE_SECOND; /* more inputs in the same time */
    CHECK(options.dir && !tidings_open(&options, &world.tidings, NULL));
    config->tidings = world.tidings;
    config->settings = options.settings;
    make_targets();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    struct keys_note note;
    struct keys *keys = keys_new();
    CHECK(keys && !keys_add_secrets(keys, secret, &note));
    const struct jwt_grant grant = {.user_id = 1, .role = JWT_ROLE_ADMIN, .ttl_s = 86400};
    CHECK(jwt_sign(keys, &grant, (int64_t)time(NULL), world.token));
    const char *wrong;
    struct http_text culprit;
    struct api_config config = {
        .keys = keyring_new(keys),
        .rules = push_rules_new("127.0.0.1:8080,gateway.internal", &wrong),
        .seal_secret = secret,
        .seal_secret_n = sizeof secret - 1,
        .threads = 1,
        .durability = "commit",
    };
    open_engine(&config);
    world.api = api_new(&config);
    CHECK(world.api && config.keys && config.rules);
    http_config_init(&world.config);
    world.config.handler = api_handle;
    world.config.ctx = world.api;
    world.config.cors =
        http_cors_new("https://a.example,http://b", API_EXPOSED_HEADERS, &wrong, &culprit);
    CHECK(world.config.cors);
    sem_init(&world.woken, 0, 0);
    loop_init(&world.loop, &world.config, 0, 1, &world.unsent, wake);
    no_server_loop = &world.loop;
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

/* The operation that a line names, and how much of the line that takes; NULL if it is a path. */
static const struct route *named_route(const char *line, size_t n, size_t *used)
{
    const char *mark = memchr(line, '?', n);
    size_t length = mark ? (size_t)(mark - line) : n;
    *used = 0;
    if (n && *line == '/')
        return NULL;
    *used = mark ? length + 1 : length;
    for (size_t i = 0; i < n_routes; i++)
        if (strlen(routes[i].name) == length && !memcmp(routes[i].name, line, length))
            return &routes[i];
    *used = n ? 1 : 0;
    return &routes[(n ? (uint8_t)*line : 0) % n_routes];
}

/* What stands for {name}, where `pattern` is. */
static void put_parameter(struct buf *request, const char *pattern)
{
    const struct {
        const char *name;
        uint64_t id;
    } known[] = {
        {"{post_id}", world.post_id},   {"{comment_id}", world.comment_id},
        {"{story_id}", world.story_id}, {"{scene_id}", world.scene_id},
        {"{tag}", world.story_id},
    };
    uint64_t id = 1;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (!strncmp(pattern, known[i].name, strlen(known[i].name)))
            id = known[i].id;
    if (!strncmp(pattern, "{tag}", 5))
        buf_literal(request, "story:");
    buf_u64(request, id);
}

static void put_path(struct buf *request, const char *pattern)
{
    for (; *pattern; pattern++) {
        if (*pattern != '{') {
            buf_char(request, *pattern);
            continue;
        }
        put_parameter(request, pattern);
        pattern = strchr(pattern, '}');
    }
    buf_char(request, '?');
}

static const char *method_of(const struct route *route)
{
    static const char *const names[] = {[HTTP_VERB_GET] = "GET",
                                        [HTTP_VERB_POST] = "POST",
                                        [HTTP_VERB_PUT] = "PUT",
                                        [HTTP_VERB_PATCH] = "PATCH",
                                        [HTTP_VERB_DELETE] = "DELETE"};
    return route ? names[route->verb] : "GET";
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
    const char *line = (const char *)data;
    const char *end = memchr(line, '\n', size);
    size_t n = end ? (size_t)(end - line) : size, used;
    const char *body = end ? end + 1 : line + n;
    size_t body_n = size - (size_t)(body - line);
    const struct route *route = named_route(line, n, &used);

    loop_set_time(&world.loop, 1000, (int64_t)time(NULL));
    buf_init(&request, 1 << 20);
    buf_text(&request, method_of(route));
    buf_char(&request, ' ');
    if (route)
        put_path(&request, route->pattern);
    buf_append(&request, line + used, n - used);
    buf_printf(&request,
               " HTTP/1.1\r\nHost: x\r\nOrigin: https://a.example\r\nAuthorization: Bearer %s\r\n"
               "Content-Length: %zu\r\n\r\n",
               world.token, body_n);
    buf_append(&request, body, body_n);
    talk(&request);
    buf_release(&request);
    if (route && route->verb == HTTP_VERB_DELETE)
        make_targets();
    return 0;
}
