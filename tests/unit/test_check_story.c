/* SPDX-License-Identifier: MIT */
/* The arguments of stories, reading positions, subscriptions and notifications: what is just right, and just not. */
#include "domain/check.h"

#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

static struct tidings_settings settings;

static int set_up(void **state)
{
    (void)state;
    struct tidings_options options;
    tidings_options_init(&options);
    settings = options.settings;
    settings.title_max = 5;
    settings.messages_max = 3;
    settings.message_max = 4;
    settings.mark_max = 3;
    return 0;
}

/* NULL: it must be fine; otherwise that field is at fault. */
static void assert_field(const struct tidings_op *op, const char *expected)
{
    const char *field = check_op(op, &settings);
    if (!expected && field)
        fail_msg("op %d: %s refused", (int)op->kind, field);
    if (expected && !field)
        fail_msg("op %d: accepted, though %s is wrong", (int)op->kind, expected);
    if (expected)
        assert_string_equal(field, expected);
}

static struct tidings_text text_of(const char *s)
{
    return (struct tidings_text){s, strlen(s)};
}

static const struct tidings_text nothing = {NULL, 0};
static const struct tidings_moment some_moment = {{16}};
static const uint64_t no_ids[] = {0, TIDINGS_ID_MAX + 1, UINT64_MAX};

static void assert_id(const struct tidings_op *op, uint64_t *id, const char *field)
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

static void assert_page(const struct tidings_op *op, struct tidings_page *page)
{
    *page = (struct tidings_page){(uint32_t)settings.page_max, {TIDINGS_ID_MAX, TIDINGS_ID_MAX}};
    assert_field(op, NULL);
    page->limit++;
    assert_field(op, "limit");
    page->limit = 0;
    page->after.a = TIDINGS_ID_MAX + 1;
    assert_field(op, "cursor");
    page->after = (struct tidings_cursor){1, UINT64_MAX};
    assert_field(op, "cursor");
    *page = (struct tidings_page){0};
    assert_field(op, NULL);
}

/* ---- Scenes --------------------------------------------------------------------------------- */

#define WIDE "\xf0\x9f\x98\x80" /* four bytes, one character */

static void assert_title(const struct tidings_op *op, struct tidings_text *title)
{
    *title = text_of("12345");
    assert_field(op, NULL);
    *title = text_of(WIDE WIDE WIDE WIDE WIDE);
    assert_field(op, NULL);
    *title = text_of("123456");
    assert_field(op, "title");
    *title = text_of("");
    assert_field(op, "title");
    *title = text_of("\xff");
    assert_field(op, "title");
    *title = (struct tidings_text){"a\0b", 3};
    assert_field(op, "title");
    *title = (struct tidings_text){"", SIZE_MAX};
    assert_field(op, "title");
    *title = text_of("t");
    assert_field(op, NULL);
}

static void a_scene_has_a_story_and_a_title(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_SCENE_PUBLISH, .user_id = 7};
    op.u.scene.story_id = 16;
    op.u.scene.title = text_of("t");
    assert_field(&op, NULL);
    assert_id(&op, &op.u.scene.story_id, "story_id");
    assert_title(&op, &op.u.scene.title);
    op.u.scene.title = nothing;
    assert_field(&op, "title");
}

static void an_edit_of_a_scene_changes_either_but_not_neither(void **state)
{
    (void)state;
    const struct tidings_message none = {0};
    struct tidings_op op = {.kind = TIDINGS_OP_SCENE_EDIT, .user_id = 7};
    op.u.scene.scene_id = 16;
    op.u.scene.title = text_of("t");
    assert_id(&op, &op.u.scene.scene_id, "scene_id");
    assert_title(&op, &op.u.scene.title);
    op.u.scene.title = nothing;
    assert_field(&op, "title");
    op.u.scene.messages = &none; /* all go */
    assert_field(&op, NULL);
}

