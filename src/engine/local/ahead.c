/* SPDX-License-Identifier: MIT */
#include "engine/local/ahead.h"

#include <stdlib.h>
#include <sys/resource.h>

#include "base/thread.h"
#include "domain/ids.h"
#include "engine/local/local.h"
#include "engine/local/storage/rehearsal.h"
#include "engine/ops/ops.h"

/*
 * As many as keep a disk busy that answers in 100 us; they sleep most of the time. A batch of records has that many rows
 * read at most: more would push out what was read first.
 */
enum { AHEAD_THREADS = 16, AHEAD_PIECE = 16, AHEAD_ROWS_MAX = 1 << 16 };

/* Pages that a change fills, at most where there are many of them; twice, since the batch that is executed meanwhile takes
 * some, too. */
enum { AHEAD_FREE_PER_CALL = 8, AHEAD_FREE_PER_ROW = 1, AHEAD_FREE_PIECE = 64 };

/*
 * Worth it: one fault or more per so many changes, which is about where waiting for the disk takes as long as the changes
 * themselves. Looked for each so many changes; given up after so many batches with fewer.
 */
enum { AHEAD_CHANGES_PER_FAULT = 8, AHEAD_LOOK_EVERY = 16, AHEAD_GIVE_UP = 64 };

enum { AHEAD_NEVER, AHEAD_AT_NEED, AHEAD_ALWAYS }; /* the setting */

struct ahead {
    struct local *local;
    _Atomic bool active;
    _Atomic uint64_t changes; /* executed since it was last looked */
    _Atomic uint64_t faults;  /* of the threads here, since it was last looked */
    _Atomic unsigned quiet;   /* batches without faults, one after the other */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t wanted, changed;
    pthread_t threads[AHEAD_THREADS];
    size_t n_threads;
    bool stopping;
    bool taken;  /* there is work, or its owner waits for its end */
    size_t busy; /* threads that have a piece of it */
    /* What is left of the work: either calls, or records. */
    const struct tidings_call *calls;
    const struct redo_record *records;
    size_t n_records, n_rows;
    struct decoder decoder; /* of the record under way */
    size_t free_at, n_free; /* free pages: how many are read, and are to be */
};

/* What one thread does in one go: a call, some rows, or some free pages. */
struct ahead_piece {
    const struct tidings_op *op;
    size_t n;
    struct change rows[AHEAD_PIECE];
    size_t free_at, n_free;
};

/* ---- Reading -------------------------------------------------------------------------------- */

enum { AHEAD_PAGE_BLOCKS = 8 };

/*
 * Pages that this thread has had to read from the disk because they were not in memory. Not the kernel's major faults: it
 * counts as such the first touch of a page by which the file grows, too, for which nothing is read.
 */
static uint64_t ahead_faults(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) ? 0 : (uint64_t)usage.ru_inblock / AHEAD_PAGE_BLOCKS;
}

/* As the writer does it, but that the answer of an operation that happens once is not rendered: that is for its caller. */
static void ahead_change(struct local_view *view, const struct tidings_op *given,
                         struct tidings_answer *answer)
{
    struct tidings_op op = *given;
    struct reply reply = {&op, answer, answer_clear(answer)};
    struct once_record once;
    view->before = view->last_id;
    view->view.stamp = id_next(view->before, view->view.now_ms);
    if (!view->view.stamp || !reply.arena)
        return;
    view->last_id = view->view.stamp;
    if (op.once)
        view->view.rows->get_once(&view->view, op.user_id, op.once->key, &once);
    op.once = NULL;
    op_change(&view->view, &reply);
}

void ahead_rehearse(struct snapshot *snapshot, const struct tidings_op *op,
                    struct tidings_answer *answer, struct rehearsal *rehearsal)
{
    kv_rehearse(&snapshot->txn, rehearsal);
    ahead_change(&snapshot->view, op, answer);
}

static void ahead_read(struct ahead *ahead, const struct ahead_piece *piece,
                       struct tidings_answer *answer)
{
    struct local *local = ahead->local;
    struct snapshot *snapshot;
    if (snapshot_take(local, piece->op, &snapshot))
        return;
    struct rehearsal rehearsal = {.arena = &snapshot->scratch};
    if (piece->op)
        ahead_rehearse(snapshot, piece->op, answer, &rehearsal);
    for (size_t i = 0; i < piece->n; i++)
        kv_touch(&snapshot->txn, (enum table)piece->rows[i].table, piece->rows[i].key);
    if (piece->n_free)
        kv_touch_free(&snapshot->txn, piece->free_at, piece->n_free);
    snapshot_return(local, snapshot);
}

/* ---- Threads -------------------------------------------------------------------------------- */

/* The next row that a record changes; false if there is none. What is wrong with a record is found when it is applied. */
static bool ahead_next_row(struct ahead *ahead, struct change *change)
{
    while (ahead->n_rows < AHEAD_ROWS_MAX) {
        if (change_decode(&ahead->decoder, change)) {
            ahead->n_rows++;
            if (change_is_row(change->table))
                return true;
        } else if (!ahead->n_records) {
            return false;
        } else {
            ahead->decoder = decoder_of(ahead->records->changes.p, ahead->records->changes.n);
            ahead->records++;
            ahead->n_records--;
        }
    }
    return false;
}

/* Free pages come last: there are as many to be read as there was to change. */
static bool ahead_take(struct ahead *ahead, struct ahead_piece *piece)
{
    piece->op = ahead->calls ? ahead->calls->op : NULL;
    piece->n = piece->n_free = 0;
    if (piece->op)
        ahead->calls = ahead->calls->next;
    while (!piece->op && piece->n < AHEAD_PIECE && ahead_next_row(ahead, &piece->rows[piece->n]))
        piece->n++;
    ahead->n_free += piece->n * AHEAD_FREE_PER_ROW + (piece->op ? AHEAD_FREE_PER_CALL : 0);
    if (piece->op || piece->n)
        return true;
    size_t left = ahead->n_free - ahead->free_at;
    piece->free_at = ahead->free_at;
    piece->n_free = left < AHEAD_FREE_PIECE ? left : AHEAD_FREE_PIECE;
    ahead->free_at += piece->n_free;
    return piece->n_free;
}

