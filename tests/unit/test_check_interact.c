/* SPDX-License-Identifier: MIT */
/* The arguments of reactions, comments and hot lists: what is just right, and just not. */
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

static void assert_page(const struct tidings_op *op, struct tidings_page *page)
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
    *page = (struct tidings_page){0};
    assert_field(op, NULL);
}

/* Which reactions there are on what. */
static const struct {
    int target;
    int reaction;
    bool can_be_set;
    bool is_listed;
} pairs[] = {
    {TIDINGS_TARGET_POST, TIDINGS_LIKE, true, true},
    {TIDINGS_TARGET_POST, TIDINGS_FAV, true, true},
    {TIDINGS_TARGET_POST, TIDINGS_DOWNVOTE, false, false},
    {TIDINGS_TARGET_COMMENT, TIDINGS_LIKE, true, true},
    {TIDINGS_TARGET_COMMENT, TIDINGS_FAV, false, false},
    {TIDINGS_TARGET_COMMENT, TIDINGS_DOWNVOTE, true, false},
    {TIDINGS_TARGET_POST, 0, false, false},
    {TIDINGS_TARGET_POST, 4, false, false},
    {TIDINGS_TARGET_POST, -1, false, false},
    {TIDINGS_TARGET_COMMENT, 0, false, false},
    {TIDINGS_TARGET_COMMENT, 4, false, false},
    {TIDINGS_TARGET_COMMENT, INT32_MAX, false, false},
};

static const int no_targets[] = {0, 3, -1, INT32_MAX};

static void posts_take_likes_and_favs_comments_likes_and_downvotes(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_REACT, TIDINGS_OP_UNREACT};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        struct tidings_op op = {.kind = kinds[k], .user_id = 7};
        op.u.react.id = 16;
        for (size_t i = 0; i < COUNT_OF(pairs); i++) {
            op.u.react.target = (enum tidings_target)pairs[i].target;
            op.u.react.reaction = (enum tidings_reaction)pairs[i].reaction;
            assert_field(&op, pairs[i].can_be_set ? NULL : "reaction");
        }
        op.u.react.reaction = TIDINGS_LIKE;
        for (size_t i = 0; i < COUNT_OF(no_targets); i++) {
            op.u.react.target = (enum tidings_target)no_targets[i];
            assert_field(&op, "target");
        }
        op.u.react.target = TIDINGS_TARGET_COMMENT;
        assert_id(&op, &op.u.react.id, "id");
    }
}

static void stats_need_no_reaction(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_STATS, .user_id = 7};
    op.u.react.id = 16;
    for (size_t i = 0; i < COUNT_OF(no_targets); i++) {
        op.u.react.target = (enum tidings_target)no_targets[i];
        assert_field(&op, "target");
    }
    for (size_t i = 0; i < COUNT_OF(pairs); i++) {
        op.u.react.target = (enum tidings_target)pairs[i].target;
        op.u.react.reaction = (enum tidings_reaction)pairs[i].reaction;
        assert_field(&op, NULL);
    }
    assert_id(&op, &op.u.react.id, "id");
}

static void downvotes_are_counted_and_not_listed(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_REACTORS, TIDINGS_OP_REACTED};
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        struct tidings_op op = {.kind = kinds[k], .user_id = 7};
        op.u.reactors.id = 16;
        for (size_t i = 0; i < COUNT_OF(pairs); i++) {
            op.u.reactors.target = (enum tidings_target)pairs[i].target;
            op.u.reactors.reaction = (enum tidings_reaction)pairs[i].reaction;
            assert_field(&op, pairs[i].is_listed ? NULL : "reaction");
        }
        op.u.reactors.reaction = TIDINGS_LIKE;
        for (size_t i = 0; i < COUNT_OF(no_targets); i++) {
            op.u.reactors.target = (enum tidings_target)no_targets[i];
            assert_field(&op, "target");
        }
        op.u.reactors.target = TIDINGS_TARGET_POST;
        assert_page(&op, &op.u.reactors.page);
    }
}

static void reactors_are_of_something_and_reacted_is_not(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_REACTORS, .user_id = 7};
    op.u.reactors.target = TIDINGS_TARGET_COMMENT;
    op.u.reactors.reaction = TIDINGS_LIKE;
    assert_id(&op, &op.u.reactors.id, "id");
    op.kind = TIDINGS_OP_REACTED;
    for (size_t i = 0; i < COUNT_OF(no_ids); i++) {
        op.u.reactors.id = no_ids[i];
        assert_field(&op, NULL);
    }
}

/* n times the same character; the caller frees. */
static struct tidings_text repeat(const char *character, size_t n)
{
    size_t length = strlen(character);
    char *memory = malloc(n * length + 1);
    assert_non_null(memory);
    for (size_t i = 0; i < n; i++)
        memcpy(memory + i * length, character, length);
    return (struct tidings_text){memory, n * length};
}

static void assert_body(const char *character, size_t n, const char *field)
{
    struct tidings_text body = repeat(character, n);
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENT, .user_id = 7};
    op.u.comment.post_id = 16;
    op.u.comment.body = body;
    assert_field(&op, field);
    free((void *)(uintptr_t)body.p);
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

static void a_hot_list_is_of_a_kind(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_HOT, .user_id = 7};
    const int bad[] = {-1, 0, TIDINGS_STORY + 1, INT32_MAX};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        op.u.hot.kind = (enum tidings_post_kind)bad[i];
        assert_field(&op, "kind");
    }
    for (int kind = TIDINGS_NOTE; kind <= TIDINGS_STORY; kind++) {
        op.u.hot.kind = (enum tidings_post_kind)kind;
        assert_field(&op, NULL);
    }
    assert_page(&op, &op.u.hot.page);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(posts_take_likes_and_favs_comments_likes_and_downvotes, set_up),
        cmocka_unit_test_setup(stats_need_no_reaction, set_up),
        cmocka_unit_test_setup(downvotes_are_counted_and_not_listed, set_up),
        cmocka_unit_test_setup(reactors_are_of_something_and_reacted_is_not, set_up),
        cmocka_unit_test_setup(a_comment_is_1_to_4000_characters, set_up),
        cmocka_unit_test_setup(a_comment_is_on_a_post_and_maybe_under_another, set_up),
        cmocka_unit_test_setup(a_comment_is_named_by_its_id, set_up),
        cmocka_unit_test_setup(lists_of_comments_are_checked, set_up),
        cmocka_unit_test_setup(a_hot_list_is_of_a_kind, set_up),
    };
    return RUN_TESTS(tests);
}
