/* SPDX-License-Identifier: MIT */
/* What encoders and decoders of records share; for records.c and its siblings alone. */
#ifndef LOCAL_RECORD_PARTS_H
#define LOCAL_RECORD_PARTS_H

#include <string.h>

#include "base/bytes.h"
#include "engine/local/kv.h"

enum { VERSION_1 = 0x10, VERSION_MASK = 0xf0, FLAGS_MASK = 0x0f };

/* The flags of a version 1 record; anything else makes the reader bad. */
static inline uint8_t read_head(struct reader *r, uint8_t known_flags)
{
    uint8_t head = read_u8(r);
    if ((head & VERSION_MASK) != VERSION_1 || (head & FLAGS_MASK & ~known_flags))
        reader_fail(r);
    return head & FLAGS_MASK;
}

/* True if all went well and nothing is left over. */
static inline bool read_end(const struct reader *r)
{
    return !r->bad && r->at == r->end;
}

static inline bool is_stamp(uint64_t id)
{
    return id >= 1 && id <= TIDINGS_ID_MAX;
}

static inline struct bytes read_block(struct reader *r)
{
    uint64_t n = read_varint(r);
    const uint8_t *p = n <= reader_left(r) ? read_bytes(r, n) : NULL;
    if (!p)
        reader_fail(r);
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
