/* SPDX-License-Identifier: MIT */
/*
 * A server that answers whatever it is told to: malformed, endless, too much, half. It is a thread with a table: the first row whose word
 * is in a command is the answer to it.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "redis/support.h"

enum { LONG_MS = 20000, WORDS = 8 };

struct row {
    const char *word, *answer;
    unsigned
        repeat; /* the answer's last byte is sent that often besides; -1: until the other side has enough */
    bool closes;
};

static struct fake {
    int listener, port;
    pthread_t thread;
    _Atomic bool stopping;
    const struct row *rows;
    _Atomic unsigned accepted, commands;
} fake;

static void send_all(int fd, const char *bytes, size_t n)
{
    for (ssize_t sent; n && (sent = send(fd, bytes, n, MSG_NOSIGNAL)) > 0; n -= (size_t)sent)
        bytes += sent;
}

/* Whether the connection goes on. */
static bool answer(int fd, const struct row *row)
{
    send_all(fd, row->answer, strlen(row->answer));
    char many[4096];
    size_t n = strlen(row->answer);
    memset(many, n ? row->answer[n - 1] : 0, sizeof many);
    for (unsigned i = 0; i < row->repeat; i += sizeof many)
        if (send(fd, many, sizeof many, MSG_NOSIGNAL) < 0)
            return false;
    return !row->closes;
}

/* One word of a command, "$3\r\nGET\r\n"; false at the end of the connection. */
static bool read_word(FILE *in, char word[64])
{
    char line[64];
    if (!fgets(line, sizeof line, in))
        return false;
    size_t n = strtoul(line + 1, NULL, 10), kept = 0;
    for (size_t i = 0; i < n + 2; i++) {
        int c = getc(in);
        if (c == EOF)
            return false;
        if (i < n && kept < 63)
            word[kept++] = (char)c;
    }
    word[kept] = '\0';
    return true;
}

static bool serve_one(FILE *in, int fd)
{
    char line[64], word[64];
    if (!fgets(line, sizeof line, in))
        return false;
    const struct row *chosen = NULL;
    for (unsigned n = (unsigned)atoi(line + 1); n; n--) {
        if (!read_word(in, word))
            return false;
        for (const struct row *row = fake.rows; !chosen && row->word; row++)
            if (!strcmp(row->word, word))
                chosen = row;
    }
    fake.commands++;
    if (!chosen)
        return false;
    return answer(fd, chosen);
}

static void *serve(void *unused)
{
    (void)unused;
    for (int fd; (fd = accept(fake.listener, NULL, NULL)) >= 0;) {
        if (fake.stopping) {
            close(fd);
            break;
        }
        fake.accepted++;
        FILE *in = fdopen(dup(fd), "r");
        while (serve_one(in, fd))
            ;
        fclose(in);
        close(fd);
    }
    return NULL;
}

#define INFO                                                                   \
    {                                                                          \
        "INFO", "$35\r\n# Server\r\nrun_id:0123456789abcdef\r\n\r\n", 0, false \
    }
#define SINGLE                                                                     \
    {                                                                              \
        "CLUSTER", "-ERR This instance has cluster support disabled\r\n", 0, false \
    }
#define THE_END              \
    {                        \
        NULL, NULL, 0, false \
    }

static void fake_start(const struct row *rows)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t n = sizeof at;
    fake = (struct fake){.rows = rows};
    fake.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(fake.listener, (const struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(fake.listener, 16), 0);
    assert_int_equal(getsockname(fake.listener, (struct sockaddr *)&at, &n), 0);
    fake.port = ntohs(at.sin_port);
    assert_int_equal(pthread_create(&fake.thread, NULL, serve, NULL), 0);
}

/* Behind redis_free: it serves one connection at a time, to its end. */
static void fake_stop(void)
{
    fake.stopping = true;
    shutdown(fake.listener, SHUT_RDWR);
    pthread_join(fake.thread, NULL);
    close(fake.listener);
}

static struct redis *fake_client(const char *password)
{
    char nodes[32];
    const char *message;
    snprintf(nodes, sizeof nodes, "127.0.0.1:%d", fake.port);
    struct redis *redis =
        redis_new(&(struct redis_options){.nodes = nodes, .password = password}, &message);
    assert_non_null(redis);
    return redis;
}

/* What becomes of GET a. */
static void run_get(const struct row *rows, const char *password, enum redis_outcome outcome,
                    const char *message)
{
    fake_start(rows);
    struct redis *redis = fake_client(password);
    struct batch batch;
    batch_init(&batch);
    batch_add(&batch, "GET", "a", NULL);
    int64_t began = wait_now_ms();
    run_one(redis, &batch, LONG_MS);
    const struct redis_call *call = &batch.calls[0];
    if (call->outcome != outcome || (message && !strstr(call->message, message)))
        fail_msg("%s: outcome %d: %s", rows[0].answer, call->outcome,
                 call->message ? call->message : "");
    assert_true(wait_now_ms() - began < LONG_MS / 2);
    if (call->message) {
        assert_true(strlen(call->message) <= 200);
        for (const char *at = call->message; *at; at++)
            assert_in_range(*at, 0x20, 0x7e);
        assert_null(password ? strstr(call->message, password) : NULL);
        assert_null(password ? strstr(health_of(redis).problem, password) : NULL);
    }
    batch_release(&batch);
    redis_free(redis);
    fake_stop();
}

