/* SPDX-License-Identifier: MIT */
#include "engine/inbox/tie.h"

#include <string.h>

#include "base/heap.h"

/* ---- Loading -------------------------------------------------------------------------------- */

/* Room for one more span: a follow adds at most one. */
static void decode(struct view *view, struct bytes value, struct tie *tie)
{
    tie->skips = NULL;
    if (pair_decode(value, view->scratch, &tie->pair, 1))
        return;
    view_corrupt(view);
    tie->pair = (struct pair){.spans = NULL};
}

static bool load_row(struct view *view, const struct realm *realm, enum user_row row, uint64_t fan,
                     uint64_t author, struct tie *tie)
{
    struct key key = key_pair(fan, row, author);
    struct bytes value;
    if (!row || !kv_get(view->txn, TABLE_USER, &key, &value))
        return false;
    tie->realm = realm;
    tie->fan = fan;
    tie->author = author;
    tie->stored = row;
    tie->head = view_head_in(view, realm, author);
    decode(view, value, tie);
    return true;
}

void tie_load_in(struct view *view, const struct realm *realm, uint64_t fan, uint64_t author,
                 struct tie *tie)
{
    if (load_row(view, realm, realm->inside, fan, author, tie) ||
        load_row(view, realm, realm->outside, fan, author, tie))
        return;
    *tie = (struct tie){
        .realm = realm,
        .fan = fan,
        .author = author,
        .head = view_head_in(view, realm, author),
    };
    tie->pair.spans = tie->pair.inline_spans;
}

struct tie *tie_among(struct view *view, const struct realm *realm, uint64_t fan, uint64_t author,
                      struct tie **ties, size_t *n)
{
    for (size_t i = *n; i--;)
        if (ties[i]->author == author)
            return ties[i];
    struct tie *tie = view_array(view, view->scratch, 1, sizeof *tie);
    if (!tie)
        return NULL;
    tie_load_in(view, realm, fan, author, tie);
    tie_settle(view, tie);
    ties[(*n)++] = tie;
    return tie;
}

void tie_decode(struct view *view, const struct realm *realm, uint64_t fan,
                const struct tie_stored *stored, struct tie *tie)
{
    tie->realm = realm;
    tie->fan = fan;
    tie->author = stored->author;
    tie->stored = realm->inside;
    tie->head = stored->head;
    decode(view, stored->value, tie);
}

static struct tie_stored *grow(struct view *view, struct tie_stored *pairs, size_t room)
{
    struct tie_stored *grown = view_array(view, view->scratch, room * 2, sizeof *pairs);
    if (grown)
        memcpy(grown, pairs, room * sizeof *pairs);
    return grown;
}

/* The rows from the table, their heads still missing. Asks for the memory that finding the heads will touch. */
static size_t scan_rows(struct view *view, const struct realm *realm, uint64_t fan,
                        struct tie_stored **out)
{
    enum { FIRST = 256 };
    size_t n = 0, room = FIRST;
    struct tie_stored *pairs = view_array(view, view->scratch, room, sizeof *pairs);
    struct key prefix = key_row(fan, (uint8_t)realm->inside);
    struct bytes key, value;
    *out = NULL;
    bool found = pairs && kv_seek(view->txn, TABLE_USER, &prefix, &key, &value);

    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_USER, &key, &value)) {
        if (n == room) {
            pairs = grow(view, pairs, room);
            room *= 2;
        }
        if (key.n != (size_t)prefix.n + ID_BYTES)
            view_corrupt(view);
        if (view_failed(view))
            return 0;
        uint64_t author = get_id(key.p + prefix.n);
        heads_prefetch(view->heads, author | realm->mark);
        pairs[n].author = author;
        pairs[n++].value = value;
    }
    *out = pairs;
    return view_failed(view) ? 0 : n;
}

static size_t find_rows(struct view *view, const struct realm *realm, uint64_t fan,
                        struct tie_stored **out)
{
    size_t n;
    if (view->recent && recent_find(view, fan | realm->mark, out, &n))
        return n;
    n = scan_rows(view, realm, fan, out);
    if (view->recent && !view_failed(view))
        recent_keep(view, fan | realm->mark, *out, n);
    return n;
}

