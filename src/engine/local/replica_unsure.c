/* SPDX-License-Identifier: MIT */
/* Batches whose append was not answered: their calls wait here until the log says whether they were made. */
#include "engine/local/replica_internal.h"

static struct tidings_call *unsure_take(struct replica_unsure *unsure)
{
    struct tidings_call *calls = unsure->calls;
    unsure->calls = NULL;
    return calls;
}

void replica_unsure_begin(struct replica *replica, const struct redo_record *record, uint64_t fence)
{
    pthread_mutex_lock(&replica->mutex);
    replica->unsure = (struct replica_unsure){
        .state = UNSURE_OPEN,
        .position = record->number,
        .fence = fence,
        .chain = record->chain,
        .until_ms = wait_now_ms() + (int64_t)local_in_force(replica->local)->deadline_ms,
    };
    pthread_mutex_unlock(&replica->mutex);
}

/* OK: the batch was made. STANDBY: it was not; its calls go to the writer that there is now. */
static void unsure_complete(struct replica *replica, struct tidings_call *calls, bool found)
{
    if (calls)
        writer_complete(replica->local, calls, found ? TIDINGS_OK : TIDINGS_STANDBY);
}

void replica_hold(struct local *local, struct tidings_call *batch)
{
    struct replica *replica = local->replica;
    struct replica_unsure *unsure = &replica->unsure;
    pthread_mutex_lock(&replica->mutex);
    bool is_known = unsure->state == UNSURE_KNOWN, found = unsure->found;
    bool is_open = unsure->state == UNSURE_OPEN;
    if (is_open)
        unsure->calls = batch;
    pthread_mutex_unlock(&replica->mutex);
    if (is_known)
        unsure_complete(replica, batch, found);
    else if (!is_open) /* the own log failed, not the append */
        writer_complete(local, batch, TIDINGS_UNCERTAIN);
}

void replica_applied(struct local *local, const struct redo_record *records, size_t n)
{
    struct replica *replica = local->replica;
    struct replica_unsure *unsure = &replica->unsure;
    pthread_mutex_lock(&replica->mutex);
    for (size_t i = 0; i < n && unsure->state == UNSURE_OPEN; i++)
        if (records[i].number == unsure->position && chain_same(&records[i].chain, &unsure->chain))
            unsure->found = true;
    pthread_mutex_unlock(&replica->mutex);
}

void replica_unsure_resolve(struct replica *replica, uint64_t fence)
{
    struct replica_unsure *unsure = &replica->unsure;
    struct tidings_call *calls = NULL;
    pthread_mutex_lock(&replica->mutex);
    bool found = unsure->found;
    if (unsure->state == UNSURE_OPEN && fence > unsure->fence) {
        unsure->state = UNSURE_KNOWN;
        calls = unsure_take(unsure);
    }
    pthread_mutex_unlock(&replica->mutex);
    unsure_complete(replica, calls, found);
}

void replica_unsure_expire(struct replica *replica, int64_t now_ms)
{
    struct replica_unsure *unsure = &replica->unsure;
    struct tidings_call *calls = NULL;
    pthread_mutex_lock(&replica->mutex);
    if (unsure->calls && now_ms >= unsure->until_ms)
        calls = unsure_take(unsure);
    pthread_mutex_unlock(&replica->mutex);
    if (calls)
        writer_complete(replica->local, calls, TIDINGS_UNCERTAIN);
}
