/* SPDX-License-Identifier: MIT */
/* A skip list in an arena: rows in the order of their kinds and keys; and a table by which single ones are found. */
#include "engine/cluster/rows/sheet.h"

#include <stdlib.h>

enum { TABLE_FIRST = 1024, TABLE_KEPT = 16384 };

void sheet_init(struct sheet *sheet, size_t memory_max)
{
    *sheet = (struct sheet){.table = NULL};
    arena_init(&sheet->arena, memory_max);
}

void sheet_clear(struct sheet *sheet)
{
    arena_clear(&sheet->arena);
    memset(sheet->first, 0, sizeof sheet->first);
    if (sheet->table_room > TABLE_KEPT) { /* it would have to be emptied after every small batch */
        free(sheet->table);
        sheet->table = NULL;
        sheet->table_room = 0;
    }
    if (sheet->table)
        memset(sheet->table, 0, sheet->table_room * sizeof(struct row *));
    sheet->n_rows = 0;
    sheet->n_wanted = sheet->n_undo = 0;
    sheet->changed = NULL;
    sheet->failed = false;
}

void sheet_release(struct sheet *sheet)
{
    free(sheet->table);
    arena_release(&sheet->arena);
    free(sheet->wanted);
    free(sheet->undo);
}

/* ---- The list ------------------------------------------------------------------------------- */

static int compare(const struct row *row, enum kind kind, bool is_range,
                   const uint64_t key[ROW_KEYS])
{
    if (row->kind != kind)
        return row->kind < kind ? -1 : 1;
    int order = key_order(row->key, key);
    return order ? order : (int)row->is_range - (int)is_range;
}

/* The links that lead to where the row would be. */
static void find_place(struct sheet *sheet, enum kind kind, bool is_range,
                       const uint64_t key[ROW_KEYS], struct row ***links)
{
    struct row **level = sheet->first;
    for (int i = SHEET_LEVELS - 1; i >= 0; i--) {
        while (level[i] && compare(level[i], kind, is_range, key) < 0)
            level = level[i]->next;
        links[i] = &level[i];
    }
}

