/* SPDX-License-Identifier: MIT */
/*
 * The parts of the engine and who owns what:
 *
 *     storage/    LMDB, the redo log, base images, the data directory, backup and restore
 *     rows/       the rows of engine/rows.h and all lists, as keys and values
 *     memory/     authors' heads, the pairs of those here lately, and what time it is
 *     verify/     recomputing what is stored twice; the authors' lists anew from the posts
 *     snapshots.c a pool of snapshots, taken by whoever wants an answer
 *     writer.c    the one thread that changes anything, in batches
 *     ahead.c     threads that read what a batch will touch, where it is not in memory
 *     sweep.c     removes what is nobody's any more
 *     load.c      what is kept in memory, from the data
 *     limits.c    limits that all servers of one log share
 *     reheat.c    orders and states anew when the rules for them change
 *     tail.c      the newest records in memory             peers.c     those who follow this directory
 *     follower.c  following another server's log           apply.c     records of that log onto this directory
 *     join.c      a directory filled with another's        promote.c   a follower takes over
 *     replica*.c  a log that is decided in MySQL           forward*.c  changes that are handed to the writer
 *     local.c     opening, closing, and the engine's table
 */
#ifndef LOCAL_LOCAL_H
#define LOCAL_LOCAL_H

#include <pthread.h>

#include "engine/engine.h"
#include "engine/local/forward.h"
#include "engine/local/peers.h"
#include "engine/local/replica.h"
#include "engine/local/rows/rows.h"
#include "engine/local/storage/store.h"
#include "engine/local/tail.h"

/* What an operation takes for itself while it runs; a fan with very many ties takes the most. */
#define SCRATCH_MEMORY_MAX ((size_t)1 << 30)

struct snapshot {
    struct snapshot *next;
    struct kv_txn txn;
    struct heads_reader *place;
    struct arena scratch;
    struct local_view view;
};

struct snapshots {
    pthread_mutex_t mutex;
    pthread_cond_t returned;
    struct snapshot *idle;
    size_t made;
    size_t out;  /* lent at the moment */
    bool paused; /* none are lent */
};

struct writer {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the queue */
    pthread_cond_t wanted;
    struct tidings_call *first, *last;
    size_t waiting;
    bool stopping;
    bool no_room;     /* the last batch found none; guarded by the queue's mutex, as the queue */
    bool no_sweeping; /* the rows to be swept are damaged: leave them to verify */

    pthread_mutex_t turn; /* held while writing: the writer's batches, and verify */
    struct arena scratch;
    struct news news;           /* of the batch under way */
    struct buf mark;            /* what the log says of a change that was handed over */
    struct tidings_stats stats; /* guarded by the queue's mutex */
};

/* See follower.c. */
struct follower {
    struct local *local;
    struct wire_context *context;
    char address[PEER_ADDRESS_BYTES];     /* of the server that is followed */
    char own_address[PEER_ADDRESS_BYTES]; /* where this one can be asked; "": nowhere */
    pthread_t thread;
    bool started;
    bool joined; /* the two agree: if this directory was replaced, that is over */
    int wake_fd;
    _Atomic bool stopping, promoting;
    /* At that time this one lacked nothing, as is known now; 0: never. */
    _Atomic int64_t current_ms;
    _Atomic bool is_read; /* since the last stamp */
    struct {
        int64_t stamp_ms; /* the newest that was sent */
        /* All of that time goes up to `position`, which is not there yet; 0: there is no such word. */
        int64_t told_ms;
        uint64_t position;
    } asked; /* its thread */
    struct chainer *chainer;
    struct redo_record *records; /* of the message under way */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    bool connected, broken, handed_over;
    uint64_t end; /* of the other log, as far as is known */
    char trouble[COMPLAINT_BYTES];
};