size_t tie_scan(struct view *view, const struct realm *realm, uint64_t fan, struct tie_stored **out)
{
    size_t n = find_rows(view, realm, fan, out);
    struct tie_stored *stored = *out;
    for (size_t i = 0; i < n; i++)
        stored[i].head = heads_newest(view->heads, stored[i].author | realm->mark);
    for (size_t i = 0; i < n; i++)
        stored[i].head = heads_resolve(stored[i].head, view->version);
    return n;
}

size_t tie_list_in(struct view *view, const struct realm *realm, uint64_t fan, struct tie **out)
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

size_t tie_follows(struct view *view, const struct realm *realm, uint64_t fan, uint64_t after,
                   size_t most, struct tie_follow **follows)
{
    struct tie_stored *rows;
    size_t n_rows = find_rows(view, realm, fan, &rows), n = 0;
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

static bool get_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                        struct bytes *value)
{
    if (!pair_has_reads(&tie->pair))
        return false;
    struct key key = key_map(tie->fan, tie->realm->map, tie->author, chunk);
    return kv_get(view->txn, TABLE_USER, &key, value);
}

static uint64_t read_bits(struct view *view, const struct tie *tie, uint32_t chunk)
{
    struct bytes value;
    uint64_t bits = 0;
    if (get_readmap(view, tie, chunk, &value) && !readmap_decode_bits(value, &bits))
        view_corrupt(view);
    return bits;
}

void tie_readmap(struct view *view, const struct tie *tie, uint32_t seq, struct readmap *map)
{
    struct bytes value;
    map->read = map->history = map->late = 0;
    if (get_readmap(view, tie, seq / READMAP_POSTS, &value) && !readmap_decode(value, map))
        view_corrupt(view);
}

uint64_t tie_read_stamp(struct view *view, const struct tie *tie, uint32_t seq)
{
    struct readmap map;
    tie_readmap(view, tie, seq, &map);
    return readmap_has(map.read, seq % READMAP_POSTS) ? map.read_stamp[seq % READMAP_POSTS] : 0;
}

/* ---- Counting ------------------------------------------------------------------------------- */

bool tie_has(const struct tie *tie, uint32_t seq)
{
    return spans_has(tie->pair.spans, tie->pair.n_spans, seq);
}

uint64_t tie_delivered(const struct tie *tie)
{
    return spans_count(tie->pair.spans, tie->pair.n_spans, tie->head->n_posts);
}

static uint64_t delivered_and_deleted(const struct tie *tie)
{
    uint64_t count = 0;
    if (!tie->head->n_deleted)
        return 0;
    for (size_t i = 0; i < tie->pair.n_spans; i++)
        count += head_deleted_below(tie->head, tie->pair.spans[i].end) -
                 head_deleted_below(tie->head, tie->pair.spans[i].start);
    return count;
}

/* Posts that were read and deleted later than the pair was settled: among those delivered, and not.
 */
static void count_unsettled(struct view *view, const struct tie *tie, uint32_t *in, uint32_t *out)
{
    const struct head *head = tie->head;
    *in = *out = 0;
    if (tie->pair.settled == head->n_deleted || !pair_has_reads(&tie->pair))
        return;
    uint32_t chunk = UINT32_MAX;
    uint64_t bits = 0;
    for (uint32_t i = tie->pair.settled; i < head->n_deleted; i++) {
        uint32_t seq = head->deleted[i];
        if (seq / READMAP_POSTS != chunk) {
            chunk = seq / READMAP_POSTS;
            bits = read_bits(view, tie, chunk);
        }
        if (readmap_has(bits, seq % READMAP_POSTS))
            ++*(tie_has(tie, seq) ? in : out);
    }
}

uint64_t tie_unread(struct view *view, const struct tie *tie)
{
    uint32_t in, out;
    count_unsettled(view, tie, &in, &out);
    uint64_t delivered = tie_delivered(tie);
    uint64_t settled = delivered_and_deleted(tie) + tie->pair.reads_in - tie->pair.dead_in - in;
    if (settled > delivered) {
        view_corrupt(view);
        return 0;
    }
    return delivered - settled;
}

/* With nothing deleted, unread is what was delivered less what was read, and most authors are so.
 */
static inline struct tie_count count_stored(struct view *view, const struct realm *realm,
                                            uint64_t fan, const struct tie_stored *stored)
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

