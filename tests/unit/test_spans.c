/* SPDX-License-Identifier: MIT */
#include "domain/spans.h"

#include <string.h>

#include "unit/test.h"

#define OPEN SPAN_OPEN

static void the_empty_list_has_no_members(void **state)
{
    (void)state;
    assert_true(spans_valid(NULL, 0));
    assert_int_equal(spans_count(NULL, 0, UINT32_MAX), 0);
    assert_null(spans_find(NULL, 0, 0));
    assert_false(spans_has(NULL, 0, UINT32_MAX));
    assert_int_equal(spans_top(NULL, 0, UINT32_MAX), 0);
    assert_int_equal(spans_mask(NULL, 0, 0), 0);
}

static void lists_out_of_order_are_not_valid(void **state)
{
    (void)state;
    const struct {
        struct span spans[2];
        size_t n;
        bool valid;
    } rows[] = {
        {{{0, 1}}, 1, true},
        {{{0, OPEN}}, 1, true},
        {{{OPEN - 1, OPEN}}, 1, true},
        {{{3, 3}}, 1, false},            /* empty */
        {{{4, 3}}, 1, false},            /* backwards */
        {{{OPEN, OPEN}}, 1, false},      /* empty */
        {{{0, 1}, {2, 3}}, 2, true},     /* apart */
        {{{0, 1}, {1, 3}}, 2, false},    /* touching */
        {{{0, 2}, {1, 3}}, 2, false},    /* overlapping */
        {{{5, 6}, {1, 3}}, 2, false},    /* descending */
        {{{0, OPEN}, {1, 3}}, 2, false}, /* open, but not the last */
        {{{0, 1}, {2, OPEN}}, 2, true},  /* the last may be open */
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(spans_valid(rows[i].spans, rows[i].n), rows[i].valid);
}

static void one_span_has_its_members_and_no_others(void **state)
{
    (void)state;
    const struct span spans[] = {{10, 20}};
    assert_false(spans_has(spans, 1, 9));
    assert_true(spans_has(spans, 1, 10));
    assert_true(spans_has(spans, 1, 19));
    assert_false(spans_has(spans, 1, 20));
    assert_ptr_equal(spans_find(spans, 1, 15), spans);
    assert_int_equal(spans_count(spans, 1, 10), 0);
    assert_int_equal(spans_count(spans, 1, 11), 1);
    assert_int_equal(spans_count(spans, 1, 20), 10);
    assert_int_equal(spans_count(spans, 1, UINT32_MAX), 10);
}

static void an_open_span_grows_up_to_the_limit_asked_for(void **state)
{
    (void)state;
    const struct span spans[] = {{2, 4}, {10, OPEN}};
    assert_int_equal(spans_count(spans, 2, 10), 2);
    assert_int_equal(spans_count(spans, 2, 15), 7);
    assert_true(spans_has(spans, 2, UINT32_MAX - 1));
    assert_false(spans_has(spans, 2, UINT32_MAX)); /* that is no number */
    assert_int_equal(spans_top(spans, 2, 100), 100);
    assert_int_equal(spans_top(spans, 2, 10), 4);
    assert_int_equal(spans_top(spans, 2, UINT32_MAX), UINT32_MAX);
}

static void top_is_one_more_than_the_largest_below(void **state)
{
    (void)state;
    const struct span spans[] = {{0, 1}, {63, 65}, {128, 130}};
    const uint32_t rows[][2] = {{0, 0},   {1, 1},    {2, 1},     {63, 1},    {64, 64},
                                {65, 65}, {128, 65}, {129, 129}, {130, 130}, {UINT32_MAX, 130}};
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        assert_int_equal(spans_top(spans, 3, rows[i][0]), rows[i][1]);
}

static void masks_are_right_at_the_edges(void **state)
{
    (void)state;
    const struct span edge[] = {{0, 1}, {63, 65}, {127, 128}};
    const struct span open[] = {{64, OPEN}};
    const struct span last[] = {{UINT32_MAX - 1, OPEN}};
    const uint64_t bit0 = 1, bit63 = UINT64_C(1) << 63, all = ~UINT64_C(0);
    assert_int_equal(spans_mask(edge, 3, 0), bit0 | bit63);
    assert_int_equal(spans_mask(edge, 3, 64), bit0 | bit63);
    assert_int_equal(spans_mask(edge, 3, 128), 0);
    assert_int_equal(spans_mask(edge, 3, 1), bit63 | bit63 >> 1);
    assert_int_equal(spans_mask(open, 1, 0), 0);
    assert_int_equal(spans_mask(open, 1, 63), all << 1);
    assert_int_equal(spans_mask(open, 1, 64), all);
    assert_int_equal(spans_mask(open, 1, UINT32_MAX - 64), all);
    assert_int_equal(spans_mask(open, 1, UINT32_MAX - 63), all >> 1);
    assert_int_equal(spans_mask(open, 1, UINT32_MAX - 1), 1);
    assert_int_equal(spans_mask(open, 1, UINT32_MAX), 0);
    assert_int_equal(spans_mask(last, 1, UINT32_MAX - 1), 1);
    assert_int_equal(spans_mask(last, 1, UINT32_MAX - 63), UINT64_C(1) << 62);
}

static void mask_below_covers_0_to_64(void **state)
{
    (void)state;
    assert_int_equal(mask_below(0), 0);
    assert_int_equal(mask_below(1), 1);
    assert_int_equal(mask_below(63), ~UINT64_C(0) >> 1);
    assert_int_equal(mask_below(64), ~UINT64_C(0));
    assert_int_equal(mask_below(UINT32_MAX), ~UINT64_C(0));
}

static void assert_spans(const struct span *spans, size_t n, const struct span *expected,
                         size_t n_expected)
{
    assert_int_equal(n, n_expected);
    assert_memory_equal(spans, expected, n * sizeof *spans);
}

static void adding_joins_neighbours(void **state)
{
    (void)state;
    struct span spans[8];
    size_t n = 0;
    spans_add(spans, &n, (struct span){10, 20});
    spans_add(spans, &n, (struct span){30, 40});
    assert_spans(spans, n, (const struct span[]){{10, 20}, {30, 40}}, 2);
    spans_add(spans, &n, (struct span){0, 5}); /* before all */
    assert_spans(spans, n, (const struct span[]){{0, 5}, {10, 20}, {30, 40}}, 3);
    spans_add(spans, &n, (struct span){20, 22}); /* joins left */
    assert_spans(spans, n, (const struct span[]){{0, 5}, {10, 22}, {30, 40}}, 3);
    spans_add(spans, &n, (struct span){28, 30}); /* joins right */
    assert_spans(spans, n, (const struct span[]){{0, 5}, {10, 22}, {28, 40}}, 3);
    spans_add(spans, &n, (struct span){22, 28}); /* joins both */
    assert_spans(spans, n, (const struct span[]){{0, 5}, {10, 40}}, 2);
    spans_add(spans, &n, (struct span){40, OPEN}); /* opens the last */
    assert_spans(spans, n, (const struct span[]){{0, 5}, {10, OPEN}}, 2);
    spans_add(spans, &n, (struct span){5, 10}); /* joins everything */
    assert_spans(spans, n, (const struct span[]){{0, OPEN}}, 1);
}

static void removing_takes_one_number_from_anywhere(void **state)
{
    (void)state;
    struct span spans[8] = {{10, 20}};
    size_t n = 1;
    spans_remove(spans, &n, 10); /* start */
    assert_spans(spans, n, (const struct span[]){{11, 20}}, 1);
    spans_remove(spans, &n, 19); /* end */
    assert_spans(spans, n, (const struct span[]){{11, 19}}, 1);
    spans_remove(spans, &n, 15); /* middle */
    assert_spans(spans, n, (const struct span[]){{11, 15}, {16, 19}}, 2);
    spans_remove(spans, &n, 12);
    spans_remove(spans, &n, 11); /* the only one of its span */
    assert_spans(spans, n, (const struct span[]){{13, 15}, {16, 19}}, 2);
    for (uint32_t number = 13; number < 19; number++)
        if (number != 15)
            spans_remove(spans, &n, number);
    assert_int_equal(n, 0);
}

static void removing_from_an_open_span_leaves_it_open(void **state)
{
    (void)state;
    struct span spans[4] = {{0, OPEN}};
    size_t n = 1;
    spans_remove(spans, &n, 5);
    assert_spans(spans, n, (const struct span[]){{0, 5}, {6, OPEN}}, 2);
    spans_remove(spans, &n, UINT32_MAX - 1); /* the largest number there is */
    assert_true(spans_valid(spans, n));
    assert_true(spans_has(spans, n, UINT32_MAX - 2));
    assert_false(spans_has(spans, n, UINT32_MAX - 1));
}

/* ---- Against an array of flags -------------------------------------------------------------- */

enum { NUMBERS = 300 };

static void assert_same(const struct span *spans, size_t n, const bool *member)
{
    uint64_t count = 0;
    uint32_t top = 0;
    assert_true(spans_valid(spans, n));
    for (uint32_t i = 0; i < NUMBERS; i++) {
        assert_int_equal(spans_count(spans, n, i), count);
        assert_int_equal(spans_top(spans, n, i), top);
        assert_int_equal(spans_has(spans, n, i), member[i]);
        count += member[i];
        top = member[i] ? i + 1 : top;
    }
    for (uint32_t first = 0; first < NUMBERS; first++) {
        uint64_t mask = 0;
        for (uint32_t i = 0; i < 64 && first + i < NUMBERS; i++)
            mask |= (uint64_t)member[first + i] << i;
        assert_int_equal(spans_mask(spans, n, first), mask);
    }
}

static bool is_free(const bool *member, uint32_t start, uint32_t end)
{
    for (uint32_t i = start; i < end; i++)
        if (member[i])
            return false;
    return true;
}

static void random_changes_agree_with_an_array(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 40; round++) {
        struct span spans[NUMBERS + 1];
        bool member[NUMBERS] = {false};
        size_t n = 0;
        for (int step = 0; step < 100; step++) {
            uint32_t at = (uint32_t)rng_below(&rng, NUMBERS);
            uint32_t end = at + 1 + (uint32_t)rng_below(&rng, rng_percent(&rng, 30) ? 80 : 5);
            if (member[at]) {
                spans_remove(spans, &n, at);
                member[at] = false;
            } else if (end <= NUMBERS && is_free(member, at, end)) {
                spans_add(spans, &n, (struct span){at, end});
                memset(member + at, true, end - at);
            }
            if (step % 10 == 9)
                assert_same(spans, n, member);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_empty_list_has_no_members),
        cmocka_unit_test(lists_out_of_order_are_not_valid),
        cmocka_unit_test(one_span_has_its_members_and_no_others),
        cmocka_unit_test(an_open_span_grows_up_to_the_limit_asked_for),
        cmocka_unit_test(top_is_one_more_than_the_largest_below),
        cmocka_unit_test(masks_are_right_at_the_edges),
        cmocka_unit_test(mask_below_covers_0_to_64),
        cmocka_unit_test(adding_joins_neighbours),
        cmocka_unit_test(removing_takes_one_number_from_anywhere),
        cmocka_unit_test(removing_from_an_open_span_leaves_it_open),
        cmocka_unit_test(random_changes_agree_with_an_array),
    };
    return RUN_TESTS(tests);
}
