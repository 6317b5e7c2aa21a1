/* SPDX-License-Identifier: MIT */
/*
 * What one reader has read of 64 consecutive posts of one author: which, when, and which of them stand
 * in the reading history. Times are stamps: the id of the operation that did it, which carries its time
 * and orders operations within a millisecond.
 *
 *     history is a subset of read: marked in bulk, or removed from the history, is read but not there.
 *     late is a subset of history: entered later than it was first read, with a stamp of its own.
 */
#ifndef DOMAIN_READMAP_H
#define DOMAIN_READMAP_H

#include <stdbool.h>
#include <stdint.h>

enum { READMAP_POSTS = 64 };

struct readmap {
    uint64_t read;
    uint64_t history;
    uint64_t late;
    uint64_t read_stamp[READMAP_POSTS]; /* for the bits of read */
    uint64_t late_stamp[READMAP_POSTS]; /* for the bits of late */
};

static inline bool readmap_has(uint64_t bits, unsigned i)
{
    return bits >> i & 1;
}

/* The first reading of post i. */
void readmap_mark(struct readmap *map, unsigned i, uint64_t stamp, bool in_history);

/* Every bit of `posts`, none of them read yet, at once and outside the history. */
void readmap_mark_all(struct readmap *map, uint64_t posts, uint64_t stamp);

/* Post i, which is read, enters the history now, or anew; with the stamp of its first reading: as it was read. */
void readmap_enter_history(struct readmap *map, unsigned i, uint64_t stamp);

/* Post i leaves the history and stays read. */
void readmap_leave_history(struct readmap *map, unsigned i);

/* Post i becomes unread. */
void readmap_unmark(struct readmap *map, unsigned i);

/* When post i, which is in the history, entered it. */
uint64_t readmap_history_stamp(const struct readmap *map, unsigned i);

#endif
