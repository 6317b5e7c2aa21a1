/* SPDX-License-Identifier: MIT */
#include "log/cut.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "unit/test.h"

enum { BYTES = 1 << 16, LOOK_MS = 2, CONNECTIONS = 4096, HEAD = 4, ALL = -1, PATIENCE_MS = 20000 };

static struct {
    int listener;
    char path[64], server[sizeof(((struct sockaddr_un *)0)->sun_path)];
    pthread_t thread;
    pthread_t connections[CONNECTIONS];
    size_t n;
    _Atomic bool stopping, holds, held;
    _Atomic long request_left, answer_left; /* ALL: no end */
    _Atomic size_t request_bytes, answer_bytes;
    _Atomic unsigned commands;
} cut;

struct connection {
    int client, server;
    uint8_t head[HEAD]; /* of the client's packet that is coming */
    size_t n_head, left;
    char bytes[BYTES];
};

static void send_all(int to, const char *bytes, size_t n)
{
    while (n) {
        ssize_t sent = send(to, bytes, n, MSG_NOSIGNAL);
        if (sent < 0)
            return;
        bytes += sent;
        n -= (size_t)sent;
    }
}

/* A packet: three bytes of length, a number, and that many bytes. The first of a command has the number 0. */
static void count_commands(struct connection *connection, const char *bytes, size_t n)
{
    while (n) {
        if (connection->left) {
            size_t some = n < connection->left ? n : connection->left;
            connection->left -= some;
            bytes += some;
            n -= some;
            continue;
        }
        connection->head[connection->n_head++] = (uint8_t)*bytes++;
        n--;
        if (connection->n_head < HEAD)
            continue;
        connection->n_head = 0;
        connection->left = connection->head[0] | (size_t)connection->head[1] << 8 |
                           (size_t)connection->head[2] << 16;
        if (!connection->head[3])
            atomic_fetch_add(&cut.commands, 1);
    }
}

/* How many of n bytes may pass. */
static size_t allowed(_Atomic long *left, size_t n)
{
    long may = atomic_load(left);
    if (may == ALL)
        return n;
    size_t some = (size_t)may < n ? (size_t)may : n;
    atomic_store(left, may - (long)some);
    return some;
}

/* The server sees that nothing more comes when it has done all that came before. */
static void drain(struct connection *connection)
{
    shutdown(connection->server, SHUT_WR);
    while (read(connection->server, connection->bytes, BYTES) > 0)
        ;
}

/* False: the connection ends. */
static bool pass_request(struct connection *connection)
{
    ssize_t n = read(connection->client, connection->bytes, BYTES);
    if (n <= 0)
        return false;
    count_commands(connection, connection->bytes, (size_t)n);
    size_t some = allowed(&cut.request_left, (size_t)n);
    atomic_fetch_add(&cut.request_bytes, some);
    send_all(connection->server, connection->bytes, some);
    if (some < (size_t)n)
        drain(connection);
    return some == (size_t)n;
}

static bool pass_answer(struct connection *connection)
{
    ssize_t n = read(connection->server, connection->bytes, BYTES);
    if (n <= 0)
        return false;
    size_t some = allowed(&cut.answer_left, (size_t)n);
    atomic_fetch_add(&cut.answer_bytes, some);
    send_all(connection->client, connection->bytes, some);
    if (some < (size_t)n)
        drain(connection);
    return some == (size_t)n;
}

static void pass(struct connection *connection)
{
    bool open = true;
    while (open && !atomic_load(&cut.stopping)) {
        struct pollfd ends[] = {{.fd = connection->client, .events = POLLIN},
                                {.fd = connection->server, .events = POLLIN}};
        poll(ends, 2, LOOK_MS);
        if (ends[0].revents)
            open = pass_request(connection);
        if (!open || !ends[1].revents)
            continue;
        if (atomic_load(&cut.holds)) {
            atomic_store(&cut.held, true);
            poll(NULL, 0, LOOK_MS);
        } else {
            open = pass_answer(connection);
        }
    }
}

static int connect_to_server(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(at.sun_path, cut.server);
    if (!connect(server, (struct sockaddr *)&at, sizeof at))
        return server;
    close(server);
    return -1;
}

static void *run_connection(void *ctx)
{
    struct connection *connection = ctx;
    connection->server = connect_to_server();
    if (connection->server >= 0)
        pass(connection);
    close(connection->client);
    close(connection->server);
    free(connection);
    return NULL;
}

static void *run_relay(void *ctx)
{
    (void)ctx;
    int client;
    while ((client = accept(cut.listener, NULL, NULL)) >= 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        if (!connection || cut.n == CONNECTIONS)
            abort();
        connection->client = client;
        pthread_create(&cut.connections[cut.n++], NULL, run_connection, connection);
    }
    return NULL;
}

const char *cut_start(const char *server_socket)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    static unsigned started;
    memset(&cut, 0, sizeof cut);
    cut_nothing();
    snprintf(cut.server, sizeof cut.server, "%s", server_socket);
    snprintf(cut.path, sizeof cut.path, "/tmp/tidings-cut-%d-%u", (int)getpid(), ++started);
    strcpy(at.sun_path, cut.path);
    cut.listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(cut.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(cut.listener, 64), 0);
    assert_int_equal(pthread_create(&cut.thread, NULL, run_relay, NULL), 0);
    return cut.path;
}

void cut_stop(void)
{
    atomic_store(&cut.stopping, true);
    shutdown(cut.listener, SHUT_RDWR);
    pthread_join(cut.thread, NULL);
    for (size_t i = 0; i < cut.n; i++)
        pthread_join(cut.connections[i], NULL);
    close(cut.listener);
    unlink(cut.path);
}

void cut_nothing(void)
{
    atomic_store(&cut.request_left, ALL);
    atomic_store(&cut.answer_left, ALL);
    atomic_store(&cut.request_bytes, 0);
    atomic_store(&cut.answer_bytes, 0);
    atomic_store(&cut.commands, 0);
    atomic_store(&cut.held, false);
    atomic_store(&cut.holds, false);
}

void cut_requests(size_t bytes)
{
    cut_nothing();
    atomic_store(&cut.request_left, (long)bytes);
}

void cut_answers(size_t bytes)
{
    cut_nothing();
    atomic_store(&cut.answer_left, (long)bytes);
}

void cut_hold(void)
{
    cut_nothing();
    atomic_store(&cut.holds, true);
}

void cut_await_held(void)
{
    for (int i = 0; i < PATIENCE_MS && !atomic_load(&cut.held); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_true(atomic_load(&cut.held));
}

size_t cut_request_bytes(void)
{
    return atomic_load(&cut.request_bytes);
}

size_t cut_answer_bytes(void)
{
    return atomic_load(&cut.answer_bytes);
}

unsigned cut_commands(void)
{
    return atomic_load(&cut.commands);
}
