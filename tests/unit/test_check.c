/* SPDX-License-Identifier: MIT */
/* Every operation: the smallest that is right, and each way in which one argument is wrong. */
#include "domain/check.h"

#include <string.h>

#include "domain/ids.h"
#include "unit/test.h"

static struct tidings_settings settings;
static const struct tidings_moment some_moment = {{16}};
static const uint64_t three_ids[] = {1, 2, TIDINGS_ID_MAX};

static int set_up(void **state)
{
    (void)state;
    struct tidings_options options;
    tidings_options_init(&options);
    settings = options.settings;
    return 0;
}

static struct tidings_text text_of(const char *s)
{
    return (struct tidings_text){s, strlen(s)};
}

/* An operation with nothing wrong in it. */
static struct tidings_op good(enum tidings_op_kind kind)
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
    case TIDINGS_OP_COUNTERS:
    case TIDINGS_OP_PROFILE:
        op.u.user.user_id = 8;
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

static void assert_fine(struct tidings_op op)
{
    const char *field = check_op(&op, &settings);
    if (field)
        fail_msg("op %d: %s refused", (int)op.kind, field);
}

static void assert_refused(struct tidings_op op, const char *expected)
{
    const char *field = check_op(&op, &settings);
    if (!field)
        fail_msg("op %d: accepted, though %s is wrong", (int)op.kind, expected);
    assert_string_equal(field, expected);
}

static const enum tidings_op_kind all_kinds[] = {
#define X(name, lower, writes, args, answer) TIDINGS_OP_##name,
    TIDINGS_OPS(X)
#undef X
};

/* 0 and what is past 2^53-1 are no ids, wherever an id stands. */
static const uint64_t no_ids[] = {0, TIDINGS_ID_MAX + 1, UINT64_MAX};

static void every_operation_can_be_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(all_kinds); i++)
        assert_fine(good(all_kinds[i]));
}

static void what_all_operations_share_is_checked_in_each(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(all_kinds); i++) {
        struct tidings_op op = good(all_kinds[i]);
        for (size_t k = 0; k < COUNT_OF(no_ids); k++) {
            op.user_id = no_ids[k];
            assert_refused(op, "viewer");
        }
        op.user_id = TIDINGS_ID_MAX;
        assert_fine(op);
        op.role = TIDINGS_ROLE_ADMIN;
        assert_fine(op);
        op.role = (enum tidings_role)3;
        assert_refused(op, "role");
        op.role = (enum tidings_role) - 1;
        assert_refused(op, "role");
    }
}

static void an_unknown_operation_is_refused(void **state)
{
    (void)state;
    assert_refused((struct tidings_op){.kind = (enum tidings_op_kind)COUNT_OF(all_kinds)}, "op");
    assert_refused((struct tidings_op){.kind = (enum tidings_op_kind) - 1}, "op");
    assert_refused((struct tidings_op){.kind = (enum tidings_op_kind)INT32_MAX}, "op");
}

static void a_time_must_have_ids(void **state)
{
    (void)state;
    const int64_t last = ID_EPOCH_MS + (int64_t)(TIDINGS_ID_MAX >> ID_TIME_SHIFT);
    struct tidings_op op = good(TIDINGS_OP_BADGE);
    op.now_ms = -1;
    assert_refused(op, "now_ms");
    op.now_ms = INT64_MIN;
    assert_refused(op, "now_ms");
    op.now_ms = INT64_MAX;
    assert_refused(op, "now_ms");
    op.now_ms = last + 1;
    assert_refused(op, "now_ms");
    op.now_ms = last;
    assert_fine(op);
    op.now_ms = 1;
    assert_fine(op);
}

static void a_relation_needs_another_user(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_FOLLOW, TIDINGS_OP_UNFOLLOW,
                                          TIDINGS_OP_STATUS};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = good(kinds[i]);
        for (size_t k = 0; k < COUNT_OF(no_ids); k++) {
            op.u.relation.user_id = no_ids[k];
            assert_refused(op, "user_id");
        }
        op.u.relation.user_id = TIDINGS_ID_MAX;
        assert_fine(op);
        op.u.relation.user_id = op.user_id;
        if (kinds[i] == TIDINGS_OP_STATUS)
            assert_fine(op);
        else
            assert_refused(op, "user_id");
    }
}

