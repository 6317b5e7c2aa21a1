/* SPDX-License-Identifier: MIT */
/* Scores, the fold rule, and the keys that lists are ordered by. */
#include "domain/heat.h"

#include <math.h>

#include "domain/ids.h"
#include "unit/test.h"

static struct tidings_settings standard(void)
{
    struct tidings_options options;
    tidings_options_init(&options);
    return options.settings;
}

static void scores_are_weighted_sums(void **state)
{
    (void)state;
    struct tidings_settings s = standard();
    struct tidings_counts post = {.like_count = 2, .fav_count = 3, .comment_count = 4};
    struct tidings_counts comment = {.like_count = 1, .down_count = 9, .reply_count = 2};
    assert_int_equal(heat_post_score(&s, &post), 2 * 3 + 3 * 4 + 4 * 5);
    assert_int_equal(heat_comment_score(&s, &comment), 2 + 6 - 36);
    /* The greatest of everything overflows nothing. */
    s.hot_like = s.hot_fav = s.hot_comment = s.hot_comment_down = 1000;
    post = (struct tidings_counts){HEAT_COUNT_MAX, HEAT_COUNT_MAX, HEAT_COUNT_MAX, 0, 0, 0};
    comment = (struct tidings_counts){.down_count = HEAT_COUNT_MAX};
    assert_true(heat_post_score(&s, &post) == (int64_t)(HEAT_COUNT_MAX * 3000));
    assert_true(heat_comment_score(&s, &comment) == -(int64_t)(HEAT_COUNT_MAX * 1000));
    s.fold_percent = 1000000;
    assert_false(heat_folds(&s, HEAT_COUNT_MAX, HEAT_COUNT_MAX));
}

static void the_fold_rule_wants_enough_and_twice_as_many(void **state)
{
    (void)state;
    struct tidings_settings s = standard();
    assert_false(heat_folds(&s, 0, 2));
    assert_true(heat_folds(&s, 0, 3));
    assert_false(heat_folds(&s, 1, 3)); /* 3 / 2 < 2.0 */
    assert_true(heat_folds(&s, 1, 4));
    assert_false(heat_folds(&s, 2, 5));
    assert_true(heat_folds(&s, 2, 6));
    s.fold_percent = 0;
    assert_true(heat_folds(&s, 1000, 3));
}

static void keys_of_comments_keep_the_order_and_fit_a_cursor(void **state)
{
    (void)state;
    const int64_t scores[] = {INT64_MIN, -(INT64_C(1) << 52), -1000,    -1, 0, 1,
                              1000,      INT64_C(1) << 52,    INT64_MAX};
    for (size_t i = 0; i < COUNT_OF(scores); i++) {
        uint64_t key = heat_comment_key(scores[i]);
        assert_true(key >= 1 && key <= TIDINGS_ID_MAX);
        assert_true(!i || key >= heat_comment_key(scores[i - 1]));
    }
    for (int64_t score = -1000; score < 1000; score++)
        assert_int_equal(heat_comment_key(score + 1), heat_comment_key(score) + 1);
}

static void without_a_half_life_posts_are_by_score_alone(void **state)
{
    (void)state;
    struct tidings_settings s = standard();
    int64_t last = id_time_ms(TIDINGS_ID_MAX);
    assert_int_equal(heat_post_key(&s, 0, last), 1);
    assert_int_equal(heat_post_key(&s, 1, ID_EPOCH_MS), 2);
    assert_int_equal(heat_post_key(&s, 1, last), 2);
    assert_true(heat_post_key(&s, INT64_MAX, last) == TIDINGS_ID_MAX);
    assert_true(heat_decayed(&s, 12, INT64_C(1) << 50) == 12.0);
}

/* Against the definition in long doubles, with pairs whose heats are as close as can be: the order
 * is wrong only where the decision says so. */
