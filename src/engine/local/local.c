/* SPDX-License-Identifier: MIT */
/* The engine: everything on one machine, in one directory. */
#include "engine/local/local.h"

#include <stdlib.h>

#include "base/wait.h"
#include "engine/local/ahead.h"
#include "engine/local/memory/recent.h"
#include "engine/ops/ops.h"
#include "engine/ops/rules.h"

enum { OPEN_TRIES = 3 };

/* The newest records, for those who follow. */
#define TAIL_BYTES ((size_t)64 << 20)

/* ---- Operations ----------------------------------------------------------------------------- */

/* Opening what is read already changes nothing, and reading is most of what happens. */
static bool opens_what_is_read(struct local *local, const struct tidings_op *op)
{
    struct snapshot *snapshot;
    if (op->kind != TIDINGS_OP_OPEN || op->once || snapshot_take(local, op, &snapshot))
        return false;
    struct view *view = &snapshot->view.view;
    bool nothing = open_changes_nothing(view, op) && !view_failed(view);
    snapshot_return(local, snapshot);
    return nothing;
}

void local_submit_change(struct local *local, struct tidings_call *call, bool is_current)
{
    if (is_current && opens_what_is_read(local, call->op))
        call->done(call);
    else if (local->replica && atomic_load(&local->role) != TIDINGS_WRITER)
        forward_submit(local, call);
    else
        writer_submit(local, call);
}

/* Whether this replica shows the place in the history; a later era goes on with all that is left of the one before. */
static bool local_shows(struct local *local, uint64_t position, const struct tidings_seen *seen)
{
    uint64_t era = atomic_load(&local->era);
    return seen->era < era || (seen->era == era && seen->position <= position);
}

/* Whether a read must wait for what was acknowledged elsewhere. */
static bool local_read_waits(struct local *local, const struct tidings_op *op)
{
    enum tidings_freshness wanted = op->freshness;
    if (!wanted)
        wanted = local->bounded ? TIDINGS_BOUNDED : TIDINGS_EXACT;
    return wanted == TIDINGS_EXACT || !local_shows(local, local_end(local).position, &op->seen);
}

static void local_submit(struct engine *engine, struct tidings_call *call)
{
    struct local *local = (struct local *)engine;
    bool writes = op_writes(call->op->kind), opens = call->op->kind == TIDINGS_OP_OPEN;
    call->is_current = false;
    if (local->replica && (opens || (!writes && local_read_waits(local, call->op))))
        replica_submit_read(local, call);
    else if (writes)
        local_submit_change(local, call, atomic_load(&local->role) == TIDINGS_WRITER);
    else
        call->done(call);
}

int64_t local_age(struct local *local)
{
    if (local->replica)
        return replica_age(local);
    switch (atomic_load(&local->role)) {
    case TIDINGS_FOLLOWER:
        return follower_age(local);
    case TIDINGS_REPLACED: /* another one has gone on since */
        return wait_now_ms() - atomic_load(&local->replaced_ms) + 1;
    default:
        return 0;
    }
}

/* The same of an answer: an exact one is not old, nor that to a change. */
static int64_t local_answer_age(struct local *local, const struct tidings_call *call)
{
    bool is_exact = local->replica && (call->is_current || op_writes(call->op->kind));
    return is_exact ? 0 : local_age(local);
}

static enum tidings_err local_finish(struct engine *engine, struct tidings_call *call)
{
    struct local *local = (struct local *)engine;
    struct reply reply = {call->op, call->answer, call->answer->memory};
    struct snapshot *snapshot;
    int64_t age_ms = local_answer_age(local, call);
    enum tidings_err err = snapshot_take(local, call->op, &snapshot);
    if (err)
        return err;
    uint64_t position = snapshot->view.version;
    bool is_replica = local->tail || atomic_load(&local->role) == TIDINGS_FOLLOWER;
    bool is_late = is_replica && !local_shows(local, position, &call->op->seen);
    err = is_late ? TIDINGS_UNREACHABLE : op_answer(&snapshot->view.view, &reply);
    snapshot_return(local, snapshot);
    call->answer->age_ms = age_ms;
    if (is_replica)
        call->answer->seen = (struct tidings_seen){atomic_load(&local->era), position};
    return err;
}

static int64_t local_elapsed(struct engine *engine)
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

static void put_chain(const struct chain *chain, char digits[TIDINGS_CHAIN_DIGITS + 1])
{
    for (size_t i = 0; i < CHAIN_BYTES; i++)
        snprintf(digits + 2 * i, 3, "%02x", chain->bytes[i]);
}

