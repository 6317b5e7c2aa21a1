/* SPDX-License-Identifier: MIT */
/*
 * Who follows whom. The pair in the fan's rows is the truth; the author's followers are an index on
 * it, newest first by rank, the id of the following operation. The followed are few (a setting
 * bounds them) and lie side by side, so their list is made by sorting and needs no index.
 */
#include <string.h>

#include "domain/ids.h"
#include "engine/ops/ops.h"
#include "engine/inbox/tie.h"

enum { RESULT_CHANGED, RESULT_PURGED }; /* call->result; a refused call's is the wait */

/* ---- Changing ------------------------------------------------------------------------------- */

/* Both users' counts and the index, from not following to following (+1) or back (-1). */
static void count_relation(struct view *view, struct user_record *fan, const struct tie *tie,
                           uint64_t rank, int delta)
{
    struct user_record author = view_user(view, tie->author);
    struct key key = key_follower(tie->author, rank);
    view_add(view, &fan->following, delta);
    view_add(view, &author.followers, delta);
    view_put_user(view, tie->author, &author);
    if (delta > 0) {
        uint8_t value[ID_BYTES];
        put_id(value, tie->fan);
        kv_put(view->txn, TABLE_FOLLOWER, &key, value, sizeof value);
    } else {
        kv_del(view->txn, TABLE_FOLLOWER, &key);
    }
}

enum tidings_err apply_follow(struct view *view, struct tidings_call *call)
{
    uint64_t fan = call->op->user_id, author = call->op->u.relation.user_id;
    struct user_record user = view_user(view, fan);
    struct tie tie;

    enum tidings_err err = view_take_follow_token(view, call, &user);
    if (err)
        return err;
    tie_load(view, fan, author, &tie);
    bool changed = !tie.pair.following;
    if (changed && user.following >= view->settings->following_max)
        return TIDINGS_FOLLOWING_LIMIT;

    if (changed) {
        tie_settle(view, &tie);
        tie_open(&tie, view->stamp);
        tie_save(view, &tie);
        count_relation(view, &user, &tie, view->stamp, +1);
        view_event(view, TIDINGS_EVENT_FOLLOW_CREATED, fan, author, 0, +1);
    }
    view_put_user(view, fan, &user);
    call->result[RESULT_CHANGED] = changed;
    return TIDINGS_OK;
}

/* What was read stays read, but no longer counts as delivered. */
static uint64_t purge(struct tie *tie)
{
    struct pair *pair = &tie->pair;
    uint64_t purged = tie_delivered(tie);
    pair->n_spans = 0;
    pair->reads_out += pair->reads_in;
    pair->dead_out += pair->dead_in;
    pair->reads_in = pair->dead_in = 0;
    return purged;
}

enum tidings_err apply_unfollow(struct view *view, struct tidings_call *call)
{
    uint64_t fan = call->op->user_id, author = call->op->u.relation.user_id;
    struct user_record user = view_user(view, fan);
    struct tie tie;

    enum tidings_err err = view_take_follow_token(view, call, &user);
    if (err)
        return err;
    tie_load(view, fan, author, &tie);
    bool changed = tie.pair.following;
    bool purges = call->op->u.relation.purge_inbox && tie.pair.n_spans;
    uint64_t rank = tie.pair.rank, purged = 0;

    if (changed || purges) {
        tie_settle(view, &tie);
        if (changed)
            tie_close(&tie);
        if (purges)
            purged = purge(&tie);
        tie_save(view, &tie);
    }
    if (changed) {
        count_relation(view, &user, &tie, rank, -1);
        view_event(view, TIDINGS_EVENT_FOLLOW_CANCELED, fan, author, 0, -1);
    }
    if (purged)
        view_event(view, TIDINGS_EVENT_INBOX_PURGED, fan, author, 0, -(int64_t)purged);
    view_put_user(view, fan, &user);
    call->result[RESULT_CHANGED] = changed;
    call->result[RESULT_PURGED] = purged;
    return TIDINGS_OK;
}

/* ---- Answering ------------------------------------------------------------------------------ */

static bool follows(struct view *view, uint64_t fan, uint64_t author)
{
    struct tie tie;
    tie_load(view, fan, author, &tie);
    return tie.pair.following;
}

enum tidings_err answer_follow(struct view *view, struct reply *reply)
{
    uint64_t fan = reply->op->user_id, author = reply->op->u.relation.user_id;
    reply->answer->u.relation.changed = reply->call->result[RESULT_CHANGED];
    reply->answer->u.relation.following = true;
    reply->answer->u.relation.mutual = follows(view, author, fan);
    return TIDINGS_OK;
}

enum tidings_err answer_unfollow(struct view *view, struct reply *reply)
{
    (void)view;
    reply->answer->u.relation.changed = reply->call->result[RESULT_CHANGED];
    reply->answer->u.relation.purged = reply->call->result[RESULT_PURGED];
    return TIDINGS_OK;
}

