/* SPDX-License-Identifier: MIT */
/* Posts; see post.c. */
#include "model.h"

#include <string.h>

struct model_post *model_post(const struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->n_posts; i++) {
        if (model->posts[i].id == id)
            return &model->posts[i];
    }
    return NULL;
}

void model_show_post(struct model *model, const struct model_post *post, uint64_t viewer,
                     struct tidings_post *shown)
{
    shown->id = post->id;
    shown->author_id = post->author_id;
    shown->author_name = model_user(model, post->author_id)->name;
    shown->kind = post->kind;
    shown->title = post->title;
    shown->body = post->body;
    shown->extra = post->extra;
    shown->created_at = post->created_at;
    shown->edited_at = post->edited_at;
    shown->counts = model_post_counts(model, post);
    shown->liked = model_has_reaction(&post->reactions, viewer, TIDINGS_LIKE);
    shown->faved = model_has_reaction(&post->reactions, viewer, TIDINGS_FAV);
}

struct model_post *model_living_post(struct model *model, uint64_t id, struct model_answer *answer)
{
    struct model_post *post = model_post(model, id);

    if (post == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
        return NULL;
    }
    if (post->deleted) {
        answer->err = TIDINGS_DELETED;
        answer->title = post->title;
        return NULL;
    }
    return post;
}

/* Room for one more post, and a cell for it at every user. */
static void grow_posts(struct model *model)
{
    size_t room = model->posts_room * 2 + 64;

    if (model->n_posts < model->posts_room)
        return;
    model->posts = model_room(model->posts, room, sizeof *model->posts);
    for (size_t i = 0; i < model->n_users; i++) {
        struct model_user *user = model->users[i];

        user->cells = model_room(user->cells, room, sizeof *user->cells);
        memset(user->cells + model->posts_room, 0,
               (room - model->posts_room) * sizeof *user->cells);
    }
    model->posts_room = room;
}

bool write_publish(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    int64_t t = call->t;
    const struct tidings_op *op = call->op;
    struct model_bucket bucket = {&model_user(model, op->user_id)->publish_full_at,
                                  (int64_t)model->settings.publish_burst,
                                  (int64_t)model->settings.publish_refill_ms, 0};
    struct model_post *post;

    if (!model_bucket_has(&bucket, op, t, answer))
        return false;
    model_bucket_take(&bucket, op, t);
    grow_posts(model);
    post = &model->posts[model->n_posts++];
    *post = (struct model_post){
        .id = call->new_post_id,
        .author_id = op->user_id,
        .kind = op->u.publish.kind,
        .title = model_copy(op->u.publish.title),
        .body = model_copy(op->u.publish.body),
        .extra = model_copy(op->u.publish.extra),
        .excerpt = model_excerpt(op->u.publish.body, model->settings.excerpt_max),
        .created_at = t,
    };
    if (post->id > model->newest_id)
        model->newest_id = post->id;
    for (size_t i = 0; i < model->n_follows; i++) {
        if (model->follows[i].author == op->user_id)
            model_cell(model, model_user(model, model->follows[i].fan), post)->delivered = true;
    }
    model_event(model, TIDINGS_EVENT_POST_PUBLISHED, t, op->user_id, post->id, op->user_id, +1);
    model_show_post(model, post, op->user_id, &answer->post);
    return true;
}

bool write_edit(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    struct model_post *post = model_living_post(model, op->u.edit.post_id, answer);
    struct tidings_text title = op->u.edit.title;
    struct tidings_text body = op->u.edit.body;
    struct tidings_text extra = op->u.edit.extra;
    bool changed = false;

    if (post == NULL)
        return false;
    if (post->author_id != op->user_id) {
        answer->err = TIDINGS_FORBIDDEN;
        return false;
    }
    if (title.p != NULL && !model_same_text(post->title, title)) {
        model_set_text(&post->title, title);
        changed = true;
    }
    if (body.p != NULL && !model_same_text(post->body, body)) {
        model_set_text(&post->body, body);
        model_drop(post->excerpt);
        post->excerpt = model_excerpt(body, model->settings.excerpt_max);
        changed = true;
    }
    if (extra.p != NULL && !model_same_text(post->extra, extra)) {
        model_set_text(&post->extra, extra);
        changed = true;
    }
    if (changed) {
        post->edited_at = t;
        model_event(model, TIDINGS_EVENT_POST_EDITED, t, op->user_id, post->id, post->author_id, 0);
    }
    model_show_post(model, post, op->user_id, &answer->post);
    return true;
}

