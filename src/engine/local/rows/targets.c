/* SPDX-License-Identifier: MIT */
/* Reactions, counts and comments, with the lists that they order. */
#include "engine/ops/target.h"

#include "engine/local/rows/rows.h"

static bool same_key(const struct key *a, const struct key *b)
{
    return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n);
}

static void put_id_row(struct view *view, enum table table, const struct key *key, uint64_t id)
{
    uint8_t value[ID_BYTES];
    put_id(value, id);
    kv_put(txn_of(view), table, key, value, sizeof value);
}

/* ---- Reactions ------------------------------------------------------------------------------ */

struct reaction_record local_get_reaction(struct view *view, uint64_t user, uint64_t target)
{
    struct reaction_record reaction = {0};
    struct key key = key_vote(user, target);
    struct bytes value;
    if (kv_get(txn_of(view), TABLE_USER, &key, &value) && !reaction_decode(value, &reaction))
        view_corrupt(view);
    return reaction;
}

/* Downvotes are not listed among what a user reacted to: nobody is shown them. */
static void list_reaction(struct view *view, uint64_t user, uint64_t target,
                          enum tidings_target kind, enum tidings_reaction reaction, uint64_t stamp,
                          bool there)
{
    struct key reactor = key_reactor(target, reaction, stamp);
    struct key reacted = key_reacted(user, kind, reaction, stamp);
    bool is_listed = reaction != TIDINGS_DOWNVOTE;
    if (there)
        put_id_row(view, TABLE_TARGET, &reactor, user);
    else
        kv_del(txn_of(view), TABLE_TARGET, &reactor);
    if (there && is_listed)
        put_id_row(view, TABLE_USER, &reacted, target);
    else if (is_listed)
        kv_del(txn_of(view), TABLE_USER, &reacted);
}

void local_put_reaction(struct view *view, uint64_t user, uint64_t target,
                        const struct reaction_record *old, const struct reaction_record *now)
{
    struct key key = key_vote(user, target);
    uint8_t bytes[REACTION_RECORD_MAX];
    bool any = false;
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++) {
        enum tidings_reaction reaction = (enum tidings_reaction)i;
        any |= now->stamp[i] != 0;
        if (now->stamp[i] == old->stamp[i])
            continue;
        if (old->stamp[i])
            list_reaction(view, user, target, now->target, reaction, old->stamp[i], false);
        if (now->stamp[i])
            list_reaction(view, user, target, now->target, reaction, now->stamp[i], true);
    }
    if (any)
        kv_put(txn_of(view), TABLE_USER, &key, bytes, reaction_encode(now, bytes));
    else
        kv_del(txn_of(view), TABLE_USER, &key);
}

/* ---- A post's counts ------------------------------------------------------------------------ */

struct counts_record local_get_counts(struct view *view, uint64_t post)
{
    struct counts_record counts = {0};
    struct key key = key_row(post, ROW_COUNTS);
    struct bytes value;
    if (kv_get(txn_of(view), TABLE_TARGET, &key, &value) && !counts_decode(value, &counts))
        view_corrupt(view);
    return counts;
}

struct key post_hot_key(const struct view *view, uint64_t id, const struct post_record *post,
                        const struct counts_record *counts)
{
    return key_hot(post->kind, post_heat(view, id, counts), id);
}

/* A post that is new has no counts yet, one that leaves the hot list keeps them. */
static void put_counts_row(struct view *view, uint64_t id, const struct counts_record *now)
{
    struct key row = key_row(id, ROW_COUNTS);
    uint8_t bytes[COUNTS_RECORD_MAX];
    if (now->likes || now->favs || now->comments)
        kv_put(txn_of(view), TABLE_TARGET, &row, bytes, counts_encode(now, bytes));
    else
        kv_del(txn_of(view), TABLE_TARGET, &row);
}

void local_put_counts(struct view *view, uint64_t id, const struct post_record *post,
                      const struct counts_record *old, const struct counts_record *now)
{
    struct key from, to;
    if (old && now)
        put_counts_row(view, id, now);
    if (old && now && post->deleted)
        return;
    if (old)
        from = post_hot_key(view, id, post, old);
    if (now)
        to = post_hot_key(view, id, post, now);
    if (old && now && same_key(&from, &to))
        return;
    if (old)
        kv_del(txn_of(view), TABLE_HOT, &from);
    if (now)
        put_mark(view, TABLE_HOT, &to);
}

/* ---- Comments ------------------------------------------------------------------------------- */

bool local_get_comment(struct view *view, uint64_t id, struct comment_record *comment)
{
    struct key key = key_row(id, ROW_COMMENT);
    struct bytes value;
    if (!kv_get(txn_of(view), TABLE_TARGET, &key, &value))
        return false;
    if (!comment_decode(value, comment)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

struct key comment_hot_key(const struct view *view, uint64_t id,
                           const struct comment_record *comment)
{
    return key_hot_reply(comment_parent(comment), comment_heat(view, comment), id);
}

/* The comment's own row and its place in the two lists of its parent. */
void local_put_comment(struct view *view, uint64_t id, const struct comment_record *old,
                       const struct comment_record *now)
{
    bool was_listed = old && comment_is_listed(old), is_listed = comment_is_listed(now);
    struct key row = key_row(id, ROW_COMMENT), reply = key_reply(comment_parent(now), id);
    struct key to = comment_hot_key(view, id, now), from = to;
    uint8_t bytes[COMMENT_RECORD_MAX];
    if (old)
        from = comment_hot_key(view, id, old);

    kv_put(txn_of(view), TABLE_TARGET, &row, bytes, comment_encode(now, bytes));
    if (was_listed && !is_listed)
        kv_del(txn_of(view), TABLE_TARGET, &reply);
    if (is_listed && !was_listed)
        put_mark(view, TABLE_TARGET, &reply);
    if (was_listed && is_listed && same_key(&from, &to))
        return;
    if (was_listed)
        kv_del(txn_of(view), TABLE_TARGET, &from);
    if (is_listed)
        put_mark(view, TABLE_TARGET, &to);
}

bool local_get_comment_body(struct view *view, uint64_t id, struct bytes *body)
{
    struct key key = key_row(id, ROW_BODY);
    return kv_get(txn_of(view), TABLE_TARGET, &key, body);
}

void local_put_comment_body(struct view *view, uint64_t id, struct bytes body)
{
    struct key key = key_row(id, ROW_BODY);
    if (body.n)
        kv_put(txn_of(view), TABLE_TARGET, &key, body.p, body.n);
    else
        kv_del(txn_of(view), TABLE_TARGET, &key);
}
