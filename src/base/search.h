/* SPDX-License-Identifier: MIT */
/* Looking things up in a sorted array. */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* How many of the ids, which ascend, are less: where that one is, or belongs. */
static inline size_t ids_below(const uint64_t *ids, size_t n, uint64_t id)
{
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

#endif
