/* SPDX-License-Identifier: MIT */
/*
 * The order of a move: all rows once, then the changes behind the batch at which that began. How far it has come is kept with what it has brought, as that of an import
 * is (engine_vtable.import_piece): the batch, and while there is one the place in the walk through all rows.
 */
#include "engine/move/move.h"

#include <stdlib.h>

#include "base/wait.h"

enum {
    PIECE_ROWS = 4096,
    PIECE_BYTES = 2 << 20,
    TOLD_MS = 200,
    WALKED = UINT32_MAX, /* the mark's step: there is no more to walk through */
};

struct moving {
    struct engine *from, *to;
    const struct move_source *source;
    struct tidings_move *move;
    struct view *view; /* the look at the source */
    struct import_mark mark;
    struct moved_place place;
    const struct moved *piece;
    size_t n_piece;
    uint64_t rows, total; /* of the walk */
    int64_t told_ms;
};

/* ---- Names ---------------------------------------------------------------------------------- */

bool moved_add(struct moved_set *set, const struct moved *moved)
{
    if (set->n == set->room) {
        size_t room = set->room ? set->room * 2 : PIECE_ROWS;
        struct moved *grown = realloc(set->at, room * sizeof *grown);
        if (!grown)
            return false;
        set->at = grown;
        set->room = room;
    }
    set->at[set->n++] = *moved;
    set->bytes += moved->bytes;
    return true;
}

int moved_order(const struct moved *x, const struct moved *y)
{
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->a != y->a)
        return x->a < y->a ? -1 : 1;
    if (x->b != y->b)
        return x->b < y->b ? -1 : 1;
    return (x->c > y->c) - (x->c < y->c);
}

static int by_name(const void *a, const void *b)
{
    return moved_order(a, b);
}

/* Each once, with the most bytes that it had. */
static void sort(struct moved_set *set)
{
    size_t n = 0;
    if (set->n)
        qsort(set->at, set->n, sizeof *set->at, by_name);
    for (size_t i = 0; i < set->n; i++) {
        if (!n || moved_order(&set->at[n - 1], &set->at[i]))
            set->at[n++] = set->at[i];
        else if (set->at[i].bytes > set->at[n - 1].bytes)
            set->at[n - 1].bytes = set->at[i].bytes;
    }
    set->n = n;
}

/* ---- A piece -------------------------------------------------------------------------------- */

/* With the rules of heat that are in force there. */
static void run_piece(void *ctx, struct view *view, uint64_t *newest)
{
    struct moving *m = ctx;
    uint64_t version = m->view->rows->version(m->view);
    view->settings = m->view->settings;
    for (size_t i = 0; i < m->n_piece; i++)
        carry(m->view, view, m->to->vtable->target, &m->piece[i]);
    if (view_failed(m->view))
        view_fail(view, *m->view->err);
    if (version > *newest)
        *newest = version;
}

static bool is_to_stop(struct moving *m)
{
    if (m->move->stop && m->move->stop(m->move->ctx))
        m->move->stopped = true;
    return m->move->stopped;
}

static void tell(struct moving *m, const char *part, uint64_t done, uint64_t total)
{
    int64_t now_ms = wait_now_ms();
    if (!m->move->progress.tell || (now_ms < m->told_ms + TOLD_MS && done < total))
        return;
    m->told_ms = now_ms;
    m->move->progress.tell(m->move->progress.ctx, part, done, total > done ? total : done);
}

static void tell_seen(struct moving *m, const struct moved *moved)
{
    bool post = moved->kind == MOVED_POST;
    if (m->move->seen && (post || moved->kind == MOVED_USER || moved->kind == MOVED_PAIR))
        m->move->seen(m->move->ctx, post ? TIDINGS_SUBJECT_POST : TIDINGS_SUBJECT_USER, moved->a);
}

/* Durable, with the mark. Each piece has a number, in place of an import's lines. */
static enum tidings_err put_piece(struct moving *m, const struct moved *piece, size_t n)
{
    m->piece = piece;
    m->n_piece = n;
    m->mark.lines++;
    m->mark.taken += n;
    enum tidings_err err = m->to->vtable->import_piece(m->to, run_piece, m, &m->mark);
    for (size_t i = 0; !err && i < n; i++)
        tell_seen(m, &piece[i]);
    m->move->rows += err ? 0 : n;
    return err;
}

/* How many of them go into the next one. */
static size_t piece_of(const struct moved *at, size_t n)
{
    uint64_t bytes = 0;
    size_t count = 0;
    while (count < n && count < PIECE_ROWS && (!count || bytes + at[count].bytes <= PIECE_BYTES))
        bytes += at[count++].bytes;
    return count;
}

