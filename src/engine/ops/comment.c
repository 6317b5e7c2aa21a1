/* SPDX-License-Identifier: MIT */
/* Comments: writing, deleting, moderating, and their lists. What a change makes of counts and lists
 * is in target.c. */
#include "domain/bucket.h"
#include "domain/ids.h"
#include "engine/ops/target.h"

enum { RESULT_COMMENT }; /* call->result; a refused call's is the wait, or the post */

/* ---- Changing ------------------------------------------------------------------------------- */

/* The post and, if it is a reply, the comment that is answered. */
static enum tidings_err find_place(struct view *view, struct tidings_call *call,
                                   struct post_record *post)
{
    uint64_t post_id = call->op->u.comment.post_id, parent_id = call->op->u.comment.parent_id;
    struct comment_record parent = {0};
    if (!view_post(view, post_id, post))
        return TIDINGS_NOT_FOUND;
    if (!post->deleted && parent_id &&
        (!view_comment(view, parent_id, &parent) || parent.post != post_id))
        return TIDINGS_NOT_FOUND;
    if (!post->deleted && parent.status != TIDINGS_COMMENT_DELETED)
        return TIDINGS_OK;
    call->result[0] = post_id;
    return TIDINGS_DELETED;
}

enum tidings_err apply_comment(struct view *view, struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    struct user_record user = view_user(view, op->user_id);
    struct post_record post;
    struct bucket_rule rule = {
        .burst = (int64_t)view->settings->comment_burst,
        .refill_ms = (int64_t)view->settings->comment_refill_ms,
    };
    enum tidings_err err = view_take_token(view, call, &rule, &user.comment_full_at);
    if (!err)
        err = find_place(view, call, &post);
    if (err)
        return err;

    uint64_t id = view->stamp;
    struct key body = key_row(id, ROW_BODY);
    struct comment_record comment = {
        .status = TIDINGS_COMMENT_VISIBLE,
        .post = op->u.comment.post_id,
        .parent = op->u.comment.parent_id,
        .user = op->user_id,
    };
    kv_put(view->txn, TABLE_TARGET, &body, op->u.comment.body.p, op->u.comment.body.n);
    comment_change(view, id, &post, NULL, &comment);
    comment_event(view, TIDINGS_EVENT_COMMENT_CREATED, op->user_id, id, &comment, &post, +1);
    if (op->role == TIDINGS_ROLE_USER)
        view_put_user(view, op->user_id, &user);
    call->result[RESULT_COMMENT] = id;
    return TIDINGS_OK;
}

/* A comment that may be changed: there, and neither it nor its post deleted. */
static enum tidings_err find_comment(struct view *view, struct tidings_call *call,
                                     struct target *target)
{
    if (!target_find(view, TIDINGS_TARGET_COMMENT, call->op->u.comment_id.comment_id, target))
        return TIDINGS_NOT_FOUND;
    call->result[0] = target->post_id;
    if (target_is_gone(target))
        return TIDINGS_DELETED;
    call->result[RESULT_COMMENT] = target->id;
    return TIDINGS_OK;
}

enum tidings_err apply_comment_delete(struct view *view, struct tidings_call *call)
{
    struct target target;
    enum tidings_err err = find_comment(view, call, &target);
    if (err)
        return err;
    if (target.comment.user != call->op->user_id && call->op->role != TIDINGS_ROLE_ADMIN)
        return TIDINGS_FORBIDDEN;

    struct key body = key_row(target.id, ROW_BODY);
    struct comment_record now = target.comment;
    now.status = TIDINGS_COMMENT_DELETED;
    kv_del(view->txn, TABLE_TARGET, &body);
    comment_change(view, target.id, &target.post, &target.comment, &now);
    comment_event(view, TIDINGS_EVENT_COMMENT_DELETED, call->op->user_id, target.id, &now,
                  &target.post, -comment_is_visible(&target.comment));
    return TIDINGS_OK;
}

/* A moderator's word sticks, also where it changes nothing now. */
static enum tidings_err moderate(struct view *view, struct tidings_call *call,
                                 enum tidings_comment_status status)
{
    struct target target;
    if (call->op->role != TIDINGS_ROLE_ADMIN)
        return TIDINGS_FORBIDDEN;
    enum tidings_err err = find_comment(view, call, &target);
    if (err)
        return err;
    struct comment_record now = target.comment;
    now.moderated = true;
    now.status = status;
    bool changed = now.status != target.comment.status;
    if (changed || !target.comment.moderated)
        comment_change(view, target.id, &target.post, &target.comment, &now);
    if (changed)
        comment_event(view,
                      status == TIDINGS_COMMENT_HIDDEN ? TIDINGS_EVENT_COMMENT_HIDDEN
                                                       : TIDINGS_EVENT_COMMENT_RESTORED,
                      call->op->user_id, target.id, &now, &target.post,
                      status == TIDINGS_COMMENT_HIDDEN ? -1 : +1);
    return TIDINGS_OK;
}

