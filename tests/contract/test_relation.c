/* SPDX-License-Identifier: MIT */
/* Following: its limits and its lists. */
#include "contract/harness.h"
#include "support/engine.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

/* ---- Relations ------------------------------------------------------------------------------ */

static void a_repeat_changes_nothing(void **state)
{
    (void)state;
    must(follow_op(BOB, ANN));
    assert_true(answer.u.relation.changed);
    must(follow_op(BOB, ANN));
    assert_false(answer.u.relation.changed);
    assert_true(answer.u.relation.following);
    must(follow_op(ANN, BOB));
    assert_true(answer.u.relation.mutual);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = CID, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.followers, 1);
    assert_int_equal(answer.u.counters.following, 1);
    must((struct tidings_op){
        .kind = TIDINGS_OP_EVENTS, .role = TIDINGS_ROLE_SERVICE, .user_id = CID});
    assert_int_equal(answer.u.events.n, 2);
}

static void the_following_limit_is_exact(void **state)
{
    (void)state;
    close_engine();
    options.settings.following_max = 3;
    open_engine();
    for (uint64_t author = 10; author < 13; author++)
        must(follow_op(BOB, author));
    assert_int_equal(run(follow_op(BOB, 13)), TIDINGS_FOLLOWING_LIMIT);
    must(follow_op(BOB, 12)); /* a repeat is no more */
    unfollow(BOB, 10, false);
    must(follow_op(BOB, 13));
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = BOB, .u.user.user_id = BOB});
    assert_int_equal(answer.u.counters.following, 3);
    assert_verifies();
}

/* Time never goes back behind a change; what is refused is none, also if somebody is followed of whom nobody has heard. */
static void what_is_refused_does_not_move_the_time(void **state)
{
    (void)state;
    close_engine();
    options.settings.following_max = 1;
    open_engine();
    must(follow_op(BOB, 10));
    atomic_fetch_add(&clock_ms, 1000);
    assert_int_equal(run(follow_op(BOB, 11)), TIDINGS_FOLLOWING_LIMIT);
    atomic_fetch_sub(&clock_ms, 500);
    publish(ANN, "t", "");
    assert_int_equal(answer.u.post.created_at, START_MS + 500);
}

static void the_bucket_survives_a_restart(void **state)
{
    (void)state;
    close_engine();
    options.settings.follow_burst = 3;
    open_engine();
    must(follow_op(BOB, 10));
    must(follow_op(BOB, 10)); /* a repeat spends a token, too */
    must(
        (struct tidings_op){.kind = TIDINGS_OP_UNFOLLOW, .user_id = BOB, .u.relation.user_id = 10});
    assert_int_equal(run(follow_op(BOB, 11)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 1000);
    reopen_engine();
    atomic_fetch_add(&clock_ms, 999);
    assert_int_equal(run(follow_op(BOB, 11)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 1);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = BOB, .u.user.user_id = BOB});
    assert_int_equal(answer.u.counters.following, 0);
    atomic_fetch_add(&clock_ms, 1);
    must(follow_op(BOB, 11));
    assert_int_equal(run(follow_op(BOB, 12)), TIDINGS_RATE_LIMITED);
    must(follow_op(CID, 12)); /* another user's is another bucket */
    follow(BOB, 12);          /* and a service has none */
}

