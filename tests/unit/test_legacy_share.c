/* SPDX-License-Identifier: MIT */
#include "legacy/share.h"

#include "unit/test.h"

static void shares_are_percent_with_four_digits_behind_the_point(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t share;
    } right[] = {{"5%", 50000},        {"100%", 1000000},   {"0.25%", 2500}, {"0.0001%", 1},
                 {"99.9999%", 999999}, {"100.0%", 1000000}, {"1.%", 10000},  {"001%", 10000}};
    static const char *const wrong[] = {"",       "5",      "%",   "0%",         "100.0001%",
                                        "101%",   "-5%",    "5%%", "5 %",        "0.00001%",
                                        "5.5.5%", "99999%", "+5%", "4294967297%"};
    uint64_t share = 7;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (share_parse(wrong[i], &share) || share != 7)
            fail_msg("%s was taken", wrong[i]);
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        assert_true(share_parse(right[i].text, &share));
        assert_int_equal(share, right[i].share);
    }
}

static void a_share_has_so_many_and_a_larger_one_has_them_all(void **state)
{
    (void)state;
    unsigned five = 0, ten = 0;
    for (uint64_t user = 1; user <= 100000; user++) {
        five += share_has(50000, user);
        ten += share_has(100000, user);
        assert_true(share_has(SHARE_ALL, user));
        assert_true(!share_has(50000, user) || share_has(100000, user));
    }
    assert_in_range(five, 4700, 5300);
    assert_in_range(ten, 9600, 10400);
}

/* Others reckon it, too: docs/MIGRATING.md. */
static void the_hash_is_the_one_that_is_written_down(void **state)
{
    (void)state;
    static const uint64_t users[] = {1, 42, UINT64_C(9007199254740991)};
    static const uint32_t hashes[] = {822465, 275413, 550367};
    for (size_t i = 0; i < 3; i++) {
        assert_false(share_has(hashes[i], users[i]));
        assert_true(share_has(hashes[i] + 1, users[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_are_percent_with_four_digits_behind_the_point),
        cmocka_unit_test(a_share_has_so_many_and_a_larger_one_has_them_all),
        cmocka_unit_test(the_hash_is_the_one_that_is_written_down),
    };
    return RUN_TESTS(tests);
}
