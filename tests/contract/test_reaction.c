/* SPDX-License-Identifier: MIT */
/* Reactions: what one changes, their lists, and whose bucket they take from. */
#include "contract/harness.h"

enum { ANN = 1, BOB, CID, DAN, EVE, FAY };

/* ---- Reactions ------------------------------------------------------------------------------ */

static void a_like_changes_everything_in_one_step_and_once(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), after = events_end();
    assert_true(react(BOB, LIKE, POST, post));
    assert_int_equal(answer.u.reaction.counts.like_count, 1);
    assert_int_equal(answer.u.reaction.counts.hot_score, 3);
    assert_false(react(BOB, LIKE, POST, post));
    assert_true(react(BOB, FAV, POST, post));
    assert_int_equal(answer.u.reaction.counts.hot_score, 7);
    assert_string_equal(events_after(after), "ReactionCreated(2)+1/1 ReactionCreated(2)+1/2");
    assert_counters(BOB, 1, 1, 0, 0);
    assert_counters(ANN, 0, 0, 1, 1);
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = post});
    assert_true(answer.u.post.liked && answer.u.post.faved);
    assert_int_equal(answer.u.post.counts.fav_count, 1);
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = CID, .u.post.post_id = post});
    assert_false(answer.u.post.liked || answer.u.post.faved);
    after = events_end();
    assert_true(unreact(BOB, LIKE, POST, post));
    assert_false(unreact(BOB, LIKE, POST, post));
    assert_string_equal(events_after(after), "ReactionDeleted(2)-1/1");
    assert_counters(BOB, 0, 1, 0, 0);
    assert_counters(ANN, 0, 0, 0, 1);
    assert_verifies();
}

static void liking_ones_own_counts_on_both_sides(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b");
    react(ANN, LIKE, POST, post);
    react(ANN, FAV, POST, post);
    assert_counters(ANN, 1, 1, 1, 1);
    unreact(ANN, FAV, POST, post);
    assert_counters(ANN, 1, 0, 1, 0);
    assert_verifies();
}

static void lists_of_reactions_are_newest_first_and_page(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), other = publish(ANN, "u", "b");
    for (uint64_t user = 10; user < 20; user++)
        react(user, LIKE, POST, post);
    react(10, LIKE, POST, other);
    unreact(12, LIKE, POST, post);
    unreact(10, LIKE, POST, post);
    react(10, LIKE, POST, post); /* to the top of both lists */
    const uint64_t expected[] = {10, 19, 18, 17, 16, 15, 14, 13, 11};
    struct tidings_op op = {.kind = TIDINGS_OP_REACTORS,
                            .user_id = BOB,
                            .u.reactors = {LIKE, POST, post, .page.limit = 2}};
    size_t n = 0;
    do {
        must(op);
        for (size_t i = 0; i < answer.u.users.n; i++)
            assert_int_equal(answer.u.users.rows[i].user_id, expected[n++]);
        op.u.reactors.page.after = answer.u.users.next;
    } while (answer.u.users.next.a);
    assert_int_equal(n, COUNT_OF(expected));
    must((struct tidings_op){
        .kind = TIDINGS_OP_REACTED, .user_id = 10, .u.reactors = {LIKE, POST, .page.limit = 1}});
    assert_int_equal(answer.u.reacted.rows[0].id, post);
    must((struct tidings_op){.kind = TIDINGS_OP_REACTED,
                             .user_id = 10,
                             .u.reactors = {LIKE, POST, .page = {1, answer.u.reacted.next}}});
    assert_int_equal(answer.u.reacted.rows[0].id, other);
    assert_string_equal(answer.u.reacted.rows[0].text.p, "u");
    assert_int_equal(answer.u.reacted.next.a, 0);
    assert_verifies();
}

static void like_and_downvote_exclude_each_other(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c = comment(BOB, post, 0, "c");
    react(CID, LIKE, COMMENT, c);
    uint64_t after = events_end();
    assert_true(react(CID, DOWN, COMMENT, c));
    assert_int_equal(answer.u.reaction.counts.like_count, 0);
    assert_int_equal(answer.u.reaction.counts.down_count, 1);
    assert_int_equal(answer.u.reaction.counts.hot_score, -4);
    assert_string_equal(events_after(after), "ReactionDeleted(3)-1/1 ReactionCreated(3)+1/3");
    assert_false(unreact(CID, LIKE, COMMENT, c));
    assert_true(react(CID, LIKE, COMMENT, c));
    assert_int_equal(counts_of(COMMENT, c).hot_score, 2);
    assert_counters(CID, 0, 0, 0, 0); /* these are about posts */
    assert_counters(BOB, 0, 0, 0, 0);
    assert_verifies();
}

