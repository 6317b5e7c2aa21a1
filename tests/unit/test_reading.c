/* SPDX-License-Identifier: MIT */
/* Where a reader stopped, as several devices tell it: whatever the order, the end is the same. */
#include "domain/reading.h"

#include <string.h>

#include "unit/test.h"

enum { NEWS_MAX = 6 };

/* What devices may tell: a write, or an erasing of this story or of all. */
struct news {
    struct reading reading;
    int64_t cleared_at;
};

static struct news random_news(struct rng *rng)
{
    int64_t time = 1 + (int64_t)rng_below(rng, 5);
    switch (rng_below(rng, 6)) {
    case 0:
        return (struct news){.reading = reading_erasure(time)};
    case 1:
        return (struct news){.cleared_at = time};
    case 2:
        return (struct news){.reading = reading_write(time, 0, 0)};
    default:
        return (struct news){.reading =
                                 reading_write(time, 1 + rng_below(rng, 3), rng_below(rng, 3))};
    }
}

static bool same_reading(const struct reading *a, const struct reading *b)
{
    return a->read_at == b->read_at && a->scene == b->scene && a->message == b->message &&
           a->entered_at == b->entered_at && a->erased_at == b->erased_at;
}

static void take(struct news *state, const struct news *news)
{
    state->reading = reading_join(state->reading, news->reading);
    if (news->cleared_at > state->cleared_at)
        state->cleared_at = news->cleared_at;
}

/* By the words of the rule, from all that was told: no maxima, no joining. */
static struct reading_shown shown_by_the_rule(const struct news *news, size_t n)
{
    struct reading_shown best = {0};
    for (size_t i = 0; i < n; i++) {
        const struct reading *told = &news[i].reading;
        int64_t time = told->scene ? told->read_at : told->entered_at;
        bool is_void = !time;
        for (size_t k = 0; k < n; k++)
            is_void |= news[k].reading.erased_at >= time || news[k].cleared_at >= time;
        if (is_void)
            continue;
        struct reading_shown it = {true, time, told->scene, told->message};
        bool later = it.modified_at > best.modified_at;
        bool further =
            it.modified_at == best.modified_at &&
            (it.scene > best.scene || (it.scene == best.scene && it.message > best.message));
        /* Any place that was read beats any mere entering. */
        if (!best.any || (it.scene && !best.scene) ||
            (!it.scene == !best.scene && (later || further)))
            best = it;
    }
    return best;
}

static void check_order(const struct news *news, const size_t *order, size_t n,
                        const struct news *expected)
{
    struct news state = {0};
    for (size_t i = 0; i < n; i++)
        take(&state, &news[order[i]]);
    assert_true(same_reading(&state.reading, &expected->reading));
    assert_int_equal(state.cleared_at, expected->cleared_at);
}

static void check_orders(const struct news *news, size_t *order, size_t at, size_t n,
                         const struct news *expected)
{
    if (at == n)
        check_order(news, order, n, expected);
    for (size_t i = at; i < n; i++) {
        size_t moved = order[i];
        order[i] = order[at];
        order[at] = moved;
        check_orders(news, order, at + 1, n, expected);
        order[at] = order[i];
        order[i] = moved;
    }
}

static void every_order_of_the_same_news_ends_the_same(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 2000; round++) {
        struct news news[NEWS_MAX], end = {0};
        size_t order[NEWS_MAX], n = 1 + rng_below(&rng, NEWS_MAX);
        for (size_t i = 0; i < n; i++) {
            news[i] = random_news(&rng);
            order[i] = i;
            take(&end, &news[i]);
        }
        check_orders(news, order, 0, n, &end);
        struct reading_shown found = reading_show(&end.reading, end.cleared_at);
        struct reading_shown expected = shown_by_the_rule(news, n);
        assert_true(reading_same(&found, &expected));
    }
}

static void joining_is_a_maximum(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    for (int round = 0; round < 20000; round++) {
        struct reading a = {0}, b = {0}, c = {0};
        for (uint64_t i = rng_below(&rng, 4); i; i--) {
            a = reading_join(a, random_news(&rng).reading);
            b = reading_join(b, random_news(&rng).reading);
            c = reading_join(c, random_news(&rng).reading);
        }
        struct reading ab = reading_join(a, b), ba = reading_join(b, a);
        struct reading left = reading_join(ab, c), right = reading_join(a, reading_join(b, c));
        struct reading again = reading_join(ab, b);
        assert_true(same_reading(&ab, &ba));
        assert_true(same_reading(&left, &right));
        assert_true(same_reading(&ab, &again));
    }
}

static void an_erasing_voids_what_is_no_later(void **state)
{
    (void)state;
    for (int64_t time = 1; time <= 3; time++) {
        struct reading reading = reading_join(reading_write(2, 7, 9), reading_erasure(time));
        assert_int_equal(reading_show(&reading, 0).any, time < 2);
        reading = reading_write(2, 7, 9);
        assert_int_equal(reading_show(&reading, time).any, time < 2);
    }
    /* What was entered since is still there, without the place. */
    struct reading reading = reading_join(reading_write(2, 7, 9), reading_write(5, 0, 0));
    assert_int_equal(reading_show(&reading, 0).scene, 7);
    assert_int_equal(reading_show(&reading, 0).modified_at, 2);
    assert_true(reading_show(&reading, 3).any);
    assert_int_equal(reading_show(&reading, 3).scene, 0);
    assert_int_equal(reading_show(&reading, 3).modified_at, 5);
}

static void times_ahead_of_the_clock_are_cut(void **state)
{
    (void)state;
    assert_int_equal(reading_time(0, 100), 100);
    assert_int_equal(reading_time(1, 100), 1);
    assert_int_equal(reading_time(100, 100), 100);
    assert_int_equal(reading_time(101, 100), 100);
    assert_int_equal(reading_time(INT64_MAX, 100), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_the_same_news_ends_the_same),
        cmocka_unit_test(joining_is_a_maximum),
        cmocka_unit_test(an_erasing_voids_what_is_no_later),
        cmocka_unit_test(times_ahead_of_the_clock_are_cut),
    };
    return RUN_TESTS(tests);
}
