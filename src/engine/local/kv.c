/* SPDX-License-Identifier: MIT */
/*
 * LMDB 0.9.24 as packaged asks for some care: no DUPSORT, MDB_NOTLS so that a reader may move
 * between threads, one environment per file and process, no fork after open. A lock file of our own
 * keeps a second process away, since the heads in memory know only of this process's commits.
 */
#include "engine/local/kv.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, READERS_SPARE = 8 };

struct kv {
    MDB_env *env;
    MDB_dbi dbi[TABLE_COUNT];
    int lock_fd;
};

static enum tidings_err translate(int rc)
{
    switch (rc) {
    case MDB_SUCCESS:
        return TIDINGS_OK;
    case MDB_MAP_FULL:
    case ENOSPC:
    case EDQUOT:
        return TIDINGS_NO_SPACE;
    case ENOMEM:
        return TIDINGS_NO_MEMORY;
    case MDB_CORRUPTED:
    case MDB_PAGE_NOTFOUND:
    case MDB_INVALID:
        return TIDINGS_CORRUPT;
    case MDB_VERSION_MISMATCH:
        return TIDINGS_VERSION;
    default:
        return TIDINGS_IO;
    }
}

/* ---- Opening ------------------------------------------------------------------------------- */

static enum tidings_err take_lock(struct kv *kv, const char *dir, const char **message)
{
    char path[PATH_BYTES];
    int n = snprintf(path, sizeof path, "%s/lock", dir);
    if (n < 0 || (size_t)n >= sizeof path) {
        *message = "the path of the data directory is too long";
        return TIDINGS_INVALID;
    }
    if (mkdir(dir, 0700) && errno != EEXIST) {
        *message = "the data directory cannot be made";
        return TIDINGS_IO;
    }
    kv->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (kv->lock_fd < 0) {
        *message = "the lock file in the data directory cannot be opened";
        return TIDINGS_IO;
    }
    if (flock(kv->lock_fd, LOCK_EX | LOCK_NB)) {
        *message = "another process uses this data directory";
        return TIDINGS_LOCKED;
    }
    return TIDINGS_OK;
}

static int open_tables(struct kv *kv)
{
    static const char *const names[TABLE_COUNT] = {
#define X(table, name, near) [TABLE_##table] = name,
        KV_TABLES(X)
#undef X
    };
    MDB_txn *txn;
    int rc = mdb_txn_begin(kv->env, NULL, 0, &txn);
    if (rc)
        return rc;
    for (int i = 0; i < TABLE_COUNT; i++) {
        rc = mdb_dbi_open(txn, names[i], MDB_CREATE, &kv->dbi[i]);
        if (rc) {
            mdb_txn_abort(txn);
            return rc;
        }
    }
    return mdb_txn_commit(txn);
}

static int open_env(struct kv *kv, const char *dir, size_t map_bytes, unsigned readers)
{
    int rc = mdb_env_create(&kv->env);
    if (!rc)
        rc = mdb_env_set_mapsize(kv->env, map_bytes);
    if (!rc)
        rc = mdb_env_set_maxdbs(kv->env, TABLE_COUNT);
    if (!rc)
        rc = mdb_env_set_maxreaders(kv->env, readers + READERS_SPARE);
    if (!rc)
        rc = mdb_env_open(kv->env, dir, MDB_NOTLS | MDB_NORDAHEAD, 0600);
    int dead;
    if (!rc)
        rc = mdb_reader_check(kv->env, &dead);
    if (!rc)
        rc = open_tables(kv);
    return rc;
}

enum tidings_err kv_open(const char *dir, size_t map_bytes, unsigned readers, struct kv **out,
                         const char **message)
{
    struct kv *kv = calloc(1, sizeof *kv);
    if (!kv) {
        *message = "out of memory";
        return TIDINGS_NO_MEMORY;
    }
    kv->lock_fd = -1;
    enum tidings_err err = take_lock(kv, dir, message);
    if (!err) {
        int rc = open_env(kv, dir, map_bytes, readers);
        err = translate(rc);
        if (rc)
            *message = mdb_strerror(rc);
    }
    if (err) {
        kv_close(kv);
        return err;
    }
    *out = kv;
    return TIDINGS_OK;
}

