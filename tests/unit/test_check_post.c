/* SPDX-License-Identifier: MIT */
/* The arguments of posts: titles, bodies, kinds. */
#include "unit/check.h"

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

static void own_data_is_a_json_object(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_PUBLISH);
    assert_extra(&op, &op.u.publish.extra);
    op.u.publish.extra = (struct tidings_text){NULL, 2};
    assert_refused(op, "extra");
    op = good(TIDINGS_OP_EDIT);
    op.u.edit.title = op.u.edit.body = (struct tidings_text){NULL, 0};
    assert_extra(&op, &op.u.edit.extra);
    op.u.edit.extra = (struct tidings_text){NULL, 0};
    assert_refused(op, "title");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(titles_are_1_to_200_characters, check_begin),
        cmocka_unit_test_setup(bodies_are_up_to_64_kib, check_begin),
        cmocka_unit_test_setup(own_data_is_a_json_object, check_begin),
        cmocka_unit_test_setup(a_post_has_a_kind, check_begin),
        cmocka_unit_test_setup(an_edit_may_change_either_but_not_neither, check_begin),
    };
    return RUN_TESTS(tests);
}
