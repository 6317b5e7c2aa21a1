/* SPDX-License-Identifier: MIT */
/* Comments: their lists, folding, moderation, deletion. */
#include "contract/harness.h"

enum { ANN = 1, BOB, CID, DAN, EVE, FAY };

/* ---- Comments ------------------------------------------------------------------------------- */

static void comments_are_listed_by_heat_and_by_time(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c[5], r;
    for (size_t i = 0; i < 5; i++)
        c[i] = comment(BOB, post, 0, "c");
    r = comment(CID, post, c[1], "r"); /* +3 */
    react(CID, LIKE, COMMENT, c[2]);   /* +2 */
    react(CID, DOWN, COMMENT, c[4]);   /* -4 */
    ASSERT_COMMENTS(post, 0, TIDINGS_OLD, c[0], c[1], c[2], c[3], c[4]);
    ASSERT_COMMENTS(post, 0, TIDINGS_NEW, c[4], c[3], c[2], c[1], c[0]);
    ASSERT_COMMENTS(post, 0, TIDINGS_HOT, c[1], c[2], c[3], c[0], c[4]);
    ASSERT_COMMENTS(post, c[1], TIDINGS_HOT, r);
    assert_int_equal(counts_of(POST, post).comment_count, 6);
    assert_int_equal(counts_of(POST, post).hot_score, 30);
    assert_int_equal(counts_of(COMMENT, c[1]).reply_count, 1);
    assert_verifies();
}

static void a_comment_that_moves_costs_no_other_its_place(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c[6];
    for (size_t i = 0; i < 6; i++)
        c[i] = comment(BOB, post, 0, "c");
    struct tidings_op op = {.kind = TIDINGS_OP_COMMENTS,
                            .user_id = BOB,
                            .u.comments = {post, 0, TIDINGS_HOT, .page.limit = 2}};
    must(op); /* c5 c4 */
    op.u.comments.page.after = answer.u.comments.next;
    react(CID, LIKE, COMMENT, c[4]); /* the very comment the cursor points at */
    react(CID, LIKE, COMMENT, c[1]); /* this one leaves what is still to come */
    must(op);
    assert_int_equal(answer.u.comments.rows[0].id, c[3]);
    assert_int_equal(answer.u.comments.rows[1].id, c[2]);
    op.u.comments.page.after = answer.u.comments.next;
    must(op);
    assert_int_equal(answer.u.comments.n, 1);
    assert_int_equal(answer.u.comments.rows[0].id, c[0]);
}

static void votes_fold_a_comment_and_bring_it_back(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c = comment(BOB, post, 0, "c");
    uint64_t r = comment(CID, post, c, "r"), rr = comment(DAN, post, r, "rr");
    for (uint64_t user = 10; user < 12; user++)
        react(user, DOWN, COMMENT, r);
    assert_int_equal(status_of(post, c, r), TIDINGS_COMMENT_VISIBLE);
    uint64_t after = events_end();
    react(12, DOWN, COMMENT, r);
    assert_string_equal(events_after(after), "ReactionCreated(12)+1/3 CommentHidden(12)-1/0");
    assert_int_equal(status_of(post, c, r), TIDINGS_COMMENT_HIDDEN);
    assert_int_equal(answer.u.comments.rows[0].body.n, 0);
    assert_int_equal(counts_of(POST, post).comment_count, 2); /* c and rr */
    assert_int_equal(counts_of(COMMENT, c).reply_count, 0);
    assert_int_equal(counts_of(COMMENT, r).reply_count, 1);
    uint64_t more = comment(EVE, post, r, "replies to a folded one are allowed");
    after = events_end();
    react(12, LIKE, COMMENT, r);
    assert_string_equal(events_after(after), "ReactionDeleted(12)-1/3 ReactionCreated(12)+1/1 "
                                             "CommentRestored(12)+1/0");
    assert_int_equal(status_of(post, c, r), TIDINGS_COMMENT_VISIBLE);
    assert_int_equal(answer.u.comments.rows[0].body.n, 1);
    ASSERT_COMMENTS(post, r, TIDINGS_OLD, rr, more);
    assert_verifies();
}

