/* SPDX-License-Identifier: MIT */
/* The arguments of subscriptions and of preferences. */
#include "unit/check.h"

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
        cmocka_unit_test_setup(lists_of_ones_own_have_pages, check_begin_small),
        cmocka_unit_test_setup(subscribers_asked_about_ascend, check_begin_small),
        cmocka_unit_test_setup(preferences_cannot_be_wrong, check_begin_small),
    };
    return RUN_TESTS(tests);
}
