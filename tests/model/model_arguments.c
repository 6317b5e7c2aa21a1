/* SPDX-License-Identifier: MIT */
/* Which arguments are good, and what a body's excerpt is; see model.h. */
#include "model.h"

#include "invariants.h"

#include <stdlib.h>
#include <string.h>

/* ---- Text ---------------------------------------------------------------------------------- */

/* Bytes of the character at p, or 0 if there is no valid one. NUL is not valid. */
static size_t character_bytes(const unsigned char *p, size_t n)
{
    uint32_t c;
    size_t bytes;

    if (p[0] < 0x80)
        return p[0] != 0;
    if (p[0] >= 0xc0 && p[0] < 0xe0) {
        bytes = 2;
        c = p[0] & 0x1f;
    } else if (p[0] >= 0xe0 && p[0] < 0xf0) {
        bytes = 3;
        c = p[0] & 0x0f;
    } else if (p[0] >= 0xf0 && p[0] < 0xf8) {
        bytes = 4;
        c = p[0] & 0x07;
    } else {
        return 0;
    }
    if (bytes > n)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (bytes == 2 && c < 0x80)
        return 0;
    if (bytes == 3 && (c < 0x800 || (c >= 0xd800 && c <= 0xdfff)))
        return 0;
    if (bytes == 4 && (c < 0x10000 || c > 0x10ffff))
        return 0;
    return bytes;
}

long model_characters(struct tidings_text text)
{
    long characters = 0;

    for (size_t i = 0; i < text.n;) {
        size_t bytes = character_bytes((const unsigned char *)text.p + i, text.n - i);

        if (bytes == 0)
            return -1;
        i += bytes;
        characters++;
    }
    return characters;
}

static bool text_at(struct tidings_text text, size_t i, const char *what)
{
    size_t n = strlen(what);

    return i + n <= text.n && memcmp(text.p + i, what, n) == 0;
}

/* Bytes of the picture that begins at i, tags included, or 0 if none does. */
static size_t picture_bytes(struct tidings_text body, size_t i)
{
    size_t inside = i + strlen("[img]");

    if (!text_at(body, i, "[img]"))
        return 0;
    for (size_t j = inside; j < body.n; j++) {
        if (text_at(body, j, "[img]"))
            return 0;
        if (text_at(body, j, "[/img]"))
            return j == inside ? 0 : j + strlen("[/img]") - i;
    }
    return 0;
}

struct tidings_text model_excerpt(struct tidings_text body, uint64_t most)
{
    char *p = model_room(NULL, body.n + 1, 1);
    size_t n = 0;
    uint64_t characters = 0;

    for (size_t i = 0; i < body.n && characters < most;) {
        size_t bytes = picture_bytes(body, i);

        if (bytes == 0) {
            bytes = character_bytes((const unsigned char *)body.p + i, body.n - i);
            memcpy(p + n, body.p + i, bytes);
            n += bytes;
            characters++;
        }
        i += bytes;
    }
    p[n] = '\0';
    return (struct tidings_text){p, n};
}

/* ---- Arguments ----------------------------------------------------------------------------- */

static bool id_ok(uint64_t id)
{
    return id >= 1 && id <= TIDINGS_ID_MAX;
}

static bool title_ok(const struct model *model, struct tidings_text title)
{
    long n = model_characters(title);

    return n >= 1 && (uint64_t)n <= model->settings.title_max;
}

static bool body_ok(const struct model *model, struct tidings_text body)
{
    return body.n <= model->settings.body_max && model_characters(body) >= 0;
}

const char *model_check_page(const struct model *model, const struct tidings_page *page)
{
    if (page->limit > model->settings.page_max)
        return "limit";
    if (page->after.a > TIDINGS_ID_MAX || page->after.b > TIDINGS_ID_MAX)
        return "cursor";
    return NULL;
}

static const char *check_feed(const struct model *model, const struct tidings_op *op)
{
    uint64_t author_id = op->u.feed.author_id;

    if (op->kind == TIDINGS_OP_AUTHOR_PAGE && author_id == 0)
        return "author_id";
    if (author_id > TIDINGS_ID_MAX)
        return "author_id";
    if (op->u.feed.filter != TIDINGS_ALL && op->u.feed.filter != TIDINGS_UNREAD &&
        op->u.feed.filter != TIDINGS_READ)
        return "filter";
    return model_check_page(model, &op->u.feed.page);
}

