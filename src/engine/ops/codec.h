/* SPDX-License-Identifier: MIT */
/*
 * Operations that change something, and their answers, as bytes: for a server that hands a change to the writer, and for the
 * answers of changes with a key (once.c). What is encoded follows from the table of operations (TIDINGS_OPS): each kind of
 * arguments and of answers is one table of fields in codec.c.
 */
#ifndef OPS_CODEC_H
#define OPS_CODEC_H

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "tidings.h"

static inline void buf_varint(struct buf *buf, uint64_t value)
{
    char *to = buf_reserve(buf, VARINT_MAX);
    if (to)
        buf->len += put_varint((uint8_t *)to, value);
}

/* Appends the operation, which must be one that changes something, WEBHOOKS or LETTERS. A key (op->once) goes along, without `render`. */
void op_encode(const struct tidings_op *op, struct buf *to);

/*
 * Decodes an operation out of all bytes that are left. Texts point into these bytes, everything else is in the arena, the key in
 * *once. False: they are not an operation, or memory is short. The operation must still be checked (check_op).
 */
bool op_decode(struct decoder *r, struct arena *arena, struct tidings_op *op,
               struct tidings_once *once);

/* The same, and also WEBHOOKS and LETTERS, which only read: what operators ask from elsewhere. */
bool op_decode_any(struct decoder *r, struct arena *arena, struct tidings_op *op,
                   struct tidings_once *once);

/* Appends the answer to an operation of that kind: its error, and everything else but `stored`, `seen` and `age_ms`. */
void answer_encode(enum tidings_op_kind kind, const struct tidings_answer *answer, struct buf *to);

/* Decodes an answer out of all bytes that are left, into an empty answer; what it points to is in the arena. False: they are not
 * one, or memory is short. */
bool answer_decode(enum tidings_op_kind kind, struct decoder *r, struct arena *arena,
                   struct tidings_answer *answer);

#endif
