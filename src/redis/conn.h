/* SPDX-License-Identifier: MIT */
/*
 * One connection to one node: looks the host up, connects, proves who it is talking with, introduces itself, and from then on sends
 * bytes and takes replies in their order. It never blocks: whoever owns it polls conn_fd for conn_events and calls
 * conn_step. A connection that fails is closed by its owner, and may be opened again.
 *
 * Every command that is written is followed by conn_expect, which says what its reply belongs to: replies have no name of their own.
 */
#ifndef REDIS_CONN_H
#define REDIS_CONN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "redis/reader.h"
#include "redis/resolve.h"
#include "redis/tls.h"
#include "redis/told.h"

enum conn_state {
    CONN_CLOSED,
    CONN_RESOLVING,
    CONN_CONNECTING,
    CONN_HANDSHAKING,
    CONN_GREETING,
    CONN_READY,
};

enum {
    CONN_STEP_MS = 1000, /* for each step on the way to READY */
    CONN_COMMAND_MAX = 16 << 20,
    CONN_PROBLEM_MAX = 160,
};

/* The same for all connections of a client. */
struct conn_settings {
    char *user, *password; /* NULL: none */
    struct tls *tls;       /* NULL: none */
};

/* What a reply is for; the numbers below are the owner's. */
enum { EXPECT_AUTH = UINT32_MAX, EXPECT_INFO = UINT32_MAX - 1, EXPECT_OWNERS = UINT32_MAX - 2 };

struct expected {
    uint32_t what;
    uint64_t end; /* of its command among all bytes of this connection */
};

struct conn {
    const struct conn_settings *settings;
    struct address address;
    enum conn_state state;
    int fd; /* -1: none */
    struct lookup *lookup;
    struct resolved found;
    size_t next_found, left_found; /* which is tried next, and how many may be tried yet */
    struct link *link;
    struct buf out;
    size_t out_at;             /* what of it is sent */
    uint64_t out_base;         /* bytes sent before it */
    uint64_t offered;          /* bytes that the other side may have */
    struct expected *expected; /* a ring */
    size_t expected_at, expected_n, expected_cap;
    struct reader reader;
    bool more; /* TLS may have bytes that poll does not tell of: step it again without waiting */
    int64_t deadline_ms; /* of the step under way, before READY */
    char run_id[RUN_ID_MAX + 1];
    char problem[CONN_PROBLEM_MAX]; /* why it failed, without the address */
    bool unwelcome;                 /* it failed for who we say to be, or who they are */
};

void redis_conn_init(struct conn *conn, const struct conn_settings *settings,
                     const struct address *address);
void redis_conn_release(struct conn *conn);

/* Begins to connect. Like all that follow: false if the connection has failed, and `problem` says why. */
bool redis_conn_open(struct conn *conn, int64_t now_ms);
/* What was read stays until conn_forget; what was expected is the caller's to look at before. */
void redis_conn_close(struct conn *conn);

int redis_conn_fd(const struct conn *conn);
short redis_conn_events(const struct conn *conn);
/* Something has happened on it: goes on connecting, or sends and reads. */
bool redis_conn_step(struct conn *conn, short revents, int64_t now_ms);
/* Sends what was written, as far as that goes. */
bool redis_conn_flush(struct conn *conn);

/* Behind the bytes in `out`. */
bool redis_conn_expect(struct conn *conn, uint32_t what);
size_t redis_conn_unsent(const struct conn *conn);
/* The other side cannot have run it. */
bool redis_conn_unseen(const struct conn *conn, const struct expected *expected);
/* The oldest first; false if there is none. */
bool redis_conn_pop_expected(struct conn *conn, struct expected *expected);

/* The next reply that has come, whatever it is for. */
enum reader_state redis_conn_reply(struct conn *conn, const struct redisReply **reply,
                                   const struct redisReply **error);

#endif
