/* SPDX-License-Identifier: MIT */
/* The arguments of profiles. */
#include "unit/check.h"

static void profiles_are_checked(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_PROFILE_SET);
    op.u.profile.name = repeat(WIDE, settings.name_max);
    assert_fine(op);
    op.u.profile.name = repeat(WIDE, settings.name_max + 1);
    assert_refused(op, "name");
    op.u.profile.name = repeat("x", settings.name_max + 1);
    assert_refused(op, "name");
    op.u.profile.name = (struct tidings_text){"\xc0\x80", 2};
    assert_refused(op, "name");
    op.u.profile.name = (struct tidings_text){NULL, 3};
    assert_refused(op, "name");
    op.u.profile.name = (struct tidings_text){NULL, 0};
    assert_refused(op, "name"); /* neither */
    op.u.profile.avatar = repeat("x", settings.avatar_max);
    assert_fine(op);
    op.u.profile.avatar = repeat("x", settings.avatar_max + 1);
    assert_refused(op, "avatar");
    op.u.profile.avatar = repeat(WIDE, settings.avatar_max / 4 + 1);
    assert_refused(op, "avatar");
    op.u.profile.avatar = (struct tidings_text){"\xff", 1};
    assert_refused(op, "avatar");
    op.u.profile.avatar = text_of("");
    assert_fine(op); /* that removes it */
    op.u.profile.avatar = (struct tidings_text){NULL, 0};
    assert_extra(&op, &op.u.profile.extra); /* it is enough by itself */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(profiles_are_checked, check_begin),
    };
    return RUN_TESTS(tests);
}
