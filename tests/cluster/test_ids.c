/* SPDX-License-Identifier: MIT */
/* The ids of a server of a cluster: that they increase, carry its slot, stay within its lease, and are never given twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/ids.h"
#include "engine/cluster/rows/ids.h"

#define NOW INT64_C(1760000000000)

static struct ids ids;

static int begin(void **state)
{
    (void)state;
    ids_init(&ids);
    ids_begin(&ids, 3, id_floor(NOW - 1000));
    ids_extend(&ids, id_floor(NOW + 1000));
    return 0;
}

static int end(void **state)
{
    (void)state;
    ids_release(&ids);
    return 0;
}

static void they_increase_and_carry_the_slot(void **state)
{
    (void)state;
    uint64_t last = 0;
    for (int i = 0; i < 1000; i++) {
        uint64_t id = ids_next(&ids, NOW - i % 7, 0);
        assert_true(id > last);
        assert_int_equal(id % ID_STEP, 3);
        last = id;
    }
    uint64_t above = id_floor(NOW + 500) + 9;
    assert_true(ids_next(&ids, NOW, above) > above);
}

static void none_is_made_beyond_the_lease(void **state)
{
    (void)state;
    assert_int_equal(ids_next(&ids, NOW + 2000, 0), 0);
    assert_int_equal(ids_next(&ids, NOW, id_floor(NOW + 1000)), 0);
    assert_true(ids_next(&ids, NOW, 0));
    ids_extend(&ids, id_floor(NOW + 3000));
    assert_true(ids_next(&ids, NOW + 2000, 0));
}

static void unused_ones_are_given_again(void **state)
{
    (void)state;
    struct ids_mark mark = ids_mark(&ids);
    uint64_t first = ids_next(&ids, NOW, 0);
    ids_next(&ids, NOW, 0);
    ids_rewind(&ids, mark, 2);
    assert_int_equal(ids_next(&ids, NOW, 0), first);
}

/* Whoever else has had one since keeps it, in whatever order they give theirs back. */
static void nobody_elses_are(void **state)
{
    (void)state;
    struct ids_mark mine = ids_mark(&ids);
    ids_next(&ids, NOW, 0);
    uint64_t others = ids_next(&ids, NOW, 0);
    ids_rewind(&ids, mine, 1);
    assert_true(ids_next(&ids, NOW, 0) > others);

    mine = ids_mark(&ids);
    ids_next(&ids, NOW, 0);
    struct ids_mark theirs = ids_mark(&ids);
    ids_rewind(&ids, mine, 1);
    ids_next(&ids, NOW, 0); /* theirs */
    uint64_t third = ids_next(&ids, NOW, 0);
    ids_rewind(&ids, theirs, 1);
    assert_true(ids_next(&ids, NOW, 0) > third);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(they_increase_and_carry_the_slot),
        TEST(none_is_made_beyond_the_lease),
        TEST(unused_ones_are_given_again),
        TEST(nobody_elses_are),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
