/* SPDX-License-Identifier: MIT */
/*
 * Facts into tables that are empty, piece by piece: each is a transaction, and the row of `import` says with it how far the input is done with.
 * The row is locked by each before anything else: a piece goes on from what it says, or not at all. So one that
 * was sent by somebody who is gone, and arrives late, is not done twice.
 *
 * Nobody else uses the tables meanwhile. Servers that open look for the row behind having joined (cluster.c); here it is written, and then
 * servers are looked for.
 */
#include "domain/ids.h"
#include "engine/cluster/cluster.h"
#include "engine/facts/apply.h"
#include "engine/ops/rules.h"

enum { ROUNDS_MAX = 4096, TRIES_MAX = 4, KEYS_A_TIME = 10000, SILENT_MS = 600 * 1000 };

#define MARK_COLUMNS \
    "input_lines, taken, repeated, rejected, input_check, step, step_id, batch, newest"

/* The row. It stays when the import has ended, for what was newest then. */
struct stored {
    bool exists; /* and has not ended */
    struct import_mark mark;
    uint64_t newest; /* of all ids that were brought */
};

static struct desk *desk_of(struct cluster *cluster)
{
    return &cluster->lanes[0].desk;
}

static bool connect(struct cluster *cluster)
{
    desk_of(cluster)->silent_ms = SILENT_MS;
    return desk_connect(cluster, desk_of(cluster), 0);
}

/* One statement that answers with numbers; those of its first row, 0 if there is none. */
static enum sql_outcome ask(struct desk *desk, uint64_t *numbers, unsigned n, bool *found)
{
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    *found = !outcome && sql_row(desk->sql);
    for (unsigned i = 0; i < n; i++)
        numbers[i] = *found ? sql_u64(desk->sql, i) : 0;
    buf_clear(&desk->text);
    return outcome;
}

static enum sql_outcome read_row(struct desk *desk, bool locks, struct stored *stored)
{
    enum { COLUMNS = 10 };
    uint64_t at[COLUMNS];
    bool found;
    buf_literal(&desk->text, "SELECT " MARK_COLUMNS ", ended FROM import WHERE id=1");
    if (locks)
        buf_literal(&desk->text, " FOR UPDATE");
    enum sql_outcome outcome = ask(desk, at, COLUMNS, &found);
    stored->exists = found && !at[9];
    stored->newest = at[8];
    if (!stored->exists)
        memset(at, 0, sizeof at);
    stored->mark = (struct import_mark){.lines = at[0],
                                        .taken = at[1],
                                        .repeated = at[2],
                                        .rejected = at[3],
                                        .check = at[4],
                                        .place = {at[5], at[6]},
                                        .batch = at[7]};
    return outcome;
}

static void put_row(struct desk *desk, const struct import_mark *mark, uint64_t newest)
{
    const uint64_t values[] = {mark->lines,    mark->taken, mark->repeated,
                               mark->rejected, mark->check, mark->place.step,
                               mark->place.id, mark->batch, newest};
    buf_literal(&desk->text, "REPLACE INTO import (id, ended, " MARK_COLUMNS ") VALUES (1,0");
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        buf_printf(&desk->text, ",%llu", (unsigned long long)values[i]);
    buf_literal(&desk->text, ");");
}

static enum tidings_err look(struct cluster *cluster, struct stored *stored)
{
    if (!desk_connect(cluster, desk_of(cluster), 0))
        return TIDINGS_UNREACHABLE;
    return sql_err(read_row(desk_of(cluster), false, stored));
}

enum tidings_err import_find(struct cluster *cluster, bool *unfinished)
{
    struct stored stored = {0};
    enum tidings_err err = look(cluster, &stored);
    *unfinished = stored.exists;
    return err;
}

enum tidings_err import_refuse_unfinished(struct cluster *cluster, const char **message)
{
    struct stored stored = {0};
    enum tidings_err err = look(cluster, &stored);
    for (unsigned i = 0; i < READERS; i++)
        cluster->readers[i].desk.least_version = stored.newest;
    if (!stored.exists)
        return err;
    *message = "an import into it was interrupted, or a move: the same command goes on";
    return TIDINGS_INVALID;
}

