/* SPDX-License-Identifier: MIT */
/*
 * The sockets of one loop, on libuv. It moves bytes between them and the core (internal.h), and
 * after each turn does what the touched connections want. Everything here runs on the loop's
 * thread, but wake().
 *
 * Output is written at the end of the turn, at once; only what the socket does not take is given to
 * uv_write with its buffer. What the kernel still has of it is asked with every tick, or when much
 * waits in all. A connection that is to be closed is first closed for writing only, and
 * what still comes is thrown away for a while: closing at once with unread input would make the
 * kernel reset the connection, and the client might never see the answer.
 */
#include "http/net.h"

#include <errno.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

struct link {
    uv_tcp_t tcp;
    struct http_conn conn;
    struct net_loop *net;
    struct outgoing *outgoing; /* given to uv_write */
    TAILQ_ENTRY(link) in_sending;
    TAILQ_ENTRY(link) in_later;
    uint32_t slot; /* in shared->peers */
    bool sending;
    bool later;
    bool many; /* which of net->later */
    bool reading;
    bool shut;
    bool streaming;
    bool closed;
};

struct outgoing {
    uv_write_t write;
    struct buf buf;
};

static void end_turn(struct net_loop *net);

static struct link *link_of(struct http_conn *conn)
{
    return CONTAINER(conn, struct link, conn);
}

static void begin_turn(struct net_loop *net)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    loop_set_time(&net->core, uv_now(&net->uv), now.tv_sec);
}

/* ---- What is on its way -------------------------------------------------------------------- */

static void start_sending(struct link *link)
{
    if (link->sending)
        return;
    link->sending = true;
    TAILQ_INSERT_TAIL(&link->net->sending, link, in_sending);
    conn_begins_sending(&link->conn);
}

static void stop_sending(struct link *link)
{
    if (link->sending)
        TAILQ_REMOVE(&link->net->sending, link, in_sending);
    link->sending = false;
}

/* Of what uv_write has, the kernel has taken all but so much. */
static void gave_all_but(struct http_conn *conn, size_t left)
{
    conn_gave(conn, conn->unsent - left);
    conn->unsent = left;
}

static void measure(struct link *link)
{
    struct http_conn *conn = &link->conn;
    uv_os_fd_t fd;
    int kernel;
    if (link->outgoing)
        gave_all_but(conn, uv_stream_get_write_queue_size((uv_stream_t *)&link->tcp));
    if (uv_fileno((uv_handle_t *)&link->tcp, &fd) != 0 || ioctl(fd, SIOCOUTQ, &kernel) != 0) {
        conn_kill(conn);
        return;
    }
    conn_measured(conn, (size_t)kernel);
    if (!conn_is_sending(conn)) {
        stop_sending(link);
        if (conn->finishing)
            conn_touch(conn); /* that may be what its end waits for */
    }
}

static void measure_all(struct net_loop *net)
{
    struct link *next;
    net->measured_ms = net->core.now_ms;
    for (struct link *link = TAILQ_FIRST(&net->sending); link; link = next) {
        next = TAILQ_NEXT(link, in_sending);
        measure(link);
    }
}

/* ---- Closing ------------------------------------------------------------------------------- */

/* It is not put off any more. */
static void take_up(struct link *link)
{
    if (link->later)
        TAILQ_REMOVE(&link->net->later[link->many], link, in_later);
    link->later = false;
}

