/* SPDX-License-Identifier: MIT */
/*
 * The rows that a batch of operations works on, in memory: those that were loaded, and what the operations made of them. A row
 * that is asked for and not here is wanted: it is loaded with all others that are, and the operation is run again.
 *
 * A row's value is never changed in place. What an operation puts can be taken back until it is kept.
 */
#ifndef CLUSTER_ROWS_SHEET_H
#define CLUSTER_ROWS_SHEET_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "engine/cluster/rows/kinds.h"

struct value {
    bool exists;
    uint64_t numbers[ROW_NUMBERS];
    struct bytes texts[ROW_TEXTS];
};

enum { SHEET_LEVELS = 16 };

struct row {
    enum kind kind;
    bool is_range;             /* stands for a range; its value says that it is loaded */
    uint64_t key[ROW_KEYS];    /* those that the kind does not have are 0 */
    const struct value *value; /* NULL: wanted */
    const struct value *loaded;
    struct row *next_changed; /* among those whose value is not what was loaded, or was once */
    bool is_changed;
    bool is_wanted;
    uint64_t hash;
    struct row *same_bucket; /* of the table */
    struct row *next[];      /* by level */
};

/* The order of keys. */
static inline int key_order(const uint64_t a[ROW_KEYS], const uint64_t b[ROW_KEYS])
{
    for (int i = 0; i < ROW_KEYS; i++)
        if (a[i] != b[i])
            return a[i] < b[i] ? -1 : 1;
    return 0;
}

struct undo {
    struct row *row;
    const struct value *value;
};

struct sheet {
    struct arena arena;
    struct row *first[SHEET_LEVELS];
    struct row **table; /* all rows by their keys */
    size_t n_rows, table_room;
    struct row **wanted;
    size_t n_wanted, wanted_room;
    struct row *changed;
    struct undo *undo;
    size_t n_undo, undo_room;
    bool failed; /* memory was short */
};

void sheet_init(struct sheet *sheet, size_t memory_max);
void sheet_clear(struct sheet *sheet);
void sheet_release(struct sheet *sheet);

/* The value of a row; NULL if it is not known yet: then it is wanted from now on. */
const struct value *sheet_get(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS]);

/* Whether all rows of a range are here; if not they are wanted. The key's further numbers are 0. */
bool sheet_has_range(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS]);
/* The same without wanting it. */
bool sheet_knows_range(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS]);

/* The first row of the kind with a key that is no less, and the one behind a row; rows of another kind come behind, too. */
const struct row *sheet_from(const struct sheet *sheet, enum kind kind,
                             const uint64_t key[ROW_KEYS]);
static inline const struct row *sheet_next(const struct row *row)
{
    return row->next[0];
}

/* The value that was put or loaded, NULL if none was; wants nothing. */
const struct value *sheet_peek(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS]);

/* Puts a value, of which texts are copied; NULL removes the row. */
void sheet_put(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS],
               const struct value *value);

/* What was put since the last of these calls stays, or is as if it had not been. */
void sheet_keep(struct sheet *sheet);
void sheet_undo(struct sheet *sheet);

/* For whoever loads rows: what is so in the database. One that is known already stays as it is. */
void sheet_loaded(struct sheet *sheet, enum kind kind, const uint64_t key[ROW_KEYS],
                  const struct value *value);
/* What is still wanted after loading does not exist; ranges are complete. */
void sheet_settle_wanted(struct sheet *sheet);

#endif