void kv_close(struct kv *kv)
{
    if (!kv)
        return;
    if (kv->env)
        mdb_env_close(kv->env);
    if (kv->lock_fd >= 0)
        close(kv->lock_fd);
    free(kv);
}

uint64_t kv_used_bytes(struct kv *kv)
{
    MDB_envinfo info;
    MDB_stat stat;
    mdb_env_info(kv->env, &info);
    mdb_env_stat(kv->env, &stat);
    return ((uint64_t)info.me_last_pgno + 1) * stat.ms_psize;
}

/* ---- Transactions -------------------------------------------------------------------------- */

void kv_fail(struct kv_txn *txn, enum tidings_err err)
{
    if (!txn->err)
        txn->err = err;
}

/* In a write transaction LMDB wants cursors closed before it ends; in a read transaction they
 * outlive it and are renewed. */
static void close_cursors(struct kv_txn *txn)
{
    for (int i = 0; i < TABLE_COUNT; i++) {
        if (txn->getter[i])
            mdb_cursor_close(txn->getter[i]);
        if (txn->scanner[i])
            mdb_cursor_close(txn->scanner[i]);
        txn->getter[i] = txn->scanner[i] = NULL;
    }
}

enum tidings_err kv_begin(struct kv *kv, struct kv_txn *txn)
{
    MDB_txn *handle;
    int rc = mdb_txn_begin(kv->env, NULL, 0, &handle);
    if (rc)
        return translate(rc);
    *txn = (struct kv_txn){.kv = kv, .handle = handle, .writing = true};
    return TIDINGS_OK;
}

enum tidings_err kv_commit(struct kv_txn *txn)
{
    if (txn->err) {
        kv_abort(txn);
        return txn->err;
    }
    close_cursors(txn);
    /* Freed whatever the outcome. */
    int rc = mdb_txn_commit(txn->handle);
    txn->handle = NULL;
    return translate(rc);
}

void kv_abort(struct kv_txn *txn)
{
    close_cursors(txn);
    mdb_txn_abort(txn->handle);
    txn->handle = NULL;
}

enum tidings_err kv_reader_init(struct kv *kv, struct kv_txn *txn)
{
    MDB_txn *handle;
    int rc = mdb_txn_begin(kv->env, NULL, MDB_RDONLY, &handle);
    if (rc)
        return translate(rc);
    mdb_txn_reset(handle);
    *txn = (struct kv_txn){.kv = kv, .handle = handle};
    return TIDINGS_OK;
}

static int renew_cursors(struct kv_txn *txn)
{
    int rc = 0;
    for (int i = 0; i < TABLE_COUNT && !rc; i++) {
        if (txn->getter[i])
            rc = mdb_cursor_renew(txn->handle, txn->getter[i]);
        if (!rc && txn->scanner[i])
            rc = mdb_cursor_renew(txn->handle, txn->scanner[i]);
    }
    return rc;
}

enum tidings_err kv_reader_start(struct kv_txn *txn)
{
    int rc = mdb_txn_renew(txn->handle);
    if (rc)
        return translate(rc);
    rc = renew_cursors(txn);
    if (rc) {
        mdb_txn_reset(txn->handle);
        return translate(rc);
    }
    txn->err = TIDINGS_OK;
    return TIDINGS_OK;
}

void kv_reader_stop(struct kv_txn *txn)
{
    mdb_txn_reset(txn->handle);
}

