/* SPDX-License-Identifier: MIT */
/* One loop thread's sockets: what server.c starts and stops, and net.c does. */
#ifndef HTTP_NET_H
#define HTTP_NET_H

#include <stdatomic.h>
#include <uv.h>

#include "http/internal.h"
#include "http/peers.h"

/* A read is also the most that is kept of a client whose pipeline is full. */
enum { NET_READ_SIZE = 16384, NET_TICK_MS = 250, NET_BACKLOG = 1024 };

/* What the loops share. */
struct net_shared {
    struct http_config config;
    struct peers *peers; /* NULL: no limit for each address */
    _Atomic uint64_t connections;
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
    uint64_t stop_at_ms; /* monotonic; set before `stop` is posted */
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
