/* SPDX-License-Identifier: MIT */
/*
 * A follower becomes the writer. The server it followed hands over, if it can be reached: it writes nothing any more, sends
 * what is left, and notes that it is replaced. Then a new era begins, with the first record written here.
 */
#include "engine/local/local.h"
#include "engine/local/memory/recent.h"

uint64_t era_load(struct kv_txn *txn)
{
    struct key key = key_meta("era");
    struct bytes value;
    if (!kv_get(txn, TABLE_META, &key, &value))
        return 0;
    struct decoder r = decoder_of(value.p, value.n);
    uint64_t era = read_u64(&r);
    if (r.bad || decoder_left(&r))
        kv_fail(txn, TIDINGS_CORRUPT);
    return era;
}

/* A record that says so. In the writer's turn. */
static enum tidings_err begin_era(struct local *local, uint64_t era)
{
    struct key key = key_meta("era");
    struct kv_txn txn;
    uint8_t bytes[8];
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    put_u64(bytes, era);
    kv_put(&txn, TABLE_META, &key, bytes, sizeof bytes);
    save_version(local, &txn);
    txn.time_ms = clock_read(&local->clock).wall_ms;
    err = kv_commit(&txn);
    if (err)
        return err;
    atomic_store(&local->committed, kv_applied(local->kv));
    atomic_store(&local->era, era);
    if (local->tail)
        tail_put(local->tail, kv_record(local->kv));
    return redo_sync(local->store->redo, true);
}

enum tidings_err promote_to_era(struct local *local, uint64_t era)
{
    pthread_mutex_lock(&local->writer.turn);
    enum tidings_err err = begin_era(local, era);
    pthread_mutex_unlock(&local->writer.turn);
    if (!err)
        local_end_note(local);
    return err;
}

enum tidings_err promote_in_turn(struct local *local, uint64_t era)
{
    enum tidings_err err = load_committed(local);
    if (!err && era > atomic_load(&local->era))
        err = begin_era(local, era);
    if (err)
        return err;
    /* Limits are the writer's. Where several servers take turns, rules of heat and folding stay as they are in the log, but
     * for those that this one was started with: each turn would order everything anew otherwise. */
    bool as_stored = local->replica && atomic_load(&local->committed) && !local->rules_wanted;
    atomic_store(&local->in_force, &local->settings);
    err = limits_open(local, false);
    if (!err)
        err = names_make(local);
    if (!err)
        err = reheat(local, as_stored);
    if (!err) {
        local->rules_wanted = false;
        atomic_store(&local->role, TIDINGS_WRITER);
    }
    local_end_note(local);
    return err;
}

enum tidings_err follower_promote(struct local *local, struct peer_end *end, const char **message)
{
    pthread_mutex_lock(&local->promotion);
    enum tidings_err err = TIDINGS_OK;
    if (atomic_load(&local->role) != TIDINGS_FOLLOWER) {
        *message = "it follows nobody: there is nothing to take over";
        err = TIDINGS_INVALID;
    } else {
        follower_end(local);
        pthread_mutex_lock(&local->writer.turn);
        err = promote_in_turn(local, atomic_load(&local->era) + 1);
        pthread_mutex_unlock(&local->writer.turn);
        if (err)
            *message = tidings_err_text(err);
        else
            writer_wake(local);
    }
    if (!err)
        *end = local_end(local);
    pthread_mutex_unlock(&local->promotion);
    return err;
}