/* ---- Whether it may begin ------------------------------------------------------------------- */

static bool is_data(enum kind kind)
{
    return kind != KIND_POSITION && kind != KIND_EPOCH && kind_forms[kind].table;
}

static enum sql_outcome has_data(struct desk *desk, bool *any)
{
    uint64_t number;
    bool found;
    buf_literal(&desk->text, "SELECT 0");
    for (enum kind kind = 0; kind < KINDS; kind++)
        if (is_data(kind))
            buf_printf(&desk->text, " OR EXISTS (SELECT 1 FROM %s)", kind_forms[kind].table);
    enum sql_outcome outcome = ask(desk, &number, 1, &found);
    *any = number;
    return outcome;
}

static enum sql_outcome has_servers(struct desk *desk, bool *any)
{
    uint64_t number;
    bool found;
    buf_printf(&desk->text,
               "SELECT COUNT(*) FROM server WHERE seen_at > NOW(3) - INTERVAL %d SECOND",
               SERVER_SILENT_MS / 1000);
    enum sql_outcome outcome = ask(desk, &number, 1, &found);
    *any = number;
    return outcome;
}

static enum sql_outcome find_trouble(struct desk *desk, const char **trouble)
{
    bool data = false, servers = false;
    enum sql_outcome outcome = has_data(desk, &data);
    if (!outcome)
        outcome = has_servers(desk, &servers);
    if (data)
        *trouble = "there are data already: facts are imported into an empty database";
    else if (servers)
        *trouble = "servers use the database, or did some seconds ago: stop them";
    return outcome;
}

enum tidings_err cluster_import_look(struct engine *engine, struct import_mark *mark,
                                     const char **message)
{
    struct cluster *cluster = (struct cluster *)engine;
    struct stored stored;
    *message = NULL;
    if (!connect(cluster))
        return TIDINGS_UNREACHABLE;
    enum sql_outcome outcome = read_row(desk_of(cluster), false, &stored);
    if (!outcome && !stored.exists)
        outcome = find_trouble(desk_of(cluster), message);
    *mark = stored.mark;
    cluster->importing = stored.exists;
    cluster->imported_lines = stored.mark.lines;
    return outcome ? sql_err(outcome) : *message ? TIDINGS_INVALID : TIDINGS_OK;
}

/* From here on no server opens. One that was quicker is seen. */
static enum tidings_err begin(struct cluster *cluster, const struct import_mark *mark)
{
    struct desk *desk = desk_of(cluster);
    const struct import_mark first = {.check = mark->check};
    const char *trouble = NULL;
    put_row(desk, &first, 0);
    enum sql_outcome outcome = sql_run(desk->sql, &desk->text);
    buf_clear(&desk->text);
    if (!outcome)
        outcome = find_trouble(desk, &trouble);
    if (!outcome && trouble)
        outcome = sql_run_text(desk->sql, "DELETE FROM import WHERE id=1");
    cluster->importing = !outcome && !trouble;
    return outcome ? sql_err(outcome) : trouble ? TIDINGS_LOCKED : TIDINGS_OK;
}

/* ---- A piece -------------------------------------------------------------------------------- */

struct piece {
    void (*run)(void *ctx, struct view *view, uint64_t *newest);
    void *ctx;
    const struct import_mark *mark;
    bool
        published; /* it makes lists of posts or scenes longer, which cannot be loaded before the end of it */
    enum tidings_err err;
};

