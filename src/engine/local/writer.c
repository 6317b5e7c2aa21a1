/* SPDX-License-Identifier: MIT */
/*
 * The writer: one thread takes all waiting changes as a batch, applies them in one transaction,
 * commits, and only then tells anyone. An operation checks everything before its first change, so
 * one that is refused leaves no trace in the batch. One that stumbles over damaged data after its
 * first change spoils the transaction: the batch is done again without it.
 */
#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "base/thread.h"
#include "base/wait.h"
#include "domain/ids.h"
#include "engine/local/ahead.h"
#include "engine/local/local.h"
#include "engine/local/memory/recent.h"
#include "engine/ops/ops.h"

enum {
    SWEEP_LEAST = 64,
    IDLE_SWEEP_MS = 1000,
    BATCH_BYTES = 16 << 20,
    BUSY_RETRY_MS = 1000,
    MARK_MAX = 1 << 20,
};

/* Calls of this server that came here while it was about to hand over go to the writer, whoever that is. */
static void complete(struct local *local, struct tidings_call *batch, enum tidings_err err)
{
    while (batch) {
        struct tidings_call *call = batch;
        batch = call->next; /* done may free the call */
        if (err)
            call->err = err;
        if (call->err == TIDINGS_STANDBY && local->replica && !call->origin) {
            call->err = TIDINGS_OK;
            answer_clear(call->answer);
            forward_submit(local, call);
        } else {
            call->done(call);
        }
    }
}

/* ---- The queue ------------------------------------------------------------------------------ */

/* Why a call cannot be queued; OK if it can. */
static enum tidings_err refuse(struct local *local)
{
    struct writer *writer = &local->writer;
    if (writer->stopping)
        return TIDINGS_CLOSED;
    if (atomic_load(&local->role) != TIDINGS_WRITER)
        return TIDINGS_STANDBY;
    if (writer->waiting < local->settings.queue_max)
        return TIDINGS_OK;
    writer->stats.refused_busy++;
    return TIDINGS_BUSY;
}

/* A call that is queued is the writer's from then on. */
void writer_submit(struct local *local, struct tidings_call *call)
{
    struct writer *writer = &local->writer;
    pthread_mutex_lock(&writer->mutex);
    enum tidings_err err = refuse(local);
    if (!err) {
        if (writer->last)
            writer->last->next = call;
        else
            writer->first = call;
        writer->last = call;
        if (writer->waiting++ == 0)
            pthread_cond_signal(&writer->wanted);
    }
    pthread_mutex_unlock(&writer->mutex);
    if (!err)
        return;
    if (err == TIDINGS_BUSY)
        call->answer->retry_after_ms = BUSY_RETRY_MS;
    complete(local, call, err);
}

/* Waits for work, if so. True with a batch, empty after a time of idleness; false when it is time to stop. */
static bool take_batch(struct local *local, bool waits, struct tidings_call **batch, size_t *n)
{
    struct writer *writer = &local->writer;
    struct timespec until = wait_until(IDLE_SWEEP_MS / 1000);

    pthread_mutex_lock(&writer->mutex);
    int rc = !waits;
    while (!writer->first && !writer->stopping && !rc)
        rc = pthread_cond_timedwait(&writer->wanted, &writer->mutex, &until);
    *batch = writer->first;
    *n = 0;
    struct tidings_call *last = NULL;
    size_t bytes = 0;
    for (; writer->first && *n < local->settings.batch_max && bytes < BATCH_BYTES; ++*n) {
        last = writer->first;
        writer->first = last->next;
        bytes += op_bytes(last->op);
    }
    if (last)
        last->next = NULL;
    if (!writer->first)
        writer->last = NULL;
    writer->waiting -= *n;
    bool go_on = *batch || !writer->stopping;
    pthread_mutex_unlock(&writer->mutex);
    return go_on;
}

/* ---- A batch -------------------------------------------------------------------------------- */

/* The answer to a change that another server has handed over goes into the log, where that one finds it. */
static void tell_answer(struct local *local, struct local_view *view,
                        const struct tidings_call *call)
{
    struct buf *mark = &local->writer.mark;
    if (forward_mark_encode(call, mark))
        kv_tell(view->txn, CHANGE_ANSWER, (struct bytes){(const uint8_t *)mark->data, mark->len});
    else
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
}