static void thousands_of_followed_authors_are_all_there(void **state)
{
    (void)state;
    static struct ids found;
    enum { AUTHORS = 5000 };
    static struct tidings_op ops[AUTHORS];
    for (uint64_t i = 0; i < AUTHORS; i++) {
        ops[i] = follow_op(BOB, 1000 + i);
        ops[i].role = TIDINGS_ROLE_SERVICE;
    }
    must_all(ops, AUTHORS);
    assert_int_equal(run(follow_op(BOB, 999999)), TIDINGS_FOLLOWING_LIMIT);
    for (uint64_t i = 0; i < AUTHORS; i++)
        ops[i] = (struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                                     .user_id = 1000 + i,
                                     .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    must_all(ops, AUTHORS);
    must((struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = BOB});
    assert_int_equal(answer.u.unread.n, AUTHORS);
    assert_int_equal(answer.u.unread.total, AUTHORS);
    assert_int_equal(answer.u.unread.rows[0].user_id, 1000); /* ties by user id */
    assert_int_equal(answer.u.unread.rows[AUTHORS - 1].user_id, 1000 + AUTHORS - 1);

    struct tidings_cursor cursor = {0, 0};
    bool more = true;
    for (found.n = 0; more;) {
        more = next_inbox_page(BOB, TIDINGS_UNREAD, 100, &cursor);
        for (size_t i = 0; i < answer.u.feed.n; i++)
            found.at[found.n++] = answer.u.feed.rows[i].author_id;
    }
    assert_int_equal(found.n, AUTHORS);
    for (size_t i = 0; i < AUTHORS; i++)
        assert_int_equal(found.at[i], 1000 + AUTHORS - 1 - i);
    assert_int_equal(mark_up_to(BOB, 0, as_of(BOB)), AUTHORS);
    assert_int_equal(badge(BOB), 0);
    assert_verifies();
}

static void fans_among_users_are_found_from_either_side(void **state)
{
    (void)state;
    const uint64_t asked[] = {2, 3, 5, 8, TIDINGS_ID_MAX}, expected[] = {3, 8};
    for (int round = 0; round < 2; round++) {
        follow(3, ANN);
        follow(8, ANN);
        must((struct tidings_op){
            .kind = TIDINGS_OP_FANS_AMONG,
            .user_id = ANN,
            .u.among = {.author_id = ANN, .user_ids = asked, .n_user_ids = COUNT_OF(asked)}});
        assert_int_equal(answer.u.among.n, 2);
        assert_memory_equal(answer.u.among.user_ids, expected, sizeof expected);
        for (uint64_t fan = 100; fan < 110; fan++)
            follow(fan, ANN); /* now there are more fans than users asked about */
    }
}

/* A stream on another server told of a post to who had begun to follow after it, before it was heard of there. */
static void fans_to_whom_a_post_was_delivered_are_found_from_either_side(void **state)
{
    (void)state;
    const uint64_t asked[] = {2, 3, 5, 8, TIDINGS_ID_MAX};
    follow(3, ANN);
    uint64_t post = publish(ANN, "t", "");
    follow(8, ANN);
    for (int round = 0; round < 2; round++) {
        must((struct tidings_op){.kind = TIDINGS_OP_FANS_AMONG,
                                 .user_id = ANN,
                                 .u.among = {.author_id = ANN,
                                             .item_id = post,
                                             .user_ids = asked,
                                             .n_user_ids = COUNT_OF(asked)}});
        assert_int_equal(answer.u.among.n, 1);
        assert_int_equal(answer.u.among.user_ids[0], 3);
        for (uint64_t fan = 100; fan < 110; fan++)
            follow(fan, ANN);
    }
}

/* ---- Cursors -------------------------------------------------------------------------------- */

/* All in one millisecond, since the clock stands still. */
static void follow_lists_neither_skip_nor_repeat(void **state)
{
    (void)state;
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_FOLLOWERS, TIDINGS_OP_FOLLOWING};
    for (uint64_t user = 100; user < 125; user++) {
        follow(user, ANN);
        follow(ANN, user);
    }
    for (size_t k = 0; k < COUNT_OF(kinds); k++) {
        struct tidings_op op = {
            .kind = kinds[k], .user_id = DAN, .u.users = {.user_id = ANN, .page.limit = 10}};
        uint64_t next = 124, added = 200;
        do {
            must(op);
            op.u.users.page.after = answer.u.users.next;
            for (size_t i = 0; i < answer.u.users.n; i++) {
                assert_int_equal(answer.u.users.rows[i].user_id, next--);
                assert_int_equal(answer.u.users.rows[i].since, START_MS);
            }
            follow(added + 50 * k, ANN);
            follow(ANN, added++ + 50 * k);
        } while (op.u.users.page.after.a);
        assert_int_equal(next, 99);
        for (uint64_t user = 200 + 50 * k; user < added + 50 * k; user++) {
            unfollow(user, ANN, false);
            unfollow(ANN, user, false);
        }
    }
    /* A re-follow moves to the top of both. */
    unfollow(110, ANN, false);
    follow(110, ANN);
    must((struct tidings_op){.kind = TIDINGS_OP_FOLLOWERS, .user_id = DAN, .u.users.user_id = ANN});
    assert_int_equal(answer.u.users.rows[0].user_id, 110);
    must((struct tidings_op){.kind = TIDINGS_OP_FOLLOWING, .user_id = DAN, .u.users.user_id = 110});
    assert_int_equal(answer.u.users.rows[0].user_id, ANN);
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(a_repeat_changes_nothing),
        OPENED(the_following_limit_is_exact),
        OPENED(what_is_refused_does_not_move_the_time),
        OPENED(the_bucket_survives_a_restart),
        OPENED(thousands_of_followed_authors_are_all_there),
        OPENED(fans_among_users_are_found_from_either_side),
        OPENED(fans_to_whom_a_post_was_delivered_are_found_from_either_side),
        OPENED(follow_lists_neither_skip_nor_repeat),
    };
#undef OPENED
    return RUN_TESTS(tests);
}
