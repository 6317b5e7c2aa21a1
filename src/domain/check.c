/* SPDX-License-Identifier: MIT */
#include "domain/check.h"

#include <string.h>

#include "base/utf8.h"
#include "domain/events.h"
#include "domain/ids.h"
#include "domain/json.h"
#include "domain/name.h"
#include "domain/url.h"

/* More users than can be online at one server. */
enum { AMONG_MAX = 1000000 };

/* Names that were given when the setting was another. */
enum { NAME_MOST = 256 };

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

/* None, or a JSON object. */
static bool is_extra(struct tidings_text extra)
{
    if (!extra.p)
        return !extra.n;
    return is_text(extra, 0, TIDINGS_EXTRA_MAX, TIDINGS_EXTRA_MAX) &&
           json_holds_object(extra.p, extra.n);
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

/* From 1 to `most` ids. */
static bool are_ids(const uint64_t *ids, size_t n, uint64_t most)
{
    if (!ids || n == 0 || n > most)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_id(ids[i]))
            return false;
    return true;
}

static const char *check_many(const struct tidings_op *op, uint64_t most)
{
    return are_ids(op->u.many.user_ids, op->u.many.n_user_ids, most) ? NULL : "user_ids";
}

static const char *check_among(const struct tidings_op *op)
{
    const uint64_t *ids = op->u.among.user_ids;
    if (!is_id(op->u.among.author_id))
        return "author_id";
    if (op->u.among.item_id && !is_id(op->u.among.item_id))
        return "item_id";
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
    if (!name.p && !avatar.p && !op->u.profile.extra.p)
        return "name";
    if (!is_text(name, 0, settings->name_max, settings->name_max * 4))
        return "name";
    if (!is_text(avatar, 0, settings->avatar_max, settings->avatar_max) ||
        (avatar.n && !url_is_web(avatar)))
        return "avatar";
    return is_extra(op->u.profile.extra) ? NULL : "extra";
}

/* A place is the name and the user it was read with, or neither. */
static const char *check_search(const struct tidings_op *op,
                                const struct tidings_settings *settings)
{
    struct tidings_text prefix = op->u.search.prefix, after = op->u.search.after_name;
    if (!prefix.p || !is_text(prefix, 1, NAME_PREFIX_MAX, NAME_PREFIX_MAX * 4))
        return "prefix";
    const char *field = check_page(&op->u.search.page, settings);
    if (!field && (!op->u.search.page.after.a != !after.n || op->u.search.page.after.b ||
                   !is_text(after, 0, NAME_MOST, NAME_MOST * 4)))
        field = "cursor";
    return field;
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
    return is_extra(op->u.publish.extra) ? NULL : "extra";
}

