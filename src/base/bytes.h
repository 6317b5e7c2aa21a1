/* SPDX-License-Identifier: MIT */
/*
 * Numbers to bytes and back. Ids take seven bytes, big-endian, so that keys sort as the ids do;
 * everything else is a varint (seven bits a byte, least significant first, at most ten bytes).
 *
 * A decoder never passes its end. After the first failure it is at its end, so that every call answers 0, and
 * `bad` stays set: a decoder reads straight through and checks once.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { ID_BYTES = 7, VARINT_MAX = 10 };

/* Somebody else's bytes. */
struct bytes {
    const uint8_t *p;
    size_t n;
};

static inline bool bytes_same(struct bytes a, struct bytes b)
{
    return a.n == b.n && (!a.n || !memcmp(a.p, b.p, a.n));
}

static inline void put_u32(uint8_t *to, uint32_t value)
{
    uint32_t big = __builtin_bswap32(value);
    memcpy(to, &big, 4);
}

static inline uint32_t get_u32(const uint8_t *from)
{
    uint32_t big;
    memcpy(&big, from, 4);
    return __builtin_bswap32(big);
}

/* Seven bytes as two words that share one byte: put together from pieces in memory they would wait for each other. */
static inline void put_id(uint8_t *to, uint64_t id)
{
    put_u32(to, (uint32_t)(id >> 24));
    put_u32(to + 3, (uint32_t)id);
}

static inline uint64_t get_id(const uint8_t *from)
{
    return (uint64_t)get_u32(from) << 24 | (get_u32(from + 3) & 0xffffff);
}

/* Answers the bytes written: 1 ... VARINT_MAX. */
static inline size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    while (value >= 0x80) {
        to[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    to[n++] = (uint8_t)value;
    return n;
}

struct decoder {
    const uint8_t *at;
    const uint8_t *end;
    bool bad;
};

static inline struct decoder decoder_of(const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    return (struct decoder){.at = at, .end = n ? at + n : at};
}

static inline size_t decoder_left(const struct decoder *r)
{
    return (size_t)(r->end - r->at);
}

static inline void decoder_fail(struct decoder *r)
{
    r->bad = true;
    r->at = r->end;
}

static inline const uint8_t *read_bytes(struct decoder *r, size_t n)
{
    if (n > decoder_left(r)) {
        decoder_fail(r);
        return NULL;
    }
    const uint8_t *at = r->at;
    r->at += n;
    return at;
}

static inline uint8_t read_u8(struct decoder *r)
{
    if (r->at == r->end) {
        decoder_fail(r);
        return 0;
    }
    return *r->at++;
}

static inline uint64_t read_id(struct decoder *r)
{
    const uint8_t *at = read_bytes(r, ID_BYTES);
    return at ? get_id(at) : 0;
}

static inline uint64_t read_u64(struct decoder *r)
{
    const uint8_t *at = read_bytes(r, 8);
    uint64_t big;
    if (!at)
        return 0;
    memcpy(&big, at, 8);
    return __builtin_bswap64(big);
}

static inline void put_u64(uint8_t *to, uint64_t value)
{
    uint64_t big = __builtin_bswap64(value);
    memcpy(to, &big, 8);
}

/* Refuses a varint that does not fit 64 bits. Most are one byte long. */
static inline uint64_t read_varint(struct decoder *r)
{
    if (r->at < r->end && *r->at < 0x80)
        return *r->at++;
    uint64_t value = 0;
    const uint8_t *at = r->at;
    for (unsigned shift = 0; shift < 64 && at < r->end; shift += 7) {
        uint8_t byte = *at++;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte >= 0x80)
            continue;
        if (shift == 63 && byte > 1)
            break;
        r->at = at;
        return value;
    }
    decoder_fail(r);
    return 0;
}

static inline uint32_t read_varint32(struct decoder *r)
{
    uint64_t value = read_varint(r);
    if (value > UINT32_MAX) {
        decoder_fail(r);
        return 0;
    }
    return (uint32_t)value;
}

#endif
