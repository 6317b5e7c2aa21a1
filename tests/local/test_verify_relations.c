/* SPDX-License-Identifier: MIT */
/* Verify, against damage to counters, to the index of followers and to the pairs of a fan and an author; see community.h. */
#include "local/community.h"

/* ---- Counters ------------------------------------------------------------------------------- */

static void a_wrong_following_counter_is_mended(void **state)
{
    (void)state;
    struct user_record user = user_get(BOB);
    user.following += 5;
    user_put(BOB, &user);
    assert_mended();
}

static void a_wrong_followers_counter_is_mended(void **state)
{
    (void)state;
    struct user_record user = user_get(ANN);
    user.followers = 0;
    user_put(ANN, &user);
    assert_mended();
}

static void a_wrong_posts_counter_is_mended(void **state)
{
    (void)state;
    struct user_record user = user_get(ANN);
    user.posts = UINT64_MAX;
    user_put(ANN, &user);
    assert_mended();
}

static void a_missing_user_record_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_USER, key_row(ANN, ROW_USER));
    assert_mended();
}

static void a_counter_of_nothing_is_mended(void **state)
{
    (void)state;
    struct user_record user = {.following = 1, .posts = 2, .followers = 3};
    user_put(777, &user); /* a user who never did anything */
    assert_mended();
}

/* ---- The follower index --------------------------------------------------------------------- */

static uint64_t rank_of(uint64_t fan, uint64_t author)
{
    struct pair pair;
    pair_get(fan, ROW_INBOX, author, &pair);
    assert_true(pair.following);
    return pair.rank;
}

static void a_missing_follower_row_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_FOLLOWER, key_follower(ANN, rank_of(CID, ANN)));
    assert_mended();
}

static void an_extra_follower_row_is_mended(void **state)
{
    (void)state;
    uint8_t fan[ID_BYTES];
    put_id(fan, EVE);
    row_put(TABLE_FOLLOWER, key_follower(ANN, 12345), (struct bytes){fan, sizeof fan});
    assert_mended();
}

static void a_follower_row_that_names_another_is_mended(void **state)
{
    (void)state;
    uint8_t fan[ID_BYTES];
    put_id(fan, EVE);
    row_put(TABLE_FOLLOWER, key_follower(ANN, rank_of(CID, ANN)), (struct bytes){fan, sizeof fan});
    assert_mended();
}

static void a_follower_row_in_the_wrong_place_is_mended(void **state)
{
    (void)state;
    uint8_t fan[ID_BYTES];
    uint64_t rank = rank_of(CID, ANN);
    put_id(fan, CID);
    row_delete(TABLE_FOLLOWER, key_follower(ANN, rank));
    row_put(TABLE_FOLLOWER, key_follower(ANN, rank + 16), (struct bytes){fan, sizeof fan});
    assert_mended();
}

static void a_follower_row_of_the_wrong_size_is_found(void **state)
{
    (void)state;
    row_cut(TABLE_FOLLOWER, key_follower(ANN, rank_of(CID, ANN)), 3);
    assert_found();
}

/* ---- Pairs ---------------------------------------------------------------------------------- */

static void wrong_counts_in_a_pair_are_mended(void **state)
{
    (void)state;
    for (int which = 0; which < 6; which++) {
        struct pair pair;
        pair_get(CID, ROW_INBOX, ANN, &pair);
        switch (which) {
        case 0:
            pair.reads_in++;
            break;
        case 1:
            pair.reads_in -= 3;
            break;
        case 2:
            pair.reads_out = 2;
            break;
        case 3:
            pair.dead_in++;
            pair.settled = 5;
            break;
        case 4:
            pair.reads_out = pair.dead_out = 1;
            break;
        default:
            pair.reads_in = UINT32_MAX;
        }
        pair_put(CID, ROW_INBOX, ANN, &pair);
        assert_mended();
    }
}