struct tie_count tie_count_stored(struct view *view, const struct realm *realm, uint64_t fan,
                                  const struct tie_stored *stored)
{
    return count_stored(view, realm, fan, stored);
}

size_t tie_counts(struct view *view, uint64_t fan, struct tie_count **out)
{
    struct tie_stored *stored;
    size_t n = tie_scan(view, &realm_posts, fan, &stored);
    struct tie_count *counts = view_array(view, view->scratch, n, sizeof *counts);
    if (!counts)
        return 0;
    for (size_t i = 0; i < n; i++)
        counts[i] = count_stored(view, &realm_posts, fan, &stored[i]);
    *out = counts;
    return view_failed(view) ? 0 : n;
}

uint64_t tie_read_alive(struct view *view, const struct tie *tie)
{
    uint32_t in, out;
    count_unsettled(view, tie, &in, &out);
    uint64_t reads = (uint64_t)tie->pair.reads_in + tie->pair.reads_out;
    uint64_t dead = (uint64_t)tie->pair.dead_in + in + tie->pair.dead_out + out;
    if (dead > reads) {
        view_corrupt(view);
        return 0;
    }
    return reads - dead;
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

static uint64_t scope_mask(const struct tie *tie, enum scope scope, uint32_t first)
{
    uint64_t mask = ~UINT64_C(0);
    if (scope != SCOPE_AUTHOR)
        mask = spans_mask(tie->pair.spans, tie->pair.n_spans, first);
    if (scope != SCOPE_INBOX)
        mask &= ~head_deleted_mask(tie->head, first);
    return mask;
}

static uint32_t scope_top(const struct tie *tie, enum scope scope, uint32_t bound)
{
    if (scope != SCOPE_AUTHOR)
        return spans_top(tie->pair.spans, tie->pair.n_spans, bound);
    return bound;
}

static uint32_t highest(uint64_t mask, uint32_t first)
{
    return first + 64 - (uint32_t)__builtin_clzll(mask);
}

static uint32_t search_all(const struct tie *tie, enum scope scope, uint32_t bound)
{
    while ((bound = scope_top(tie, scope, bound))) {
        uint32_t first = (bound - 1) / 64 * 64;
        uint64_t mask = scope_mask(tie, scope, first) & mask_below(bound - first);
        if (mask)
            return highest(mask, first);
        bound = first;
    }
    return 0;
}

static uint32_t search_unread(struct view *view, struct tie *tie, enum scope scope, uint32_t bound)
{
    const struct skips *skips = skips_of(view, tie);
    while (skips && (bound = scope_top(tie, scope, bound))) {
        uint32_t chunk = (bound - 1) / READMAP_POSTS;
        uint32_t first = chunk * READMAP_POSTS;
        const struct span *skip = spans_find(skips->at, skips->n, chunk);
        if (skip) {
            bound = skip->start * READMAP_POSTS;
            continue;
        }
        uint64_t mask = scope_mask(tie, scope, first) & mask_below(bound - first) &
                        ~head_deleted_mask(tie->head, first);
        if (mask)
            mask &= ~read_bits(view, tie, chunk);
        if (mask)
            return highest(mask, first);
        bound = first;
    }
    return 0;
}

static uint32_t search_read(struct view *view, const struct tie *tie, enum scope scope,
                            uint32_t bound)
{
    struct key prefix = key_pair(tie->fan, tie->realm->map, tie->author);
    struct key from = key_map(tie->fan, tie->realm->map, tie->author,
                              (bound + READMAP_POSTS - 1) / READMAP_POSTS);
    struct bytes key, value;
    if (!bound || !pair_has_reads(&tie->pair))
        return 0;
    bool found = kv_seek_below(view->txn, TABLE_USER, &from, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_prev(view->txn, TABLE_USER, &key, &value)) {
        uint64_t bits;
        if (key.n != from.n || !readmap_decode_bits(value, &bits)) {
            view_corrupt(view);
            return 0;
        }
        uint32_t first = get_u32(key.p + prefix.n) * READMAP_POSTS;
        bits &= scope_mask(tie, scope, first);
        if (bound - first < READMAP_POSTS)
            bits &= mask_below(bound - first);
        if (bits)
            return highest(bits, first);
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
        return search_all(tie, scope, bound);
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
    uint32_t in, out;
    skips_of(view, tie); /* now: the stored bytes do not outlive the first put */
    count_unsettled(view, tie, &in, &out);
    tie->pair.dead_in += in;
    tie->pair.dead_out += out;
    tie->pair.settled = tie->head->n_deleted;
}

void tie_open(struct tie *tie, uint64_t rank)
{
    struct pair *pair = &tie->pair;
    size_t n = pair->n_spans;
    spans_add(pair->spans, &n, (struct span){tie->head->n_posts, SPAN_OPEN});
    pair->n_spans = (uint32_t)n;
    pair->following = true;
    pair->paused = false;
    pair->rank = rank;
}

void tie_close(struct tie *tie)
{
    struct pair *pair = &tie->pair;
    struct span *last = &pair->spans[pair->n_spans - 1];
    last->end = tie->head->n_posts;
    if (last->start == last->end)
        pair->n_spans--;
    pair->following = false;
    pair->rank = 0;
}

static enum user_row belongs_to(const struct tie *tie)
{
    if (tie->pair.n_spans || tie->pair.paused)
        return tie->realm->inside;
    return pair_has_reads(&tie->pair) ? tie->realm->outside : 0;
}

void tie_save(struct view *view, struct tie *tie)
{
    enum user_row row = belongs_to(tie);
    uint8_t bytes[SKIPS_BYTES_MAX];
    if (tie->skips)
        pair_set_skips(&tie->pair, tie->skips, bytes);
    struct bytes value = pair_encode(&tie->pair, view->scratch);
    if (!value.p) {
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
        return;
    }
    if (tie->stored && tie->stored != row) {
        struct key key = key_pair(tie->fan, tie->stored, tie->author);
        kv_del(view->txn, TABLE_USER, &key);
    }
    if (row) {
        struct key key = key_pair(tie->fan, row, tie->author);
        kv_put(view->txn, TABLE_USER, &key, value.p, value.n);
    }
    recent_change(view, tie->fan | tie->realm->mark, tie->author,
                  row == tie->realm->inside ? value : (struct bytes){NULL, 0});
    tie->stored = row;
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

static void update_skips(struct view *view, struct tie *tie, uint32_t chunk, uint64_t read)
{
    struct skips *skips = skips_of(view, tie);
    if (!skips)
        return;
    uint64_t done = read | head_deleted_mask(tie->head, chunk * READMAP_POSTS);
    bool full = done == ~UINT64_C(0);
    bool listed = spans_has(skips->at, skips->n, chunk);
    if (full && !listed)
        add_skip(skips, chunk);
    else if (!full && listed && skips->n < PAIR_SKIPS_MAX)
        spans_remove(skips->at, &skips->n, chunk);
    else if (!full && listed)
        skips->n = 0;
}

void tie_put_readmap(struct view *view, struct tie *tie, uint32_t seq, const struct readmap *map,
                     uint64_t read_before)
{
    uint32_t chunk = seq / READMAP_POSTS;
    struct key key = key_map(tie->fan, tie->realm->map, tie->author, chunk);
    if (map->read) {
        uint8_t bytes[READMAP_RECORD_MAX];
        kv_put(view->txn, TABLE_USER, &key, bytes, readmap_encode(map, bytes));
    } else {
        kv_del(view->txn, TABLE_USER, &key);
    }
    if (map->read == read_before)
        return;
    uint64_t in = spans_mask(tie->pair.spans, tie->pair.n_spans, chunk * READMAP_POSTS);
    tie->pair.reads_in += (uint32_t)__builtin_popcountll(map->read & in);
    tie->pair.reads_in -= (uint32_t)__builtin_popcountll(read_before & in);
    tie->pair.reads_out += (uint32_t)__builtin_popcountll(map->read & ~in);
    tie->pair.reads_out -= (uint32_t)__builtin_popcountll(read_before & ~in);
    update_skips(view, tie, chunk, map->read);
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
        uint64_t unread = spans_mask(tie->pair.spans, tie->pair.n_spans, first) &
                          mask_below(bound - first) & ~head_deleted_mask(tie->head, first) &
                          ~before;
        readmap_mark_all(&map, unread, view->stamp);
        tie_put_readmap(view, tie, first, &map, before);
        marked += (uint64_t)__builtin_popcountll(unread);
        bound = first;
    }
    if (marked)
        tie_save(view, tie);
    return marked;
}