struct local {
    struct engine engine;
    struct tidings_settings
        settings; /* as they were given, with rules and limits as stored, if these are to hold */
    /* What operations go by: `settings`; where the log is followed, what it said last of rules and limits. */
    _Atomic(const struct tidings_settings *) in_force;
    struct former_settings *former_settings;
    bool limits_due;   /* the row is to be put with the next batch */
    bool rules_wanted; /* of a follower: its own rules are to hold when it becomes the writer */
    struct clock clock;
    void (*fault)(void *ctx, const char *text);
    void *fault_ctx;
    struct store *store;
    struct kv *kv; /* the store's */
    struct heads *heads;
    struct recent *recent;
    _Atomic uint64_t committed; /* the newest version that is durable: no reader sees a later one */
    struct snapshots snapshots;
    struct writer writer;
    struct ahead *ahead;

    _Atomic enum tidings_replica_role role;
    _Atomic uint64_t era;
    _Atomic int64_t replaced_ms; /* when it handed over, if it did */
    pthread_mutex_t end_mutex;   /* guards the next one */
    pthread_cond_t end_changed;
    struct peer_end end;       /* the last batch that was shown, and told */
    pthread_mutex_t promotion; /* one at a time */
    struct wire_context *wire_context;
    struct tail *tail; /* NULL: nobody can follow */
    struct peers *peers;
    struct follower follower;
    struct replica *replica; /* NULL: the own log decides */
    struct forward *forward; /* with a replica */
    bool bounded;            /* reads that do not say how new they must be */
};

static inline const struct tidings_settings *local_in_force(struct local *local)
{
    return atomic_load_explicit(&local->in_force, memory_order_acquire);
}

/* ---- limits.c ------------------------------------------------------------------------------- */

/* Whether the row is what the settings say, or, as stored, the settings in line with it. */
enum tidings_err limits_open(struct local *local, bool as_stored);

/* Into the transaction. */
void limits_put(struct local *local, struct kv_txn *txn);

/* From now on these settings are in force. False if memory is short. */
bool limits_change(struct local *local, const struct tidings_settings *settings);

void limits_release(struct local *local);

/* ---- local.c -------------------------------------------------------------------------------- */

/* Hands a change to whoever makes it; is_current: this replica shows all that was acknowledged before the call. */
void local_submit_change(struct local *local, struct tidings_call *call, bool is_current);

/* How old what is read from now on is at most, unless the log was asked for it: 0 where changes are made. */
int64_t local_age(struct local *local);

/* ---- snapshots.c ---------------------------------------------------------------------------- */

void snapshots_init(struct snapshots *snapshots);
void snapshots_release(struct snapshots *snapshots);

/* Waits until all snapshots are back, and lends none until snapshots_resume. */
void snapshots_pause(void *snapshots);
void snapshots_resume(void *snapshots);

/* A snapshot of now, its view ready at the operation's time. Waits if all are taken. On failure
 * *snapshot is untouched. */
enum tidings_err snapshot_take(struct local *local, const struct tidings_op *op,
                               struct snapshot **snapshot);
void snapshot_return(struct local *local, struct snapshot *snapshot);

/* ---- writer.c ------------------------------------------------------------------------------- */

enum tidings_err writer_start(struct local *local);

/* Queues a change, or refuses it as BUSY. */
void writer_submit(struct local *local, struct tidings_call *call);

/* Completes a batch whose outcome was not known: STANDBY, it was not made. */
void writer_complete(struct local *local, struct tidings_call *batch, enum tidings_err err);

/* What the writer has done so far. */
void writer_stats(struct local *local, struct tidings_stats *stats);

/* Tells those who watch what a batch had to tell. */
void writer_tell(struct local *local, const struct news *news);

/* Runs a batch without a change, which notes what was done to the clock meanwhile. */
void writer_wake(struct local *local);

/* From now on nothing is written here; all that was is durable. */
enum tidings_err writer_retire(struct local *local);

/* Completes what is queued, then ends the thread. */
void writer_stop(struct local *local);
void writer_release(struct local *local);

/* In the writer's turn, what a thread of its own has changed: durable and visible, as a batch is. `last_id` was the newest id
 * before it. */
enum tidings_err writer_commit(struct local *local, struct local_view *view, uint64_t last_id,
                               const struct moment *at);

/* ---- users.c -------------------------------------------------------------------------------- */

/* See tidings_users. */
enum tidings_err local_users(struct engine *engine, uint64_t after, uint64_t *ids, size_t max,
                             size_t *n);