/* The position and its chain belong together: they are those of the last batch that was shown. */
static enum tidings_err local_replica_status(struct engine *engine, struct tidings_replica *status)
{
    struct local *local = (struct local *)engine;
    *status = (struct tidings_replica){.role = atomic_load(&local->role)};
    struct peer_end end = local_end(local);
    status->position = end.position;
    status->era = end.era;
    put_chain(&end.chain, status->chain);
    peers_status(local, status);
    if (local->replica)
        replica_status(local, status);
    else if (status->role == TIDINGS_FOLLOWER)
        follower_status(local, status);
    return TIDINGS_OK;
}

/* Without MySQL a server becomes the writer once: another one that does begins an era. */
static uint64_t local_term(struct engine *engine)
{
    struct local *local = (struct local *)engine;
    if (atomic_load(&local->role) != TIDINGS_WRITER)
        return 0;
    return local->replica ? replica_term(local) : 1;
}

enum tidings_err tidings_promote(const char *address, const char *key_file,
                                 struct tidings_replica *status, const char **message)
{
    uint8_t key[WIRE_KEY_BYTES], type;
    struct peer_end end;
    struct wire *wire = NULL;
    struct buf answer;
    bool again;
    enum tidings_err err = peer_key_read(NULL, key_file, false, key, message);
    struct wire_context *context = err ? NULL : wire_context_new(key);
    if (err || !context)
        return err ? err : TIDINGS_NO_MEMORY;
    buf_init(&answer, PEER_PIECE_BYTES);
    err = peer_ask(context, address, PEER_PROMOTE, (struct bytes){NULL, 0}, &wire, &type, &answer,
                   &again, message);
    if (!err && (type != PEER_PROMOTED ||
                 !peer_read_end((struct bytes){(const uint8_t *)answer.data, answer.len}, &end))) {
        *message = "the server there speaks otherwise";
        err = TIDINGS_INVALID;
    }
    if (!err) {
        *status = (struct tidings_replica){
            .role = TIDINGS_WRITER, .position = end.position, .era = end.era};
        put_chain(&end.chain, status->chain);
    }
    wire_free(wire);
    wire_context_free(context);
    buf_release(&answer);
    return err;
}

static enum tidings_err local_secret(struct engine *engine, uint8_t secret[TIDINGS_SECRET_BYTES])
{
    struct local *local = (struct local *)engine;
    return local->replica ? replica_secret(local, secret) : TIDINGS_UNSUPPORTED;
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
    replica_release(local);
    forward_release(local);
    follower_release(local);
    ahead_free(local->ahead);
    tail_free(local->tail);
    wire_context_free(local->wire_context);
    pthread_mutex_destroy(&local->promotion);
    pthread_cond_destroy(&local->end_changed);
    pthread_mutex_destroy(&local->end_mutex);
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
    forward_stop(local);
    peers_stop(local);
    follower_stop(local);
    writer_stop(local); /* what was queued is made before another server takes over */
    replica_stop(local);
    writer_release(local);
    release(local);
}

static const struct tidings_settings *local_settings(struct engine *engine)
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
    .users = local_users,
    .follow_limit = local_follow_limit,
    .import_look = local_import_look,
    .import_piece = local_import_piece,
    .import_end = local_import_end,
    .secret = local_secret,
    .replica_status = local_replica_status,
    .term = local_term,
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

