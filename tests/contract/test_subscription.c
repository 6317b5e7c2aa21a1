/* SPDX-License-Identifier: MIT */
/* Subscriptions, and whether one wants to be told at all. */
#include "contract/stories.h"

/* ---- Subscriptions -------------------------------------------------------------------------- */

static void subscribing_is_idempotent_and_listed(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a"), b = story(ANN, "b"), note = publish(ANN, "n", "");
    assert_true(subscribe(BOB, a));
    assert_false(subscribe(BOB, a));
    assert_true(subscribe(BOB, b));
    assert_true(subscribe(CID, a));
    ASSERT_LIST(list_subscriptions, BOB, b, a);
    ASSERT_LIST(list_subscribers, a, CID, BOB);
    assert_int_equal(run((struct tidings_op){
                         .kind = TIDINGS_OP_SUBSCRIBE, .user_id = BOB, .u.post.post_id = note}),
                     TIDINGS_NOT_FOUND);
    assert_true(unsubscribe(BOB, a));
    assert_false(unsubscribe(BOB, a));
    assert_true(subscribe(BOB, a)); /* anew: on top again */
    ASSERT_LIST(list_subscriptions, BOB, a, b);
    ASSERT_LIST(list_subscribers, a, BOB, CID);
    assert_int_equal(run((struct tidings_op){
                         .kind = TIDINGS_OP_SUBSCRIBERS, .user_id = BOB, .u.scenes.story_id = a}),
                     TIDINGS_FORBIDDEN);
    delete_post(ANN, a);
    ASSERT_LIST(list_subscriptions, BOB, a, b);
    assert_true(answer.u.subscriptions.rows[0].is_deleted);
    assert_int_equal(
        run((struct tidings_op){.kind = TIDINGS_OP_SUBSCRIBE, .user_id = DAN, .u.post.post_id = a}),
        TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "a");
    assert_true(unsubscribe(CID, a));
    assert_verifies();
}

static void only_so_many_subscriptions(void **state)
{
    (void)state;
    options.settings.subscriptions_max = 1;
    reopen_engine();
    uint64_t a = story(ANN, "a"), b = story(ANN, "b");
    subscribe(BOB, a);
    assert_int_equal(
        run((struct tidings_op){.kind = TIDINGS_OP_SUBSCRIBE, .user_id = BOB, .u.post.post_id = b}),
        TIDINGS_SUBSCRIPTION_LIMIT);
    assert_false(subscribe(BOB, a));
    unsubscribe(BOB, a);
    subscribe(BOB, b);
    assert_verifies();
}

static void those_among_are_found_from_both_sides(void **state)
{
    (void)state;
    uint64_t a = story(ANN, "a");
    for (uint64_t user = 10; user < 30; user += 2)
        subscribe(user, a);
    want_updates(14, false);
    uint64_t all[40];
    for (uint64_t i = 0; i < 40; i++)
        all[i] = i + 1;
    for (size_t n = 12; n <= 40; n += 14) { /* fewer than subscribers, and more */
        must((struct tidings_op){
            .kind = TIDINGS_OP_SUBSCRIBERS_AMONG,
            .user_id = DAN,
            .u.among = {.author_id = a, .user_ids = all + 8, .n_user_ids = n - 8}});
        size_t k = 0;
        for (uint64_t user = 10; user <= n && user < 30; user += 2)
            if (user != 14)
                assert_int_equal(answer.u.among.user_ids[k++], user);
        assert_int_equal(answer.u.among.n, k);
    }
}

static void those_to_whom_a_scene_was_delivered_are_found(void **state)
{
    (void)state;
    const uint64_t asked[] = {BOB, CID};
    uint64_t a = story(ANN, "a");
    subscribe(BOB, a);
    subscribe(CID, a);
    want_updates(CID, false);
    uint64_t unheard = scene(ANN, a, "unheard");
    want_updates(CID, true);
    must((struct tidings_op){
        .kind = TIDINGS_OP_SUBSCRIBERS_AMONG,
        .user_id = DAN,
        .u.among = {.author_id = a, .item_id = unheard, .user_ids = asked, .n_user_ids = 2}});
    assert_int_equal(answer.u.among.n, 1);
    assert_int_equal(answer.u.among.user_ids[0], BOB);
}

/* ---- Notifications -------------------------------------------------------------------------- */

/* A toggle touches every subscription of the user: it was free, and thousands of them held up the writer. */
static void turning_updates_on_and_off_takes_tokens(void **state)
{
    (void)state;
    struct tidings_op off = {.kind = TIDINGS_OP_PREFERENCES_SET, .user_id = BOB};
    uint64_t a = story(ANN, "a");
    close_engine();
    options.settings.follow_burst = 3;
    open_engine();
    subscribe(BOB, a);
    want_updates(BOB, false);
    want_updates(BOB, true);
    for (int i = 0; i < 5; i++)
        want_updates(BOB, true); /* what changes nothing costs nothing */
    must((struct tidings_op){.kind = TIDINGS_OP_FOLLOW, .user_id = BOB, .u.relation.user_id = ANN});
    assert_int_equal(run(off), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 1000);
    ASSERT_LIST(list_subscribers, a, BOB);
    want_updates(BOB, true);
    want_updates(CID, false); /* another user's is another bucket */
    off.role = TIDINGS_ROLE_SERVICE;
    must(off);
    off.role = TIDINGS_ROLE_USER;
    off.u.preferences.story_updates = true;
    assert_int_equal(run(off), TIDINGS_RATE_LIMITED);
    atomic_fetch_add(&clock_ms, 1000);
    must(off);
    ASSERT_LIST(list_subscribers, a, BOB);
    assert_verifies();
}

/* With 5,000 subscriptions each turn wrote 259 KB of log and held up everybody. */
static void turning_many_subscriptions_takes_many_tokens(void **state)
{
    (void)state;
    enum { STORIES = 250 };
    struct tidings_op on = {.kind = TIDINGS_OP_PREFERENCES_SET, .user_id = BOB};
    options.settings.follow_burst = 4;
    reopen_engine();
    for (int i = 0; i < STORIES; i++)
        subscribe(BOB, story(ANN, "s"));
    want_updates(BOB, false); /* three tokens: one, and one for each hundred */
    assert_int_equal(answer.limit.left, 1);
    on.u.preferences.story_updates = true;
    assert_int_equal(run(on), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 2000);
    must(follow_op(BOB, ANN)); /* for less there is enough */
    atomic_fetch_add(&clock_ms, 2999);
    assert_int_equal(run(on), TIDINGS_RATE_LIMITED);
    atomic_fetch_add(&clock_ms, 1);
    must(on);
    /* A bucket that holds fewer lets it pass when it is full. */
    options.settings.follow_burst = 2;
    reopen_engine();
    on.u.preferences.story_updates = false;
    assert_int_equal(run(on), TIDINGS_RATE_LIMITED);
    atomic_fetch_add(&clock_ms, 10000);
    must(on);
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(subscribing_is_idempotent_and_listed),
        TEST(only_so_many_subscriptions),
        TEST(those_among_are_found_from_both_sides),
        TEST(those_to_whom_a_scene_was_delivered_are_found),
        TEST(turning_updates_on_and_off_takes_tokens),
        TEST(turning_many_subscriptions_takes_many_tokens),
    };
#undef TEST
    return RUN_TESTS(tests);
}
