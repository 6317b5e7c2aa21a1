/* SPDX-License-Identifier: MIT */
#include "legacy/payload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/test.h"

/* A copy of exactly that length: reading on behind it is noticed. */
static bool pair(const char *json, size_t n, uint64_t *from, uint64_t *to)
{
    uint8_t *copy = malloc(n + !n);
    assert_non_null(copy);
    memcpy(copy, json, n);
    bool found = payload_pair((struct bytes){copy, n}, from, to);
    free(copy);
    return found;
}

static void both_spellings_are_read(void **state)
{
    (void)state;
    static const char *const fine[] = {
        "{\"from_user_id\":7,\"to_user_id\":9007199254740991}",
        "{\"fromUserId\":7,\"toUserId\":9007199254740991}",
        "{\"from_user_id\":\"7\",\"toUserId\":\"9007199254740991\"}",
        " {\"id\":1e9,\"x\":[{}],\"to_user_id\":9007199254740991,\"from_user_id\":7,\"fromUserId\":"
        "8} ",
    };
    for (size_t i = 0; i < COUNT_OF(fine); i++) {
        uint64_t from = 0, to = 0;
        assert_true(pair(fine[i], strlen(fine[i]), &from, &to));
        assert_int_equal(from, 7);
        assert_int_equal(to, 9007199254740991);
    }
}

static void anything_else_is_none(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        " ",
        "null",
        "7",
        "\"7\"",
        "[]",
        "[7,8]",
        "{}",
        "{",
        "\xff\xfe",
        "{\"from_user_id\":7}",
        "{\"to_user_id\":7}",
        "{\"from_user_id\":7,\"to_user_id\":8",
        "{\"from_user_id\":7,\"to_user_id\":8}}",
        "{\"from_user_id\":7,\"to_user_id\":8,\"to_user_id\":9}",
        "{\"from_user_id\":7,\"to_user_id\":0}",
        "{\"from_user_id\":7,\"to_user_id\":-8}",
        "{\"from_user_id\":7,\"to_user_id\":8.0}",
        "{\"from_user_id\":7,\"to_user_id\":true}",
        "{\"from_user_id\":7,\"to_user_id\":null}",
        "{\"from_user_id\":7,\"to_user_id\":[8]}",
        "{\"from_user_id\":7,\"to_user_id\":\"\"}",
        "{\"from_user_id\":7,\"to_user_id\":\"8 \"}",
        "{\"from_user_id\":7,\"to_user_id\":\"8\\u0000\"}",
        "{\"from_user_id\":7,\"to_user_id\":9007199254740992}",
        "{\"from_user_id\":7,\"to_user_id\":\"9007199254740992\"}",
        "{\"from_user_id\":7,\"to_user_id\":99999999999999999999999}",
        "{\"from_user_id\":7,\"to_user_id\":8,\"x\":\"\xc3\"}",
    };
    uint64_t from = 5, to = 5;
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        assert_false(pair(wrong[i], strlen(wrong[i]), &from, &to));
    assert_false(payload_pair((struct bytes){NULL, 0}, &from, &to));
    assert_int_equal(from, 5);
    assert_int_equal(to, 5);
}

static void what_is_nested_very_deep_is_none(void **state)
{
    (void)state;
    enum { DEEP = 100000 };
    uint64_t from = 5, to = 5;
    char *text = malloc(DEEP);
    assert_non_null(text);
    memset(text, '[', DEEP);
    assert_false(pair(text, DEEP, &from, &to));
    for (size_t i = 0; i + 5 <= DEEP; i += 5)
        memcpy(text + i, "{\"a\":", 5);
    assert_false(pair(text, DEEP, &from, &to));
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_spellings_are_read),
        cmocka_unit_test(anything_else_is_none),
        cmocka_unit_test(what_is_nested_very_deep_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
