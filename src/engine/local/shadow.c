/* SPDX-License-Identifier: MIT */
/*
 * A shadow: the rows of a directory that another process may be using, in an LMDB file of its own. It is made of the directory's newest base image and log, as a recovery
 * is, and goes on with the log whenever it is told to. The directory is only read; its log is held, so that nothing is removed of it meanwhile.
 *
 * Of a log that is being written to only that is taken of which a later record, or the state of the directory, says that it is durable. Otherwise the loss of power could
 * take back what a shadow has passed on. Once the directory is locked, all of it counts: nobody writes there.
 */
#include <stdlib.h>
#include <unistd.h>

#include "engine/local/local.h"
#include "engine/local/memory/recent.h"
#include "engine/local/rows/moved.h"
#include "engine/ops/ops.h"

enum {
    PIECE_ROWS = 4096,
    PIECE_BYTES = 2 << 20,
    CHANGES_MOST = 1 << 16, /* names at a time, about: a batch is not divided */
    RECENT_BYTES = 1 << 20,
    TORN_TRIES = 20, /* a record may be read while it is written */
    TORN_WAIT_US = 10000,
};

struct shadow {
    struct local local; /* without store and writer */
    char dir[PATH_BYTES], log_dir[PATH_BYTES], base_dir[PATH_BYTES], path[PATH_BYTES];
    struct tidings_progress progress;
    struct state state;
    int held, lock;            /* of the directory: its log, and all of it; -1 */
    struct snapshot *snapshot; /* the look that is taken */
};

static struct shadow *shadow_of(struct engine *engine)
{
    return (struct shadow *)engine;
}

/* ---- The directory's log -------------------------------------------------------------------- */

/* A record that was just being written may look damaged: then it is read again. */
static bool is_torn(const struct shadow *shadow, enum tidings_err err, int tries)
{
    if (err != TIDINGS_CORRUPT || shadow->lock >= 0 || tries >= TORN_TRIES)
        return false;
    usleep(TORN_WAIT_US);
    return true;
}

static bool note_synced(void *ctx, const struct redo_record *record)
{
    uint64_t *durable = ctx;
    if (record->synced > *durable)
        *durable = record->synced;
    return true;
}

/* Where the last but one segment begins: of the last two, one at least has been begun. */
static enum tidings_err find_end(const struct shadow *shadow, uint64_t *before)
{
    uint64_t *firsts;
    size_t n;
    enum tidings_err err = redo_segments(shadow->log_dir, &firsts, &n);
    if (err)
        return err;
    *before = n ? firsts[n > 1 ? n - 2 : 0] - 1 : 0;
    free(firsts);
    return TIDINGS_OK;
}

/* Up to which batch it is durable, at least; UINT64_MAX: all there is. */
static enum tidings_err find_durable(struct shadow *shadow, uint64_t *durable)
{
    bool found;
    enum tidings_err err = state_read(shadow->dir, &shadow->state, &found);
    *durable = shadow->lock >= 0 ? UINT64_MAX : shadow->state.reaches;
    for (int tries = 0; !err && shadow->lock < 0; tries++) {
        struct redo_scan scan = {
            .dir = shadow->log_dir, .id = shadow->state.id, .visit = note_synced, .ctx = durable};
        err = find_end(shadow, &scan.after);
        if (!err)
            err = redo_scan(&scan);
        if (!is_torn(shadow, err, tries))
            break;
        err = TIDINGS_OK;
    }
    return err;
}

static struct image_job job_of(const struct shadow *shadow, uint64_t until)
{
    return (struct image_job){
        .log_dir = shadow->log_dir,
        .base_dir = shadow->base_dir,
        .id = shadow->state.id,
        .path = shadow->path,
        .map_bytes = (size_t)shadow->local.settings.map_mb << 20,
        .number = until,
        .reaches = shadow->state.reaches,
        .progress = shadow->progress,
    };
}

static enum tidings_err say(const struct image_job *job, enum tidings_err err, const char **message)
{
    const char *text = err == TIDINGS_NO_SPACE ? "there is no room for the copy of the data"
                       : job->message[0]       ? job->message
                                               : tidings_err_text(err);
    return err ? store_fail(err, message, text, false) : TIDINGS_OK;
}

/* ---- What is in memory ---------------------------------------------------------------------- */

/* Nothing of it but an empty pool of snapshots, for whoever maps the file anew. */
static void forget(struct local *local)
{
    snapshots_release(&local->snapshots);
    recent_free(local->recent);
    heads_free(local->heads);
    local->snapshots = (struct snapshots){0};
    local->recent = NULL;
    local->heads = NULL;
    snapshots_init(&local->snapshots);
}