static const char *check_relation(const struct tidings_op *op)
{
    if (!id_ok(op->u.relation.user_id))
        return "user_id";
    if (op->kind != TIDINGS_OP_STATUS && op->u.relation.user_id == op->user_id)
        return "user_id";
    return NULL;
}

static const char *check_profile(const struct model *model, const struct tidings_op *op)
{
    struct tidings_text name = op->u.profile.name;
    struct tidings_text avatar = op->u.profile.avatar;

    if (name.p == NULL && avatar.p == NULL)
        return "name";
    if (name.p != NULL) {
        long n = model_characters(name);

        if (n < 0 || (uint64_t)n > model->settings.name_max)
            return "name";
    }
    if (avatar.p != NULL) {
        if (avatar.n > model->settings.avatar_max || model_characters(avatar) < 0)
            return "avatar";
    }
    return NULL;
}

static const char *check_publish(const struct model *model, const struct tidings_op *op)
{
    enum tidings_post_kind kind = op->u.publish.kind;

    if (kind != TIDINGS_NOTE && kind != TIDINGS_ACTIVITY && kind != TIDINGS_STORY)
        return "kind";
    if (op->u.publish.title.p == NULL || !title_ok(model, op->u.publish.title))
        return "title";
    if (op->u.publish.body.p != NULL && !body_ok(model, op->u.publish.body))
        return "body";
    return NULL;
}

static const char *check_edit(const struct model *model, const struct tidings_op *op)
{
    struct tidings_text title = op->u.edit.title;
    struct tidings_text body = op->u.edit.body;

    if (!id_ok(op->u.edit.post_id))
        return "post_id";
    if (title.p == NULL && body.p == NULL)
        return "title";
    if (title.p != NULL && !title_ok(model, title))
        return "title";
    if (body.p != NULL && !body_ok(model, body))
        return "body";
    return NULL;
}

static const char *check_post_ids(const struct model *model, const struct tidings_op *op)
{
    if (op->u.mark.n_post_ids == 0 || op->u.mark.n_post_ids > model->settings.mark_max)
        return "post_ids";
    for (size_t i = 0; i < op->u.mark.n_post_ids; i++) {
        if (!id_ok(op->u.mark.post_ids[i]))
            return "post_ids";
    }
    return NULL;
}

static const char *check_mark(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t author_id = op->u.mark.author_id;
    bool up_to = moment_is_given(&op->u.mark.up_to);
    const char *field;

    if (op->kind == TIDINGS_OP_MARK_UNREAD)
        return check_post_ids(model, op);
    if (op->u.mark.post_ids != NULL) {
        field = check_post_ids(model, op);
        if (field != NULL)
            return field;
        if (author_id != 0)
            return "author_id";
        return up_to ? "up_to" : NULL;
    }
    if (author_id == 0 && !up_to)
        return "post_ids";
    if (author_id > TIDINGS_ID_MAX)
        return "author_id";
    return up_to && call->up_to.given ? NULL : "up_to";
}

static const char *check_reaction(enum tidings_target target, enum tidings_reaction reaction)
{
    if (target == TIDINGS_TARGET_POST)
        return reaction == TIDINGS_LIKE || reaction == TIDINGS_FAV ? NULL : "reaction";
    if (target == TIDINGS_TARGET_COMMENT)
        return reaction == TIDINGS_LIKE || reaction == TIDINGS_DOWNVOTE ? NULL : "reaction";
    return "target";
}

static const char *check_react(const struct tidings_op *op)
{
    bool stats = op->kind == TIDINGS_OP_STATS; /* of whatever reactions there are */
    const char *field =
        check_reaction(op->u.react.target, stats ? TIDINGS_LIKE : op->u.react.reaction);

    if (field != NULL)
        return field;
    return !id_ok(op->u.react.id) ? "id" : NULL;
}

static const char *check_reactors(const struct model *model, const struct tidings_op *op)
{
    const char *field = check_reaction(op->u.reactors.target, op->u.reactors.reaction);

    if (field != NULL)
        return field;
    if (op->u.reactors.reaction == TIDINGS_DOWNVOTE) /* nobody is told who did */
        return "reaction";
    if (op->kind == TIDINGS_OP_REACTORS && !id_ok(op->u.reactors.id))
        return "id";
    return model_check_page(model, &op->u.reactors.page);
}

