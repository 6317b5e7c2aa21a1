/* SPDX-License-Identifier: MIT */
/*
 * Facts into an engine, in pieces: each is applied in one step, together with how far the input is done with. Interrupted at any
 * point, the next import of the same input goes on behind the last piece.
 *
 * An export is applied as it comes. Facts of others are put in order first (others.h), which gives the same facts in the same order
 * each time; then they are applied in the same way.
 */
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/facts/apply.h"
#include "engine/facts/facts.h"
#include "engine/facts/input.h"
#include "engine/facts/others.h"

enum { PIECE_FACTS = 4096, PIECE_BYTES = 2 << 20 };
#define PIECE_MEMORY ((size_t)512 << 20)

/* Ids of another machine may be ahead of this one's clock, but not by more. */
#define AHEAD_MS (INT64_C(24) * 60 * 60 * 1000)

struct entry {
    struct fact fact;
    bool unsound; /* refused before it was applied */
    bool quiet;   /* the second half of a line, which is counted and told of with the first */
    enum fact_outcome outcome;
    struct refusal refusal;
};

struct importing {
    struct engine *engine;
    struct tidings_import *in;
    struct input input;
    struct others *others;   /* NULL: an export is imported */
    struct import_mark mark; /* with the piece under way */
    struct import_mark done; /* without it */
    uint64_t n_facts;        /* of an export, so far: its end says how many there are */
    uint64_t newest;         /* where the export comes from */
    bool ended;
    const char *message;
    struct applier applier;
    struct arena arena; /* of the piece */
    size_t n, bytes;
    enum fact_step step; /* the last one that it has facts of */
    struct entry entries[PIECE_FACTS];
};

static enum tidings_err fail(struct importing *im, enum tidings_err err, const char *message)
{
    im->message = message;
    return err;
}

/* ---- A piece -------------------------------------------------------------------------------- */

/* May be called again, with another view: nothing of the first time is left but the facts. */
static void run_piece(void *ctx, struct view *view, uint64_t *newest)
{
    struct importing *im = ctx;
    struct import_mark *mark = &im->mark;
    uint64_t *const counts[] = {&mark->taken, &mark->repeated, &mark->rejected};
    uint64_t lines = mark->lines;
    *mark = im->done;
    mark->lines = lines;
    uint64_t limit = id_floor(view->now_ms + AHEAD_MS);
    if (im->newest > *newest && im->newest <= limit)
        *newest = im->newest;
    applier_begin(&im->applier, view, *newest, limit, im->done.place);
    for (size_t i = 0; i < im->n;
         i++) { /* behind a failure, too: all that they need is loaded at once */
        struct entry *entry = &im->entries[i];
        if (!entry->unsound)
            entry->outcome = applier_take(&im->applier, &entry->fact, &entry->refusal);
        *counts[entry->outcome] += !entry->quiet;
    }
    applier_end(&im->applier);
    mark->place = im->applier.place;
    *newest = im->applier.newest;
}

static void tell_refusals(struct importing *im)
{
    for (size_t i = 0; i < im->n && im->in->refused; i++) {
        const struct entry *entry = &im->entries[i];
        if (entry->outcome == FACT_REFUSED && !entry->quiet)
            im->in->refused(im->in->ctx, entry->fact.line, entry->refusal.field,
                            entry->refusal.reason);
    }
}

static enum tidings_err do_piece(struct importing *im)
{
    if (im->mark.lines == im->done.lines)
        return TIDINGS_OK;
    im->mark.place.step = im->step;
    enum tidings_err err = im->engine->vtable->import_piece(im->engine, run_piece, im, &im->mark);
    if (err)
        return fail(im, err, err == TIDINGS_LOCKED ? "a server, or another import, uses it" : NULL);
    tell_refusals(im);
    im->done = im->mark;
    im->n = im->bytes = 0;
    im->in->stopped = im->in->stop && im->in->stop(im->in->ctx);
    return TIDINGS_OK;
}

