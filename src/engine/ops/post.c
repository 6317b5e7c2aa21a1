/* SPDX-License-Identifier: MIT */
/*
 * Posts. An author's posts are numbered 0, 1, 2 ...; publishing appends the id to the author's list
 * and touches no fan, however many there are. Deleting appends the number to the author's list of
 * deletions: with that the post is unread for nobody.
 */
#include "engine/ops/post.h"

#include "domain/ids.h"
#include "domain/markup.h"
#include "domain/permit.h"
#include "engine/ops/halves.h"
#include "engine/ops/target.h"

/* ---- Changing ------------------------------------------------------------------------------- */

/* The body, and the excerpt of it, in the scratch arena, for the post. */
static struct bytes put_body(struct view *view, uint64_t id, struct tidings_text body)
{
    view->rows->put_body(view, id, bytes_of(body));
    size_t room = view->settings->excerpt_max * 4;
    char *excerpt = view_array(view, view->scratch, room, 1);
    if (!excerpt)
        return (struct bytes){NULL, 0};
    size_t n = markup_excerpt(body, view->settings->excerpt_max, excerpt, room);
    return (struct bytes){(const uint8_t *)excerpt, n};
}

/* What a deleted post had received leaves the author's counts with it, in one step. */
static void uncount_post(struct view *view, uint64_t id, const struct post_record *post)
{
    struct user_record author = view_user(view, post->author);
    struct counts_record counts = view->rows->get_counts(view, id);
    view_add(view, &author.posts, -1);
    view_add(view, &author.likes_received, -(int64_t)counts.likes);
    view_add(view, &author.favs_received, -(int64_t)counts.favs);
    view_put_user(view, post->author, &author);
    view->rows->put_counts(view, id, post, &counts, NULL);
}

enum tidings_err change_publish(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    uint64_t author = op->user_id, id = view->stamp;
    struct user_record user = view_user(view, author);
    enum tidings_err err = view_take_token(view, reply, BUCKET_PUBLISH, &user);
    if (err)
        return err;
    struct post_record post = {
        .kind = op->u.publish.kind,
        .author = author,
        .seq = view_head(view, REALM_POSTS, author)->n_posts,
        .title = bytes_of(op->u.publish.title),
        .extra = bytes_of(op->u.publish.extra),
    };
    /* The numbers are used up long before the disk is, but an overrun must not wrap. */
    if (post.seq >= SPAN_OPEN - READMAP_POSTS)
        return TIDINGS_NO_SPACE;

    post.excerpt = put_body(view, id, op->u.publish.body);
    view->rows->put_post(view, id, &post);
    view->rows->add_number(view, REALM_POSTS, author, id);
    view_add(view, &user.posts, +1);
    view_put_user(view, author, &user);
    view->rows->put_counts(view, id, &post, NULL, &(struct counts_record){0});
    view_event(view, TIDINGS_EVENT_POST_PUBLISHED, author, id, author, +1);
    reply->answer->u.post.id = id;
    return TIDINGS_OK;
}

enum tidings_err refuse_deleted(struct view *view, struct reply *reply, struct bytes title)
{
    reply->answer->title = view_text(view, reply->arena, title);
    return TIDINGS_DELETED;
}

/* The post to be changed, its texts kept over the first put. */
static enum tidings_err load_for_change(struct view *view, struct reply *reply, uint64_t id,
                                        struct post_record *post)
{
    if (!view_post(view, id, post))
        return TIDINGS_NOT_FOUND;
    if (post->deleted)
        return refuse_deleted(view, reply, post->title);
    post->title = view_keep(view, post->title);
    post->excerpt = view_keep(view, post->excerpt);
    post->extra = view_keep(view, post->extra);
    return TIDINGS_OK;
}

enum tidings_err change_edit(struct view *view, struct reply *reply)
{
    uint64_t id = reply->op->u.edit.post_id;
    struct tidings_text title = reply->op->u.edit.title, body = reply->op->u.edit.body;
    struct tidings_text extra = reply->op->u.edit.extra;
    struct post_record post;
    enum tidings_err err = load_for_change(view, reply, id, &post);
    if (err)
        return err;
    if (!permits_author(reply->op, post.author))
        return TIDINGS_FORBIDDEN;

    bool new_title = title.p && !bytes_same(post.title, bytes_of(title));
    bool new_body = body.p && !bytes_same(view->rows->get_body(view, id), bytes_of(body));
    bool new_extra = extra.p && !bytes_same(post.extra, bytes_of(extra));
    if (!new_title && !new_body && !new_extra)
        return TIDINGS_OK;
    if (new_title)
        post.title = bytes_of(title);
    if (new_body)
        post.excerpt = put_body(view, id, body);
    if (new_extra)
        post.extra = bytes_of(extra);
    post.edited = view->stamp;
    view->rows->put_post(view, id, &post);
    view_event(view, TIDINGS_EVENT_POST_EDITED, post.author, id, post.author, 0);
    return TIDINGS_OK;
}

enum tidings_err change_delete(struct view *view, struct reply *reply)
{
    uint64_t id = reply->op->u.post.post_id, actor = reply->op->user_id;
    struct post_record post;
    enum tidings_err err = load_for_change(view, reply, id, &post);
    if (err)
        return err;
    if (!permits_author_or_admin(reply->op, post.author))
        return TIDINGS_FORBIDDEN;

