/* SPDX-License-Identifier: MIT */
/*
 * Reactions. The truth is one row a user and target, among the user's rows. Two lists are made of
 * it: who reacted, among the target's rows, and what a user reacted to, among the user's. Downvotes
 * have the first, so that they can be counted again, but nobody is shown them.
 */
#include "domain/bucket.h"
#include "domain/ids.h"
#include "engine/ops/target.h"

enum { RESULT_CHANGED = 1 }; /* call->result; a refused call's first is the wait, or the post */

/* ---- Changing ------------------------------------------------------------------------------- */

/* One reaction comes (+1) or goes (-1): all its rows but the target's record. */
static void turn(struct view *view, struct tidings_call *call, struct target *target,
                 struct reaction_record *mine, enum tidings_reaction reaction, int delta)
{
    uint64_t user = call->op->user_id;
    uint64_t stamp = delta > 0 ? view->stamp : mine->stamp[reaction];
    struct key reactor = key_reactor(target->id, reaction, stamp);
    struct key reacted = key_reacted(user, target->kind, reaction, stamp);
    bool is_listed = reaction != TIDINGS_DOWNVOTE;
    uint8_t who[ID_BYTES], what[ID_BYTES];
    put_id(who, user);
    put_id(what, target->id);
    mine->stamp[reaction] = delta > 0 ? stamp : 0;
    if (delta > 0)
        kv_put(view->txn, TABLE_TARGET, &reactor, who, sizeof who);
    else
        kv_del(view->txn, TABLE_TARGET, &reactor);
    if (delta > 0 && is_listed)
        kv_put(view->txn, TABLE_USER, &reacted, what, sizeof what);
    else if (is_listed)
        kv_del(view->txn, TABLE_USER, &reacted);

    bool on_post = target->kind == TIDINGS_TARGET_POST;
    static const enum tidings_event_type types[2][2] = {
        {TIDINGS_EVENT_VOTE_DELETED, TIDINGS_EVENT_VOTE_CREATED},
        {TIDINGS_EVENT_REACTION_DELETED, TIDINGS_EVENT_REACTION_CREATED},
    };
    view_write_event(view, &(struct tidings_event){
                               .type = types[on_post][delta > 0],
                               .actor_user_id = user,
                               .target_id = target->id,
                               .author_id = target->post.author,
                               .delta = delta,
                               .post_id = on_post ? 0 : target->post_id,
                               .reaction = reaction,
                           });
}

static void put_vote(struct view *view, uint64_t user, uint64_t target,
                     const struct reaction_record *mine)
{
    struct key key = key_vote(user, target);
    uint8_t bytes[REACTION_RECORD_MAX];
    bool any =
        mine->stamp[TIDINGS_LIKE] || mine->stamp[TIDINGS_FAV] || mine->stamp[TIDINGS_DOWNVOTE];
    if (any)
        kv_put(view->txn, TABLE_USER, &key, bytes, reaction_encode(mine, bytes));
    else
        kv_del(view->txn, TABLE_USER, &key);
}

/* The post's counts, the user's, and the author's. The user's record is written by the caller, and
 * may be the author's, too. */
static void count_on_post(struct view *view, const struct target *target,
                          enum tidings_reaction reaction, int delta, uint64_t user_id,
                          struct user_record *user)
{
    bool like = reaction == TIDINGS_LIKE;
    struct counts_record old = view_counts(view, target->id), now = old;
    view_add(view, like ? &now.likes : &now.favs, delta);
    counts_change(view, target->id, &target->post, &old, &now);
    view_add(view, like ? &user->liked_posts : &user->faved_posts, delta);
    if (target->post.deleted)
        return; /* its reactions left the author's counts with it */
    bool own = target->post.author == user_id;
    struct user_record other = own ? *user : view_user(view, target->post.author);
    struct user_record *author = own ? user : &other;
    view_add(view, like ? &author->likes_received : &author->favs_received, delta);
    if (!own)
        view_put_user(view, target->post.author, author);
}

