/* SPDX-License-Identifier: MIT */
/* Names and values of the keys in Redis that others read, and of the marks beside them. */
#include "consume/redis_keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/redis.h"
#include "unit/test.h"

static struct bytes name_bytes(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static void names_are_as_others_know_them(void **state)
{
    (void)state;
    static const char *const names[REDIS_KIND_COUNT] = {
        [REDIS_KIND_COUNTS] = "ucnt:42",
        [REDIS_KIND_FOLLOWING] = "uf:flws:42",
        [REDIS_KIND_FOLLOWERS] = "uf:fans:42",
        [REDIS_KIND_BUCKET] = "rl:follow:42",
        [REDIS_KIND_STORY_LIKERS] = "like_story_user_set_42",
        [REDIS_KIND_STORIES_LIKED] = "story_user_like_set_42",
        [REDIS_KIND_STORY_LIKES] = "count_story_42",
        [REDIS_KIND_COMMENT_LIKERS] = "like_comment_user_set_42",
        [REDIS_KIND_COMMENTS_LIKED] = "comment_user_like_set_42",
        [REDIS_KIND_COMMENT_LIKES] = "count_comment_42",
    };
    for (unsigned i = 0; i < REDIS_KIND_COUNT; i++) {
        char name[REDIS_NAME_MAX];
        redis_key_name((enum redis_kind)i, 42, name);
        assert_string_equal(name, names[i]);
    }
}

static void names_are_read_back_and_companions_share_their_slot(void **state)
{
    (void)state;
    static const uint64_t ids[] = {1, 42, TIDINGS_ID_MAX};
    for (unsigned i = 0; i < REDIS_KIND_COUNT; i++)
        for (size_t k = 0; k < sizeof ids / sizeof *ids; k++) {
            char name[REDIS_NAME_MAX], companion[REDIS_NAME_MAX];
            enum redis_kind kind = REDIS_KIND_COUNT;
            uint64_t id = 0;
            redis_key_name((enum redis_kind)i, ids[k], name);
            redis_key_companion((enum redis_kind)i, ids[k], companion);
            assert_int_equal(redis_slot(name_bytes(name)), redis_slot(name_bytes(companion)));
            assert_true(redis_key_parse(name_bytes(name), &kind, &id));
            assert_true(kind == i && id == ids[k]);
            id = 0;
            assert_true(redis_key_parse(name_bytes(companion), &kind, &id));
            assert_true(kind == i && id == ids[k]);
        }
}

static void keys_of_others_are_not_taken_for_ours(void **state)
{
    (void)state;
    static const char *const others[] = {
        "",
        "ucnt:",
        "ucnt:042",
        "ucnt:4x",
        "ucnt:-4",
        "ucnt: 4",
        "uc",
        "count_story_abc",
        "xucnt:42",
        "{ucnt:42}",
        "{ucnt:42}:a",
        "ucnt:42}:at",
        "{ucnt:}:at",
        "ucnt:0",
        "count_story_9007199254740992",
        "count_story_99999999999999999999999",
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        enum redis_kind kind;
        uint64_t id;
        assert_false(redis_key_parse(name_bytes(others[i]), &kind, &id));
    }
}

static void counts_are_seven_numbers_and_the_position(void **state)
{
    (void)state;
    static const uint8_t expected[REDIS_COUNTS_BYTES] = {
        0, 0, 0, 1, 0, 0, 0,    2,    0,    0,    0, 3, 0, 0, 0, 4, 0, 0,
        0, 5, 0, 0, 1, 0, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 2, 1};
    struct tidings_counters counters = {1, 2, 3, 4, 5, 256, UINT64_C(1) << 40};
    uint8_t bytes[REDIS_COUNTS_BYTES];
    redis_counts_encode(&counters, 513, bytes);
    assert_memory_equal(bytes, expected, sizeof expected);
}

static void a_mark_is_in_each_part_of_the_slots(void **state)
{
    (void)state;
    static char names[REDIS_MARKS][REDIS_NAME_MAX];
    redis_mark_names(names);
    for (unsigned i = 0; i < REDIS_MARKS; i++)
        assert_int_equal(redis_slot(name_bytes(names[i])) / (REDIS_SLOTS / REDIS_MARKS), i);
}

static void marks_are_read_back(void **state)
{
    (void)state;
    struct redis_mark mark = {true, TIDINGS_ID_MAX, 7, INT64_C(1794780073279), ""}, again;
    char text[REDIS_MARK_MAX], whole[2 * REDIS_MARK_MAX];
    redis_mark_encode(&mark, text);
    snprintf(whole, sizeof whole, "%s %s", text, "0123456789abcdef0123456789abcdef01234567");
    assert_true(redis_mark_decode(name_bytes(whole), &again));
    assert_true(again.filling && again.position == mark.position && again.era == 7);
    assert_true(again.at_ms == mark.at_ms);
    assert_string_equal(again.run_id, "0123456789abcdef0123456789abcdef01234567");
}

static void marks_that_are_none_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {
        "",
        "kept",
        "kept 1",
        "kept 1 2 3",
        "kept 1 2 3 ",
        "gone 1 2 3 abc",
        "kept x 2 3 abc",
        "kept -1 2 3 abc",
        "kept 1  3 abc",
        "kept 1 2 3 abc d",
        "kept 99999999999999999999 2 3 abc",
        "kept 9223372036854775808 2 3 abc",
        "kept 1 2 3 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    };
    struct redis_mark mark;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(redis_mark_decode(name_bytes(wrong[i]), &mark));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_as_others_know_them),
        cmocka_unit_test(names_are_read_back_and_companions_share_their_slot),
        cmocka_unit_test(keys_of_others_are_not_taken_for_ours),
        cmocka_unit_test(counts_are_seven_numbers_and_the_position),
        cmocka_unit_test(a_mark_is_in_each_part_of_the_slots),
        cmocka_unit_test(marks_are_read_back),
        cmocka_unit_test(marks_that_are_none_are_refused),
    };
    return RUN_TESTS(tests);
}
