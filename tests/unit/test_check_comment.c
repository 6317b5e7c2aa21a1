/* SPDX-License-Identifier: MIT */
/* The arguments of comments: what is just right, and just not. */
#include "unit/check.h"

/* Zero is none. */
static void assert_parent(const struct tidings_op *op, uint64_t *id)
{
    *id = TIDINGS_ID_MAX + 1;
    assert_field(op, "parent_id");
    *id = UINT64_MAX;
    assert_field(op, "parent_id");
    *id = TIDINGS_ID_MAX;
    assert_field(op, NULL);
    *id = 0;
    assert_field(op, NULL);
}

static void assert_body(const char *character, size_t n, const char *field)
{
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENT, .user_id = 7};
    op.u.comment.post_id = 16;
    op.u.comment.body = repeat(character, n);
    assert_field(&op, field);
}

static void a_comment_is_1_to_4000_characters(void **state)
{
    (void)state;
    assert_int_equal(settings.comment_max, 4000);
    const char *wide = "\xf0\x9f\x98\x80"; /* four bytes, one character */
    assert_body("x", 1, NULL);
    assert_body("x", 4000, NULL);
    assert_body("x", 4001, "body");
    assert_body(wide, 4000, NULL);
    assert_body(wide, 4001, "body");
    settings.comment_max = 3;
    assert_body(wide, 3, NULL);
    assert_body("x", 4, "body");

    const struct tidings_text bad[] = {
        {NULL, 0},   {NULL, 2},           {"", 0},        {"\xff", 1},
        {"a\0b", 3}, {"\xed\xa0\x80", 3}, {"", SIZE_MAX},
    };
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENT, .user_id = 7};
    op.u.comment.post_id = 16;
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        op.u.comment.body = bad[i];
        assert_field(&op, "body");
    }
}

static void a_comment_is_on_a_post_and_maybe_under_another(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENT, .user_id = 7};
    op.u.comment.body = (struct tidings_text){"c", 1};
    assert_id(&op, &op.u.comment.post_id, "post_id");
    assert_parent(&op, &op.u.comment.parent_id);
}

static void a_comment_is_named_by_its_id(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_COMMENT_DELETE, TIDINGS_OP_COMMENT_HIDE,
                                          TIDINGS_OP_COMMENT_RESTORE};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = {.kind = kinds[i], .user_id = 7};
        assert_id(&op, &op.u.comment_id.comment_id, "comment_id");
    }
}

static void lists_of_comments_are_checked(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENTS, .user_id = 7};
    assert_id(&op, &op.u.comments.post_id, "post_id");
    assert_parent(&op, &op.u.comments.parent_id);
    for (int sort = TIDINGS_HOT; sort <= TIDINGS_OLD; sort++) {
        op.u.comments.sort = (enum tidings_sort)sort;
        assert_field(&op, NULL);
    }
    const int bad[] = {-1, TIDINGS_OLD + 1, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        op.u.comments.sort = (enum tidings_sort)bad[i];
        assert_field(&op, "sort");
    }
    op.u.comments.sort = TIDINGS_NEW;
    op.u.comments.include_hidden = true;
    assert_page(&op, &op.u.comments.page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_comment_is_1_to_4000_characters, check_begin),
        cmocka_unit_test_setup(a_comment_is_on_a_post_and_maybe_under_another, check_begin),
        cmocka_unit_test_setup(a_comment_is_named_by_its_id, check_begin),
        cmocka_unit_test_setup(lists_of_comments_are_checked, check_begin),
    };
    return RUN_TESTS(tests);
}
