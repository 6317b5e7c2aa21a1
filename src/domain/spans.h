/* SPDX-License-Identifier: MIT */
/*
 * Sets of numbers as half-open ranges, ascending, neither touching nor overlapping. They say which of an
 * author's posts (numbered 0, 1, 2 ...) were delivered to a fan.
 */
#ifndef DOMAIN_SPANS_H
#define DOMAIN_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPAN_OPEN UINT32_MAX /* as an end: still growing */

struct span {
    uint32_t start;
    uint32_t end; /* exclusive */
};

/* Whether the list is well formed; only the last may be open, and none is empty. */
bool spans_valid(const struct span *spans, size_t n);

/* How many members are below `limit`. */
uint64_t spans_count(const struct span *spans, size_t n, uint32_t limit);

/* The span that holds the number, or NULL. */
const struct span *spans_find(const struct span *spans, size_t n, uint32_t number);

bool spans_has(const struct span *spans, size_t n, uint32_t number);

/* One more than the largest member below `bound`; 0 if there is none. */
uint32_t spans_top(const struct span *spans, size_t n, uint32_t bound);

/* Bit i is set if first + i is a member. */
uint64_t spans_mask(const struct span *spans, size_t n, uint32_t first);

/* Bits [0, n) set. */
static inline uint64_t mask_below(uint32_t n)
{
    return n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << n) - 1;
}

/* One more than the number of the highest bit of a mask that is not 0, where bit 0 is `first`. */
static inline uint32_t mask_top(uint64_t mask, uint32_t first)
{
    return first + 64 - (uint32_t)__builtin_clzll(mask);
}

/*
 * Adds [start, end), which overlaps no member, joining neighbours. `spans` has room for *n + 1.
 */
void spans_add(struct span *spans, size_t *n, struct span added);

/* Removes one number that is a member. `spans` has room for *n + 1. */
void spans_remove(struct span *spans, size_t *n, uint32_t number);

#endif
