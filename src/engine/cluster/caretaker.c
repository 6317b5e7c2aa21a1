/* SPDX-License-Identifier: MIT */
/* A thread that keeps the server's place among the others, and sweeps if nobody before it does. */
#include "base/thread.h"
#include "engine/cluster/cluster.h"

enum { BEAT_MS = 2000 };

static void *caretaker_main(void *arg)
{
    struct caretaker *caretaker = arg;
    thread_name("caretaker");
    bool more = false;
    while (ticker_wait(&caretaker->ticker, more ? 0 : BEAT_MS)) {
        server_beat(caretaker->cluster);
        bool first = server_is_first(caretaker->cluster);
        atomic_store(&caretaker->cluster->is_first, first);
        if (caretaker->cluster->memory.wanted &&
            desk_connect(caretaker->cluster, &caretaker->desk, 0))
            memory_beat(caretaker->cluster, caretaker->desk.sql, first);
        more = first && cluster_sweep(caretaker);
    }
    return NULL;
}

enum tidings_err caretaker_start(struct cluster *cluster)
{
    struct caretaker *caretaker = &cluster->caretaker;
    return ticker_start(&caretaker->ticker, caretaker_main, caretaker) ? TIDINGS_OK
                                                                       : TIDINGS_NO_MEMORY;
}

void caretaker_stop(struct cluster *cluster)
{
    ticker_stop(&cluster->caretaker.ticker);
}
