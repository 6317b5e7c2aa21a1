/* SPDX-License-Identifier: MIT */
#include "peer/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/wait.h"

enum {
    HEAD_BYTES = 5, /* type, length */
    GO_ON_MS =
        10000, /* a message that has begun, and one that is sent, goes on at least so often */
    PIECE_BYTES = 1 << 16, /* memory is taken as bytes come, not as a length says */
    BACKLOG = 16,
};

/* Both sides name the key by this; it is also the version of what they speak. */
static const char identity[] = "tidings-peer-2";

static _Thread_local char problem[WIRE_TEXT_BYTES];

struct wire_context {
    SSL_CTX *ssl;
    uint8_t key[WIRE_KEY_BYTES];
};

struct wire {
    SSL *ssl;
    int fd;
};

/* ---- The key -------------------------------------------------------------------------------- */

static unsigned give_key(const struct wire_context *context, unsigned char *key, unsigned most)
{
    if (most < WIRE_KEY_BYTES)
        return 0;
    memcpy(key, context->key, WIRE_KEY_BYTES);
    return WIRE_KEY_BYTES;
}

static unsigned client_key(SSL *ssl, const char *hint, char *name, unsigned name_most,
                           unsigned char *key, unsigned most)
{
    (void)hint;
    if (name_most < sizeof identity)
        return 0;
    memcpy(name, identity, sizeof identity);
    return give_key(SSL_get_app_data(ssl), key, most);
}

static unsigned server_key(SSL *ssl, const char *name, unsigned char *key, unsigned most)
{
    return name && !strcmp(name, identity) ? give_key(SSL_get_app_data(ssl), key, most) : 0;
}

struct wire_context *wire_context_new(const uint8_t key[WIRE_KEY_BYTES])
{
    struct wire_context *context = calloc(1, sizeof *context);
    if (!context)
        return NULL;
    memcpy(context->key, key, WIRE_KEY_BYTES);
    context->ssl = SSL_CTX_new(TLS_method());
    if (!context->ssl || !SSL_CTX_set_min_proto_version(context->ssl, TLS1_3_VERSION) ||
        !SSL_CTX_set_ciphersuites(context->ssl, "TLS_AES_128_GCM_SHA256")) {
        wire_context_free(context);
        return NULL;
    }
    SSL_CTX_set_psk_client_callback(context->ssl, client_key);
    SSL_CTX_set_psk_server_callback(context->ssl, server_key);
    SSL_CTX_set_session_cache_mode(context->ssl, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context->ssl, 0);
    return context;
}

void wire_context_free(struct wire_context *context)
{
    if (!context)
        return;
    SSL_CTX_free(context->ssl);
    OPENSSL_cleanse(context->key, sizeof context->key);
    free(context);
}

/* ---- Waiting -------------------------------------------------------------------------------- */

/* What OpenSSL waits for; false if it does not come in time. */
static bool wait_for(const struct wire *wire, int rc, int timeout_ms)
{
    int error = SSL_get_error(wire->ssl, rc);
    struct pollfd fd = {.fd = wire->fd};
    if (error == SSL_ERROR_WANT_READ)
        fd.events = POLLIN;
    else if (error == SSL_ERROR_WANT_WRITE)
        fd.events = POLLOUT;
    else
        return false;
    int n;
    do
        n = poll(&fd, 1, timeout_ms);
    while (n < 0 && errno == EINTR);
    return n > 0;
}

bool wire_wait(struct wire *wire, int wake, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = wire->fd, .events = POLLIN}, {.fd = wake, .events = POLLIN}};
    if (SSL_pending(wire->ssl))
        return true;
    return poll(fds, wake < 0 ? 1 : 2, timeout_ms) > 0;
}

/* ---- Beginning ------------------------------------------------------------------------------ */

static enum wire_result shake_hands(struct wire_context *context, int fd, bool is_server,
                                    int timeout_ms, struct wire **out)
{
    struct wire *wire = malloc(sizeof *wire);
    int64_t until_ms = wait_now_ms() + timeout_ms, left_ms = timeout_ms;
    int rc = 0, one = 1;
    if (!wire) {
        close(fd);
        return WIRE_CLOSED;
    }
    *wire = (struct wire){SSL_new(context->ssl), fd};
    ERR_clear_error();
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (wire->ssl && SSL_set_fd(wire->ssl, fd)) {
        SSL_set_app_data(wire->ssl, context);
        do {
            rc = is_server ? SSL_accept(wire->ssl) : SSL_connect(wire->ssl);
            left_ms = until_ms - wait_now_ms();
        } while (rc != 1 && left_ms > 0 && wait_for(wire, rc, (int)left_ms));
    }
    if (rc == 1) {
        *out = wire;
        return WIRE_OK;
    }
    bool refused = wire->ssl && SSL_get_error(wire->ssl, rc) == SSL_ERROR_SSL;
    wire_free(wire);
    return refused ? WIRE_REFUSED : WIRE_CLOSED;
}

enum wire_result wire_accept(struct wire_context *context, int fd, int timeout_ms,
                             struct wire **wire)
{
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return shake_hands(context, fd, true, timeout_ms, wire);
}

/* Host and port of "host:port" or "[host]:port". */
static bool split(const char *address, char host[WIRE_TEXT_BYTES], const char **port)
{
    const char *colon = strrchr(address, ':');
    bool bracket = *address == '[';
    if (!colon || !colon[1] || (bracket && (colon == address || colon[-1] != ']')))
        return false;
    const char *from = address + bracket;
    size_t n = (size_t)(colon - bracket - from);
    if (!n || n >= WIRE_TEXT_BYTES || (!bracket && memchr(from, ':', n)))
        return false;
    memcpy(host, from, n);
    host[n] = '\0';
    *port = colon + 1;
    return true;
}

