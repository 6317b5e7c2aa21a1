/* SPDX-License-Identifier: MIT */
/*
 * Makes the authors' lists anew from the posts, and the stories' from the scenes, which say all that the lists do: whose,
 * which number, when deleted. For a directory whose lists are damaged, so that it could not be opened otherwise.
 */
#include <stdlib.h>

#include "engine/local/local.h"
#include "engine/records/stories.h"

/* Whether the row is one to be listed, and if so what the list needs of it. */
struct entry;
typedef bool entry_fn(struct bytes key, struct bytes value, struct entry *entry, bool *damaged);

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

static bool post_entry(struct bytes key, struct bytes value, struct entry *entry, bool *damaged)
{
    struct post_record post;
    *damaged = key.n != ID_BYTES || !post_decode(value, &post);
    if (!*damaged)
        *entry = (struct entry){post.author, get_id(key.p), post.removed, post.seq};
    return true;
}

/* A scene's other rows have longer keys. */
static bool scene_entry(struct bytes key, struct bytes value, struct entry *entry, bool *damaged)
{
    struct scene_record scene;
    if (key.n != ID_BYTES)
        return false;
    *damaged = !scene_decode(value, &scene);
    if (!*damaged)
        *entry = (struct entry){scene.story, get_id(key.p), scene.removed, scene.seq};
    return true;
}

static enum tidings_err collect(struct kv_txn *txn, enum table table, entry_fn *entry_of,
                                struct entries *entries)
{
    struct key first = key_id(0);
    struct bytes key, value;
    bool found = kv_seek(txn, table, &first, &key, &value), damaged = false;
    for (; found; found = kv_next(txn, table, &key, &value)) {
        if (entries->n == entries->room) {
            size_t room = entries->room ? entries->room * 2 : 4096;
            struct entry *grown = realloc(entries->at, room * sizeof *grown);
            if (!grown)
                return TIDINGS_NO_MEMORY;
            entries->at = grown;
            entries->room = room;
        }
        entries->n += entry_of(key, value, &entries->at[entries->n], &damaged);
        if (damaged)
            return TIDINGS_CORRUPT;
    }
    return txn->err;
}

static void clear_lists(struct kv_txn *txn, enum table lists)
{
    struct key first = key_id(0);
    struct bytes key, value;
    while (kv_seek(txn, lists, &first, &key, &value)) {
        struct key gone = {.n = (uint8_t)(key.n < KEY_MAX ? key.n : KEY_MAX)};
        memcpy(gone.bytes, key.p, gone.n);
        kv_del(txn, lists, &gone);
    }
}

static void put_posts(struct kv_txn *txn, enum table lists, const struct entry *posts, size_t n)
{
    uint8_t bytes[READMAP_POSTS * ID_BYTES];
    for (size_t from = 0; from < n; from += READMAP_POSTS) {
        size_t count = n - from < READMAP_POSTS ? n - from : READMAP_POSTS;
        for (size_t i = 0; i < count; i++)
            put_id(bytes + i * ID_BYTES, posts[from + i].id);
        struct key key = key_author(posts->author, ROW_POSTS, (uint32_t)(from / READMAP_POSTS));
        kv_put(txn, lists, &key, bytes, count * ID_BYTES);
    }
}

static void put_deleted(struct kv_txn *txn, enum table lists, const struct entry *posts, size_t n)
{
    uint8_t bytes[READMAP_POSTS * 4];
    for (size_t from = 0; from < n; from += READMAP_POSTS) {
        size_t count = n - from < READMAP_POSTS ? n - from : READMAP_POSTS;
        for (size_t i = 0; i < count; i++)
            put_u32(bytes + i * 4, posts[from + i].seq);
        struct key key = key_author(posts->author, ROW_DELETED, (uint32_t)(from / READMAP_POSTS));
        kv_put(txn, lists, &key, bytes, count * 4);
    }
}

/* One author's posts, by number; CORRUPT if one is missing: then nobody knows what was delivered. */
static enum tidings_err put_author(struct kv_txn *txn, enum table lists, struct entry *posts,
                                   size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (posts[i].seq != i)
            return TIDINGS_CORRUPT;
    put_posts(txn, lists, posts, n);
    qsort(posts, n, sizeof *posts, by_deletion);
    size_t alive = 0;
    while (alive < n && !posts[alive].removed)
        alive++;
    if (alive < n)
        put_deleted(txn, lists, posts + alive, n - alive);
    return TIDINGS_OK;
}

static enum tidings_err rebuild_realm(struct kv_txn *txn, enum table table, entry_fn *entry_of,
                                      enum table lists)
{
    struct entries entries = {0};
    enum tidings_err err = collect(txn, table, entry_of, &entries);
    if (!err) {
        if (entries.n)
            qsort(entries.at, entries.n, sizeof *entries.at, by_number);
        clear_lists(txn, lists);
    }
    for (size_t from = 0, to; from < entries.n && !err; from = to) {
        for (to = from; to < entries.n && entries.at[to].author == entries.at[from].author;)
            to++;
        err = put_author(txn, lists, entries.at + from, to - from);
    }
    free(entries.at);
    return err;
}

enum tidings_err rebuild_lists(struct local *local)
{
    struct kv_txn txn;
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    txn.time_ms = clock_read(&local->clock).wall_ms;
    err = rebuild_realm(&txn, TABLE_POST, post_entry, realm_rows[REALM_POSTS].lists);
    if (!err)
        err = rebuild_realm(&txn, TABLE_SCENE, scene_entry, realm_rows[REALM_SCENES].lists);
    if (err) {
        kv_abort(&txn);
        return err;
    }
    save_version(local, &txn);
    err = kv_commit(&txn);
    if (!err)
        atomic_store(&local->committed, kv_applied(local->kv));
    return err;
}
