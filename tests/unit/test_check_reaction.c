/* SPDX-License-Identifier: MIT */
/* The arguments of reactions: what is just right, and just not. */
#include "unit/check.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(posts_take_likes_and_favs_comments_likes_and_downvotes, check_begin),
        cmocka_unit_test_setup(stats_need_no_reaction, check_begin),
        cmocka_unit_test_setup(downvotes_are_counted_and_not_listed, check_begin),
        cmocka_unit_test_setup(reactors_are_of_something_and_reacted_is_not, check_begin),
    };
    return RUN_TESTS(tests);
}
