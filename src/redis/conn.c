/* SPDX-License-Identifier: MIT */
#include "redis/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "redis/command.h"

enum {
    READ_BYTES = 16 << 10,
    READS_A_STEP = 16,
    OUT_MAX = 2 * CONN_COMMAND_MAX,
    OUT_KEPT = 1 << 20, /* memory that stays when it is empty */
};

/* Always false, for return. */
static bool failed(struct conn *conn, const char *problem)
{
    snprintf(conn->problem, sizeof conn->problem, "%s", problem);
    return false;
}

/* Always false, for return. */
static bool failed_link(struct conn *conn)
{
    conn->unwelcome = link_is_distrusted(conn->link);
    return failed(conn, link_problem(conn->link));
}

static bool failed_errno(struct conn *conn, int error)
{
    char text[96];
    return failed(conn, strerror_r(error, text, sizeof text));
}

void redis_conn_init(struct conn *conn, const struct conn_settings *settings,
                     const struct address *address)
{
    *conn = (struct conn){.settings = settings, .address = *address, .fd = -1};
    buf_init(&conn->out, OUT_MAX);
    reader_init(&conn->reader);
}

void redis_conn_release(struct conn *conn)
{
    redis_conn_close(conn);
    lookup_free(conn->lookup);
    reader_release(&conn->reader);
    buf_release(&conn->out);
    free(conn->expected);
}

/* A lookup goes on: another one would not be faster. */
void redis_conn_close(struct conn *conn)
{
    link_free(conn->link);
    conn->link = NULL;
    if (conn->fd >= 0)
        close(conn->fd);
    conn->fd = -1;
    conn->state = CONN_CLOSED;
    buf_clear(&conn->out);
    conn->out_at = 0;
    conn->expected_n = 0;
    conn->more = false;
    reader_stop(&conn->reader);
}

/* ---- What is expected ---------------------------------------------------------------------------- */

static bool grow_expected(struct conn *conn)
{
    size_t cap = conn->expected_cap ? conn->expected_cap * 2 : 64;
    struct expected *ring = malloc(cap * sizeof *ring);
    if (!ring)
        return failed(conn, "out of memory");
    for (size_t i = 0; i < conn->expected_n; i++)
        ring[i] = conn->expected[(conn->expected_at + i) & (conn->expected_cap - 1)];
    free(conn->expected);
    conn->expected = ring;
    conn->expected_cap = cap;
    conn->expected_at = 0;
    return true;
}

bool redis_conn_expect(struct conn *conn, uint32_t what)
{
    if (conn->out.failed)
        return failed(conn, "out of memory");
    if (conn->expected_n == conn->expected_cap && !grow_expected(conn))
        return false;
    size_t at = (conn->expected_at + conn->expected_n++) & (conn->expected_cap - 1);
    conn->expected[at] = (struct expected){what, conn->out_base + conn->out.len};
    return true;
}

bool redis_conn_pop_expected(struct conn *conn, struct expected *expected)
{
    if (!conn->expected_n)
        return false;
    *expected = conn->expected[conn->expected_at];
    conn->expected_at = (conn->expected_at + 1) & (conn->expected_cap - 1);
    conn->expected_n--;
    return true;
}

bool redis_conn_unseen(const struct conn *conn, const struct expected *expected)
{
    return expected->end > conn->offered;
}

size_t redis_conn_unsent(const struct conn *conn)
{
    return conn->out.len - conn->out_at;
}

/* ---- Sending and reading -------------------------------------------------------------------------- */

static bool put_link(struct conn *conn, const char *from, size_t n, size_t *put)
{
    switch (link_write(conn->link, from, n, put)) {
    case LINK_DONE:
        return true;
    case LINK_WANTS_READ:
    case LINK_WANTS_WRITE:
        *put = 0;
        return true;
    default:
        return failed_link(conn);
    }
}

