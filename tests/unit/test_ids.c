/* SPDX-License-Identifier: MIT */
#include "domain/ids.h"

#include "tidings.h"
#include "unit/test.h"

#define NOW_MS INT64_C(1750000000000)

/* The last millisecond that has ids. */
#define LAST_MS (ID_EPOCH_MS + (int64_t)(TIDINGS_ID_MAX >> ID_TIME_SHIFT))

static void first_id_carries_the_time(void **state)
{
    (void)state;
    uint64_t id = id_next(0, NOW_MS);
    assert_int_equal(id_time_ms(id), NOW_MS);
    assert_int_equal(id, id_floor(NOW_MS));
}

static void a_later_millisecond_gives_a_greater_id(void **state)
{
    (void)state;
    uint64_t last = id_next(0, NOW_MS);
    uint64_t next = id_next(last, NOW_MS + 1);
    assert_true(next > last);
    assert_int_equal(id_time_ms(next), NOW_MS + 1);
}

static void more_than_256_a_millisecond_borrow_from_the_next(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 256; i++) {
        uint64_t next = id_next(last, NOW_MS);
        assert_true(next > last);
        assert_int_equal(id_time_ms(next), NOW_MS);
        last = next;
    }
    uint64_t borrowed = id_next(last, NOW_MS);
    assert_true(borrowed > last);
    assert_int_equal(id_time_ms(borrowed), NOW_MS + 1);
    /* When that millisecond comes, its first id is taken already. */
    assert_true(id_next(borrowed, NOW_MS + 1) > borrowed);
}

static void a_clock_set_back_stands_still(void **state)
{
    (void)state;
    uint64_t last = id_next(0, NOW_MS);
    uint64_t next = id_next(last, NOW_MS - 3600 * 1000);
    assert_int_equal(next, last + ID_STEP);
    assert_int_equal(id_time_ms(next), NOW_MS);
}

static void a_clock_before_the_epoch_still_gives_ids(void **state)
{
    (void)state;
    const int64_t early[] = {ID_EPOCH_MS, ID_EPOCH_MS - 1, 1, 0, -1, INT64_MIN};
    for (size_t i = 0; i < COUNT_OF(early); i++) {
        assert_int_equal(id_floor(early[i]), 0);
        assert_int_equal(id_next(0, early[i]), ID_STEP);
        assert_int_equal(id_time_ms(id_next(0, early[i])), ID_EPOCH_MS);
    }
}

static void the_last_id_is_below_2_to_the_53(void **state)
{
    (void)state;
    uint64_t last = id_next(0, LAST_MS);
    unsigned given = 0;
    for (uint64_t next = last; next; next = id_next(next, LAST_MS)) {
        assert_true(next <= TIDINGS_ID_MAX);
        last = next;
        given++;
    }
    assert_int_equal(given, 256);
    assert_int_equal(last, TIDINGS_ID_MAX - ID_STEP + 1);
}

static void used_up_ids_answer_0(void **state)
{
    (void)state;
    assert_int_equal(id_next(TIDINGS_ID_MAX, NOW_MS), 0);
    assert_int_equal(id_next(TIDINGS_ID_MAX, INT64_MAX), 0);
    assert_int_equal(id_next(TIDINGS_ID_MAX - ID_STEP + 1, NOW_MS), 0);
    assert_int_equal(id_next(TIDINGS_ID_MAX - ID_STEP, NOW_MS), TIDINGS_ID_MAX);
}

static void times_past_the_last_are_cut_to_it(void **state)
{
    (void)state;
    assert_true(id_floor(LAST_MS) < TIDINGS_ID_MAX);
    assert_int_equal(id_floor(LAST_MS + 1), TIDINGS_ID_MAX);
    assert_int_equal(id_floor(INT64_MAX), TIDINGS_ID_MAX);
}

static void the_floor_separates_older_from_newer(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 300; i++)
        last = id_next(last, NOW_MS);
    assert_true(id_floor(NOW_MS) <= id_next(0, NOW_MS));
    assert_true(id_floor(NOW_MS + 1) > id_next(0, NOW_MS));
    assert_true(id_floor(NOW_MS + 1) <= last); /* borrowed */
}

static void ids_rise_whatever_the_clock_does(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    uint64_t last = 0;
    int64_t now = NOW_MS;
    for (int i = 0; i < 100000; i++) {
        now += (int64_t)rng_below(&rng, 7) - 3;
        uint64_t next = id_next(last, now);
        assert_true(next > last && next <= TIDINGS_ID_MAX);
        last = next;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_id_carries_the_time),
        cmocka_unit_test(a_later_millisecond_gives_a_greater_id),
        cmocka_unit_test(more_than_256_a_millisecond_borrow_from_the_next),
        cmocka_unit_test(a_clock_set_back_stands_still),
        cmocka_unit_test(a_clock_before_the_epoch_still_gives_ids),
        cmocka_unit_test(the_last_id_is_below_2_to_the_53),
        cmocka_unit_test(used_up_ids_answer_0),
        cmocka_unit_test(times_past_the_last_are_cut_to_it),
        cmocka_unit_test(the_floor_separates_older_from_newer),
        cmocka_unit_test(ids_rise_whatever_the_clock_does),
    };
    return RUN_TESTS(tests);
}