static const char *check_edit(const struct tidings_op *op, const struct tidings_settings *settings)
{
    struct tidings_text title = op->u.edit.title, body = op->u.edit.body;
    if (!is_id(op->u.edit.post_id))
        return "post_id";
    bool none = !title.p && !body.p && !op->u.edit.extra.p;
    if (none || (title.p && !is_title(title, settings)))
        return "title";
    if (!is_body(body, settings))
        return "body";
    return is_extra(op->u.edit.extra) ? NULL : "extra";
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

static bool is_given(const struct tidings_moment *moment)
{
    static const struct tidings_moment none;
    return memcmp(moment, &none, sizeof none) != 0;
}

static const char *check_mark_ids(const struct tidings_op *op,
                                  const struct tidings_settings *settings)
{
    if (!are_ids(op->u.mark.post_ids, op->u.mark.n_post_ids, settings->mark_max))
        return "post_ids";
    if (op->u.mark.author_id)
        return "author_id";
    if (is_given(&op->u.mark.up_to))
        return "up_to";
    return NULL;
}

static const char *check_mark(const struct tidings_op *op, const struct tidings_settings *settings)
{
    bool by_ids = op->u.mark.post_ids || op->u.mark.n_post_ids;
    bool bulk = op->u.mark.author_id || is_given(&op->u.mark.up_to);
    if (by_ids || !bulk || op->kind == TIDINGS_OP_MARK_UNREAD)
        return check_mark_ids(op, settings);
    if (op->u.mark.author_id > TIDINGS_ID_MAX)
        return "author_id";
    return is_given(&op->u.mark.up_to) ? NULL : "up_to";
}

static const char *check_notifications(const struct tidings_op *op,
                                       const struct tidings_settings *settings)
{
    if (op->u.mark.author_id)
        return "author_id";
    const char *field = check_mark(op, settings);
    return field && !strcmp(field, "post_ids") ? "ids" : field;
}

static bool is_reaction(enum tidings_reaction reaction, enum tidings_target target)
{
    if (target == TIDINGS_TARGET_POST)
        return reaction == TIDINGS_LIKE || reaction == TIDINGS_FAV;
    return reaction == TIDINGS_LIKE || reaction == TIDINGS_DOWNVOTE;
}

static bool is_target(enum tidings_target target)
{
    return target == TIDINGS_TARGET_POST || target == TIDINGS_TARGET_COMMENT;
}

static const char *check_react(const struct tidings_op *op)
{
    if (!is_target(op->u.react.target))
        return "target";
    if (op->kind != TIDINGS_OP_STATS && !is_reaction(op->u.react.reaction, op->u.react.target))
        return "reaction";
    return is_id(op->u.react.id) ? NULL : "id";
}

/* Downvotes are counted, not listed. */
static const char *check_reactors(const struct tidings_op *op,
                                  const struct tidings_settings *settings)
{
    if (!is_target(op->u.reactors.target))
        return "target";
    if (op->u.reactors.reaction == TIDINGS_DOWNVOTE ||
        !is_reaction(op->u.reactors.reaction, op->u.reactors.target))
        return "reaction";
    if (op->kind == TIDINGS_OP_REACTORS && !is_id(op->u.reactors.id))
        return "id";
    return check_page(&op->u.reactors.page, settings);
}

static const char *check_comment(const struct tidings_op *op,
                                 const struct tidings_settings *settings)
{
    if (!is_id(op->u.comment.post_id))
        return "post_id";
    if (op->u.comment.parent_id > TIDINGS_ID_MAX)
        return "parent_id";
    if (!op->u.comment.body.p ||
        !is_text(op->u.comment.body, 1, settings->comment_max, settings->comment_max * 4))
        return "body";
    return NULL;
}

static const char *check_comments(const struct tidings_op *op,
                                  const struct tidings_settings *settings)
{
    if (!is_id(op->u.comments.post_id))
        return "post_id";
    if (op->u.comments.parent_id > TIDINGS_ID_MAX)
        return "parent_id";
    if ((unsigned)op->u.comments.sort > TIDINGS_OLD)
        return "sort";
    return check_page(&op->u.comments.page, settings);
}

static const char *check_messages(const struct tidings_op *op,
                                  const struct tidings_settings *settings)
{
    const struct tidings_message *messages = op->u.scene.messages;
    size_t n = op->u.scene.n_messages;
    if (n > settings->messages_max || (n && !messages))
        return "messages";
    for (size_t i = 0; i < n; i++) {
        bool known = op->kind == TIDINGS_OP_SCENE_EDIT && messages[i].id <= TIDINGS_ID_MAX;
        if ((messages[i].id && !known) || !messages[i].text.p ||
            !is_text(messages[i].text, 1, settings->message_max, settings->message_max * 4))
            return "messages";
    }
    return NULL;
}

static const char *check_scene(const struct tidings_op *op, const struct tidings_settings *settings)
{
    bool is_new = op->kind == TIDINGS_OP_SCENE_PUBLISH;
    if (is_new && !is_id(op->u.scene.story_id))
        return "story_id";
    if (!is_new && !is_id(op->u.scene.scene_id))
        return "scene_id";
    struct tidings_text title = op->u.scene.title;
    bool nothing = !title.p && !op->u.scene.messages;
    if ((is_new || title.p || nothing) && !is_title(title, settings))
        return "title";
    return check_messages(op, settings);
}

static const char *check_reading(const struct tidings_op *op)
{
    if (op->kind != TIDINGS_OP_READING_CLEAR && !is_id(op->u.reading.story_id))
        return "story_id";
    if (op->u.reading.modified_at < 0)
        return "modified_at";
    if (op->kind != TIDINGS_OP_READING_SET)
        return NULL;
    if (op->u.reading.scene_id > TIDINGS_ID_MAX)
        return "scene_id";
    if (op->u.reading.message_id > TIDINGS_ID_MAX ||
        (op->u.reading.message_id && !op->u.reading.scene_id))
        return "message_id";
    return NULL;
}

static const char *check_readings(const struct tidings_op *op,
                                  const struct tidings_settings *settings)
{
    if (op->u.readings.since > TIDINGS_ID_MAX || (op->u.readings.since && !op->u.readings.delta))
        return "since";
    return check_page(&op->u.readings.page, settings);
}

/* The name is a key of the engine's. */
enum { WEBHOOK_NAME_MAX = 30, WEBHOOK_URL_MAX = 2048, WEBHOOK_ERROR_MAX = 200 };
enum { WEBHOOK_SECRET_LEAST = 16, WEBHOOK_SECRET_MOST = 256 };

/* A name goes into paths and labels: letters, digits, - and _. */
static bool is_webhook_name(struct tidings_text name)
{
    if (!name.p || !name.n || name.n > WEBHOOK_NAME_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        if (!letter && !(c >= '0' && c <= '9') && c != '-' && c != '_')
            return false;
    }
    return true;
}

static const char *check_webhook(const struct tidings_op *op)
{
    struct tidings_text url = op->u.webhook.url, secret = op->u.webhook.secret;
    if (!is_webhook_name(op->u.webhook.name))
        return "name";
    if (op->kind != TIDINGS_OP_WEBHOOK_SET)
        return NULL;
    if (!url.p || !is_text(url, 1, WEBHOOK_URL_MAX, WEBHOOK_URL_MAX) || !url_is_web(url))
        return "url";
    if (secret.p &&
        !is_text(secret, WEBHOOK_SECRET_LEAST, WEBHOOK_SECRET_MOST, WEBHOOK_SECRET_MOST))
        return "secret";
    if (op->u.webhook.events & ~event_bits_all)
        return "events";
    return NULL;
}

/* A dot and a word, so that no webhook has the same. */
static bool is_consumer_name(struct tidings_text name)
{
    return name.p && name.n > 1 && *name.p == '.' &&
           is_webhook_name((struct tidings_text){name.p + 1, name.n - 1});
}

static const char *check_webhook_report(const struct tidings_op *op)
{
    struct tidings_text name = op->u.webhook_report.name, error = op->u.webhook_report.last_error;
    struct tidings_text reason = op->u.webhook_report.dead_reason;
    bool sets = op->kind == TIDINGS_OP_CONSUMER_SET;
    if (!is_consumer_name(name) && (sets || !is_webhook_name(name)))
        return "name";
    if (op->u.webhook_report.position > TIDINGS_ID_MAX)
        return "position";
    if (op->u.webhook_report.retry_at < 0)
        return "retry_at";
    if (op->u.webhook_report.failing_since < 0)
        return "failing_since";
    if (op->u.webhook_report.waiting_since < 0)
        return "waiting_since";
    if (error.p && !is_text(error, 0, WEBHOOK_ERROR_MAX, WEBHOOK_ERROR_MAX))
        return "last_error";
    if (op->u.webhook_report.dead_event > TIDINGS_ID_MAX)
        return "dead_event";
    if (reason.p && !is_text(reason, 0, WEBHOOK_ERROR_MAX, WEBHOOK_ERROR_MAX))
        return "dead_reason";
    if (op->u.webhook_report.settled > TIDINGS_ID_MAX)
        return "settled";
    return NULL;
}

static bool is_target_name(struct tidings_text name)
{
    return is_webhook_name(name) || is_consumer_name(name);
}

static const char *check_wish(const struct tidings_op *op)
{
    if (!is_target_name(op->u.wish.name))
        return "name";
    if (op->u.wish.wish < TIDINGS_WISH_REPLAY || op->u.wish.wish > TIDINGS_WISH_RECONCILE)
        return "wish";
    if (op->u.wish.after > TIDINGS_ID_MAX)
        return "after";
    return op->u.wish.since_ms < 0 ? "since_ms" : NULL;
}

static const char *check_letters(const struct tidings_op *op,
                                 const struct tidings_settings *settings)
{
    if (!is_target_name(op->u.letters.name))
        return "name";
    if (op->u.letters.after > TIDINGS_ID_MAX)
        return "after";
    return op->u.letters.limit > settings->page_max ? "limit" : NULL;
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
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        return check_among(op);
    case TIDINGS_OP_BADGES:
        return check_many(op, settings->many_max);
    case TIDINGS_OP_STATUS_MANY:
    case TIDINGS_OP_COUNTERS_MANY:
    case TIDINGS_OP_PROFILE_MANY:
        return check_many(op, settings->ids_max);
    case TIDINGS_OP_POST_MANY:
    case TIDINGS_OP_STATS_MANY:
        if (!are_ids(op->u.posts.post_ids, op->u.posts.n_post_ids, settings->ids_max))
            return "post_ids";
        return NULL;
    case TIDINGS_OP_POST_BY_KEY:
        return is_text(op->u.key.key, 1, TIDINGS_KEY_MAX, TIDINGS_KEY_MAX) ? NULL : "key";
    case TIDINGS_OP_COUNTERS:
    case TIDINGS_OP_PROFILE:
        return is_id(op->u.user.user_id) ? NULL : "user_id";
    case TIDINGS_OP_PROFILE_SEARCH:
        return check_search(op, settings);
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
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
    case TIDINGS_OP_STATS:
        return check_react(op);
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
        return check_reactors(op, settings);
    case TIDINGS_OP_COMMENT:
        return check_comment(op, settings);
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        return is_id(op->u.comment_id.comment_id) ? NULL : "comment_id";
    case TIDINGS_OP_COMMENTS:
        return check_comments(op, settings);
    case TIDINGS_OP_HOT:
        if (op->u.hot.kind < TIDINGS_NOTE || op->u.hot.kind > TIDINGS_STORY)
            return "kind";
        return check_page(&op->u.hot.page, settings);
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        return check_scene(op, settings);
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENE:
        return is_id(op->u.scene_id.scene_id) ? NULL : "scene_id";
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SUBSCRIBERS:
        if (!is_id(op->u.scenes.story_id))
            return "story_id";
        return check_page(&op->u.scenes.page, settings);
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
        return check_reading(op);
    case TIDINGS_OP_READING:
        return check_readings(op, settings);
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        return is_id(op->u.post.post_id) ? NULL : "story_id";
    case TIDINGS_OP_WEBHOOK_SET:
    case TIDINGS_OP_WEBHOOK_DELETE:
    case TIDINGS_OP_WEBHOOK_RETRY:
    case TIDINGS_OP_WEBHOOK:
        return check_webhook(op);
    case TIDINGS_OP_WEBHOOK_REPORT:
    case TIDINGS_OP_CONSUMER_SET:
        return check_webhook_report(op);
    case TIDINGS_OP_TARGET_WISH:
        return check_wish(op);
    case TIDINGS_OP_LETTERS:
        return check_letters(op, settings);
    case TIDINGS_OP_TICKET_SPEND:
        return op->u.ticket.until_ms > 0 ? NULL : "until_ms";
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        return check_notifications(op, settings);
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        return check_mark(op, settings);
    case TIDINGS_OP_HISTORY:
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_NOTIFICATIONS:
    case TIDINGS_OP_WEBHOOKS:
    case TIDINGS_OP_EVENTS:
        return check_page(&op->u.page, settings);
    case TIDINGS_OP_HISTORY_CLEAR:
    case TIDINGS_OP_PREFERENCES_SET:
    case TIDINGS_OP_PREFERENCES:
    case TIDINGS_OP_BADGE:
        return NULL;
    case TIDINGS_OP_UNREAD:
        return !op->u.user.user_id || is_id(op->u.user.user_id) ? NULL : "author_id";
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
