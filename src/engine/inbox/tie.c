/* SPDX-License-Identifier: MIT */
#include "engine/inbox/tie.h"

#include "base/heap.h"

/* ---- Loading -------------------------------------------------------------------------------- */

/* Room for one more span: a follow adds at most one. */
void tie_unpack(struct view *view, struct bytes value, struct tie *tie)
{
    tie->skips = NULL;
    if (!pair_decode(value, view->scratch, &tie->pair, 1)) {
        view_corrupt(view);
        tie->pair = (struct pair){.spans = tie->pair.inline_spans};
    }
    tie->listed = tie_rank(tie);
}

enum tie_place tie_belongs(const struct tie *tie)
{
    if (tie->pair.n_spans || tie->pair.paused)
        return TIE_INSIDE;
    return pair_has_reads(&tie->pair) ? TIE_OUTSIDE : TIE_NOWHERE;
}

struct bytes tie_pack(struct view *view, struct tie *tie)
{
    uint8_t bytes[SKIPS_BYTES_MAX];
    if (tie->skips)
        pair_set_skips(&tie->pair, tie->skips, bytes);
    struct bytes value = pair_encode(&tie->pair, view->scratch);
    if (!value.p)
        view_fail(view, TIDINGS_NO_MEMORY);
    return value;
}

void tie_load(struct view *view, enum realm realm, uint64_t fan, uint64_t author, struct tie *tie)
{
    tie->realm = realm;
    tie->fan = fan;
    tie->author = author;
    tie->head = view_head(view, realm, author);
    if (view->rows->get_pair(view, tie))
        return;
    tie->stored = TIE_NOWHERE;
    tie->listed = 0;
    tie->skips = NULL;
    tie->pair = (struct pair){.spans = tie->pair.inline_spans};
}

struct tie *tie_among(struct view *view, enum realm realm, uint64_t fan, uint64_t author,
                      struct tie **ties, size_t *n)
{
    for (size_t i = *n; i--;)
        if (ties[i]->author == author)
            return ties[i];
    struct tie *tie = view_array(view, view->scratch, 1, sizeof *tie);
    if (!tie)
        return NULL;
    tie_load(view, realm, fan, author, tie);
    tie_settle(view, tie);
    ties[(*n)++] = tie;
    return tie;
}

void tie_decode(struct view *view, enum realm realm, uint64_t fan, const struct tie_stored *stored,
                struct tie *tie)
{
    tie->realm = realm;
    tie->fan = fan;
    tie->author = stored->author;
    tie->stored = TIE_INSIDE;
    tie->head = stored->head;
    tie_unpack(view, stored->value, tie);
}

size_t tie_list(struct view *view, enum realm realm, uint64_t fan, struct tie **out)
{
    struct tie_stored *stored;
    size_t n = tie_scan(view, realm, fan, &stored);
    struct tie *ties = n ? view_array(view, view->scratch, n, sizeof *ties) : NULL;
    if (!ties)
        return 0;
    for (size_t i = 0; i < n; i++)
        tie_decode(view, realm, fan, &stored[i], &ties[i]);
    *out = ties;
    return view_failed(view) ? 0 : n;
}

/* All of them settle before the first change, which ends the life of the bytes that they were read from. */
size_t tie_settle_all(struct view *view, enum realm realm, uint64_t fan, struct tie **ties)
{
    size_t n = tie_list(view, realm, fan, ties);
    for (size_t i = 0; i < n; i++)
        tie_settle(view, &(*ties)[i]);
    return view_failed(view) ? 0 : n;
}

/* ---- Follows -------------------------------------------------------------------------------- */

/* A page needs the first few in order, not all. */
static void take_newest(struct tie_follow *heap, size_t n, struct tie_follow *newest, size_t most)
{
    heap_make(heap, n, sizeof *heap);
    for (size_t i = 0; i < most; i++) {
        newest[i] = heap[0];
        heap[0] = heap[--n];
        heap_sift(heap, n, sizeof *heap, 0);
    }
}