static void keys_of_posts_keep_the_order_of_decayed_heat(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    const uint64_t hours[] = {1, 24, 168, 87600};
    struct tidings_settings s = standard();
    long double worst = 0;
    for (int i = 0; i < 400000; i++) {
        s.hot_half_life_hours = hours[rng_below(&rng, COUNT_OF(hours))];
        long double half = (long double)s.hot_half_life_hours * 3600000, heat[2];
        int64_t score[2], at[2];
        uint64_t key[2];
        for (int j = 0; j < 2; j++)
            score[j] = 1 + (int64_t)rng_below(&rng, UINT64_C(1) << rng_below(&rng, 40));
        long double apart = log2l((long double)score[0]) - log2l((long double)score[1]);
        at[0] = INT64_C(1750000000000) + (int64_t)rng_below(&rng, UINT64_C(1) << 36);
        at[1] = at[0] + (int64_t)(apart * half) + (int64_t)rng_below(&rng, 9) - 4;
        if (at[1] < ID_EPOCH_MS || at[1] > id_time_ms(TIDINGS_ID_MAX))
            continue;
        for (int j = 0; j < 2; j++) {
            heat[j] = log2l((long double)score[j]) + (long double)(at[j] - at[0]) / half;
            key[j] = heat_post_key(&s, score[j], at[j]);
            assert_true(key[j] > 1 && key[j] <= TIDINGS_ID_MAX);
        }
        bool first = key[0] > key[1] || (key[0] == key[1] && at[0] > at[1]);
        if (first != (heat[0] > heat[1]) && fabsl(heat[0] - heat[1]) > worst)
            worst = fabsl(heat[0] - heat[1]);
    }
    print_message("heats in the wrong order were at most 2^%.1Lf half-lives apart\n",
                  worst > 0 ? log2l(worst) : -64.0L);
    assert_true(worst < 0x1p-31L);
}

static void equal_heats_of_different_ages_have_equal_keys(void **state)
{
    (void)state;
    struct tidings_settings s = standard();
    s.hot_half_life_hours = 7;
    int64_t half = INT64_C(7) * 3600000, at = INT64_C(1750000000123);
    for (int64_t score = 1; score < 2000; score++)
        assert_int_equal(heat_post_key(&s, score, at + half), heat_post_key(&s, 2 * score, at));
}

static void keys_never_fall_as_the_score_grows(void **state)
{
    (void)state;
    struct tidings_settings s = standard();
    s.hot_half_life_hours = 24;
    uint64_t last = heat_post_key(&s, 0, 0);
    for (int64_t score = 1; score < 300000; score++) {
        uint64_t key = heat_post_key(&s, score, ID_EPOCH_MS);
        assert_true(key > last);
        last = key;
    }
    /* A score of 0 is behind the oldest post with any. */
    assert_true(heat_post_key(&s, 0, id_time_ms(TIDINGS_ID_MAX)) < heat_post_key(&s, 1, 0));
}

static void heat_halves_every_half_life(void **state)
{
    (void)state;
    struct tidings_settings s = standard();
    s.hot_half_life_hours = 24;
    assert_true(heat_decayed(&s, 12, 0) == 12.0);
    assert_true(heat_decayed(&s, 12, 24 * 3600000) == 6.0);
    assert_true(heat_decayed(&s, 12, -5) == 12.0);
    assert_true(fabs(heat_decayed(&s, 1000, 12 * 3600000) - 707.1067811865476) < 1e-9);
}

/* 2^-1075 is no number any more; a thousand times that is. A hotter post was shown with less heat. */
static void heat_of_long_ago_keeps_the_order(void **state)
{
    (void)state;
    struct tidings_settings s = standard();
    s.hot_half_life_hours = 1;
    int64_t age = INT64_C(1076) * 3600000;
    assert_true(heat_decayed(&s, 1004, age) > heat_decayed(&s, 4, age - 3600000));
    assert_true(heat_decayed(&s, 4, age - 3600000) > 0);
    assert_true(heat_decayed(&s, 1004, INT64_MAX) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_weighted_sums),
        cmocka_unit_test(the_fold_rule_wants_enough_and_twice_as_many),
        cmocka_unit_test(keys_of_comments_keep_the_order_and_fit_a_cursor),
        cmocka_unit_test(without_a_half_life_posts_are_by_score_alone),
        cmocka_unit_test(keys_of_posts_keep_the_order_of_decayed_heat),
        cmocka_unit_test(equal_heats_of_different_ages_have_equal_keys),
        cmocka_unit_test(keys_never_fall_as_the_score_grows),
        cmocka_unit_test(heat_halves_every_half_life),
        cmocka_unit_test(heat_of_long_ago_keeps_the_order),
    };
    return RUN_TESTS(tests);
}