static enum tidings_err remember(struct local *local, const char **message)
{
    local->heads = heads_new();
    local->recent = recent_new(RECENT_BYTES);
    enum tidings_err err = local->heads && local->recent ? TIDINGS_OK : TIDINGS_NO_MEMORY;
    if (!err)
        err = load_committed(local);
    if (!err)
        err = load_heads(local, message);
    return err ? err : reheat_adopt(local);
}

/* ---- Source of a move ----------------------------------------------------------------------- */

/* By the directory's id. */
static uint64_t shadow_check(struct engine *engine)
{
    struct decoder r = decoder_of(shadow_of(engine)->state.id, REDO_ID_BYTES);
    return read_u64(&r) | 1;
}

static enum tidings_err shadow_advance(struct engine *engine, uint64_t *batch, const char **message)
{
    struct shadow *shadow = shadow_of(engine);
    uint64_t until, before = kv_applied(shadow->local.kv);
    enum tidings_err err = find_durable(shadow, &until);
    if (!err && until > before) {
        forget(&shadow->local);
        for (int tries = 0;; tries++) {
            struct image_job job = job_of(shadow, until);
            err = say(&job, image_replay(shadow->local.kv, &job), message);
            if (!is_torn(shadow, err, tries))
                break;
        }
        enum tidings_err loaded = remember(&shadow->local, message);
        err = err ? err : loaded;
    }
    *batch = kv_applied(shadow->local.kv);
    return err;
}

static enum tidings_err shadow_lock(struct engine *engine)
{
    struct shadow *shadow = shadow_of(engine);
    const char *message;
    return shadow->lock >= 0 ? TIDINGS_OK : store_lock(shadow->dir, &shadow->lock, &message);
}

static enum tidings_err shadow_look(struct engine *engine, struct view **view)
{
    struct shadow *shadow = shadow_of(engine);
    enum tidings_err err = snapshot_take(&shadow->local, NULL, &shadow->snapshot);
    if (!err)
        *view = &shadow->snapshot->view.view;
    return err;
}

static void shadow_look_away(struct engine *engine)
{
    struct shadow *shadow = shadow_of(engine);
    snapshot_return(&shadow->local, shadow->snapshot);
    shadow->snapshot = NULL;
}

/* Rows of the table from the place on; false: the piece is full, and the place is where it ended. */
static bool walk_table(struct kv_txn *txn, struct moved_place *place, struct moved_set *set,
                       uint64_t *rows)
{
    enum table table = (enum table)place->table;
    struct moved moved;
    uint8_t from[ID_BYTES];
    struct bytes key, value;
    put_id(from, place->id);
    bool found =
        place->key.n
            ? kv_seek_long(txn, table, (struct bytes){place->key.bytes, place->key.n}, &key, &value)
            : kv_seek_long(txn, table, (struct bytes){from, sizeof from}, &key, &value);
    for (; found; found = kv_next(txn, table, &key, &value), ++*rows) {
        bool full = set->n >= PIECE_ROWS || set->bytes >= PIECE_BYTES;
        if (full && key.n <= sizeof place->key.bytes) { /* those that are longer are not carried */
            place->id = key.n >= ID_BYTES ? get_id(key.p) : 0;
            place->key.n = (uint8_t)key.n;
            memcpy(place->key.bytes, key.p, key.n);
            return false;
        }
        bool named = moved_name(table, key, value, true, &moved);
        bool again = named && set->n && !moved_order(&set->at[set->n - 1], &moved);
        if (named && !again && !moved_add(set, &moved))
            kv_fail(txn, TIDINGS_NO_MEMORY);
    }
    return true;
}

static enum tidings_err shadow_walk(struct engine *engine, struct moved_place *place,
                                    struct moved_set *set, uint64_t *rows, uint64_t *total)
{
    struct kv_txn *txn = &shadow_of(engine)->snapshot->txn;
    *total = 0;
    for (enum table table = 0; table < TABLE_COUNT; table++)
        *total += moved_has(table) ? kv_rows(txn, table) : 0;
    while (!txn->err && place->table < TABLE_COUNT &&
           (!moved_has((enum table)place->table) || walk_table(txn, place, set, rows)))
        *place = (struct moved_place){.table = place->table + 1};
    return txn->err;
}

/* ---- What the log says ---------------------------------------------------------------------- */

