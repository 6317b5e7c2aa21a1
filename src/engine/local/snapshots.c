/* SPDX-License-Identifier: MIT */
#include <sched.h>
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/local/local.h"

void readers_init(struct readers *readers)
{
    pthread_mutex_init(&readers->mutex, NULL);
    pthread_cond_init(&readers->returned, NULL);
}

static void snapshot_free(struct snapshot *snapshot)
{
    kv_reader_release(&snapshot->txn);
    arena_release(&snapshot->scratch);
    free(snapshot);
}

void readers_release(struct readers *readers)
{
    while (readers->idle) {
        struct snapshot *snapshot = readers->idle;
        readers->idle = snapshot->next;
        snapshot_free(snapshot);
    }
    pthread_cond_destroy(&readers->returned);
    pthread_mutex_destroy(&readers->mutex);
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
static struct snapshot *take_idle(struct readers *readers, size_t most)
{
    pthread_mutex_lock(&readers->mutex);
    while (readers->paused || (!readers->idle && readers->made >= most))
        pthread_cond_wait(&readers->returned, &readers->mutex);
    readers->out++;
    struct snapshot *snapshot = readers->idle;
    if (snapshot)
        readers->idle = snapshot->next;
    else
        readers->made++;
    pthread_mutex_unlock(&readers->mutex);
    return snapshot;
}

static void give_back(struct readers *readers, struct snapshot *snapshot)
{
    pthread_mutex_lock(&readers->mutex);
    if (snapshot) {
        snapshot->next = readers->idle;
        readers->idle = snapshot;
    } else {
        readers->made--;
    }
    readers->out--;
    if (readers->paused)
        pthread_cond_broadcast(&readers->returned);
    else
        pthread_cond_signal(&readers->returned);
    pthread_mutex_unlock(&readers->mutex);
}

void readers_pause(void *arg)
{
    struct readers *readers = arg;
    pthread_mutex_lock(&readers->mutex);
    readers->paused = true;
    while (readers->out)
        pthread_cond_wait(&readers->returned, &readers->mutex);
    pthread_mutex_unlock(&readers->mutex);
}

void readers_resume(void *arg)
{
    struct readers *readers = arg;
    pthread_mutex_lock(&readers->mutex);
    readers->paused = false;
    pthread_cond_broadcast(&readers->returned);
    pthread_mutex_unlock(&readers->mutex);
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
                      struct snapshot *snapshot)
{
    int64_t now_ms = local_now(local, op), newest_ms = id_time_ms(newest.id);
    snapshot->view = (struct view){
        .txn = &snapshot->txn,
        .heads = local->heads,
        .recent = local->recent,
        .settings = &local->settings,
        .scratch = &snapshot->scratch,
        .version = newest.version,
        .last_id = newest.id,
        .now_ms = now_ms > newest_ms ? now_ms : newest_ms,
    };
}

enum tidings_err snapshot_take(struct local *local, const struct tidings_op *op,
                               struct snapshot **out)
{
    struct snapshot *snapshot = take_idle(&local->readers, local->settings.readers_max);
    if (!snapshot) {
        enum tidings_err err = snapshot_new(local, &snapshot);
        if (err) {
            give_back(&local->readers, NULL);
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
        give_back(&local->readers, snapshot);
        return err;
    }
    make_view(local, op, newest, snapshot);
    snapshot->view.age = age;
    *out = snapshot;
    return TIDINGS_OK;
}

void snapshot_return(struct local *local, struct snapshot *snapshot)
{
    kv_reader_stop(&snapshot->txn);
    heads_leave(snapshot->place);
    arena_clear(&snapshot->scratch);
    give_back(&local->readers, snapshot);
}
