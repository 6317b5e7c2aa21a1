/* SPDX-License-Identifier: MIT */
/* What the files of the API share. */
#ifndef API_INTERNAL_H
#define API_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/exchange.h"
#include "api/metrics.h"
#include "api/room.h"
#include "api/samples.h"
#include "api/streams.h"
#include "api/tickets.h"

/* What one loop thread has for itself. */
struct api_loop {
    struct jwt_verifier *verifier;
    struct seal *seal;
    struct buf out; /* for the answer being written */
    struct metrics *metrics;
    struct streams *streams;
    struct room room;
};

/* The verify or backup under way, for those who ask how far it has got. */
struct api_job {
    pthread_mutex_t mutex;
    const char *kind; /* NULL: none */
    const char *part;
    uint64_t done, total;
    int64_t started_ms;
};

struct api {
    struct api_config config;
    _Atomic(struct http_server *) server;
    _Atomic bool ready;
    struct api_job job;
    pthread_t worker; /* whoever has begun the job may touch these two */
    bool has_worker;
    uint64_t started_us; /* by a clock that nobody sets */
    struct api_loop *loops;
    struct teller *teller;
    struct samples *samples;
};

/* Zeros while there is no server. */
void api_counters(struct api *api, struct http_counters *counters);

/* jobs.c: for the status. */
void put_job(struct json_out *out, struct api_job *job);

int64_t api_now_ms(void);
uint64_t api_now_us(void);

#endif
