/* SPDX-License-Identifier: MIT */
/* What encoders and decoders of records share; for the files of this folder alone. */
#ifndef RECORDS_PARTS_H
#define RECORDS_PARTS_H

#include <string.h>

#include "base/bytes.h"
#include "tidings.h"

enum { VERSION_1 = 0x10, VERSION_MASK = 0xf0, FLAGS_MASK = 0x0f };

/* The flags of a version 1 record; anything else makes the reader bad. */
static inline uint8_t read_head(struct decoder *r, uint8_t known_flags)
{
    uint8_t head = read_u8(r);
    if ((head & VERSION_MASK) != VERSION_1 || (head & FLAGS_MASK & ~known_flags))
        decoder_fail(r);
    return head & FLAGS_MASK;
}

/* True if all went well and nothing is left over. */
static inline bool read_end(const struct decoder *r)
{
    return !r->bad && r->at == r->end;
}

static inline bool is_stamp(uint64_t id)
{
    return id >= 1 && id <= TIDINGS_ID_MAX;
}

/*
 * A difference of ids, for a varint. Most ids are the first of their millisecond and end in twelve zeros, all that we
 * make end in four (domain/ids.h): these are left out. Less than 2^58 for ids of up to 56 bits.
 */
static inline uint64_t gap_encode(uint64_t gap)
{
    if (gap % (1 << 12) == 0)
        return gap >> 12 << 1;
    return gap % (1 << 4) == 0 ? gap >> 4 << 2 | 1 : gap << 2 | 3;
}

/* What is no difference of ids becomes one that leads out of their range. */
static inline uint64_t gap_decode(uint64_t code)
{
    unsigned shift = !(code & 1) ? 12 : !(code & 2) ? 4 : 0;
    uint64_t value = code >> (code & 1 ? 2 : 1);
    return value <= TIDINGS_ID_MAX >> shift ? value << shift : TIDINGS_ID_MAX + 1;
}

static inline struct bytes read_block(struct decoder *r)
{
    uint64_t n = read_varint(r);
    const uint8_t *p = n <= decoder_left(r) ? read_bytes(r, n) : NULL;
    if (!p)
        decoder_fail(r);
    return p ? (struct bytes){p, n} : (struct bytes){NULL, 0};
}

static inline size_t put_block(uint8_t *to, struct bytes block)
{
    size_t n = put_varint(to, block.n);
    if (block.n)
        memcpy(to + n, block.p, block.n);
    return n + block.n;
}

#endif