static enum tidings_err end_piece(struct importing *im)
{
    enum tidings_err err = do_piece(im);
    if (!err)
        arena_clear(&im->arena);
    return err;
}

static bool go_together(enum fact_step a, enum fact_step b)
{
    bool published = a == STEP_POSTS || a == STEP_SCENES || b == STEP_POSTS || b == STEP_SCENES;
    return a == b || !published;
}

/* The entry behind the piece becomes one of it, or, if they cannot go together, the first of the next. */
static enum tidings_err add_entry(struct importing *im, uint64_t lines)
{
    struct entry *entry = &im->entries[im->n];
    enum fact_step step = entry->unsound ? im->step : fact_step(entry->fact.type);
    enum tidings_err err = TIDINGS_OK;
    if (im->n && !go_together(im->step, step)) {
        err = do_piece(im);
        im->entries[0] = *entry;
    }
    if (err || im->in->stopped)
        return err;
    im->step = im->n && im->step > step ? im->step : step;
    im->mark.lines = lines;
    im->n++;
    return TIDINGS_OK;
}

/* The next fact of the piece, which is ended before if it is full: if that fails there is no room for one. */
static enum tidings_err next_entry(struct importing *im, struct entry **entry)
{
    enum tidings_err err = TIDINGS_OK;
    if (im->n == PIECE_FACTS || im->bytes >= PIECE_BYTES)
        err = end_piece(im);
    if (err)
        return err;
    *entry = &im->entries[im->n];
    (*entry)->unsound = (*entry)->quiet = false;
    (*entry)->outcome = FACT_REFUSED;
    (*entry)->refusal = (struct refusal){0};
    return TIDINGS_OK;
}

/* ---- An export ------------------------------------------------------------------------------ */

static bool is_end(struct importing *im, struct entry *entry)
{
    const struct fact *fact = &entry->fact;
    if (im->ended || fact->type != FACT_END)
        return false;
    im->ended = fact->facts == im->n_facts;
    if (!im->ended)
        entry->refusal = (struct refusal){"facts", "so many facts were not before it"};
    return im->ended;
}

static enum tidings_err take_line(struct importing *im, enum input_got got, const char *line,
                                  size_t n)
{
    struct entry *entry;
    enum tidings_err err = next_entry(im, &entry);
    if (err || im->in->stopped)
        return err;
    char *copy = got == INPUT_LINE ? arena_text(&im->arena, line, n) : NULL;
    struct fact *fact = &entry->fact;
    im->bytes += n;
    fact->line = im->input.line;
    if (!copy) {
        entry->refusal = (struct refusal){NULL, "the line is too long"};
        entry->unsound = true;
    } else {
        entry->unsound = !fact_read(copy, n, true, &im->arena, fact, &entry->refusal);
    }
    fact->line = im->input.line;
    if (!entry->unsound && is_end(im, entry)) {
        im->mark.lines = im->input.line;
        return TIDINGS_OK;
    }
    im->n_facts++;
    if (!entry->unsound)
        entry->unsound = entry->refusal.reason || !fact_is_sound(fact, &entry->refusal);
    if (im->ended) {
        entry->unsound = true;
        entry->refusal = (struct refusal){NULL, "it comes behind the end"};
    }
    return add_entry(im, im->input.line);
}

/* Lines that an import before has taken are counted, and no more. */
static enum tidings_err import_export(struct importing *im)
{
    enum tidings_err err = TIDINGS_OK;
    enum input_got got;
    char *line;
    size_t n;
    while (!err && !im->in->stopped && (got = input_next(&im->input, &line, &n)) != INPUT_END) {
        if (got == INPUT_FAILED)
            return fail(im, TIDINGS_IO, "the input cannot be read");
        if (im->input.line > im->done.lines)
            err = take_line(im, got, line, n);
        else
            im->n_facts++;
    }
    if (err || im->in->stopped)
        return err;
    err = end_piece(im);
    if (!err && !im->ended)
        return fail(im, TIDINGS_INVALID,
                    "the input has no end: it was cut off, or is not whole. What there is has been "
                    "taken; with the whole of it, the import goes on");
    return err;
}