static uint64_t hash_of(enum kind kind, bool is_range, const uint64_t key[ROW_KEYS])
{
    uint64_t hash = ((uint64_t)kind * 2 + is_range) * 0x9e3779b97f4a7c15u;
    for (int i = 0; i < ROW_KEYS; i++) {
        hash = (hash ^ key[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

/* How high a row stands: one in four at each further level. */
static int levels_of(uint64_t hash)
{
    int levels = 1 + __builtin_ctzll(hash | (uint64_t)1 << 62) / 2;
    return levels < SHEET_LEVELS ? levels : SHEET_LEVELS;
}

/* ---- The table ------------------------------------------------------------------------------ */

/* By the upper bits: the lower ones say how high a row stands. */
static struct row **bucket_of(const struct sheet *sheet, uint64_t hash)
{
    return &sheet->table[(hash >> 32) & (sheet->table_room - 1)];
}

static struct row *find_single(const struct sheet *sheet, enum kind kind, bool is_range,
                               const uint64_t key[ROW_KEYS], uint64_t hash)
{
    struct row *row = sheet->table ? *bucket_of(sheet, hash) : NULL;
    while (row && (row->hash != hash || compare(row, kind, is_range, key)))
        row = row->same_bucket;
    return row;
}

/* As many buckets as rows. */
static bool make_room(struct sheet *sheet)
{
    if (sheet->n_rows < sheet->table_room)
        return true;
    size_t room = sheet->table_room ? sheet->table_room * 2 : TABLE_FIRST;
    struct row **table = calloc(room, sizeof *table);
    if (!table)
        return false;
    free(sheet->table);
    sheet->table = table;
    sheet->table_room = room;
    for (struct row *row = sheet->first[0]; row; row = row->next[0]) {
        struct row **bucket = bucket_of(sheet, row->hash);
        row->same_bucket = *bucket;
        *bucket = row;
    }
    return true;
}

static struct row *add(struct sheet *sheet, enum kind kind, bool is_range,
                       const uint64_t key[ROW_KEYS], uint64_t hash)
{
    struct row **links[SHEET_LEVELS], *row = NULL;
    size_t levels = (size_t)levels_of(hash);
    if (make_room(sheet))
        row = arena_alloc(&sheet->arena, sizeof *row + levels * sizeof *row->next);
    if (!row) {
        sheet->failed = true;
        return NULL;
    }
    struct row **bucket = bucket_of(sheet, hash);
    *row = (struct row){.kind = kind, .is_range = is_range, .hash = hash, .same_bucket = *bucket};
    memcpy(row->key, key, sizeof row->key);
    find_place(sheet, kind, is_range, key, links);
    for (size_t i = 0; i < levels; i++) {
        row->next[i] = *links[i];
        *links[i] = row;
    }
    *bucket = row;
    sheet->n_rows++;
    return row;
}

static struct row *find_or_add(struct sheet *sheet, enum kind kind, bool is_range,
                               const uint64_t key[ROW_KEYS])
{
    uint64_t hash = hash_of(kind, is_range, key);
    struct row *row = find_single(sheet, kind, is_range, key, hash);
    return row ? row : add(sheet, kind, is_range, key, hash);
}

static struct row *find_row(const struct sheet *sheet, enum kind kind, bool is_range,
                            const uint64_t key[ROW_KEYS])
{
    return find_single(sheet, kind, is_range, key, hash_of(kind, is_range, key));
}

/* Room for one more in an array that doubles. */
static void *grow(void *array, size_t n, size_t *room, size_t size)
{
    if (n < *room)
        return array;
    size_t more = *room ? *room * 2 : 64;
    void *grown = realloc(array, more * size);
    if (grown)
        *room = more;
    return grown;
}

static void want(struct sheet *sheet, struct row *row)
{
    struct row **wanted = grow(sheet->wanted, sheet->n_wanted, &sheet->wanted_room, sizeof *wanted);
    if (!wanted) {
        sheet->failed = true;
        return;
    }
    sheet->wanted = wanted;
    row->is_wanted = true;
    wanted[sheet->n_wanted++] = row;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static const struct value *look(struct sheet *sheet, enum kind kind, bool is_range,
                                const uint64_t key[ROW_KEYS])
{
    struct row *row = find_or_add(sheet, kind, is_range, key);
    if (row && !row->value && !row->is_wanted)
        want(sheet, row);
    return row ? row->value : NULL;
}

const struct value *sheet_peek(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS])
{
    const struct row *row = find_row(sheet, kind, false, key);
    return row ? row->value : NULL;
}

const struct value *sheet_get(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS])
{
    static const struct value absent;
    const struct kind_form *form = &kind_forms[kind];
    uint64_t range[ROW_KEYS] = {0};
    memcpy(range, key, form->range_keys * sizeof *range);
    bool complete = form->has_range && !form->range_only && sheet_knows_range(sheet, kind, range);
    if (complete && !find_row(sheet, kind, false, key))
        return &absent;
    return look(sheet, kind, false, key);
}

bool sheet_has_range(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS])
{
    return look(sheet, kind, true, key) != NULL;
}

bool sheet_knows_range(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS])
{
    const struct row *row = find_row(sheet, kind, true, key);
    return row && row->value;
}

const struct row *sheet_from(const struct sheet *sheet, enum kind kind,
                             const uint64_t key[ROW_KEYS])
{
    struct row *const *level = sheet->first;
    for (int i = SHEET_LEVELS - 1; i >= 0; i--)
        while (level[i] && compare(level[i], kind, false, key) < 0)
            level = level[i]->next;
    return level[0];
}

/* ---- Changing ------------------------------------------------------------------------------- */

static const struct value *copy(struct sheet *sheet, const struct value *value)
{
    struct value *own = arena_alloc(&sheet->arena, sizeof *own);
    if (!own) {
        sheet->failed = true;
        return NULL;
    }
    *own = *value;
    for (int i = 0; i < ROW_TEXTS; i++) {
        own->texts[i].p = (const uint8_t *)"";
        if (!own->texts[i].n)
            continue;
        own->texts[i].p =
            (const uint8_t *)arena_text(&sheet->arena, value->texts[i].p, value->texts[i].n);
        if (!own->texts[i].p) {
            sheet->failed = true;
            return NULL;
        }
    }
    return own;
}

void sheet_put(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS],
               const struct value *value)
{
    static const struct value absent;
    struct row *row = find_or_add(sheet, kind, false, key);
    struct undo *undo = grow(sheet->undo, sheet->n_undo, &sheet->undo_room, sizeof *undo);
    if (undo)
        sheet->undo = undo;
    const struct value *own = value ? copy(sheet, value) : &absent;
    if (!row || !undo || !own) {
        sheet->failed = true;
        return;
    }
    undo[sheet->n_undo++] = (struct undo){row, row->value};
    row->value = own;
    if (row->is_changed)
        return;
    row->is_changed = true;
    row->next_changed = sheet->changed;
    sheet->changed = row;
}

void sheet_keep(struct sheet *sheet)
{
    sheet->n_undo = 0;
}

void sheet_undo(struct sheet *sheet)
{
    while (sheet->n_undo) {
        struct undo *undo = &sheet->undo[--sheet->n_undo];
        undo->row->value = undo->value;
    }
}

/* ---- Loading -------------------------------------------------------------------------------- */

void sheet_loaded(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS],
                  const struct value *value)
{
    struct row *row = find_or_add(sheet, kind, false, key);
    if (row && !row->value)
        row->value = row->loaded = copy(sheet, value);
}

void sheet_settle_wanted(struct sheet *sheet)
{
    static const struct value absent, there = {.exists = true};
    for (size_t i = 0; i < sheet->n_wanted; i++) {
        struct row *row = sheet->wanted[i];
        if (!row->value)
            row->value = row->loaded = row->is_range ? &there : &absent;
        row->is_wanted = false;
    }
    sheet->n_wanted = 0;
}
