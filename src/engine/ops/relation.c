/* SPDX-License-Identifier: MIT */
/*
 * Who follows whom. The pair of fan and author is the truth; the author's followers are an index on
 * it, newest first by rank, the id of the following operation. The followed are few (a setting
 * bounds them), so their list is made by sorting and needs no index.
 */
#include "engine/ops/among.h"
#include "engine/ops/halves.h"

/* ---- Changing ------------------------------------------------------------------------------- */

/* Both users' counts, from not following to following (+1) or back (-1). */
static void count_relation(struct view *view, struct user_record *fan, uint64_t author, int delta)
{
    view_add(view, &fan->following, delta);
    view->rows->count(view, author, COUNTER_FOLLOWERS, delta);
}

enum tidings_err change_follow(struct view *view, struct reply *reply)
{
    uint64_t fan = reply->op->user_id, author = reply->op->u.relation.user_id;
    struct user_record user = view_user(view, fan);
    struct tie tie;

    enum tidings_err err = view_take_token(view, reply, BUCKET_FOLLOW, &user);
    if (err)
        return err;
    tie_load(view, REALM_POSTS, fan, author, &tie);
    bool changed = !tie.pair.following;
    if (changed && user.following >= view->settings->following_max)
        return TIDINGS_FOLLOWING_LIMIT;

    if (changed) {
        tie_settle(view, &tie);
        pair_open(&tie.pair, tie.head, view->stamp);
        tie_save(view, &tie);
        count_relation(view, &user, author, +1);
        view_event(view, TIDINGS_EVENT_FOLLOW_CREATED, fan, author, 0, +1);
    }
    view_put_user(view, fan, &user);
    reply->answer->u.relation.changed = changed;
    reply->answer->u.relation.following = true;
    return TIDINGS_OK;
}

enum tidings_err change_unfollow(struct view *view, struct reply *reply)
{
    uint64_t fan = reply->op->user_id, author = reply->op->u.relation.user_id;
    struct user_record user = view_user(view, fan);
    struct tie tie;

    enum tidings_err err = view_take_token(view, reply, BUCKET_FOLLOW, &user);
    if (err)
        return err;
    tie_load(view, REALM_POSTS, fan, author, &tie);
    bool changed = tie.pair.following;
    bool purges = reply->op->u.relation.purge_inbox && tie.pair.n_spans;
    uint64_t purged = 0;

    if (changed || purges) {
        tie_settle(view, &tie);
        if (changed)
            pair_close(&tie.pair, tie.head);
        if (purges)
            purged = pair_purge(&tie.pair, tie.head);
        tie_save(view, &tie);
    }
    if (changed) {
        count_relation(view, &user, author, -1);
        view_event(view, TIDINGS_EVENT_FOLLOW_CANCELED, fan, author, 0, -1);
    }
    if (purged)
        view_event(view, TIDINGS_EVENT_INBOX_PURGED, fan, author, 0, -(int64_t)purged);
    view_put_user(view, fan, &user);
    reply->answer->u.relation.changed = changed;
    reply->answer->u.relation.purged = purged;
    return TIDINGS_OK;
}

/* ---- Answering ------------------------------------------------------------------------------ */

static bool follows(struct view *view, uint64_t fan, uint64_t author)
{
    struct tie tie;
    tie_load(view, REALM_POSTS, fan, author, &tie);
    return tie.pair.following;
}

enum tidings_err answer_follow(struct view *view, struct reply *reply)
{
    uint64_t fan = reply->op->user_id, author = reply->op->u.relation.user_id;
    reply->answer->u.relation.mutual = follows(view, author, fan);
    return TIDINGS_OK;
}

static struct tidings_status status_of(struct view *view, uint64_t viewer, uint64_t other)
{
    struct tidings_status status = {
        .following = follows(view, viewer, other),
        .followed_by = follows(view, other, viewer),
    };
    status.mutual = status.following && status.followed_by;
    return status;
}

enum tidings_err answer_status(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    reply->answer->u.status = status_of(view, op->user_id, op->u.relation.user_id);
    return TIDINGS_OK;
}

enum tidings_err answer_status_many(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    size_t n = op->u.many.n_user_ids;
    struct tidings_status *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; rows && i < n; i++)
        rows[i] = status_of(view, op->user_id, op->u.many.user_ids[i]);
    reply->answer->u.status_many.rows = rows;
    reply->answer->u.status_many.n = n;
    return TIDINGS_OK;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

enum tidings_err answer_following(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.users.page;
    struct tie_follow *follows;
    size_t limit = view_limit(view, page);
    size_t n = tie_follows(view, REALM_POSTS, reply->op->u.users.user_id, page->after.a, limit + 1,
                           &follows);
    reply->answer->u.users.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.users.rows);
    for (size_t i = 0; i < n && i < limit && !view_failed(view); i++)
        view_user_row(view, reply, follows[i].author, follows[i].rank);
    if (n > limit)
        reply->answer->u.users.next.a = follows[limit - 1].rank;
    return TIDINGS_OK;
}

enum tidings_err answer_followers(struct view *view, struct reply *reply)
{
    struct list list = {.kind = LIST_FOLLOWERS, .of = reply->op->u.users.user_id};
    answer_user_list(view, reply, &list, &reply->op->u.users.page);
    return TIDINGS_OK;
}

enum tidings_err answer_fans_among(struct view *view, struct reply *reply)
{
    return answer_among(view, reply, REALM_POSTS, LIST_FOLLOWERS);
}
