/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/local/local.h"
#include "engine/local/memory/recent.h"

void snapshots_init(struct snapshots *snapshots)
{
    pthread_mutex_init(&snapshots->mutex, NULL);
    pthread_cond_init(&snapshots->returned, NULL);
}

static void snapshot_free(struct snapshot *snapshot)
{
    kv_reader_release(&snapshot->txn);
    arena_release(&snapshot->scratch);
    free(snapshot);
}

void snapshots_release(struct snapshots *snapshots)
{
    while (snapshots->idle) {
        struct snapshot *snapshot = snapshots->idle;
        snapshots->idle = snapshot->next;
        snapshot_free(snapshot);
    }
    pthread_cond_destroy(&snapshots->returned);
    pthread_mutex_destroy(&snapshots->mutex);
}

static enum tidings_err snapshot_new(struct local *local, struct snapshot **out)
{
    struct snapshot *snapshot = calloc(1, sizeof *snapshot);
    if (!snapshot)
        return TIDINGS_NO_MEMORY;
    arena_init(&snapshot->scratch, SCRATCH_MEMORY_MAX);
    enum tidings_err err = kv_reader_init(local->kv, &snapshot->txn);
    if (!err) {
        snapshot->place = heads_reader_new(local->heads);
        if (!snapshot->place)
            err = TIDINGS_NO_MEMORY;
    }
    if (err) {
        snapshot_free(snapshot);
        return err;
    }
    *out = snapshot;
    return TIDINGS_OK;
}

/* An idle one, or NULL if a new one may be made; it is counted already. */
static struct snapshot *take_idle(struct snapshots *snapshots, size_t most)
{
    pthread_mutex_lock(&snapshots->mutex);
    while (snapshots->paused || (!snapshots->idle && snapshots->made >= most))
        pthread_cond_wait(&snapshots->returned, &snapshots->mutex);
    snapshots->out++;
    struct snapshot *snapshot = snapshots->idle;
    if (snapshot)
        snapshots->idle = snapshot->next;
    else
        snapshots->made++;
    pthread_mutex_unlock(&snapshots->mutex);
    return snapshot;
}

static void give_back(struct snapshots *snapshots, struct snapshot *snapshot)
{
    pthread_mutex_lock(&snapshots->mutex);
    if (snapshot) {
        snapshot->next = snapshots->idle;
        snapshots->idle = snapshot;
    } else {
        snapshots->made--;
    }
    snapshots->out--;
    if (snapshots->paused)
        pthread_cond_broadcast(&snapshots->returned);
    else
        pthread_cond_signal(&snapshots->returned);
    pthread_mutex_unlock(&snapshots->mutex);
}

void snapshots_pause(void *arg)
{
    struct snapshots *snapshots = arg;
    pthread_mutex_lock(&snapshots->mutex);
    snapshots->paused = true;
    while (snapshots->out)
        pthread_cond_wait(&snapshots->returned, &snapshots->mutex);
    pthread_mutex_unlock(&snapshots->mutex);
}

void snapshots_resume(void *arg)
{
    struct snapshots *snapshots = arg;
    pthread_mutex_lock(&snapshots->mutex);
    snapshots->paused = false;
    pthread_cond_broadcast(&snapshots->returned);
    pthread_mutex_unlock(&snapshots->mutex);
}

/*
 * To a reader that is held up while starting, LMDB shows the root of a later commit than it says (see load_newest),
 * half written maybe, or not durable yet: the next snapshot would then go back behind this one. So a snapshot counts
 * only if no commit ended while it was taken, and if it is no newer than the last that did; otherwise, another.
 */
static enum tidings_err start_committed(struct local *local, struct snapshot *snapshot,
                                        struct newest *newest)
{
    for (;;) {
        uint64_t committed = atomic_load(&local->committed);
        enum tidings_err err = kv_reader_start(&snapshot->txn);
        if (err)
            return err;
        bool quiet = atomic_load(&local->committed) == committed;
        if (quiet)
            *newest = load_newest(&snapshot->txn);
        if (quiet && newest->version <= committed)
            return TIDINGS_OK;
        kv_reader_stop(&snapshot->txn);
        sched_yield(); /* at worst the writer is about to say so */
    }
}

static void make_view(struct local *local, const struct tidings_op *op, struct newest newest,
                      uint64_t age, struct snapshot *snapshot)
{
    int64_t newest_ms = id_time_ms(newest.id);
    struct moment at = clock_at(&local->clock, op ? op->now_ms : 0, newest_ms, newest.elapsed_ms);
    snapshot->view = (struct local_view){
        .view = {.rows = &local_rows,
                 .err = &snapshot->txn.err,
                 .settings = local_in_force(local),
                 .scratch = &snapshot->scratch,
                 .now_ms = at.wall_ms > newest_ms ? at.wall_ms : newest_ms,
                 .elapsed_ms = at.elapsed_ms},
        .txn = &snapshot->txn,
        .heads = local->heads,
        .clock = &local->clock,
        .recent = local->recent,
        .version = newest.version,
        .age = age,
        .last_id = newest.id,
    };
}

enum tidings_err snapshot_take(struct local *local, const struct tidings_op *op,
                               struct snapshot **out)
{
    struct snapshot *snapshot = take_idle(&local->snapshots, local->settings.readers_max);
    if (!snapshot) {
        enum tidings_err err = snapshot_new(local, &snapshot);
        if (err) {
            give_back(&local->snapshots, NULL);
            return err;
        }
    }
    /* Announced first: see heads.h. */
    heads_enter(local->heads, snapshot->place);
    uint64_t age = recent_age(local->recent);
    struct newest newest;
    enum tidings_err err = start_committed(local, snapshot, &newest);
    if (err) {
        heads_leave(snapshot->place);
        give_back(&local->snapshots, snapshot);
        return err;
    }
    make_view(local, op, newest, age, snapshot);
    *out = snapshot;
    return TIDINGS_OK;
}

void snapshot_return(struct local *local, struct snapshot *snapshot)
{
    kv_reader_stop(&snapshot->txn);
    heads_leave(snapshot->place);
    arena_clear(&snapshot->scratch);
    give_back(&local->snapshots, snapshot);
}