bool write_delete(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    struct model_post *post = model_living_post(model, op->u.post.post_id, answer);

    if (post == NULL)
        return false;
    if (post->author_id != op->user_id && op->role != TIDINGS_ROLE_ADMIN) {
        answer->err = TIDINGS_FORBIDDEN;
        return false;
    }
    post->deleted = true;
    answer->deleted_author_id = post->author_id;
    answer->deleted_story_id = post->kind == TIDINGS_STORY ? post->id : 0;
    model_set_text(&post->body, (struct tidings_text){"", 0});
    model_set_text(&post->excerpt, (struct tidings_text){"", 0});
    model_set_text(&post->extra, (struct tidings_text){"", 0});
    model_event(model, TIDINGS_EVENT_POST_DELETED, t, op->user_id, post->id, post->author_id, -1);
    return true;
}

bool write_open(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    struct model_post *post = model_living_post(model, op->u.post.post_id, answer);
    struct model_user *user = model_user(model, op->user_id);
    struct model_cell *cell;
    bool wrote = false;

    if (post == NULL)
        return false;
    cell = model_cell(model, user, post);
    if (!cell->in_history) {
        model_enter_history(model, cell, t);
        wrote = true;
    }
    if (!cell->is_read) {
        cell->is_read = true;
        cell->read_at = t;
        if (model->settings.read_events)
            model_event(model, TIDINGS_EVENT_POST_READ, t, user->id, post->id, post->author_id, +1);
    }
    model_show_post(model, post, op->user_id, &answer->post);
    answer->total = model_unread(model, user, 0);
    answer->unread_author = model_unread(model, user, post->author_id);
    return wrote;
}

void read_post(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_post *found = model_post(model, op->u.post.post_id);

    if (found == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
    } else if (found->deleted) {
        answer->err = TIDINGS_DELETED;
        answer->title = found->title;
    } else {
        model_show_post(model, found, op->user_id, &answer->post);
    }
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static bool title_ok(const struct model *model, struct tidings_text title)
{
    long n = model_characters(title);

    return n >= 1 && (uint64_t)n <= model->settings.title_max;
}

static bool body_ok(const struct model *model, struct tidings_text body)
{
    return body.n <= model->settings.body_max && model_characters(body) >= 0;
}

const char *check_publish(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    enum tidings_post_kind kind = op->u.publish.kind;

    if (kind != TIDINGS_NOTE && kind != TIDINGS_ACTIVITY && kind != TIDINGS_STORY)
        return "kind";
    if (op->u.publish.title.p == NULL || !title_ok(model, op->u.publish.title))
        return "title";
    if (op->u.publish.body.p != NULL && !body_ok(model, op->u.publish.body))
        return "body";
    if (op->u.publish.extra.p != NULL && !model_extra_ok(op->u.publish.extra))
        return "extra";
    return NULL;
}

const char *check_edit(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    struct tidings_text title = op->u.edit.title;
    struct tidings_text body = op->u.edit.body;

    if (!model_id_ok(op->u.edit.post_id))
        return "post_id";
    if (title.p == NULL && body.p == NULL && op->u.edit.extra.p == NULL)
        return "title";
    if (title.p != NULL && !title_ok(model, title))
        return "title";
    if (body.p != NULL && !body_ok(model, body))
        return "body";
    if (op->u.edit.extra.p != NULL && !model_extra_ok(op->u.edit.extra))
        return "extra";
    return NULL;
}

const char *model_check_post(const struct model *model, const struct model_call *call)
{
    (void)model;
    return !model_id_ok(call->op->u.post.post_id) ? "post_id" : NULL;
}