static void on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void close_link(struct link *link)
{
    struct net_shared *shared = link->net->shared;
    link->closed = true;
    stop_sending(link);
    take_up(link);
    /* libuv will only tell that it was not written. */
    if (link->outgoing)
        loop_give_buf(&link->net->core, &link->outgoing->buf);
    conn_release(&link->conn);
    if (shared->peers)
        peers_leave(shared->peers, link->slot);
    atomic_fetch_sub_explicit(&shared->connections, 1, memory_order_relaxed);
    if (!link->conn.reset || uv_tcp_close_reset(&link->tcp, on_closed) != 0)
        uv_close((uv_handle_t *)&link->tcp, on_closed);
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void free_outgoing(struct http_conn *conn, struct outgoing *outgoing)
{
    loop_give_buf(conn->loop, &outgoing->buf);
    free(outgoing);
    conn->kept = 0;
}

static void on_written(uv_write_t *write, int status)
{
    struct link *link = write->data;
    struct http_conn *conn = &link->conn;
    free_outgoing(conn, link->outgoing);
    link->outgoing = NULL;
    if (link->closed)
        return;
    begin_turn(link->net);
    gave_all_but(conn, 0);
    conn_touch(conn);
    if (status < 0)
        conn_kill(conn);
    end_turn(link->net);
}

/* What is to be written, but for the first bytes; how many parts it has. */
static unsigned parts_behind(const struct http_conn *conn, size_t written, uv_buf_t parts[2])
{
    const struct http_text all[2] = {{conn->out.data, conn->out.len}, conn->fixed};
    unsigned n = 0;
    for (unsigned i = 0; i < 2; i++) {
        size_t skip = written < all[i].n ? written : all[i].n;
        written -= skip;
        if (skip < all[i].n)
            parts[n++] =
                uv_buf_init((char *)(uintptr_t)(all[i].p + skip), (unsigned)(all[i].n - skip));
    }
    return n;
}

/* The socket did not take it all: the rest goes out when it can. */
static void write_later(struct link *link, size_t written)
{
    struct http_conn *conn = &link->conn;
    struct outgoing *outgoing = malloc(sizeof *outgoing);
    if (!outgoing) {
        conn_kill(conn);
        return;
    }
    uv_buf_t parts[2];
    unsigned n = parts_behind(conn, written, parts);
    size_t left = conn_pending(conn) - written;
    outgoing->buf = conn->out;
    outgoing->write.data = link;
    conn->kept = conn->out.cap;
    buf_init(&conn->out, conn->out.max);
    conn->fixed = (struct http_text){0};
    if (uv_write(&outgoing->write, (uv_stream_t *)&link->tcp, parts, n, on_written) < 0) {
        free_outgoing(conn, outgoing);
        conn_kill(conn);
        return;
    }
    link->outgoing = outgoing;
    conn->unsent = left;
}

static void write_now(struct link *link)
{
    struct http_conn *conn = &link->conn;
    uv_buf_t parts[2];
    unsigned n = parts_behind(conn, 0, parts);
    start_sending(link);
    int rc = uv_try_write((uv_stream_t *)&link->tcp, parts, n);
    if (rc < 0 && rc != UV_EAGAIN) {
        conn_kill(conn);
        return;
    }
    size_t written = rc < 0 ? 0 : (size_t)rc;
    conn_gave(conn, written);
    if (written < conn_pending(conn)) {
        write_later(link, written);
        return;
    }
    loop_give_buf(conn->loop, &conn->out);
    conn->fixed = (struct http_text){0};
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buf)
{
    struct link *link = handle->data;
    (void)suggested;
    *buf = uv_buf_init(link->net->input, sizeof link->net->input);
}

static void on_read(uv_stream_t *stream, ssize_t n, const uv_buf_t *buf)
{
    struct link *link = stream->data;
    struct net_loop *net = link->net;
    if (n == 0)
        return;
    begin_turn(net);
    if (n > 0)
        conn_input(&link->conn, buf->base, (size_t)n);
    else if (n == UV_EOF)
        conn_eof(&link->conn);
    else
        conn_kill(&link->conn);
    end_turn(net);
}

/* ---- The end of a turn --------------------------------------------------------------------- */

/* A client that vanished without a word is noticed by its unacknowledged heartbeats. */
static void watch_stream(struct link *link)
{
    const struct http_config *config = link->conn.loop->config;
    unsigned ms = (unsigned)(config->heartbeat_ms + config->write_timeout_ms);
    uv_os_fd_t fd;
    link->streaming = true;
    if (uv_fileno((uv_handle_t *)&link->tcp, &fd) == 0)
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof ms);
}

