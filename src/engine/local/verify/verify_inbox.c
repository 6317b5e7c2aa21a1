/* SPDX-License-Identifier: MIT */
/*
 * Verify, the part about inboxes: pairs against the read maps and the lists. Pairs and read maps of
 * subscriptions are the same in another realm.
 */
#include <inttypes.h>

#include "engine/inbox/tie.h"
#include "engine/local/verify/verify.h"

/* ---- Pairs against read maps ---------------------------------------------------------------- */

/* The pair's counts, from the read maps and the head alone. */
static void recount(struct view *view, const struct tie *tie, struct pair *fresh)
{
    struct key prefix = key_pair(tie->fan, realm_rows[tie->realm].map, tie->author);
    struct bytes key, value;
    fresh->reads_in = fresh->reads_out = fresh->dead_in = fresh->dead_out = 0;
    fresh->settled = tie->head->n_deleted;
    bool found = kv_seek(txn_of(view), TABLE_USER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(txn_of(view), TABLE_USER, &key, &value)) {
        uint64_t read = 0;
        if (key.n != (size_t)prefix.n + 4 || !readmap_decode_bits(value, &read)) {
            view_corrupt(view);
            return;
        }
        uint32_t first = get_u32(key.p + prefix.n) * READMAP_POSTS;
        uint64_t in = spans_mask(tie->pair.spans, tie->pair.n_spans, first);
        uint64_t dead = head_deleted_mask(tie->head, first);
        fresh->reads_in += (uint32_t)__builtin_popcountll(read & in);
        fresh->reads_out += (uint32_t)__builtin_popcountll(read & ~in);
        fresh->dead_in += (uint32_t)__builtin_popcountll(read & in & dead);
        fresh->dead_out += (uint32_t)__builtin_popcountll(read & ~in & dead);
    }
}

static uint64_t read_bits_at(struct view *view, const struct tie *tie, uint32_t chunk)
{
    struct key key = key_map(tie->fan, realm_rows[tie->realm].map, tie->author, chunk);
    struct bytes value;
    uint64_t read = 0;
    if (kv_get(txn_of(view), TABLE_USER, &key, &value) && !readmap_decode_bits(value, &read))
        view_corrupt(view);
    return read;
}

/* Unread posts counted one by one, 64 at a time. */
static uint64_t count_unread(struct view *view, const struct tie *tie)
{
    uint64_t unread = 0;
    uint32_t bound = tie->head->n_posts;
    while ((bound = spans_top(tie->pair.spans, tie->pair.n_spans, bound))) {
        uint32_t chunk = (bound - 1) / READMAP_POSTS, first = chunk * READMAP_POSTS;
        uint64_t mask = spans_mask(tie->pair.spans, tie->pair.n_spans, first) &
                        mask_below(bound - first) & ~head_deleted_mask(tie->head, first);
        unread += (uint64_t)__builtin_popcountll(mask & ~read_bits_at(view, tie, chunk));
        bound = first;
    }
    return unread;
}

static bool skips_are_sound(struct view *view, const struct tie *tie)
{
    struct skips skips;
    if (!pair_skips(&tie->pair, &skips))
        return false;
    for (size_t i = 0; i < skips.n; i++)
        for (uint32_t chunk = skips.at[i].start; chunk < skips.at[i].end; chunk++) {
            uint64_t done = read_bits_at(view, tie, chunk) |
                            head_deleted_mask(tie->head, chunk * READMAP_POSTS);
            if (done != ~UINT64_C(0) || chunk >= tie->head->n_posts / READMAP_POSTS)
                return false;
        }
    return true;
}

static bool spans_are_sound(const struct tie *tie)
{
    const struct pair *pair = &tie->pair;
    for (size_t i = 0; i < pair->n_spans; i++) {
        const struct span *span = &pair->spans[i];
        if (span->start > tie->head->n_posts)
            return false;
        if (span->end != SPAN_OPEN && span->end > tie->head->n_posts)
            return false;
    }
    return true;
}

static void check_follower_row(struct check *check, const struct tie *tie)
{
    struct key key = key_follower(tie->author, tie->pair.rank);
    struct bytes value;
    bool found = kv_get(txn_of(check->view), realm_rows[tie->realm].followers, &key, &value);
    if (found && value.n == ID_BYTES && get_id(value.p) == tie->fan)
        return;
    verify_differ(check, "user %" PRIu64 " follows %" PRIu64 ", who has no such follower", tie->fan,
                  tie->author);
    uint8_t fan[ID_BYTES];
    put_id(fan, tie->fan);
    verify_mend(check, realm_rows[tie->realm].followers, &key, (struct bytes){fan, sizeof fan});
}

