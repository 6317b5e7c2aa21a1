/* SPDX-License-Identifier: MIT */
#include "unit/check.h"

#include <string.h>

struct tidings_settings settings;

const struct tidings_moment some_moment = {{16}};
const uint64_t three_ids[3] = {1, 2, TIDINGS_ID_MAX};
const uint64_t no_ids[3] = {0, TIDINGS_ID_MAX + 1, UINT64_MAX};

int check_begin(void **state)
{
    (void)state;
    struct tidings_options options;
    tidings_options_init(&options);
    settings = options.settings;
    return 0;
}

int check_begin_small(void **state)
{
    check_begin(state);
    settings.title_max = 5;
    settings.messages_max = 3;
    settings.message_max = 4;
    settings.mark_max = 3;
    return 0;
}

struct tidings_text text_of(const char *s)
{
    return (struct tidings_text){s, strlen(s)};
}

struct tidings_text repeat(const char *character, size_t n)
{
    static char memory[8 << 20];
    size_t length = strlen(character);
    assert_true(n * length <= sizeof memory);
    for (size_t i = 0; i < n; i++)
        memcpy(memory + i * length, character, length);
    return (struct tidings_text){memory, n * length};
}

struct tidings_op good(enum tidings_op_kind kind)
{
    struct tidings_op op = {.kind = kind, .user_id = 7};
    switch (kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
    case TIDINGS_OP_STATUS:
        op.u.relation.user_id = 8;
        break;
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        op.u.users.user_id = 8;
        break;
    case TIDINGS_OP_FANS_AMONG:
        op.u.among.author_id = 8;
        op.u.among.user_ids = three_ids;
        op.u.among.n_user_ids = 3;
        break;
    case TIDINGS_OP_POST_MANY:
    case TIDINGS_OP_STATS_MANY:
        op.u.posts.post_ids = three_ids;
        op.u.posts.n_post_ids = 3;
        break;
    case TIDINGS_OP_STATUS_MANY:
    case TIDINGS_OP_COUNTERS_MANY:
    case TIDINGS_OP_PROFILE_MANY:
    case TIDINGS_OP_BADGES:
        op.u.many.user_ids = three_ids;
        op.u.many.n_user_ids = 3;
        break;
    case TIDINGS_OP_COUNTERS:
    case TIDINGS_OP_PROFILE:
        op.u.user.user_id = 8;
        break;
    case TIDINGS_OP_PROFILE_SEARCH:
        op.u.search.prefix = text_of("Ann");
        break;
    case TIDINGS_OP_PROFILE_SET:
        op.u.profile.name = text_of("Ann");
        break;
    case TIDINGS_OP_PUBLISH:
        op.u.publish.kind = TIDINGS_NOTE;
        op.u.publish.title = text_of("t");
        break;
    case TIDINGS_OP_EDIT:
        op.u.edit.post_id = 16;
        op.u.edit.title = text_of("t");
        break;
    case TIDINGS_OP_DELETE:
    case TIDINGS_OP_OPEN:
    case TIDINGS_OP_POST:
    case TIDINGS_OP_HISTORY_DELETE:
        op.u.post.post_id = 16;
        break;
    case TIDINGS_OP_POST_BY_KEY:
        op.u.key.key = text_of("blog:77");
        break;
    case TIDINGS_OP_AUTHOR_PAGE:
        op.u.feed.author_id = 8;
        break;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        op.u.mark.post_ids = three_ids;
        op.u.mark.n_post_ids = 3;
        break;
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
    case TIDINGS_OP_STATS:
        op.u.react.reaction = TIDINGS_LIKE;
        op.u.react.target = TIDINGS_TARGET_POST;
        op.u.react.id = 16;
        break;
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
        op.u.reactors.reaction = TIDINGS_LIKE;
        op.u.reactors.target = TIDINGS_TARGET_POST;
        op.u.reactors.id = 16;
        break;
    case TIDINGS_OP_COMMENT:
        op.u.comment.post_id = 16;
        op.u.comment.body = text_of("c");
        break;
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
        op.u.comment_id.comment_id = 16;
        break;
    case TIDINGS_OP_COMMENTS:
        op.u.comments.post_id = 16;
        break;
    case TIDINGS_OP_HOT:
        op.u.hot.kind = TIDINGS_NOTE;
        break;
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        op.u.scene.story_id = op.u.scene.scene_id = 16;
        op.u.scene.title = text_of("t");
        break;
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENE:
        op.u.scene_id.scene_id = 16;
        break;
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SUBSCRIBERS:
        op.u.scenes.story_id = 16;
        break;
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
        op.u.reading.story_id = 16;
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        op.u.post.post_id = 16;
        break;
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        op.u.among.author_id = 16;
        break;
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        op.u.mark.up_to = some_moment;
        break;
    case TIDINGS_OP_WEBHOOK_SET:
    case TIDINGS_OP_WEBHOOK_DELETE:
    case TIDINGS_OP_WEBHOOK_RETRY:
    case TIDINGS_OP_WEBHOOK:
        op.u.webhook.name = text_of("push");
        op.u.webhook.url = text_of("https://p.example/");
        break;
    case TIDINGS_OP_WEBHOOK_REPORT:
        op.u.webhook_report.name = text_of("push");
        break;
    case TIDINGS_OP_CONSUMER_SET:
        op.u.webhook_report.name = text_of(".kafka");
        break;
    case TIDINGS_OP_TARGET_WISH:
        op.u.wish.name = text_of("push");
        op.u.wish.wish = TIDINGS_WISH_RETRY;
        break;
    case TIDINGS_OP_LETTERS:
        op.u.letters.name = text_of(".kafka");
        break;
    case TIDINGS_OP_TICKET_SPEND:
        op.u.ticket.until_ms = 1;
        break;
    case TIDINGS_OP_PREFERENCES_SET:
    case TIDINGS_OP_PREFERENCES:
    case TIDINGS_OP_READING:
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_NOTIFICATIONS:
    case TIDINGS_OP_WEBHOOKS:
    case TIDINGS_OP_INBOX:
    case TIDINGS_OP_HISTORY:
    case TIDINGS_OP_EVENTS:
    case TIDINGS_OP_HISTORY_CLEAR:
    case TIDINGS_OP_BADGE:
    case TIDINGS_OP_UNREAD:
    case TIDINGS_OP_COUNT:
        break;
    }
    return op;
}

