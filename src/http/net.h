/* SPDX-License-Identifier: MIT */
/* One loop thread's sockets: what server.c starts and stops, and net.c does. */
#ifndef HTTP_NET_H
#define HTTP_NET_H

#include <stdatomic.h>
#include <sys/queue.h>
#include <uv.h>

#include "http/internal.h"
#include "http/peers.h"

/* A read is also the most that is kept of a client whose pipeline is full. */
enum { NET_READ_SIZE = 16384, NET_TICK_MS = 250, NET_BACKLOG = 1024 };
/* The least time between two looks at what all clients have taken; how long requests are begun
 * until the sockets are looked at again. */
enum { NET_MEASURE_MS = 10, NET_SLICE_MS = 10 };
/* Who has sent more before it was looked at has hardly sent a single request. */
enum { NET_ONE_REQUEST = 1024 };

/* What the loops share. */
struct net_shared {
    struct http_config config;
    struct peers *peers; /* NULL: no limit for each address */
    _Atomic uint64_t connections;
    _Atomic uint64_t unsent;
};

struct net_loop {
    struct http_loop core;
    struct net_shared *shared;
    uv_loop_t uv;
    uv_tcp_t listener;
    uv_async_t async;
    uv_timer_t tick;
    uv_thread_t thread;
    struct http_post stop;
    uint64_t stop_at_ms;        /* monotonic; set before `stop` is posted */
    TAILQ_HEAD(, link) sending; /* those whose clients have not taken everything, as far as known */
    TAILQ_HEAD(, link)
    later[2];             /* those for whose requests there was no time: with one, with many */
    uint64_t measured_ms; /* when those of `sending` were last looked at */
    bool listening;
    char input[NET_READ_SIZE]; /* every read of the loop: nothing is kept in it between turns */
};

/* Prepares the loop to accept on the listener, which is bound. A libuv code. */
int net_start(struct net_loop *net);

/* Runs until the loop is stopped and has nothing left to do. */
void net_run(struct net_loop *net);

/* A http_post: begins the stop. */
void net_begin_stop(struct http_post *post);

#endif
