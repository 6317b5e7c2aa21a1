/* SPDX-License-Identifier: MIT */
/* The arguments of scenes: what is just right, and just not. */
#include "unit/check.h"

static const struct tidings_text nothing = {NULL, 0};

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_scene_has_a_story_and_a_title, check_begin_small),
        cmocka_unit_test_setup(an_edit_of_a_scene_changes_either_but_not_neither,
                               check_begin_small),
        cmocka_unit_test_setup(messages_are_checked_one_by_one, check_begin_small),
        cmocka_unit_test_setup(only_an_edit_names_messages, check_begin_small),
        cmocka_unit_test_setup(a_scene_or_a_story_is_named, check_begin_small),
    };
    return RUN_TESTS(tests);
}