/* See tidings_follow_limit. */
enum tidings_err local_follow_limit(struct engine *engine, uint64_t user,
                                    struct tidings_limit *limit);

/* ---- export.c, import.c --------------------------------------------------------------------- */

enum tidings_err local_export(struct engine *engine, uint64_t user, struct fact_sink *sink,
                              struct tidings_progress *progress);

/* Whether an import into the directory was interrupted. */
bool import_is_unfinished(struct local *local);

enum tidings_err local_import_look(struct engine *engine, struct import_mark *mark,
                                   const char **message);
enum tidings_err local_import_piece(struct engine *engine,
                                    void (*run)(void *ctx, struct view *view, uint64_t *newest),
                                    void *ctx, const struct import_mark *mark);
enum tidings_err local_import_end(struct engine *engine);

/* ---- sweep.c -------------------------------------------------------------------------------- */

/* Removes about that many rows of each kind. For the writer. */
void local_sweep(struct view *view, size_t most);

/* ---- load.c --------------------------------------------------------------------------------- */

/* Where writing goes on, and the time. */
enum tidings_err load_committed(struct local *local);

/* Into the transaction. */
void save_clock(struct kv_txn *txn, const struct clock_row *row);

/* All heads from the table. */
enum tidings_err load_heads(struct local *local, const char **message);

/* Where a snapshot stands. */
struct newest {
    uint64_t id;        /* the newest given out */
    uint64_t version;   /* the batch that said so: what heads are stamped with */
    int64_t elapsed_ms; /* when it was given out; 0: not known */
};
struct newest load_newest(struct kv_txn *txn);
void save_newest(struct kv_txn *txn, struct newest newest);

/* The newest as it is, with the number of the batch under way: every batch has that row. */
void save_version(struct local *local, struct kv_txn *txn);

/* The author's head anew from the table, as a version of the transaction under way. */
enum tidings_err load_head(struct local *local, struct kv_txn *txn, enum realm realm,
                           uint64_t author, uint64_t version);

/* The row `clock`; false if it is not one. */
bool clock_row_decode(struct bytes value, struct clock_row *row);

/* ---- promote.c ------------------------------------------------------------------------------ */

/* The era that the log is in: 0 at first. */
uint64_t era_load(struct kv_txn *txn);

/* In the writer's turn: becomes the writer, by its own rules and limits. A later era than the log's begins with a record. */
enum tidings_err promote_in_turn(struct local *local, uint64_t era);

/* A record that says that this era begins, and nothing else. */
enum tidings_err promote_to_era(struct local *local, uint64_t era);

/* ---- apply.c -------------------------------------------------------------------------------- */

/* Applies records that were decided elsewhere, passing over those that are here. CORRUPT: they do not follow what is here, or
 * this directory is damaged. STANDBY: this server is the writer. On failure nothing has happened. */
enum tidings_err apply_records(struct local *local, const struct redo_record *records, size_t n);

/* ---- verify/rebuild.c ----------------------------------------------------------------------- */

/* Makes the authors' lists anew from the posts. CORRUPT if these are damaged too. */
enum tidings_err rebuild_lists(struct local *local);

/* ---- names.c -------------------------------------------------------------------------------- */

/* Makes what is missing of the index of names: all of it in a directory from before there was one. */
enum tidings_err names_make(struct local *local);

/* Nothing is missing: with the first batch of a new directory. */
void names_begin(struct kv_txn *txn);

/* ---- reheat.c ------------------------------------------------------------------------------- */

/* The settings in line with the rules in force. */
enum tidings_err reheat_adopt(struct local *local);

/* Brings stored orders and states in line with the settings, if these have changed; or, as stored,
 * the settings in line with them. */
enum tidings_err reheat(struct local *local, bool as_stored);

/* Writes down the settings in force, with the first batch of a new directory. */
void reheat_begin(struct kv_txn *txn, const struct tidings_settings *settings);

/* ---- verify/verify.c ------------------------------------------------------------------------ */

enum tidings_err local_verify(struct engine *engine, struct tidings_verify *verify);

#endif
