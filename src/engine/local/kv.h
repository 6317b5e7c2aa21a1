/* SPDX-License-Identifier: MIT */
/*
 * The storage under the local engine: ordered tables in one LMDB file, read in snapshots beside one
 * writer. The only file that knows LMDB is kv.c.
 *
 * A transaction has a sticky error: after a failure every call does nothing and finds nothing, so
 * that the code above reads straight through and checks once. Bytes that a read hands out belong to
 * the transaction: they die with it and, in a write transaction, with the next put or delete.
 */
#ifndef LOCAL_KV_H
#define LOCAL_KV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tidings.h"

/* table, name in the file, whether rows wanted together lie together */
#define KV_TABLES(X)                   \
    X(META, "meta", true)              \
    X(USER, "user", true)              \
    X(PROFILE, "profile", false)       \
    X(FOLLOWER, "follower", false)     \
    X(AUTHOR, "author", false)         \
    X(POST, "post", false)             \
    X(BODY, "body", false)             \
    X(EVENT, "event", false)           \
    X(TODO, "todo", false)             \
    X(ONCE, "once", false)             \
    X(ONCE_AGE, "once_age", false)     \
    X(STORY, "story", false)           \
    X(SCENE, "scene", false)           \
    X(UNSWEPT, "unswept", false)       \
    X(SUBSCRIBER, "subscriber", false) \
    X(WEBHOOK, "webhook", false)

enum table {
#define X(table, name, near) TABLE_##table,
    KV_TABLES(X)
#undef X
        TABLE_COUNT
};

enum { KEY_MAX = 31 };

struct key {
    uint8_t n;
    uint8_t bytes[KEY_MAX];
};

struct bytes {
    const uint8_t *p;
    size_t n;
};

struct kv;

struct kv_txn {
    struct kv *kv;
    void *handle;               /* the LMDB transaction */
    void *getter[TABLE_COUNT];  /* cursors, opened when first needed: for kv_get ... */
    void *scanner[TABLE_COUNT]; /* ... and for kv_seek and what follows it */
    bool writing;
    enum tidings_err err;
    uint64_t writes; /* puts and deletes so far */
};

/*
 * Opens or makes the file in `dir`, for this process alone (LOCKED if another has it). `readers`
 * bounds the read transactions. On failure *message is a static text.
 */
enum tidings_err kv_open(const char *dir, size_t map_bytes, unsigned readers, struct kv **kv,
                         const char **message);
void kv_close(struct kv *kv);

/* Bytes of the data file, pages free for reuse included. */
uint64_t kv_used_bytes(struct kv *kv);

/* One write transaction at a time. Commit answers the sticky error if there is one; either way, and
 * after an abort, the transaction is gone. A commit that answers OK is durable. */
enum tidings_err kv_begin(struct kv *kv, struct kv_txn *txn);
enum tidings_err kv_commit(struct kv_txn *txn);
void kv_abort(struct kv_txn *txn);

/* A read transaction is made once and then started and stopped any number of times, on any thread
 * but one at a time. Between start and stop it sees one snapshot. */
enum tidings_err kv_reader_init(struct kv *kv, struct kv_txn *txn);
enum tidings_err kv_reader_start(struct kv_txn *txn);
void kv_reader_stop(struct kv_txn *txn);
void kv_reader_release(struct kv_txn *txn);

/* Whether the key is there, and its value. */
bool kv_get(struct kv_txn *txn, enum table table, const struct key *key, struct bytes *value);

/* Moves the table's scanner to the first key >= `from` (kv_seek), the last key < `from`
 * (kv_seek_below), or one on or back. False past either end. A put or delete in the same table
 * leaves the scanner undefined until the next seek. */
bool kv_seek(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
             struct bytes *value);
bool kv_seek_below(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
                   struct bytes *value);
bool kv_next(struct kv_txn *txn, enum table table, struct bytes *key, struct bytes *value);
bool kv_prev(struct kv_txn *txn, enum table table, struct bytes *key, struct bytes *value);

/* All changes of the engine go through these two. Deleting what is not there changes nothing. */
void kv_put(struct kv_txn *txn, enum table table, const struct key *key, const void *value,
            size_t n);
void kv_del(struct kv_txn *txn, enum table table, const struct key *key);

/* Sets the sticky error, if there is none yet. */
void kv_fail(struct kv_txn *txn, enum tidings_err err);

#endif