static void a_moderators_word_sticks(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c = comment(BOB, post, 0, "c");
    uint64_t after = events_end();
    restore(c); /* changes nothing now */
    assert_true(answer.u.comment.moderated);
    assert_string_equal(events_after(after), "");
    for (uint64_t user = 10; user < 20; user++)
        react(user, DOWN, COMMENT, c);
    assert_int_equal(status_of(post, 0, c), TIDINGS_COMMENT_VISIBLE);
    after = events_end();
    hide(c);
    assert_int_equal(answer.u.comment.body.n, 1);
    hide(c);
    assert_string_equal(events_after(after), "CommentHidden(999)-1/0");
    for (uint64_t user = 10; user < 20; user++)
        react(user, LIKE, COMMENT, c);
    assert_int_equal(status_of(post, 0, c), TIDINGS_COMMENT_HIDDEN);
    assert_int_equal(counts_of(POST, post).comment_count, 0);
    must((struct tidings_op){.kind = TIDINGS_OP_COMMENTS,
                             .user_id = EVE,
                             .u.comments = {post, 0, TIDINGS_HOT, .include_hidden = true}});
    assert_string_equal(answer.u.comments.rows[0].body.p, "c");
    struct tidings_op op = {
        .kind = TIDINGS_OP_COMMENT_HIDE, .user_id = ANN, .u.comment_id.comment_id = c};
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);
    op.role = TIDINGS_ROLE_SERVICE;
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);
    assert_verifies();
}

static void deleted_comments_leave_with_their_last_listed_reply(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), a = comment(BOB, post, 0, "a");
    uint64_t b = comment(BOB, post, a, "b"), c = comment(BOB, post, b, "c");
    uint64_t d = comment(BOB, post, c, "d"), e = comment(BOB, post, 0, "e");
    react(CID, LIKE, COMMENT, a);
    delete_comment(BOB, a);
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_COMMENT_DELETE,
                                             .user_id = BOB,
                                             .u.comment_id.comment_id = a}),
                     TIDINGS_DELETED);
    delete_comment(BOB, c);
    ASSERT_COMMENTS(post, 0, TIDINGS_OLD, a, e);
    ASSERT_COMMENTS(post, 0, TIDINGS_HOT, a, e);
    assert_int_equal(status_of(post, 0, a), TIDINGS_COMMENT_DELETED);
    assert_int_equal(answer.u.comments.rows[0].body.n, 0);
    assert_int_equal(counts_of(POST, post).comment_count, 3);
    assert_int_equal(run(comment_op(BOB, post, a)), TIDINGS_DELETED);
    assert_int_equal(run(react_op(BOB, LIKE, COMMENT, a)), TIDINGS_DELETED);
    delete_comment(BOB, b); /* listed because of c, because of d */
    ASSERT_COMMENTS(post, a, TIDINGS_NEW, b);
    assert_verifies();
    delete_comment(BOB, d); /* takes them all along */
    ASSERT_COMMENTS(post, 0, TIDINGS_OLD, e);
    ASSERT_COMMENTS(post, 0, TIDINGS_HOT, e);
    static struct ids none;
    list_comments(post, a, TIDINGS_HOT, &none);
    assert_int_equal(none.n, 0);
    assert_int_equal(counts_of(POST, post).comment_count, 1);
    assert_true(unreact(CID, LIKE, COMMENT, a));
    assert_verifies();
}

static void deleting_is_for_the_author_and_admins(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), c = comment(BOB, post, 0, "c");
    struct tidings_op op = {
        .kind = TIDINGS_OP_COMMENT_DELETE, .user_id = ANN, .u.comment_id.comment_id = c};
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);
    op.role = TIDINGS_ROLE_ADMIN;
    assert_int_equal(run(op), TIDINGS_OK);
    op.u.comment_id.comment_id = post;
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
}