/* NULL, and a text in `problem`. */
static struct addrinfo *look_up(const char *address, int flags)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = flags}, *found = NULL;
    char host[WIRE_TEXT_BYTES];
    const char *port;
    if (!split(address, host, &port)) {
        snprintf(problem, sizeof problem,
                 "an address is HOST:PORT, and in brackets if it has colons");
        return NULL;
    }
    int rc = getaddrinfo(host, port, &hints, &found);
    if (rc)
        snprintf(problem, sizeof problem, "%.100s: %s", address, gai_strerror(rc));
    return rc ? NULL : found;
}

static int connect_one(const struct addrinfo *to, int timeout_ms)
{
    int fd = socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int error = 0;
    socklen_t n = sizeof error;
    if (fd < 0)
        return -1;
    bool ok = !connect(fd, to->ai_addr, to->ai_addrlen);
    if (!ok && errno == EINPROGRESS) {
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        error = ETIMEDOUT;
        if (poll(&wait, 1, timeout_ms) > 0)
            getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n);
        ok = !error;
        errno = error;
    }
    if (ok)
        return fd;
    error = errno;
    close(fd);
    errno = error;
    return -1;
}

enum wire_result wire_connect(struct wire_context *context, const char *address, int timeout_ms,
                              struct wire **wire, const char **why)
{
    struct addrinfo *found = look_up(address, 0);
    *why = problem;
    if (!found)
        return WIRE_CLOSED;
    int fd = -1;
    for (const struct addrinfo *at = found; at && fd < 0; at = at->ai_next)
        fd = connect_one(at, timeout_ms);
    if (fd < 0)
        snprintf(problem, sizeof problem, "%.100s: %s", address, strerror(errno));
    freeaddrinfo(found);
    if (fd < 0)
        return WIRE_CLOSED;
    enum wire_result result = shake_hands(context, fd, false, timeout_ms, wire);
    if (result)
        snprintf(problem, sizeof problem, "%.100s: %s", address,
                 result == WIRE_REFUSED ? "it does not have the same key, or is no server of ours"
                                        : "it did not answer");
    return result;
}

void wire_free(struct wire *wire)
{
    if (!wire)
        return;
    SSL_free(wire->ssl);
    close(wire->fd);
    free(wire);
}

void wire_shut(struct wire *wire)
{
    shutdown(wire->fd, SHUT_RDWR);
}

/* ---- Messages ------------------------------------------------------------------------------- */

static bool write_all(struct wire *wire, const uint8_t *from, size_t n)
{
    while (n) {
        size_t put = 0;
        ERR_clear_error();
        int rc = SSL_write_ex(wire->ssl, from, n, &put);
        if (rc != 1 && !wait_for(wire, rc, GO_ON_MS))
            return false;
        from += put;
        n -= put;
    }
    return true;
}

enum wire_result wire_send(struct wire *wire, uint8_t type, const struct bytes *parts, size_t n)
{
    uint8_t head[HEAD_BYTES] = {type};
    size_t length = 0;
    for (size_t i = 0; i < n; i++)
        length += parts[i].n;
    if (length > WIRE_MESSAGE_MAX)
        return WIRE_REFUSED;
    put_u32(head + 1, (uint32_t)length);
    bool ok = write_all(wire, head, sizeof head);
    for (size_t i = 0; i < n && ok; i++)
        ok = write_all(wire, parts[i].p, parts[i].n);
    return ok ? WIRE_OK : WIRE_CLOSED;
}

static bool read_all(struct wire *wire, uint8_t *to, size_t n)
{
    while (n) {
        size_t got = 0;
        ERR_clear_error();
        int rc = SSL_read_ex(wire->ssl, to, n, &got);
        if (rc != 1 && !wait_for(wire, rc, GO_ON_MS))
            return false;
        to += got;
        n -= got;
    }
    return true;
}

enum wire_result wire_receive(struct wire *wire, int timeout_ms, uint8_t *type, struct buf *to)
{
    uint8_t head[HEAD_BYTES];
    buf_clear(to);
    if (!wire_wait(wire, -1, timeout_ms))
        return WIRE_NOTHING;
    if (!read_all(wire, head, sizeof head))
        return WIRE_CLOSED;
    size_t left = get_u32(head + 1);
    if (left > WIRE_MESSAGE_MAX || left > to->max)
        return WIRE_REFUSED;
    while (left) {
        size_t n = left < PIECE_BYTES ? left : PIECE_BYTES;
        char *at = buf_reserve(to, n);
        if (!at || !read_all(wire, (uint8_t *)at, n))
            return WIRE_CLOSED;
        to->len += n;
        left -= n;
    }
    *type = head[0];
    return WIRE_OK;
}

/* ---- Listening ------------------------------------------------------------------------------ */

static unsigned port_of(int fd)
{
    struct sockaddr_storage at;
    socklen_t n = sizeof at;
    char port[8] = "0";
    if (!getsockname(fd, (struct sockaddr *)&at, &n))
        getnameinfo((struct sockaddr *)&at, n, NULL, 0, port, sizeof port, NI_NUMERICSERV);
    return (unsigned)strtoul(port, NULL, 10);
}

int wire_listen(const char *address, unsigned *port, const char **why)
{
    struct addrinfo *found = look_up(address, AI_PASSIVE);
    int fd = -1, one = 1;
    *why = problem;
    if (!found)
        return -1;
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd >= 0 && (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, BACKLOG))) {
        int error = errno;
        close(fd);
        fd = -1;
        errno = error;
    }
    if (fd < 0)
        snprintf(problem, sizeof problem, "%.100s: %s", address, strerror(errno));
    else
        *port = port_of(fd);
    freeaddrinfo(found);
    return fd;
}
