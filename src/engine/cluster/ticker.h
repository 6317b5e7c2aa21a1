/* SPDX-License-Identifier: MIT */
/* A thread that does something again and again. */
#ifndef CLUSTER_TICKER_H
#define CLUSTER_TICKER_H

#include <pthread.h>
#include <stdbool.h>

struct ticker {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards `stopping` */
    pthread_cond_t wanted;
    bool runs, stopping;
};

void ticker_init(struct ticker *ticker);
void ticker_release(struct ticker *ticker);
bool ticker_start(struct ticker *ticker, void *(*main)(void *arg), void *arg);
/* For the thread itself: until it is time to go on; false if it is time to stop. */
bool ticker_wait(struct ticker *ticker, int ms);
void ticker_stop(struct ticker *ticker);

#endif
