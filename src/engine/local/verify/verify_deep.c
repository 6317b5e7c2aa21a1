/* SPDX-License-Identifier: MIT */
/*
 * The data file against base image and log, which are the truth: makes another one of them and compares all rows, in order
 * on both sides, and looks each up from the root down, as a reader would. A bit that was flipped in a row, or on the way to
 * one, is found; in what nobody reads it does no harm.
 */
#include <string.h>
#include <unistd.h>

#include "engine/local/local.h"
#include "engine/local/verify/verify.h"

struct deep {
    struct check *check;
    struct kv_txn *used;  /* the data file */
    struct kv_txn *fresh; /* the one made anew */
};

struct side {
    struct kv_txn *txn;
    bool found;
    struct bytes key, value;
};

static bool same(struct bytes a, struct bytes b)
{
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

static int compare(const struct side *used, const struct side *fresh)
{
    if (!used->found || !fresh->found)
        return used->found ? -1 : 1;
    size_t n = used->key.n < fresh->key.n ? used->key.n : fresh->key.n;
    int order = memcmp(used->key.p, fresh->key.p, n);
    return order ? order : (used->key.n > fresh->key.n) - (used->key.n < fresh->key.n);
}

static void differ(struct deep *deep, const char *what, struct bytes key)
{
    char hex[2 * LONG_KEY_MAX + 1] = "";
    for (size_t i = 0; i < key.n && i < LONG_KEY_MAX; i++)
        snprintf(hex + 2 * i, 3, "%02x", key.p[i]);
    verify_differ(deep->check, "row %s %s", hex, what);
    deep->check->out->spoiled++;
}

static void look_up(struct deep *deep, enum table table, const struct side *fresh)
{
    struct bytes value;
    if (!kv_get_anew(deep->used, table, fresh->key, &value) || !same(value, fresh->value))
        differ(deep, "of data.mdb is not what the log says", fresh->key);
}

static void step(struct side *side, enum table table)
{
    side->found = kv_next(side->txn, table, &side->key, &side->value);
}

/* A row that is there once too often was not looked up; all others are. */
static void compare_table(struct deep *deep, enum table table)
{
    static const struct key first = {.n = 1};
    struct side used = {.txn = deep->used}, fresh = {.txn = deep->fresh};
    used.found = kv_seek(used.txn, table, &first, &used.key, &used.value);
    fresh.found = kv_seek(fresh.txn, table, &first, &fresh.key, &fresh.value);
    while ((used.found || fresh.found) && !used.txn->err && !fresh.txn->err) {
        int order = compare(&used, &fresh);
        if (order < 0)
            differ(deep, "of data.mdb is not in the log", used.key);
        else
            look_up(deep, table, &fresh);
        if (order > 0)
            differ(deep, "is missing where data.mdb is read in order", fresh.key);
        if (order == 0 && !same(used.value, fresh.value))
            differ(deep, "of data.mdb has another value", fresh.key);
        if (order <= 0)
            step(&used, table);
        if (order >= 0)
            step(&fresh, table);
        verify_step(deep->check);
    }
}

/* What the scanners cannot get past is damage, too. */
static enum tidings_err compare_all(struct deep *deep)
{
    static const char *const names[] = {
#define X(table, name, near) name,
        KV_TABLES(X)
#undef X
    };
    for (enum table table = 0; table < TABLE_COUNT && !deep->fresh->err; table++) {
        verify_part(deep->check, names[table], table);
        compare_table(deep, table);
        if (deep->used->err) {
            differ(deep, "and all behind it cannot be read", (struct bytes){NULL, 0});
            deep->used->err = TIDINGS_OK;
        }
    }
    return deep->fresh->err;
}

static enum tidings_err compare_with(struct check *check, struct kv_txn *used, const char *path)
{
    struct kv_options options = {.path = path, .map_bytes = SIZE_MAX / 4};
    struct kv_txn fresh;
    const char *message;
    struct kv *kv;
    enum tidings_err err = kv_open(&options, &kv, &message);
    if (err)
        return err;
    err = kv_reader_init(kv, &fresh);
    if (!err) {
        struct deep deep = {check, used, &fresh};
        err = kv_reader_start(&fresh);
        if (!err)
            err = compare_all(&deep);
        kv_reader_release(&fresh);
    }
    kv_close(kv);
    return err;
}

enum tidings_err verify_deep(struct local *local, struct check *check)
{
    char path[PATH_BYTES];
    struct store *store = local->store;
    if (!path_join(path, store->dir, "verify.new"))
        return TIDINGS_IO;
    uint64_t newest = kv_applied(local->kv);
    struct image_job job = {
        .log_dir = store->log_dir,
        .base_dir = store->base_dir,
        .id = store->id,
        .path = path,
        .map_bytes = SIZE_MAX / 4,
        .number = newest,
        .reaches = newest,
        .progress = check->progress.to,
    };
    enum tidings_err err = image_make(&job);
    if (err)
        verify_differ(check, "no image can be made of base image and log: %s", job.message);
    else
        err = compare_with(check, txn_of(check->view), path);
    unlink(path);
    return err;
}
