/* SPDX-License-Identifier: MIT */
/*
 * The contract of the engine: what stands behind the functions of tidings.h. Operations arrive
 * checked (domain/check.h). The engine (engine/local) embeds struct engine as its first member, and ends its main
 * file with one table.
 *
 * What an operation does is not its business: engine/ops has it, over the rows that the engine provides.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include <pthread.h>

#include "base/arena.h"
#include "domain/ages.h"
#include "tidings.h"

struct engine;
struct fact_sink;
struct view;

/* Where a fact stands among those that come in order (engine/facts/apply.h). */
struct fact_place {
    uint64_t step, id;
};

/* How far an import has come, kept with what it has brought. */
struct import_mark {
    uint64_t lines; /* done with */
    uint64_t taken, repeated, rejected;
    uint64_t check; /* of the input's beginning: 0, there is no import */
    struct fact_place place;
};

struct engine_vtable {
    /*
     * Begins an operation, one that only reads, too. Calls call->done once, from any thread, now or later, when
     * `finish` will wait for nobody; call->err is then the outcome of a change, OK: it is durable. Waits for neither disk
     * nor network: too much to do is BUSY. Until done the answer, empty at first, is the engine's.
     */
    void (*submit)(struct engine *engine, struct tidings_call *call);

    /*
     * Completes the answer to a call that was not refused, on the caller's thread, from one view that includes every
     * change completed before the call was submitted, and its own. Answers the final error.
     */
    enum tidings_err (*finish)(struct engine *engine, struct tidings_call *call);

    /* See tidings_elapsed. */
    int64_t (*elapsed)(struct engine *engine);

    /* See tidings_stats. */
    void (*stats)(struct engine *engine, struct tidings_stats *stats);

    /* See tidings_verify and tidings_backup. NULL: the engine does not do that. */
    enum tidings_err (*verify)(struct engine *engine, struct tidings_verify *verify);
    enum tidings_err (*backup)(struct engine *engine, struct tidings_backup *backup,
                               const char **message);

    /* All facts, or a user's, of one snapshot, in order (engine/facts/fact.h). NULL: the engine does not do that. */
    enum tidings_err (*export)(struct engine *engine, uint64_t user, struct fact_sink *sink,
                               struct tidings_progress *progress);

    /* How far an import has come: all zeros if there are no data. INVALID if there are, with a message. */
    enum tidings_err (*import_look)(struct engine *engine, struct import_mark *mark,
                                    const char **message);
    /* A piece of it: `run` changes rows and then the mark, which becomes durable with them; it may be called again, with another
     * view, if it must be tried again, also with one that lacks rows. The newest id of the rows is in *newest after it. Before it,
     * the mark's place says of which step the facts are: those of a step that publishes are with no others. */
    enum tidings_err (*import_piece)(struct engine *engine,
                                     void (*run)(void *ctx, struct view *view, uint64_t *newest),
                                     void *ctx, const struct import_mark *mark);
    /* All is there: the mark goes. */
    enum tidings_err (*import_end)(struct engine *engine);

    /* Those that it goes by. */
    const struct tidings_settings *(*settings)(struct engine *engine);

    /* See tidings_secret. NULL: the engine does not do that. */
    enum tidings_err (*secret)(struct engine *engine, uint8_t secret[TIDINGS_SECRET_BYTES]);

    /* See tidings_replica_status. NULL: the engine does not do that. */
    enum tidings_err (*replica_status)(struct engine *engine, struct tidings_replica *status);

    /* See tidings_users. NULL: the engine does not do that. */
    enum tidings_err (*users)(struct engine *engine, uint64_t after, uint64_t *ids, size_t max,
                              size_t *n);

    /* See tidings_follow_limit. NULL: the engine does not do that. */
    enum tidings_err (*follow_limit)(struct engine *engine, uint64_t user,
                                     struct tidings_limit *limit);

    /* See tidings_term. NULL: the engine always makes changes. */
    uint64_t (*term)(struct engine *engine);

    /* Completes what was submitted and frees everything. */
    void (*close)(struct engine *engine);
};

/* Those who watch. */
struct watchers {
    pthread_mutex_t mutex;
    struct tidings_watcher *first;
};

struct engine {
    const struct engine_vtable *vtable;
    struct watchers watchers;
};

void engine_init(struct engine *engine, const struct engine_vtable *vtable);
void engine_release(struct engine *engine);

/* Whether anybody watches. */
bool engine_is_watched(struct engine *engine);

/* What happened, in the order of commits, after it is durable and before the calls are done. With n 0: more than can be
 * told. One thread at a time. */
void engine_tell(struct engine *engine, const struct tidings_event *events, size_t n);

/* Which bucket of a histogram of struct tidings_stats counts the value. */
static inline unsigned stats_bucket(uint64_t value)
{
    unsigned bucket = value ? 64 - (unsigned)__builtin_clzll(value) : 0;
    return bucket < TIDINGS_STATS_BUCKETS ? bucket : TIDINGS_STATS_BUCKETS - 1;
}

/* Empties an answer, but keeps its memory for reuse. The arena, NULL if there is none to be had. */
struct arena *answer_clear(struct tidings_answer *answer);

/* ---- The engine ----------------------------------------------------------------------------- */

/* On failure *message is a text that stays until the thread comes here again. */
enum tidings_err engine_local_open(const struct tidings_options *options, struct engine **engine,
                                   const char **message);

#endif
