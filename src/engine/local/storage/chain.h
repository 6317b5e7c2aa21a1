/* SPDX-License-Identifier: MIT */
/*
 * The chain tells histories apart: each record of the log has 16 bytes of SHA-256 over the chain before it, its number, its
 * time and its changes. Two logs with the same chain at a record are the same up to there. The chain of a new directory
 * begins with the directory's id.
 */
#ifndef LOCAL_CHAIN_H
#define LOCAL_CHAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/bytes.h"

enum { CHAIN_BYTES = 16 };

struct chain {
    uint8_t bytes[CHAIN_BYTES];
};

static inline bool chain_same(const struct chain *a, const struct chain *b)
{
    return !memcmp(a->bytes, b->bytes, CHAIN_BYTES);
}

/* Makes chains, on one thread at a time. NULL if memory is short. */
struct chainer;
struct chainer *chainer_new(void);
void chainer_free(struct chainer *chainer);

/* SHA-256 of the bytes. False if memory is short. */
enum { DIGEST_BYTES = 32 };
bool digest_sha256(struct bytes bytes, uint8_t to[DIGEST_BYTES]);

struct redo_record;

/* The chain at the record, whose own `chain` is not looked at. False if memory is short. */
bool chain_next(struct chainer *chainer, const struct chain *before,
                const struct redo_record *record, struct chain *next);

#endif