static void messages_are_checked_one_by_one(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_SCENE_PUBLISH, TIDINGS_OP_SCENE_EDIT};
    const struct tidings_text bad[] = {text_of("12345"),    text_of(WIDE WIDE WIDE WIDE WIDE),
                                       text_of(""),         nothing,
                                       text_of("\xc0\x80"), {"a\0b", 3},
                                       {NULL, 2},           {"", SIZE_MAX}};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_message messages[4] = {{0, text_of("1234")},
                                              {0, text_of(WIDE WIDE WIDE WIDE)},
                                              {0, text_of("m")},
                                              {0, text_of("m")}};
        struct tidings_op op = {.kind = kinds[i], .user_id = 7};
        op.u.scene.story_id = op.u.scene.scene_id = 16;
        op.u.scene.title = text_of("t");
        op.u.scene.messages = messages;
        op.u.scene.n_messages = 3;
        assert_field(&op, NULL);
        op.u.scene.n_messages = 4;
        assert_field(&op, "messages");
        op.u.scene.n_messages = SIZE_MAX;
        assert_field(&op, "messages");
        op.u.scene.n_messages = 3;
        for (size_t k = 0; k < COUNT_OF(bad); k++) {
            messages[2].text = bad[k];
            assert_field(&op, "messages");
        }
        messages[2].text = text_of("m");
        op.u.scene.messages = NULL;
        assert_field(&op, "messages");
    }
}

static void only_an_edit_names_messages(void **state)
{
    (void)state;
    struct tidings_message message = {16, text_of("m")};
    struct tidings_op op = {.kind = TIDINGS_OP_SCENE_PUBLISH, .user_id = 7};
    op.u.scene.story_id = op.u.scene.scene_id = 16;
    op.u.scene.title = text_of("t");
    op.u.scene.messages = &message;
    op.u.scene.n_messages = 1;
    assert_field(&op, "messages");
    op.kind = TIDINGS_OP_SCENE_EDIT;
    assert_field(&op, NULL);
    message.id = TIDINGS_ID_MAX;
    assert_field(&op, NULL);
    message.id = TIDINGS_ID_MAX + 1;
    assert_field(&op, "messages");
}

static void a_scene_or_a_story_is_named(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_SCENE_DELETE, .user_id = 7};
    assert_id(&op, &op.u.scene_id.scene_id, "scene_id");
    op.kind = TIDINGS_OP_SCENE;
    assert_id(&op, &op.u.scene_id.scene_id, "scene_id");
    op = (struct tidings_op){.kind = TIDINGS_OP_SUBSCRIBE, .user_id = 7};
    assert_id(&op, &op.u.post.post_id, "story_id");
    op.kind = TIDINGS_OP_UNSUBSCRIBE;
    assert_id(&op, &op.u.post.post_id, "story_id");
    const enum tidings_op_kind lists[] = {TIDINGS_OP_SCENES, TIDINGS_OP_SUBSCRIBERS};
    for (size_t i = 0; i < COUNT_OF(lists); i++) {
        op = (struct tidings_op){.kind = lists[i], .user_id = 7};
        assert_id(&op, &op.u.scenes.story_id, "story_id");
        assert_page(&op, &op.u.scenes.page);
    }
}

/* ---- Reading -------------------------------------------------------------------------------- */

static void a_position_has_a_story_and_a_time(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_READING_SET, TIDINGS_OP_READING_DELETE,
                                          TIDINGS_OP_READING_CLEAR};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = {.kind = kinds[i], .user_id = 7};
        if (kinds[i] == TIDINGS_OP_READING_CLEAR)
            assert_field(&op, NULL);
        else
            assert_id(&op, &op.u.reading.story_id, "story_id");
        op.u.reading.modified_at = INT64_MAX; /* cut to the server's clock */
        assert_field(&op, NULL);
        op.u.reading.modified_at = -1;
        assert_field(&op, "modified_at");
        op.u.reading.modified_at = INT64_MIN;
        assert_field(&op, "modified_at");
    }
}

static void a_message_is_read_in_its_scene(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_READING_SET, .user_id = 7};
    op.u.reading.story_id = 16;
    assert_field(&op, NULL); /* entered */
    op.u.reading.message_id = 48;
    assert_field(&op, "message_id");
    op.u.reading.scene_id = 32;
    assert_field(&op, NULL);
    op.u.reading.message_id = TIDINGS_ID_MAX + 1;
    assert_field(&op, "message_id");
    op.u.reading.message_id = 0;
    assert_field(&op, NULL);
    op.u.reading.scene_id = TIDINGS_ID_MAX;
    assert_field(&op, NULL);
    op.u.reading.scene_id = TIDINGS_ID_MAX + 1;
    assert_field(&op, "scene_id");
    op.kind = TIDINGS_OP_READING_DELETE; /* which has no use for it */
    assert_field(&op, NULL);
}

