/* SPDX-License-Identifier: MIT */
/* Following the log in MySQL, and reads that wait for it. */
#include <inttypes.h>

#include "engine/local/replica_internal.h"
#include "engine/ops/ops.h"

enum {
    READ_BYTES = 16 << 20, /* of records in one question */
    EXACT_MS =
        LOG_LEASE_MS, /* a read waits so long to be exact; then it is answered with its age */
};

/* ---- Reads ----------------------------------------------------------------------------------------- */

/* What opens a post waits as a read does, since most of the time it is one. */
static void replica_read_complete(struct local *local, struct tidings_call *call, bool is_current)
{
    call->next = NULL;
    call->until_ms = 0;
    call->is_current = is_current;
    if (op_writes(call->op->kind))
        local_submit_change(local, call, is_current);
    else
        call->done(call);
}

void replica_reads_complete(struct replica *replica, struct tidings_call *reads, bool is_current)
{
    while (reads) {
        struct tidings_call *call = reads;
        reads = call->next;
        replica_read_complete(replica->local, call, is_current);
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

bool replica_knows_all(struct local *local)
{
    const struct replica *replica = local->replica;
    return atomic_load(&local->role) == TIDINGS_WRITER &&
           wait_now_ms() < atomic_load(&replica->lease_ms) &&
           !atomic_load(&replica->append_underway);
}

uint64_t replica_word(struct local *local)
{
    struct replica *replica = local->replica;
    if (atomic_load(&local->role) != TIDINGS_WRITER ||
        wait_now_ms() >= atomic_load(&replica->lease_ms))
        return 0;
    /* In this order: an append that is over by now was committed before. */
    uint64_t underway =
        atomic_load(&replica->append_underway) ? atomic_load(&replica->append_position) : 0;
    uint64_t committed = atomic_load(&local->committed);
    return underway > committed ? underway : committed;
}

bool replica_word_is_void(struct local *local, uint64_t position)
{
    return !atomic_load(&local->replica->append_underway) &&
           atomic_load(&local->committed) < position;
}

void replica_reads_ask(struct replica *replica, struct tidings_call *reads)
{
    if (!reads)
        return;
    struct tidings_call *last = reads;
    while (last->next)
        last = last->next;
    pthread_mutex_lock(&replica->mutex);
    last->next = replica->reads;
    replica->reads = reads;
    pthread_cond_broadcast(&replica->changed);
    pthread_mutex_unlock(&replica->mutex);
}

void replica_submit_read(struct local *local, struct tidings_call *call)
{
    struct replica *replica = local->replica;
    if (!call->until_ms)
        call->until_ms = wait_now_ms() + EXACT_MS;
    if (replica_knows_all(local)) {
        replica_read_complete(local, call, true);
        return;
    }
    bool writes = atomic_load(&local->role) == TIDINGS_WRITER;
    pthread_mutex_lock(&replica->mutex);
    bool is_pointless = atomic_load(&replica->stopping) || replica->away || replica->broken;
    bool late = writes && atomic_load(&replica->append_underway);
    bool by_word = !writes && atomic_load(&replica->gives_word);
    struct tidings_call **list = late      ? &replica->late_reads
                                 : by_word ? &replica->word_reads
                                           : &replica->reads;
    bool wakes = !is_pointless && by_word && !*list;
    if (!is_pointless) {
        call->next = *list;
        *list = call;
        if (!late && !by_word)
            pthread_cond_broadcast(&replica->changed);
    }
    pthread_mutex_unlock(&replica->mutex);
    if (wakes)
        replica_push_wake(replica);
    if (is_pointless)
        replica_read_complete(local, call, false);
}

void replica_away_note(struct replica *replica, bool away)
{
    struct tidings_call *reads = NULL;
    pthread_mutex_lock(&replica->mutex);
    replica->away = away;
    if (away) {
        reads = replica->reads;
        replica->reads = NULL;
    }
    pthread_mutex_unlock(&replica->mutex);
    replica_reads_complete(replica, reads, false);
}

/* Those that are not answered now wait for the next question: it is not at the end yet, or nobody is sure where that is. */
static void replica_reads_end(struct replica *replica, struct tidings_call *reads, bool is_current,
                              bool may_wait)
{
    while (reads) {
        struct tidings_call *call = reads;
        reads = call->next;
        if (!is_current && may_wait && wait_now_ms() < call->until_ms)
            replica_submit_read(replica->local, call);
        else
            replica_read_complete(replica->local, call, is_current);
    }
}

void replica_reads_conclude(struct replica *replica, struct tidings_call *reads, int64_t asked_ms,
                            bool answered)
{
    struct local *local = replica->local;
    bool is_current = replica_knows_all(local) || (atomic_load(&local->role) != TIDINGS_WRITER &&
                                                   atomic_load(&replica->current_ms) >= asked_ms);
    replica_reads_end(replica, reads, is_current, answered);
}

void replica_batch_done(struct local *local, bool is_shown)
{
    struct replica *replica = local->replica;
    pthread_mutex_lock(&replica->mutex);
    if (is_shown)
        atomic_store(&replica->lacks_ms, 0);
    atomic_store(&replica->append_underway, false);
    struct tidings_call *reads = replica->late_reads;
    replica->late_reads = NULL;
    pthread_mutex_unlock(&replica->mutex);
    /* An append that was refused, or came too late, says that another server may have gone on. */
    replica_reads_end(replica, reads, replica_knows_all(local), true);
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
    struct peer_end before = local_end(local);
    int64_t asked_ms = wait_now_ms();
    enum log_outcome outcome =
        log_mysql_read(replica->asking, before.position, TAIL_READ_RECORDS, READ_BYTES, &batch);
    replica_away_note(replica, outcome != LOG_DONE);
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
    if (err == TIDINGS_CORRUPT && replica_disagrees(replica, &records[0])) {
        *writer = batch.writer;
        replica_diverge(replica, writer);
        return false;
    }
    if (err) {
        char text[COMPLAINT_BYTES];
        snprintf(text, sizeof text, "following the log stands still behind batch %" PRIu64 ": %s",
                 before.position, tidings_err_text(err));
        replica_say(replica, text, err == TIDINGS_CORRUPT || err == TIDINGS_UNCERTAIN);
        return false;
    }
    *writer = batch.writer;
    if (!replica_compare(replica, &before, writer))
        return false;
    *at_end = !replica->seen.ahead_ms && local_end(local).position >= writer->position;
    bool believed = writer->ready && writer->server == writer->asked; /* rule 12 */
    if (*at_end && believed) {
        atomic_store(&replica->current_ms, asked_ms);
        atomic_store(&replica->lacks_ms, 0);
        replica_unsure_resolve(replica, writer->fence);
    }
    replica_writer_note(replica, writer);
    if (!replica->seen.ahead_ms)
        replica_say(replica, "", false);
    return true;
}

void replica_hurry(struct replica *replica)
{
    pthread_mutex_lock(&replica->mutex);
    replica->hurry = true;
    pthread_cond_broadcast(&replica->changed);
    pthread_mutex_unlock(&replica->mutex);
}

void replica_writer_note(struct replica *replica, const struct log_writer *writer)
{
    bool writes = writer->ready && writer->holder != replica->id && writer->lease_left_ms > 0;
    const char *address = writes ? writer->address : "";
    pthread_mutex_lock(&replica->mutex);
    bool is_new = strcmp(replica->writer, address) != 0;
    snprintf(replica->writer, sizeof replica->writer, "%.250s", address);
    pthread_mutex_unlock(&replica->mutex);
    if (is_new)
        replica_push_wake(replica);
    forward_writer_note(replica->local, address, writer->fence);
}

bool replica_wait_position(struct local *local, uint64_t position, unsigned ms)
{
    struct timespec until = wait_until_ms(ms);
    int rc = 0;
    if (local_end(local).position < position)
        replica_hurry(local->replica);
    pthread_mutex_lock(&local->end_mutex);
    while (local->end.position < position && !rc)
        rc = pthread_cond_timedwait(&local->end_changed, &local->end_mutex, &until);
    bool shown = local->end.position >= position;
    pthread_mutex_unlock(&local->end_mutex);
    return shown;
}