enum tidings_err answer_status(struct view *view, struct reply *reply)
{
    uint64_t viewer = reply->op->user_id, other = reply->op->u.relation.user_id;
    bool following = follows(view, viewer, other);
    bool followed_by = follows(view, other, viewer);
    reply->answer->u.status.following = following;
    reply->answer->u.status.followed_by = followed_by;
    reply->answer->u.status.mutual = following && followed_by;
    return TIDINGS_OK;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

static void fill_row(struct view *view, struct reply *reply, const struct tie_follow *follow)
{
    struct tidings_user_row *row = &reply->answer->u.users.rows[reply->answer->u.users.n++];
    *row = (struct tidings_user_row){.user_id = follow->author, .since = id_time_ms(follow->rank)};
    view_profile(view, follow->author, reply->arena, &row->name, &row->avatar);
}

/* Room for a page of rows; its length. */
static size_t begin_rows(struct view *view, struct reply *reply)
{
    size_t limit = view_limit(view, &reply->op->u.users.page);
    reply->answer->u.users.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.users.rows);
    return view_failed(view) ? 0 : limit;
}

enum tidings_err answer_following(struct view *view, struct reply *reply)
{
    struct tie_follow *follows;
    size_t limit = begin_rows(view, reply);
    size_t n = tie_follows(view, &realm_posts, reply->op->u.users.user_id,
                           reply->op->u.users.page.after.a, limit + 1, &follows);
    if (view_failed(view))
        return TIDINGS_OK;
    for (size_t i = 0; i < n && i < limit; i++)
        fill_row(view, reply, &follows[i]);
    if (n > limit)
        reply->answer->u.users.next.a = follows[limit - 1].rank;
    return TIDINGS_OK;
}

enum tidings_err answer_followers(struct view *view, struct reply *reply)
{
    uint64_t author = reply->op->u.users.user_id, after = reply->op->u.users.page.after.a;
    struct key prefix = key_id(author);
    struct key from = after ? key_follower(author, after - 1) : prefix;
    struct bytes key, value;
    struct tie_follow follow = {0};
    size_t limit = begin_rows(view, reply);

    bool found = kv_seek(view->txn, TABLE_FOLLOWER, &from, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_FOLLOWER, &key, &value)) {
        if (key.n != 2 * ID_BYTES || value.n != ID_BYTES) {
            view_corrupt(view);
            break;
        }
        if (reply->answer->u.users.n == limit) {
            reply->answer->u.users.next.a = follow.rank;
            break;
        }
        follow = (struct tie_follow){get_id_descending(key.p + ID_BYTES), get_id(value.p)};
        fill_row(view, reply, &follow);
    }
    return TIDINGS_OK;
}

void among_mark(const struct tidings_op *op, uint64_t user, bool *is_fan)
{
    size_t low = 0, high = op->u.among.n_user_ids;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (op->u.among.user_ids[middle] < user)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < op->u.among.n_user_ids && op->u.among.user_ids[low] == user)
        is_fan[low] = true;
}

/* From the author's side: looks at all followers. */
static void mark_followers(struct view *view, const struct tidings_op *op, bool *is_fan)
{
    struct key prefix = key_id(op->u.among.author_id);
    struct bytes key, value;
    bool found = kv_seek(view->txn, TABLE_FOLLOWER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_FOLLOWER, &key, &value)) {
        if (value.n != ID_BYTES) {
            view_corrupt(view);
            return;
        }
        among_mark(op, get_id(value.p), is_fan);
    }
}

/* From the user's side: looks at the one pair. */
static bool is_among(struct view *view, const struct tidings_op *op, uint64_t user)
{
    struct tie tie;
    tie_load(view, user, op->u.among.author_id, &tie);
    return op->u.among.delivered ? tie.pair.n_spans != 0 : tie.pair.following;
}

/* Goes whichever way is shorter: through the author's followers, or through the users given. */
enum tidings_err answer_fans_among(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    size_t n = op->u.among.n_user_ids;
    bool *is_fan = view_array(view, view->scratch, n, sizeof *is_fan);
    uint64_t *fans = view_array(view, reply->arena, n, sizeof *fans);
    if (view_failed(view))
        return TIDINGS_OK;
    memset(is_fan, 0, n * sizeof *is_fan);
    if (!op->u.among.delivered && view_user(view, op->u.among.author_id).followers < n)
        mark_followers(view, op, is_fan);
    else
        for (size_t i = 0; i < n; i++)
            is_fan[i] = is_among(view, op, op->u.among.user_ids[i]);
    for (size_t i = 0; i < n; i++)
        if (is_fan[i])
            fans[reply->answer->u.among.n++] = op->u.among.user_ids[i];
    reply->answer->u.among.user_ids = fans;
    return TIDINGS_OK;
}