static void apply(struct local *local, struct local_view *view, struct tidings_call *call)
{
    struct reply reply = {call->op, call->answer, call->answer->memory};
    uint64_t writes = view->txn->writes;
    view->before = view->last_id;
    struct moment at =
        clock_at(&local->clock, call->op->now_ms, id_time_ms(view->before), view->last_elapsed_ms);
    view->view.stamp = id_next(view->before, at.wall_ms);
    if (!view->view.stamp) {
        call->err = TIDINGS_NO_SPACE;
        return;
    }
    view->last_id = view->view.stamp;
    view->view.now_ms = id_time_ms(view->view.stamp);
    view->view.elapsed_ms = at.elapsed_ms;
    view->spent = false;
    call->err = op_change(&view->view, &reply);
    arena_clear(view->view.scratch);
    if (call->err) {
        assert(view->txn->writes == writes || view_failed(&view->view));
        view->last_id = view->before;
        return;
    }
    view->last_elapsed_ms = at.elapsed_ms;
    view->at = at;
    if (call->origin)
        tell_answer(local, view, call);
}

static void sweep_some(struct local *local, struct local_view *view, size_t n)
{
    if (local->writer.no_sweeping || view_failed(&view->view))
        return;
    view->view.now_ms = id_time_ms(view->last_id);
    view->view.elapsed_ms = view->last_elapsed_ms;
    local_sweep(&view->view, SWEEP_LEAST + 2 * n);
    local->writer.no_sweeping = view->txn->err == TIDINGS_CORRUPT;
}

static void count_changes(struct writer *writer, size_t n)
{
    pthread_mutex_lock(&writer->mutex);
    writer->stats.changes += n;
    pthread_mutex_unlock(&writer->mutex);
}

static void count_batch(struct writer *writer, size_t n, uint64_t commit_us, uint64_t newest_id)
{
    pthread_mutex_lock(&writer->mutex);
    struct tidings_stats *stats = &writer->stats;
    stats->changes += n;
    writer->no_room = false;
    stats->batches++;
    stats->newest_id = newest_id;
    stats->commit_us += commit_us;
    stats->batch_size[stats_bucket(n)]++;
    stats->commit_time_us[stats_bucket(commit_us)]++;
    pthread_mutex_unlock(&writer->mutex);
}

void writer_stats(struct local *local, struct tidings_stats *stats)
{
    pthread_mutex_lock(&local->writer.mutex);
    *stats = local->writer.stats;
    stats->waiting = local->writer.waiting;
    stats->read_only = local->writer.no_room;
    pthread_mutex_unlock(&local->writer.mutex);
}

static void count_fault(struct local *local)
{
    pthread_mutex_lock(&local->writer.mutex);
    local->writer.stats.faults++;
    pthread_mutex_unlock(&local->writer.mutex);
    if (local->fault)
        local->fault(local->fault_ctx, "a stored count would have gone below zero; run verify");
}

/* The view of a batch that begins now; what earlier ones had to tell is told. */
static struct local_view begin_view(struct local *local, struct kv_txn *txn, struct newest newest,
                                    struct moment now)
{
    struct writer *writer = &local->writer;
    writer->news.n = 0;
    writer->news.lost = false;
    return (struct local_view){
        .view = {.rows = &local_rows,
                 .err = &txn->err,
                 .settings = local_in_force(local),
                 .scratch = &writer->scratch,
                 .news = engine_is_watched(&local->engine) ? &writer->news : NULL},
        .txn = txn,
        .heads = local->heads,
        .clock = &local->clock,
        .recent = local->recent,
        .version = kv_applied(local->kv) + 1,
        .age = recent_age(local->recent),
        .last_id = newest.id,
        .last_elapsed_ms = newest.elapsed_ms,
        .at = now,
        .followed = local->tail || local->replica,
    };
}

/* OK: it is durable, and visible to every snapshot from now on. */
static enum tidings_err commit(struct local *local, struct local_view *view,
                               const struct clock_change *time, size_t n)
{
    save_newest(view->txn, (struct newest){view->last_id, view->version, view->last_elapsed_ms});
    if (time->stores)
        save_clock(view->txn, &time->row);
    if (local->limits_due)
        limits_put(local, view->txn);
    view->txn->time_ms = time->record_ms;
    uint64_t from = wait_now_us();
    enum tidings_err err = kv_commit(view->txn);
    if (err) {
        heads_abort(local->heads);
        recent_forget(local->recent);
        return err;
    }
    atomic_store(&local->committed, view->version);
    local->limits_due = false;
    clock_commit(&local->clock, time);
    heads_commit(local->heads);
    if (local->tail)
        tail_put(local->tail, kv_record(local->kv));
    count_batch(&local->writer, n, wait_now_us() - from, view->last_id);
    return TIDINGS_OK;
}