struct changes {
    struct moved_set *set;
    uint64_t until;
    uint64_t batch; /* taken in so far */
    enum tidings_err err;
};

static bool take_changes(void *ctx, const struct redo_record *record)
{
    struct changes *changes = ctx;
    struct decoder r = decoder_of(record->changes.p, record->changes.n);
    struct change change;
    struct moved moved;
    if (record->number > changes->until || changes->set->n >= CHANGES_MOST)
        return false;
    while (change_decode(&r, &change))
        if (change_is_row(change.table) &&
            moved_name((enum table)change.table, change.key, change.value, false, &moved) &&
            !moved_add(changes->set, &moved))
            changes->err = TIDINGS_NO_MEMORY;
    if (r.bad)
        changes->err = TIDINGS_CORRUPT;
    changes->batch = record->number;
    return !changes->err;
}

/* Whether the log goes back that far. */
static bool has_log(const struct shadow *shadow, uint64_t after)
{
    uint64_t *firsts;
    size_t n;
    if (redo_segments(shadow->log_dir, &firsts, &n))
        return false;
    bool has = n && firsts[0] <= after + 1;
    free(firsts);
    return has;
}

/* All of it was read before, when the shadow took it in: nothing in it is torn. */
static enum tidings_err shadow_changes(struct engine *engine, uint64_t *batch,
                                       struct moved_set *set, const char **message)
{
    const struct shadow *shadow = shadow_of(engine);
    struct changes changes = {.set = set, .until = kv_applied(shadow->local.kv), .batch = *batch};
    struct redo_scan scan = {.dir = shadow->log_dir,
                             .id = shadow->state.id,
                             .after = *batch,
                             .visit = take_changes,
                             .ctx = &changes};
    if (!has_log(shadow, *batch))
        return store_fail(TIDINGS_INVALID, message,
                          "the directory's log does not go back any more to where the move was "
                          "interrupted: drop the database and begin anew",
                          false);
    enum tidings_err err = redo_scan(&scan);
    *batch = changes.batch;
    if (changes.batch == changes.until || set->n)
        err = TIDINGS_OK; /* what comes behind may be being written */
    else if (err)
        store_fail(err, message, scan.message, false);
    return changes.err ? changes.err : err;
}

/* ---- What is left --------------------------------------------------------------------------- */

static enum tidings_err shadow_leave(struct engine *engine, struct import_left *left)
{
    struct shadow *shadow = shadow_of(engine);
    char path[PATH_BYTES];
    struct kv_txn txn;
    uint8_t *secret;
    size_t n;
    enum tidings_err err = kv_begin(shadow->local.kv, &txn);
    if (err)
        return err;
    left->elapsed_ms = load_newest(&txn).elapsed_ms;
    left->ages = shadow->local.clock.row.ages;
    kv_abort(&txn);
    if (path_join(path, shadow->dir, STORE_SEAL_KEY) &&
        !file_read(path, TIDINGS_SECRET_BYTES + 1, &secret, &n)) {
        left->has_secret = n == TIDINGS_SECRET_BYTES;
        if (left->has_secret)
            memcpy(left->secret, secret, n);
        free(secret);
    }
    return TIDINGS_OK;
}

/* The first of the table behind a random place between its first and its last. */
static uint64_t draw_from(struct kv_txn *txn, enum table table, uint64_t random)
{
    struct key first = key_id(0), end = key_id(TIDINGS_ID_MAX);
    struct bytes key, value;
    if (!kv_seek(txn, table, &first, &key, &value) || key.n < ID_BYTES)
        return 0;
    uint64_t low = get_id(key.p);
    if (!kv_seek_below(txn, table, &end, &key, &value) || key.n < ID_BYTES)
        return low;
    uint64_t high = get_id(key.p);
    struct key from = key_id(low + random % (high - low + 1));
    return kv_seek(txn, table, &from, &key, &value) && key.n >= ID_BYTES ? get_id(key.p) : low;
}

static void shadow_draw(struct engine *engine, uint64_t random, uint64_t *user, uint64_t *post)
{
    struct snapshot *snapshot;
    if (snapshot_take(&shadow_of(engine)->local, NULL, &snapshot))
        return;
    *user = draw_from(&snapshot->txn, TABLE_USER, random);
    *post = draw_from(&snapshot->txn, TABLE_POST, random);
    snapshot_return(&shadow_of(engine)->local, snapshot);
}

