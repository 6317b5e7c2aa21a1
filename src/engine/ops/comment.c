/* SPDX-License-Identifier: MIT */
/*
 * Comments: writing, deleting, moderating, folding, and their lists. A vote, a fold, a moderator, a deletion and a new
 * reply are all calls of comment_change with different records, so that record, lists and counts cannot part.
 */
#include "domain/heat.h"
#include "domain/ids.h"
#include "domain/permit.h"
#include "engine/ops/halves.h"
#include "engine/ops/post.h"
#include "engine/ops/target.h"

/* ---- What follows from a comment's record ---------------------------------------------------- */

struct tidings_counts comment_counts(const struct view *view, const struct comment_record *comment)
{
    struct tidings_counts out = {
        .like_count = comment->likes,
        .down_count = comment->downs,
        .reply_count = comment->replies,
    };
    out.hot_score = heat_comment_score(view->settings, &out);
    return out;
}

uint64_t comment_heat(const struct view *view, const struct comment_record *comment)
{
    return heat_comment_key(comment_counts(view, comment).hot_score);
}

enum tidings_comment_status comment_folded(const struct view *view,
                                           const struct comment_record *comment)
{
    if (comment->moderated || comment->status == TIDINGS_COMMENT_DELETED)
        return comment->status;
    return heat_folds(view->settings, comment->likes, comment->downs) ? TIDINGS_COMMENT_HIDDEN
                                                                      : TIDINGS_COMMENT_VISIBLE;
}

/* ---- Changing ------------------------------------------------------------------------------- */

/* Visible ones count for the post at every depth, so only the first change does. */
static void count_comment(struct view *view, uint64_t id, const struct post_record *post, int delta)
{
    if (!delta)
        return;
    struct counts_record old = view->rows->get_counts(view, id), now = old;
    view_add(view, &now.comments, delta);
    view->rows->put_counts(view, id, post, &old, &now);
}

/* A change in what is visible changes the parent's count; one in what is listed may take a deleted
 * parent out of its list, and so on upwards. Each comment leaves once, so this is cheap in the long
 * run whatever the depth. */
void comment_change(struct view *view, uint64_t id, const struct post_record *post,
                    const struct comment_record *old, const struct comment_record *now)
{
    struct comment_record before, after = *now;
    bool exists = old;
    if (exists)
        before = *old;
    count_comment(view, now->post, post,
                  comment_is_visible(now) - (old && comment_is_visible(old)));
    while (!view_failed(view)) {
        view->rows->put_comment(view, id, exists ? &before : NULL, &after);
        int visible = comment_is_visible(&after) - (exists && comment_is_visible(&before));
        int listed = comment_is_listed(&after) - (exists && comment_is_listed(&before));
        if (!after.parent || (!visible && !listed))
            return;
        if (after.parent >= id || !view_comment(view, after.parent, &before)) {
            view_corrupt(view);
            return;
        }
        id = after.parent;
        after = before;
        exists = true;
        view_add(view, &after.replies, visible);
        view_add(view, &after.listed, listed);
    }
}

void comment_tell(struct view *view, enum tidings_event_type type, uint64_t actor,
                  const struct target *target, int64_t delta)
{
    view_tell(view, (struct tidings_event){
                        .type = type,
                        .actor_user_id = actor,
                        .target_id = target->id,
                        .author_id = target->post.author,
                        .delta = delta,
                        .post_id = target->post_id,
                    });
}

/* Hidden or restored. */
static void tell_status(struct view *view, uint64_t actor, const struct target *target,
                        enum tidings_comment_status status)
{
    bool hidden = status == TIDINGS_COMMENT_HIDDEN;
    comment_tell(view, hidden ? TIDINGS_EVENT_COMMENT_HIDDEN : TIDINGS_EVENT_COMMENT_RESTORED,
                 actor, target, hidden ? -1 : +1);
}

void comment_judge(struct view *view, uint64_t actor, const struct target *target,
                   struct comment_record *now)
{
    now->status = comment_folded(view, now);
    comment_change(view, target->id, &target->post, &target->comment, now);
    if (now->status != target->comment.status)
        tell_status(view, actor, target, now->status);
}

/* The post and, if it is a reply, the comment that is answered. */
static enum tidings_err find_place(struct view *view, struct reply *reply, struct target *target)
{
    uint64_t post_id = reply->op->u.comment.post_id, parent_id = reply->op->u.comment.parent_id;
    struct comment_record parent = {0};
    if (!view_post(view, post_id, &target->post))
        return TIDINGS_NOT_FOUND;
    if (!target->post.deleted && parent_id &&
        (!view_comment(view, parent_id, &parent) || parent.post != post_id))
        return TIDINGS_NOT_FOUND;
    if (target->post.deleted || parent.status == TIDINGS_COMMENT_DELETED)
        return refuse_deleted(view, reply, target->post.title);
    return TIDINGS_OK;
}

enum tidings_err change_comment(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct user_record user = view_user(view, op->user_id);
    struct target target = {.kind = TIDINGS_TARGET_COMMENT,
                            .id = view->stamp,
                            .post_id = op->u.comment.post_id,
                            .comment = {
                                .status = TIDINGS_COMMENT_VISIBLE,
                                .post = op->u.comment.post_id,
                                .parent = op->u.comment.parent_id,
                                .user = op->user_id,
                            }};
    enum tidings_err err = view_take_token(view, reply, BUCKET_COMMENT, &user);
    if (!err)
        err = find_place(view, reply, &target);
    if (err)
        return err;

    view->rows->put_comment_body(view, target.id, bytes_of(op->u.comment.body));
    comment_change(view, target.id, &target.post, NULL, &target.comment);
    comment_tell(view, TIDINGS_EVENT_COMMENT_CREATED, op->user_id, &target, +1);
    if (op->role == TIDINGS_ROLE_USER)
        view_put_user(view, op->user_id, &user);
    reply->answer->u.comment.id = target.id;
    return TIDINGS_OK;
}

