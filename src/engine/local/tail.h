/* SPDX-License-Identifier: MIT */
/*
 * The tail of the log in memory: the newest records, for those who follow it and are nearly there. What is older they read
 * from the files. One thread puts, at a time; any number read.
 */
#ifndef LOCAL_TAIL_H
#define LOCAL_TAIL_H

#include "base/buf.h"
#include "engine/local/storage/redo.h"

struct tail;

/* Bounds of what is kept, and of what one read takes. */
enum { TAIL_READERS_MAX = 64, TAIL_READ_RECORDS = 256, TAIL_READ_BYTES = 1 << 20 };

/* NULL if memory is short. Records of that many bytes are kept at most, but at least one. */
struct tail *tail_new(size_t bytes_max);
void tail_free(struct tail *tail);

/* The next record, committed. One that there is no memory for empties the tail. */
void tail_put(struct tail *tail, const struct redo_record *record);

/* Somebody who is told by an eventfd when there is a record. -1: there are too many. */
int tail_join(struct tail *tail);
void tail_leave(struct tail *tail, int reader);
int tail_fd(const struct tail *tail, int reader);

/* Records behind `after`, up to `upto`, as record_pack has them; how many. *too_old: they are not in memory any more. */
size_t tail_read(struct tail *tail, uint64_t after, uint64_t upto, struct buf *to, bool *too_old);

/* ---- Records as bytes of a message ------------------------------------------------------------ */

/* number, time, sure, chain, a block of changes */
void record_pack(const struct redo_record *record, struct buf *to);

/* The next one; false at the end, or with r->bad set. */
bool record_unpack(struct decoder *r, struct redo_record *record);

#endif
