/* SPDX-License-Identifier: MIT */
/* Changes of keys in Redis: what comes late, or from a server that has lost its turn, leaves newer keys alone. On the Redis that tests/support/with-redis has
 * started, one or a cluster. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/wait.h"
#include "consume/redis_calls.h"
#include "unit/test.h"

static struct redis_calls *calls;
static uint64_t id; /* another in each test */

static int begin_calls(void **state)
{
    (void)state;
    struct redis_options options = {.nodes = getenv("TIDINGS_TEST_REDIS")};
    const char *message;
    calls = redis_calls_new(&options, &message);
    id = id ? id + 1 : (uint64_t)time(NULL);
    return calls ? 0 : -1;
}

static int end_calls(void **state)
{
    (void)state;
    redis_calls_free(calls);
    return 0;
}

static void run_calls(size_t n_missing)
{
    assert_true(redis_calls_run(calls));
    assert_int_equal(calls->n_missing, n_missing);
}

/* A command with the key and up to two more words; the answer as a number, or that of a text's digits; -1: nil. */
static long long ask(const char *command, enum redis_kind kind, const char *more, const char *word)
{
    char name[REDIS_NAME_MAX];
    redis_key_name(kind, id, name);
    struct bytes args[4] = {
        {(const uint8_t *)command, strlen(command)},
        {(const uint8_t *)name, strlen(name)},
        {(const uint8_t *)more, more ? strlen(more) : 0},
        {(const uint8_t *)word, word ? strlen(word) : 0},
    };
    struct redis_call call = {.args = args, .n_args = 2 + !!more + !!word, .key = 1};
    redis_run(calls->redis, &call, 1, wait_now_ms() + 3000);
    assert_int_equal(call.outcome, REDIS_DONE);
    if (call.reply->type == REDIS_REPLY_NIL)
        return -1;
    return call.reply->type == REDIS_REPLY_INTEGER ? call.reply->integer : atoll(call.reply->str);
}

static long long score_of(enum redis_kind kind, const char *member)
{
    return ask("ZSCORE", kind, member, NULL);
}

static void counts_of_a_later_position_stay(void **state)
{
    (void)state;
    uint8_t expected[REDIS_COUNTS_BYTES];
    struct tidings_counters newer = {.following = 2}, older = {.following = 1};
    redis_calls_put_counts(calls, id, &newer, 1000);
    run_calls(0);
    redis_calls_put_counts(calls, id, &older, 999);
    run_calls(0);
    char name[REDIS_NAME_MAX];
    redis_key_name(REDIS_KIND_COUNTS, id, name);
    struct bytes args[2] = {{(const uint8_t *)"GET", 3}, {(const uint8_t *)name, strlen(name)}};
    struct redis_call call = {.args = args, .n_args = 2, .key = 1};
    redis_run(calls->redis, &call, 1, wait_now_ms() + 3000);
    assert_int_equal(call.outcome, REDIS_DONE);
    redis_counts_encode(&newer, 1000, expected);
    assert_int_equal(call.reply->len, sizeof expected);
    assert_memory_equal(call.reply->str, expected, sizeof expected);
}

static void numbers_of_a_later_position_stay_also_when_there_are_none(void **state)
{
    (void)state;
    redis_calls_put_number(calls, REDIS_KIND_STORY_LIKES, id, 7, 1000);
    run_calls(0);
    redis_calls_put_number(calls, REDIS_KIND_STORY_LIKES, id, 6, 999);
    run_calls(0);
    assert_int_equal(ask("GET", REDIS_KIND_STORY_LIKES, NULL, NULL), 7);
    redis_calls_put_number(calls, REDIS_KIND_STORY_LIKES, id, 0, 1001);
    run_calls(0);
    redis_calls_put_number(calls, REDIS_KIND_STORY_LIKES, id, 7, 1000);
    run_calls(0);
    assert_int_equal(ask("GET", REDIS_KIND_STORY_LIKES, NULL, NULL), -1);
}

static void changes_of_before_are_not_made_again(void **state)
{
    (void)state;
    struct redis_member first = {.id = 5, .at_ms = 50}, second = {.id = 6, .at_ms = 60};
    struct redis_member gone = {.id = 5, .is_removed = true};
    redis_calls_put_list(calls, REDIS_KIND_FOLLOWERS, id, &first, 1, 1000);
    run_calls(0);
    redis_calls_put_change(calls, REDIS_KIND_FOLLOWERS, id, &second, 1, 1001);
    run_calls(0);
    redis_calls_put_change(calls, REDIS_KIND_FOLLOWERS, id, &gone, 1, 1002);
    run_calls(0);
    redis_calls_put_change(calls, REDIS_KIND_FOLLOWERS, id, &first, 1, 1001); /* late */
    run_calls(0);
    assert_int_equal(score_of(REDIS_KIND_FOLLOWERS, "5"), -1);
    assert_int_equal(score_of(REDIS_KIND_FOLLOWERS, "6"), 60);
    redis_calls_put_list(calls, REDIS_KIND_FOLLOWERS, id, &first, 1, 1000); /* late, too */
    run_calls(0);
    assert_int_equal(score_of(REDIS_KIND_FOLLOWERS, "5"), -1);
}