/* A comment that may be changed: there, and neither it nor its post deleted. */
static enum tidings_err find_comment(struct view *view, struct reply *reply, struct target *target)
{
    if (!target_find(view, TIDINGS_TARGET_COMMENT, reply->op->u.comment_id.comment_id, target))
        return TIDINGS_NOT_FOUND;
    if (target_is_gone(target))
        return refuse_deleted(view, reply, target->post.title);
    return TIDINGS_OK;
}

enum tidings_err change_comment_delete(struct view *view, struct reply *reply)
{
    struct target target;
    enum tidings_err err = find_comment(view, reply, &target);
    if (err)
        return err;
    if (!permits_author_or_admin(reply->op, target.comment.user))
        return TIDINGS_FORBIDDEN;

    struct comment_record now = target.comment;
    now.status = TIDINGS_COMMENT_DELETED;
    view->rows->put_comment_body(view, target.id, (struct bytes){NULL, 0});
    comment_change(view, target.id, &target.post, &target.comment, &now);
    comment_tell(view, TIDINGS_EVENT_COMMENT_DELETED, reply->op->user_id, &target,
                 -comment_is_visible(&target.comment));
    return TIDINGS_OK;
}

/* A moderator's word sticks, also where it changes nothing now. */
static enum tidings_err moderate(struct view *view, struct reply *reply,
                                 enum tidings_comment_status status)
{
    struct target target;
    if (!permits_admin(reply->op))
        return TIDINGS_FORBIDDEN;
    enum tidings_err err = find_comment(view, reply, &target);
    if (err)
        return err;
    struct comment_record now = target.comment;
    now.moderated = true;
    now.status = status;
    bool changed = now.status != target.comment.status;
    if (changed || !target.comment.moderated)
        comment_change(view, target.id, &target.post, &target.comment, &now);
    if (changed)
        tell_status(view, reply->op->user_id, &target, status);
    reply->answer->u.comment.id = target.id;
    return TIDINGS_OK;
}

enum tidings_err change_comment_hide(struct view *view, struct reply *reply)
{
    return moderate(view, reply, TIDINGS_COMMENT_HIDDEN);
}

enum tidings_err change_comment_restore(struct view *view, struct reply *reply)
{
    return moderate(view, reply, TIDINGS_COMMENT_VISIBLE);
}

/* ---- Answering ------------------------------------------------------------------------------ */

/* As an answer shows it to the viewer, with the body of a hidden one only if that is wanted. */
static void fill_comment(struct view *view, struct reply *reply, uint64_t id, bool hidden_too,
                         struct tidings_comment *out)
{
    struct comment_record comment;
    struct bytes body = {NULL, 0};
    if (!view_comment(view, id, &comment)) {
        view_corrupt(view);
        return;
    }
    bool shown =
        comment_is_visible(&comment) || (comment.status == TIDINGS_COMMENT_HIDDEN && hidden_too);
    if (shown && !view->rows->get_comment_body(view, id, &body))
        view_corrupt(view);
    *out = (struct tidings_comment){
        .id = id,
        .post_id = comment.post,
        .parent_id = comment.parent,
        .user_id = comment.user,
        .body = view_text(view, reply->arena, body),
        .status = comment.status,
        .moderated = comment.moderated,
        .created_at = view_time(view, id),
        .counts = comment_counts(view, &comment),
    };
    struct reaction_record mine = view->rows->get_reaction(view, reply->op->user_id, id);
    out->liked = mine.stamp[TIDINGS_LIKE];
    out->downvoted = mine.stamp[TIDINGS_DOWNVOTE];
    view_profile(view, comment.user, reply->arena, &out->user_name, NULL);
}

/* To whoever wrote it or has power over it, so with its body. */
enum tidings_err answer_comment(struct view *view, struct reply *reply)
{
    struct tidings_comment *comment = &reply->answer->u.comment;
    fill_comment(view, reply, comment->id, true, comment);
    return TIDINGS_OK;
}

enum tidings_err answer_comments(struct view *view, struct reply *reply)
{
    static const enum list_kind by_sort[] = {
        [TIDINGS_HOT] = LIST_COMMENTS_HOT,
        [TIDINGS_NEW] = LIST_COMMENTS_NEW,
        [TIDINGS_OLD] = LIST_COMMENTS_OLD,
    };
    const struct tidings_op *op = reply->op;
    uint64_t post_id = op->u.comments.post_id, parent_id = op->u.comments.parent_id;
    struct comment_record parent;
    struct target post;
    struct place *places;
    enum tidings_err err = target_look(view, reply, TIDINGS_TARGET_POST, post_id, &post);
    if (err)
        return err;
    if (parent_id && (!view_comment(view, parent_id, &parent) || parent.post != post_id))
        return TIDINGS_NOT_FOUND;

    struct list list = {.kind = by_sort[op->u.comments.sort],
                        .of = parent_id ? parent_id : post_id};
    size_t n =
        view_page(view, &list, &op->u.comments.page, &places, &reply->answer->u.comments.next);
    struct tidings_comment *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; i < n && !view_failed(view); i++)
        fill_comment(view, reply, places[i].id, op->u.comments.include_hidden, &rows[i]);
    reply->answer->u.comments.rows = rows;
    reply->answer->u.comments.n = n;
    return TIDINGS_OK;
}