enum tidings_err apply_comment_hide(struct view *view, struct tidings_call *call)
{
    return moderate(view, call, TIDINGS_COMMENT_HIDDEN);
}

enum tidings_err apply_comment_restore(struct view *view, struct tidings_call *call)
{
    return moderate(view, call, TIDINGS_COMMENT_VISIBLE);
}

/* ---- Answering ------------------------------------------------------------------------------ */

/* To whoever wrote it or has power over it, so with its body. */
enum tidings_err answer_comment(struct view *view, struct reply *reply)
{
    uint64_t id = reply->call->result[RESULT_COMMENT];
    struct comment_record comment;
    if (view_comment(view, id, &comment))
        comment_show(view, reply, id, &comment, true, &reply->answer->u.comment);
    else
        view_corrupt(view);
    return TIDINGS_OK;
}

/* A way through one of a parent's two lists. */
struct walk {
    struct key prefix; /* of the rows */
    struct key from;   /* the first row may be here, ... */
    bool backwards;    /* ... or just below it */
    bool by_heat;
};

static struct walk walk_by_heat(uint64_t parent, struct tidings_cursor after)
{
    struct walk walk = {.prefix = key_row(parent, ROW_HOT), .by_heat = true};
    walk.from = walk.prefix;
    if (after.a)
        walk.from = after.b ? key_hot_reply(parent, after.a, after.b - 1)
                            : key_hot_reply(parent, after.a - 1, ID_MASK);
    return walk;
}

static struct walk walk_by_time(uint64_t parent, bool newest_first, uint64_t after)
{
    struct walk walk = {.prefix = key_row(parent, ROW_REPLY), .backwards = newest_first};
    if (newest_first)
        walk.from = key_reply(parent, after ? after : ID_MASK);
    else
        walk.from = key_reply(parent, after + 1);
    return walk;
}

static bool walk_on(struct view *view, const struct walk *walk, bool first, struct bytes *key)
{
    struct bytes value;
    bool found;
    if (first)
        found = walk->backwards ? kv_seek_below(view->txn, TABLE_TARGET, &walk->from, key, &value)
                                : kv_seek(view->txn, TABLE_TARGET, &walk->from, key, &value);
    else
        found = walk->backwards ? kv_prev(view->txn, TABLE_TARGET, key, &value)
                                : kv_next(view->txn, TABLE_TARGET, key, &value);
    if (!found || !key_has_prefix(*key, &walk->prefix))
        return false;
    if (key->n == (size_t)walk->prefix.n + (walk->by_heat ? 2 : 1) * ID_BYTES)
        return true;
    view_corrupt(view);
    return false;
}

/* Where the row stands: {heat, id} or {id, 0}. */
static struct tidings_cursor place_of(const struct walk *walk, struct bytes key)
{
    const uint8_t *at = key.p + walk->prefix.n;
    if (!walk->by_heat)
        return (struct tidings_cursor){get_id(at), 0};
    return (struct tidings_cursor){get_id_descending(at), get_id_descending(at + ID_BYTES)};
}

static void fill_page(struct view *view, struct reply *reply, const struct walk *walk, size_t limit)
{
    struct tidings_comment *rows = reply->answer->u.comments.rows;
    struct tidings_cursor last = {0, 0};
    struct comment_record comment;
    struct bytes key;
    size_t n = 0;
    for (bool more = walk_on(view, walk, true, &key); more && !view_failed(view);
         more = walk_on(view, walk, false, &key)) {
        if (n == limit) {
            reply->answer->u.comments.next = last;
            break;
        }
        last = place_of(walk, key);
        uint64_t id = walk->by_heat ? last.b : last.a;
        if (view_comment(view, id, &comment))
            comment_show(view, reply, id, &comment, reply->op->u.comments.include_hidden,
                         &rows[n++]);
        else
            view_corrupt(view);
    }
    reply->answer->u.comments.n = n;
}

enum tidings_err answer_comments(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    uint64_t post_id = op->u.comments.post_id, parent_id = op->u.comments.parent_id;
    struct tidings_cursor after = op->u.comments.page.after;
    struct comment_record parent;
    struct target post;
    enum tidings_err err = target_look(view, reply, TIDINGS_TARGET_POST, post_id, &post);
    if (err)
        return err;
    if (parent_id && (!view_comment(view, parent_id, &parent) || parent.post != post_id))
        return TIDINGS_NOT_FOUND;

    size_t limit = view_limit(view, &op->u.comments.page);
    uint64_t under = parent_id ? parent_id : post_id;
    struct walk walk = op->u.comments.sort == TIDINGS_HOT
                           ? walk_by_heat(under, after)
                           : walk_by_time(under, op->u.comments.sort == TIDINGS_NEW, after.a);
    reply->answer->u.comments.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.comments.rows);
    if (!view_failed(view))
        fill_page(view, reply, &walk, limit);
    return TIDINGS_OK;
}