/* Runs it on what is at hand; false if that is not enough. */
static bool run_once(struct cluster *cluster, struct piece *piece, uint64_t *newest)
{
    static const struct tidings_op nobody;
    struct desk *desk = desk_of(cluster);
    struct desk_view own = desk_view_of(cluster, desk, &nobody, 0);
    uint64_t brought = *newest;
    own.view.err = &own.err;
    own.view.stamp = *newest;
    own.importing = true;
    own.need = piece->published ? NEED_COUNTS : NEED_IDS;
    piece->run(piece->ctx, &own.view, &brought);
    arena_clear(&desk->scratch);
    if (own.incomplete) {
        sheet_undo(&desk->sheet);
        desk->n_events = own.n_events;
        return false;
    }
    sheet_keep(&desk->sheet);
    piece->err = own.err;
    *newest = brought;
    return true;
}

/* What a user's device was told last is older than any change that comes now. */
static void put_versions(struct desk *desk, uint64_t newest)
{
    for (struct row *row = desk->sheet.changed; row; row = row->next_changed) {
        if (row->kind != KIND_USER || row->value == row->loaded || !row->value->exists)
            continue;
        struct value value = *row->value;
        value.numbers[USER_VERSION] = newest;
        sheet_put(&desk->sheet, KIND_USER, row->key, &value);
    }
}

static enum sql_outcome run_all(struct cluster *cluster, struct piece *piece, uint64_t *newest)
{
    struct desk *desk = desk_of(cluster);
    enum sql_outcome outcome = SQL_DONE;
    for (int round = 0; !run_once(cluster, piece, newest); round++) {
        outcome = round < ROUNDS_MAX ? desk_load(desk, 0) : SQL_TIMEOUT;
        if (!outcome && desk->sheet.failed)
            outcome = SQL_FULL;
        if (outcome)
            return outcome;
    }
    put_versions(desk, *newest);
    return desk->sheet.failed ? SQL_FULL : SQL_DONE;
}

/* Under the lock of the row. One that was sent may have happened already, and only the word of it was lost. */
static enum sql_outcome try_piece(struct cluster *cluster, struct piece *piece, bool *sent)
{
    struct desk *desk = desk_of(cluster);
    struct stored stored;
    enum sql_outcome outcome = sql_run_text(desk->sql, "BEGIN");
    if (!outcome)
        outcome = read_row(desk, true, &stored);
    if (outcome)
        return outcome;
    if (*sent && stored.mark.lines == piece->mark->lines)
        return sql_run_text(desk->sql, "ROLLBACK");
    if (!stored.exists || stored.mark.lines != cluster->imported_lines) {
        piece->err = TIDINGS_LOCKED; /* another import goes on */
        return SQL_DONE;
    }
    outcome = run_all(cluster, piece, &stored.newest);
    if (outcome || piece->err)
        return outcome;
    desk_write(desk);
    put_row(desk, piece->mark, stored.newest);
    buf_literal(&desk->text, "COMMIT");
    *sent = true;
    return desk->sheet.failed || desk->text.failed ? SQL_FULL : sql_run(desk->sql, &desk->text);
}

static bool may_try_again(enum sql_outcome outcome)
{
    return outcome == SQL_AGAIN || outcome == SQL_LOST;
}

static enum sql_outcome do_piece(struct cluster *cluster, struct piece *piece)
{
    struct desk *desk = desk_of(cluster);
    enum sql_outcome outcome = SQL_AGAIN;
    bool sent = false;
    desk->hold = HOLD_NOTHING;
    for (int i = 0; i < TRIES_MAX && may_try_again(outcome); i++) {
        outcome = connect(cluster) ? try_piece(cluster, piece, &sent) : SQL_LOST;
        desk_clear(desk);
        desk_tell_refusal(cluster, desk, outcome);
        if (outcome == SQL_LOST)
            desk_disconnect(desk);
        else if (outcome || piece->err)
            sql_run_text(desk->sql, "ROLLBACK");
    }
    return outcome;
}

