/* SPDX-License-Identifier: MIT */
/*
 * Eight bytes looked at together. Each question answers a word whose bits 7, 15, 23 ... say whether any byte is meant;
 * which one it does not tell. They are asked of ASCII: add the word itself to find out whether it is.
 *
 *     if (!((word | octets_below(word, 0x20) | octets_equal(word, '"')) & OCTETS_TOP)) all eight are plain
 */
#ifndef BASE_OCTETS_H
#define BASE_OCTETS_H

#include <stdint.h>
#include <string.h>

#define OCTETS_EACH UINT64_C(0x0101010101010101)
#define OCTETS_TOP  (OCTETS_EACH * 0x80)

static inline uint64_t octets_at(const char *bytes)
{
    uint64_t word;
    memcpy(&word, bytes, sizeof word);
    return word;
}

/* A byte below the limit borrows and gets its top bit; only a byte above such a one is borrowed from. */
static inline uint64_t octets_below(uint64_t word, unsigned char limit)
{
    return word - OCTETS_EACH * limit;
}

static inline uint64_t octets_equal(uint64_t word, unsigned char byte)
{
    return (word ^ (OCTETS_EACH * byte)) - OCTETS_EACH;
}

#endif