static void a_reply_belongs_to_the_post_of_its_parent(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), other = publish(ANN, "t", "b");
    uint64_t c = comment(BOB, post, 0, "c");
    assert_int_equal(run(comment_op(BOB, other, c)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(comment_op(BOB, post, other)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(comment_op(BOB, c, 0)), TIDINGS_NOT_FOUND);
    assert_int_equal(run((struct tidings_op){.kind = TIDINGS_OP_COMMENTS,
                                             .user_id = BOB,
                                             .u.comments = {other, c, TIDINGS_HOT}}),
                     TIDINGS_NOT_FOUND);
    assert_int_equal(run(react_op(BOB, LIKE, POST, c)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(react_op(BOB, LIKE, COMMENT, post)), TIDINGS_NOT_FOUND);
    assert_verifies();
}

/* ---- Heat ----------------------------------------------------------------------------------- */

static void another_fold_rule_folds_and_restores_at_opening(void **state)
{
    (void)state;
    uint64_t post = publish(ANN, "t", "b"), top = comment(BOB, post, 0, "c");
    uint64_t c = comment(BOB, post, top, "c"), stays = comment(BOB, post, top, "d");
    restore(stays);
    react(10, DOWN, COMMENT, c);
    react(10, DOWN, COMMENT, stays);
    uint64_t after = events_end();
    options.settings.fold_down = 1;
    options.settings.fold_percent = 0;
    reopen_engine();
    assert_verifies();
    assert_string_equal(events_after(after), "CommentHidden(0)-1/0");
    assert_int_equal(status_of(post, top, c), TIDINGS_COMMENT_HIDDEN);
    assert_int_equal(status_of(post, top, stays), TIDINGS_COMMENT_VISIBLE);
    assert_int_equal(counts_of(POST, post).comment_count, 2);
    assert_int_equal(counts_of(COMMENT, top).reply_count, 1);
    after = events_end();
    reopen_engine(); /* the same rules: nothing to do */
    assert_string_equal(events_after(after), "");
    options.settings.fold_down = 3;
    reopen_engine();
    assert_verifies();
    assert_string_equal(events_after(after), "CommentRestored(0)+1/0");
    assert_int_equal(counts_of(POST, post).comment_count, 3);
}

/* Whatever must be looked up for each of them: some are on what is far behind. */
static void another_fold_rule_is_told_of_in_the_order_of_the_comments(void **state)
{
    (void)state;
    enum { MANY = 300, FOLDED = 4 };
    uint64_t post = publish(ANN, "t", "b"), far = comment(BOB, post, 0, "far");
    for (uint64_t i = 0; i < MANY; i++)
        comment(100 + i, post, 0, "between");
    const uint64_t ids[FOLDED] = {comment(BOB, post, far, "a reply"), comment(BOB, post, 0, "top"),
                                  comment(BOB, post, far, "a reply"),
                                  comment(BOB, publish(ANN, "t", "b"), 0, "top")};
    for (int i = 0; i < FOLDED; i++)
        react(10, DOWN, COMMENT, ids[i]);
    uint64_t after = events_end();
    options.settings.fold_down = 1;
    options.settings.fold_percent = 0;
    reopen_engine();
    must((struct tidings_op){.kind = TIDINGS_OP_EVENTS,
                             .user_id = ANN,
                             .role = TIDINGS_ROLE_SERVICE,
                             .u.page = {.limit = 100, .after = {after, 0}}});
    assert_int_equal(answer.u.events.n, FOLDED);
    for (size_t i = 0; i < FOLDED; i++)
        assert_true(answer.u.events.rows[i].target_id == ids[i]);
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(comments_are_listed_by_heat_and_by_time),
        TEST(a_comment_that_moves_costs_no_other_its_place),
        TEST(votes_fold_a_comment_and_bring_it_back),
        TEST(a_moderators_word_sticks),
        TEST(deleted_comments_leave_with_their_last_listed_reply),
        TEST(deleting_is_for_the_author_and_admins),
        TEST(a_reply_belongs_to_the_post_of_its_parent),
        TEST(another_fold_rule_folds_and_restores_at_opening),
        TEST(another_fold_rule_is_told_of_in_the_order_of_the_comments),
    };
#undef TEST
    return RUN_TESTS(tests);
}
