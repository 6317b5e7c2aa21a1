/* SPDX-License-Identifier: MIT */
/* What the files of the API share. */
#ifndef API_INTERNAL_H
#define API_INTERNAL_H

#include <stdatomic.h>

#include "api/exchange.h"
#include "api/metrics.h"
#include "api/streams.h"

/* What one loop thread has for itself. */
struct api_loop {
    struct jwt_verifier *verifier;
    struct seal *seal;
    struct buf out; /* for the answer being written */
    struct metrics *metrics;
    struct streams *streams;
};

struct api {
    struct api_config config;
    _Atomic(struct http_server *) server;
    _Atomic bool ready;
    _Atomic bool working;
    pthread_t worker; /* whoever set `working` may touch these two */
    bool has_worker;
    uint64_t started_ms;
    struct api_loop *loops;
};

/* Zeros while there is no server. */
void api_counters(struct api *api, struct http_counters *counters);

int64_t api_now_ms(void);
uint64_t api_now_us(void);

#endif