static void a_list_that_became_empty_is_not_made_again_by_who_is_late(void **state)
{
    (void)state;
    struct redis_member member = {.id = 5, .at_ms = 50};
    redis_calls_put_list(calls, REDIS_KIND_STORY_LIKERS, id, &member, 1, 1000);
    run_calls(0);
    redis_calls_put_list(calls, REDIS_KIND_STORY_LIKERS, id, NULL, 0, 1001);
    run_calls(0);
    redis_calls_put_list(calls, REDIS_KIND_STORY_LIKERS, id, &member, 1, 1000);
    run_calls(0);
    redis_calls_put_change(calls, REDIS_KIND_STORY_LIKERS, id, &member, 1, 1000);
    run_calls(0); /* it is not even missing */
    redis_calls_begin_build(calls);
    redis_calls_put_part(calls, REDIS_KIND_STORY_LIKERS, id, &member, 1);
    run_calls(0);
    redis_calls_put_built(calls, REDIS_KIND_STORY_LIKERS, id, 1000);
    run_calls(0);
    assert_int_equal(ask("ZCARD", REDIS_KIND_STORY_LIKERS, NULL, NULL), 0);
}

static void a_list_that_is_missing_or_has_room_again_is_told_of(void **state)
{
    (void)state;
    static struct redis_member members[REDIS_FOLLOWS_MAX];
    struct redis_member one = {.id = 5000, .at_ms = 5000}, gone = {.id = 10, .is_removed = true};
    for (size_t i = 0; i < REDIS_FOLLOWS_MAX; i++)
        members[i] = (struct redis_member){.id = i + 1, .at_ms = (int64_t)i + 1};
    redis_calls_put_change(calls, REDIS_KIND_FOLLOWING, id, &one, 1, 1000);
    run_calls(1);
    assert_true(calls->missing[0].kind == REDIS_KIND_FOLLOWING && calls->missing[0].id == id);
    assert_int_equal(ask("ZCARD", REDIS_KIND_FOLLOWING, NULL, NULL), 0);
    redis_calls_put_list(calls, REDIS_KIND_FOLLOWING, id, members, REDIS_FOLLOWS_MAX, 1000);
    run_calls(0);
    redis_calls_put_change(calls, REDIS_KIND_FOLLOWING, id, &one, 1, 1001);
    run_calls(0);
    assert_int_equal(ask("ZCARD", REDIS_KIND_FOLLOWING, NULL, NULL), REDIS_FOLLOWS_MAX);
    assert_int_equal(score_of(REDIS_KIND_FOLLOWING, "1"), -1);
    redis_calls_put_change(calls, REDIS_KIND_FOLLOWING, id, &gone, 1, 1002);
    run_calls(1);
}

static void a_long_list_is_put_in_place_at_once(void **state)
{
    (void)state;
    struct redis_member old = {.id = 1, .at_ms = 1}, part = {.id = 2, .at_ms = 2};
    redis_calls_put_list(calls, REDIS_KIND_STORY_LIKERS, id, &old, 1, 1000);
    redis_calls_begin_build(calls);
    redis_calls_put_part(calls, REDIS_KIND_STORY_LIKERS, id, &part, 1);
    run_calls(0);
    assert_int_equal(score_of(REDIS_KIND_STORY_LIKERS, "1"), 1);
    redis_calls_put_built(calls, REDIS_KIND_STORY_LIKERS, id, 1001);
    run_calls(0);
    assert_int_equal(score_of(REDIS_KIND_STORY_LIKERS, "1"), -1);
    assert_int_equal(score_of(REDIS_KIND_STORY_LIKERS, "2"), 2);
    assert_int_equal(ask("PTTL", REDIS_KIND_STORY_LIKERS, NULL, NULL), -1);
    redis_calls_begin_build(calls);
    redis_calls_put_built(calls, REDIS_KIND_STORY_LIKERS, id, 1002); /* it has gone meanwhile */
    run_calls(1);
    assert_int_equal(score_of(REDIS_KIND_STORY_LIKERS, "2"), 2);
}

static void a_key_of_another_kind_is_removed(void **state)
{
    (void)state;
    struct redis_member member = {.id = 5, .at_ms = 50};
    ask("SET", REDIS_KIND_FOLLOWERS, "x", NULL);
    redis_calls_put_change(calls, REDIS_KIND_FOLLOWERS, id, &member, 1, 1000);
    run_calls(0);
    assert_int_equal(calls->n_refused, 1);
    assert_int_equal(ask("EXISTS", REDIS_KIND_FOLLOWERS, NULL, NULL), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin_calls, end_calls)
    const struct CMUnitTest tests[] = {
        TEST(counts_of_a_later_position_stay),
        TEST(numbers_of_a_later_position_stay_also_when_there_are_none),
        TEST(changes_of_before_are_not_made_again),
        TEST(a_list_that_became_empty_is_not_made_again_by_who_is_late),
        TEST(a_list_that_is_missing_or_has_room_again_is_told_of),
        TEST(a_long_list_is_put_in_place_at_once),
        TEST(a_key_of_another_kind_is_removed),
    };
#undef TEST
    return RUN_TESTS(tests);
}
