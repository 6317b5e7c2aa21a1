/* SPDX-License-Identifier: MIT */
/* Pairs, with the index of an author's followers, and read maps. */
#include "engine/local/memory/recent.h"
#include "engine/local/rows/rows.h"

/* ---- One pair ------------------------------------------------------------------------------- */

enum user_row pair_row(enum realm realm, enum tie_place place)
{
    static const enum user_row none = 0;
    if (place == TIE_NOWHERE)
        return none;
    return place == TIE_INSIDE ? realm_rows[realm].inside : realm_rows[realm].outside;
}

static bool get_from(struct view *view, struct tie *tie, enum tie_place place)
{
    enum user_row row = pair_row(tie->realm, place);
    struct key key = key_pair(tie->fan, row, tie->author);
    struct bytes value;
    if (!row || !kv_get(txn_of(view), TABLE_USER, &key, &value))
        return false;
    tie->stored = place;
    tie_unpack(view, value, tie);
    return true;
}

bool local_get_pair(struct view *view, struct tie *tie)
{
    return get_from(view, tie, TIE_INSIDE) || get_from(view, tie, TIE_OUTSIDE);
}

/* The fan's place among the author's followers, newest first by rank. */
static void list_follower(struct view *view, struct tie *tie)
{
    uint64_t rank = tie_rank(tie);
    enum table followers = realm_rows[tie->realm].followers;
    if (rank == tie->listed)
        return;
    if (tie->listed) {
        struct key old = key_follower(tie->author, tie->listed);
        kv_del(txn_of(view), followers, &old);
    }
    if (rank) {
        struct key key = key_follower(tie->author, rank);
        uint8_t fan[ID_BYTES];
        put_id(fan, tie->fan);
        kv_put(txn_of(view), followers, &key, fan, sizeof fan);
    }
    tie->listed = rank;
}

void local_put_pair(struct view *view, struct tie *tie)
{
    enum tie_place place = tie_belongs(tie);
    enum user_row row = pair_row(tie->realm, place);
    enum user_row before = pair_row(tie->realm, tie->stored);
    struct bytes value = tie_pack(view, tie);
    if (!value.p)
        return;
    if (before && before != row) {
        struct key key = key_pair(tie->fan, before, tie->author);
        kv_del(txn_of(view), TABLE_USER, &key);
    }
    if (row) {
        struct key key = key_pair(tie->fan, row, tie->author);
        kv_put(txn_of(view), TABLE_USER, &key, value.p, value.n);
    }
    if (txn_of(view)->rehearsal)
        local_of(view)->recent = NULL; /* from here on what is in the table counts */
    else
        recent_change(local_of(view), tie->fan | realm_rows[tie->realm].mark, tie->author,
                      place == TIE_INSIDE ? value : (struct bytes){NULL, 0});
    tie->stored = place;
    list_follower(view, tie);
}

/* ---- All of a fan's ------------------------------------------------------------------------- */

static struct tie_stored *grow(struct view *view, struct tie_stored *pairs, size_t room)
{
    struct tie_stored *grown = view_array(view, view->scratch, room * 2, sizeof *pairs);
    if (grown)
        memcpy(grown, pairs, room * sizeof *pairs);
    return grown;
}

/* The rows from the table, their heads still missing. Asks for the memory that finding the heads will touch. */
static size_t scan_rows(struct view *view, enum realm realm, uint64_t fan, struct tie_stored **out)
{
    enum { FIRST = 256 };
    struct kv_txn *txn = txn_of(view);
    struct heads *heads = local_of(view)->heads;
    size_t n = 0, room = FIRST;
    struct tie_stored *pairs = view_array(view, view->scratch, room, sizeof *pairs);
    struct key prefix = key_row(fan, (uint8_t)realm_rows[realm].inside);
    struct bytes key, value;
    *out = NULL;
    bool found = pairs && kv_seek(txn, TABLE_USER, &prefix, &key, &value);

    for (; found && key_has_prefix(key, &prefix); found = kv_next(txn, TABLE_USER, &key, &value)) {
        if (n == room) {
            pairs = grow(view, pairs, room);
            room *= 2;
        }
        if (key.n != (size_t)prefix.n + ID_BYTES)
            view_corrupt(view);
        if (view_failed(view))
            return 0;
        uint64_t author = get_id(key.p + prefix.n);
        heads_prefetch(heads, author | realm_rows[realm].mark);
        pairs[n].author = author;
        pairs[n++].value = value;
    }
    *out = pairs;
    return view_failed(view) ? 0 : n;
}

static size_t find_rows(struct view *view, enum realm realm, uint64_t fan, struct tie_stored **out)
{
    struct local_view *local = local_of(view);
    size_t n;
    if (local->recent && recent_find(local, fan | realm_rows[realm].mark, out, &n))
        return n;
    n = scan_rows(view, realm, fan, out);
    if (local->recent && !view_failed(view))
        recent_keep(local, fan | realm_rows[realm].mark, *out, n);
    return n;
}

size_t local_get_pairs(struct view *view, enum realm realm, uint64_t fan, bool heads,
                       struct tie_stored **out)
{
    const struct local_view *local = local_of(view);
    size_t n = find_rows(view, realm, fan, out);
    struct tie_stored *stored = *out;
    if (local->heads_differ)
        view_fail(view, TIDINGS_UNSUPPORTED);
    for (size_t i = 0; heads && i < n; i++)
        stored[i].head = heads_newest(local->heads, stored[i].author | realm_rows[realm].mark);
    for (size_t i = 0; heads && i < n; i++)
        stored[i].head = heads_resolve(stored[i].head, local->version);
    return n;
}

bool local_sum_unread(struct view *view, uint64_t fan, struct unread_sum *sum)
{
    struct local_view *local = local_of(view);
    return local->recent && recent_badge(local, fan, sum);
}

/* ---- Read maps ------------------------------------------------------------------------------ */

static struct key map_key(const struct tie *tie, uint32_t chunk)
{
    return key_map(tie->fan, realm_rows[tie->realm].map, tie->author, chunk);
}

bool local_get_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                       struct readmap *map)
{
    struct key key = map_key(tie, chunk);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_USER, &key, &value))
        return false;
    if (!readmap_decode(value, map))
        view_corrupt(view);
    return true;
}

uint64_t local_get_read_bits(struct view *view, const struct tie *tie, uint32_t chunk)
{
    struct key key = map_key(tie, chunk);
    struct bytes value;
    uint64_t bits = 0;
    if (kv_get(txn_of(view), TABLE_USER, &key, &value) && !readmap_decode_bits(value, &bits))
        view_corrupt(view);
    return bits;
}

void local_put_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                       const struct readmap *map)
{
    struct key key = map_key(tie, chunk);
    uint8_t bytes[READMAP_RECORD_MAX];
    if (map->read)
        kv_put(txn_of(view), TABLE_USER, &key, bytes, readmap_encode(map, bytes));
    else
        kv_del(txn_of(view), TABLE_USER, &key);
}

bool local_last_read_bits(struct view *view, const struct tie *tie, uint32_t *chunk, uint64_t *bits)
{
    struct key prefix = key_pair(tie->fan, realm_rows[tie->realm].map, tie->author);
    struct key from = map_key(tie, *chunk);
    struct bytes key, value;
    if (!kv_seek_below(txn_of(view), TABLE_USER, &from, &key, &value) ||
        !key_has_prefix(key, &prefix))
        return false;
    if (key.n != from.n || !readmap_decode_bits(value, bits)) {
        view_corrupt(view);
        return false;
    }
    *chunk = get_u32(key.p + prefix.n);
    return true;
}