/* The comment's counts as they were and are, and its state by the votes. */
static void count_on_comment(struct view *view, const struct target *target, int likes, int downs,
                             uint64_t user_id)
{
    const struct comment_record *old = &target->comment;
    struct comment_record now = *old;
    view_add(view, &now.likes, likes);
    view_add(view, &now.downs, downs);
    now.status = comment_folded(view, &now);
    comment_change(view, target->id, &target->post, old, &now);
    if (now.status == old->status)
        return;
    bool hidden = now.status == TIDINGS_COMMENT_HIDDEN;
    comment_event(view, hidden ? TIDINGS_EVENT_COMMENT_HIDDEN : TIDINGS_EVENT_COMMENT_RESTORED,
                  user_id, target->id, &now, &target->post, hidden ? -1 : +1);
}

static void change(struct view *view, struct tidings_call *call, struct target *target,
                   struct reaction_record *mine, struct user_record *user)
{
    uint64_t user_id = call->op->user_id;
    enum tidings_reaction reaction = call->op->u.react.reaction;
    int delta = mine->stamp[reaction] ? -1 : +1;
    int likes = reaction == TIDINGS_LIKE ? delta : 0;
    int downs = reaction == TIDINGS_DOWNVOTE ? delta : 0;

    if (target->kind == TIDINGS_TARGET_POST) {
        turn(view, call, target, mine, reaction, delta);
        count_on_post(view, target, reaction, delta, user_id, user);
    } else {
        enum tidings_reaction other = likes ? TIDINGS_DOWNVOTE : TIDINGS_LIKE;
        if (mine->stamp[other]) {
            turn(view, call, target, mine, other, -1);
            likes -= other == TIDINGS_LIKE;
            downs -= other == TIDINGS_DOWNVOTE;
        }
        turn(view, call, target, mine, reaction, delta);
        count_on_comment(view, target, likes, downs, user_id);
    }
    put_vote(view, user_id, target->id, mine);
}

static enum tidings_err apply(struct view *view, struct tidings_call *call, bool wanted)
{
    const struct tidings_op *op = call->op;
    struct user_record user = view_user(view, op->user_id);
    struct target target;
    struct bucket_rule rule = {
        .burst = (int64_t)view->settings->react_burst,
        .refill_ms = (int64_t)view->settings->react_refill_ms,
    };
    enum tidings_err err = view_take_token(view, call, &rule, &user.react_full_at);
    if (err)
        return err;
    if (!target_find(view, op->u.react.target, op->u.react.id, &target))
        return TIDINGS_NOT_FOUND;
    if (wanted && target_is_gone(&target)) {
        call->result[0] = target.post_id;
        return TIDINGS_DELETED;
    }
    struct reaction_record mine = view_reaction(view, op->user_id, target.id);
    mine.target = target.kind;
    bool changed = wanted == !mine.stamp[op->u.react.reaction];
    if (changed)
        change(view, call, &target, &mine, &user);
    if (changed || op->role == TIDINGS_ROLE_USER)
        view_put_user(view, op->user_id, &user);
    call->result[RESULT_CHANGED] = changed;
    return TIDINGS_OK;
}

enum tidings_err apply_react(struct view *view, struct tidings_call *call)
{
    return apply(view, call, true);
}

enum tidings_err apply_unreact(struct view *view, struct tidings_call *call)
{
    return apply(view, call, false);
}

/* ---- Answering ------------------------------------------------------------------------------ */

enum tidings_err answer_react(struct view *view, struct reply *reply)
{
    struct target target;
    reply->answer->u.reaction.changed = reply->call->result[RESULT_CHANGED];
    if (!target_find(view, reply->op->u.react.target, reply->op->u.react.id, &target)) {
        view_corrupt(view);
        return TIDINGS_OK;
    }
    struct counts_record counts = {0};
    if (target.kind == TIDINGS_TARGET_POST)
        counts = view_counts(view, target.id);
    reply->answer->u.reaction.counts = target.kind == TIDINGS_TARGET_POST
                                           ? post_counts(view, &counts)
                                           : comment_counts(view, &target.comment);
    return TIDINGS_OK;
}

/* A list of ids by stamp, newest first, of which a page is wanted. */
struct list {
    enum table table;
    struct key prefix;
    uint64_t after; /* stamp, or 0 */
    size_t limit;
};