/* The key of those who follow and are followed. */
static enum tidings_err open_key(struct local *local, const struct tidings_options *options,
                                 const char **message)
{
    uint8_t key[WIRE_KEY_BYTES];
    if (options->mysql || (!options->peer_listen && !options->follow))
        return TIDINGS_OK;
    enum tidings_err err =
        peer_key_read(options->dir, options->peer_key_file, !options->follow, key, message);
    if (err)
        return err;
    local->wire_context = wire_context_new(key);
    return local->wire_context ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

/* A directory that was replaced is not gone on with, unless somebody says so. */
static enum tidings_err check_era(struct local *local, const struct tidings_options *options,
                                  const char **message)
{
    if (options->take_back)
        join_forget_replaced(options->dir);
    if (options->take_back || options->follow || options->as_stored)
        return TIDINGS_OK;
    return join_check_replaced(options, local->wire_context, atomic_load(&local->era), message);
}

/* A server that is started with other rules than the log's brings them in, once, when it becomes the writer. */
static void note_wanted_rules(struct local *local, const struct tidings_settings *in_force)
{
    uint64_t given[RULES], stored[RULES];
    rules_of(&local->settings, given);
    rules_of(in_force, stored);
    local->rules_wanted = atomic_load(&local->committed) && memcmp(given, stored, sizeof given);
    if (local->rules_wanted && local->replica && local->fault)
        local->fault(local->fault_ctx, "this server was started with other weights of heat or "
                                       "another rule of folding than the "
                                       "log has: they hold from when it makes the changes");
}

/* Whoever writes does so by its own rules and limits; whoever does not, by those of the log. */
static enum tidings_err keep_rules(struct local *local, const struct tidings_options *options)
{
    bool follows = atomic_load(&local->role) == TIDINGS_FOLLOWER;
    bool as_stored = options->as_stored || local->store->read_only || follows;
    enum tidings_err err = follows ? TIDINGS_OK : names_make(local);
    struct tidings_settings given = local->settings;
    if (!err)
        err = limits_open(local, as_stored);
    if (!err)
        err = reheat(local, as_stored);
    if (err || !follows)
        return err;
    struct tidings_settings in_force = local->settings;
    local->settings = given; /* for when it is promoted */
    note_wanted_rules(local, &in_force);
    return limits_change(local, &in_force) ? TIDINGS_OK : TIDINGS_NO_MEMORY;
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
    bool is_followed = options->peer_listen || options->mysql;
    local->tail = is_followed ? tail_new(TAIL_BYTES) : NULL;
    local->ahead = ahead_new(local);
    if (!local->heads || !local->ahead || !local->recent || (is_followed && !local->tail))
        return TIDINGS_NO_MEMORY;
    enum tidings_err err = open_key(local, options, message);
    if (!err && options->mysql)
        err = replica_open(local, options, message);
    if (!err && options->follow)
        err = join_directory(options, local->wire_context, message);
    store.elsewhere = local->replica && !replica_begins(local);
    if (!err)
        err = store_open(&store, &local->store, message);
    if (!err) {
        local->kv = local->store->kv;
        err = load_committed(local);
    }
    if (!err && !options->importing && import_is_unfinished(local)) {
        *message =
            "an import into it was interrupted: `tidings import` with the same input goes on";
        err = TIDINGS_INVALID;
    }
    if (!err && options->mysql)
        err = replica_begin(local, message);
    if (!err)
        err = check_era(local, options, message);
    if (!err)
        err = load(local, options->rebuild && !options->follow, message);
    if (!err)
        err = keep_rules(local, options);
    return err;
}

static enum tidings_err start_replica(struct local *local, const struct tidings_options *options,
                                      const char **message)
{
    struct follower *follower = &local->follower;
    enum tidings_err err = TIDINGS_OK;
    if (options->peer_listen && !options->mysql)
        err = peers_start(local, options->peer_listen, local->wire_context, message);
    if (!err && local->peers)
        peers_address(local, options->peer_listen, follower->own_address);
    if (!err && options->follow)
        err = follower_start(local, options->follow, local->wire_context);
    if (!err && options->mysql)
        err = replica_start(local, options, message);
    return err;
}

static enum tidings_err local_open_once(const struct tidings_options *options,
                                        struct engine **engine, const char **message)
{
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
    pthread_mutex_init(&local->promotion, NULL);
    pthread_mutex_init(&local->end_mutex, NULL);
    wait_init(&local->end_changed);
    follower_init(local);
    local->bounded = options->bounded;
    if (options->follow || options->mysql)
        atomic_store(&local->role, TIDINGS_FOLLOWER);
    enum tidings_err err = start(local, options, message);
    if (!err) {
        local_end_note(local);
        err = writer_start(local);
    }
    if (err) {
        release(local);
        return err;
    }
    err = start_replica(local, options, message);
    if (err) {
        local_close(&local->engine);
        return err;
    }
    *engine = &local->engine;
    return TIDINGS_OK;
}

/* A directory that must join anew does so the second time. Meanwhile the log may have been trimmed once more. */
enum tidings_err engine_local_open(const struct tidings_options *options, struct engine **engine,
                                   const char **message)
{
    enum tidings_err err = TIDINGS_STANDBY;
    for (int i = 0; i < OPEN_TRIES && err == TIDINGS_STANDBY; i++)
        err = local_open_once(options, engine, message);
    return err;
}
