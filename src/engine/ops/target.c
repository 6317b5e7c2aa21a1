/* SPDX-License-Identifier: MIT */
#include "engine/ops/target.h"

#include <string.h>

#include "domain/heat.h"
#include "domain/ids.h"

bool target_find(struct view *view, enum tidings_target kind, uint64_t id, struct target *target)
{
    target->kind = kind;
    target->id = target->post_id = id;
    if (kind == TIDINGS_TARGET_POST)
        return view_post(view, id, &target->post);
    if (!view_comment(view, id, &target->comment))
        return false;
    target->post_id = target->comment.post;
    if (view_post(view, target->post_id, &target->post))
        return true;
    view_corrupt(view);
    return false;
}

enum tidings_err target_look(struct view *view, struct reply *reply, enum tidings_target kind,
                             uint64_t id, struct target *target)
{
    if (!target_find(view, kind, id, target))
        return TIDINGS_NOT_FOUND;
    if (!target_is_gone(target) || reply->op->role == TIDINGS_ROLE_ADMIN)
        return TIDINGS_OK;
    reply->answer->title = view_text(view, reply->arena, target->post.title);
    return TIDINGS_DELETED;
}

struct reaction_record view_reaction(struct view *view, uint64_t user, uint64_t target)
{
    struct reaction_record reaction = {0};
    struct key key = key_vote(user, target);
    struct bytes value;
    if (kv_get(view->txn, TABLE_USER, &key, &value) && !reaction_decode(value, &reaction))
        view_corrupt(view);
    return reaction;
}

/* A row that is all key. */
static void put_mark(struct view *view, enum table table, const struct key *key)
{
    kv_put(view->txn, table, key, "", 0);
}

static bool same_key(const struct key *a, const struct key *b)
{
    return a->n == b->n && !memcmp(a->bytes, b->bytes, a->n);
}

/* ---- Posts ---------------------------------------------------------------------------------- */

struct counts_record view_counts(struct view *view, uint64_t post)
{
    struct counts_record counts = {0};
    struct key key = key_row(post, ROW_COUNTS);
    struct bytes value;
    if (kv_get(view->txn, TABLE_TARGET, &key, &value) && !counts_decode(value, &counts))
        view_corrupt(view);
    return counts;
}

struct tidings_counts post_counts(const struct view *view, const struct counts_record *counts)
{
    struct tidings_counts out = {
        .like_count = counts->likes,
        .fav_count = counts->favs,
        .comment_count = counts->comments,
    };
    out.hot_score = heat_post_score(view->settings, &out);
    return out;
}

struct key post_hot_key(const struct view *view, uint64_t id, const struct post_record *post,
                        const struct counts_record *counts)
{
    int64_t score = post_counts(view, counts).hot_score;
    return key_hot(post->kind, heat_post_key(view->settings, score, id_time_ms(id)), id);
}

void hot_enter(struct view *view, uint64_t id, const struct post_record *post)
{
    struct key key = post_hot_key(view, id, post, &(struct counts_record){0});
    put_mark(view, TABLE_HOT, &key);
}

void hot_leave(struct view *view, uint64_t id, const struct post_record *post,
               const struct counts_record *counts)
{
    struct key key = post_hot_key(view, id, post, counts);
    kv_del(view->txn, TABLE_HOT, &key);
}

void counts_change(struct view *view, uint64_t id, const struct post_record *post,
                   const struct counts_record *old, const struct counts_record *now)
{
    struct key row = key_row(id, ROW_COUNTS);
    uint8_t bytes[COUNTS_RECORD_MAX];
    if (now->likes || now->favs || now->comments)
        kv_put(view->txn, TABLE_TARGET, &row, bytes, counts_encode(now, bytes));
    else
        kv_del(view->txn, TABLE_TARGET, &row);
    struct key from = post_hot_key(view, id, post, old), to = post_hot_key(view, id, post, now);
    if (post->deleted || same_key(&from, &to))
        return;
    kv_del(view->txn, TABLE_HOT, &from);
    put_mark(view, TABLE_HOT, &to);
}

/* ---- Comments ------------------------------------------------------------------------------- */

