/* SPDX-License-Identifier: MIT */
/*
 * A heap in an array, greatest key first: heap[0] is the greatest, the children of i are 2i + 1 and 2i + 2. The elements are any
 * structs that begin with a uint64_t, which is the key. Inline, so that their size is known where it is used.
 */
#ifndef BASE_HEAP_H
#define BASE_HEAP_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { HEAP_ELEMENT_MAX = 64 };

static inline uint64_t heap_key(const void *element)
{
    uint64_t key;
    memcpy(&key, element, sizeof key);
    return key;
}

/* Moves element i, which may be less than its children, to where it belongs among n. */
static inline void heap_sift(void *heap, size_t n, size_t size, size_t i)
{
    char *at = heap, moved[HEAP_ELEMENT_MAX];
    memcpy(moved, at + i * size, size);
    for (size_t child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && heap_key(at + (child + 1) * size) > heap_key(at + child * size))
            child++;
        if (heap_key(at + child * size) <= heap_key(moved))
            break;
        memcpy(at + i * size, at + child * size, size);
    }
    memcpy(at + i * size, moved, size);
}

/* Makes a heap of n elements in any order. */
static inline void heap_make(void *heap, size_t n, size_t size)
{
    for (size_t i = n / 2; i--;)
        heap_sift(heap, n, size, i);
}

#endif