static const struct move_source shadow_source = {
    .check = shadow_check,
    .advance = shadow_advance,
    .lock = shadow_lock,
    .look = shadow_look,
    .look_away = shadow_look_away,
    .walk = shadow_walk,
    .changes = shadow_changes,
    .leave = shadow_leave,
    .draw = shadow_draw,
};

/* ---- The engine ----------------------------------------------------------------------------- */

static void shadow_submit(struct engine *engine, struct tidings_call *call)
{
    (void)engine;
    if (op_writes(call->op->kind))
        call->err = TIDINGS_UNSUPPORTED;
    call->done(call);
}

static void shadow_stats(struct engine *engine, struct tidings_stats *stats)
{
    struct local *local = (struct local *)engine;
    stats->data_bytes = kv_used_bytes(local->kv);
    clock_stats(&local->clock, stats);
}

static void remove_files(const struct shadow *shadow)
{
    char lock[PATH_BYTES];
    unlink(shadow->path);
    if ((size_t)snprintf(lock, sizeof lock, "%s-lock", shadow->path) < sizeof lock)
        unlink(lock);
}

static void shadow_close(struct engine *engine)
{
    struct shadow *shadow = shadow_of(engine);
    forget(&shadow->local);
    snapshots_release(&shadow->local.snapshots);
    if (shadow->local.kv) {
        kv_close(shadow->local.kv);
        remove_files(shadow);
    }
    store_unlock(&shadow->held);
    store_unlock(&shadow->lock);
    clock_release(&shadow->local.clock);
    engine_release(engine);
    free(shadow);
}

static const struct engine_vtable shadow_vtable = {
    .submit = shadow_submit,
    .finish = local_finish,
    .elapsed = local_elapsed,
    .settings = local_settings,
    .stats = shadow_stats,
    .export = local_export,
    .source = &shadow_source,
    .close = shadow_close,
};

/* ---- Opening -------------------------------------------------------------------------------- */

static enum tidings_err find_directory(struct shadow *shadow, const struct tidings_options *options,
                                       const char **message)
{
    bool found = false;
    if (!path_join(shadow->log_dir, options->dir, "log") ||
        !path_join(shadow->base_dir, options->dir, "snapshots") ||
        strlen(options->shadow) + sizeof "-lock" > sizeof shadow->path)
        return store_fail(TIDINGS_INVALID, message, "the path is too long", false);
    snprintf(shadow->dir, sizeof shadow->dir, "%s", options->dir);
    snprintf(shadow->path, sizeof shadow->path, "%s", options->shadow);
    shadow->held = store_hold(shadow->log_dir);
    enum tidings_err err = state_read(shadow->dir, &shadow->state, &found);
    if (!err && found && shadow->held >= 0)
        return TIDINGS_OK;
    return err ? store_fail(err, message, "the file `state` of the directory cannot be read", false)
               : store_fail(TIDINGS_NOT_FOUND, message, "there is no data there", false);
}

static enum tidings_err make_image(struct shadow *shadow, const char **message)
{
    struct kv_options kv = {
        .path = shadow->path,
        .map_bytes = (size_t)shadow->local.settings.map_mb << 20,
        .readers = (unsigned)shadow->local.settings.readers_max,
        .pause = snapshots_pause,
        .resume = snapshots_resume,
        .ctx = &shadow->local.snapshots,
    };
    uint64_t until;
    enum tidings_err err = find_durable(shadow, &until);
    for (int tries = 0; !err; tries++) {
        struct image_job job = job_of(shadow, until);
        err = say(&job, image_make(&job), message);
        if (!is_torn(shadow, err, tries))
            break;
        err = TIDINGS_OK;
    }
    return err ? err : kv_open(&kv, &shadow->local.kv, message);
}

enum tidings_err shadow_open(const struct tidings_options *options, struct engine **engine,
                             const char **message)
{
    struct shadow *shadow = calloc(1, sizeof *shadow);
    if (!shadow)
        return TIDINGS_NO_MEMORY;
    struct local *local = &shadow->local;
    engine_init(&local->engine, &shadow_vtable);
    local->settings = options->settings;
    atomic_init(&local->in_force, &local->settings);
    clock_init(&local->clock, options);
    snapshots_init(&local->snapshots);
    shadow->progress = options->progress;
    shadow->held = shadow->lock = -1;
    enum tidings_err err = find_directory(shadow, options, message);
    if (!err)
        err = make_image(shadow, message);
    if (!err)
        err = remember(local, message);
    if (err) {
        shadow_close(&local->engine);
        return err;
    }
    *engine = &local->engine;
    return TIDINGS_OK;
}
