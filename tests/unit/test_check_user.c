/* SPDX-License-Identifier: MIT */
/* The arguments of profiles, and of looking for them. */
#include <stdio.h>
#include <string.h>

#include "unit/check.h"

/* As many of the pieces as fit into that many bytes; valid until the next. */
static struct tidings_text long_url(const char *piece, size_t bytes)
{
    static char url[8192];
    size_t n = (size_t)snprintf(url, sizeof url, "https://a/");
    for (size_t step = strlen(piece); n + step <= bytes; n += step)
        memcpy(url + n, piece, step);
    return (struct tidings_text){url, n};
}

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
    op.u.profile.avatar = long_url("x", settings.avatar_max);
    assert_fine(op);
    op.u.profile.avatar = long_url("x", settings.avatar_max + 1);
    assert_refused(op, "avatar");
    op.u.profile.avatar = long_url(WIDE, settings.avatar_max);
    assert_fine(op);
    op.u.profile.avatar = long_url(WIDE, settings.avatar_max + strlen(WIDE));
    assert_refused(op, "avatar");
    op.u.profile.avatar = text_of("javascript:alert(1)");
    assert_refused(op, "avatar");
    op.u.profile.avatar = (struct tidings_text){"https://a/\xff", 11};
    assert_refused(op, "avatar");
    op.u.profile.avatar = text_of("");
    assert_fine(op); /* that removes it */
    op.u.profile.avatar = (struct tidings_text){NULL, 0};
    assert_extra(&op, &op.u.profile.extra); /* it is enough by itself */
}

static void searches_are_checked(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_PROFILE_SEARCH);
    op.u.search.prefix = repeat(WIDE, 64);
    assert_fine(op);
    op.u.search.prefix = repeat(WIDE, 65);
    assert_refused(op, "prefix");
    op.u.search.prefix = repeat("x", 64);
    assert_fine(op);
    op.u.search.prefix = repeat("x", 65);
    assert_refused(op, "prefix");
    op.u.search.prefix = text_of("");
    assert_refused(op, "prefix");
    op.u.search.prefix = (struct tidings_text){NULL, 0};
    assert_refused(op, "prefix");
    op.u.search.prefix = (struct tidings_text){"\xff", 1};
    assert_refused(op, "prefix");
    op = good(TIDINGS_OP_PROFILE_SEARCH);
    op.u.search.page.after.a = 7; /* nobody has been there without a name */
    assert_refused(op, "cursor");
    op.u.search.after_name = repeat(WIDE, 256);
    assert_fine(op);
    op.u.search.after_name = repeat(WIDE, 257);
    assert_refused(op, "cursor");
    op.u.search.after_name = (struct tidings_text){"\xc0\x80", 2};
    assert_refused(op, "cursor");
    op.u.search.after_name = text_of("ann");
    op.u.search.page.after.b = 1;
    assert_refused(op, "cursor");
    op.u.search.page.after = (struct tidings_cursor){0, 0};
    assert_refused(op, "cursor");
    op = good(TIDINGS_OP_PROFILE_SEARCH);
    op.u.search.page.limit = (uint32_t)settings.page_max + 1;
    assert_refused(op, "limit");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(profiles_are_checked, check_begin),
        cmocka_unit_test_setup(searches_are_checked, check_begin),
    };
    return RUN_TESTS(tests);
}
