/* SPDX-License-Identifier: MIT */
/*
 * Starting and stopping: the address, the listeners (one for each loop, SO_REUSEPORT, so that the
 * kernel spreads connections), the threads. What happens in between is in net.c.
 */
#include "http/net.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/thread.h"

struct http_server {
    struct net_shared shared;
    uint16_t port;
    bool joined;
    unsigned n_loops; /* whose libuv loop is ready */
    unsigned n_threads;
    struct net_loop *loops[HTTP_THREADS_MAX];
};

void http_config_init(struct http_config *config)
{
    *config = (struct http_config)
    {
        .threads = 1,
#define X(name, standard, least, text) .name = standard,
        HTTP_SETTINGS(X)
#undef X
    };
}

/* What the rest takes for granted. */
static void bound_config(struct http_config *config)
{
    config->listen = NULL;
    if (config->threads < 1)
        config->threads = 1;
    if (config->threads > HTTP_THREADS_MAX)
        config->threads = HTTP_THREADS_MAX;
    if (config->head_max > UINT16_MAX)
        config->head_max = UINT16_MAX;
    if (config->headers_max > HTTP_HEADERS_MAX)
        config->headers_max = HTTP_HEADERS_MAX;
    if (config->pipeline_max < 1)
        config->pipeline_max = 1;
    if (config->connections_max > 1 << 24)
        config->connections_max = 1 << 24;
    if (config->send_buffer > 1 << 30)
        config->send_buffer = 1 << 30;
}

/* ---- Listening ----------------------------------------------------------------------------- */

/* getaddrinfo would take 65537 for 1. */
static bool is_port(const char *text)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && port <= UINT16_MAX;
}

/* "host:port" or "[address]:port". */
static bool resolve(const char *listen, struct sockaddr_storage *address)
{
    char host[256];
    const char *colon = strrchr(listen, ':');
    const char *begin = listen, *end = colon;
    if (!colon || !is_port(colon + 1))
        return false;
    if (*listen == '[') {
        begin++;
        end--;
        if (end <= begin || *end != ']')
            return false;
    }
    if (end <= begin || (size_t)(end - begin) >= sizeof host)
        return false;
    memcpy(host, begin, (size_t)(end - begin));
    host[end - begin] = '\0';

    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found;
    if (getaddrinfo(host, colon + 1, &hints, &found) != 0)
        return false;
    memcpy(address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

static uint16_t get_port(const struct sockaddr_storage *address)
{
    if (address->ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)address)->sin_port);
}

/*
 * Whether nobody listens there yet. SO_REUSEPORT would let a second server of the same user in, and
 * the kernel would hand each of them some of the connections.
 */
static int probe(const struct sockaddr_storage *address)
{
    int on = 1, err = 0;
    socklen_t n =
        address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    int fd = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return uv_translate_sys_error(errno);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const struct sockaddr *)address, n) != 0)
        err = uv_translate_sys_error(errno);
    close(fd);
    return err;
}

/* Binds the loop's listener; a port chosen by the kernel is put into the address, for the next one.
 */
static int bind_listener(struct net_loop *net, struct sockaddr_storage *address)
{
    uv_os_fd_t fd;
    /* Connections inherit it. The kernel takes twice what it is told, for its own needs, too. */
    int kernel_bytes = (int)(net->shared->config.send_buffer / 2);
    int on = 1, n = sizeof *address;
    int err = uv_tcp_init_ex(&net->uv, &net->listener, address->ss_family);
    if (err)
        return err;
    net->listening = true;
    err = uv_fileno((uv_handle_t *)&net->listener, &fd);
    if (err == 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0)
        err = UV_EINVAL;
    if (err == 0 && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &kernel_bytes, sizeof kernel_bytes) != 0)
        err = UV_EINVAL;
    if (err == 0)
        err = uv_tcp_bind(&net->listener, (struct sockaddr *)address, 0);
    if (err == 0)
        err = uv_tcp_getsockname(&net->listener, (struct sockaddr *)address, &n);
    if (err == 0)
        err = net_start(net);
    return err;
}

/* ---- Starting ------------------------------------------------------------------------------ */

static enum http_err add_loop(struct http_server *server)
{
    uint64_t seed;
    struct net_loop *net = calloc(1, sizeof *net);
    if (!net)
        return HTTP_ERR_MEMORY;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed || uv_loop_init(&net->uv) < 0) {
        free(net);
        return HTTP_ERR_THREAD;
    }
    uv_timer_init(&net->uv, &net->tick);
    net->shared = &server->shared;
    net->stop.run = net_begin_stop;
    TAILQ_INIT(&net->sending);
    TAILQ_INIT(&net->later[0]);
    TAILQ_INIT(&net->later[1]);
    loop_init(&net->core, &server->shared.config, server->n_loops, seed, &server->shared.unsent,
              NULL);
    net->core.slice_ms = NET_SLICE_MS;
    server->loops[server->n_loops++] = net;
    return HTTP_OK;
}

static void run_loop(void *arg)
{
    struct net_loop *net = arg;
    char name[THREAD_NAME_BYTES];
    snprintf(name, sizeof name, "http-%u", net->core.index);
    thread_name(name);
    net_run(net);
}

