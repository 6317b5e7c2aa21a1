/* SPDX-License-Identifier: MIT */
#include "domain/readmap.h"

#include <string.h>

#include "unit/test.h"

static void assert_sound(const struct readmap *map)
{
    assert_int_equal(map->history & ~map->read, 0);
    assert_int_equal(map->late & ~map->history, 0);
}

static void a_first_reading_enters_the_history(void **state)
{
    (void)state;
    for (unsigned i = 0; i < READMAP_POSTS; i += 63) {
        struct readmap map = {0};
        readmap_mark(&map, i, 100, true);
        assert_true(readmap_has(map.read, i));
        assert_true(readmap_has(map.history, i));
        assert_int_equal(map.read, UINT64_C(1) << i);
        assert_int_equal(readmap_history_stamp(&map, i), 100);
        assert_sound(&map);
    }
}

static void a_bulk_mark_stays_out_of_the_history(void **state)
{
    (void)state;
    struct readmap map = {0};
    readmap_mark(&map, 5, 50, true);
    readmap_mark_all(&map, ~UINT64_C(0) & ~map.read, 100);
    assert_int_equal(map.read, ~UINT64_C(0));
    assert_int_equal(map.history, UINT64_C(1) << 5);
    assert_int_equal(map.read_stamp[5], 50); /* the first reading's time stays */
    assert_int_equal(map.read_stamp[0], 100);
    assert_int_equal(map.read_stamp[63], 100);
    assert_sound(&map);
}

static void a_bulk_mark_of_nothing_does_nothing(void **state)
{
    (void)state;
    struct readmap map = {0};
    readmap_mark_all(&map, 0, 100);
    assert_int_equal(map.read, 0);
}

static void entering_the_history_late_keeps_the_first_time(void **state)
{
    (void)state;
    struct readmap map = {0};
    readmap_mark_all(&map, 1, 100);
    readmap_enter_history(&map, 0, 200);
    assert_int_equal(map.read_stamp[0], 100);
    assert_int_equal(readmap_history_stamp(&map, 0), 200);
    assert_true(readmap_has(map.late, 0));
    assert_sound(&map);
}

static void leaving_the_history_stays_read(void **state)
{
    (void)state;
    struct readmap map = {0};
    readmap_mark(&map, 3, 100, true);
    readmap_leave_history(&map, 3);
    assert_true(readmap_has(map.read, 3));
    assert_false(readmap_has(map.history, 3));
    assert_int_equal(map.read_stamp[3], 100);

    readmap_enter_history(&map, 3, 300);
    readmap_enter_history(&map, 3, 400); /* anew */
    assert_int_equal(readmap_history_stamp(&map, 3), 400);
    readmap_leave_history(&map, 3);
    assert_false(readmap_has(map.late, 3));
    assert_sound(&map);
}

static void unmarking_forgets_everything_about_one_post(void **state)
{
    (void)state;
    struct readmap map = {0};
    readmap_mark(&map, 0, 100, true);
    readmap_mark(&map, 63, 100, false);
    readmap_enter_history(&map, 63, 200);
    readmap_unmark(&map, 63);
    assert_int_equal(map.read, 1);
    assert_int_equal(map.history, 1);
    assert_int_equal(map.late, 0);
    /* And it can be read again, with a time of its own. */
    readmap_mark(&map, 63, 300, true);
    assert_int_equal(readmap_history_stamp(&map, 63), 300);
}

/* What the counts are made of: a post is read or not, deleted or not, in all four combinations. */
static void read_and_deleted_are_independent(void **state)
{
    (void)state;
    const uint64_t deleted = 0xc; /* posts 2 and 3 */
    struct readmap map = {0};
    readmap_mark(&map, 1, 100, true);
    readmap_mark(&map, 3, 100, true);
    const uint64_t posts = 0xf;
    assert_int_equal(posts & ~map.read & ~deleted, 1 << 0);
    assert_int_equal(posts & map.read & ~deleted, 1 << 1);
    assert_int_equal(posts & ~map.read & deleted, 1 << 2);
    assert_int_equal(posts & map.read & deleted, 1 << 3);
}

/* ---- Against one struct a post -------------------------------------------------------------- */

struct naive {
    bool read, history;
    uint64_t read_stamp, history_stamp;
};

static void assert_same(const struct readmap *map, const struct naive *naive)
{
    assert_sound(map);
    for (unsigned i = 0; i < READMAP_POSTS; i++) {
        assert_int_equal(readmap_has(map->read, i), naive[i].read);
        assert_int_equal(readmap_has(map->history, i), naive[i].history);
        if (naive[i].read)
            assert_int_equal(map->read_stamp[i], naive[i].read_stamp);
        if (naive[i].history)
            assert_int_equal(readmap_history_stamp(map, i), naive[i].history_stamp);
    }
}

static void step(struct rng *rng, uint64_t stamp, struct readmap *map, struct naive *naive)
{
    unsigned i = (unsigned)rng_below(rng, READMAP_POSTS);
    uint64_t bulk = 0;
    switch (rng_below(rng, 5)) {
    case 0:
        if (naive[i].read)
            break;
        readmap_mark(map, i, stamp, true);
        naive[i] = (struct naive){true, true, stamp, stamp};
        break;
    case 1:
        for (unsigned k = 0; k < READMAP_POSTS; k++)
            if (!naive[k].read && rng_percent(rng, 10)) {
                bulk |= UINT64_C(1) << k;
                naive[k] = (struct naive){true, false, stamp, 0};
            }
        readmap_mark_all(map, bulk, stamp);
        break;
    case 2:
        if (!naive[i].read)
            break;
        readmap_enter_history(map, i, stamp);
        naive[i].history = true;
        naive[i].history_stamp = stamp;
        break;
    case 3:
        readmap_leave_history(map, i);
        naive[i].history = false;
        break;
    default:
        readmap_unmark(map, i);
        naive[i] = (struct naive){.read = false};
    }
}

static void random_changes_agree_with_one_struct_a_post(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 50; round++) {
        struct readmap map = {0};
        struct naive naive[READMAP_POSTS] = {{.read = false}};
        for (uint64_t stamp = 1; stamp < 500; stamp++) {
            step(&rng, stamp, &map, naive);
            assert_same(&map, naive);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_first_reading_enters_the_history),
        cmocka_unit_test(a_bulk_mark_stays_out_of_the_history),
        cmocka_unit_test(a_bulk_mark_of_nothing_does_nothing),
        cmocka_unit_test(entering_the_history_late_keeps_the_first_time),
        cmocka_unit_test(leaving_the_history_stays_read),
        cmocka_unit_test(unmarking_forgets_everything_about_one_post),
        cmocka_unit_test(read_and_deleted_are_independent),
        cmocka_unit_test(random_changes_agree_with_one_struct_a_post),
    };
    return RUN_TESTS(tests);
}
