/* SPDX-License-Identifier: MIT */
#include "domain/bucket.h"

#include "unit/test.h"

#define NOW_MS INT64_C(1750000000000)

static const struct bucket_rule rule = {.burst = 100, .refill_ms = 1000};

/* How many tokens can be taken at that moment. */
static int drain(const struct bucket_rule *of, int64_t now_ms, int64_t *full_at)
{
    int64_t wait;
    int taken = 0;
    while (bucket_take(of, 1, now_ms, full_at, &wait))
        taken++;
    return taken;
}

static void a_new_bucket_is_full(void **state)
{
    (void)state;
    int64_t full_at = 0;
    assert_int_equal(drain(&rule, NOW_MS, &full_at), 100);
}

static void an_empty_bucket_says_exactly_how_long(void **state)
{
    (void)state;
    int64_t full_at = 0, wait = -1;
    drain(&rule, NOW_MS, &full_at);
    int64_t before = full_at;
    assert_false(bucket_take(&rule, 1, NOW_MS, &full_at, &wait));
    assert_int_equal(wait, 1000);
    assert_false(bucket_take(&rule, 1, NOW_MS + 1, &full_at, &wait));
    assert_int_equal(wait, 999);
    assert_false(bucket_take(&rule, 1, NOW_MS + 999, &full_at, &wait));
    assert_int_equal(wait, 1);
    assert_int_equal(full_at, before); /* a refusal costs nothing */
    assert_true(bucket_take(&rule, 1, NOW_MS + 1000, &full_at, &wait));
    assert_false(bucket_take(&rule, 1, NOW_MS + 1000, &full_at, &wait));
    assert_int_equal(wait, 1000);
}

static void tokens_come_back_one_at_a_time(void **state)
{
    (void)state;
    int64_t full_at = 0;
    drain(&rule, NOW_MS, &full_at);
    assert_int_equal(drain(&rule, NOW_MS + 2999, &full_at), 2);
    assert_int_equal(drain(&rule, NOW_MS + 3000, &full_at), 1);
    assert_int_equal(drain(&rule, NOW_MS + 53000, &full_at), 50);
}

static void after_long_idleness_it_is_full_and_no_more(void **state)
{
    (void)state;
    const int64_t idle_ms[] = {100000, 100001, 86400000, INT64_C(31536000000) * 50};
    for (size_t i = 0; i < COUNT_OF(idle_ms); i++) {
        int64_t full_at = 0;
        drain(&rule, NOW_MS, &full_at);
        assert_int_equal(drain(&rule, NOW_MS + idle_ms[i], &full_at), 100);
    }
}

static void it_never_forgets_that_it_is_not_yet_full(void **state)
{
    (void)state;
    int64_t full_at = 0;
    drain(&rule, NOW_MS, &full_at);
    assert_int_equal(drain(&rule, NOW_MS + 99999, &full_at), 99);
    assert_int_equal(drain(&rule, NOW_MS + 99999 + 99000, &full_at), 99);
}

static void a_bucket_of_one_gives_one(void **state)
{
    (void)state;
    const struct bucket_rule single = {.burst = 1, .refill_ms = 1};
    int64_t full_at = 0, wait;
    assert_int_equal(drain(&single, NOW_MS, &full_at), 1);
    assert_false(bucket_take(&single, 1, NOW_MS, &full_at, &wait));
    assert_int_equal(wait, 1);
    assert_int_equal(drain(&single, NOW_MS + 1, &full_at), 1);
}

static void the_largest_settings_do_not_overflow(void **state)
{
    (void)state;
    const struct bucket_rule largest = {.burst = 1000000, .refill_ms = 86400000};
    const int64_t last_ms = INT64_C(3776861222655); /* of the ids */
    int64_t full_at = 0, wait;
    assert_int_equal(drain(&largest, last_ms, &full_at), 1000000);
    assert_false(bucket_take(&largest, 1, last_ms, &full_at, &wait));
    assert_int_equal(wait, 86400000);
}