    bool story = post.kind == TIDINGS_STORY;
    post.deleted = true;
    post.removed = view->stamp;
    post.excerpt = post.extra = (struct bytes){NULL, 0};
    view->rows->put_post(view, id, &post);
    view->rows->put_body(view, id, (struct bytes){NULL, 0});
    view->rows->add_deletion(view, REALM_POSTS, post.author, post.seq);
    if (story)
        view->rows->close_story(view, id);
    uncount_post(view, id, &post);
    reply->answer->u.deleted.author_id = post.author;
    reply->answer->u.deleted.story_id = story ? id : 0;
    view_event(view, TIDINGS_EVENT_POST_DELETED, actor, id, post.author, -1);
    if (story)
        view_event(view, TIDINGS_EVENT_STORY_CLOSED, actor, id, post.author, 0);
    return TIDINGS_OK;
}

/* ---- Answering ------------------------------------------------------------------------------ */

/* What people think of it, the viewer among them. */
static void fill_counts(struct view *view, const struct reply *reply, struct tidings_post *post)
{
    struct counts_record counts = view->rows->get_counts(view, post->id);
    struct reaction_record mine = view->rows->get_reaction(view, reply->op->user_id, post->id);
    post->counts = post_counts(view, &counts);
    post->liked = mine.stamp[TIDINGS_LIKE];
    post->faved = mine.stamp[TIDINGS_FAV];
}

enum tidings_err answer_publish(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct tidings_post *post = &reply->answer->u.post;
    post->author_id = op->user_id;
    post->kind = op->u.publish.kind;
    post->title = view_text(view, reply->arena, bytes_of(op->u.publish.title));
    post->body = view_text(view, reply->arena, bytes_of(op->u.publish.body));
    post->extra = view_text(view, reply->arena, bytes_of(op->u.publish.extra));
    post->created_at = view_time(view, post->id);
    view_profile(view, post->author_id, reply->arena, &post->author_name, NULL);
    fill_counts(view, reply, post);
    return TIDINGS_OK;
}

static void fill_post(struct view *view, struct reply *reply, uint64_t id,
                      const struct post_record *post, struct tidings_post *out)
{
    *out = (struct tidings_post){
        .id = id,
        .author_id = post->author,
        .kind = post->kind,
        .title = view_text(view, reply->arena, post->title),
        .body = view_text(view, reply->arena, view->rows->get_body(view, id)),
        .extra = view_text(view, reply->arena, post->extra),
        .created_at = view_time(view, id),
        .edited_at = post->edited ? view_time(view, post->edited) : 0,
    };
    view_profile(view, post->author, reply->arena, &out->author_name, NULL);
    fill_counts(view, reply, out);
}

enum tidings_err answer_whole_post(struct view *view, struct reply *reply, uint64_t id,
                                   struct tidings_post *out)
{
    struct post_record post;
    if (!view_post(view, id, &post))
        return TIDINGS_NOT_FOUND;
    if (post.deleted)
        return refuse_deleted(view, reply, post.title);
    fill_post(view, reply, id, &post, out);
    return TIDINGS_OK;
}

enum tidings_err answer_edit(struct view *view, struct reply *reply)
{
    return answer_whole_post(view, reply, reply->op->u.edit.post_id, &reply->answer->u.post);
}

static struct tidings_text key_of(struct view *view, struct reply *reply, uint64_t id)
{
    return view_text(view, reply->arena, view->rows->get_post_key(view, id));
}

/* Others that show a post do not look for its key. */
static enum tidings_err answer_with_key(struct view *view, struct reply *reply, uint64_t id)
{
    struct tidings_post *post = &reply->answer->u.post;
    enum tidings_err err = answer_whole_post(view, reply, id, post);
    if (!err)
        post->key = key_of(view, reply, id);
    return err;
}

enum tidings_err answer_post(struct view *view, struct reply *reply)
{
    return answer_with_key(view, reply, reply->op->u.post.post_id);
}

enum tidings_err answer_post_by_key(struct view *view, struct reply *reply)
{
    uint64_t id = view->rows->get_key(view, KEY_POST, bytes_of(reply->op->u.key.key));
    if (!id)
        return TIDINGS_NOT_FOUND;
    return answer_with_key(view, reply, id);
}

static struct tidings_post_row post_row(struct view *view, struct reply *reply, uint64_t id)
{
    struct tidings_post_row row = {.post.id = id};
    struct post_record post;
    if (!view_post(view, id, &post))
        row.err = TIDINGS_NOT_FOUND;
    else if (post.deleted)
        row.err = TIDINGS_DELETED;
    else
        fill_post(view, reply, id, &post, &row.post);
    if (row.err != TIDINGS_NOT_FOUND)
        row.post.key = key_of(view, reply, id);
    return row;
}

enum tidings_err answer_post_many(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    size_t n = op->u.posts.n_post_ids;
    struct tidings_post_row *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; rows && i < n && !view_failed(view); i++)
        rows[i] = post_row(view, reply, op->u.posts.post_ids[i]);
    reply->answer->u.post_many.rows = rows;
    reply->answer->u.post_many.n = n;
    return TIDINGS_OK;
}
