/* SPDX-License-Identifier: MIT */
/*
 * The storage under the engine: ordered tables in one LMDB file, read in snapshots beside one
 * writer. The only file that knows LMDB is kv.c.
 *
 * The file is an image of what the redo log says (redo.h). Nothing ever syncs it while it is in use: a
 * commit is durable through the log, and after the machine went down the image is made anew.
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

#include "base/bytes.h"
#include "engine/local/storage/chain.h"
#include "tidings.h"

/* table, name in the file, whether rows wanted together lie together. The redo log stores the place in
 * this list: new tables go to its end. */
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
    X(TARGET, "target", true)          \
    X(HOT, "hot", false)               \
    X(STORY, "story", false)           \
    X(SCENE, "scene", false)           \
    X(UNSWEPT, "unswept", false)       \
    X(SUBSCRIBER, "subscriber", false) \
    X(WEBHOOK, "webhook", false)       \
    X(NAME, "name", false)             \
    X(KEY, "key", false)               \
    X(LETTER, "letter", false)

enum table {
#define X(table, name, near) TABLE_##table,
    KV_TABLES(X)
#undef X
        TABLE_COUNT
};

/* Almost all keys are short, and passed on as they are. Those of names and keys are as long as the log can say. */
enum { KEY_MAX = 31, LONG_KEY_MAX = 255 };

static inline size_t table_key_max(enum table table)
{
    return table == TABLE_NAME || table == TABLE_KEY ? LONG_KEY_MAX : KEY_MAX;
}

struct key {
    uint8_t n;
    uint8_t bytes[KEY_MAX];
};

static inline struct bytes key_bytes(const struct key *key)
{
    return (struct bytes){key->bytes, key->n};
}

struct kv;

struct kv_txn {
    struct kv *kv;
    void *handle;               /* the LMDB transaction */
    void *getter[TABLE_COUNT];  /* cursors, opened when first needed: for single rows ... */
    void *scanner[TABLE_COUNT]; /* ... and for kv_seek and what follows it */
    bool writing;
    enum tidings_err err;
    uint64_t writes;  /* puts and deletes so far */
    uint64_t bytes;   /* of their rows */
    int64_t time_ms;  /* of the newest change: the caller's, for the log */
    uint64_t applied; /* the batch: see kv_applied; without a log the caller's */
    struct chain chain;
    bool is_chained; /* chain is known: always, but in the image of a log of the format before */
    bool follows;    /* the changes come from records: see kv_begin_records */
    struct rehearsal *rehearsal; /* NULL: changes are made; see kv_rehearse */
};

struct redo;
struct redo_record;
struct rehearsal;

struct kv_options {
    const char *path;
    size_t map_bytes;  /* what the file may grow to */
    unsigned readers;  /* read transactions at most; 0: alone with it, without a table of readers */
    struct redo *redo; /* where commits are logged; NULL: nowhere */
    bool to_read;      /* a full disk is no reason not to open what is there: see kv_lacks_room */
    /* While the file is mapped anew, nobody reads. NULL: there is nobody. */
    void (*pause)(void *ctx);
    void (*resume)(void *ctx);
    void *ctx;
};

/* Opens or makes the file. On failure *message is a static text. */
enum tidings_err kv_open(const struct kv_options *options, struct kv **kv, const char **message);

/* What a file says of itself: the newest batch, the chain there, and the number in a row of META, 0 if there is none. */
struct kv_summary {
    uint64_t applied;
    struct chain chain;
    uint64_t number;
};

/* Reads it without changing the file, which is a base image. CORRUPT also if it has no chain. */
enum tidings_err kv_peek(const char *path, const struct key *number_key,
                         struct kv_summary *summary);

/* Whether it was opened without room on the disk for the next change. */
bool kv_lacks_room(const struct kv *kv);

/* Makes the file durable, without what lies behind its last page; true if that worked. Then kv_close. */
bool kv_finish(struct kv *kv);

/* Whether so much of the file is free that it is worth packing. */
bool kv_is_loose(struct kv *kv);

/* Makes a new file of the pages in use, and makes that durable; true if it worked. Nobody may be writing. */
bool kv_pack(struct kv *kv, const char *path);

/* From now on commits are logged. Where there is no chain yet, it begins with the id. */
void kv_log(struct kv *kv, struct redo *redo, const uint8_t id[CHAIN_BYTES]);

/*
 * Who decides about a record, where that is not the own log: `begin` hands it over, and the own log is written beside it; `end`
 * waits for what becomes of it. OK: it has happened. Anything else: the own log takes it back.
 */
struct kv_decider {
    void (*begin)(void *ctx, const struct redo_record *record, const struct chain *before);
    enum tidings_err (*end)(void *ctx);
    void *ctx;
};

