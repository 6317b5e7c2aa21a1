/* SPDX-License-Identifier: MIT */
/*
 * Posts. An author's posts are numbered 0, 1, 2 ...; publishing appends the id to the author's list
 * and touches no fan, however many there are. Deleting appends the number to the author's list of
 * deletions: with that one row the post is unread for nobody.
 */
#include <string.h>

#include "domain/ids.h"
#include "domain/markup.h"
#include "engine/local/rows/lists.h"
#include "engine/ops/target.h"

enum { RESULT_POST, RESULT_AUTHOR, RESULT_STORY }; /* call->result */

static void put_post(struct view *view, uint64_t id, const struct post_record *post)
{
    struct key key = key_id(id);
    struct bytes value = post_encode(post, view->scratch);
    if (value.p)
        kv_put(view->txn, TABLE_POST, &key, value.p, value.n);
    else
        kv_fail(view->txn, TIDINGS_NO_MEMORY);
}

static struct bytes bytes_of(struct tidings_text text)
{
    return (struct bytes){(const uint8_t *)text.p, text.n};
}

/* The body's row, and the excerpt of it, in the scratch arena, for the post's. */
static struct bytes put_body(struct view *view, uint64_t id, struct tidings_text body)
{
    struct key key = key_id(id);
    if (body.n)
        kv_put(view->txn, TABLE_BODY, &key, body.p, body.n);
    else
        kv_del(view->txn, TABLE_BODY, &key);

    size_t room = view->settings->excerpt_max * 4;
    char *excerpt = view_array(view, view->scratch, room, 1);
    if (!excerpt)
        return (struct bytes){NULL, 0};
    size_t n = markup_excerpt(body, view->settings->excerpt_max, excerpt, room);
    return (struct bytes){(const uint8_t *)excerpt, n};
}

/* What a deleted post had received leaves the author's counts with it, in one step. */
static void settle_author(struct view *view, uint64_t id, const struct post_record *post)
{
    struct user_record author = view_user(view, post->author);
    struct counts_record counts = view_counts(view, id);
    view_add(view, &author.posts, -1);
    view_add(view, &author.likes_received, -(int64_t)counts.likes);
    view_add(view, &author.favs_received, -(int64_t)counts.favs);
    view_put_user(view, post->author, &author);
    hot_leave(view, id, post, &counts);
}

static void count_post(struct view *view, uint64_t author)
{
    struct user_record user = view_user(view, author);
    view_add(view, &user.posts, +1);
    view_put_user(view, author, &user);
}

enum tidings_err apply_publish(struct view *view, struct tidings_call *call)
{
    uint64_t author = call->op->user_id, id = view->stamp;
    struct post_record post = {
        .kind = call->op->u.publish.kind,
        .author = author,
        .seq = view_head(view, author)->n_posts,
        .title = bytes_of(call->op->u.publish.title),
    };
    /* The numbers are used up long before the disk is, but an overrun must not wrap. */
    if (post.seq >= SPAN_OPEN - READMAP_POSTS)
        return TIDINGS_NO_SPACE;

    post.excerpt = put_body(view, id, call->op->u.publish.body);
    put_post(view, id, &post);
    list_add(view, &realm_posts, author, id);
    count_post(view, author);
    hot_enter(view, id, &post);
    view_event(view, TIDINGS_EVENT_POST_PUBLISHED, author, id, author, +1);
    call->result[RESULT_POST] = id;
    return TIDINGS_OK;
}

/* The post to be changed, its texts moved out of the transaction's memory. */
static enum tidings_err load_for_change(struct view *view, struct tidings_call *call, uint64_t id,
                                        struct post_record *post)
{
    call->result[RESULT_POST] = id;
    if (!view_post(view, id, post))
        return TIDINGS_NOT_FOUND;
    if (post->deleted)
        return TIDINGS_DELETED;
    post->title = bytes_of(view_text(view, view->scratch, post->title));
    post->excerpt = bytes_of(view_text(view, view->scratch, post->excerpt));
    return TIDINGS_OK;
}

static bool same(struct bytes stored, struct tidings_text wanted)
{
    return stored.n == wanted.n && (!wanted.n || !memcmp(stored.p, wanted.p, wanted.n));
}

static bool body_differs(struct view *view, uint64_t id, struct tidings_text wanted)
{
    struct key key = key_id(id);
    struct bytes body = {NULL, 0};
    kv_get(view->txn, TABLE_BODY, &key, &body);
    return !same(body, wanted);
}

