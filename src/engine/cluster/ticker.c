/* SPDX-License-Identifier: MIT */
/* Looking again after a while, until it is time to stop. */
#include <time.h>

#include "base/wait.h"
#include "engine/cluster/cluster.h"

void ticker_init(struct ticker *ticker)
{
    *ticker = (struct ticker){0};
    pthread_mutex_init(&ticker->mutex, NULL);
    wait_init(&ticker->wanted);
}

void ticker_release(struct ticker *ticker)
{
    pthread_cond_destroy(&ticker->wanted);
    pthread_mutex_destroy(&ticker->mutex);
}

bool ticker_start(struct ticker *ticker, void *(*main)(void *arg), void *arg)
{
    ticker->runs = !pthread_create(&ticker->thread, NULL, main, arg);
    return ticker->runs;
}

bool ticker_wait(struct ticker *ticker, int ms)
{
    struct timespec until = wait_until(0);
    until.tv_nsec += ms % 1000 * 1000000L;
    until.tv_sec += ms / 1000 + until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_mutex_lock(&ticker->mutex);
    int rc = 0;
    while (!ticker->stopping && !rc)
        rc = pthread_cond_timedwait(&ticker->wanted, &ticker->mutex, &until);
    bool go_on = !ticker->stopping;
    pthread_mutex_unlock(&ticker->mutex);
    return go_on;
}

void ticker_stop(struct ticker *ticker)
{
    if (!ticker->runs)
        return;
    pthread_mutex_lock(&ticker->mutex);
    ticker->stopping = true;
    pthread_cond_signal(&ticker->wanted);
    pthread_mutex_unlock(&ticker->mutex);
    pthread_join(ticker->thread, NULL);
}
