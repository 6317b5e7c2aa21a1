/* SPDX-License-Identifier: MIT */
/*
 * The contract of an engine: what stands behind the functions of tidings.h. Operations arrive
 * checked (domain/check.h). An engine embeds struct engine as its first member and ends its main
 * file with one table.
 */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "base/arena.h"
#include "tidings.h"

struct engine;

struct engine_vtable {
    /*
     * Begins a change. Calls call->done once, from any thread, now or later, with call->err set: OK
     * means durable. Does not wait for the disk: too much to do is BUSY.
     */
    void (*submit)(struct engine *engine, struct tidings_call *call);

    /*
     * Fills in the answer, all zeros so far but for err, from one snapshot that includes every
     * change completed before. Texts and rows go to the arena. Answers the final error.
     */
    enum tidings_err (*answer)(struct engine *engine, const struct tidings_call *call,
                               struct tidings_answer *answer, struct arena *arena);

    /* See tidings_stats. */
    void (*stats)(struct engine *engine, struct tidings_stats *stats);

    /* See tidings_verify. */
    enum tidings_err (*verify)(struct engine *engine, struct tidings_verify *verify);

    /* See tidings_backup. */
    enum tidings_err (*backup)(struct engine *engine, struct tidings_backup *backup,
                               const char **message);

    /* Completes what was submitted and frees everything. */
    void (*close)(struct engine *engine);
};

struct engine {
    const struct engine_vtable *vtable;
};

/* The local engine, on one directory. On failure *message is a static text. */
enum tidings_err engine_local_open(const struct tidings_options *options, struct engine **engine,
                                   const char **message);

#endif
