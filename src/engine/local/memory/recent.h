/* SPDX-License-Identifier: MIT */
/*
 * The pairs of fans who were here lately, in memory: the rows that every badge and every page of an
 * inbox begins with. They are a copy of what lies in the table and nothing more: with them or without
 * them every answer is the same.
 *
 * Fans share bins by their number. A bin knows the last batch in which a pair of any of its fans
 * changed. A copy made in one snapshot serves another if nothing changed since the older of the two:
 *
 *     changed <= copy's version, changed <= snapshot's version
 *
 * The writer brings a copy up to date with what it saves, so that the answer to a change finds it.
 * After a batch that was taken back, and after a repair, a new age begins: no copy of an earlier one is
 * used by whoever took a snapshot later.
 */
#ifndef LOCAL_RECENT_H
#define LOCAL_RECENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/local/storage/kv.h"

struct recent;
struct tie_stored;
struct unread_sum;
struct local_view;

/* Copies of that many bytes at most. NULL if memory is short. */
struct recent *recent_new(size_t bytes_max);
void recent_free(struct recent *recent);

/* To be asked before a snapshot is taken, and kept in its view. */
uint64_t recent_age(const struct recent *recent);

/* Begins a new age. After a failed batch, before the next; after a repair's commit. */
void recent_forget(struct recent *recent);

/*
 * The fan's pairs as the view sees them, without their heads, in the scratch arena; false if they are
 * not here. The fan is its id with the realm's mark.
 */
bool recent_find(struct local_view *view, uint64_t fan, struct tie_stored **rows, size_t *n);

/* The same as a sum. */
bool recent_badge(struct local_view *view, uint64_t fan, struct unread_sum *sum);

/* Keeps what the view has found in the table, if there is room. */
void recent_keep(struct local_view *view, uint64_t fan, const struct tie_stored *rows, size_t n);

/* Writer: the fan's pair with the author was saved; an empty value if there is none (any more). */
void recent_change(struct local_view *view, uint64_t fan, uint64_t author, struct bytes value);

#endif
