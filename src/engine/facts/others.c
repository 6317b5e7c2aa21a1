/* SPDX-License-Identifier: MIT */
#include "engine/facts/others.h"

#include <stdlib.h>

#include "domain/ids.h"
#include "engine/facts/apply.h"
#include "engine/facts/sort.h"

/* Of each of the two sorts. A line is a part of it at most. */
#define SORT_MEMORY ((size_t)FACT_LINE_MAX + ((size_t)64 << 20))

struct others {
    struct input *input;
    bool tell;
    struct arena arena;
    struct sorter *by_time, *by_order;
    struct buf value;
    uint64_t rejected;
};

/* What is sorted: the line, and what became known of it. */
struct waiting {
    uint64_t line;
    uint64_t id; /* 0: it has none yet, or needs none */
    uint8_t as;  /* enum fact_type: a read is a fact of the history, too */
    struct bytes text;
};

enum { WAITING_HEAD = 8 + 8 + 1 };

static enum tidings_err add(struct others *others, struct sorter *sorter,
                            const uint8_t key[SORT_KEY_BYTES], const struct waiting *waiting)
{
    uint8_t head[WAITING_HEAD];
    put_u64(head, waiting->line);
    put_u64(head + 8, waiting->id);
    head[16] = waiting->as;
    buf_clear(&others->value);
    buf_append(&others->value, head, sizeof head);
    buf_append(&others->value, waiting->text.p, waiting->text.n);
    if (others->value.failed)
        return TIDINGS_NO_MEMORY;
    return sorter_add(sorter, key,
                      (struct bytes){(const uint8_t *)others->value.data, others->value.len});
}

static bool take(struct sorter *sorter, struct waiting *waiting, enum tidings_err *err)
{
    struct bytes value;
    if (!sorter_next(sorter, &value, err))
        return false;
    if (value.n < WAITING_HEAD) {
        *err = TIDINGS_IO;
        return false;
    }
    struct decoder r = decoder_of(value.p, WAITING_HEAD);
    waiting->line = read_u64(&r);
    waiting->id = read_u64(&r);
    waiting->as = value.p[16];
    waiting->text = (struct bytes){value.p + WAITING_HEAD, value.n - WAITING_HEAD};
    return true;
}

/* The fact of a line that was looked at before. */
static bool read_again(const struct waiting *waiting, struct arena *arena, struct fact *fact)
{
    struct refusal refusal;
    char *copy = arena_text(arena, waiting->text.p, waiting->text.n);
    return copy && fact_read(copy, waiting->text.n, false, arena, fact, &refusal);
}

/* ---- In the order of time ------------------------------------------------------------------- */

static enum tidings_err add_by_time(struct others *others, const struct fact *fact,
                                    struct bytes text)
{
    struct waiting waiting = {.line = fact->line, .as = (uint8_t)fact->type, .text = text};
    uint8_t key[SORT_KEY_BYTES] = {0};
    put_u64(key, fact->at);
    put_u64(key + 8, fact->line);
    return add(others, others->by_time, key, &waiting);
}

static void refuse(struct others *others, uint64_t line, const struct refusal *refusal)
{
    struct tidings_import *in = others->input->from;
    others->rejected++;
    if (others->tell && in->refused)
        in->refused(in->ctx, line, refusal->field, refusal->reason);
}

static enum tidings_err take_line(struct others *others, const char *line, size_t n)
{
    struct refusal refusal = {NULL, "the line is too long"};
    struct fact fact;
    uint64_t number = others->input->line;
    char *copy = line ? arena_text(&others->arena, line, n) : NULL;
    bool fine = copy && fact_read(copy, n, false, &others->arena, &fact, &refusal);
    if (fine && (fact.type == FACT_TIDINGS || fact.type == FACT_END)) {
        refusal = (struct refusal){"type", "it belongs to an export"};
        fine = false;
    }
    enum tidings_err err = TIDINGS_OK;
    if (!fine || !fact_is_sound(&fact, &refusal)) {
        refuse(others, number, &refusal);
    } else {
        fact.line = number;
        err = add_by_time(others, &fact, (struct bytes){(const uint8_t *)line, n});
    }
    arena_clear(&others->arena);
    return err;
}

static enum tidings_err read_all(struct others *others, const char *first, size_t n_first)
{
    enum tidings_err err = take_line(others, first, n_first);
    enum input_got got;
    char *line;
    size_t n;
    while (!err && (got = input_next(others->input, &line, &n)) != INPUT_END) {
        if (got == INPUT_FAILED)
            return TIDINGS_IO;
        err = take_line(others, got == INPUT_LINE ? line : NULL, n);
    }
    return err;
}

/* ---- In the order of applying --------------------------------------------------------------- */

/* Whose facts come together: those that only say what a user did. */
static bool is_of_user(enum fact_type type)
{
    return type >= FACT_PREFERENCES && type <= FACT_POSITION;
}

static enum tidings_err add_by_order(struct others *others, const struct fact *fact,
                                     const struct waiting *waiting)
{
    uint8_t key[SORT_KEY_BYTES] = {0};
    bool of_user = is_of_user(fact->type);
    enum fact_type type = (enum fact_type)waiting->as;
    bool of_pair = type == FACT_FOLLOW || type == FACT_UNFOLLOW;
    key[0] = (uint8_t)(of_user ? FACT_PREFERENCES : type);
    put_u64(key + 1, of_user || type == FACT_USER ? fact->user_id : 0);
    key[9] = (uint8_t)(of_pair ? FACT_FOLLOW : type);
    put_u64(key + 10, of_pair ? fact->author_id : 0);
    put_u64(key + 18, waiting->id);
    put_u64(key + 26, waiting->line);
    return add(others, others->by_order, key, waiting);
}