static void single_ids_are_checked(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT_OF(no_ids); k++) {
        const struct {
            enum tidings_op_kind kind;
            const char *field;
        } rows[] = {
            {TIDINGS_OP_COUNTERS, "user_id"},  {TIDINGS_OP_PROFILE, "user_id"},
            {TIDINGS_OP_FOLLOWING, "user_id"}, {TIDINGS_OP_FOLLOWERS, "user_id"},
            {TIDINGS_OP_DELETE, "post_id"},    {TIDINGS_OP_OPEN, "post_id"},
            {TIDINGS_OP_POST, "post_id"},      {TIDINGS_OP_HISTORY_DELETE, "post_id"},
            {TIDINGS_OP_EDIT, "post_id"},      {TIDINGS_OP_FANS_AMONG, "author_id"},
        };
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            struct tidings_op op = good(rows[i].kind);
            op.u.user.user_id = no_ids[k]; /* the id is the first member of all of them */
            assert_refused(op, rows[i].field);
        }
    }
}

static void pages_are_checked_wherever_there_is_one(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_FOLLOWING, TIDINGS_OP_FOLLOWERS,
                                          TIDINGS_OP_INBOX,     TIDINGS_OP_AUTHOR_PAGE,
                                          TIDINGS_OP_HISTORY,   TIDINGS_OP_EVENTS};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = good(kinds[i]);
        struct tidings_page *page = &op.u.page;
        if (kinds[i] == TIDINGS_OP_FOLLOWING || kinds[i] == TIDINGS_OP_FOLLOWERS)
            page = &op.u.users.page;
        if (kinds[i] == TIDINGS_OP_INBOX || kinds[i] == TIDINGS_OP_AUTHOR_PAGE)
            page = &op.u.feed.page;
        *page =
            (struct tidings_page){(uint32_t)settings.page_max, {TIDINGS_ID_MAX, TIDINGS_ID_MAX}};
        assert_fine(op);
        page->limit = (uint32_t)settings.page_max + 1;
        assert_refused(op, "limit");
        page->limit = UINT32_MAX;
        assert_refused(op, "limit");
        page->limit = 1;
        page->after.a = TIDINGS_ID_MAX + 1;
        assert_refused(op, "cursor");
        page->after = (struct tidings_cursor){1, UINT64_MAX};
        assert_refused(op, "cursor");
    }
}

static void feeds_are_checked(void **state)
{
    (void)state;
    struct tidings_op inbox = good(TIDINGS_OP_INBOX), page = good(TIDINGS_OP_AUTHOR_PAGE);
    page.u.feed.author_id = 0;
    assert_refused(page, "author_id");
    inbox.u.feed.author_id = TIDINGS_ID_MAX;
    assert_fine(inbox);
    inbox.u.feed.author_id = TIDINGS_ID_MAX + 1;
    assert_refused(inbox, "author_id");
    inbox.u.feed.author_id = 0;
    for (int filter = TIDINGS_ALL; filter <= TIDINGS_READ; filter++) {
        inbox.u.feed.filter = (enum tidings_filter)filter;
        assert_fine(inbox);
    }
    inbox.u.feed.filter = (enum tidings_filter)(TIDINGS_READ + 1);
    assert_refused(inbox, "filter");
    inbox.u.feed.filter = (enum tidings_filter) - 1;
    assert_refused(inbox, "filter");
}

/* ---- Texts ---------------------------------------------------------------------------------- */

/* n times the same character. */
static struct tidings_text repeat(const char *character, size_t n)
{
    static char memory[8 << 20];
    size_t length = strlen(character);
    assert_true(n * length <= sizeof memory);
    for (size_t i = 0; i < n; i++)
        memcpy(memory + i * length, character, length);
    return (struct tidings_text){memory, n * length};
}

#define WIDE "\xf0\x9f\x98\x80" /* four bytes, one character */