enum tidings_err apply_edit(struct view *view, struct tidings_call *call)
{
    uint64_t id = call->op->u.edit.post_id;
    struct tidings_text title = call->op->u.edit.title, body = call->op->u.edit.body;
    struct post_record post;
    enum tidings_err err = load_for_change(view, call, id, &post);
    if (err)
        return err;
    if (post.author != call->op->user_id)
        return TIDINGS_FORBIDDEN;

    bool new_title = title.p && !same(post.title, title);
    bool new_body = body.p && body_differs(view, id, body);
    if (!new_title && !new_body)
        return TIDINGS_OK;
    if (new_title)
        post.title = bytes_of(title);
    if (new_body)
        post.excerpt = put_body(view, id, body);
    post.edited = view->stamp;
    put_post(view, id, &post);
    view_event(view, TIDINGS_EVENT_POST_EDITED, post.author, id, post.author, 0);
    return TIDINGS_OK;
}

enum tidings_err apply_delete(struct view *view, struct tidings_call *call)
{
    uint64_t id = call->op->u.post.post_id;
    struct post_record post;
    enum tidings_err err = load_for_change(view, call, id, &post);
    if (err)
        return err;
    if (post.author != call->op->user_id && call->op->role != TIDINGS_ROLE_ADMIN)
        return TIDINGS_FORBIDDEN;

    struct key key = key_id(id);
    post.deleted = true;
    post.removed = view->stamp;
    post.excerpt = (struct bytes){NULL, 0};
    put_post(view, id, &post);
    kv_del(view->txn, TABLE_BODY, &key);
    list_delete(view, &realm_posts, post.author, post.seq);
    if (post.kind == TIDINGS_STORY)
        story_close(view, id);
    settle_author(view, id, &post);
    call->result[RESULT_AUTHOR] = post.author;
    call->result[RESULT_STORY] = post.kind == TIDINGS_STORY ? id : 0;
    view_event(view, TIDINGS_EVENT_POST_DELETED, call->op->user_id, id, post.author, -1);
    return TIDINGS_OK;
}

/* ---- Answering ------------------------------------------------------------------------------ */

/* What people think of it, the viewer among them. */
static void fill_counts(struct view *view, const struct reply *reply, struct tidings_post *post)
{
    struct counts_record counts = view_counts(view, post->id);
    struct reaction_record mine = view_reaction(view, reply->op->user_id, post->id);
    post->counts = post_counts(view, &counts);
    post->liked = mine.stamp[TIDINGS_LIKE];
    post->faved = mine.stamp[TIDINGS_FAV];
}

enum tidings_err answer_publish(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    uint64_t id = reply->call->result[RESULT_POST];
    struct tidings_post *post = &reply->answer->u.post;
    *post = (struct tidings_post){
        .id = id,
        .author_id = op->user_id,
        .kind = op->u.publish.kind,
        .title = view_text(view, reply->arena, bytes_of(op->u.publish.title)),
        .body = view_text(view, reply->arena, bytes_of(op->u.publish.body)),
        .created_at = id_time_ms(id),
    };
    view_profile(view, post->author_id, reply->arena, &post->author_name, NULL);
    fill_counts(view, reply, post);
    return TIDINGS_OK;
}

enum tidings_err view_whole_post(struct view *view, struct reply *reply, uint64_t id,
                                 struct tidings_post *out)
{
    struct post_record post;
    struct key key = key_id(id);
    struct bytes body = {NULL, 0};
    if (!view_post(view, id, &post))
        return TIDINGS_NOT_FOUND;
    if (post.deleted) {
        reply->answer->title = view_text(view, reply->arena, post.title);
        return TIDINGS_DELETED;
    }
    kv_get(view->txn, TABLE_BODY, &key, &body);
    *out = (struct tidings_post){
        .id = id,
        .author_id = post.author,
        .kind = post.kind,
        .title = view_text(view, reply->arena, post.title),
        .body = view_text(view, reply->arena, body),
        .created_at = id_time_ms(id),
        .edited_at = post.edited ? id_time_ms(post.edited) : 0,
    };
    view_profile(view, post.author, reply->arena, &out->author_name, NULL);
    fill_counts(view, reply, out);
    return TIDINGS_OK;
}

enum tidings_err answer_edit(struct view *view, struct reply *reply)
{
    return view_whole_post(view, reply, reply->op->u.edit.post_id, &reply->answer->u.post);
}

enum tidings_err answer_delete(struct view *view, struct reply *reply)
{
    (void)view;
    reply->answer->u.deleted.author_id = reply->call->result[RESULT_AUTHOR];
    reply->answer->u.deleted.story_id = reply->call->result[RESULT_STORY];
    return TIDINGS_OK;
}

enum tidings_err answer_post(struct view *view, struct reply *reply)
{
    return view_whole_post(view, reply, reply->op->u.post.post_id, &reply->answer->u.post);
}
