/* SPDX-License-Identifier: MIT */
/* What a view of the engine has: LMDB's transaction, and what is in memory beside it. */
#ifndef LOCAL_VIEW_H
#define LOCAL_VIEW_H

#include "engine/clock.h"
#include "engine/local/memory/heads.h"
#include "engine/local/storage/kv.h"
#include "engine/view.h"

struct recent;

/* A view of the engine: a snapshot, or the writer's transaction. */
struct local_view {
    struct view view;
    struct kv_txn *txn;
    struct heads *heads;
    struct clock *clock;
    struct recent *recent;   /* NULL: only what is in the table counts */
    uint64_t version;        /* of the heads */
    uint64_t age;            /* of the recent pairs */
    uint64_t last_id;        /* the newest id given out */
    int64_t last_elapsed_ms; /* the time elapsed with the newest change */
    struct moment at;        /* writer: that of the last change in the batch, or when it began */
    uint64_t before;         /* writer: the newest id when this operation began */
    bool followed;           /* writer: others follow the log, and tell what it tells */
    bool spent;              /* writer: an event has taken the operation's own id */
    bool
        heads_differ; /* rehearsal: what was done to a head is not in memory, so that heads must not be asked any more */
};

static inline struct local_view *local_of(const struct view *view)
{
    return (struct local_view *)(uintptr_t)view;
}

static inline struct kv_txn *txn_of(const struct view *view)
{
    return local_of(view)->txn;
}

#endif
