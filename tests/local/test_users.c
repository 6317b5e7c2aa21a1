/* SPDX-License-Identifier: MIT */
/* Going through all users: each of whom there is a row, once, in order, however few are asked for at a time. */
#include "contract/harness.h"

enum { FAN = 40, AUTHOR = 7, NAMED = 23, WRITER = 90, WATCHED = 3 };

static size_t all_users(uint64_t ids[], size_t room, size_t step)
{
    size_t n = 0, found = 1;
    for (uint64_t after = 0; found; after = n ? ids[n - 1] : 0) {
        assert_true(n + step <= room);
        assert_int_equal(tidings_users(engine, after, ids + n, step, &found), TIDINGS_OK);
        n += found;
    }
    return n;
}

static void everybody_is_found_once(void **state)
{
    (void)state;
    static const uint64_t everybody[] = {WATCHED, AUTHOR, NAMED, FAN, WRITER, TIDINGS_ID_MAX};
    enum { EVERYBODY = sizeof everybody / sizeof *everybody };
    uint64_t ids[32];
    assert_int_equal(all_users(ids, 32, 8), 0);
    follow(FAN, AUTHOR); /* of whom there is nothing but who follows */
    publish(WRITER, "t", "");
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SET, .user_id = NAMED, .u.profile.name = text_of("n")});
    follow(TIDINGS_ID_MAX, WATCHED);
    for (size_t step = 1; step < 9; step++) {
        assert_int_equal(all_users(ids, 32, step), EVERYBODY);
        assert_memory_equal(ids, everybody, sizeof everybody);
    }
    size_t n;
    assert_int_equal(tidings_users(engine, TIDINGS_ID_MAX + 1, ids, 8, &n), TIDINGS_INVALID);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(everybody_is_found_once),
    };
#undef TEST
    return RUN_TESTS(tests);
}
