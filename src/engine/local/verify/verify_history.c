/* SPDX-License-Identifier: MIT */
/*
 * Verify, the part about the reading history: its rows against the read maps, in both directions. Where anything
 * differs, all of that reader's rows are made anew of the maps, since an entry more or less may move the others to other
 * rows. A map that cannot be decoded leaves the rows as they are: its entries would be lost.
 */
#include <inttypes.h>

#include "engine/local/rows/journal.h"
#include "engine/local/verify/verify.h"

/* ---- Making it anew ------------------------------------------------------------------------- */

/* The entries that the maps speak of, if there is room for them; how many. */
static size_t gather(struct view *view, uint64_t reader, struct history_entry *to)
{
    uint64_t cleared = view_user(view, reader).history_cleared;
    struct key prefix = key_row(reader, ROW_READMAP);
    struct bytes key, value;
    size_t n = 0;
    bool found = kv_seek(txn_of(view), TABLE_USER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(txn_of(view), TABLE_USER, &key, &value)) {
        struct readmap map;
        if (key.n != 2 * ID_BYTES + 1 + 4 || !readmap_decode(value, &map)) {
            view_corrupt(view);
            return 0;
        }
        const struct head *head = view_head(view, REALM_POSTS, get_id(key.p + prefix.n));
        uint64_t first = (uint64_t)get_u32(key.p + prefix.n + ID_BYTES) * READMAP_POSTS;
        for (uint64_t bits = map.history; bits; bits &= bits - 1) {
            unsigned i = (unsigned)__builtin_ctzll(bits);
            struct history_entry entry = {readmap_history_stamp(&map, i), 0};
            if (first + i >= head->n_posts)
                view_corrupt(view);
            else
                entry.post = head->ids[first + i];
            if (entry.stamp > cleared && to)
                to[n] = entry;
            n += entry.stamp > cleared;
        }
    }
    return n;
}

static void delete_rows(struct check *check, uint64_t reader)
{
    struct view *view = check->view;
    struct key prefix = key_row(reader, ROW_HISTORY);
    struct bytes key, value;
    bool found = kv_seek(txn_of(view), TABLE_USER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix) && key.n <= KEY_MAX;
         found = kv_next(txn_of(view), TABLE_USER, &key, &value)) {
        struct key row = {.n = (uint8_t)key.n};
        memcpy(row.bytes, key.p, key.n);
        verify_mend_delete(check, TABLE_USER, &row);
    }
}

static void mend_history(struct check *check, uint64_t reader)
{
    struct view *view = check->view;
    if (check->history_mended == reader)
        return;
    size_t n = gather(view, reader, NULL);
    struct history_entry *entries = view_array(view, view->scratch, n, sizeof *entries);
    if (!entries || gather(view, reader, entries) != n)
        return;
    journal_sort(entries, n);
    for (size_t i = 1; i < n; i++)
        if (!history_before(entries[i - 1], entries[i]))
            view_corrupt(view);
    if (view_failed(view))
        return;
    delete_rows(check, reader);
    for (size_t i = 0; i < n;) {
        uint8_t value[HISTORY_RECORD_MAX];
        size_t bytes;
        struct key key = key_history(reader, entries[i].stamp, entries[i].post);
        i += history_encode(entries + i, n - i, value, &bytes);
        verify_mend(check, TABLE_USER, &key, (struct bytes){value, bytes});
    }
    check->history_mended = reader;
}

/* ---- Rows against maps ---------------------------------------------------------------------- */

static void check_todo(struct check *check, uint64_t reader)
{
    struct key todo = key_id(reader);
    struct bytes value;
    if (kv_get(txn_of(check->view), TABLE_TODO, &todo, &value))
        return;
    verify_differ(check, "user %" PRIu64 ": cleared history that nobody sweeps", reader);
    verify_mend(check, TABLE_TODO, &todo, (struct bytes){(const uint8_t *)"", 0});
}

static bool was_read_then(struct view *view, uint64_t reader, struct history_entry entry)
{
    struct post_record post;
    struct readmap map;
    struct bytes value;
    if (!view_post(view, entry.post, &post))
        return false;
    /* Not through the tie: the pair may be what is missing. */
    struct key key = key_readmap(reader, post.author, post.seq / READMAP_POSTS);
    if (!kv_get(txn_of(view), TABLE_USER, &key, &value))
        return false;
    if (!readmap_decode(value, &map)) {
        view_corrupt(view);
        return false;
    }
    unsigned i = post.seq % READMAP_POSTS;
    return readmap_has(map.history, i) && readmap_history_stamp(&map, i) == entry.stamp;
}

/* Whether the row before, which begins with newer entries, has none but these. */
static bool is_in_order(struct view *view, uint64_t reader, const struct history_block *block)
{
    struct key prefix = key_row(reader, ROW_HISTORY);
    struct key row = key_history(reader, block->at[0].stamp, block->at[0].post);
    struct bytes key, value;
    struct history_block newer;
    if (!kv_seek_below(txn_of(view), TABLE_USER, &row, &key, &value) ||
        !key_has_prefix(key, &prefix))
        return true;
    return !journal_decode(key, value, &newer) || /* known already */
           history_before(block->at[block->n - 1], newer.at[0]);
}

void verify_history(struct check *check, uint64_t reader, struct bytes key, struct bytes value)
{
    struct view *view = check->view;
    struct history_block block;
    uint64_t cleared = view_user(view, reader).history_cleared;
    bool sound = journal_decode(key, value, &block);
    if (!sound) {
        block.n = 0;
        verify_differ(check, "user %" PRIu64 ": a row of the history cannot be decoded", reader);
    } else if (!is_in_order(view, reader, &block)) {
        sound = false;
        verify_differ(check, "user %" PRIu64 ": rows of the history overlap", reader);
    }
    if (block.n && block.at[0].stamp <= cleared)
        check_todo(check, reader);
    for (size_t i = 0; i < block.n; i++) {
        bool wrong = block.at[i].stamp > cleared && !was_read_then(view, reader, block.at[i]);
        if (view_failed(view))
            return;
        if (wrong)
            verify_differ(check, "user %" PRIu64 ": the history has a post that was not read then",
                          reader);
        sound = sound && !wrong;
    }
    if (!sound)
        mend_history(check, reader);
}

void verify_map_history(struct check *check, uint64_t reader, const uint64_t *posts,
                        const struct readmap *map)
{
    uint64_t cleared = view_user(check->view, reader).history_cleared;
    if (check->history_mended == reader)
        return; /* of this map as well */
    uint64_t lacking = 0;
    for (uint64_t bits = map->history; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctzll(bits);
        struct history_entry entry = {readmap_history_stamp(map, i), posts[i]};
        lacking += entry.stamp > cleared && !journal_has(check->view, reader, entry);
    }
    if (!lacking || view_failed(check->view))
        return;
    verify_differ(check, "user %" PRIu64 " has read %" PRIu64 " posts that the history lacks",
                  reader, lacking);
    mend_history(check, reader);
}