enum tidings_err cluster_import_piece(struct engine *engine,
                                      void (*run)(void *ctx, struct view *view, uint64_t *newest),
                                      void *ctx, const struct import_mark *mark)
{
    struct cluster *cluster = (struct cluster *)engine;
    struct piece piece = {
        .run = run, .ctx = ctx, .mark = mark, .published = mark->place.step <= STEP_SCENES};
    if (!connect(cluster))
        return TIDINGS_UNREACHABLE;
    enum tidings_err err = cluster->importing ? TIDINGS_OK : begin(cluster, mark);
    if (err)
        return err;
    enum sql_outcome outcome = do_piece(cluster, &piece);
    if (outcome == SQL_LOCKED) /* another import that stands still has it */
        return TIDINGS_LOCKED;
    if (outcome || piece.err)
        return outcome ? sql_err(outcome) : piece.err;
    cluster->imported_lines = mark->lines;
    return TIDINGS_OK;
}

/* ---- The end -------------------------------------------------------------------------------- */

static enum sql_outcome forget_keys(struct desk *desk)
{
    enum sql_outcome outcome = SQL_DONE;
    for (uint64_t rows = KEYS_A_TIME; !outcome && rows == KEYS_A_TIME;) {
        buf_printf(&desk->text, "DELETE FROM imported_key WHERE kind=%d LIMIT %d", KEY_COMMENT,
                   KEYS_A_TIME);
        outcome = sql_run_counted(desk->sql, &desk->text, &rows);
        buf_clear(&desk->text);
    }
    return outcome;
}

/* The time goes on, cursors stay good, and heat is what it was. */
static void put_left(struct buf *text, const struct import_left *left)
{
    uint8_t ages[AGES_BYTES_MAX], packed[RULES_RECORD_MAX];
    struct rules_record rules = {.stage = 0};
    rules_of(left->settings, rules.value);
    buf_literal(text, "UPDATE rules SET record=");
    sql_put_bytes(text, (struct bytes){packed, rules_encode(&rules, packed)});
    buf_literal(text, " WHERE id=1;");
    if (left->elapsed_ms) {
        buf_printf(text, "UPDATE clock SET elapsed_ms=%lld, ages=", (long long)left->elapsed_ms);
        sql_put_bytes(text, (struct bytes){ages, ages_pack(&left->ages, ages)});
        buf_char(text, ';');
    }
    if (left->has_secret) {
        buf_literal(text, "UPDATE secret SET bytes=");
        sql_put_bytes(text, (struct bytes){left->secret, sizeof left->secret});
        buf_char(text, ';');
    }
}

/* Whichever slot a server takes, its ids are greater than all there are, and so are positions. There are no events that a consumer could have missed. */
static enum sql_outcome finish(struct cluster *cluster, const struct import_left *left)
{
    struct desk *desk = desk_of(cluster);
    struct stored stored;
    enum sql_outcome outcome = read_row(desk, false, &stored);
    if (outcome || !stored.exists)
        return outcome;
    buf_literal(&desk->text, "BEGIN;INSERT INTO server (slot, fence, until_id, seen_at) VALUES ");
    for (unsigned i = 0; i < ID_SLOTS; i++)
        buf_printf(&desk->text, "%s(%u,0,%llu,'1970-01-01')", i ? "," : "", i,
                   (unsigned long long)stored.newest);
    buf_printf(&desk->text,
               " ON DUPLICATE KEY UPDATE until_id=GREATEST(until_id, VALUES(until_id));"
               "UPDATE news_position SET position=GREATEST(position, %llu);",
               (unsigned long long)stored.newest);
    if (left)
        put_left(&desk->text, left);
    buf_literal(&desk->text, "UPDATE relay SET position=(SELECT position FROM news_position WHERE "
                             "id=1);UPDATE import SET ended=1;COMMIT");
    outcome = sql_run(desk->sql, &desk->text);
    buf_clear(&desk->text);
    return outcome;
}

enum tidings_err cluster_import_end(struct engine *engine, const struct import_left *left)
{
    struct cluster *cluster = (struct cluster *)engine;
    if (!connect(cluster))
        return TIDINGS_UNREACHABLE;
    enum sql_outcome outcome = forget_keys(desk_of(cluster));
    return sql_err(outcome ? outcome : finish(cluster, left));
}