size_t tie_follows(struct view *view, enum realm realm, uint64_t fan, uint64_t after, size_t most,
                   struct tie_follow **follows)
{
    struct tie_stored *rows;
    size_t n_rows = view->rows->get_pairs(view, realm, fan, false, &rows), n = 0;
    struct tie_follow *found = view_array(view, view->scratch, n_rows, sizeof *found);
    for (size_t i = 0; found && i < n_rows; i++) {
        uint64_t rank;
        if (!pair_rank(rows[i].value, &rank))
            view_corrupt(view);
        else if (rank && (!after || rank < after))
            found[n++] = (struct tie_follow){rank, rows[i].author};
    }
    most = most < n ? most : n;
    *follows = view_array(view, view->scratch, most, sizeof **follows);
    if (view_failed(view))
        return 0;
    take_newest(found, n, *follows, most);
    return most;
}

/* ---- Read maps ------------------------------------------------------------------------------ */

static uint64_t read_bits(struct view *view, const struct tie *tie, uint32_t chunk)
{
    return pair_has_reads(&tie->pair) ? view->rows->get_read_bits(view, tie, chunk) : 0;
}

void tie_readmap(struct view *view, const struct tie *tie, uint32_t seq, struct readmap *map)
{
    map->read = map->history = map->late = 0;
    if (pair_has_reads(&tie->pair))
        view->rows->get_readmap(view, tie, seq / READMAP_POSTS, map);
}

uint64_t tie_read_stamp(struct view *view, const struct tie *tie, uint32_t seq)
{
    struct readmap map;
    tie_readmap(view, tie, seq, &map);
    return readmap_has(map.read, seq % READMAP_POSTS) ? map.read_stamp[seq % READMAP_POSTS] : 0;
}

/* ---- Counting ------------------------------------------------------------------------------- */

static struct unsettled count_unsettled(struct view *view, const struct tie *tie)
{
    const struct head *head = tie->head;
    struct unsettled later = {0, 0};
    if (tie->pair.settled == head->n_deleted || !pair_has_reads(&tie->pair))
        return later;
    uint32_t chunk = UINT32_MAX;
    uint64_t bits = 0;
    for (uint32_t i = tie->pair.settled; i < head->n_deleted; i++) {
        uint32_t seq = head->deleted[i];
        if (seq / READMAP_POSTS != chunk) {
            chunk = seq / READMAP_POSTS;
            bits = read_bits(view, tie, chunk);
        }
        if (readmap_has(bits, seq % READMAP_POSTS))
            ++*(tie_has(tie, seq) ? &later.in : &later.out);
    }
    return later;
}

uint64_t tie_unread(struct view *view, const struct tie *tie)
{
    uint64_t unread = 0;
    if (!pair_unread(&tie->pair, tie->head, count_unsettled(view, tie), &unread))
        view_corrupt(view);
    return unread;
}

uint64_t tie_read_alive(struct view *view, const struct tie *tie)
{
    uint64_t alive = 0;
    if (!pair_read_alive(&tie->pair, count_unsettled(view, tie), &alive))
        view_corrupt(view);
    return alive;
}

/* With nothing deleted, unread is what was delivered less what was read, and most authors are so.
 */
static inline struct tie_count count_stored(struct view *view, enum realm realm, uint64_t fan,
                                            const struct tie_stored *stored)
{
    struct pair_sum sum;
    struct tie tie;
    if (!stored->head->n_deleted && pair_sum(stored->value, &sum)) {
        int64_t unread = pair_sum_unread(sum, stored->head->n_posts);
        if (unread >= 0)
            return (struct tie_count){stored->author, (uint64_t)unread, sum.following};
    }
    tie_decode(view, realm, fan, stored, &tie);
    return (struct tie_count){stored->author, tie_unread(view, &tie), tie.pair.following};
}

struct tie_count tie_count_stored(struct view *view, enum realm realm, uint64_t fan,
                                  const struct tie_stored *stored)
{
    return count_stored(view, realm, fan, stored);
}

size_t tie_counts(struct view *view, uint64_t fan, struct tie_count **out)
{
    struct tie_stored *stored;
    size_t n = tie_scan(view, REALM_POSTS, fan, &stored);
    struct tie_count *counts = view_array(view, view->scratch, n, sizeof *counts);
    if (!counts)
        return 0;
    for (size_t i = 0; i < n; i++)
        counts[i] = count_stored(view, REALM_POSTS, fan, &stored[i]);
    *out = counts;
    return view_failed(view) ? 0 : n;
}

/* ---- Searching ------------------------------------------------------------------------------ */

