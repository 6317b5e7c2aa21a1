/* SPDX-License-Identifier: MIT */
/*
 * Appending a batch's record to the log in MySQL, on a thread of its own, so that the own log is synced beside MySQL's commit
 * (rule 8).
 */
#include "engine/local/replica_internal.h"

static enum tidings_err replica_append(struct replica *replica, const struct redo_record *record,
                                       const struct chain *before)
{
    struct log_end end = {.fence = atomic_load(&replica->fence), .position = record->number - 1};
    uint64_t fence = end.fence;
    struct log_record appended = {
        .position = record->number, .at_ms = record->time_ms, .bytes = record->changes};
    int64_t sent_ms = wait_now_ms();
    memcpy(end.chain, before->bytes, LOG_CHAIN_BYTES);
    memcpy(appended.chain, record->chain.bytes, LOG_CHAIN_BYTES);
    enum log_outcome outcome = log_mysql_append(replica->appending, &end, true, &appended, 1);
    bool late = wait_now_ms() - sent_ms >= LOG_LEASE_MS; /* rule 6 */
    if (outcome == LOG_DONE && !late) {
        atomic_store(&replica->lease_ms, sent_ms + LOG_LEASE_MS);
        return TIDINGS_OK;
    }
    if (outcome == LOG_UNREACHABLE || outcome == LOG_FAILED) {
        replica_say(replica, log_mysql_message(replica->appending), false);
        return TIDINGS_UNREACHABLE;
    }
    /* Rule 4: whatever became of it, it is not the writer any more. */
    if (outcome != LOG_REFUSED)
        replica_unsure_begin(replica, record, fence);
    atomic_store(&replica->fence, 0);
    return outcome == LOG_REFUSED ? TIDINGS_STANDBY : TIDINGS_UNCERTAIN;
}

void *replica_appender_main(void *arg)
{
    struct replica *replica = arg;
    thread_name("appender");
    pthread_mutex_lock(&replica->mutex);
    while (!replica->append_ends || replica->append_state == APPEND_WANTED) {
        if (replica->append_state != APPEND_WANTED) {
            pthread_cond_wait(&replica->append_changed, &replica->mutex);
            continue;
        }
        const struct redo_record *record = replica->record;
        struct chain before = replica->before;
        pthread_mutex_unlock(&replica->mutex);
        enum tidings_err err = replica_append(replica, record, &before);
        pthread_mutex_lock(&replica->mutex);
        replica->append_result = err;
        replica->append_state = APPEND_DONE;
        pthread_cond_broadcast(&replica->append_changed);
    }
    pthread_mutex_unlock(&replica->mutex);
    return NULL;
}

void replica_decide_begin(void *ctx, const struct redo_record *record, const struct chain *before)
{
    struct replica *replica = ctx;
    if (!atomic_load(&replica->lacks_ms))
        atomic_store(&replica->lacks_ms, wait_now_ms());
    atomic_store(&replica->append_position, record->number);
    atomic_store(&replica->append_underway, true);
    pthread_mutex_lock(&replica->mutex);
    replica->record = record;
    replica->before = *before;
    replica->append_state = APPEND_WANTED;
    pthread_cond_broadcast(&replica->append_changed);
    pthread_mutex_unlock(&replica->mutex);
}

enum tidings_err replica_decide_end(void *ctx)
{
    struct replica *replica = ctx;
    pthread_mutex_lock(&replica->mutex);
    while (replica->append_state != APPEND_DONE)
        pthread_cond_wait(&replica->append_changed, &replica->mutex);
    enum tidings_err err = replica->append_result;
    replica->append_state = APPEND_NONE;
    pthread_mutex_unlock(&replica->mutex);
    if (!atomic_load(&replica->fence)) /* in the writer's turn */
        atomic_store(&replica->local->role, TIDINGS_FOLLOWER);
    return err;
}