static void mend_pair(struct check *check, const struct tie *fresh)
{
    enum user_row row = pair_row(fresh->realm, tie_belongs(fresh));
    enum user_row stored = pair_row(fresh->realm, fresh->stored);
    if (stored && stored != row) {
        struct key old = key_pair(fresh->fan, stored, fresh->author);
        verify_mend_delete(check, TABLE_USER, &old);
    }
    struct bytes value = pair_encode(&fresh->pair, check->view->scratch);
    struct key key = key_pair(fresh->fan, row, fresh->author);
    if (row && value.p)
        verify_mend(check, TABLE_USER, &key, value);
}

/* The tie once more, to be changed; without skips that are not sound. */
static void copy_tie(const struct tie *tie, bool sound, struct tie *copy)
{
    *copy = *tie;
    copy->skips = NULL;
    if (!sound)
        copy->pair.skips = (struct bytes){NULL, 0};
}

static bool same_counts(const struct pair *a, const struct pair *b)
{
    return a->reads_in == b->reads_in && a->reads_out == b->reads_out && a->dead_in == b->dead_in &&
           a->dead_out == b->dead_out;
}

static void check_tie(struct check *check, const struct tie *tie)
{
    struct view *view = check->view;
    struct tie settled, fresh;
    if (!spans_are_sound(tie)) {
        verify_differ(check, "pair %" PRIu64 " and %" PRIu64 ": delivered beyond the last post",
                      tie->fan, tie->author);
        return;
    }
    bool sound = skips_are_sound(view, tie) && tie->pair.settled <= tie->head->n_deleted;
    copy_tie(tie, sound, &settled);
    copy_tie(tie, sound, &fresh);
    tie_settle(view, &settled);
    recount(view, tie, &fresh.pair);
    if (view_failed(view))
        return;

    bool same = same_counts(&settled.pair, &fresh.pair);
    if (!same || !sound || tie->stored != tie_belongs(&fresh)) {
        verify_differ(check, "pair %" PRIu64 " and %" PRIu64 ": %s", tie->fan, tie->author,
                      !same ? "counts do not fit what was read" : "stored amiss");
        mend_pair(check, &fresh);
    } else if (tie_unread(view, tie) != count_unread(view, tie)) {
        verify_differ(check, "pair %" PRIu64 " and %" PRIu64 ": unread does not fit its posts",
                      tie->fan, tie->author);
    }
    if (tie->pair.following)
        check_follower_row(check, tie);
}

static enum realm realm_of(uint8_t row)
{
    return row == realm_rows[REALM_SCENES].inside || row == realm_rows[REALM_SCENES].map
               ? REALM_SCENES
               : REALM_POSTS;
}

/* ---- A user's other rows -------------------------------------------------------------------- */

void verify_readmap(struct check *check, uint64_t reader, struct bytes key, struct bytes value)
{
    struct view *view = check->view;
    struct readmap map;
    struct tie tie;
    if (key.n != 2 * ID_BYTES + 1 + 4 || !readmap_decode(value, &map)) {
        verify_differ(check, "user %" PRIu64 ": a read map cannot be decoded", reader);
        return;
    }
    uint64_t author = get_id(key.p + ID_BYTES + 1);
    uint32_t chunk = get_u32(key.p + 2 * ID_BYTES + 1);
    tie_load(view, realm_of(key.p[ID_BYTES]), reader, author, &tie);
    if (view_failed(view))
        return;
    uint64_t first = (uint64_t)chunk * READMAP_POSTS;
    if (first + 64 - (uint64_t)__builtin_clzll(map.read) > tie.head->n_posts) {
        verify_differ(check, "user %" PRIu64 " has read posts that %" PRIu64 " never published",
                      reader, author);
        return;
    }
    if (!tie.stored || !pair_has_reads(&tie.pair)) {
        verify_differ(check, "user %" PRIu64 " has read %" PRIu64 ", but no pair says so", reader,
                      author);
        struct tie fresh;
        copy_tie(&tie, true, &fresh);
        recount(view, &tie, &fresh.pair);
        mend_pair(check, &fresh);
    }
    if (map.history)
        verify_map_history(check, reader, tie.head->ids + first, &map);
}

void verify_pair(struct check *check, uint64_t fan, struct bytes key)
{
    struct tie tie;
    if (key.n != 2 * ID_BYTES + 1) {
        verify_differ(check, "user %" PRIu64 ": a pair's key of %zu bytes", fan, key.n);
        return;
    }
    tie_load(check->view, realm_of(key.p[ID_BYTES]), fan, get_id(key.p + ID_BYTES + 1), &tie);
    if (view_failed(check->view))
        return;
    if (tie.pair.paused && tie.realm == REALM_POSTS)
        verify_differ(check, "user %" PRIu64 ": the pair with %" PRIu64 " is paused", fan,
                      tie.author);
    if (pair_row(tie.realm, tie.stored) != (enum user_row)key.p[ID_BYTES])
        verify_differ(check, "user %" PRIu64 " has two pairs with %" PRIu64, fan, tie.author);
    else
        check_tie(check, &tie);
}