enum tidings_err writer_commit(struct local *local, struct local_view *view, uint64_t last_id,
                               const struct moment *at)
{
    struct clock_change time = clock_next(&local->clock, at, last_id, view->last_id);
    time.record_ms = at->wall_ms;
    view->last_elapsed_ms = at->elapsed_ms;
    enum tidings_err err = commit(local, view, &time, 0);
    if (!err)
        local_end_note(local);
    if (local->replica)
        replica_batch_done(local, err != TIDINGS_UNCERTAIN);
    return err;
}

/* Those who watch hear of it before those who asked for it. */
void writer_tell(struct local *local, const struct news *news)
{
    if (news->n && !news->lost)
        engine_tell(&local->engine, news->events, news->n);
    if (news->lost)
        engine_tell(&local->engine, NULL, 0);
}

/* Nothing is written while the clock is far ahead. */
static void refuse_all(struct tidings_call *batch)
{
    for (; batch; batch = batch->next)
        batch->err = TIDINGS_CLOCK;
}

/*
 * Tries the batch once. OK: it is durable, and each call has its outcome. Otherwise nothing has
 * happened, and *at_fault is the call that spoiled it, if it was one.
 */
static enum tidings_err try_batch(struct local *local, struct tidings_call *batch, size_t n,
                                  struct tidings_call **at_fault)
{
    struct kv_txn txn;
    struct moment now = clock_look(&local->clock);
    *at_fault = NULL;
    if (now.stopped) {
        refuse_all(batch);
        count_changes(&local->writer, n);
        return TIDINGS_OK;
    }
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    struct newest newest = load_newest(&txn);
    struct local_view view = begin_view(local, &txn, newest, now);
    for (struct tidings_call *call = batch; call && !txn.err; call = call->next) {
        apply(local, &view, call);
        if (txn.err)
            *at_fault = call;
    }
    if (view.view.fault)
        count_fault(local);
    sweep_some(local, &view, n);
    struct clock_change time = clock_next(&local->clock, &view.at, newest.id, view.last_id);
    bool nothing = !txn.writes && view.last_id == newest.id; /* all were refused */
    if (!txn.err && nothing && !(time.is_news && newest.version)) {
        kv_abort(&txn);
        count_changes(&local->writer, n);
        return TIDINGS_OK;
    }
    if (!newest.version) {
        reheat_begin(&txn, &local->settings);
        names_begin(&txn);
    }
    err = commit(local, &view, &time, n);
    if (err)
        return err;
    writer_tell(local, &local->writer.news);
    local_end_note(local);
    return TIDINGS_OK;
}

/* What a try that failed has left in the answers goes. */
static void forget_answers(struct tidings_call *batch)
{
    for (; batch; batch = batch->next)
        answer_clear(batch->answer);
}

static void take_out(struct tidings_call **batch, struct tidings_call *call)
{
    while (*batch != call)
        batch = &(*batch)->next;
    *batch = call->next;
    call->next = NULL;
}

static void count_failure(struct writer *writer, enum tidings_err err)
{
    pthread_mutex_lock(&writer->mutex);
    writer->no_room = err == TIDINGS_NO_SPACE;
    writer->stats.failures++;
    pthread_mutex_unlock(&writer->mutex);
}

/* Damage, or too large a thing to be remembered: that is about one operation, not about the storage. */
static bool is_about_one(enum tidings_err err)
{
    return err == TIDINGS_CORRUPT || err == TIDINGS_NO_MEMORY;
}