static struct skips *skips_of(struct view *view, struct tie *tie)
{
    if (tie->skips)
        return tie->skips;
    tie->skips = view_array(view, view->scratch, 1, sizeof *tie->skips);
    if (tie->skips && !pair_skips(&tie->pair, tie->skips)) {
        view_corrupt(view);
        tie->skips->n = 0;
    }
    return tie->skips;
}

/* Those of 64 posts that are in scope, below the bound, and not deleted; unread or not. */
static uint64_t alive_below(const struct tie *tie, enum scope scope, uint32_t first, uint32_t bound)
{
    return pair_mask(&tie->pair, tie->head, scope, first) & mask_below(bound - first) &
           ~head_deleted_mask(tie->head, first);
}

static uint32_t search_unread(struct view *view, struct tie *tie, enum scope scope, uint32_t bound)
{
    const struct skips *skips = skips_of(view, tie);
    while (skips && (bound = pair_top(&tie->pair, scope, bound))) {
        uint32_t chunk = (bound - 1) / READMAP_POSTS;
        uint32_t first = chunk * READMAP_POSTS;
        const struct span *skip = spans_find(skips->at, skips->n, chunk);
        if (skip) {
            bound = skip->start * READMAP_POSTS;
            continue;
        }
        uint64_t mask = alive_below(tie, scope, first, bound);
        if (mask)
            mask &= ~read_bits(view, tie, chunk);
        if (mask)
            return mask_top(mask, first);
        bound = first;
    }
    return 0;
}

static uint32_t search_read(struct view *view, const struct tie *tie, enum scope scope,
                            uint32_t bound)
{
    uint32_t chunk = (bound + READMAP_POSTS - 1) / READMAP_POSTS;
    uint64_t bits;
    if (!bound || !pair_has_reads(&tie->pair))
        return 0;
    while (view->rows->last_read_bits(view, tie, &chunk, &bits)) {
        uint32_t first = chunk * READMAP_POSTS;
        bits &= pair_mask(&tie->pair, tie->head, scope, first);
        if (bound - first < READMAP_POSTS)
            bits &= mask_below(bound - first);
        if (bits)
            return mask_top(bits, first);
    }
    return 0;
}

uint32_t tie_search(struct view *view, struct tie *tie, enum scope scope,
                    enum tidings_filter filter, uint32_t bound)
{
    if (bound > tie->head->n_posts)
        bound = tie->head->n_posts;
    switch (filter) {
    case TIDINGS_ALL:
        return pair_search(&tie->pair, tie->head, scope, bound);
    case TIDINGS_UNREAD:
        return search_unread(view, tie, scope, bound);
    case TIDINGS_READ:
        return search_read(view, tie, scope, bound);
    }
    return 0;
}

/* ---- Changing ------------------------------------------------------------------------------- */

void tie_settle(struct view *view, struct tie *tie)
{
    skips_of(view, tie); /* now: the stored bytes do not outlive the first put */
    pair_settle(&tie->pair, tie->head, count_unsettled(view, tie));
}

void tie_put_readmap(struct view *view, struct tie *tie, uint32_t seq, const struct readmap *map,
                     uint64_t read_before)
{
    uint32_t chunk = seq / READMAP_POSTS;
    view->rows->put_readmap(view, tie, chunk, map);
    if (map->read == read_before)
        return;
    pair_count_reads(&tie->pair, chunk, read_before, map->read);
    struct skips *skips = skips_of(view, tie);
    if (skips)
        skips_update(skips, tie->head, chunk, map->read);
}

/* 64 posts at a time. */
uint64_t tie_mark_below(struct view *view, struct tie *tie, uint32_t bound)
{
    uint64_t marked = 0;
    while ((bound = tie_search(view, tie, SCOPE_INBOX, TIDINGS_UNREAD, bound))) {
        struct readmap map;
        uint32_t first = (bound - 1) / READMAP_POSTS * READMAP_POSTS;
        tie_readmap(view, tie, first, &map);
        uint64_t before = map.read;
        uint64_t unread = alive_below(tie, SCOPE_INBOX, first, bound) & ~before;
        readmap_mark_all(&map, unread, view->stamp);
        tie_put_readmap(view, tie, first, &map, before);
        marked += (uint64_t)__builtin_popcountll(unread);
        bound = first;
    }
    return marked;
}
