/* SPDX-License-Identifier: MIT */
/* Commands as bytes. */
#ifndef REDIS_COMMAND_H
#define REDIS_COMMAND_H

#include "base/buf.h"
#include "base/bytes.h"

static inline void command_count(struct buf *out, char kind, uint64_t n)
{
    buf_char(out, kind);
    buf_u64(out, n);
    buf_literal(out, "\r\n");
}

static inline void command_begin(struct buf *out, size_t n_words)
{
    command_count(out, '*', n_words);
}

static inline void command_word(struct buf *out, const void *bytes, size_t n)
{
    command_count(out, '$', n);
    buf_append(out, bytes, n);
    buf_literal(out, "\r\n");
}

static inline void command_text(struct buf *out, const char *text)
{
    command_word(out, text, strlen(text));
}

#endif
