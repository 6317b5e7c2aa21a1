/* SPDX-License-Identifier: MIT */
/*
 * Makes the authors' lists anew from the posts, which say all that the lists do: whose, which number, when deleted.
 * For a directory whose lists are damaged, so that it could not be opened otherwise.
 */
#include <stdlib.h>

#include "engine/local/local.h"

struct entry {
    uint64_t author;
    uint64_t id;
    uint64_t removed;
    uint32_t seq;
};

struct entries {
    struct entry *at;
    size_t n, room;
};

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int by_number(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return x->author != y->author ? compare(x->author, y->author) : compare(x->seq, y->seq);
}

/* Those not deleted come first; they do not matter. */
static int by_deletion(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    return compare(x->removed, y->removed);
}

static enum tidings_err collect(struct kv_txn *txn, struct entries *entries)
{
    struct key first = key_id(0);
    struct bytes key, value;
    bool found = kv_seek(txn, TABLE_POST, &first, &key, &value);
    for (; found; found = kv_next(txn, TABLE_POST, &key, &value)) {
        struct post_record post;
        if (entries->n == entries->room) {
            size_t room = entries->room ? entries->room * 2 : 4096;
            struct entry *grown = realloc(entries->at, room * sizeof *grown);
            if (!grown)
                return TIDINGS_NO_MEMORY;
            entries->at = grown;
            entries->room = room;
        }
        if (key.n != ID_BYTES || !post_decode(value, &post))
            return TIDINGS_CORRUPT;
        entries->at[entries->n++] =
            (struct entry){post.author, get_id(key.p), post.removed, post.seq};
    }
    return txn->err;
}

static void clear_lists(struct kv_txn *txn)
{
    struct key first = key_id(0);
    struct bytes key, value;
    while (kv_seek(txn, TABLE_AUTHOR, &first, &key, &value)) {
        struct key gone = {.n = (uint8_t)(key.n < KEY_MAX ? key.n : KEY_MAX)};
        memcpy(gone.bytes, key.p, gone.n);
        kv_del(txn, TABLE_AUTHOR, &gone);
    }
}

static void put_posts(struct kv_txn *txn, const struct entry *posts, size_t n)
{
    uint8_t bytes[READMAP_POSTS * ID_BYTES];
    for (size_t from = 0; from < n; from += READMAP_POSTS) {
        size_t count = n - from < READMAP_POSTS ? n - from : READMAP_POSTS;
        for (size_t i = 0; i < count; i++)
            put_id(bytes + i * ID_BYTES, posts[from + i].id);
        struct key key = key_author(posts->author, ROW_POSTS, (uint32_t)(from / READMAP_POSTS));
        kv_put(txn, TABLE_AUTHOR, &key, bytes, count * ID_BYTES);
    }
}

static void put_deleted(struct kv_txn *txn, const struct entry *posts, size_t n)
{
    uint8_t bytes[READMAP_POSTS * 4];
    for (size_t from = 0; from < n; from += READMAP_POSTS) {
        size_t count = n - from < READMAP_POSTS ? n - from : READMAP_POSTS;
        for (size_t i = 0; i < count; i++)
            put_u32(bytes + i * 4, posts[from + i].seq);
        struct key key = key_author(posts->author, ROW_DELETED, (uint32_t)(from / READMAP_POSTS));
        kv_put(txn, TABLE_AUTHOR, &key, bytes, count * 4);
    }
}

/* One author's posts, by number; CORRUPT if one is missing: then nobody knows what was delivered. */
static enum tidings_err put_author(struct kv_txn *txn, struct entry *posts, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (posts[i].seq != i)
            return TIDINGS_CORRUPT;
    put_posts(txn, posts, n);
    qsort(posts, n, sizeof *posts, by_deletion);
    size_t alive = 0;
    while (alive < n && !posts[alive].removed)
        alive++;
    if (alive < n)
        put_deleted(txn, posts + alive, n - alive);
    return TIDINGS_OK;
}

enum tidings_err rebuild_lists(struct local *local)
{
    struct kv_txn txn;
    struct entries entries = {0};
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    err = collect(&txn, &entries);
    if (!err) {
        if (entries.n)
            qsort(entries.at, entries.n, sizeof *entries.at, by_number);
        clear_lists(&txn);
    }
    for (size_t from = 0, to; from < entries.n && !err; from = to) {
        for (to = from; to < entries.n && entries.at[to].author == entries.at[from].author;)
            to++;
        err = put_author(&txn, entries.at + from, to - from);
    }
    free(entries.at);
    if (err) {
        kv_abort(&txn);
        return err;
    }
    return kv_commit(&txn);
}
