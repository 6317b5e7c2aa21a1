/* SPDX-License-Identifier: MIT */
#include "domain/check.h"

#include "base/utf8.h"
#include "domain/ids.h"

/* More users than can be online at one server. */
enum { AMONG_MAX = 1000000 };

static bool is_id(uint64_t id)
{
    return id >= 1 && id <= TIDINGS_ID_MAX;
}

/* UTF-8 of at most `characters` code points and `bytes` bytes. */
static bool is_text(struct tidings_text text, size_t least, size_t characters, size_t bytes)
{
    size_t count;
    if (text.n > bytes || (text.n && !text.p))
        return false;
    return utf8_check(text.p, text.n, &count) && count >= least && count <= characters;
}

static bool is_title(struct tidings_text title, const struct tidings_settings *settings)
{
    return is_text(title, 1, settings->title_max, settings->title_max * 4);
}

static bool is_body(struct tidings_text body, const struct tidings_settings *settings)
{
    return is_text(body, 0, settings->body_max, settings->body_max);
}

static const char *check_page(const struct tidings_page *page,
                              const struct tidings_settings *settings)
{
    if (page->limit > settings->page_max)
        return "limit";
    if (page->after.a > TIDINGS_ID_MAX || page->after.b > TIDINGS_ID_MAX)
        return "cursor";
    return NULL;
}

static const char *check_relation(const struct tidings_op *op)
{
    uint64_t other = op->u.relation.user_id;
    bool self = other == op->user_id && op->kind != TIDINGS_OP_STATUS;
    return is_id(other) && !self ? NULL : "user_id";
}

static const char *check_users(const struct tidings_op *op, const struct tidings_settings *settings)
{
    if (!is_id(op->u.users.user_id))
        return "user_id";
    return check_page(&op->u.users.page, settings);
}

static const char *check_among(const struct tidings_op *op)
{
    const uint64_t *ids = op->u.among.user_ids;
    if (!is_id(op->u.among.author_id))
        return "author_id";
    if (op->u.among.n_user_ids > AMONG_MAX || (op->u.among.n_user_ids && !ids))
        return "user_ids";
    for (size_t i = 0; i < op->u.among.n_user_ids; i++)
        if (!is_id(ids[i]) || (i && ids[i] <= ids[i - 1]))
            return "user_ids";
    return NULL;
}

static const char *check_profile(const struct tidings_op *op,
                                 const struct tidings_settings *settings)
{
    struct tidings_text name = op->u.profile.name, avatar = op->u.profile.avatar;
    if (!name.p && !avatar.p)
        return "name";
    if (!is_text(name, 0, settings->name_max, settings->name_max * 4))
        return "name";
    if (!is_text(avatar, 0, settings->avatar_max, settings->avatar_max))
        return "avatar";
    return NULL;
}

static const char *check_publish(const struct tidings_op *op,
                                 const struct tidings_settings *settings)
{
    if (op->u.publish.kind < TIDINGS_NOTE || op->u.publish.kind > TIDINGS_STORY)
        return "kind";
    if (!is_title(op->u.publish.title, settings))
        return "title";
    if (!is_body(op->u.publish.body, settings))
        return "body";
    return NULL;
}

static const char *check_edit(const struct tidings_op *op, const struct tidings_settings *settings)
{
    struct tidings_text title = op->u.edit.title, body = op->u.edit.body;
    if (!is_id(op->u.edit.post_id))
        return "post_id";
    if ((!title.p && !body.p) || (title.p && !is_title(title, settings)))
        return "title";
    if (!is_body(body, settings))
        return "body";
    return NULL;
}

static const char *check_feed(const struct tidings_op *op, const struct tidings_settings *settings)
{
    bool any_author = op->kind == TIDINGS_OP_INBOX && op->u.feed.author_id == 0;
    if (!any_author && !is_id(op->u.feed.author_id))
        return "author_id";
    if ((unsigned)op->u.feed.filter > TIDINGS_READ)
        return "filter";
    return check_page(&op->u.feed.page, settings);
}

static const char *check_mark_ids(const struct tidings_op *op,
                                  const struct tidings_settings *settings)
{
    const uint64_t *ids = op->u.mark.post_ids;
    size_t n = op->u.mark.n_post_ids;
    if (!ids || n == 0 || n > settings->mark_max)
        return "post_ids";
    for (size_t i = 0; i < n; i++)
        if (!is_id(ids[i]))
            return "post_ids";
    if (op->u.mark.author_id)
        return "author_id";
    if (op->u.mark.up_to)
        return "up_to";
    return NULL;
}

static const char *check_mark(const struct tidings_op *op, const struct tidings_settings *settings)
{
    bool by_ids = op->u.mark.post_ids || op->u.mark.n_post_ids;
    bool bulk = op->u.mark.author_id || op->u.mark.up_to;
    if (by_ids || !bulk || op->kind == TIDINGS_OP_MARK_UNREAD)
        return check_mark_ids(op, settings);
    if (op->u.mark.author_id > TIDINGS_ID_MAX)
        return "author_id";
    return is_id(op->u.mark.up_to) ? NULL : "up_to";
}

static const char *check_args(const struct tidings_op *op, const struct tidings_settings *settings)
{
    switch (op->kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
    case TIDINGS_OP_STATUS:
        return check_relation(op);
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        return check_users(op, settings);
    case TIDINGS_OP_FANS_AMONG:
        return check_among(op);
    case TIDINGS_OP_COUNTERS:
    case TIDINGS_OP_PROFILE:
        return is_id(op->u.user.user_id) ? NULL : "user_id";
    case TIDINGS_OP_PROFILE_SET:
        return check_profile(op, settings);
    case TIDINGS_OP_PUBLISH:
        return check_publish(op, settings);
    case TIDINGS_OP_EDIT:
        return check_edit(op, settings);
    case TIDINGS_OP_DELETE:
    case TIDINGS_OP_OPEN:
    case TIDINGS_OP_POST:
    case TIDINGS_OP_HISTORY_DELETE:
        return is_id(op->u.post.post_id) ? NULL : "post_id";
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        return check_feed(op, settings);
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        return check_mark(op, settings);
    case TIDINGS_OP_HISTORY:
    case TIDINGS_OP_EVENTS:
        return check_page(&op->u.page, settings);
    case TIDINGS_OP_HISTORY_CLEAR:
    case TIDINGS_OP_BADGE:
    case TIDINGS_OP_UNREAD:
        return NULL;
    case TIDINGS_OP_COUNT:
        break;
    }
    return "op";
}

const char *check_op(const struct tidings_op *op, const struct tidings_settings *settings)
{
    if ((unsigned)op->kind >= TIDINGS_OP_COUNT)
        return "op";
    if (!is_id(op->user_id))
        return "viewer";
    if ((unsigned)op->role > TIDINGS_ROLE_ADMIN)
        return "role";
    if (op->now_ms < 0 || id_floor(op->now_ms) >= TIDINGS_ID_MAX)
        return "now_ms";
    return check_args(op, settings);
}

const char *check_settings(const struct tidings_settings *settings)
{
    const struct {
        const char *name;
        uint64_t value, least, most;
    } rows[] = {
#define X(name, standard, least, most, text) {#name, settings->name, least, most},
        TIDINGS_SETTINGS(X)
#undef X
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].value < rows[i].least || rows[i].value > rows[i].most)
            return rows[i].name;
    return NULL;
}
