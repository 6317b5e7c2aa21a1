/* SPDX-License-Identifier: MIT */
#include "domain/pair.h"

#include "domain/readmap.h"

/* ---- Counting ------------------------------------------------------------------------------- */

uint64_t pair_delivered(const struct pair *pair, const struct head *head)
{
    return spans_count(pair->spans, pair->n_spans, head->n_posts);
}

static uint64_t delivered_and_deleted(const struct pair *pair, const struct head *head)
{
    uint64_t count = 0;
    if (!head->n_deleted)
        return 0;
    for (size_t i = 0; i < pair->n_spans; i++)
        count += head_deleted_below(head, pair->spans[i].end) -
                 head_deleted_below(head, pair->spans[i].start);
    return count;
}

bool pair_unread(const struct pair *pair, const struct head *head, struct unsettled later,
                 uint64_t *unread)
{
    uint64_t delivered = pair_delivered(pair, head);
    uint64_t gone = delivered_and_deleted(pair, head) + pair->reads_in - pair->dead_in - later.in;
    if (gone > delivered)
        return false;
    *unread = delivered - gone;
    return true;
}

bool pair_read_alive(const struct pair *pair, struct unsettled later, uint64_t *alive)
{
    uint64_t reads = (uint64_t)pair->reads_in + pair->reads_out;
    uint64_t dead = (uint64_t)pair->dead_in + later.in + pair->dead_out + later.out;
    if (dead > reads)
        return false;
    *alive = reads - dead;
    return true;
}

/* ---- Searching ------------------------------------------------------------------------------ */

uint64_t pair_mask(const struct pair *pair, const struct head *head, enum scope scope,
                   uint32_t first)
{
    uint64_t mask = ~UINT64_C(0);
    if (scope != SCOPE_AUTHOR)
        mask = spans_mask(pair->spans, pair->n_spans, first);
    if (scope != SCOPE_INBOX)
        mask &= ~head_deleted_mask(head, first);
    return mask;
}

uint32_t pair_top(const struct pair *pair, enum scope scope, uint32_t bound)
{
    if (scope != SCOPE_AUTHOR)
        return spans_top(pair->spans, pair->n_spans, bound);
    return bound;
}

uint32_t pair_search(const struct pair *pair, const struct head *head, enum scope scope,
                     uint32_t bound)
{
    while ((bound = pair_top(pair, scope, bound))) {
        uint32_t first = (bound - 1) / READMAP_POSTS * READMAP_POSTS;
        uint64_t mask = pair_mask(pair, head, scope, first) & mask_below(bound - first);
        if (mask)
            return mask_top(mask, first);
        bound = first;
    }
    return 0;
}

/* At the limit the shortest run makes room: a hint lost costs time only. */
static void add_skip(struct skips *skips, uint32_t chunk)
{
    spans_add(skips->at, &skips->n, (struct span){chunk, chunk + 1});
    if (skips->n <= PAIR_SKIPS_MAX)
        return;
    size_t shortest = 0;
    for (size_t i = 1; i < skips->n; i++)
        if (skips->at[i].end - skips->at[i].start <
            skips->at[shortest].end - skips->at[shortest].start)
            shortest = i;
    memmove(skips->at + shortest, skips->at + shortest + 1,
            (skips->n - shortest - 1) * sizeof skips->at[0]);
    skips->n--;
}

void skips_update(struct skips *skips, const struct head *head, uint32_t chunk, uint64_t read)
{
    uint64_t done = read | head_deleted_mask(head, chunk * READMAP_POSTS);
    bool full = done == ~UINT64_C(0);
    bool listed = spans_has(skips->at, skips->n, chunk);
    if (full && !listed)
        add_skip(skips, chunk);
    else if (!full && listed && skips->n < PAIR_SKIPS_MAX)
        spans_remove(skips->at, &skips->n, chunk);
    else if (!full && listed)
        skips->n = 0;
}

/* ---- Changing ------------------------------------------------------------------------------- */

void pair_open(struct pair *pair, const struct head *head, uint64_t rank)
{
    size_t n = pair->n_spans;
    spans_add(pair->spans, &n, (struct span){head->n_posts, SPAN_OPEN});
    pair->n_spans = (uint32_t)n;
    pair->following = true;
    pair->paused = false;
    pair->rank = rank;
}

void pair_close(struct pair *pair, const struct head *head)
{
    struct span *last = &pair->spans[pair->n_spans - 1];
    last->end = head->n_posts;
    if (last->start == last->end)
        pair->n_spans--;
    pair->following = false;
    pair->rank = 0;
}

void pair_pause(struct pair *pair, const struct head *head)
{
    uint64_t rank = pair->rank;
    pair_close(pair, head);
    pair->paused = true;
    pair->rank = rank;
}

uint64_t pair_purge(struct pair *pair, const struct head *head)
{
    uint64_t purged = pair_delivered(pair, head);
    pair->n_spans = 0;
    pair->reads_out += pair->reads_in;
    pair->dead_out += pair->dead_in;
    pair->reads_in = pair->dead_in = 0;
    return purged;
}

void pair_settle(struct pair *pair, const struct head *head, struct unsettled later)
{
    pair->dead_in += later.in;
    pair->dead_out += later.out;
    pair->settled = head->n_deleted;
}

void pair_count_reads(struct pair *pair, uint32_t chunk, uint64_t before, uint64_t now)
{
    uint64_t in = spans_mask(pair->spans, pair->n_spans, chunk * READMAP_POSTS);
    pair->reads_in += (uint32_t)__builtin_popcountll(now & in);
    pair->reads_in -= (uint32_t)__builtin_popcountll(before & in);
    pair->reads_out += (uint32_t)__builtin_popcountll(now & ~in);
    pair->reads_out -= (uint32_t)__builtin_popcountll(before & ~in);
}
