/* SPDX-License-Identifier: MIT */
/* What is in the reading history, and what leaves it. */
#include "contract/harness.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

static void the_history_has_what_was_opened_or_marked_one_by_one(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", ""), p2 = publish(ANN, "2", ""), p3 = publish(ANN, "3", "");
    open_post(BOB, p2);
    mark_one(BOB, p1);
    atomic_store(&clock_ms, START_MS + 1000);
    mark_up_to(BOB, 0, as_of(BOB)); /* p3 */
    ASSERT_HISTORY(BOB, p1, p2);

    /* Opened later, it enters with that time and keeps the bulk's as its first reading. */
    atomic_store(&clock_ms, START_MS + 2000);
    open_post(BOB, p3);
    ASSERT_HISTORY(BOB, p3, p1, p2);
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY, .user_id = BOB});
    assert_int_equal(answer.u.history.rows[0].read_at, START_MS + 2000);
    must((struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = BOB});
    assert_int_equal(answer.u.feed.rows[0].post_id, p3);
    assert_int_equal(answer.u.feed.rows[0].read_at, START_MS + 1000);

    unmark_one(BOB, p1);
    ASSERT_HISTORY(BOB, p3, p2);
    delete_post(ANN, p2);
    ASSERT_HISTORY(BOB, p3, p2);
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY, .user_id = BOB});
    assert_true(answer.u.history.rows[1].is_deleted);
    assert_verifies();
}

static void deleting_from_the_history_turns_nothing_unread(void **state)
{
    (void)state;
    static struct ids history;
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", ""), p2 = publish(ANN, "2", ""), p3 = publish(ANN, "3", "");
    const uint64_t all[] = {p1, p2, p3};
    mark(BOB, all, 3); /* at one moment: by post, newest first */
    ASSERT_HISTORY(BOB, p3, p2, p1);
    struct tidings_op op = {
        .kind = TIDINGS_OP_HISTORY_DELETE, .user_id = BOB, .u.post.post_id = p2};
    must(op);
    must(op); /* again: nothing, and no error */
    ASSERT_HISTORY(BOB, p3, p1);
    op.u.post.post_id = 16;
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = BOB});
    list_history(BOB, &history);
    assert_int_equal(history.n, 0);
    assert_int_equal(badge(BOB), 0);
    open_post(BOB, p1);
    open_post(BOB, p2);
    ASSERT_HISTORY(BOB, p2, p1);
    assert_verifies();
}

static void a_long_history_is_cleared_at_once_and_for_good(void **state)
{
    (void)state;
    static struct ids history;
    enum { POSTS = 400 };
    static struct ids posts;
    follow(BOB, ANN);
    publish_many(ANN, POSTS);
    list_inbox(BOB, 0, TIDINGS_ALL, &posts);
    mark(BOB, posts.at, POSTS);
    list_history(BOB, &history);
    assert_int_equal(history.n, POSTS);
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = BOB});
    list_history(BOB, &history);
    assert_int_equal(history.n, 0);
    open_post(BOB, posts.at[5]);
    ASSERT_HISTORY(BOB, posts.at[5]);
    assert_verifies();
    reopen_engine();
    ASSERT_HISTORY(BOB, posts.at[5]);
    for (int i = 0; i < 20; i++)
        publish(CID, "time passes", "");
    ASSERT_HISTORY(BOB, posts.at[5]);
    assert_int_equal(badge(BOB), 0);
    assert_verifies();
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(the_history_has_what_was_opened_or_marked_one_by_one),
        OPENED(deleting_from_the_history_turns_nothing_unread),
        OPENED(a_long_history_is_cleared_at_once_and_for_good),
    };
#undef OPENED
    return RUN_TESTS(tests);
}
