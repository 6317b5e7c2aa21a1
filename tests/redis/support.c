/* SPDX-License-Identifier: MIT */
#include "redis/support.h"

#include <sys/socket.h>
#include <sys/un.h>

const char RUN_ID[] = "(run id)";

static const char *environment(const char *name)
{
    const char *value = getenv(name);
    if (!value)
        fail_msg("%s is not set: run this with tests/support/with-redis", name);
    return value;
}

struct redis *client_new(void)
{
    const char *message = NULL;
    bool tls = getenv("TIDINGS_TEST_REDIS_TLS");
    struct redis_options options = {
        .nodes = environment("TIDINGS_TEST_REDIS"),
        .user = getenv("TIDINGS_TEST_REDIS_USER"),
        .password = getenv("TIDINGS_TEST_REDIS_PASSWORD"),
        .tls = tls,
        .ca_file = tls ? environment("TIDINGS_TEST_REDIS_CA") : NULL,
    };
    struct redis *redis = redis_new(&options, &message);
    if (!redis)
        fail_msg("%s", message);
    return redis;
}

int control(const char *format, ...)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    char line[128];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line - 1, format, list);
    va_end(list);
    line[n++] = '\n';
    snprintf(to.sun_path, sizeof to.sun_path, "%s", environment("TIDINGS_TEST_REDIS_CONTROL"));
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof to), 0);
    assert_int_equal(write(fd, line, (size_t)n), n);
    size_t got = 0;
    while (got < sizeof line - 1 && read(fd, line + got, 1) == 1 && line[got] != '\n')
        got++;
    line[got] = '\0';
    close(fd);
    if (strncmp(line, "ok", 2))
        fail_msg("%s", line);
    return atoi(line + 2);
}

int node_port(int node)
{
    char path[256];
    int port = 0;
    snprintf(path, sizeof path, "%s/%d/port", environment("TIDINGS_TEST_REDIS_DIR"), node);
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%d", &port), 1);
    fclose(file);
    return port;
}

const char *cli(int node, const char *format, ...)
{
    static _Thread_local char output[1 << 16];
    char words[1024], line[2048];
    const char *program = getenv("TIDINGS_REDIS_CLI");
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    snprintf(line, sizeof line, "%s -h 127.0.0.1 -p %d %s 2>&1", program ? program : "redis-cli",
             node_port(node), words);
    FILE *pipe = popen(line, "re");
    assert_non_null(pipe);
    size_t n = fread(output, 1, sizeof output - 1, pipe);
    pclose(pipe);
    while (n && output[n - 1] == '\n')
        n--;
    output[n] = '\0';
    return output;
}

/* ---- Calls ------------------------------------------------------------------------------------------ */

void batch_init(struct batch *batch)
{
    *batch = (struct batch){0};
    arena_init(&batch->words, 256 << 20);
}

void batch_release(struct batch *batch)
{
    free(batch->calls);
    arena_release(&batch->words);
}

void batch_clear(struct batch *batch)
{
    batch->n = 0;
    arena_clear(&batch->words);
}

static struct redis_call *add(struct batch *batch, va_list list)
{
    enum { WORDS_MAX = 16 };
    struct bytes *words = arena_array(&batch->words, WORDS_MAX, sizeof *words);
    unsigned n = 0;
    for (const char *word; (word = va_arg(list, const char *)); n++) {
        assert_true(n < WORDS_MAX);
        size_t length = strlen(word);
        words[n] = (struct bytes){(const uint8_t *)arena_text(&batch->words, word, length), length};
        if (word == RUN_ID)
            words[n] = redis_run_id;
    }
    if (batch->n == batch->cap) {
        batch->cap = batch->cap ? batch->cap * 2 : 64;
        batch->calls = realloc(batch->calls, batch->cap * sizeof *batch->calls);
        assert_non_null(batch->calls);
    }
    struct redis_call *call = &batch->calls[batch->n++];
    *call = (struct redis_call){.args = words, .n_args = n};
    return call;
}

struct redis_call *batch_add(struct batch *batch, ...)
{
    va_list list;
    va_start(list, batch);
    struct redis_call *call = add(batch, list);
    va_end(list);
    call->key = 1;
    return call;
}

struct redis_call *batch_script(struct batch *batch, const struct redis_script *script,
                                unsigned n_keys, ...)
{
    va_list list;
    va_start(list, n_keys);
    struct redis_call *call = add(batch, list);
    va_end(list);
    call->script = script;
    call->n_keys = n_keys;
    return call;
}

/* Whatever is not set is seen. */
void batch_run(struct redis *redis, struct batch *batch, int64_t for_ms)
{
    for (size_t i = 0; i < batch->n; i++) {
        batch->calls[i].outcome = (enum redis_outcome)77;
        batch->calls[i].message = "unset";
        batch->calls[i].reply = NULL;
    }
    redis_run(redis, batch->calls, batch->n, wait_now_ms() + for_ms);
    for (size_t i = 0; i < batch->n; i++) {
        const struct redis_call *call = &batch->calls[i];
        assert_in_range(call->outcome, REDIS_DONE, REDIS_LOST);
        assert_true((call->outcome == REDIS_DONE) == (call->reply != NULL));
        assert_true((call->outcome == REDIS_DONE) == (call->message == NULL));
    }
}

size_t batch_count(const struct batch *batch, enum redis_outcome outcome)
{
    size_t n = 0;
    for (size_t i = 0; i < batch->n; i++)
        n += batch->calls[i].outcome == outcome;
    return n;
}

void assert_done(const struct batch *batch)
{
    for (size_t i = 0; i < batch->n; i++)
        if (batch->calls[i].outcome != REDIS_DONE)
            fail_msg("call %zu: outcome %d: %s", i, batch->calls[i].outcome,
                     batch->calls[i].message);
}

void assert_text(const struct redis_call *call, const char *text)
{
    if (call->outcome != REDIS_DONE)
        fail_msg("outcome %d: %s", call->outcome, call->message);
    assert_true(call->reply->type == REDIS_REPLY_STRING || call->reply->type == REDIS_REPLY_STATUS);
    assert_string_equal(call->reply->str, text);
}

enum redis_outcome run_one(struct redis *redis, struct batch *batch, int64_t for_ms)
{
    assert_int_equal(batch->n, 1);
    batch_run(redis, batch, for_ms);
    return batch->calls[0].outcome;
}

struct redis_health health_of(const struct redis *redis)
{
    struct redis_health health;
    redis_health(redis, &health);
    return health;
}
