/* SPDX-License-Identifier: MIT */
/* The operations that change something; see model.h. Each checks everything before it changes
 * anything, so that one that fails has changed nothing. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

void model_add_event(struct model *model, struct tidings_event event)
{
    if (model->n_events == model->events_room) {
        model->events_room = model->events_room * 2 + 64;
        model->events = model_room(model->events, model->events_room, sizeof *model->events);
    }
    model->events[model->n_events++] = event;
}

static void add_event(struct model *model, enum tidings_event_type type, int64_t t, uint64_t actor,
                      uint64_t target, uint64_t author, int64_t delta)
{
    model_add_event(model, (struct tidings_event){
                               .type = type,
                               .happened_at = t,
                               .actor_user_id = actor,
                               .target_id = target,
                               .author_id = author,
                               .delta = delta,
                           });
}

bool model_same_text(struct tidings_text a, struct tidings_text b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

void model_set_text(struct tidings_text *place, struct tidings_text text)
{
    model_drop(*place);
    *place = model_copy(text);
}

/* ---- Relations ----------------------------------------------------------------------------- */

bool model_bucket_has(const struct model_bucket *bucket, const struct tidings_op *op, int64_t t,
                      struct model_answer *answer)
{
    int64_t most = bucket->burst * bucket->refill_ms;
    int64_t full_at = *bucket->full_at;

    if (op->role != TIDINGS_ROLE_USER)
        return true;
    if (full_at < t)
        full_at = t;
    if (full_at + bucket->refill_ms - t <= most)
        return true;
    answer->err = TIDINGS_RATE_LIMITED;
    answer->retry_after_ms = full_at + bucket->refill_ms - t - most;
    return false;
}

void model_bucket_take(const struct model_bucket *bucket, const struct tidings_op *op, int64_t t)
{
    if (op->role != TIDINGS_ROLE_USER)
        return;
    if (*bucket->full_at < t)
        *bucket->full_at = t;
    *bucket->full_at += bucket->refill_ms;
}

struct model_bucket model_follow_bucket(struct model *model, const struct tidings_op *op)
{
    return (struct model_bucket){&model_user(model, op->user_id)->full_at,
                                 (int64_t)model->settings.follow_burst,
                                 (int64_t)model->settings.follow_refill_ms};
}

static uint64_t count_following(const struct model *model, uint64_t fan)
{
    uint64_t n = 0;

    for (size_t i = 0; i < model->n_follows; i++)
        n += model->follows[i].fan == fan;
    return n;
}

static bool follow(struct model *model, const struct tidings_op *op, int64_t t,
                   struct model_answer *answer)
{
    uint64_t fan = op->user_id;
    uint64_t author = op->u.relation.user_id;
    bool already = model_follows(model, fan, author);
    struct model_bucket bucket = model_follow_bucket(model, op);

    if (!model_bucket_has(&bucket, op, t, answer))
        return false;
    if (!already && count_following(model, fan) >= model->settings.following_max) {
        answer->err = TIDINGS_FOLLOWING_LIMIT;
        return false;
    }
    model_bucket_take(&bucket, op, t);
    if (!already) {
        model_user(model, author); /* who may not have been heard of before */
        model->follows = model_room(model->follows, model->n_follows + 1, sizeof *model->follows);
        model->follows[model->n_follows++] =
            (struct model_follow){.fan = fan, .author = author, .since = t, .turn = model->turn};
        add_event(model, TIDINGS_EVENT_FOLLOW_CREATED, t, fan, author, 0, +1);
    }
    answer->changed = !already;
    answer->following = true;
    answer->mutual = model_follows(model, author, fan);
    return true;
}

static bool drop_follow(struct model *model, uint64_t fan, uint64_t author)
{
    for (size_t i = 0; i < model->n_follows; i++) {
        if (model->follows[i].fan != fan || model->follows[i].author != author)
            continue;
        for (size_t j = i + 1; j < model->n_follows; j++)
            model->follows[j - 1] = model->follows[j];
        model->n_follows--;
        return true;
    }
    return false;
}

static uint64_t purge(struct model *model, uint64_t fan, uint64_t author)
{
    struct model_user *user = model_user(model, fan);
    uint64_t n = 0;

    for (size_t i = 0; i < model->n_posts; i++) {
        if (model->posts[i].author_id == author && user->cells[i].delivered) {
            user->cells[i].delivered = false;
            n++;
        }
    }
    return n;
}

