/* SPDX-License-Identifier: MIT */
/*
 * The changes of an operation that is run on a snapshot only to see which rows it touches. Nothing is written: puts and
 * deletes are noted here, and reads of the same transaction find them, so that the operation reads what it would read
 * if it ran on that snapshot. Where that cannot be kept up, the rehearsal ends: the transaction fails.
 */
#ifndef LOCAL_REHEARSAL_H
#define LOCAL_REHEARSAL_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/bytes.h"

enum { REHEARSAL_CHANGES_MAX = 128 };

struct rehearsal {
    struct arena *arena; /* of keys and values; cleared by its owner */
    size_t n;
    struct rehearsed {
        int table;
        bool is_put; /* otherwise the row was deleted */
        struct bytes key, value;
    } at[REHEARSAL_CHANGES_MAX];
};

/* Notes a put, or a delete. False if there is no room: the rehearsal must end. */
bool rehearsal_note(struct rehearsal *rehearsal, const struct rehearsed *change);

/* What was noted of the row; NULL: nothing. */
const struct rehearsed *rehearsal_find(const struct rehearsal *rehearsal, int table,
                                       struct bytes key);

/* The put with the least key >= `from`; NULL: there is none. */
const struct rehearsed *rehearsal_find_from(const struct rehearsal *rehearsal, int table,
                                            struct bytes from);

/* Whether the row's key is <= `key`. */
bool rehearsal_is_first(const struct rehearsed *row, struct bytes key);

/* Whether any row of the table was put or deleted. */
bool rehearsal_changed(const struct rehearsal *rehearsal, int table);

#endif