bool view_comment(struct view *view, uint64_t id, struct comment_record *comment)
{
    struct key key = key_row(id, ROW_COMMENT);
    struct bytes value;
    if (!kv_get(view->txn, TABLE_TARGET, &key, &value))
        return false;
    if (!comment_decode(value, comment)) {
        view_corrupt(view);
        return false;
    }
    return true;
}

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

struct key comment_hot_key(const struct view *view, uint64_t id,
                           const struct comment_record *comment)
{
    int64_t score = comment_counts(view, comment).hot_score;
    return key_hot_reply(comment_parent(comment), heat_comment_key(score), id);
}

enum tidings_comment_status comment_folded(const struct view *view,
                                           const struct comment_record *comment)
{
    if (comment->moderated || comment->status == TIDINGS_COMMENT_DELETED)
        return comment->status;
    return heat_folds(view->settings, comment->likes, comment->downs) ? TIDINGS_COMMENT_HIDDEN
                                                                      : TIDINGS_COMMENT_VISIBLE;
}

/* The comment's own row and its place in the two lists of its parent. */
static void put_comment(struct view *view, uint64_t id, const struct comment_record *old,
                        const struct comment_record *now)
{
    bool was_listed = old && comment_is_listed(old), is_listed = comment_is_listed(now);
    struct key row = key_row(id, ROW_COMMENT), reply = key_reply(comment_parent(now), id);
    struct key to = comment_hot_key(view, id, now), from = to;
    uint8_t bytes[COMMENT_RECORD_MAX];
    if (old)
        from = comment_hot_key(view, id, old);

    kv_put(view->txn, TABLE_TARGET, &row, bytes, comment_encode(now, bytes));
    if (was_listed && !is_listed)
        kv_del(view->txn, TABLE_TARGET, &reply);
    if (is_listed && !was_listed)
        put_mark(view, TABLE_TARGET, &reply);
    if (was_listed && is_listed && same_key(&from, &to))
        return;
    if (was_listed)
        kv_del(view->txn, TABLE_TARGET, &from);
    if (is_listed)
        put_mark(view, TABLE_TARGET, &to);
}

/* Visible ones count for the post at every depth, so only the first change does. */
static void count_comment(struct view *view, uint64_t id, const struct post_record *post, int delta)
{
    if (!delta)
        return;
    struct counts_record old = view_counts(view, id), now = old;
    view_add(view, &now.comments, delta);
    counts_change(view, id, post, &old, &now);
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
        put_comment(view, id, exists ? &before : NULL, &after);
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

void comment_event(struct view *view, enum tidings_event_type type, uint64_t actor, uint64_t id,
                   const struct comment_record *comment, const struct post_record *post,
                   int64_t delta)
{
    view_write_event(view, &(struct tidings_event){
                               .type = type,
                               .actor_user_id = actor,
                               .target_id = id,
                               .author_id = post->author,
                               .delta = delta,
                               .post_id = comment->post,
                           });
}

void comment_show(struct view *view, struct reply *reply, uint64_t id,
                  const struct comment_record *comment, bool hidden_too,
                  struct tidings_comment *out)
{
    bool shown =
        comment_is_visible(comment) || (comment->status == TIDINGS_COMMENT_HIDDEN && hidden_too);
    struct key key = key_row(id, ROW_BODY);
    struct bytes body = {NULL, 0};
    if (shown && !kv_get(view->txn, TABLE_TARGET, &key, &body))
        view_corrupt(view);
    *out = (struct tidings_comment){
        .id = id,
        .post_id = comment->post,
        .parent_id = comment->parent,
        .user_id = comment->user,
        .body = view_text(view, reply->arena, body),
        .status = comment->status,
        .moderated = comment->moderated,
        .created_at = id_time_ms(id),
        .counts = comment_counts(view, comment),
    };
    struct reaction_record mine = view_reaction(view, reply->op->user_id, id);
    out->liked = mine.stamp[TIDINGS_LIKE];
    out->downvoted = mine.stamp[TIDINGS_DOWNVOTE];
    view_profile(view, comment->user, reply->arena, &out->user_name, NULL);
}
