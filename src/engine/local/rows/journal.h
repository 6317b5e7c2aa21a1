/* SPDX-License-Identifier: MIT */
/*
 * The rows of the reading history. A few dozen entries share a row, whose key is the oldest of them: so new
 * entries, which are always the newest, change the value of the first row and no key. Every row's entries are older
 * than those of the row before it.
 *
 * What the entries mean, and which of them count, is history.c's; nobody else knows the rows.
 */
#ifndef LOCAL_JOURNAL_H
#define LOCAL_JOURNAL_H

#include "engine/local/rows/rows.h"

/* At least one, in any order, each newer than all that are there. Sorts them. */
void journal_add(struct view *view, uint64_t reader, struct history_entry *entries, size_t n);

/* Those that are there, of these in any order. Sorts them. */
void journal_remove(struct view *view, uint64_t reader, struct history_entry *entries, size_t n);

bool journal_has(struct view *view, uint64_t reader, struct history_entry entry);

/* Takes the entries with stamps up to that out of one row; false if no row has any. */
bool journal_sweep(struct view *view, uint64_t reader, uint64_t upto);

/* Latest first. The caller changes nothing and scans nothing else in TABLE_USER meanwhile. */
struct journal_walk {
    struct view *view;
    struct key prefix;
    struct history_block block; /* empty at the end */
    size_t left;                /* entries of it yet to come */
};

/* From the latest entry before that one; a stamp of 0 stands for the beginning. */
void journal_walk(struct journal_walk *walk, struct view *view, uint64_t reader,
                  struct history_entry before);
bool journal_next(struct journal_walk *walk, struct history_entry *entry);

/* ---- For verify ----------------------------------------------------------------------------- */

/* The entries of a row; false if it is damaged. */
bool journal_decode(struct bytes key, struct bytes value, struct history_block *block);

void journal_sort(struct history_entry *entries, size_t n);

#endif