static void only_a_delta_has_a_version(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_READING, .user_id = 7};
    assert_page(&op, &op.u.readings.page);
    op.u.readings.since = 1;
    assert_field(&op, "since");
    op.u.readings.delta = true;
    assert_field(&op, NULL);
    assert_page(&op, &op.u.readings.page);
    op.u.readings.since = TIDINGS_ID_MAX;
    assert_field(&op, NULL);
    op.u.readings.since = TIDINGS_ID_MAX + 1;
    assert_field(&op, "since");
    op.u.readings.since = 0;
    assert_field(&op, NULL);
}

/* ---- Notices -------------------------------------------------------------------------------- */

static void notifications_are_marked_by_id_or_up_to_a_token(void **state)
{
    (void)state;
    uint64_t ids[] = {16, 32, 48, 64};
    struct tidings_op op = {.kind = TIDINGS_OP_NOTIFICATIONS_MARK, .user_id = 7};
    assert_field(&op, "ids");
    op.u.mark.post_ids = ids;
    assert_field(&op, "ids");
    op.u.mark.n_post_ids = 3;
    assert_field(&op, NULL);
    op.u.mark.n_post_ids = 4;
    assert_field(&op, "ids");
    op.u.mark.n_post_ids = 3;
    assert_id(&op, &ids[2], "ids");
    op.u.mark.up_to = some_moment; /* one or the other */
    assert_field(&op, "up_to");
    op.u.mark.post_ids = NULL;
    assert_field(&op, "ids");
    op.u.mark.n_post_ids = 0;
    assert_field(&op, NULL);
    op.u.mark.author_id = 8; /* notifications are not read by author */
    assert_field(&op, "author_id");
}

static void lists_of_ones_own_have_pages(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_SUBSCRIPTIONS, TIDINGS_OP_NOTIFICATIONS};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = {.kind = kinds[i], .user_id = 7};
        assert_page(&op, &op.u.page);
    }
}

static void subscribers_asked_about_ascend(void **state)
{
    (void)state;
    const uint64_t good[] = {1, 2, TIDINGS_ID_MAX}, twice[] = {1, 2, 2}, bad[] = {0, 1, 2};
    struct tidings_op op = {.kind = TIDINGS_OP_SUBSCRIBERS_AMONG, .user_id = 7};
    op.u.among.user_ids = good;
    op.u.among.n_user_ids = 3;
    assert_id(&op, &op.u.among.author_id, "author_id");
    op.u.among.user_ids = twice;
    assert_field(&op, "user_ids");
    op.u.among.user_ids = bad;
    assert_field(&op, "user_ids");
    op.u.among.user_ids = NULL;
    assert_field(&op, "user_ids");
    op.u.among.n_user_ids = 0;
    assert_field(&op, NULL);
}

static void preferences_cannot_be_wrong(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_PREFERENCES, .user_id = 7};
    assert_field(&op, NULL);
    op.kind = TIDINGS_OP_PREFERENCES_SET;
    assert_field(&op, NULL);
    op.u.preferences.story_updates = true;
    assert_field(&op, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_scene_has_a_story_and_a_title, set_up),
        cmocka_unit_test_setup(an_edit_of_a_scene_changes_either_but_not_neither, set_up),
        cmocka_unit_test_setup(messages_are_checked_one_by_one, set_up),
        cmocka_unit_test_setup(only_an_edit_names_messages, set_up),
        cmocka_unit_test_setup(a_scene_or_a_story_is_named, set_up),
        cmocka_unit_test_setup(a_position_has_a_story_and_a_time, set_up),
        cmocka_unit_test_setup(a_message_is_read_in_its_scene, set_up),
        cmocka_unit_test_setup(only_a_delta_has_a_version, set_up),
        cmocka_unit_test_setup(notifications_are_marked_by_id_or_up_to_a_token, set_up),
        cmocka_unit_test_setup(lists_of_ones_own_have_pages, set_up),
        cmocka_unit_test_setup(subscribers_asked_about_ascend, set_up),
        cmocka_unit_test_setup(preferences_cannot_be_wrong, set_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
