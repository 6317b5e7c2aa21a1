/* SPDX-License-Identifier: MIT */
/* The local engine: everything on one machine, in one directory. */
#include "engine/local/local.h"

#include <stdlib.h>

#include "engine/local/memory/recent.h"
#include "engine/ops/ops.h"

/* ---- Operations ----------------------------------------------------------------------------- */

/* Opening what is read already changes nothing, and reading is most of what happens. */
static bool needs_no_writer(struct local *local, const struct tidings_op *op)
{
    struct snapshot *snapshot;
    if (!op_writes(op->kind))
        return true;
    if (op->kind != TIDINGS_OP_OPEN || op->once || snapshot_take(local, op, &snapshot))
        return false;
    struct view *view = &snapshot->view.view;
    bool nothing = open_changes_nothing(view, op) && !view_failed(view);
    snapshot_return(local, snapshot);
    return nothing;
}

static void local_submit(struct engine *engine, struct tidings_call *call)
{
    struct local *local = (struct local *)engine;
    if (needs_no_writer(local, call->op))
        call->done(call);
    else
        writer_submit(local, call);
}

enum tidings_err local_finish(struct engine *engine, struct tidings_call *call)
{
    struct local *local = (struct local *)engine;
    struct reply reply = {call->op, call->answer, call->answer->memory};
    struct snapshot *snapshot;
    enum tidings_err err = snapshot_take(local, call->op, &snapshot);
    if (err)
        return err;
    err = op_answer(&snapshot->view.view, &reply);
    snapshot_return(local, snapshot);
    return err;
}

int64_t local_elapsed(struct engine *engine)
{
    return clock_read(&((struct local *)engine)->clock).elapsed_ms;
}

static void local_stats(struct engine *engine, struct tidings_stats *stats)
{
    struct local *local = (struct local *)engine;
    writer_stats(local, stats);
    stats->data_bytes = kv_used_bytes(local->kv);
    store_stats(local->store, stats);
    clock_stats(&local->clock, stats);
}

static enum tidings_err local_backup(struct engine *engine, struct tidings_backup *backup,
                                     const char **message)
{
    struct local *local = (struct local *)engine;
    return tidings_backup_dir(local->store->dir, backup, message);
}

/* ---- Life ----------------------------------------------------------------------------------- */

static void release(struct local *local)
{
    snapshots_release(&local->snapshots);
    recent_free(local->recent);
    heads_free(local->heads);
    store_close(local->store);
    limits_release(local);
    clock_release(&local->clock);
    engine_release(&local->engine);
    free(local);
}

static void local_close(struct engine *engine)
{
    struct local *local = (struct local *)engine;
    writer_stop(local);
    release(local);
}

const struct tidings_settings *local_settings(struct engine *engine)
{
    return local_in_force((struct local *)engine);
}

static const struct engine_vtable local_vtable = {
    .submit = local_submit,
    .finish = local_finish,
    .elapsed = local_elapsed,
    .settings = local_settings,
    .stats = local_stats,
    .verify = local_verify,
    .backup = local_backup,
    .export = local_export,
    .import_look = local_import_look,
    .import_piece = local_import_piece,
    .import_end = local_import_end,
    .close = local_close,
};

static enum tidings_err load(struct local *local, bool rebuild, const char **message)
{
    enum tidings_err err = load_heads(local, message);
    if (err != TIDINGS_CORRUPT || !rebuild)
        return err;
    err = rebuild_lists(local);
    if (err)
        return err;
    /* What was loaded before the damage was found goes with the heads. */
    heads_free(local->heads);
    local->heads = heads_new();
    return local->heads ? load_heads(local, message) : TIDINGS_NO_MEMORY;
}

static enum tidings_err start(struct local *local, const struct tidings_options *options,
                              const char **message)
{
    struct store_options store = {
        .dir = options->dir,
        .settings = &local->settings,
        .each_second = options->durability == TIDINGS_DURABLE_SECOND,
        .remake = options->remake,
        .notice = options->fault,
        .notice_ctx = options->fault_ctx,
        .progress = options->progress,
        .pause = snapshots_pause,
        .resume = snapshots_resume,
        .ctx = &local->snapshots,
        .limit_ms = clock_limit_now,
        .clock = &local->clock,
    };
    local->heads = heads_new();
    local->recent = recent_new(local->settings.recent_mb << 20);
    if (!local->heads || !local->recent)
        return TIDINGS_NO_MEMORY;
    enum tidings_err err = store_open(&store, &local->store, message);
    if (!err) {
        local->kv = local->store->kv;
        err = load_committed(local);
    }
    if (!err && !options->importing && import_is_unfinished(local)) {
        *message =
            "an import into it was interrupted: `tidings import` with the same input goes on";
        err = TIDINGS_INVALID;
    }
    if (!err)
        err = load(local, options->rebuild, message);
    if (!err)
        err = names_make(local);
    if (!err)
        err = limits_open(local, options->as_stored || local->store->read_only);
    if (!err)
        err = reheat(local, options->as_stored || local->store->read_only);
    return err ? err : writer_start(local);
}

enum tidings_err engine_local_open(const struct tidings_options *options, struct engine **engine,
                                   const char **message)
{
    if (options->shadow)
        return shadow_open(options, engine, message);
    struct local *local = calloc(1, sizeof *local);
    if (!local)
        return TIDINGS_NO_MEMORY;
    engine_init(&local->engine, &local_vtable);
    local->settings = options->settings;
    atomic_init(&local->in_force, &local->settings);
    clock_init(&local->clock, options);
    local->fault = options->fault;
    local->fault_ctx = options->fault_ctx;
    snapshots_init(&local->snapshots);
    enum tidings_err err = start(local, options, message);
    if (err) {
        release(local);
        return err;
    }
    *engine = &local->engine;
    return TIDINGS_OK;
}
