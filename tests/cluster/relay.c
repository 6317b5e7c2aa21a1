/* SPDX-License-Identifier: MIT */
#include "cluster/relay.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "unit/test.h"

enum { BYTES = 1 << 20, LOOK_MS = 5, CONNECTIONS = 256 };

enum command { WAIT, CUT, DELIVER };

static struct {
    int listener;
    char path[64], server[sizeof(((struct sockaddr_un *)0)->sun_path)];
    pthread_t thread;
    pthread_t connections[CONNECTIONS];
    size_t n;
    _Atomic bool stopping, refuses;
    _Atomic int way, way_out, command;
    _Atomic bool caught, delivered;
} relay;

struct connection {
    int client, server;
    bool caught, mute;
    size_t n_kept;
    char bytes[BYTES], kept[BYTES];
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

/* Not the COMMIT of a snapshot, or of the server's lease. */
static enum relay_way way_of(const char *bytes, size_t n)
{
    static const char batch[] = ";UPDATE lane SET batch=IF(", out[] = "UPDATE lane SET batch=";
    if (memmem(bytes, n, batch, sizeof batch - 1))
        return (enum relay_way)atomic_exchange(&relay.way, RELAY_PASS);
    if (memmem(bytes, n, out, sizeof out - 1))
        return (enum relay_way)atomic_exchange(&relay.way_out, RELAY_PASS);
    return RELAY_PASS;
}

/* The client has sent something; false if that is the end. */
static bool take_from_client(struct connection *connection)
{
    ssize_t n = read(connection->client, connection->bytes, BYTES);
    if (n <= 0)
        return false;
    enum relay_way way = way_of(connection->bytes, (size_t)n);
    if (way == RELAY_PASS || way == RELAY_KEEP_ANSWER)
        send_all(connection->server, connection->bytes, (size_t)n);
    if (way == RELAY_DELAY) {
        memcpy(connection->kept, connection->bytes, (size_t)n);
        connection->n_kept = (size_t)n;
        close(connection->client);
        connection->client = -1;
    }
    connection->mute = way != RELAY_PASS;
    connection->caught |= way != RELAY_PASS;
    if (way != RELAY_PASS)
        atomic_store(&relay.caught, true);
    return way != RELAY_DROP;
}

static bool take_from_server(struct connection *connection)
{
    ssize_t n = read(connection->server, connection->bytes, BYTES);
    if (n > 0 && !connection->mute)
        send_all(connection->client, connection->bytes, (size_t)n);
    return n > 0;
}

/* The server reads that nothing more will come only when it has done all that came before. */
static void deliver(struct connection *connection)
{
    send_all(connection->server, connection->kept, connection->n_kept);
    shutdown(connection->server, SHUT_WR);
    while (read(connection->server, connection->bytes, BYTES) > 0)
        ;
    atomic_store(&relay.delivered, true);
}

static void pass(struct connection *connection)
{
    bool open = true;
    while (open && !atomic_load(&relay.stopping)) {
        struct pollfd ends[] = {{.fd = connection->client, .events = POLLIN},
                                {.fd = connection->server, .events = POLLIN}};
        poll(ends, 2, LOOK_MS);
        if (ends[0].revents)
            open = take_from_client(connection);
        if (open && ends[1].revents)
            open = take_from_server(connection);
        if (!connection->caught || atomic_load(&relay.command) == WAIT)
            continue;
        if (atomic_exchange(&relay.command, WAIT) == DELIVER)
            deliver(connection);
        open = false;
    }
}

static int connect_to_server(void)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int server = socket(AF_UNIX, SOCK_STREAM, 0);
    strcpy(at.sun_path, relay.server);
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

static void *run(void *ctx)
{
    (void)ctx;
    int client;
    while ((client = accept(relay.listener, NULL, NULL)) >= 0) {
        struct connection *connection = calloc(1, sizeof *connection);
        if (!connection || atomic_load(&relay.refuses) || relay.n == CONNECTIONS) {
            close(client);
            free(connection);
            continue;
        }
        connection->client = client;
        pthread_create(&relay.connections[relay.n++], NULL, run_connection, connection);
    }
    return NULL;
}

const char *relay_start(const char *server_socket)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    static unsigned started;
    memset(&relay, 0, sizeof relay);
    snprintf(relay.server, sizeof relay.server, "%s", server_socket);
    snprintf(relay.path, sizeof relay.path, "/tmp/tidings-relay-%d-%u", (int)getpid(), ++started);
    strcpy(at.sun_path, relay.path);
    relay.listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(relay.listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(relay.listener, 64), 0);
    assert_int_equal(pthread_create(&relay.thread, NULL, run, NULL), 0);
    return relay.path;
}

void relay_stop(void)
{
    atomic_store(&relay.stopping, true);
    shutdown(relay.listener, SHUT_RDWR);
    pthread_join(relay.thread, NULL);
    for (size_t i = 0; i < relay.n; i++)
        pthread_join(relay.connections[i], NULL);
    close(relay.listener);
    unlink(relay.path);
}

void relay_on_commit(enum relay_way way)
{
    atomic_store(&relay.caught, false);
    atomic_store(&relay.delivered, false);
    atomic_store(&relay.way, way);
}

void relay_on_rule_out(enum relay_way way)
{
    atomic_store(&relay.way_out, way);
}

static void await_flag(_Atomic bool *flag)
{
    enum { PATIENCE_MS = 20000 };
    for (int i = 0; i < PATIENCE_MS && !atomic_load(flag); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_true(atomic_load(flag));
}

void relay_await_commit(void)
{
    await_flag(&relay.caught);
}

void relay_cut(void)
{
    atomic_store(&relay.command, CUT);
}

void relay_deliver(void)
{
    atomic_store(&relay.command, DELIVER);
    await_flag(&relay.delivered);
}

void relay_refuse(bool refuse)
{
    atomic_store(&relay.refuses, refuse);
}