static void titles_are_1_to_200_characters(void **state)
{
    (void)state;
    for (int edit = 0; edit < 2; edit++) {
        struct tidings_op op = good(edit ? TIDINGS_OP_EDIT : TIDINGS_OP_PUBLISH);
        struct tidings_text *title = edit ? &op.u.edit.title : &op.u.publish.title;
        *title = repeat("x", settings.title_max);
        assert_fine(op);
        *title = repeat(WIDE, settings.title_max);
        assert_fine(op);
        *title = repeat("x", settings.title_max + 1);
        assert_refused(op, "title");
        *title = repeat(WIDE, settings.title_max + 1);
        assert_refused(op, "title");
        *title = (struct tidings_text){"", 0};
        assert_refused(op, "title");
        *title = (struct tidings_text){"\xff", 1};
        assert_refused(op, "title");
        *title = (struct tidings_text){"a\0b", 3};
        assert_refused(op, "title");
        *title = (struct tidings_text){NULL, 0};
        assert_refused(op, "title");
        *title = (struct tidings_text){NULL, 5};
        assert_refused(op, "title");
    }
}

static void bodies_are_up_to_64_kib(void **state)
{
    (void)state;
    for (int edit = 0; edit < 2; edit++) {
        struct tidings_op op = good(edit ? TIDINGS_OP_EDIT : TIDINGS_OP_PUBLISH);
        struct tidings_text *body = edit ? &op.u.edit.body : &op.u.publish.body;
        *body = repeat("x", settings.body_max);
        assert_fine(op);
        *body = repeat("x", settings.body_max + 1);
        assert_refused(op, "body");
        *body = repeat(WIDE, settings.body_max / 4);
        assert_fine(op);
        *body = repeat(WIDE, settings.body_max / 4 + 1);
        assert_refused(op, "body");
        *body = (struct tidings_text){"", 0};
        assert_fine(op);
        *body = (struct tidings_text){NULL, 0};
        assert_fine(op);
        *body = (struct tidings_text){NULL, 1};
        assert_refused(op, "body");
        *body = (struct tidings_text){"\xed\xa0\x80", 3};
        assert_refused(op, "body");
        *body = (struct tidings_text){"", SIZE_MAX};
        assert_refused(op, "body");
    }
}

static void a_post_has_a_kind(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_PUBLISH);
    for (int kind = TIDINGS_NOTE; kind <= TIDINGS_STORY; kind++) {
        op.u.publish.kind = (enum tidings_post_kind)kind;
        assert_fine(op);
    }
    const int bad[] = {-1, 0, TIDINGS_STORY + 1, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        op.u.publish.kind = (enum tidings_post_kind)bad[i];
        assert_refused(op, "kind");
    }
}

static void an_edit_may_change_either_but_not_neither(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_EDIT);
    op.u.edit.title = (struct tidings_text){NULL, 0};
    op.u.edit.body = text_of("b");
    assert_fine(op);
    op.u.edit.body = text_of("");
    assert_fine(op);
    op.u.edit.body = (struct tidings_text){NULL, 0};
    assert_refused(op, "title");
}

static void profiles_are_checked(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_PROFILE_SET);
    op.u.profile.name = repeat(WIDE, settings.name_max);
    assert_fine(op);
    op.u.profile.name = repeat(WIDE, settings.name_max + 1);
    assert_refused(op, "name");
    op.u.profile.name = repeat("x", settings.name_max + 1);
    assert_refused(op, "name");
    op.u.profile.name = (struct tidings_text){"\xc0\x80", 2};
    assert_refused(op, "name");
    op.u.profile.name = (struct tidings_text){NULL, 3};
    assert_refused(op, "name");
    op.u.profile.name = (struct tidings_text){NULL, 0};
    assert_refused(op, "name"); /* neither */
    op.u.profile.avatar = repeat("x", settings.avatar_max);
    assert_fine(op);
    op.u.profile.avatar = repeat("x", settings.avatar_max + 1);
    assert_refused(op, "avatar");
    op.u.profile.avatar = repeat(WIDE, settings.avatar_max / 4 + 1);
    assert_refused(op, "avatar");
    op.u.profile.avatar = (struct tidings_text){"\xff", 1};
    assert_refused(op, "avatar");
    op.u.profile.avatar = text_of("");
    assert_fine(op); /* that removes it */
}

