/* SPDX-License-Identifier: MIT */
/* All users, in the order of their ids: whoever has a row in a table whose keys begin with a user. And what is left in a user's bucket. */
#include "engine/local/local.h"

static const enum table user_tables[] = {TABLE_USER, TABLE_PROFILE, TABLE_AUTHOR, TABLE_FOLLOWER};

enum { USER_TABLES = sizeof user_tables / sizeof *user_tables };

/* The first user behind `after` in the table; UINT64_MAX: there is none. */
static uint64_t users_next_of(struct kv_txn *txn, enum table table, uint64_t after)
{
    struct key from = key_id(after + 1);
    struct bytes key, value;
    if (!kv_seek(txn, table, &from, &key, &value))
        return UINT64_MAX;
    if (key.n >= ID_BYTES)
        return get_id(key.p);
    txn->err = TIDINGS_CORRUPT;
    return UINT64_MAX;
}

/* Each table is looked at again only when its next user has been passed. */
static size_t users_merge(struct kv_txn *txn, uint64_t after, uint64_t *ids, size_t max)
{
    uint64_t next[USER_TABLES] = {0};
    size_t n = 0;
    while (n < max && after < TIDINGS_ID_MAX) {
        uint64_t least = UINT64_MAX;
        for (size_t i = 0; i < USER_TABLES; i++) {
            if (next[i] <= after)
                next[i] = users_next_of(txn, user_tables[i], after);
            least = next[i] < least ? next[i] : least;
        }
        if (least == UINT64_MAX)
            break;
        ids[n++] = after = least;
    }
    return n;
}

enum tidings_err local_users(struct engine *engine, uint64_t after, uint64_t *ids, size_t max,
                             size_t *n)
{
    struct local *local = (struct local *)engine;
    struct snapshot *snapshot;
    enum tidings_err err = snapshot_take(local, NULL, &snapshot);
    if (err)
        return err;
    size_t found = users_merge(&snapshot->txn, after, ids, max);
    err = snapshot->txn.err;
    snapshot_return(local, snapshot);
    if (!err)
        *n = found;
    return err;
}

enum tidings_err local_follow_limit(struct engine *engine, uint64_t user,
                                    struct tidings_limit *limit)
{
    struct local *local = (struct local *)engine;
    struct snapshot *snapshot;
    enum tidings_err err = snapshot_take(local, NULL, &snapshot);
    if (err)
        return err;
    struct tidings_limit left;
    view_bucket_left(&snapshot->view.view, user, BUCKET_FOLLOW, &left);
    err = snapshot->txn.err;
    snapshot_return(local, snapshot);
    if (!err)
        *limit = left;
    return err;
}
