/* SPDX-License-Identifier: MIT */
#include "legacy/keys.h"

#include <string.h>

#include "unit/test.h"

static struct legacy_names names_of(bool tagged)
{
    struct legacy_names names;
    legacy_names_init(&names);
    names.tagged = tagged;
    return names;
}

static void assert_key(enum legacy_key key, bool tagged, const char *expected)
{
    struct legacy_names names = names_of(tagged);
    char made[LEGACY_KEY_MAX];
    size_t n = legacy_key(&names, key, 42, 7, made);
    assert_string_equal(made, expected);
    assert_int_equal(n, strlen(expected));
    uint64_t first, second;
    assert_true(legacy_key_read(&names, key, made, n, &first, &second));
    char again[LEGACY_KEY_MAX];
    legacy_key(&names, key, first, second, again);
    assert_string_equal(again, expected);
}

static void keys_are_as_the_old_systems_have_them(void **state)
{
    (void)state;
    assert_key(LEGACY_FEED, false, "feed:42");
    assert_key(LEGACY_FEED, true, "feed:{42}");
    assert_key(LEGACY_AUTHOR_UNREAD, false, "author_unread:42:7");
    assert_key(LEGACY_AUTHOR_UNREAD, true, "author_unread:{42}:7");
    assert_key(LEGACY_DELETED, false, "deleted_blogs");
    assert_key(LEGACY_DELETED, true, "deleted_blogs");
    assert_key(LEGACY_UNREAD_COUNT, false, "user:unread:count:42");
    assert_key(LEGACY_UCNT, false, "ucnt:42");
}

static void what_is_no_such_key_is_not_taken(void **state)
{
    (void)state;
    struct legacy_names names = names_of(false);
    static const char *const wrong[] = {
        "",       "feed",     "feed:",     "feed:x",   "feed:42x", "feed:-1",
        "feed:0", "feed:042", "feed:{42}", "feed:4 2", "feeds:42", "feed:99999999999999999999"};
    uint64_t first = 5, second = 6;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        if (legacy_key_read(&names, LEGACY_FEED, wrong[i], strlen(wrong[i]), &first, &second))
            fail_msg("%s was taken", wrong[i]);
    assert_int_equal(first, 5);
    assert_int_equal(second, 6);
    /* One kind's name begins as another's. */
    const char *count = "user:unread:count:42", *unread = "user:unread:42:7";
    assert_false(
        legacy_key_read(&names, LEGACY_USER_UNREAD, count, strlen(count), &first, &second));
    assert_false(
        legacy_key_read(&names, LEGACY_UNREAD_COUNT, unread, strlen(unread), &first, &second));
}

static void names_may_be_others(void **state)
{
    (void)state;
    struct legacy_names names = names_of(false);
    char long_name[LEGACY_PREFIX_MAX + 8] = "FEED=", made[LEGACY_KEY_MAX];
    static const char *const wrong[] = {"", "FEED", "FEED=", "=x", "FEEDS=x", "FEE=x", "feed:=x"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(legacy_names_set(&names, wrong[i]));
    memset(long_name + 5, 'x', LEGACY_PREFIX_MAX);
    assert_false(legacy_names_set(&names, long_name));
    long_name[5 + LEGACY_PREFIX_MAX - 1] = '\0';
    assert_true(legacy_names_set(&names, long_name));
    assert_true(legacy_names_set(&names, "author_unread=a=b:"));
    legacy_key(&names, LEGACY_AUTHOR_UNREAD, 42, 7, made);
    assert_string_equal(made, "a=b:42:7");
    legacy_key(&names, LEGACY_READ, 42, 0, made);
    assert_string_equal(made, "blog:read:42");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_are_as_the_old_systems_have_them),
        cmocka_unit_test(what_is_no_such_key_is_not_taken),
        cmocka_unit_test(names_may_be_others),
    };
    return RUN_TESTS(tests);
}