static void webhooks_are_checked(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_WEBHOOK_SET);
    const char *const bad_names[] = {"", "a b", "a/b", "a.b", "a\"", "\xc3\xa9", "a\n"};
    op.u.webhook.name = repeat("x", 30);
    assert_fine(op);
    op.u.webhook.name = repeat("x", 31);
    assert_refused(op, "name");
    for (size_t i = 0; i < COUNT_OF(bad_names); i++) {
        const enum tidings_op_kind kinds[] = {
            TIDINGS_OP_WEBHOOK_SET, TIDINGS_OP_WEBHOOK_DELETE, TIDINGS_OP_WEBHOOK_RETRY,
            TIDINGS_OP_WEBHOOK, TIDINGS_OP_WEBHOOK_REPORT}; /* the name is the first member */
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            op = good(kinds[k]);
            op.u.webhook.name = text_of(bad_names[i]);
            assert_refused(op, "name");
        }
    }
    op = good(TIDINGS_OP_WEBHOOK_SET);
    op.u.webhook.secret = repeat("x", 256);
    assert_fine(op);
    op.u.webhook.secret = repeat("x", 257);
    assert_refused(op, "secret");
    op.u.webhook.secret = repeat("x", 15);
    assert_refused(op, "secret");
    op.u.webhook.secret = repeat("x", 16);
    assert_fine(op);
    op.u.webhook.url = repeat("x", 2049);
    assert_refused(op, "url");
    op.u.webhook.url = (struct tidings_text){NULL, 0};
    assert_refused(op, "url");
}

static void reports_about_webhooks_are_checked(void **state)
{
    (void)state;
    const struct tidings_op fine = good(TIDINGS_OP_WEBHOOK_REPORT);
    struct tidings_op op = fine;
    op.u.webhook_report.position = TIDINGS_ID_MAX + 1;
    assert_refused(op, "position");
    op = fine;
    op.u.webhook_report.retry_at = -1;
    assert_refused(op, "retry_at");
    op = fine;
    op.u.webhook_report.failing_since = -1;
    assert_refused(op, "failing_since");
    op = fine;
    op.u.webhook_report.waiting_since = -1;
    assert_refused(op, "waiting_since");
    op = fine;
    op.u.webhook_report.last_error = repeat("x", 201);
    assert_refused(op, "last_error");
    op.u.webhook_report.last_error = repeat("x", 200);
    assert_fine(op);
}

/* ---- Lists of ids --------------------------------------------------------------------------- */

static void marks_by_id_are_1_to_500(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_MARK_READ, TIDINGS_OP_MARK_UNREAD};
    static uint64_t ids[501];
    for (size_t i = 0; i < COUNT_OF(ids); i++)
        ids[i] = 16 * (i + 1);
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = good(kinds[i]);
        op.u.mark.post_ids = ids;
        op.u.mark.n_post_ids = 500;
        assert_fine(op);
        op.u.mark.n_post_ids = 501;
        assert_refused(op, "post_ids");
        op.u.mark.n_post_ids = 0;
        assert_refused(op, "post_ids");
        op.u.mark.n_post_ids = 3;
        op.u.mark.post_ids = NULL;
        assert_refused(op, "post_ids");
        for (size_t k = 0; k < COUNT_OF(no_ids); k++) {
            const uint64_t bad[] = {16, 32, no_ids[k]};
            op.u.mark.post_ids = bad;
            assert_refused(op, "post_ids");
        }
        op = good(kinds[i]);
        op.u.mark.author_id = 8;
        assert_refused(op, "author_id");
        op = good(kinds[i]);
        op.u.mark.up_to = some_moment;
        assert_refused(op, "up_to");
    }
}

static void bulk_marks_need_a_token(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_MARK_READ, .user_id = 7};
    assert_refused(op, "post_ids"); /* nothing at all */
    op.u.mark.author_id = 8;
    assert_refused(op, "up_to");
    /* Whatever is in it, and in which part: what it means only an engine knows. */
    for (size_t i = 0; i < TIDINGS_MOMENT_PARTS; i++) {
        op.u.mark.up_to = (struct tidings_moment){{0}};
        op.u.mark.up_to.part[i] = UINT64_MAX;
        op.u.mark.author_id = 8;
        assert_fine(op);
        op.u.mark.author_id = 0;
        assert_fine(op);
    }
    op.u.mark.author_id = TIDINGS_ID_MAX + 1;
    assert_refused(op, "author_id");
    op.u.mark.author_id = 8;
    op.kind = TIDINGS_OP_MARK_UNREAD; /* not in bulk */
    assert_refused(op, "post_ids");
}

