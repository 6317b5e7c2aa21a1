/* SPDX-License-Identifier: MIT */
#include "redis/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>

struct tls {
    SSL_CTX *context;
    BIO_METHOD *method;
};

struct link {
    SSL *ssl;
};

/* ---- A BIO over a socket, as OpenSSL's own, which writes without MSG_NOSIGNAL ------------------- */

static int socket_of(BIO *bio)
{
    return (int)(intptr_t)BIO_get_data(bio);
}

static int bio_write(BIO *bio, const char *from, int n)
{
    BIO_clear_retry_flags(bio);
    ssize_t put = send(socket_of(bio), from, (size_t)n, MSG_NOSIGNAL);
    if (put < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_write(bio);
    return (int)put;
}

static int bio_read(BIO *bio, char *to, int n)
{
    BIO_clear_retry_flags(bio);
    ssize_t got = recv(socket_of(bio), to, (size_t)n, 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        BIO_set_retry_read(bio);
    return (int)got;
}

static long bio_control(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *make_method(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");
    if (method && BIO_meth_set_write(method, bio_write) && BIO_meth_set_read(method, bio_read) &&
        BIO_meth_set_ctrl(method, bio_control))
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* ---- Whom to trust ------------------------------------------------------------------------------ */

static SSL_CTX *make_context(const char *ca_file, const char **message)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    *message = "out of memory";
    if (!context)
        return NULL;
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    if (ca_file ? SSL_CTX_load_verify_locations(context, ca_file, NULL)
                : SSL_CTX_set_default_verify_paths(context))
        return context;
    *message = ca_file ? "the CA file cannot be read" : "the system's certificates cannot be read";
    SSL_CTX_free(context);
    return NULL;
}

struct tls *tls_new(const char *ca_file, const char **message)
{
    struct tls *tls = calloc(1, sizeof *tls);
    *message = "out of memory";
    if (tls && (tls->method = make_method()) && (tls->context = make_context(ca_file, message)))
        return tls;
    tls_free(tls);
    ERR_clear_error();
    return NULL;
}

void tls_free(struct tls *tls)
{
    if (!tls)
        return;
    SSL_CTX_free(tls->context);
    BIO_meth_free(tls->method);
    free(tls);
}

/* ---- One connection ----------------------------------------------------------------------------- */

/* By its number if that is what is connected to: then no name is sent either. */
static bool expect_host(SSL *ssl, const char *host)
{
    unsigned char number[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, host, number) == 1 || inet_pton(AF_INET6, host, number) == 1)
        return X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
    return SSL_set1_host(ssl, host) && SSL_set_tlsext_host_name(ssl, host);
}

struct link *link_new(struct tls *tls, int fd, const char *host)
{
    struct link *link = calloc(1, sizeof *link);
    BIO *bio = BIO_new(tls->method);
    if (!link || !bio || !(link->ssl = SSL_new(tls->context))) {
        BIO_free(bio);
        link_free(link);
        return NULL;
    }
    BIO_set_data(bio, (void *)(intptr_t)fd);
    BIO_set_init(bio, 1);
    SSL_set_bio(link->ssl, bio, bio);
    SSL_set_connect_state(link->ssl);
    if (expect_host(link->ssl, host))
        return link;
    link_free(link);
    return NULL;
}

void link_free(struct link *link)
{
    if (link)
        SSL_free(link->ssl);
    free(link);
}

/* The queue of errors is the thread's: others must find it empty. */
static enum link_state state_of(struct link *link, int result)
{
    int error = result > 0 ? SSL_ERROR_NONE : SSL_get_error(link->ssl, result);
    ERR_clear_error();
    switch (error) {
    case SSL_ERROR_NONE:
        return LINK_DONE;
    case SSL_ERROR_WANT_READ:
        return LINK_WANTS_READ;
    case SSL_ERROR_WANT_WRITE:
        return LINK_WANTS_WRITE;
    case SSL_ERROR_ZERO_RETURN:
        return LINK_CLOSED;
    default:
        return LINK_BROKEN;
    }
}

enum link_state link_handshake(struct link *link)
{
    return state_of(link, SSL_do_handshake(link->ssl));
}

bool link_wants_write(const struct link *link)
{
    return SSL_want_write(link->ssl);
}

enum link_state link_read(struct link *link, char *to, size_t n, size_t *got)
{
    return state_of(link, SSL_read_ex(link->ssl, to, n, got));
}

enum link_state link_write(struct link *link, const char *from, size_t n, size_t *put)
{
    return state_of(link, SSL_write_ex(link->ssl, from, n, put));
}

bool link_is_distrusted(const struct link *link)
{
    return SSL_get_verify_result(link->ssl) != X509_V_OK;
}

const char *link_problem(const struct link *link)
{
    long verified = SSL_get_verify_result(link->ssl);
    return verified == X509_V_OK ? "the TLS connection failed"
                                 : X509_verify_cert_error_string(verified);
}
