/* SPDX-License-Identifier: MIT */
/* The arguments of hot lists. */
#include "unit/check.h"

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
        cmocka_unit_test_setup(a_hot_list_is_of_a_kind, check_begin),
    };
    return RUN_TESTS(tests);
}