static void run_batch(struct local *local, struct tidings_call *batch, size_t n)
{
    struct tidings_call *at_fault;
    enum tidings_err err;
    bool again;

    if (local->store->read_only) {
        complete(local, batch, TIDINGS_NO_SPACE);
        return;
    }
    pthread_mutex_lock(&local->writer.turn);
    if (atomic_load(&local->role) != TIDINGS_WRITER) {
        pthread_mutex_unlock(&local->writer.turn);
        complete(local, batch, TIDINGS_STANDBY);
        return;
    }
    do {
        bool swept = !local->writer.no_sweeping;
        err = try_batch(local, batch, n, &at_fault);
        bool sweeping_failed = swept && local->writer.no_sweeping;
        again = sweeping_failed || (err == TIDINGS_NO_SPACE && kv_can_grow(local->kv));
        if (is_about_one(err) && at_fault) {
            take_out(&batch, at_fault);
            complete(local, at_fault, err);
            n--;
            again = true;
        }
        if (err)
            count_failure(&local->writer, err);
        if (again)
            forget_answers(batch);
    } while (again && batch);
    if (err == TIDINGS_UNCERTAIN && local->replica)
        replica_batch_unsure(local);
    pthread_mutex_unlock(&local->writer.turn);
    if (err == TIDINGS_UNCERTAIN && local->replica)
        replica_hold(local, batch);
    else
        complete(local, batch, err);
    if (local->replica)
        replica_batch_done(local, err != TIDINGS_UNCERTAIN);
}

void writer_complete(struct local *local, struct tidings_call *batch, enum tidings_err err)
{
    if (err)
        forget_answers(batch);
    complete(local, batch, err);
}

/* With nothing else to do, at once: nobody waits, and the log says itself if it fails. In turn: a repair appends to the
 * log on a thread of its own. */
static void sync_log(struct local *local, bool now)
{
    pthread_mutex_lock(&local->writer.turn);
    redo_sync(local->store->redo, now);
    pthread_mutex_unlock(&local->writer.turn);
}

static void execute(struct local *local, struct tidings_call *batch, size_t n)
{
    struct ahead_watch watch = ahead_watch_begin(local->ahead, n);
    run_batch(local, batch, n);
    ahead_watch_end(local->ahead, &watch, n);
    sync_log(local, n == 0);
}

/* A batch that is read ahead is held back meanwhile, and the one before it executed. */
static void *writer_main(void *arg)
{
    struct local *local = arg;
    struct tidings_call *batch, *held = NULL;
    size_t n, n_held = 0;
    thread_name("writer");
    run_batch(local, NULL,
              0); /* what was done to the clock while nobody was here, before anybody writes */
    while (take_batch(local, !held, &batch, &n)) {
        bool is_read = ahead_begin_calls(local->ahead, batch);
        bool executed = held != NULL;
        if (held)
            execute(local, held, n_held);
        held = is_read ? batch : NULL;
        n_held = n;
        if (is_read)
            ahead_end(local->ahead);
        else if (batch || !executed)
            execute(local, batch, n);
    }
    if (held)
        execute(local, held, n_held);
    sync_log(local, true);
    return NULL;
}

enum tidings_err writer_retire(struct local *local)
{
    pthread_mutex_lock(&local->writer.turn);
    atomic_store(&local->replaced_ms, wait_now_ms());
    atomic_store(&local->role, TIDINGS_REPLACED);
    enum tidings_err err = redo_sync(local->store->redo, true);
    pthread_mutex_unlock(&local->writer.turn);
    return err;
}

void writer_wake(struct local *local)
{
    run_batch(local, NULL, 0);
}

/* ---- Life ----------------------------------------------------------------------------------- */

enum tidings_err writer_start(struct local *local)
{
    struct writer *writer = &local->writer;
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_mutex_init(&writer->turn, NULL);
    wait_init(&writer->wanted);
    arena_init(&writer->scratch, SCRATCH_MEMORY_MAX);
    buf_init(&writer->mark, MARK_MAX);
    return pthread_create(&writer->thread, NULL, writer_main, local) ? TIDINGS_NO_MEMORY
                                                                     : TIDINGS_OK;
}

void writer_stop(struct local *local)
{
    struct writer *writer = &local->writer;
    pthread_mutex_lock(&writer->mutex);
    writer->stopping = true;
    pthread_cond_signal(&writer->wanted);
    pthread_mutex_unlock(&writer->mutex);
    pthread_join(writer->thread, NULL);
}

void writer_release(struct local *local)
{
    struct writer *writer = &local->writer;
    pthread_cond_destroy(&writer->wanted);
    pthread_mutex_destroy(&writer->mutex);
    pthread_mutex_destroy(&writer->turn);
    arena_release(&writer->scratch);
    buf_release(&writer->mark);
    free(writer->news.events);
}
