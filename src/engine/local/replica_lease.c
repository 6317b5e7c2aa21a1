/* SPDX-License-Identifier: MIT */
/* The lease: keeping it, losing it, taking over. The role changes in the writer's turn alone. */
#include "engine/local/replica_internal.h"

void replica_step_down(struct replica *replica)
{
    struct local *local = replica->local;
    pthread_mutex_lock(&local->writer.turn);
    atomic_store(&replica->fence, 0);
    atomic_store(&local->role, TIDINGS_FOLLOWER);
    pthread_mutex_unlock(&local->writer.turn);
}

void replica_batch_unsure(struct local *local)
{
    atomic_store(&local->replica->fence, 0);
    atomic_store(&local->role, TIDINGS_FOLLOWER);
}

void replica_lease_keep(struct replica *replica)
{
    int64_t sent_ms = wait_now_ms();
    uint64_t fence = atomic_load(&replica->fence);
    uint64_t position = local_end(replica->local).position;
    enum log_outcome outcome =
        fence ? log_mysql_renew(replica->asking, fence, position) : LOG_REFUSED;
    if (outcome == LOG_DONE && atomic_load(&replica->lease_ms) < sent_ms + LOG_LEASE_MS)
        atomic_store(&replica->lease_ms, sent_ms + LOG_LEASE_MS);
    bool over = wait_now_ms() >= atomic_load(&replica->lease_ms);
    if (outcome == LOG_REFUSED || over) {
        replica_say(replica, "another server makes changes now, or the lease is over", false);
        replica_step_down(replica);
        replica_away_note(replica, replica_is_silent(outcome));
    } else if (outcome != LOG_DONE) {
        replica_say(replica, log_mysql_message(replica->asking), false);
    } else {
        replica_say(replica, "", false);
    }
}

/* Under the new fence, before anything is executed. */
bool replica_read_to_end(struct replica *replica, struct log_writer *writer)
{
    bool at_end = false;
    while (!at_end && !atomic_load(&replica->stopping)) {
        if (!replica_follow(replica, writer, &at_end))
            return false;
        at_end |= replica->seen.ahead_ms != 0;
    }
    return at_end;
}

/*
 * Whether the lease is over: by MySQL's clock. If that was set back, it never is: then when the row has not moved for so long.
 * Rule 7: on another server of MySQL than the fence was taken on, or on a log that went back, a whole lease later than that was
 * first seen: so long a writer of before may answer exact reads.
 */
bool replica_may_take_over(struct replica *replica, const struct log_writer *writer)
{
    int64_t now_ms = wait_now_ms();
    if (replica->seen.server != writer->asked) {
        replica->seen.server = writer->asked;
        replica->seen.since_ms = now_ms;
    }
    if (replica->seen.until_ms != writer->until_ms) {
        replica->seen.until_ms = writer->until_ms;
        replica->seen.leased_ms = now_ms;
    }
    bool stuck =
        writer->lease_left_ms > LOG_LEASE_MS && now_ms - replica->seen.leased_ms > LOG_LEASE_MS;
    bool moved = writer->holder && writer->server != writer->asked;
    bool ahead = replica->seen.ahead_ms != 0;
    return (writer->lease_left_ms <= 0 || stuck) && now_ms >= replica->patient_ms &&
           (!moved || now_ms - replica->seen.since_ms > LOG_LEASE_MS) &&
           (!ahead || now_ms - replica->seen.ahead_ms > LOG_LEASE_MS);
}

/* The log is complete, and this replica has all of it. */
static void replica_become_writer(struct replica *replica, uint64_t fence, uint64_t era)
{
    struct local *local = replica->local;
    replica_unsure_resolve(replica, fence);
    struct peer_end own = local_end(local);
    struct log_end end = {.fence = fence, .position = own.position};
    int64_t sent_ms = wait_now_ms();
    memcpy(end.chain, own.chain.bytes, CHAIN_BYTES);
    if (log_mysql_confirm(replica->asking, &end, era) != LOG_DONE)
        return;
    pthread_mutex_lock(&local->writer.turn);
    atomic_store(&replica->lease_ms, sent_ms + LOG_LEASE_MS);
    atomic_store(&replica->fence, fence);
    enum tidings_err err = promote_in_turn(local, era);
    if (err == TIDINGS_UNCERTAIN)
        replica_batch_unsure(local);
    pthread_mutex_unlock(&local->writer.turn);
    replica_batch_done(local, err != TIDINGS_UNCERTAIN);
    if (err) {
        replica_say(replica, tidings_err_text(err), false);
        replica_step_down(replica);
        return;
    }
    forward_writer_note(local, "", end.fence);
    atomic_fetch_add(&replica->takeovers, 1);
    writer_wake(local);
}

void replica_take_over(struct replica *replica, const struct log_writer *seen)
{
    struct log_holder holder = {.id = replica->id, .address = replica->address};
    uint64_t fence, era;
    if (log_mysql_take(replica->asking, seen, &holder, &fence) == LOG_DONE &&
        replica_merge(replica, seen, fence, &era))
        replica_become_writer(replica, fence, era);
}