void kv_reader_release(struct kv_txn *txn)
{
    if (!txn->handle)
        return;
    close_cursors(txn);
    mdb_txn_abort(txn->handle);
    txn->handle = NULL;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static inline MDB_cursor *cursor_of(struct kv_txn *txn, void **slot, enum table table)
{
    if (!*slot && !txn->err) {
        MDB_cursor *cursor;
        int rc = mdb_cursor_open(txn->handle, txn->kv->dbi[table], &cursor);
        if (rc)
            kv_fail(txn, translate(rc));
        else
            *slot = cursor;
    }
    return txn->err ? NULL : *slot;
}

static MDB_val val_of(const struct key *key)
{
    return (MDB_val){.mv_size = key->n, .mv_data = (void *)(uintptr_t)key->bytes};
}

static struct bytes bytes_of(const MDB_val *val)
{
    return (struct bytes){val->mv_data, val->mv_size};
}

/* A cursor looks first at the page it is on. That helps where the next row wanted is near, and costs where it is
 * not: docs/decisions/0008. */
static int get(struct kv_txn *txn, enum table table, MDB_val *k, MDB_val *v)
{
    static const bool is_near[TABLE_COUNT] = {
#define X(table, name, near) [TABLE_##table] = near,
        KV_TABLES(X)
#undef X
    };
    if (!is_near[table])
        return mdb_get(txn->handle, txn->kv->dbi[table], k, v);
    MDB_cursor *cursor = cursor_of(txn, &txn->getter[table], table);
    return cursor ? mdb_cursor_get(cursor, k, v, MDB_SET) : MDB_NOTFOUND;
}

bool kv_get(struct kv_txn *txn, enum table table, const struct key *key, struct bytes *value)
{
    MDB_val k = val_of(key), v;
    if (txn->err)
        return false;
    int rc = get(txn, table, &k, &v);
    if (rc == MDB_NOTFOUND)
        return false;
    if (rc) {
        kv_fail(txn, translate(rc));
        return false;
    }
    *value = bytes_of(&v);
    return true;
}

static inline bool scan(struct kv_txn *txn, enum table table, MDB_cursor_op op, MDB_val *k,
                        struct bytes *key, struct bytes *value)
{
    MDB_val v;
    MDB_cursor *cursor = cursor_of(txn, &txn->scanner[table], table);
    if (!cursor)
        return false;
    int rc = mdb_cursor_get(cursor, k, &v, op);
    if (!rc) {
        *key = bytes_of(k);
        *value = bytes_of(&v);
        return true;
    }
    if (rc != MDB_NOTFOUND)
        kv_fail(txn, translate(rc));
    return false;
}

bool kv_seek(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
             struct bytes *value)
{
    MDB_val k = val_of(from);
    return scan(txn, table, MDB_SET_RANGE, &k, key, value);
}

bool kv_seek_below(struct kv_txn *txn, enum table table, const struct key *from, struct bytes *key,
                   struct bytes *value)
{
    MDB_val k = val_of(from);
    if (scan(txn, table, MDB_SET_RANGE, &k, key, value))
        return scan(txn, table, MDB_PREV, &k, key, value);
    return scan(txn, table, MDB_LAST, &k, key, value);
}

bool kv_next(struct kv_txn *txn, enum table table, struct bytes *key, struct bytes *value)
{
    MDB_val k;
    return scan(txn, table, MDB_NEXT, &k, key, value);
}

bool kv_prev(struct kv_txn *txn, enum table table, struct bytes *key, struct bytes *value)
{
    MDB_val k;
    return scan(txn, table, MDB_PREV, &k, key, value);
}

/* ---- Writing ------------------------------------------------------------------------------- */

void kv_put(struct kv_txn *txn, enum table table, const struct key *key, const void *value,
            size_t n)
{
    assert(txn->writing);
    if (txn->err)
        return;
    MDB_val k = val_of(key);
    MDB_val v = {.mv_size = n, .mv_data = (void *)(uintptr_t)value};
    int rc = mdb_put(txn->handle, txn->kv->dbi[table], &k, &v, 0);
    if (rc)
        kv_fail(txn, translate(rc));
    txn->writes++;
}

void kv_del(struct kv_txn *txn, enum table table, const struct key *key)
{
    assert(txn->writing);
    if (txn->err)
        return;
    MDB_val k = val_of(key);
    int rc = mdb_del(txn->handle, txn->kv->dbi[table], &k, NULL);
    if (rc && rc != MDB_NOTFOUND)
        kv_fail(txn, translate(rc));
    txn->writes++;
}