static const char *check_comment(const struct model *model, const struct tidings_op *op)
{
    long n = op->u.comment.body.p != NULL ? model_characters(op->u.comment.body) : 0;

    if (!id_ok(op->u.comment.post_id))
        return "post_id";
    if (op->u.comment.parent_id > TIDINGS_ID_MAX)
        return "parent_id";
    return n < 1 || (uint64_t)n > model->settings.comment_max ? "body" : NULL;
}

static const char *check_comments(const struct model *model, const struct tidings_op *op)
{
    enum tidings_sort sort = op->u.comments.sort;

    if (!id_ok(op->u.comments.post_id))
        return "post_id";
    if (op->u.comments.parent_id > TIDINGS_ID_MAX)
        return "parent_id";
    if (sort != TIDINGS_HOT && sort != TIDINGS_NEW && sort != TIDINGS_OLD)
        return "sort";
    return model_check_page(model, &op->u.comments.page);
}

static const char *check_hot(const struct model *model, const struct tidings_op *op)
{
    enum tidings_post_kind kind = op->u.hot.kind;

    if (kind != TIDINGS_NOTE && kind != TIDINGS_ACTIVITY && kind != TIDINGS_STORY)
        return "kind";
    return model_check_page(model, &op->u.hot.page);
}

const char *model_check_arguments(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;

    switch (op->kind) {
#define X(name, lower, writes, args, answer) case TIDINGS_OP_##name:
        TIDINGS_OPS(X)
#undef X
        break;
    default:
        return "op";
    }
    if (!id_ok(op->user_id))
        return "viewer";
    if (op->role != TIDINGS_ROLE_USER && op->role != TIDINGS_ROLE_SERVICE &&
        op->role != TIDINGS_ROLE_ADMIN)
        return "role";
    switch (op->kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
    case TIDINGS_OP_STATUS:
        return check_relation(op);
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        return !id_ok(op->u.users.user_id) ? "user_id" : model_check_page(model, &op->u.users.page);
    case TIDINGS_OP_FANS_AMONG:
        return !id_ok(op->u.among.author_id) ? "author_id" : NULL;
    case TIDINGS_OP_COUNTERS:
    case TIDINGS_OP_PROFILE:
        return !id_ok(op->u.user.user_id) ? "user_id" : NULL;
    case TIDINGS_OP_PROFILE_SET:
        return check_profile(model, op);
    case TIDINGS_OP_PUBLISH:
        return check_publish(model, op);
    case TIDINGS_OP_EDIT:
        return check_edit(model, op);
    case TIDINGS_OP_DELETE:
    case TIDINGS_OP_OPEN:
    case TIDINGS_OP_HISTORY_DELETE:
    case TIDINGS_OP_POST:
        return !id_ok(op->u.post.post_id) ? "post_id" : NULL;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        return check_mark(model, call);
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        return check_feed(model, op);
    case TIDINGS_OP_HISTORY:
    case TIDINGS_OP_EVENTS:
        return model_check_page(model, &op->u.page);
    case TIDINGS_OP_HISTORY_CLEAR:
    case TIDINGS_OP_BADGE:
    case TIDINGS_OP_UNREAD:
        return NULL;
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
    case TIDINGS_OP_STATS:
        return check_react(op);
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
        return check_reactors(model, op);
    case TIDINGS_OP_COMMENT:
        return check_comment(model, op);
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        return !id_ok(op->u.comment_id.comment_id) ? "comment_id" : NULL;
    case TIDINGS_OP_COMMENTS:
        return check_comments(model, op);
    case TIDINGS_OP_HOT:
        return check_hot(model, op);
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SCENE:
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
    case TIDINGS_OP_READING:
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_SUBSCRIBERS:
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
    case TIDINGS_OP_PREFERENCES:
    case TIDINGS_OP_PREFERENCES_SET:
    case TIDINGS_OP_NOTIFICATIONS:
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        return model_story_check(model, call);
    /* Not asked for here. */
    case TIDINGS_OP_WEBHOOK_SET:
    case TIDINGS_OP_WEBHOOK_DELETE:
    case TIDINGS_OP_WEBHOOK_RETRY:
    case TIDINGS_OP_WEBHOOK_REPORT:
    case TIDINGS_OP_WEBHOOKS:
    case TIDINGS_OP_WEBHOOK:
    case TIDINGS_OP_COUNT:
        break;
    }
    return "op";
}
