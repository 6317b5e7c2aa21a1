/* SPDX-License-Identifier: MIT */
/*
 * What an operation sees: one snapshot, the heads that belong to it, and the time. Reading code
 * takes a view and does not know whether it runs on a reader's snapshot or inside the writer's
 * transaction.
 *
 * Errors of the storage are sticky in the transaction: view_failed() tells.
 */
#ifndef LOCAL_VIEW_H
#define LOCAL_VIEW_H

#include "base/arena.h"
#include "domain/bucket.h"
#include "engine/local/memory/heads.h"
#include "engine/local/rows/keys.h"
#include "engine/local/storage/kv.h"
#include "engine/inbox/realm.h"
#include "engine/local/memory/recent.h"
#include "engine/records/records.h"

struct view {
    struct kv_txn *txn;
    struct heads *heads;
    struct recent *recent; /* NULL: only what is in the table counts */
    const struct tidings_settings *settings;
    struct arena *scratch; /* lives until the operation's end */
    uint64_t version;      /* of the heads */
    uint64_t age;          /* of the recent pairs */
    uint64_t last_id;      /* the newest id given out */
    int64_t now_ms;        /* never before the newest change */

    uint64_t before; /* writer: the newest id when this operation began */
    uint64_t stamp;  /* writer: the id of this operation */
    unsigned events; /* writer: events this operation has written */
    bool fault;      /* writer: a count would have gone below zero */
};

static inline bool view_failed(const struct view *view)
{
    return view->txn->err != TIDINGS_OK;
}

static inline void view_corrupt(struct view *view)
{
    kv_fail(view->txn, TIDINGS_CORRUPT);
}

static inline const struct head *view_head(const struct view *view, uint64_t author)
{
    return heads_get(view->heads, author, view->version);
}

static inline const struct head *view_head_in(const struct view *view, const struct realm *realm,
                                              uint64_t author)
{
    return heads_get(view->heads, author | realm->mark, view->version);
}

/* The user's record; zeros if there is none. */
struct user_record view_user(struct view *view, uint64_t user);

/* The user's profile, copied to the arena; empty texts if there is none. */
void view_profile(struct view *view, uint64_t user, struct arena *arena, struct tidings_text *name,
                  struct tidings_text *avatar);

/* Whether there is such a post. Its texts belong to the transaction. */
bool view_post(struct view *view, uint64_t id, struct post_record *post);

/* A copy with a NUL behind it; on lack of memory the transaction fails. */
struct tidings_text view_text(struct view *view, struct arena *arena, struct bytes bytes);

/* An array in the arena; on lack of memory NULL, and the transaction fails. */
void *view_array(struct view *view, struct arena *arena, size_t count, size_t size);

/* The least id that is younger than that age. */
uint64_t view_oldest_id(const struct view *view, int64_t age_ms);

/* How many rows a page may have. */
size_t view_limit(const struct view *view, const struct tidings_page *page);

/* ---- For the writer ------------------------------------------------------------------------- */

void view_put_user(struct view *view, uint64_t user, const struct user_record *record);

/*
 * Takes a token at the operation's time from the bucket in a user's record, which the caller writes.
 * If none is left: RATE_LIMITED, and the wait in call->result[0]. Services and admins are free of it.
 */
enum tidings_err view_take_token(struct view *view, struct tidings_call *call,
                                 const struct bucket_rule *rule, uint64_t *full_at);
/* The same from the bucket of follows. */
enum tidings_err view_take_follow_token(struct view *view, struct tidings_call *call,
                                        struct user_record *user);

/* Adds to a count. A would-be negative one is a fault in the data: the transaction fails. */
void view_add(struct view *view, uint64_t *count, int64_t delta);

/* A further id of this operation's; 0 if they are used up, and the transaction fails. */
uint64_t view_next_id(struct view *view);

/* Writes an event of this operation; the first takes the operation's own id, if no further one was
 * taken before. Its id and time need not be set. */
void view_write_event(struct view *view, const struct tidings_event *event);

/* The same for those that are about a user, or a post of the author's. */
void view_event(struct view *view, enum tidings_event_type type, uint64_t actor, uint64_t target,
                uint64_t author, int64_t delta);

#endif
