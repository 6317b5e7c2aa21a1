/* SPDX-License-Identifier: MIT */
/* Following the log in MySQL, and reads that wait for it. */
#include <inttypes.h>

#include "engine/local/replica_internal.h"

enum { READ_BYTES = 16 << 20 }; /* of records in one question */

/* ---- Reads ----------------------------------------------------------------------------------------- */

void replica_reads_complete(struct tidings_call *reads)
{
    while (reads) {
        struct tidings_call *call = reads;
        reads = call->next;
        call->done(call);
    }
}

struct tidings_call *replica_reads_take(struct replica *replica, struct tidings_call **list)
{
    pthread_mutex_lock(&replica->mutex);
    struct tidings_call *reads = *list;
    *list = NULL;
    pthread_mutex_unlock(&replica->mutex);
    return reads;
}

/* Rule 13: the writer knows all that was acknowledged, while its lease holds and no append is under way. */
static bool replica_knows_all(struct local *local, const struct replica *replica)
{
    return atomic_load(&local->role) == TIDINGS_WRITER &&
           wait_now_ms() < atomic_load(&replica->lease_ms) &&
           !atomic_load(&replica->append_underway);
}

void replica_submit_read(struct local *local, struct tidings_call *call)
{
    struct replica *replica = local->replica;
    if (replica_knows_all(local, replica) || atomic_load(&replica->away)) {
        call->done(call);
        return;
    }
    bool writes = atomic_load(&local->role) == TIDINGS_WRITER;
    pthread_mutex_lock(&replica->mutex);
    bool stopping = atomic_load(&replica->stopping);
    bool late = writes && atomic_load(&replica->append_underway);
    struct tidings_call **list = late ? &replica->late_reads : &replica->reads;
    if (!stopping) {
        call->next = *list;
        *list = call;
        if (!late)
            pthread_cond_broadcast(&replica->changed);
    }
    pthread_mutex_unlock(&replica->mutex);
    if (stopping)
        call->done(call);
}

void replica_batch_done(struct local *local)
{
    struct replica *replica = local->replica;
    pthread_mutex_lock(&replica->mutex);
    atomic_store(&replica->append_underway, false);
    struct tidings_call *reads = replica->late_reads;
    replica->late_reads = NULL;
    pthread_mutex_unlock(&replica->mutex);
    replica_reads_complete(reads);
}

/* ---- Following --------------------------------------------------------------------------------------- */

static struct redo_record replica_record_of(const struct log_record *from)
{
    struct redo_record record = {.number = from->position,
                                 .sure = from->position,
                                 .time_ms = from->at_ms,
                                 .is_chained = true,
                                 .changes = from->bytes};
    memcpy(record.chain.bytes, from->chain, CHAIN_BYTES);
    return record;
}

/* One question, and what it brought. False: it cannot go on now. */
bool replica_follow(struct replica *replica, struct log_writer *writer, bool *at_end)
{
    struct local *local = replica->local;
    struct redo_record *records = local->follower.records;
    struct log_batch batch;
    struct peer_end end = local_end(local);
    int64_t asked_ms = wait_now_ms();
    enum log_outcome outcome =
        log_mysql_read(replica->asking, end.position, TAIL_READ_RECORDS, READ_BYTES, &batch);
    atomic_store(&replica->away, outcome != LOG_DONE);
    if (outcome != LOG_DONE) {
        const char *text = log_mysql_message(replica->asking);
        if (outcome == LOG_TRIMMED)
            replica_rejoin(replica, REJOIN_OUTDATED, text);
        else
            replica_say(replica, text, outcome == LOG_CORRUPT);
        return false;
    }
    for (size_t i = 0; i < batch.n; i++)
        records[i] = replica_record_of(&batch.records[i]);
    enum tidings_err err = batch.n ? apply_records(local, records, batch.n) : TIDINGS_OK;
    if (err) {
        char text[COMPLAINT_BYTES];
        snprintf(text, sizeof text, "following the log stands still behind batch %" PRIu64 ": %s",
                 end.position, tidings_err_text(err));
        replica_say(replica, text, err == TIDINGS_CORRUPT || err == TIDINGS_UNCERTAIN);
        return false;
    }
    end = local_end(local);
    *writer = batch.writer;
    *at_end = end.position == writer->position;
    bool differs = end.position > writer->position ||
                   (*at_end && memcmp(end.chain.bytes, writer->chain, CHAIN_BYTES) != 0);
    if (differs) {
        replica_say(replica, "this directory has changes that the log in MySQL does not have",
                    true);
        return false;
    }
    bool believed = writer->ready && writer->server == writer->asked; /* rule 12 */
    if (*at_end && believed)
        atomic_store(&replica->current_ms, asked_ms);
    replica_say(replica, "", false);
    return true;
}