/* ---- All rows ------------------------------------------------------------------------------- */

/* The mark says where the next piece begins: what this one has is in it by then. */
static enum tidings_err walk(struct moving *m)
{
    struct moved_set set = {0};
    enum tidings_err err = TIDINGS_OK;
    bool more = m->mark.place.step != WALKED;
    m->rows = 0;
    m->place = (struct moved_place){.table = m->mark.place.step, .id = m->mark.place.id};
    while (!err && more && !is_to_stop(m)) {
        set.n = set.bytes = 0;
        err = m->source->walk(m->from, &m->place, &set, &m->rows, &m->total);
        more = set.n;
        m->mark.place = (struct fact_place){more ? m->place.table : WALKED, more ? m->place.id : 0};
        if (!err)
            err = put_piece(m, set.at, set.n);
        if (!err)
            tell(m, "copying", m->rows, m->total);
    }
    free(set.at);
    return err;
}

/* ---- What has changed ----------------------------------------------------------------------- */

/* What has a heat has it by the rules of when it was carried. If others come into force, all of it is to be carried again, and the mark says so from now on. */
static void note_rules(struct moving *m, const struct moved_set *set)
{
    if (set->n && set->at[set->n - 1].kind == MOVED_RULES)
        m->mark.place = (struct fact_place){0, 0};
}

static enum tidings_err put_changes(struct moving *m, struct moved_set *set, uint64_t batch)
{
    enum tidings_err err = TIDINGS_OK;
    sort(set);
    note_rules(m, set);
    for (size_t at = 0, n = 1; !err && n && !is_to_stop(m); at += n) {
        n = piece_of(set->at + at, set->n - at);
        if (at + n == set->n)
            m->mark.batch = batch; /* none is left */
        if (n || !set->n)
            err = put_piece(m, set->at + at, n);
    }
    return err;
}

static enum tidings_err follow(struct moving *m, uint64_t until, const char **message)
{
    struct moved_set set = {0};
    enum tidings_err err = TIDINGS_OK;
    uint64_t first = m->mark.batch;
    while (!err && m->mark.batch < until && !is_to_stop(m)) {
        uint64_t batch = m->mark.batch;
        set.n = set.bytes = 0;
        err = m->source->changes(m->from, &batch, &set, message);
        if (!err)
            err = put_changes(m, &set, batch);
        if (!err)
            tell(m, "following the log", m->mark.batch - first, until - first);
    }
    free(set.at);
    return err;
}

/* ---- Both ----------------------------------------------------------------------------------- */

static enum tidings_err begin(struct moving *m, uint64_t batch, const char **message)
{
    uint64_t check = m->source->check(m->from);
    enum tidings_err err = m->to->vtable->import_look(m->to, &m->mark, message);
    if (err)
        return err;
    m->move->resumed = m->mark.lines != 0;
    if (m->mark.lines && m->mark.check == check)
        return TIDINGS_OK;
    if (m->mark.lines) {
        *message = "an import, or a move of another directory, was interrupted here";
        return TIDINGS_INVALID;
    }
    m->mark = (struct import_mark){.check = check, .batch = batch};
    return TIDINGS_OK;
}

static enum tidings_err step(struct moving *m, uint64_t batch, const char **message)
{
    enum tidings_err err = m->source->look(m->from, &m->view);
    if (err)
        return err;
    do {
        err = walk(m);
        if (!err && !m->move->stopped)
            err = follow(m, batch, message);
    } while (!err && !m->move->stopped && m->mark.place.step != WALKED);
    m->source->look_away(m->from);
    return err;
}

enum tidings_err move_step(struct engine *from, struct engine *to, struct tidings_move *move,
                           const char **message)
{
    struct moving m = {.from = from, .to = to, .source = from->vtable->source, .move = move};
    uint64_t batch = 0;
    move->rows = 0;
    move->stopped = false;
    *message = NULL;
    enum tidings_err err = m.source->advance(from, &batch, message);
    if (!err)
        err = begin(&m, batch, message);
    if (!err)
        err = step(&m, batch, message);
    move->batch = m.mark.batch;
    if (err && !*message)
        *message = err == TIDINGS_LOCKED ? "a server, or another import, uses the database"
                                         : tidings_err_text(err);
    return err;
}

enum tidings_err move_end(struct engine *from, struct engine *to, const char **message)
{
    struct import_left left = {.settings = from->vtable->settings(from)};
    enum tidings_err err = from->vtable->source->leave(from, &left);
    if (!err)
        err = to->vtable->import_end(to, &left);
    if (err)
        *message = tidings_err_text(err);
    return err;
}