/* Deletions that are yet to come would pass for accounted for. */
static void deletions_accounted_for_before_they_happened_are_mended(void **state)
{
    (void)state;
    struct pair pair;
    assert_int_equal(mark_one(BOB, posts[145]), 1); /* settles the pair */
    free(before);
    before = all_answers();
    pair_get(BOB, ROW_INBOX, ANN, &pair);
    pair.settled += 3;
    pair_put(BOB, ROW_INBOX, ANN, &pair);
    assert_mended();
    uint64_t unread = badge(BOB);
    delete_post(ANN, posts[1]); /* which BOB has read */
    assert_int_equal(badge(BOB), unread);
}

static void a_wrong_skip_is_mended(void **state)
{
    (void)state;
    struct pair pair;
    struct skips skips;
    uint8_t bytes[SKIPS_BYTES_MAX];
    pair_get(BOB, ROW_INBOX, ANN, &pair);
    assert_true(pair_skips(&pair, &skips));
    assert_int_equal(skips.n, 1); /* the two chunks read in whole */
    skips.at[0].end = 3;          /* and one that is not */
    pair_set_skips(&pair, &skips, bytes);
    pair_put(BOB, ROW_INBOX, ANN, &pair);
    assert_mended();
}

static void skips_that_cannot_be_read_are_mended(void **state)
{
    (void)state;
    struct pair pair;
    uint8_t bytes[] = {200, 1, 1};
    pair_get(BOB, ROW_INBOX, ANN, &pair);
    pair.skips = (struct bytes){bytes, sizeof bytes};
    pair_put(BOB, ROW_INBOX, ANN, &pair);
    assert_mended();
}

static void a_missing_pair_of_someone_who_only_read_is_mended(void **state)
{
    (void)state;
    row_delete(TABLE_USER, key_pair(EVE, ROW_OUTSIDE, ANN));
    assert_mended();
}

static void a_pair_in_the_wrong_row_is_mended(void **state)
{
    (void)state;
    struct pair pair;
    pair_get(EVE, ROW_OUTSIDE, ANN, &pair);
    row_delete(TABLE_USER, key_pair(EVE, ROW_OUTSIDE, ANN));
    pair_put(EVE, ROW_INBOX, ANN, &pair);
    assert_mended();
}

static void a_pair_that_says_nothing_is_mended(void **state)
{
    (void)state;
    struct pair nothing = {.following = false};
    pair_put(EVE, ROW_INBOX, DAN, &nothing);
    assert_mended();
}

static void two_pairs_of_the_same_two_are_found(void **state)
{
    (void)state;
    struct pair pair;
    pair_get(EVE, ROW_OUTSIDE, ANN, &pair);
    pair_put(BOB, ROW_OUTSIDE, ANN, &pair);
    assert_found();
}

static void posts_delivered_beyond_the_last_are_found(void **state)
{
    (void)state;
    struct pair pair;
    pair_get(DAN, ROW_INBOX, ANN, &pair);
    assert_int_equal(pair.n_spans, 1);
    pair.spans[0].end = POSTS + 1;
    pair_put(DAN, ROW_INBOX, ANN, &pair);
    assert_found();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, community_begin, community_end)
    const struct CMUnitTest tests[] = {
        TEST(a_wrong_following_counter_is_mended),
        TEST(a_wrong_followers_counter_is_mended),
        TEST(a_wrong_posts_counter_is_mended),
        TEST(a_missing_user_record_is_mended),
        TEST(a_counter_of_nothing_is_mended),
        TEST(a_missing_follower_row_is_mended),
        TEST(an_extra_follower_row_is_mended),
        TEST(a_follower_row_that_names_another_is_mended),
        TEST(a_follower_row_in_the_wrong_place_is_mended),
        TEST(a_follower_row_of_the_wrong_size_is_found),
        TEST(wrong_counts_in_a_pair_are_mended),
        TEST(deletions_accounted_for_before_they_happened_are_mended),
        TEST(a_wrong_skip_is_mended),
        TEST(skips_that_cannot_be_read_are_mended),
        TEST(a_missing_pair_of_someone_who_only_read_is_mended),
        TEST(a_pair_in_the_wrong_row_is_mended),
        TEST(a_pair_that_says_nothing_is_mended),
        TEST(two_pairs_of_the_same_two_are_found),
        TEST(posts_delivered_beyond_the_last_are_found),
    };
#undef TEST
    return RUN_TESTS(tests);
}