static bool unfollow(struct model *model, const struct tidings_op *op, int64_t t,
                     struct model_answer *answer)
{
    uint64_t fan = op->user_id;
    uint64_t author = op->u.relation.user_id;
    struct model_bucket bucket = model_follow_bucket(model, op);

    if (!model_bucket_has(&bucket, op, t, answer))
        return false;
    model_bucket_take(&bucket, op, t);
    answer->changed = drop_follow(model, fan, author);
    if (answer->changed)
        add_event(model, TIDINGS_EVENT_FOLLOW_CANCELED, t, fan, author, 0, -1);
    if (op->u.relation.purge_inbox)
        answer->purged = purge(model, fan, author);
    if (answer->purged > 0)
        add_event(model, TIDINGS_EVENT_INBOX_PURGED, t, fan, author, 0, -(int64_t)answer->purged);
    return true;
}

static bool profile_set(struct model *model, const struct tidings_op *op, int64_t t,
                        struct model_answer *answer)
{
    struct model_user *user = model_user(model, op->user_id);
    struct tidings_text name = op->u.profile.name;
    struct tidings_text avatar = op->u.profile.avatar;
    bool changed = false;

    if (name.p != NULL && !model_same_text(user->name, name)) {
        model_set_text(&user->name, name);
        changed = true;
    }
    if (avatar.p != NULL && !model_same_text(user->avatar, avatar)) {
        model_set_text(&user->avatar, avatar);
        changed = true;
    }
    if (changed)
        add_event(model, TIDINGS_EVENT_PROFILE_CHANGED, t, user->id, user->id, 0, 0);
    answer->profile_id = user->id;
    answer->name = user->name;
    answer->avatar = user->avatar;
    return true;
}

/* ---- Posts --------------------------------------------------------------------------------- */

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

