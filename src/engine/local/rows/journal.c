/* SPDX-License-Identifier: MIT */
#include "engine/local/rows/journal.h"

#include <stdlib.h>

/* ---- Rows ----------------------------------------------------------------------------------- */

static struct key key_of(uint64_t reader, struct history_entry oldest)
{
    return key_history(reader, oldest.stamp, oldest.post);
}

bool journal_decode(struct bytes key, struct bytes value, struct history_block *block)
{
    if (key.n != 3 * ID_BYTES + 1)
        return false;
    struct history_entry oldest = {get_id_descending(key.p + ID_BYTES + 1),
                                   get_id_descending(key.p + 2 * ID_BYTES + 1)};
    return history_decode(value, oldest, block);
}

/* The row that has the entry, if one has it; otherwise the next older one. False if there is none. */
static bool find(struct view *view, uint64_t reader, struct history_entry entry,
                 struct history_block *block, struct bytes *value)
{
    struct key prefix = key_row(reader, ROW_HISTORY), from = key_of(reader, entry);
    struct bytes key;
    if (!kv_find(txn_of(view), TABLE_USER, &from, &key, value) || !key_has_prefix(key, &prefix))
        return false;
    if (!journal_decode(key, *value, block)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

static void put_rows(struct view *view, uint64_t reader, const struct history_entry *entries,
                     size_t n)
{
    uint8_t value[HISTORY_RECORD_MAX];
    while (n && !view_failed(view)) {
        size_t bytes, taken = history_encode(entries, n, value, &bytes);
        struct key key = key_of(reader, entries[0]);
        kv_put(txn_of(view), TABLE_USER, &key, value, bytes);
        entries += taken;
        n -= taken;
    }
}

/* In place of the row that began with that entry: what is left of it, under the key that belongs to it now. It may need
 * two: differences that become one can be longer. */
static void rewrite(struct view *view, uint64_t reader, struct history_entry was,
                    const struct history_entry *entries, size_t n)
{
    struct key key = key_of(reader, was);
    if (!n || history_before(was, entries[0]))
        kv_del(txn_of(view), TABLE_USER, &key);
    put_rows(view, reader, entries, n);
}

/* ---- Changing ------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const struct history_entry *x = a, *y = b;
    return history_before(*x, *y) ? -1 : history_before(*y, *x);
}

void journal_sort(struct history_entry *entries, size_t n)
{
    if (n > 1)
        qsort(entries, n, sizeof *entries, compare);
}

/* What still fits into a row; how many. */
static size_t add_to(struct view *view, uint64_t reader, const struct history_block *block,
                     struct bytes value, const struct history_entry *entries, size_t n)
{
    uint8_t longer[HISTORY_RECORD_MAX];
    size_t bytes = value.n;
    if (bytes >= HISTORY_FULL)
        return 0;
    memcpy(longer, value.p, bytes);
    size_t taken = history_append(longer, &bytes, block->at[block->n - 1], entries, n);
    struct key key = key_of(reader, block->at[0]);
    kv_put(txn_of(view), TABLE_USER, &key, longer, bytes);
    return taken;
}

void journal_add(struct view *view, uint64_t reader, struct history_entry *entries, size_t n)
{
    struct history_block block;
    struct bytes value;
    const struct history_entry newest = {ID_MASK, ID_MASK};
    size_t added = 0;
    journal_sort(entries, n);
    if (find(view, reader, newest, &block, &value)) {
        if (history_before(block.at[block.n - 1], entries[0]))
            added = add_to(view, reader, &block, value, entries, n);
        else
            view_corrupt(view);
    }
    put_rows(view, reader, entries + added, n - added);
}

/* Moves what stays to the end of the block; how many. Takes those entries off the list that are not older. */
static size_t keep_others(struct history_block *block, const struct history_entry *entries,
                          size_t *n)
{
    size_t first = block->n;
    for (size_t i = block->n; i-- > 0;) {
        while (*n && history_before(block->at[i], entries[*n - 1]))
            --*n;
        if (*n && !history_before(entries[*n - 1], block->at[i]))
            --*n;
        else
            block->at[--first] = block->at[i];
    }
    return block->n - first;
}

void journal_remove(struct view *view, uint64_t reader, struct history_entry *entries, size_t n)
{
    struct history_block block;
    struct bytes value;
    journal_sort(entries, n);
    while (n && find(view, reader, entries[n - 1], &block, &value)) {
        struct history_entry was = block.at[0];
        size_t kept = keep_others(&block, entries, &n);
        if (kept < block.n)
            rewrite(view, reader, was, block.at + block.n - kept, kept);
    }
}

bool journal_sweep(struct view *view, uint64_t reader, uint64_t upto)
{
    struct history_block block;
    struct bytes value;
    const struct history_entry last = {upto, ID_MASK};
    if (!find(view, reader, last, &block, &value))
        return false;
    size_t gone = 0;
    while (gone < block.n && block.at[gone].stamp <= upto)
        gone++;
    rewrite(view, reader, block.at[0], block.at + gone, block.n - gone);
    return true;
}

/* ---- Reading -------------------------------------------------------------------------------- */

bool journal_has(struct view *view, uint64_t reader, struct history_entry entry)
{
    struct history_block block;
    struct bytes value;
    if (!find(view, reader, entry, &block, &value))
        return false;
    return bsearch(&entry, block.at, block.n, sizeof entry, compare) != NULL;
}

/* The row's entries are the next ones; CORRUPT if they are not older than those before. */
static void enter(struct journal_walk *walk, bool found, struct bytes key, struct bytes value)
{
    struct history_entry before = walk->block.at[0];
    walk->block.n = walk->left = 0;
    if (!found || !key_has_prefix(key, &walk->prefix))
        return;
    if (journal_decode(key, value, &walk->block) &&
        history_before(walk->block.at[walk->block.n - 1], before))
        walk->left = walk->block.n;
    else
        view_corrupt(walk->view);
}

void journal_walk(struct journal_walk *walk, struct view *view, uint64_t reader,
                  struct history_entry before)
{
    struct bytes key, value;
    struct key from = walk->prefix = key_row(reader, ROW_HISTORY);
    walk->view = view;
    walk->block.at[0] = (struct history_entry){ID_MASK, ID_MASK};
    if (before.stamp)
        from = key_of(reader, before);
    bool found = kv_seek(txn_of(view), TABLE_USER, &from, &key, &value);
    enter(walk, found, key, value);
    while (before.stamp && walk->left && !history_before(walk->block.at[walk->left - 1], before))
        walk->left--;
}

bool journal_next(struct journal_walk *walk, struct history_entry *entry)
{
    struct bytes key, value;
    if (!walk->left && walk->block.n) {
        bool found = kv_next(txn_of(walk->view), TABLE_USER, &key, &value);
        enter(walk, found, key, value);
    }
    if (!walk->left)
        return false;
    *entry = walk->block.at[--walk->left];
    return true;
}