static void answers_that_are_none_end_the_connection(void **state)
{
    (void)state;
    static const struct {
        struct row row;
        enum redis_outcome outcome;
        const char *message;
    } table[] = {
        {{"GET", "?what\r\n", 0, false}, REDIS_LOST, "malformed"},
        {{"GET", ",3.14\r\n", 0, false}, REDIS_LOST, "malformed"},
        {{"GET", "%1\r\n:1\r\n:2\r\n", 0, false}, REDIS_LOST, "malformed"},
        {{"GET", "*2000000000\r\n", 0, false}, REDIS_LOST, "malformed"},
        {{"GET", "*300000\r\n", 0, true}, REDIS_LOST, "closed"},
        {{"GET", "*-5\r\n", 0, false}, REDIS_LOST, "malformed"},
        {{"GET", "*99999999999999999999\r\n", 0, false}, REDIS_LOST, "malformed"},
        {{"GET", "$-7\r\n", 0, false}, REDIS_LOST, "malformed"},
        {{"GET", ":12x\r\n", 0, false}, REDIS_LOST, "malformed"},
        {{"GET", "*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n:1\r\n", 0,
          false},
         REDIS_LOST,
         "malformed"},
        {{"GET", "$4000000000\r\nx", UINT32_MAX - 8192, false}, REDIS_LOST, "long"},
        {{"GET", "+endless", UINT32_MAX - 8192, false}, REDIS_LOST, "long"},
        {{"GET", "*1000000\r\n:1\r\n", 0, true}, REDIS_LOST, ""},
        {{"GET", "$5\r\nab", 0, true}, REDIS_LOST, "closed"},
        {{"GET", "*2\r\n$1\r\na\r\n", 0, true}, REDIS_LOST, "closed"},
        {{"GET", "*2\r\n:1\r\n*1\r\n-ERR inside\r\n", 0, false}, REDIS_REFUSED, "ERR inside"},
        {{"GET", "-ERR a\tb\x80\x1b[31mc\r\n", 0, false}, REDIS_REFUSED, "ERR a?b??[31mc"},
        {{"GET", "-\r\n", 0, false}, REDIS_REFUSED, ""},
        {{"GET", "-MOVED\r\n", 0, false}, REDIS_AWAY, "MOVED"},
        {{"GET", "-MOVED 99999 127.0.0.1:1\r\n", 0, false}, REDIS_AWAY, "MOVED"},
        {{"GET", "-MOVED 1 127.0.0.1:1\r\n", 0, false},
         REDIS_AWAY,
         "MOVED"}, /* another slot than was asked for */
        {{"GET", "-ASK 15495 nobody at all:1\r\n", 0, false}, REDIS_AWAY, "ASK"},
        {{"GET", "-LOADING later\r\n", 0, false}, REDIS_AWAY, "LOADING"},
        {{"GET", "-READONLY no\r\n", 0, false}, REDIS_AWAY, "READONLY"},
        {{"GET", "-CLUSTERDOWN no\r\n", 0, false}, REDIS_AWAY, "CLUSTERDOWN"},
        {{"GET", "-TRYAGAIN no\r\n", 0, false}, REDIS_AWAY, "TRYAGAIN"},
        {{"GET", "-NOSCRIPT no\r\n", 0, false}, REDIS_REFUSED, "NOSCRIPT"},
        {{"GET", "", 0, true}, REDIS_LOST, "closed"},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        const struct row rows[] = {table[i].row, INFO, SINGLE, THE_END};
        run_get(rows, NULL, table[i].outcome, table[i].message);
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    print_message("%ld MB at most\n", usage.ru_maxrss >> 10);
    assert_true(usage.ru_maxrss <
                400 << 10); /* endless answers are gigabytes long; sanitizers take their part */
}

/* However many calls hear it, it is one failure, and the pause after it the shortest. */
static void a_node_that_is_loading_fails_once(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"GET", "-LOADING later\r\n", 0, false}, INFO, SINGLE, THE_END};
    fake_start(rows);
    struct redis *redis = fake_client(NULL);
    struct batch batch;
    batch_init(&batch);
    for (unsigned i = 0; i < 50; i++)
        batch_add(&batch, "GET", "a", NULL);
    batch_run(redis, &batch, LONG_MS);
    assert_int_equal(batch_count(&batch, REDIS_AWAY), 50);
    assert_int_equal(health_of(redis).failures, 1);
    batch_release(&batch);
    redis_free(redis);
    fake_stop();
}