/* All is said: closes our side; the rest when the client has closed its own and taken everything. */
static void shut_link(struct link *link)
{
    struct http_conn *conn = &link->conn;
    uv_os_fd_t fd;
    if (conn->eof && link->sending)
        measure(link);
    if (conn->eof && !link->sending) {
        conn_kill(conn);
    } else if (!link->shut) {
        link->shut = true;
        if (uv_fileno((uv_handle_t *)&link->tcp, &fd) != 0 || shutdown(fd, SHUT_WR) != 0)
            conn_kill(conn);
        else
            conn_linger(conn);
    }
}

static void sync_reading(struct link *link)
{
    bool wanted = conn_wants_input(&link->conn);
    if (wanted == link->reading)
        return;
    link->reading = wanted;
    if (!wanted)
        uv_read_stop((uv_stream_t *)&link->tcp);
    else if (uv_read_start((uv_stream_t *)&link->tcp, on_alloc, on_read) < 0)
        conn_kill(&link->conn);
}

/* Its next request is begun when others have had their turn. Who does not wait for answers goes
 * behind those who do. */
static void put_off(struct link *link)
{
    if (link->later)
        return;
    link->later = true;
    link->many = link->conn.stash.len > NET_ONE_REQUEST;
    TAILQ_INSERT_TAIL(&link->net->later[link->many], link, in_later);
    uv_async_send(&link->net->async);
}

static void sync_link(struct link *link)
{
    struct http_conn *conn = &link->conn;
    do {
        conn_settle(conn);
        if ((conn->out.len || conn->fixed.n) && !link->outgoing && !conn->dead)
            write_now(link);
    } while (conn_can_resume(conn));
    conn_recharge(conn);

    if (conn->stream && !link->streaming)
        watch_stream(link);
    if (!conn->dead && conn_wants_close(conn))
        shut_link(link);
    if (!conn->dead)
        sync_reading(link);
    if (conn_is_put_off(conn))
        put_off(link);
    if (conn->dead)
        close_link(link);
}

static void sync_touched(struct net_loop *net)
{
    struct http_conn *conn;
    while ((conn = loop_take_touched(&net->core)))
        sync_link(link_of(conn));
}

static void end_turn(struct net_loop *net)
{
    struct http_loop *core = &net->core;
    sync_touched(net);
    if (loop_is_pressed(core)) {
        if (core->now_ms - net->measured_ms >= NET_MEASURE_MS)
            measure_all(net);
        loop_shed(core);
        sync_touched(net);
    }
    if (core->stopping && !core->conns && (core->n_held == 0 || core->now_ms >= net->stop_at_ms))
        uv_stop(&net->uv);
}

/* ---- Accepting ----------------------------------------------------------------------------- */

static bool take_peer(uv_tcp_t *tcp, struct http_peer *peer)
{
    struct sockaddr_storage storage;
    int n = sizeof storage;
    if (uv_tcp_getpeername(tcp, (struct sockaddr *)&storage, &n) < 0)
        return false;
    if (storage.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&storage;
        memcpy(peer->address, &in6->sin6_addr, 16);
        peer->port = ntohs(in6->sin6_port);
    } else {
        const struct sockaddr_in *in = (const struct sockaddr_in *)&storage;
        memset(peer->address, 0, 10);
        peer->address[10] = peer->address[11] = 0xff;
        memcpy(peer->address + 12, &in->sin_addr, 4);
        peer->port = ntohs(in->sin_port);
    }
    return true;
}