static void *ahead_main(void *arg)
{
    struct ahead *ahead = arg;
    struct ahead_piece piece;
    struct tidings_answer answer;
    uint64_t before = 0;
    thread_name("ahead");
    tidings_answer_init(&answer);
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->stopping) {
        if (!ahead->taken || !ahead_take(ahead, &piece)) {
            pthread_cond_wait(&ahead->wanted, &ahead->mutex);
            continue;
        }
        ahead->busy++;
        pthread_mutex_unlock(&ahead->mutex);
        ahead_read(ahead, &piece, &answer);
        uint64_t faults = ahead_faults();
        atomic_fetch_add(&ahead->faults, faults - before);
        before = faults;
        pthread_mutex_lock(&ahead->mutex);
        if (--ahead->busy == 0)
            pthread_cond_broadcast(&ahead->changed);
    }
    pthread_mutex_unlock(&ahead->mutex);
    tidings_answer_release(&answer);
    return NULL;
}

struct ahead *ahead_new(struct local *local)
{
    struct ahead *ahead = calloc(1, sizeof *ahead);
    if (!ahead)
        return NULL;
    ahead->local = local;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->wanted, NULL);
    pthread_cond_init(&ahead->changed, NULL);
    return ahead;
}

void ahead_free(struct ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->stopping = true;
    pthread_cond_broadcast(&ahead->wanted);
    pthread_mutex_unlock(&ahead->mutex);
    for (size_t i = 0; i < ahead->n_threads; i++)
        pthread_join(ahead->threads[i], NULL);
    pthread_cond_destroy(&ahead->wanted);
    pthread_cond_destroy(&ahead->changed);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}

/* ---- Work ----------------------------------------------------------------------------------- */

static bool ahead_is_wanted(const struct ahead *ahead)
{
    uint64_t when = ahead->local->settings.read_ahead;
    return when == AHEAD_ALWAYS || (when == AHEAD_AT_NEED && atomic_load(&ahead->active));
}

/* With the mutex held. As many threads as can be had will do; none, and nothing is read. */
static bool ahead_begin(struct ahead *ahead)
{
    while (ahead->taken)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    while (ahead->n_threads < AHEAD_THREADS &&
           !pthread_create(&ahead->threads[ahead->n_threads], NULL, ahead_main, ahead))
        ahead->n_threads++;
    ahead->taken = ahead->n_threads > 0;
    return ahead->taken;
}

bool ahead_begin_calls(struct ahead *ahead, const struct tidings_call *calls)
{
    if (!calls || !ahead_is_wanted(ahead))
        return false;
    pthread_mutex_lock(&ahead->mutex);
    bool begun = ahead_begin(ahead);
    if (begun)
        ahead->calls = calls;
    pthread_cond_broadcast(&ahead->wanted);
    pthread_mutex_unlock(&ahead->mutex);
    return begun;
}

bool ahead_begin_records(struct ahead *ahead, const struct redo_record *records, size_t n)
{
    if (!ahead_is_wanted(ahead))
        return false;
    pthread_mutex_lock(&ahead->mutex);
    bool begun = ahead_begin(ahead);
    if (begun) {
        ahead->records = records;
        ahead->n_records = n;
        ahead->n_rows = 0;
    }
    pthread_cond_broadcast(&ahead->wanted);
    pthread_mutex_unlock(&ahead->mutex);
    return begun;
}

/* Takes part, until nothing is left. */
void ahead_end(struct ahead *ahead)
{
    struct ahead_piece piece;
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    pthread_mutex_lock(&ahead->mutex);
    while (ahead_take(ahead, &piece)) {
        pthread_mutex_unlock(&ahead->mutex);
        ahead_read(ahead, &piece, &answer);
        pthread_mutex_lock(&ahead->mutex);
    }
    while (ahead->busy)
        pthread_cond_wait(&ahead->changed, &ahead->mutex);
    ahead->taken = false;
    ahead->n_records = ahead->free_at = ahead->n_free = 0;
    ahead->decoder = decoder_of(NULL, 0);
    pthread_cond_broadcast(&ahead->changed);
    pthread_mutex_unlock(&ahead->mutex);
    tidings_answer_release(&answer);
}

/* ---- Whether it is worth it ------------------------------------------------------------------- */

struct ahead_watch ahead_watch_begin(struct ahead *ahead, size_t n)
{
    bool looks =
        n && (atomic_load(&ahead->active) ||
              atomic_fetch_add(&ahead->changes, n) % AHEAD_LOOK_EVERY + n >= AHEAD_LOOK_EVERY);
    return (struct ahead_watch){looks, looks ? ahead_faults() : 0};
}

void ahead_watch_end(struct ahead *ahead, const struct ahead_watch *watch, size_t n)
{
    if (!watch->looks)
        return;
    uint64_t faults = ahead_faults() - watch->faults + atomic_exchange(&ahead->faults, 0);
    bool worth_it = faults * AHEAD_CHANGES_PER_FAULT >= n;
    unsigned quiet = worth_it ? 0 : atomic_load(&ahead->quiet) + 1;
    atomic_store(&ahead->quiet, quiet);
    if (worth_it)
        atomic_store(&ahead->active, true);
    else if (quiet >= AHEAD_GIVE_UP)
        atomic_store(&ahead->active, false);
}