void assert_field(const struct tidings_op *op, const char *expected)
{
    const char *field = check_op(op, &settings);
    if (!expected && field)
        fail_msg("op %d: %s refused", (int)op->kind, field);
    if (expected && !field)
        fail_msg("op %d: accepted, though %s is wrong", (int)op->kind, expected);
    if (expected)
        assert_string_equal(field, expected);
}

void assert_fine(struct tidings_op op)
{
    assert_field(&op, NULL);
}

void assert_refused(struct tidings_op op, const char *expected)
{
    assert_field(&op, expected);
}

void assert_id(const struct tidings_op *op, uint64_t *id, const char *field)
{
    for (size_t i = 0; i < COUNT_OF(no_ids); i++) {
        *id = no_ids[i];
        assert_field(op, field);
    }
    *id = TIDINGS_ID_MAX;
    assert_field(op, NULL);
    *id = 1;
    assert_field(op, NULL);
}

void assert_page(const struct tidings_op *op, struct tidings_page *page)
{
    *page = (struct tidings_page){(uint32_t)settings.page_max, {TIDINGS_ID_MAX, TIDINGS_ID_MAX}};
    assert_field(op, NULL);
    page->limit = (uint32_t)settings.page_max + 1;
    assert_field(op, "limit");
    page->limit = UINT32_MAX;
    assert_field(op, "limit");
    page->limit = 0;
    page->after = (struct tidings_cursor){TIDINGS_ID_MAX + 1, 0};
    assert_field(op, "cursor");
    page->after = (struct tidings_cursor){0, UINT64_MAX};
    assert_field(op, "cursor");
    page->after = (struct tidings_cursor){1, UINT64_MAX};
    assert_field(op, "cursor");
    *page = (struct tidings_page){0};
    assert_field(op, NULL);
}

void assert_extra(const struct tidings_op *op, struct tidings_text *extra)
{
    static char text[TIDINGS_EXTRA_MAX + 1];
    const struct tidings_text bad[] = {
        {"", 0}, {"{\"a\":\"\xff\"}", 9}, {"{\"a\":1", 6}, {"[1]", 3}, {"{}", SIZE_MAX},
    };
    memset(text, ' ', sizeof text);
    memcpy(text, "{}", 2);
    *extra = (struct tidings_text){text, TIDINGS_EXTRA_MAX};
    assert_fine(*op);
    extra->n++;
    assert_refused(*op, "extra");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        *extra = bad[i];
        assert_refused(*op, "extra");
    }
    *extra = (struct tidings_text){"{\"a\":1}", 7};
    assert_fine(*op);
}