/* Loop threads take no signals: they are the main thread's, and SIGPIPE is an error code here. */
static enum http_err start_threads(struct http_server *server)
{
    sigset_t all, before;
    enum http_err err = HTTP_OK;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (unsigned i = 0; i < server->n_loops && err == HTTP_OK; i++) {
        if (uv_thread_create(&server->loops[i]->thread, run_loop, server->loops[i]) == 0)
            server->n_threads++;
        else
            err = HTTP_ERR_THREAD;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return err;
}

/* A limit for each address, if there is one. False if there is no memory. */
static bool make_peers(struct http_server *server)
{
    const struct http_config *config = &server->shared.config;
    uint64_t seed;
    if (!config->connections_per_address || getrandom(&seed, sizeof seed, 0) != sizeof seed)
        return true;
    server->shared.peers =
        peers_new((uint32_t)config->connections_max, config->connections_per_address, seed);
    return server->shared.peers != NULL;
}

/* A loop with its listener for each thread. */
static enum http_err add_loops(struct http_server *server, struct sockaddr_storage *address,
                               const char **detail)
{
    int code = probe(address);
    for (unsigned i = 0; i < server->shared.config.threads && code == 0; i++) {
        enum http_err err = add_loop(server);
        if (err != HTTP_OK) {
            *detail = "no memory or file descriptors for another loop";
            return err;
        }
        code = bind_listener(server->loops[i], address);
    }
    if (code) {
        *detail = uv_strerror(code);
        return HTTP_ERR_LISTEN;
    }
    server->port = get_port(address);
    return HTTP_OK;
}

/* Everything but the threads. */
static enum http_err prepare(struct http_server *server, const char *listen, const char **detail)
{
    struct sockaddr_storage address = {0};
    if (!listen || !resolve(listen, &address)) {
        *detail = "the address to listen on is not host:port, or the host is unknown";
        return HTTP_ERR_ADDRESS;
    }
    if (!make_peers(server)) {
        *detail = "out of memory";
        return HTTP_ERR_MEMORY;
    }
    return add_loops(server, &address, detail);
}

static struct http_server *server_new(const struct http_config *config)
{
    struct http_server *server = calloc(1, sizeof *server);
    if (server) {
        server->shared.config = *config;
        bound_config(&server->shared.config);
    }
    return server;
}

enum http_err http_server_start(const struct http_config *config, struct http_server **started,
                                const char **message)
{
    const char *detail = "out of memory";
    struct http_server *server = server_new(config);
    enum http_err err = server ? prepare(server, config->listen, &detail) : HTTP_ERR_MEMORY;
    if (err == HTTP_OK) {
        *started = server; /* handlers may need it, and can run from here on */
        detail = "a thread could not be started";
        err = start_threads(server);
    }
    if (err == HTTP_OK)
        return HTTP_OK;
    if (message)
        *message = detail;
    if (server && server->n_threads)
        http_server_stop(server, 0);
    http_server_free(server);
    *started = NULL;
    return err;
}

/* ---- Running ------------------------------------------------------------------------------- */

uint16_t http_server_port(const struct http_server *server)
{
    return server->port;
}

struct http_loop *http_server_loop(struct http_server *server, unsigned index)
{
    return &server->loops[index]->core;
}

void http_server_counters(const struct http_server *server, struct http_counters *sum)
{
    *sum = (struct http_counters){0};
    for (unsigned i = 0; i < server->n_loops; i++) {
        const struct loop_counters *from = &server->loops[i]->core.counters;
#define X(name, help) sum->name += atomic_load_explicit(&from->name, memory_order_relaxed);
        HTTP_COUNTERS(X)
#undef X
        for (int kind = 0; kind < HTTP_CUT_COUNT; kind++)
            sum->cut[kind] += atomic_load_explicit(&from->cut[kind], memory_order_relaxed);
        for (int kind = 0; kind < HTTP_REFUSAL_COUNT; kind++)
            sum->refused[kind] += atomic_load_explicit(&from->refused[kind], memory_order_relaxed);
    }
}

/* ---- Stopping ------------------------------------------------------------------------------ */

size_t http_server_stop(struct http_server *server, uint64_t deadline_ms)
{
    size_t held = 0;
    uint64_t stop_at_ms = uv_hrtime() / 1000000 + deadline_ms;
    for (unsigned i = 0; i < server->n_threads; i++) {
        server->loops[i]->stop_at_ms = stop_at_ms;
        http_post(&server->loops[i]->core, &server->loops[i]->stop);
    }
    for (unsigned i = 0; i < server->n_threads; i++) {
        uv_thread_join(&server->loops[i]->thread);
        held += server->loops[i]->core.n_held;
    }
    server->n_threads = 0;
    return held;
}

static void close_handle(uv_handle_t *handle, void *arg)
{
    (void)arg;
    if (!uv_is_closing(handle))
        uv_close(handle, NULL);
}

static void free_loop(struct net_loop *net)
{
    /* The thread is gone, so its loop is ours. Connections were closed by it. */
    uv_walk(&net->uv, close_handle, NULL);
    uv_run(&net->uv, UV_RUN_DEFAULT);
    uv_loop_close(&net->uv);
    loop_release(&net->core);
    free(net);
}

void http_server_free(struct http_server *server)
{
    if (!server)
        return;
    for (unsigned i = 0; i < server->n_loops; i++)
        free_loop(server->loops[i]);
    peers_free(server->shared.peers);
    free(server);
}
