/* SPDX-License-Identifier: MIT */
/* The arguments of marking notifications. */
#include "unit/check.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(notifications_are_marked_by_id_or_up_to_a_token, check_begin_small),
    };
    return RUN_TESTS(tests);
}
