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
    } else if (outcome != LOG_DONE) {
        replica_say(replica, log_mysql_message(replica->asking), false);
    } else {
        replica_say(replica, "", false);
    }
}

/* Rule 5: to the end, under the new fence, before anything is executed. */
static bool replica_read_to_end(struct replica *replica, struct log_writer *writer)
{
    bool at_end = false;
    while (!at_end && !atomic_load(&replica->stopping))
        if (!replica_follow(replica, writer, &at_end))
            return false;
    return at_end;
}

/*
 * Whether the lease is over: by MySQL's clock. If that was set back, it never is: then when the row has not moved for so long.
 * Rule 7: on another server of MySQL than the fence was taken on, a whole lease later than that one was first seen.
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
    return (writer->lease_left_ms <= 0 || stuck) &&
           (!moved || now_ms - replica->seen.since_ms > LOG_LEASE_MS);
}

void replica_take_over(struct replica *replica, const struct log_writer *seen)
{
    struct local *local = replica->local;
    struct log_holder holder = {.id = replica->id, .address = replica->address};
    struct log_writer writer;
    struct log_end end = {0};
    int64_t sent_ms = wait_now_ms();
    if (log_mysql_take(replica->asking, seen, &holder, &end.fence) != LOG_DONE ||
        !replica_read_to_end(replica, &writer) || writer.fence != end.fence)
        return;
    struct peer_end own = local_end(local);
    end.position = own.position;
    memcpy(end.chain, own.chain.bytes, CHAIN_BYTES);
    if (log_mysql_confirm(replica->asking, &end, own.era) != LOG_DONE)
        return;
    pthread_mutex_lock(&local->writer.turn);
    atomic_store(&replica->lease_ms, sent_ms + LOG_LEASE_MS);
    atomic_store(&replica->fence, end.fence);
    enum tidings_err err = promote_in_turn(local, false);
    pthread_mutex_unlock(&local->writer.turn);
    replica_batch_done(local);
    if (err) {
        replica_say(replica, tidings_err_text(err), false);
        replica_step_down(replica);
        return;
    }
    writer_wake(local);
}