static void users_asked_about_ascend(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_FANS_AMONG);
    const uint64_t twice[] = {1, 2, 2}, down[] = {1, 3, 2}, bad[] = {0, 1, 2};
    op.u.among.user_ids = twice;
    assert_refused(op, "user_ids");
    op.u.among.user_ids = down;
    assert_refused(op, "user_ids");
    op.u.among.user_ids = bad;
    assert_refused(op, "user_ids");
    op.u.among.user_ids = NULL;
    op.u.among.n_user_ids = 0;
    assert_fine(op);
}

static bool refuse_users_that_are_not_there(void)
{
    struct tidings_op op = good(TIDINGS_OP_FANS_AMONG);
    op.u.among.user_ids = NULL;
    const char *field = check_op(&op, &settings);
    return field && !strcmp(field, "user_ids");
}

static void users_that_are_not_there_do_not_crash(void **state)
{
    (void)state;
    assert_true(test_survives(refuse_users_that_are_not_there));
}

/* ---- Settings ------------------------------------------------------------------------------- */

static void the_default_settings_are_in_range(void **state)
{
    (void)state;
    assert_null(check_settings(&settings));
}

static void each_setting_has_its_range(void **state)
{
    (void)state;
    struct tidings_settings s = settings;
#define X(name, standard, least, most, text)            \
    s.name = (least);                                   \
    assert_null(check_settings(&s));                    \
    s.name = (most);                                    \
    assert_null(check_settings(&s));                    \
    s.name = (uint64_t)(most) + 1;                      \
    assert_string_equal(check_settings(&s), #name);     \
    s.name = UINT64_MAX;                                \
    assert_string_equal(check_settings(&s), #name);     \
    if ((least) > 0) {                                  \
        s.name = (uint64_t)(least)-1;                   \
        assert_string_equal(check_settings(&s), #name); \
    }                                                   \
    s.name = (standard);
    TIDINGS_SETTINGS(X)
#undef X
}

static void limits_are_settings(void **state)
{
    (void)state;
    settings.title_max = 3;
    settings.mark_max = 2;
    settings.page_max = 5;
    struct tidings_op op = good(TIDINGS_OP_PUBLISH);
    op.u.publish.title = text_of("abc");
    assert_fine(op);
    op.u.publish.title = text_of("abcd");
    assert_refused(op, "title");
    assert_refused(good(TIDINGS_OP_MARK_READ), "post_ids");
    op = good(TIDINGS_OP_HISTORY);
    op.u.page.limit = 6;
    assert_refused(op, "limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(every_operation_can_be_right, set_up),
        cmocka_unit_test_setup(what_all_operations_share_is_checked_in_each, set_up),
        cmocka_unit_test_setup(an_unknown_operation_is_refused, set_up),
        cmocka_unit_test_setup(a_time_must_have_ids, set_up),
        cmocka_unit_test_setup(a_relation_needs_another_user, set_up),
        cmocka_unit_test_setup(single_ids_are_checked, set_up),
        cmocka_unit_test_setup(pages_are_checked_wherever_there_is_one, set_up),
        cmocka_unit_test_setup(feeds_are_checked, set_up),
        cmocka_unit_test_setup(titles_are_1_to_200_characters, set_up),
        cmocka_unit_test_setup(bodies_are_up_to_64_kib, set_up),
        cmocka_unit_test_setup(a_post_has_a_kind, set_up),
        cmocka_unit_test_setup(an_edit_may_change_either_but_not_neither, set_up),
        cmocka_unit_test_setup(profiles_are_checked, set_up),
        cmocka_unit_test_setup(webhooks_are_checked, set_up),
        cmocka_unit_test_setup(reports_about_webhooks_are_checked, set_up),
        cmocka_unit_test_setup(marks_by_id_are_1_to_500, set_up),
        cmocka_unit_test_setup(bulk_marks_need_a_token, set_up),
        cmocka_unit_test_setup(users_asked_about_ascend, set_up),
        cmocka_unit_test_setup(users_that_are_not_there_do_not_crash, set_up),
        cmocka_unit_test_setup(the_default_settings_are_in_range, set_up),
        cmocka_unit_test_setup(each_setting_has_its_range, set_up),
        cmocka_unit_test_setup(limits_are_settings, set_up),
    };
    return RUN_TESTS(tests);
}