/* Counts the connection in, unless there are too many. */
static bool admit(struct link *link, const struct http_peer *peer)
{
    static const char busy[] = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n";
    struct net_shared *shared = link->net->shared;
    struct loop_counters *counters = &link->net->core.counters;
    uint64_t before = atomic_fetch_add_explicit(&shared->connections, 1, memory_order_relaxed);
    if (before >= shared->config.connections_max) {
        uv_buf_t text = uv_buf_init((char *)(uintptr_t)busy, sizeof busy - 1);
        uv_try_write((uv_stream_t *)&link->tcp, &text, 1);
        count(&counters->full_server, 1);
    } else if (shared->peers && !peers_enter(shared->peers, peer, &link->slot)) {
        count(&counters->full_address, 1);
    } else {
        return true;
    }
    atomic_fetch_sub_explicit(&shared->connections, 1, memory_order_relaxed);
    return false;
}

static void on_connection(uv_stream_t *listener, int status)
{
    struct net_loop *net = listener->data;
    struct http_peer peer;
    struct link *link = status < 0 ? NULL : calloc(1, sizeof *link);
    if (!link)
        return;
    link->net = net;
    link->tcp.data = link;
    if (uv_tcp_init(&net->uv, &link->tcp) < 0) {
        free(link);
        return;
    }
    if (uv_accept(listener, (uv_stream_t *)&link->tcp) < 0 || !take_peer(&link->tcp, &peer) ||
        !admit(link, &peer)) {
        uv_close((uv_handle_t *)&link->tcp, on_closed);
        return;
    }
    begin_turn(net);
    uv_tcp_nodelay(&link->tcp, 1);
    conn_init(&link->conn, &net->core, &peer);
    conn_touch(&link->conn);
    end_turn(net);
}

/* ---- The loop ------------------------------------------------------------------------------ */

static void wake(struct http_loop *core)
{
    struct net_loop *net = CONTAINER(core, struct net_loop, core);
    uv_async_send(&net->async);
}

static struct link *first_later(struct net_loop *net)
{
    struct link *link = TAILQ_FIRST(&net->later[0]);
    return link ? link : TAILQ_FIRST(&net->later[1]);
}

/* Goes on with those that were put off. They have time of their own: what comes meanwhile may take
 * all there is. */
static void run_later(struct net_loop *net)
{
    struct link *link;
    uv_update_time(&net->uv);
    begin_turn(net);
    while ((link = first_later(net)) && !loop_is_out_of_time(&net->core)) {
        take_up(link);
        conn_touch(&link->conn);
        end_turn(net);
    }
    if (link)
        uv_async_send(&net->async);
}

static void on_wake(uv_async_t *async)
{
    struct net_loop *net = async->data;
    begin_turn(net);
    loop_run_posts(&net->core);
    end_turn(net);
    if (first_later(net))
        run_later(net);
}

static void on_tick(uv_timer_t *tick)
{
    struct net_loop *net = tick->data;
    begin_turn(net);
    loop_run_timers(&net->core);
    measure_all(net);
    if (net->core.stopping && net->core.now_ms >= net->stop_at_ms)
        for (struct http_conn *conn = net->core.conns; conn; conn = conn->next)
            conn_kill(conn);
    end_turn(net);
}

void net_begin_stop(struct http_post *post)
{
    struct net_loop *net = CONTAINER(post, struct net_loop, stop);
    if (net->listening)
        uv_close((uv_handle_t *)&net->listener, NULL);
    net->listening = false;
    loop_begin_stop(&net->core);
}

int net_start(struct net_loop *net)
{
    net->core.wake = wake;
    net->listener.data = net->async.data = net->tick.data = net;
    int err = uv_timer_start(&net->tick, on_tick, NET_TICK_MS, NET_TICK_MS);
    if (err == 0)
        err = uv_async_init(&net->uv, &net->async, on_wake);
    if (err == 0)
        err = uv_listen((uv_stream_t *)&net->listener, NET_BACKLOG, on_connection);
    return err;
}

void net_run(struct net_loop *net)
{
    uv_run(&net->uv, UV_RUN_DEFAULT);
}
