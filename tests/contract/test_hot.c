/* SPDX-License-Identifier: MIT */
/* Heat: the hot lists, and other rules of it at opening. */
#include "contract/harness.h"

enum { ANN = 1, BOB, CID, DAN, EVE, FAY };

static uint64_t publish_kind(enum tidings_post_kind kind)
{
    must((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                             .role = TIDINGS_ROLE_SERVICE,
                             .user_id = ANN,
                             .u.publish = {kind, text_of("t"), text_of("b")}});
    return answer.u.post.id;
}

static void hot_lists_are_by_kind_then_score_then_newest(void **state)
{
    (void)state;
    uint64_t n[4], story = publish_kind(TIDINGS_STORY), activity = publish_kind(TIDINGS_ACTIVITY);
    for (size_t i = 0; i < 4; i++)
        n[i] = publish_kind(TIDINGS_NOTE);
    comment(BOB, n[0], 0, "5");
    react(BOB, LIKE, POST, n[1]);
    react(BOB, FAV, POST, n[2]);
    ASSERT_HOT(TIDINGS_NOTE, n[0], n[2], n[1], n[3]);
    ASSERT_HOT(TIDINGS_STORY, story);
    ASSERT_HOT(TIDINGS_ACTIVITY, activity);
    react(CID, LIKE, POST, n[1]);
    ASSERT_HOT(TIDINGS_NOTE, n[1], n[0], n[2], n[3]);
    unreact(BOB, LIKE, POST, n[1]);
    unreact(CID, LIKE, POST, n[1]);
    ASSERT_HOT(TIDINGS_NOTE, n[0], n[2], n[3], n[1]);
    assert_verifies();
}

static void with_a_half_life_newer_posts_overtake_without_a_write(void **state)
{
    (void)state;
    options.settings.hot_half_life_hours = 24;
    reopen_engine();
    uint64_t old = publish(ANN, "t", "b"), cold = publish(ANN, "t", "b");
    for (uint64_t user = 10; user < 14; user++)
        react(user, LIKE, POST, old); /* 12 */
    clock_ms += INT64_C(24) * 3600 * 1000;
    uint64_t fresh = publish(ANN, "t", "b"), newest = publish(ANN, "t", "b");
    react(10, LIKE, POST, fresh); /* 3: less than half of 12 */
    ASSERT_HOT(TIDINGS_NOTE, old, fresh, newest, cold);
    react(11, LIKE, POST, fresh); /* 6: just as hot, and newer */
    ASSERT_HOT(TIDINGS_NOTE, fresh, old, newest, cold);
    must((struct tidings_op){
        .kind = TIDINGS_OP_STATS, .user_id = BOB, .u.react = {.target = POST, .id = old}});
    assert_int_equal(answer.u.stats.counts.hot_score, 12);
    assert_int_equal(answer.u.stats.age_ms, 24 * 3600 * 1000);
    assert_true(answer.u.stats.heat == 6.0);
    clock_ms += INT64_C(24) * 3600 * 1000;
    must((struct tidings_op){
        .kind = TIDINGS_OP_STATS, .user_id = BOB, .u.react = {.target = POST, .id = old}});
    assert_true(answer.u.stats.heat == 3.0);
    assert_verifies();
}

static void other_weights_reorder_everything_at_opening(void **state)
{
    (void)state;
    uint64_t p = publish(ANN, "t", "b"), q = publish(ANN, "t", "b");
    uint64_t c = comment(BOB, p, 0, "c"), d = comment(BOB, p, 0, "d");
    react(CID, LIKE, POST, q);
    react(CID, LIKE, COMMENT, c);
    ASSERT_HOT(TIDINGS_NOTE, p, q); /* 10, 3 */
    ASSERT_COMMENTS(p, 0, TIDINGS_HOT, c, d);
    options.settings.hot_like = 100;
    options.settings.hot_comment_like = 0;
    uint64_t after = events_end();
    reopen_engine();
    assert_verifies();
    ASSERT_HOT(TIDINGS_NOTE, q, p);
    ASSERT_COMMENTS(p, 0, TIDINGS_HOT, d, c);
    assert_int_equal(counts_of(POST, q).hot_score, 100);
    assert_string_equal(events_after(after), "");
    unreact(CID, LIKE, POST, q);
    ASSERT_HOT(TIDINGS_NOTE, p, q);
    assert_verifies();
}

/* More than one transaction's worth, of posts and of comments on one of them. */
static void many_rows_are_reordered_in_several_transactions(void **state)
{
    (void)state;
    enum { MANY = 6000 };
    static struct ids hot, old;
    static struct tidings_op ops[MANY];
    publish_many(ANN, MANY);
    uint64_t post = publish(ANN, "busy", "b");
    for (size_t i = 0; i < MANY; i++) {
        ops[i] = comment_op(BOB, post, 0);
        ops[i].role = TIDINGS_ROLE_SERVICE;
    }
    must_all(ops, MANY);
    list_comments(post, 0, TIDINGS_OLD, &old);
    assert_int_equal(old.n, MANY);
    for (size_t i = 0; i < MANY; i += 100)
        react(CID, DOWN, COMMENT, old.at[i]);
    options.settings.hot_half_life_hours = 24;
    options.settings.hot_comment = 0;
    options.settings.fold_down = 1;
    options.settings.fold_percent = 100;
    reopen_engine();
    assert_int_equal(counts_of(POST, post).comment_count, MANY - MANY / 100);
    assert_int_equal(counts_of(POST, post).hot_score, 0);
    list_hot(TIDINGS_NOTE, &hot);
    assert_int_equal(hot.n, MANY + 1);
    list_comments(post, 0, TIDINGS_HOT, &hot);
    assert_int_equal(hot.n, MANY);
    assert_int_equal(hot.at[MANY - 1], old.at[0]);
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(hot_lists_are_by_kind_then_score_then_newest),
        TEST(with_a_half_life_newer_posts_overtake_without_a_write),
        TEST(other_weights_reorder_everything_at_opening),
        TEST(many_rows_are_reordered_in_several_transactions),
    };
#undef TEST
    return RUN_TESTS(tests);
}