static bool put_socket(struct conn *conn, const char *from, size_t n, size_t *put)
{
    ssize_t sent = send(conn->fd, from, n, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
        return failed_errno(conn, errno);
    *put = sent < 0 ? 0 : (size_t)sent;
    return true;
}

/* What TLS was given may have left it, whatever it says: so it is `offered` before. */
bool redis_conn_flush(struct conn *conn)
{
    while (conn->out_at < conn->out.len) {
        const char *from = conn->out.data + conn->out_at;
        size_t put = 0, n = conn->out.len - conn->out_at;
        if (conn->link)
            conn->offered = conn->out_base + conn->out.len;
        if (!(conn->link ? put_link(conn, from, n, &put) : put_socket(conn, from, n, &put)))
            return false;
        conn->out_at += put;
        if (!conn->link)
            conn->offered = conn->out_base + conn->out_at;
        if (!put)
            return true;
    }
    conn->out_base += conn->out.len;
    conn->out_at = 0;
    buf_clear(&conn->out);
    if (conn->out.cap > OUT_KEPT)
        buf_release(&conn->out);
    return true;
}

/* `got` is 0 if there is nothing now. */
static bool get_link(struct conn *conn, char *to, size_t n, size_t *got)
{
    switch (link_read(conn->link, to, n, got)) {
    case LINK_DONE:
        return true;
    case LINK_WANTS_READ:
    case LINK_WANTS_WRITE:
        *got = 0;
        return true;
    case LINK_CLOSED:
        return failed(conn, "the server has closed the connection");
    default:
        return failed_link(conn);
    }
}

static bool get_socket(struct conn *conn, char *to, size_t n, size_t *got)
{
    ssize_t read = recv(conn->fd, to, n, 0);
    if (read == 0)
        return failed(conn, "the server has closed the connection");
    if (read < 0 && errno != EAGAIN && errno != EINTR)
        return failed_errno(conn, errno);
    *got = read < 0 ? 0 : (size_t)read;
    return true;
}

/* What came before the end of the connection is kept: the caller looks at it first. */
static bool read_some(struct conn *conn)
{
    char bytes[READ_BYTES];
    conn->more = false;
    for (unsigned i = 0; i < READS_A_STEP; i++) {
        size_t got = 0;
        if (!(conn->link ? get_link : get_socket)(conn, bytes, sizeof bytes, &got))
            return false;
        if (!got)
            return true;
        if (!reader_feed(&conn->reader, bytes, got))
            return failed(conn, "an answer is too long");
        if (got < sizeof bytes && !conn->link)
            return true;
    }
    conn->more = conn->link;
    return true;
}

enum reader_state redis_conn_reply(struct conn *conn, const struct redisReply **reply,
                                   const struct redisReply **error)
{
    enum reader_state state =
        conn->reader.parser ? reader_next(&conn->reader, reply, error) : READER_MORE;
    if (state == READER_BROKEN)
        failed(conn, "an answer is malformed or too long");
    return state;
}

/* ---- Connecting ------------------------------------------------------------------------------------ */

static bool introduce(struct conn *conn)
{
    const struct conn_settings *settings = conn->settings;
    conn->state = CONN_GREETING;
    if (settings->password || settings->user) {
        command_begin(&conn->out, settings->user ? 3 : 2);
        command_text(&conn->out, "AUTH");
        if (settings->user)
            command_text(&conn->out, settings->user);
        command_text(&conn->out, settings->password ? settings->password : "");
        if (!redis_conn_expect(conn, EXPECT_AUTH))
            return false;
    }
    command_begin(&conn->out, 2);
    command_text(&conn->out, "INFO");
    command_text(&conn->out, "server");
    return redis_conn_expect(conn, EXPECT_INFO) && redis_conn_flush(conn);
}

static bool handshake(struct conn *conn)
{
    conn->state = CONN_HANDSHAKING;
    switch (link_handshake(conn->link)) {
    case LINK_DONE:
        return introduce(conn);
    case LINK_WANTS_READ:
    case LINK_WANTS_WRITE:
        return true;
    case LINK_CLOSED:
        return failed(conn, "the server has closed the connection");
    default:
        return failed_link(conn);
    }
}

static bool connected(struct conn *conn)
{
    int on = 1;
    setsockopt(conn->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (!reader_start(&conn->reader))
        return failed(conn, "out of memory");
    if (!conn->settings->tls)
        return introduce(conn);
    conn->link = link_new(conn->settings->tls, conn->fd, conn->address.host);
    return conn->link ? handshake(conn) : failed(conn, "out of memory");
}

/* Tries the addresses of the host in turn. */
static bool connect_next(struct conn *conn)
{
    while (conn->left_found) {
        size_t i = conn->next_found++ % conn->found.n;
        conn->left_found--;
        if (conn->fd >= 0)
            close(conn->fd);
        conn->fd =
            socket(conn->found.at[i].ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (conn->fd < 0) {
            failed_errno(conn, errno);
            continue;
        }
        conn->state = CONN_CONNECTING;
        if (!connect(conn->fd, (const struct sockaddr *)&conn->found.at[i], conn->found.length[i]))
            return connected(conn);
        if (errno == EINPROGRESS)
            return true;
        failed_errno(conn, errno);
    }
    return false;
}

static bool connect_first(struct conn *conn)
{
    conn->left_found = conn->found.n;
    return conn->found.n ? connect_next(conn) : failed(conn, "the host has no address");
}

static bool end_lookup(struct conn *conn)
{
    lookup_result(conn->lookup, &conn->found);
    lookup_free(conn->lookup);
    conn->lookup = NULL;
    return connect_first(conn);
}

static bool end_connecting(struct conn *conn)
{
    int error = 0;
    socklen_t n = sizeof error;
    if (getsockopt(conn->fd, SOL_SOCKET, SO_ERROR, &error, &n))
        error = errno;
    if (!error)
        return connected(conn);
    failed_errno(conn, error);
    return connect_next(conn);
}

bool redis_conn_open(struct conn *conn, int64_t now_ms)
{
    conn->deadline_ms = now_ms + CONN_STEP_MS;
    conn->out_base = conn->offered = 0;
    conn->run_id[0] = '\0';
    conn->unwelcome = false;
    if (resolve_number(&conn->address, &conn->found))
        return connect_first(conn);
    conn->state = CONN_RESOLVING;
    if (!conn->lookup)
        conn->lookup = lookup_start(&conn->address);
    return conn->lookup ? true : failed(conn, "the host cannot be looked up");
}

/* What the server says to an AUTH is not repeated: it may say what it was told. */
static bool take_greeting(struct conn *conn)
{
    const struct redisReply *reply, *error;
    enum reader_state state;
    struct expected expected;
    while (conn->state == CONN_GREETING &&
           (state = redis_conn_reply(conn, &reply, &error)) != READER_MORE) {
        if (state == READER_BROKEN)
            return false;
        if (!redis_conn_pop_expected(conn, &expected))
            return failed(conn, "an answer that nobody asked for");
        conn->unwelcome = error != NULL;
        if (error)
            return failed(conn, expected.what == EXPECT_AUTH
                                    ? "the server refuses the user or password"
                                : !strncmp(error->str, "NOAUTH", 6) ? "the server wants a password"
                                                                    : "the server refuses INFO");
        if (expected.what == EXPECT_AUTH)
            continue;
        if (!told_run_id(reply, conn->run_id))
            return failed(conn, "the server has no run id");
        conn->state = CONN_READY;
    }
    return true;
}

/* ---- Events ------------------------------------------------------------------------------------------ */

int redis_conn_fd(const struct conn *conn)
{
    return conn->state == CONN_RESOLVING ? lookup_fd(conn->lookup) : conn->fd;
}

short redis_conn_events(const struct conn *conn)
{
    if (conn->state == CONN_CONNECTING)
        return POLLOUT;
    if (conn->state == CONN_HANDSHAKING)
        return link_wants_write(conn->link) ? POLLOUT : POLLIN;
    return redis_conn_unsent(conn) ? POLLIN | POLLOUT : POLLIN;
}

static bool exchange(struct conn *conn)
{
    bool sent = redis_conn_flush(conn); /* what was answered before the end is taken, too */
    bool alive = read_some(conn) && sent;
    return (conn->state != CONN_GREETING || take_greeting(conn)) && alive;
}

bool redis_conn_step(struct conn *conn, short revents, int64_t now_ms)
{
    if (!revents)
        return true;
    conn->deadline_ms = now_ms + CONN_STEP_MS; /* it moves, however late anybody looks */
    switch (conn->state) {
    case CONN_CLOSED:
        return true;
    case CONN_RESOLVING:
        return end_lookup(conn);
    case CONN_CONNECTING:
        return end_connecting(conn);
    case CONN_HANDSHAKING:
        return handshake(conn);
    default:
        return exchange(conn);
    }
}
