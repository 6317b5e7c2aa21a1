/* SPDX-License-Identifier: MIT */
/*
 * Replies out of bytes: hiredis' parser, with memory of ours, so that a server cannot make us take more than a bound, however long
 * the array that it announces. A reply and all that it points to live in the reader's arena until reader_forget.
 */
#ifndef REDIS_READER_H
#define REDIS_READER_H

#include <hiredis/hiredis.h>
#include <stdbool.h>

#include "base/arena.h"

enum {
    READER_REPLY_MAX = 16 << 20,    /* bytes on the wire, and bytes in memory, of one reply */
    READER_REPLIES_MAX = 128 << 20, /* in memory, of all until they are forgotten */
    READER_DEPTH_MAX = 7,
};

struct reader {
    redisReader *parser; /* NULL: there is no connection */
    struct arena arena;
    size_t taken;                   /* by the reply that is being read */
    const struct redisReply *error; /* the first error in it */
};

enum reader_state {
    READER_MORE, /* bytes are missing */
    READER_REPLY,
    READER_BROKEN, /* malformed, or too large: nothing can follow */
};

void reader_init(struct reader *reader);
void reader_release(struct reader *reader);

/* For a new connection; false if there is no memory. What was read before stays. */
bool reader_start(struct reader *reader);
void reader_stop(struct reader *reader);

bool reader_feed(struct reader *reader, const char *bytes, size_t n);

/* `error` is the error in it, on top or below, or NULL. Its text is one line of at most 200 bytes. */
enum reader_state reader_next(struct reader *reader, const struct redisReply **reply,
                              const struct redisReply **error);

/* What was read is no longer looked at. */
void reader_forget(struct reader *reader);

#endif