/* NULL: the own log decides. The decider must stay where it is. */
void kv_decide_by(struct kv *kv, const struct kv_decider *decider);

/* The number of the newest batch in the file: the log's record; and the chain there. */
uint64_t kv_applied(const struct kv *kv);
struct chain kv_chain(const struct kv *kv);

/* The record of the last commit, until the next transaction begins. */
const struct redo_record *kv_record(const struct kv *kv);

void kv_close(struct kv *kv);

/* Bytes of the data file, pages free for reuse included. Thread-safe. */
uint64_t kv_used_bytes(struct kv *kv);

/*
 * One write transaction at a time. Commit answers the sticky error if there is one; either way, and
 * after an abort, the transaction is gone. OK: it is in the log, and durable if the log syncs every record.
 * UNCERTAIN: it may be in the log, and nothing can be written any more.
 */
enum tidings_err kv_begin(struct kv *kv, struct kv_txn *txn);
enum tidings_err kv_commit(struct kv_txn *txn);
void kv_abort(struct kv_txn *txn);

/*
 * The same for records that another log has decided already, the next ones behind what is applied: the caller puts and
 * deletes what they say, and they go into the log here as they are. All of them become visible together. Deleting what is
 * not there means that this file and that log disagree: CORRUPT.
 */
enum tidings_err kv_begin_records(struct kv *kv, struct kv_txn *txn);
enum tidings_err kv_commit_records(struct kv_txn *txn, const struct redo_record *records, size_t n);

/* Whether what just failed with NO_SPACE would work if it were tried again. */
bool kv_can_grow(const struct kv *kv);

/* A read transaction is made once and then started and stopped any number of times, on any thread
 * but one at a time. Between start and stop it sees one snapshot. */
enum tidings_err kv_reader_init(struct kv *kv, struct kv_txn *txn);
enum tidings_err kv_reader_start(struct kv_txn *txn);
void kv_reader_stop(struct kv_txn *txn);
void kv_reader_release(struct kv_txn *txn);

/* Until kv_reader_stop this read transaction takes puts and deletes, too: they change nothing, but bring the pages of
 * their rows into memory, and reads find what they would have changed (rehearsal.h). */
void kv_rehearse(struct kv_txn *txn, struct rehearsal *rehearsal);

/* Brings the pages of the row into memory. */
void kv_touch(struct kv_txn *txn, enum table table, struct bytes key);

/*
 * The same for pages that the next write transactions will fill, the first n behind `skip` others: each page that changes is
 * copied to a free one, and where that is not in memory, it is read from the disk before it is overwritten.
 */
void kv_touch_free(struct kv_txn *txn, size_t skip, size_t n);

/* Whether the key is there, and its value. */
bool kv_get(struct kv_txn *txn, enum table table, const struct key *key, struct bytes *value);

/* The same from the root down, whatever page was looked at before: for whoever does not trust the file. */
bool kv_get_anew(struct kv_txn *txn, enum table table, struct bytes key, struct bytes *value);

/* The first key >= `from`, looked up as kv_get does: no scanner moves. */
bool kv_find(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
             struct bytes *value);

/* How many rows a table has. */
uint64_t kv_rows(struct kv_txn *txn, enum table table);

/* Moves the table's scanner to the first key >= `from` (kv_seek), the last key < `from`
 * (kv_seek_below), or one on or back. False past either end. A put or delete in the same table
 * leaves the scanner undefined until the next seek. */
bool kv_seek(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
             struct bytes *value);
bool kv_seek_below(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
                   struct bytes *value);
bool kv_next(struct kv_txn *txn, enum table table, struct bytes *key, struct bytes *value);
bool kv_prev(struct kv_txn *txn, enum table table, struct bytes *key, struct bytes *value);

/* All changes of the engine go through these two. Deleting what is not there changes nothing, but see
 * kv_begin_records. */
void kv_put(struct kv_txn *txn, enum table table, const struct key *key, const void *value,
            size_t n);
void kv_del(struct kv_txn *txn, enum table table, const struct key *key);

/* The same for keys of any length, which lie on no page of a table that is changed. */
bool kv_get_long(struct kv_txn *txn, enum table table, struct bytes key, struct bytes *value);
bool kv_seek_long(struct kv_txn *txn, enum table table, struct bytes from, struct bytes *key,
                  struct bytes *value);
void kv_put_long(struct kv_txn *txn, enum table table, struct bytes key, const void *value,
                 size_t n);
void kv_del_long(struct kv_txn *txn, enum table table, struct bytes key);

/* Into the log alone, for those who follow it: CHANGE_TOLD or CHANGE_ANSWER. */
void kv_tell(struct kv_txn *txn, unsigned what, struct bytes bytes);

/* Sets the sticky error, if there is none yet. */
void kv_fail(struct kv_txn *txn, enum tidings_err err);

#endif
