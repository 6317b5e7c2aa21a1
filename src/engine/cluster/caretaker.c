/* SPDX-License-Identifier: MIT */
/* A thread that keeps the server's place among the others. */
#include "base/thread.h"
#include "engine/cluster/cluster.h"

enum { BEAT_MS = 2000 };

static void *caretaker_main(void *arg)
{
    struct caretaker *caretaker = arg;
    thread_name("caretaker");
    while (ticker_wait(&caretaker->ticker, BEAT_MS))
        server_beat(caretaker->cluster);
    return NULL;
}

enum tidings_err caretaker_start(struct cluster *cluster)
{
    struct caretaker *caretaker = &cluster->caretaker;
    return ticker_start(&caretaker->ticker, caretaker_main, caretaker) ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

void caretaker_stop(struct cluster *cluster)
{
    ticker_stop(&cluster->caretaker.ticker);
}
