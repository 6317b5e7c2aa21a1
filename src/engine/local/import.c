/* SPDX-License-Identifier: MIT */
/*
 * Facts into a directory that is empty, piece by piece: each is a batch like any other, in the log too, and the row `import` says
 * with it how far the input is done with. The row goes with the end; until then the directory is opened for importing alone.
 */
#include "domain/ids.h"
#include "engine/local/local.h"
#include "engine/local/memory/recent.h"

enum { MARK_BYTES = 7 * 8 };

static bool load_mark(struct kv_txn *txn, struct import_mark *mark)
{
    struct key key = key_meta("import");
    struct bytes value;
    *mark = (struct import_mark){0};
    if (!kv_get(txn, TABLE_META, &key, &value))
        return false;
    struct decoder r = decoder_of(value.p, value.n);
    mark->lines = read_u64(&r);
    mark->taken = read_u64(&r);
    mark->repeated = read_u64(&r);
    mark->rejected = read_u64(&r);
    mark->check = read_u64(&r);
    mark->place.step = read_u64(&r);
    mark->place.id = read_u64(&r);
    if (r.bad || decoder_left(&r))
        kv_fail(txn, TIDINGS_CORRUPT);
    return true;
}

static void save_mark(struct kv_txn *txn, const struct import_mark *mark)
{
    struct key key = key_meta("import");
    uint8_t bytes[MARK_BYTES];
    const uint64_t values[] = {mark->lines, mark->taken,      mark->repeated, mark->rejected,
                               mark->check, mark->place.step, mark->place.id};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        put_u64(bytes + i * 8, values[i]);
    kv_put(txn, TABLE_META, &key, bytes, sizeof bytes);
}

bool import_is_unfinished(struct local *local)
{
    struct import_mark mark;
    struct kv_txn txn;
    if (kv_begin(local->kv, &txn))
        return false;
    bool unfinished = load_mark(&txn, &mark);
    kv_abort(&txn);
    return unfinished;
}

enum tidings_err local_import_look(struct engine *engine, struct import_mark *mark,
                                   const char **message)
{
    struct local *local = (struct local *)engine;
    struct kv_txn txn;
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    bool unfinished = load_mark(&txn, mark);
    uint64_t rows = 0;
    for (enum table table = 0; table < TABLE_COUNT; table++)
        rows += table == TABLE_META || table == TABLE_EVENT ? 0 : kv_rows(&txn, table);
    err = txn.err;
    kv_abort(&txn);
    if (err || unfinished || !rows)
        return err;
    *message = "there are data already: facts are imported into an empty directory";
    return TIDINGS_INVALID;
}

struct piece {
    void (*run)(void *ctx, struct view *view, uint64_t *newest);
    void *ctx;
    const struct import_mark *mark; /* NULL: it has ended, and this is the last piece */
};

static void end(struct kv_txn *txn)
{
    struct key mark = key_meta("import"), from = {.n = 1, .bytes = {KEY_COMMENT}};
    struct bytes key, value;
    kv_del(txn, TABLE_META, &mark);
    while (kv_seek(txn, TABLE_KEY, &from, &key, &value) && key.p[0] == KEY_COMMENT) {
        uint8_t gone[LONG_KEY_MAX];
        memcpy(gone, key.p, key.n);
        kv_del_long(txn, TABLE_KEY, (struct bytes){gone, key.n});
    }
}

/* One transaction. Ids are those that facts bring: what was newest where they come from is newest here. */
static enum tidings_err try_piece(struct local *local, const struct piece *piece)
{
    struct kv_txn txn;
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    struct newest newest = load_newest(&txn);
    struct moment at = clock_at(&local->clock, 0, id_time_ms(newest.id), newest.elapsed_ms);
    struct local_view view = {
        .view = {.rows = &local_rows,
                 .err = &txn.err,
                 .settings = local_in_force(local),
                 .scratch = &local->writer.scratch,
                 .now_ms = at.wall_ms,
                 .elapsed_ms = at.elapsed_ms,
                 .stamp = newest.id},
        .txn = &txn,
        .heads = local->heads,
        .clock = &local->clock,
        .recent = local->recent,
        .version = kv_applied(local->kv) + 1,
        .age = recent_age(local->recent),
        .last_id = newest.id,
        .before = newest.id,
        .spent = true,
    };
    uint64_t brought = newest.id;
    if (piece->run)
        piece->run(piece->ctx, &view.view, &brought);
    arena_clear(&local->writer.scratch);
    view.last_id = brought;
    if (piece->mark)
        save_mark(&txn, piece->mark);
    else
        end(&txn);
    if (!newest.version) {
        reheat_begin(&txn, &local->settings);
        names_begin(&txn);
    }
    return writer_commit(local, &view, newest.id, &at);
}

static enum tidings_err do_piece(struct local *local, const struct piece *piece)
{
    enum tidings_err err;
    pthread_mutex_lock(&local->writer.turn);
    do
        err =
            atomic_load(&local->role) == TIDINGS_WRITER ? try_piece(local, piece) : TIDINGS_STANDBY;
    while (err == TIDINGS_NO_SPACE && kv_can_grow(local->kv));
    pthread_mutex_unlock(&local->writer.turn);
    return err;
}

enum tidings_err local_import_piece(struct engine *engine,
                                    void (*run)(void *ctx, struct view *view, uint64_t *newest),
                                    void *ctx, const struct import_mark *mark)
{
    struct piece piece = {run, ctx, mark};
    return do_piece((struct local *)engine, &piece);
}

enum tidings_err local_import_end(struct engine *engine)
{
    struct piece piece = {0};
    return do_piece((struct local *)engine, &piece);
}