static bool publish(struct model *model, const struct model_call *call, int64_t t,
                    struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_post *post;

    grow_posts(model);
    post = &model->posts[model->n_posts++];
    *post = (struct model_post){
        .id = call->new_post_id,
        .author_id = op->user_id,
        .kind = op->u.publish.kind,
        .title = model_copy(op->u.publish.title),
        .body = model_copy(op->u.publish.body),
        .excerpt = model_excerpt(op->u.publish.body, model->settings.excerpt_max),
        .created_at = t,
    };
    if (post->id > model->newest_id)
        model->newest_id = post->id;
    for (size_t i = 0; i < model->n_follows; i++) {
        if (model->follows[i].author == op->user_id)
            model_cell(model, model_user(model, model->follows[i].fan), post)->delivered = true;
    }
    add_event(model, TIDINGS_EVENT_POST_PUBLISHED, t, op->user_id, post->id, op->user_id, +1);
    model_show_post(model, post, op->user_id, &answer->post);
    return true;
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

static bool edit(struct model *model, const struct tidings_op *op, int64_t t,
                 struct model_answer *answer)
{
    struct model_post *post = model_living_post(model, op->u.edit.post_id, answer);
    struct tidings_text title = op->u.edit.title;
    struct tidings_text body = op->u.edit.body;
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
    if (changed) {
        post->edited_at = t;
        add_event(model, TIDINGS_EVENT_POST_EDITED, t, op->user_id, post->id, post->author_id, 0);
    }
    model_show_post(model, post, op->user_id, &answer->post);
    return true;
}

static bool delete_post(struct model *model, const struct tidings_op *op, int64_t t,
                        struct model_answer *answer)
{
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
    add_event(model, TIDINGS_EVENT_POST_DELETED, t, op->user_id, post->id, post->author_id, -1);
    return true;
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void enter_history(struct model *model, struct model_cell *cell, int64_t t)
{
    cell->in_history = true;
    cell->history_at = t;
    cell->history_turn = model->turn;
}

static bool open_post(struct model *model, const struct tidings_op *op, int64_t t,
                      struct model_answer *answer)
{
    struct model_post *post = model_living_post(model, op->u.post.post_id, answer);
    struct model_user *user = model_user(model, op->user_id);
    struct model_cell *cell;
    bool wrote = false;

    if (post == NULL)
        return false;
    cell = model_cell(model, user, post);
    if (!cell->in_history) {
        enter_history(model, cell, t);
        wrote = true;
    }
    if (!cell->is_read) {
        cell->is_read = true;
        cell->read_at = t;
        if (model->settings.read_events)
            add_event(model, TIDINGS_EVENT_POST_READ, t, user->id, post->id, post->author_id, +1);
    }
    model_show_post(model, post, op->user_id, &answer->post);
    answer->total = model_unread(model, user, 0);
    answer->unread_author = model_unread(model, user, post->author_id);
    return wrote;
}

static bool mark_post(struct model *model, struct model_user *user, uint64_t id, bool read,
                      int64_t t)
{
    struct model_post *post = model_post(model, id);
    struct model_cell *cell = model_cell(model, user, post);

    if (post->deleted || cell->is_read == read)
        return false;
    cell->is_read = read;
    if (read) {
        cell->read_at = t;
        enter_history(model, cell, t);
    } else {
        cell->read_at = 0;
        cell->in_history = false;
    }
    if (model->settings.read_events)
        add_event(model, read ? TIDINGS_EVENT_POST_READ : TIDINGS_EVENT_POST_UNREAD, t, user->id,
                  id, post->author_id, read ? +1 : -1);
    return true;
}

static bool mark_ids(struct model *model, const struct tidings_op *op, bool read, int64_t t,
                     struct model_answer *answer)
{
    struct model_user *user = model_user(model, op->user_id);

    for (size_t i = 0; i < op->u.mark.n_post_ids; i++) {
        struct model_post *post = model_post(model, op->u.mark.post_ids[i]);

        if (post == NULL || !model_cell(model, user, post)->delivered) {
            answer->err = TIDINGS_NOT_FOUND;
            return false;
        }
    }
    for (size_t i = 0; i < op->u.mark.n_post_ids; i++)
        answer->marked += mark_post(model, user, op->u.mark.post_ids[i], read, t);
    answer->total = model_unread(model, user, 0);
    return true;
}

static bool mark_up_to(struct model *model, const struct model_call *call, int64_t t,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_user *user = model_user(model, op->user_id);
    uint64_t author_id = op->u.mark.author_id;

    for (size_t i = 0; i < call->up_to.posts; i++) {
        const struct model_post *post = &model->posts[i];
        struct model_cell *cell = &user->cells[i];

        if (author_id != 0 && post->author_id != author_id)
            continue;
        if (!cell->delivered || cell->is_read || post->deleted)
            continue;
        cell->is_read = true;
        cell->read_at = t;
        answer->marked++;
    }
    if (answer->marked > 0 && model->settings.read_events)
        add_event(model, TIDINGS_EVENT_INBOX_READ, t, user->id,
                  author_id != 0 ? author_id : user->id, 0, (int64_t)answer->marked);
    answer->total = model_unread(model, user, 0);
    return true;
}

static bool history_delete(struct model *model, const struct tidings_op *op,
                           struct model_answer *answer)
{
    struct model_post *post = model_post(model, op->u.post.post_id);

    if (post == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    model_cell(model, model_user(model, op->user_id), post)->in_history = false;
    return true;
}

static bool history_clear(struct model *model, const struct tidings_op *op)
{
    struct model_user *user = model_user(model, op->user_id);

    for (size_t i = 0; i < model->n_posts; i++)
        user->cells[i].in_history = false;
    return true;
}

bool model_write(struct model *model, const struct model_call *call, int64_t t,
                 struct model_answer *answer)
{
    const struct tidings_op *op = call->op;

    switch (op->kind) {
    case TIDINGS_OP_FOLLOW:
        return follow(model, op, t, answer);
    case TIDINGS_OP_UNFOLLOW:
        return unfollow(model, op, t, answer);
    case TIDINGS_OP_PROFILE_SET:
        return profile_set(model, op, t, answer);
    case TIDINGS_OP_PUBLISH:
        return publish(model, call, t, answer);
    case TIDINGS_OP_EDIT:
        return edit(model, op, t, answer);
    case TIDINGS_OP_DELETE:
        return delete_post(model, op, t, answer);
    case TIDINGS_OP_OPEN:
        return open_post(model, op, t, answer);
    case TIDINGS_OP_MARK_READ:
        if (op->u.mark.post_ids == NULL)
            return mark_up_to(model, call, t, answer);
        return mark_ids(model, op, true, t, answer);
    case TIDINGS_OP_MARK_UNREAD:
        return mark_ids(model, op, false, t, answer);
    case TIDINGS_OP_HISTORY_DELETE:
        return history_delete(model, op, answer);
    case TIDINGS_OP_HISTORY_CLEAR:
        return history_clear(model, op);
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
        return model_react(model, op, t, answer);
    case TIDINGS_OP_COMMENT:
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        return model_comment_write(model, call, t, answer);
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
    case TIDINGS_OP_PREFERENCES_SET:
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        return model_story_write(model, call, t, answer);
    default:
        abort();
    }
}
