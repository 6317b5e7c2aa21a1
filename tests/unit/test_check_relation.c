/* SPDX-License-Identifier: MIT */
/* The arguments of relations. */
#include <string.h>

#include "unit/check.h"

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

/* ---- Lists of ids --------------------------------------------------------------------------- */

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
    op.u.among.item_id = TIDINGS_ID_MAX + 1;
    assert_refused(op, "item_id");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_relation_needs_another_user, check_begin),
        cmocka_unit_test_setup(users_asked_about_ascend, check_begin),
        cmocka_unit_test_setup(users_that_are_not_there_do_not_crash, check_begin),
    };
    return RUN_TESTS(tests);
}
