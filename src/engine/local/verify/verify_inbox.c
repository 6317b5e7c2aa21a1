/* SPDX-License-Identifier: MIT */
/*
 * Verify, the part about inboxes: pairs against the read maps and the lists. Pairs and read maps of
 * subscriptions are the same in another realm.
 */
#include <inttypes.h>

#include "engine/inbox/audit.h"
#include "engine/local/verify/verify.h"

/* ---- Pairs against read maps ---------------------------------------------------------------- */

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

static void check_tie(struct check *check, const struct tie *tie)
{
    struct view *view = check->view;
    struct tie fresh;
    enum audit_verdict verdict = audit_tie(view, tie, &fresh);
    if (view_failed(view))
        return;
    if (verdict != AUDIT_FINE)
        verify_differ(check, "pair %" PRIu64 " and %" PRIu64 ": %s", tie->fan, tie->author,
                      audit_text(verdict));
    if (verdict == AUDIT_COUNTS || verdict == AUDIT_AMISS)
        mend_pair(check, &fresh);
    if (verdict != AUDIT_BEYOND && tie->pair.following)
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
        struct tie fresh = tie;
        fresh.skips = NULL;
        audit_recount(view, &tie, &fresh.pair);
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