/* Gives each row of the page to `take`. The cursor for the next one, {0, 0} at the end. */
static struct tidings_cursor page_through(struct view *view, const struct list *list,
                                          void (*take)(struct view *view, struct reply *reply,
                                                       uint64_t id, uint64_t stamp),
                                          struct reply *reply)
{
    struct key from = list->prefix;
    struct bytes key, value;
    struct tidings_cursor last = {0, 0};
    size_t n = 0;
    if (list->after)
        key_add_id_descending(&from, list->after - 1);
    bool found = kv_seek(view->txn, list->table, &from, &key, &value);
    for (; found && key_has_prefix(key, &list->prefix) && !view_failed(view);
         found = kv_next(view->txn, list->table, &key, &value)) {
        if (key.n != (size_t)list->prefix.n + ID_BYTES || value.n != ID_BYTES) {
            view_corrupt(view);
            break;
        }
        if (n++ == list->limit)
            return last;
        last.a = get_id_descending(key.p + list->prefix.n);
        take(view, reply, get_id(value.p), last.a);
    }
    return (struct tidings_cursor){0, 0};
}

static void take_reactor(struct view *view, struct reply *reply, uint64_t user, uint64_t stamp)
{
    struct tidings_user_row *row = &reply->answer->u.users.rows[reply->answer->u.users.n++];
    *row = (struct tidings_user_row){.user_id = user, .since = id_time_ms(stamp)};
    view_profile(view, user, reply->arena, &row->name, &row->avatar);
}

enum tidings_err answer_reactors(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct target target;
    enum tidings_err err =
        target_look(view, reply, op->u.reactors.target, op->u.reactors.id, &target);
    if (err)
        return err;
    struct list list = {
        .table = TABLE_TARGET,
        .prefix = key_reactor_list(target.id, op->u.reactors.reaction),
        .after = op->u.reactors.page.after.a,
        .limit = view_limit(view, &op->u.reactors.page),
    };
    reply->answer->u.users.rows =
        view_array(view, reply->arena, list.limit, sizeof *reply->answer->u.users.rows);
    reply->answer->u.users.next = page_through(view, &list, take_reactor, reply);
    return TIDINGS_OK;
}

/* A comment's body, as far as anyone may see it. */
static struct tidings_text open_body(struct view *view, struct reply *reply,
                                     const struct target *target)
{
    struct key key = key_row(target->id, ROW_BODY);
    struct bytes body = {NULL, 0};
    bool shown = comment_is_visible(&target->comment) && !target->post.deleted;
    if (shown && !kv_get(view->txn, TABLE_TARGET, &key, &body))
        view_corrupt(view);
    return view_text(view, reply->arena, body);
}

static void take_reacted(struct view *view, struct reply *reply, uint64_t id, uint64_t stamp)
{
    struct tidings_reacted_row *row = &reply->answer->u.reacted.rows[reply->answer->u.reacted.n++];
    struct target target;
    if (!target_find(view, reply->op->u.reactors.target, id, &target)) {
        view_corrupt(view);
        return;
    }
    bool on_post = target.kind == TIDINGS_TARGET_POST;
    *row = (struct tidings_reacted_row){
        .id = id,
        .at = id_time_ms(stamp),
        .post_id = target.post_id,
        .author_id = on_post ? target.post.author : target.comment.user,
        .text = on_post ? view_text(view, reply->arena, target.post.title)
                        : open_body(view, reply, &target),
        .is_deleted = target_is_gone(&target),
    };
}

enum tidings_err answer_reacted(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct list list = {
        .table = TABLE_USER,
        .prefix = key_reacted_list(op->user_id, op->u.reactors.target, op->u.reactors.reaction),
        .after = op->u.reactors.page.after.a,
        .limit = view_limit(view, &op->u.reactors.page),
    };
    reply->answer->u.reacted.rows =
        view_array(view, reply->arena, list.limit, sizeof *reply->answer->u.reacted.rows);
    reply->answer->u.reacted.next = page_through(view, &list, take_reacted, reply);
    return TIDINGS_OK;
}