static void reactions_have_a_bucket_of_their_own(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b");
    options.settings.react_burst = 2;
    options.settings.comment_burst = 1;
    reopen_engine();
    must(react_op(BOB, LIKE, POST, post));
    must(react_op(BOB, LIKE, POST, post)); /* a repeat spends one, too */
    assert_int_equal(run(react_op(BOB, FAV, POST, post)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 100);
    must(comment_op(BOB, post, 0));
    assert_int_equal(run(comment_op(BOB, post, 0)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 1000);
    clock_ms += 100;
    must(react_op(BOB, FAV, POST, post));
    assert_int_equal(run(react_op(BOB, LIKE, POST, 12345)), TIDINGS_RATE_LIMITED);
    react(BOB, LIKE, POST, post); /* a service is free of it */
    assert_verifies();
}

/* ---- Deleted posts -------------------------------------------------------------------------- */

static void a_deleted_post_settles_its_author_and_is_left_to_admins(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "the title", "b"), other = publish(ANN, "u", "b");
    uint64_t c = comment(BOB, post, 0, "c");
    react(BOB, LIKE, POST, post);
    react(CID, LIKE, POST, post);
    react(CID, FAV, POST, post);
    react(CID, LIKE, POST, other);
    react(CID, LIKE, COMMENT, c);
    ASSERT_HOT(TIDINGS_NOTE, post, other);
    delete_post(ANN, post);
    ASSERT_HOT(TIDINGS_NOTE, other);
    assert_counters(ANN, 0, 0, 1, 0);
    assert_counters(CID, 2, 1, 0, 0);
    assert_verifies();

    assert_int_equal(run(react_op(DAN, LIKE, POST, post)), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "the title");
    assert_int_equal(run(react_op(DAN, LIKE, COMMENT, c)), TIDINGS_DELETED);
    assert_string_equal(answer.title.p, "the title");
    assert_int_equal(run(comment_op(DAN, post, 0)), TIDINGS_DELETED);
    assert_int_equal(run(comment_op(DAN, post, c)), TIDINGS_DELETED);
    struct tidings_op look = {
        .kind = TIDINGS_OP_COMMENTS, .user_id = BOB, .u.comments = {post, 0, TIDINGS_HOT}};
    assert_int_equal(run(look), TIDINGS_DELETED);
    look.role = TIDINGS_ROLE_SERVICE;
    assert_int_equal(run(look), TIDINGS_DELETED);
    look.role = TIDINGS_ROLE_ADMIN;
    assert_int_equal(run(look), TIDINGS_OK);
    assert_string_equal(answer.u.comments.rows[0].body.p, "c");
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_STATS,
                                             .user_id = BOB,
                                             .u.react = {.target = COMMENT, .id = c}}),
                     TIDINGS_DELETED);

    assert_true(unreact(CID, LIKE, POST, post));
    assert_int_equal(answer.u.reaction.counts.like_count, 1);
    assert_true(unreact(CID, LIKE, COMMENT, c));
    assert_counters(CID, 1, 1, 0, 0);
    assert_counters(ANN, 0, 0, 1, 0);
    ASSERT_HOT(TIDINGS_NOTE, other);
    must((struct tidings_op){
        .kind = TIDINGS_OP_REACTED, .user_id = BOB, .u.reactors = {LIKE, POST, 0}});
    assert_true(answer.u.reacted.rows[0].is_deleted);
    assert_string_equal(answer.u.reacted.rows[0].text.p, "the title");
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(a_like_changes_everything_in_one_step_and_once),
        TEST(liking_ones_own_counts_on_both_sides),
        TEST(lists_of_reactions_are_newest_first_and_page),
        TEST(like_and_downvote_exclude_each_other),
        TEST(reactions_have_a_bucket_of_their_own),
        TEST(a_deleted_post_settles_its_author_and_is_left_to_admins),
    };
#undef TEST
    return RUN_TESTS(tests);
}
