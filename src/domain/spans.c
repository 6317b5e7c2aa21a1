/* SPDX-License-Identifier: MIT */
#include "domain/spans.h"

#include <assert.h>
#include <string.h>

bool spans_valid(const struct span *spans, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (spans[i].start >= spans[i].end)
            return false;
        if (i && spans[i].start <= spans[i - 1].end)
            return false;
    }
    return true;
}

/* The number of spans that start below `bound`. Most lists hold one or two, and the last ones
 * matter. */
static size_t spans_starting_below(const struct span *spans, size_t n, uint32_t bound)
{
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (spans[middle].start < bound)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

uint64_t spans_count(const struct span *spans, size_t n, uint32_t limit)
{
    uint64_t count = 0;
    for (size_t i = 0; i < n && spans[i].start < limit; i++)
        count += (spans[i].end < limit ? spans[i].end : limit) - spans[i].start;
    return count;
}

const struct span *spans_find(const struct span *spans, size_t n, uint32_t number)
{
    if (number == SPAN_OPEN)
        return NULL;
    size_t i = spans_starting_below(spans, n, number + 1);
    return i && number < spans[i - 1].end ? &spans[i - 1] : NULL;
}

bool spans_has(const struct span *spans, size_t n, uint32_t number)
{
    return spans_find(spans, n, number) != NULL;
}

uint32_t spans_top(const struct span *spans, size_t n, uint32_t bound)
{
    size_t i = spans_starting_below(spans, n, bound);
    if (!i)
        return 0;
    return spans[i - 1].end < bound ? spans[i - 1].end : bound;
}

uint64_t spans_mask(const struct span *spans, size_t n, uint32_t first)
{
    uint64_t mask = 0;
    uint64_t behind = (uint64_t)first + 64;
    size_t i = spans_starting_below(spans, n, behind > UINT32_MAX ? UINT32_MAX : (uint32_t)behind);

    while (i-- && spans[i].end > first) {
        uint32_t from = spans[i].start > first ? spans[i].start - first : 0;
        mask |= mask_below(spans[i].end - first) & ~mask_below(from);
    }
    return mask;
}

static void insert_at(struct span *spans, size_t *n, size_t i, struct span added)
{
    memmove(spans + i + 1, spans + i, (*n - i) * sizeof *spans);
    spans[i] = added;
    ++*n;
}

static void drop_at(struct span *spans, size_t *n, size_t i)
{
    memmove(spans + i, spans + i + 1, (*n - i - 1) * sizeof *spans);
    --*n;
}

void spans_add(struct span *spans, size_t *n, struct span added)
{
    size_t i = spans_starting_below(spans, *n, added.start);
    bool joins_left = i && spans[i - 1].end == added.start;
    bool joins_right = i < *n && spans[i].start == added.end;

    assert(added.start < added.end);
    if (joins_left && joins_right) {
        spans[i - 1].end = spans[i].end;
        drop_at(spans, n, i);
    } else if (joins_left) {
        spans[i - 1].end = added.end;
    } else if (joins_right) {
        spans[i].start = added.start;
    } else {
        insert_at(spans, n, i, added);
    }
}

void spans_remove(struct span *spans, size_t *n, uint32_t number)
{
    size_t i = spans_starting_below(spans, *n, number + 1);
    assert(i && number < spans[i - 1].end);
    struct span *span = &spans[--i];

    if (span->start == number && span->end == number + 1) {
        drop_at(spans, n, i);
    } else if (span->start == number) {
        span->start++;
    } else if (span->end == number + 1) {
        span->end--;
    } else {
        struct span right = {number + 1, span->end};
        span->end = number;
        insert_at(spans, n, i + 1, right);
    }
}