static void stricter_settings_apply_to_what_was_taken_before(void **state)
{
    (void)state;
    const struct bucket_rule strict = {.burst = 10, .refill_ms = 1000};
    int64_t full_at = 0, wait;
    drain(&rule, NOW_MS, &full_at);
    assert_false(bucket_take(&strict, 1, NOW_MS, &full_at, &wait));
    assert_int_equal(wait, 91000);
    assert_int_equal(drain(&strict, NOW_MS + 91000, &full_at), 1);
}

/* The rule in the words of the specification: tokens are added as time goes by, up to the burst. */
static void it_agrees_with_counting_tokens(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    const struct bucket_rule small = {.burst = 5, .refill_ms = 10};
    int64_t full_at = 0, now = NOW_MS, wait;
    int64_t credit = small.burst * small.refill_ms; /* tokens, in ms */
    for (int i = 0; i < 100000; i++) {
        int64_t passed = (int64_t)rng_below(&rng, rng_percent(&rng, 5) ? 200 : 12);
        now += passed;
        credit += passed;
        if (credit > small.burst * small.refill_ms)
            credit = small.burst * small.refill_ms;
        bool granted = bucket_take(&small, 1, now, &full_at, &wait);
        assert_int_equal(granted, credit >= small.refill_ms);
        if (granted)
            credit -= small.refill_ms;
        else
            assert_int_equal(wait, small.refill_ms - credit);
    }
}

static void many_at_once_are_as_many_one_by_one(void **state)
{
    (void)state;
    int64_t many = 0, single = 0, wait;
    assert_true(bucket_take(&rule, 60, NOW_MS, &many, &wait));
    for (int i = 0; i < 60; i++)
        assert_true(bucket_take(&rule, 1, NOW_MS, &single, &wait));
    assert_int_equal(many, single);
    assert_false(bucket_take(&rule, 60, NOW_MS, &many, &wait));
    assert_int_equal(wait, 20 * 1000);
    assert_true(bucket_take(&rule, 40, NOW_MS, &many, &wait));
    /* More than it holds: all of a full one, and not less. */
    assert_false(bucket_take(&rule, 500, NOW_MS + 99999, &many, &wait));
    assert_int_equal(wait, 1);
    assert_true(bucket_take(&rule, 500, NOW_MS + 100000, &many, &wait));
    assert_int_equal(drain(&rule, NOW_MS + 100000, &many), 0);
}

static void what_is_left_is_what_can_be_taken(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 2000; round++) {
        struct bucket_rule of = {.burst = 1 + (int64_t)rng_below(&rng, 5),
                                 .refill_ms = 1 + (int64_t)rng_below(&rng, 20)};
        /* May be emptier than empty: it was larger once. */
        int64_t full_at = NOW_MS + (int64_t)rng_below(&rng, 150) - 20, next_ms, wait;
        int64_t left = bucket_left(&of, NOW_MS, full_at, &next_ms);
        assert_int_equal(drain(&of, NOW_MS, &(int64_t){full_at}), left);
        if (full_at <= NOW_MS) {
            assert_int_equal(left, of.burst);
            assert_int_equal(next_ms, 0);
            continue;
        }
        assert_int_equal(drain(&of, NOW_MS + next_ms - 1, &(int64_t){full_at}), left);
        assert_int_equal(drain(&of, NOW_MS + next_ms, &(int64_t){full_at}), left + 1);
        if (!left) {
            assert_false(bucket_take(&of, 1, NOW_MS, &full_at, &wait));
            assert_int_equal(next_ms, wait);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_new_bucket_is_full),
        cmocka_unit_test(an_empty_bucket_says_exactly_how_long),
        cmocka_unit_test(tokens_come_back_one_at_a_time),
        cmocka_unit_test(after_long_idleness_it_is_full_and_no_more),
        cmocka_unit_test(it_never_forgets_that_it_is_not_yet_full),
        cmocka_unit_test(a_bucket_of_one_gives_one),
        cmocka_unit_test(the_largest_settings_do_not_overflow),
        cmocka_unit_test(stricter_settings_apply_to_what_was_taken_before),
        cmocka_unit_test(it_agrees_with_counting_tokens),
        cmocka_unit_test(many_at_once_are_as_many_one_by_one),
        cmocka_unit_test(what_is_left_is_what_can_be_taken),
    };
    return RUN_TESTS(tests);
}