/* ---- Facts of others ------------------------------------------------------------------------ */

static enum tidings_err import_others(struct importing *im, const char *first, size_t n_first)
{
    bool again = im->done.lines;
    enum tidings_err err =
        others_collect(&im->input, first, n_first, !again, &im->others, &im->message);
    uint64_t at = 0;
    while (!err && !im->in->stopped) {
        struct entry *entry;
        err = next_entry(im, &entry);
        if (err || im->in->stopped)
            break;
        if (!others_next(im->others, &im->arena, &entry->fact, &im->bytes, &err))
            break;
        if (++at <= im->done.lines) {
            im->bytes = 0;
            arena_clear(&im->arena);
            continue;
        }
        entry->quiet = entry->fact.type == FACT_HISTORY;
        err = add_entry(im, at);
    }
    if (!err && !im->in->stopped)
        err = end_piece(im);
    return err;
}

/* ---- Both ----------------------------------------------------------------------------------- */

/* The first line of an export says what it is. */
static enum tidings_err import_all(struct importing *im)
{
    struct refusal refusal;
    struct fact first;
    char *line = NULL;
    size_t n = 0;
    enum input_got got = input_next(&im->input, &line, &n);
    if (got == INPUT_FAILED)
        return fail(im, TIDINGS_IO, "the input cannot be read");
    char *copy = got == INPUT_LINE ? arena_text(&im->arena, line, n) : NULL;
    char *kept = got == INPUT_LINE ? arena_text(&im->arena, line, n) : NULL;
    if (got == INPUT_END)
        return fail(im, TIDINGS_INVALID, "there is nothing in the input");
    if (!copy || !kept || !fact_read(copy, n, true, &im->arena, &first, &refusal) ||
        first.type != FACT_TIDINGS)
        return import_others(im, kept, n);
    if (first.version != FACTS_VERSION)
        return fail(im, TIDINGS_VERSION, "the facts are of another version of the format");
    im->newest = first.newest;
    return import_export(im);
}

static enum tidings_err begin(struct importing *im)
{
    uint64_t check;
    const char *message = NULL;
    enum tidings_err err = im->engine->vtable->import_look(im->engine, &im->done, &message);
    if (err)
        return fail(im, err, message);
    if (!input_check(&im->input, &check))
        return fail(im, TIDINGS_IO, "the input cannot be read");
    if (im->done.lines && im->done.check != check)
        return fail(im, TIDINGS_INVALID, "an import of another input was interrupted here");
    im->done.check = check;
    im->mark = im->done;
    im->in->resumed = im->done.lines;
    return TIDINGS_OK;
}

enum tidings_err facts_import(struct engine *engine, struct tidings_import *in,
                              const char **message)
{
    struct importing *im = calloc(1, sizeof *im);
    in->stopped = false;
    in->resumed = 0;
    if (!im) {
        *message = tidings_err_text(TIDINGS_NO_MEMORY);
        return TIDINGS_NO_MEMORY;
    }
    im->engine = engine;
    im->in = in;
    arena_init(&im->arena, PIECE_MEMORY);
    input_begin(&im->input, in);
    enum tidings_err err = begin(im);
    if (!err)
        err = import_all(im);
    if (!err && !in->stopped)
        err = engine->vtable->import_end(engine);
    in->taken = im->done.taken;
    in->repeated = im->done.repeated;
    in->rejected = im->done.rejected + (im->others ? others_rejected(im->others) : 0);
    if (err)
        *message = im->message ? im->message : tidings_err_text(err);
    others_free(im->others);
    input_release(&im->input);
    arena_release(&im->arena);
    free(im);
    return err;
}