/* To itself, and so for ever. */
static void going_in_circles_ends(void **state)
{
    (void)state;
    char moved[64];
    struct row rows[] = {{"GET", moved, 0, false}, INFO, SINGLE, THE_END};
    fake_start(rows);
    struct redis *redis = fake_client(NULL);
    struct batch batch;
    snprintf(moved, sizeof moved, "-MOVED 15495 127.0.0.1:%d\r\n", fake.port);
    batch_init(&batch);
    batch_add(&batch, "GET", "a", NULL);
    assert_int_equal(run_one(redis, &batch, LONG_MS), REDIS_AWAY);
    assert_non_null(strstr(batch.calls[0].message, "MOVED"));
    assert_in_range(health_of(redis).moved, 2, 100);
    batch_release(&batch);
    redis_free(redis);
    fake_stop();
}

static void greetings_that_are_none_are_not_believed(void **state)
{
    (void)state;
    static const struct {
        struct row rows[4];
        const char *message;
    } table[] = {
        {{{"INFO", "$3\r\nabc\r\n", 0, false}, SINGLE, THE_END}, "run id"},
        {{{"INFO", "-NOAUTH Authentication required.\r\n", 0, false}, SINGLE, THE_END},
         "wants a password"},
        {{{"INFO", "-ERR max number of clients reached\r\n", 0, true}, SINGLE, THE_END}, ""},
        {{{"INFO", "*1\r\n-ERR\r\n", 0, false}, SINGLE, THE_END}, "refuses INFO"},
        {{{"INFO", "!", 0, false}, SINGLE, THE_END}, "malformed"},
        {{INFO, {"CLUSTER", "-ERR something else\r\n", 0, false}, THE_END}, "something else"},
        {{INFO, {"CLUSTER", ":1\r\n", 0, false}, THE_END}, "malformed"},
        {{INFO,
          {"CLUSTER", "*1\r\n*3\r\n:0\r\n:99999\r\n*2\r\n$1\r\na\r\n:1\r\n", 0, false},
          THE_END},
         "malformed"},
        {{INFO, {"CLUSTER", "*1\r\n*3\r\n:0\r\n:1\r\n*2\r\n-ERR\r\n:1\r\n", 0, false}, THE_END},
         ""},
    };
    for (size_t i = 0; i < COUNT_OF(table); i++) {
        fake_start(table[i].rows);
        struct redis *redis = fake_client(NULL);
        struct batch batch;
        batch_init(&batch);
        batch_add(&batch, "GET", "a", NULL);
        assert_int_equal(run_one(redis, &batch, LONG_MS), REDIS_AWAY);
        if (!strstr(health_of(redis).problem, table[i].message))
            fail_msg("%zu: %s", i, health_of(redis).problem);
        batch_release(&batch);
        redis_free(redis);
        fake_stop();
    }
}

static void a_cluster_without_slots_has_no_node_for_a_call(void **state)
{
    (void)state;
    static const struct row rows[] = {INFO, {"CLUSTER", "*0\r\n", 0, false}, THE_END};
    run_get(rows, NULL, REDIS_AWAY, "no node is known");
}

/* A server that says what it was told. */
static void a_password_is_in_no_message(void **state)
{
    (void)state;
    static const struct row rows[] = {
        {"AUTH", "-WRONGPASS 'very secret' is wrong\r\n", 0, false}, INFO, SINGLE, THE_END};
    run_get(rows, "very secret", REDIS_AWAY, NULL);
}

/* It would be taken for the answer to the next call. */
static void an_answer_too_many_is_nobodys(void **state)
{
    (void)state;
    static const struct row rows[] = {{"a", "$1\r\nA\r\n$5\r\nwrong\r\n", 0, false},
                                      {"b", "$1\r\nB\r\n", 0, false},
                                      INFO,
                                      SINGLE,
                                      THE_END};
    fake_start(rows);
    struct redis *redis = fake_client(NULL);
    struct batch batch;
    batch_init(&batch);
    unsigned done = 0;
    for (unsigned i = 0; i < 20; i++) {
        bool first = i % 2 == 0;
        batch_clear(&batch);
        batch_add(&batch, "GET", first ? "a" : "b", NULL);
        run_one(redis, &batch, LONG_MS);
        if (batch.calls[0].outcome != REDIS_DONE)
            continue;
        assert_text(&batch.calls[0], first ? "A" : "B");
        done++;
    }
    assert_true(done > 0);
    assert_true(health_of(redis).failures > 0);
    assert_non_null(strstr(health_of(redis).problem, "nobody asked for"));
    batch_release(&batch);
    redis_free(redis);
    fake_stop();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_that_are_none_end_the_connection),
        cmocka_unit_test(a_node_that_is_loading_fails_once),
        cmocka_unit_test(going_in_circles_ends),
        cmocka_unit_test(greetings_that_are_none_are_not_believed),
        cmocka_unit_test(a_cluster_without_slots_has_no_node_for_a_call),
        cmocka_unit_test(a_password_is_in_no_message),
        cmocka_unit_test(an_answer_too_many_is_nobodys),
    };
    return RUN_TESTS(tests);
}