/* Whether an edit or a deletion has an id of its own: one with a time that no id, or another fact's id, has in it. */
static bool needs_own_id(const struct fact *fact, uint64_t field, uint64_t at)
{
    return fact_has(fact, field) && at < (uint64_t)EARLY_END_MS;
}

/* How many ids behind its own a fact takes: those of a scene's messages, then of an edit and of a deletion. */
static size_t ids_behind(const struct fact *fact)
{
    return fact->messages.n + needs_own_id(fact, HAS(edited_at), fact->edited_at) +
           needs_own_id(fact, HAS(deleted_at), fact->deleted_at);
}

/* Gives ids in the order of time. */
static enum tidings_err order_all(struct others *others)
{
    enum tidings_err err = TIDINGS_OK;
    struct waiting waiting;
    uint64_t last = 0;
    while (!err && take(others->by_time, &waiting, &err)) {
        struct fact fact;
        if (!read_again(&waiting, &others->arena, &fact))
            return TIDINGS_NO_MEMORY;
        if (fact_has(&fact, HAS(at))) {
            uint64_t id = id_next(last, (int64_t)fact.at);
            waiting.id = last = id ? id : TIDINGS_ID_MAX - 1;
            last += ids_behind(&fact) * ID_STEP;
        }
        err = add_by_order(others, &fact, &waiting);
        bool in_history =
            fact.type == FACT_READ && !(fact_has(&fact, HAS(history)) && !fact.history);
        waiting.as = FACT_HISTORY;
        if (!err && in_history)
            err = add_by_order(others, &fact, &waiting);
        arena_clear(&others->arena);
    }
    return err;
}

enum tidings_err others_collect(struct input *input, const char *first, size_t n_first, bool tell,
                                struct others **out, const char **message)
{
    const char *dir = input->from->temp ? input->from->temp : getenv("TMPDIR");
    struct others *others = calloc(1, sizeof *others);
    if (!others)
        return TIDINGS_NO_MEMORY;
    *out = others;
    others->input = input;
    others->tell = tell;
    arena_init(&others->arena, 4 * (size_t)FACT_LINE_MAX);
    buf_init(&others->value, (size_t)FACT_LINE_MAX + WAITING_HEAD);
    others->by_time = sorter_new(dir && *dir ? dir : "/tmp", SORT_MEMORY);
    others->by_order = sorter_new(dir && *dir ? dir : "/tmp", SORT_MEMORY);
    if (!others->by_time || !others->by_order)
        return TIDINGS_NO_MEMORY;
    enum tidings_err err = read_all(others, first, n_first);
    if (!err)
        err = order_all(others);
    if (err)
        *message = input->failed ? "the input cannot be read" : "the facts cannot be sorted";
    sorter_free(others->by_time);
    others->by_time = NULL;
    return err;
}

/* ---- Out ------------------------------------------------------------------------------------ */

/* The id of an edit or a deletion, and its time: neither is before the thing itself. *own is the next id behind the fact's. */
static uint64_t id_of_change(const struct fact *fact, uint64_t field, uint64_t *at, uint64_t *own)
{
    if (needs_own_id(fact, field, *at)) {
        *at = *at > fact->at ? *at : fact->at;
        *own += ID_STEP;
        return *own - ID_STEP;
    }
    uint64_t then = id_floor((int64_t)*at);
    return then > fact->id ? then : fact->id;
}

static void set_ids(struct fact *fact, uint64_t id)
{
    uint64_t own = id + (fact->messages.n + 1) * ID_STEP;
    FACT_SET(fact, id, id);
    if (fact_has(fact, HAS(edited_at)))
        FACT_SET(fact, edited_id, id_of_change(fact, HAS(edited_at), &fact->edited_at, &own));
    if (fact_has(fact, HAS(deleted_at)))
        FACT_SET(fact, deleted_id, id_of_change(fact, HAS(deleted_at), &fact->deleted_at, &own));
    for (size_t i = 0; i < fact->messages.n; i++)
        fact->messages.at[i].id = id + (i + 1) * ID_STEP;
}

bool others_next(struct others *others, struct arena *arena, struct fact *fact, size_t *bytes,
                 enum tidings_err *err)
{
    struct waiting waiting;
    if (!take(others->by_order, &waiting, err))
        return false;
    if (!read_again(&waiting, arena, fact)) {
        *err = TIDINGS_NO_MEMORY;
        return false;
    }
    fact->type = (enum fact_type)waiting.as;
    fact->line = waiting.line;
    *bytes += waiting.text.n;
    if (waiting.id)
        set_ids(fact, waiting.id);
    return true;
}

uint64_t others_rejected(const struct others *others)
{
    return others->rejected;
}

void others_free(struct others *others)
{
    if (!others)
        return;
    sorter_free(others->by_time);
    sorter_free(others->by_order);
    arena_release(&others->arena);
    buf_release(&others->value);
    free(others);
}
