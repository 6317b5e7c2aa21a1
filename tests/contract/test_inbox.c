/* SPDX-License-Identifier: MIT */
/* What is delivered to whom, what reading changes, and pages of it while the world moves. */
#include "contract/harness.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

/* ---- Delivery ------------------------------------------------------------------------------- */

static void only_what_is_published_while_following_is_delivered(void **state)
{
    (void)state;
    static struct ids read;
    publish(ANN, "before", "");
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", ""), p2 = publish(ANN, "2", "");
    unfollow(BOB, ANN, false);
    uint64_t missed = publish(ANN, "missed", "");
    follow(BOB, ANN);
    uint64_t p3 = publish(ANN, "3", "");
    unfollow(BOB, ANN, false);
    publish(ANN, "after", "");

    ASSERT_INBOX(BOB, TIDINGS_ALL, p3, p2, p1);
    ASSERT_INBOX(BOB, TIDINGS_UNREAD, p3, p2, p1);
    assert_adds_up(BOB);
    assert_int_equal(unread_of(BOB, ANN), 3);
    assert_false(answer.u.unread.rows[0].following);

    /* Opening what was never delivered is a read, but of nothing that was unread. */
    open_post(BOB, missed);
    assert_int_equal(answer.u.open.unread_total, 3);
    assert_int_equal(answer.u.open.unread_author, 3);
    ASSERT_INBOX(BOB, TIDINGS_ALL, p3, p2, p1);
    ASSERT_HISTORY(BOB, missed);
    list_author(BOB, ANN, TIDINGS_READ, &read);
    assert_ids(&read, &missed, 1);
    assert_verifies();
}

static void a_purge_takes_items_out_and_leaves_reading_alone(void **state)
{
    (void)state;
    static struct ids read;
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", ""), p2 = publish(ANN, "2", "");
    uint64_t gone = publish(ANN, "3", "");
    open_post(BOB, p1);
    open_post(BOB, gone);
    delete_post(ANN, gone);
    unfollow(BOB, ANN, false);
    follow(BOB, ANN);
    uint64_t p4 = publish(ANN, "4", "");
    ASSERT_INBOX(BOB, TIDINGS_ALL, p4, gone, p2, p1);

    assert_int_equal(unfollow(BOB, ANN, true), 4);
    assert_true(answer.u.relation.changed);
    assert_int_equal(badge(BOB), 0);
    list_inbox(BOB, 0, TIDINGS_ALL, &read);
    assert_int_equal(read.n, 0);
    ASSERT_HISTORY(BOB, gone, p1);
    list_author(BOB, ANN, TIDINGS_READ, &read);
    assert_ids(&read, &p1, 1);
    const uint64_t posts[] = {p4, p2};
    list_author(BOB, ANN, TIDINGS_UNREAD, &read);
    assert_ids(&read, posts, 2);
    assert_int_equal(unfollow(BOB, ANN, true), 0); /* nothing left, and no error */
    assert_false(answer.u.relation.changed);
    assert_verifies();

    /* And it begins anew. */
    follow(BOB, ANN);
    uint64_t p5 = publish(ANN, "5", "");
    ASSERT_INBOX(BOB, TIDINGS_ALL, p5);
    assert_int_equal(badge(BOB), 1);
    assert_verifies();
}

static void a_purge_may_be_asked_for_after_the_unfollow(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "1", "");
    unfollow(BOB, ANN, false);
    assert_int_equal(badge(BOB), 1);
    assert_int_equal(unfollow(BOB, ANN, true), 1);
    assert_false(answer.u.relation.changed);
    assert_int_equal(badge(BOB), 0);
    must((struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = BOB});
    assert_int_equal(answer.u.unread.n, 0);
    assert_verifies();
}

static void many_follow_intervals_are_kept_exactly(void **state)
{
    (void)state;
    static struct ids found;
    uint64_t expected[200];
    size_t n = 0;
    for (int i = 0; i < 300; i++) {
        if (i % 3 == 0)
            follow(BOB, ANN);
        uint64_t id = publish(ANN, "p", "");
        if (i % 3 == 0)
            expected[n++] = id;
        if (i % 3 == 0)
            unfollow(BOB, ANN, false);
    }
    list_inbox(BOB, ANN, TIDINGS_UNREAD, &found);
    assert_int_equal(found.n, n);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(found.at[i], expected[n - 1 - i]);
    assert_int_equal(badge(BOB), n);
    reopen_engine();
    assert_int_equal(badge(BOB), n);
    assert_int_equal(unfollow(BOB, ANN, true), n);
    assert_verifies();
}

static void an_author_followed_and_left_without_a_post_leaves_no_trace(void **state)
{
    (void)state;
    follow(BOB, ANN);
    unfollow(BOB, ANN, false);
    must((struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = BOB});
    assert_int_equal(answer.u.unread.n, 0);
    publish(ANN, "p", "");
    assert_int_equal(badge(BOB), 0);
    assert_verifies();
}

/* ---- Reading -------------------------------------------------------------------------------- */

static void a_bulk_mark_swallows_nothing_newer(void **state)
{
    (void)state;
    follow(BOB, ANN);
    follow(BOB, CID);
    publish(ANN, "1", "");
    publish(CID, "2", "");
    struct tidings_moment seen = as_of(BOB);
    uint64_t new_ann = publish(ANN, "3", ""), new_cid = publish(CID, "4", "");

    assert_int_equal(mark_up_to(BOB, ANN, seen), 1);
    assert_int_equal(answer.u.mark.total, 3);
    assert_int_equal(mark_up_to(BOB, 0, seen), 1);
    ASSERT_INBOX(BOB, TIDINGS_UNREAD, new_cid, new_ann);
    assert_int_equal(mark_up_to(BOB, 0, seen), 0); /* again: nothing */
    assert_int_equal(mark_up_to(BOB, 0, as_of(BOB)), 2);
    assert_int_equal(badge(BOB), 0);
    assert_adds_up(BOB);
    assert_verifies();
}

static void marks_by_id_are_all_or_nothing(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", ""), p2 = publish(ANN, "2", "");
    uint64_t foreign = publish(CID, "not delivered", "");
    const uint64_t with_foreign[] = {p1, foreign, p2}, with_unknown[] = {p1, p2, 16};
    const uint64_t twice[] = {p1, p1, p2, p1};
    struct tidings_op op = {.kind = TIDINGS_OP_MARK_READ,
                            .user_id = BOB,
                            .u.mark = {.post_ids = with_foreign, .n_post_ids = 3}};
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    op.u.mark.post_ids = with_unknown;
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    assert_int_equal(badge(BOB), 2);
    assert_int_equal(mark(BOB, twice, 4), 2);
    assert_int_equal(answer.u.mark.total, 0);
    assert_int_equal(mark(BOB, twice, 4), 0);
    assert_verifies();
}

static void a_deleted_item_is_unread_for_nobody_and_stays_in_the_inbox(void **state)
{
    (void)state;
    follow(BOB, ANN);
    follow(CID, ANN);
    uint64_t p1 = publish(ANN, "kept", "body"), p2 = publish(ANN, "Title stays", "body");
    open_post(CID, p2);
    delete_post(ANN, p2);
    ASSERT_INBOX(BOB, TIDINGS_ALL, p2, p1);
    ASSERT_INBOX(BOB, TIDINGS_UNREAD, p1);
    ASSERT_INBOX(CID, TIDINGS_READ, p2); /* had been read */
    ASSERT_INBOX(CID, TIDINGS_UNREAD, p1);
    assert_adds_up(BOB);
    assert_adds_up(CID);
    assert_int_equal(mark_one(BOB, p2), 0); /* changes nothing, and is no error */
    assert_int_equal(unmark_one(CID, p2), 0);

    must((struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = BOB});
    assert_true(answer.u.feed.rows[0].is_deleted);
    assert_string_equal(answer.u.feed.rows[0].title.p, "Title stays");
    assert_int_equal(answer.u.feed.rows[0].excerpt.n, 0);
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_POST, TIDINGS_OP_OPEN, TIDINGS_OP_DELETE};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        assert_int_equal(
            run((struct tidings_op){.kind = kinds[i], .user_id = ANN, .u.post.post_id = p2}),
            TIDINGS_DELETED);
        assert_string_equal(answer.title.p, "Title stays");
    }
    assert_verifies();
}

static void the_first_reading_gives_the_time(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "1", "");
    atomic_fetch_add(&clock_ms, 1000);
    open_post(BOB, post);
    atomic_fetch_add(&clock_ms, 1000);
    open_post(BOB, post);
    mark_one(BOB, post);
    must((struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = BOB});
    assert_int_equal(answer.u.feed.rows[0].read_at, START_MS + 1000);
    assert_int_equal(answer.u.feed.rows[0].created_at, START_MS);

    atomic_fetch_add(&clock_ms, 1000);
    assert_int_equal(unmark_one(BOB, post), 1);
    assert_int_equal(badge(BOB), 1);
    open_post(BOB, post);
    must((struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = BOB});
    assert_int_equal(answer.u.feed.rows[0].read_at, START_MS + 3000);
}

/* Reads and deletions across the edges of the 64s in which they are kept. */
static void reads_and_deletions_count_right_at_the_edges_of_64(void **state)
{
    (void)state;
    static struct ids all;
    follow(BOB, ANN);
    publish_many(ANN, 200);
    list_inbox(BOB, 0, TIDINGS_ALL, &all);
    assert_int_equal(all.n, 200);
    const size_t edges[] = {0, 7, 8, 71, 72, 73, 135, 136, 199}; /* from the newest on */
    uint64_t unread = 200;
    for (size_t i = 0; i < COUNT_OF(edges); i++) {
        uint64_t post = all.at[edges[i]];
        if (i % 3 == 0) {
            open_post(BOB, post);
        } else if (i % 3 == 1) {
            delete_post(ANN, post);
        } else {
            open_post(BOB, post);
            delete_post(ANN, post);
        }
        assert_int_equal(badge(BOB), --unread);
        assert_adds_up(BOB);
    }
    assert_int_equal(mark_up_to(BOB, ANN, as_of(BOB)), unread);
    assert_int_equal(badge(BOB), 0);
    assert_int_equal(unmark_one(BOB, all.at[100]), 1);
    ASSERT_INBOX(BOB, TIDINGS_UNREAD, all.at[100]);
    assert_verifies();
    reopen_engine();
    ASSERT_INBOX(BOB, TIDINGS_UNREAD, all.at[100]);
}

/* Of ANN's posts. */
static uint64_t nth_newest(size_t n)
{
    struct tidings_op op = {.kind = TIDINGS_OP_AUTHOR_PAGE,
                            .user_id = BOB,
                            .u.feed = {.author_id = ANN, .page.limit = 100}};
    for (;; n -= 100) {
        must(op);
        if (n < 100)
            return answer.u.feed.rows[n].post_id;
        op.u.feed.page.after = answer.u.feed.next;
    }
}

static void three_old_posts_are_found_among_20000_read_ones(void **state)
{
    (void)state;
    static struct ids found;
    enum { POSTS = 20000 };
    follow(BOB, ANN);
    publish_many(ANN, POSTS);
    assert_int_equal(badge(BOB), POSTS);
    assert_int_equal(mark_up_to(BOB, 0, as_of(BOB)), POSTS);
    const uint64_t old[] = {nth_newest(9000), nth_newest(15000), nth_newest(19999)};
    for (size_t i = 0; i < COUNT_OF(old); i++)
        assert_int_equal(unmark_one(BOB, old[i]), 1);
    list_inbox(BOB, 0, TIDINGS_UNREAD, &found);
    assert_ids(&found, old, 3);
    list_author(BOB, ANN, TIDINGS_UNREAD, &found);
    assert_ids(&found, old, 3);
    assert_adds_up(BOB);
    reopen_engine();
    list_inbox(BOB, 0, TIDINGS_UNREAD, &found);
    assert_ids(&found, old, 3);
    assert_verifies();
}

/* ---- Cursors -------------------------------------------------------------------------------- */

static void an_inbox_cursor_is_stable_while_the_world_moves(void **state)
{
    (void)state;
    static struct ids all, seen;
    follow(BOB, ANN);
    follow(BOB, CID);
    for (int i = 0; i < 40; i++)
        publish(i % 2 ? ANN : CID, "p", "");
    list_inbox(BOB, 0, TIDINGS_ALL, &all);
    seen.n = 0;
    struct tidings_cursor cursor = {0, 0};
    bool more = true;
    for (int page = 0; more; page++) {
        more = next_inbox_page(BOB, TIDINGS_ALL, 9, &cursor);
        for (size_t i = 0; i < answer.u.feed.n; i++)
            seen.at[seen.n++] = answer.u.feed.rows[i].post_id;
        publish(ANN, "arrived meanwhile", "");
        if (page == 0) {
            delete_post(CID, all.at[9]); /* the next to come, or the one after it */
            unfollow(BOB, CID, false);
        }
        if (page == 1)
            open_post(BOB, all.at[25]);
        if (page == 2)
            follow(BOB, CID);
    }
    assert_ids(&seen, all.at, all.n);
}

static void an_unread_cursor_goes_on_behind_what_was_read(void **state)
{
    (void)state;
    static struct ids all;
    follow(BOB, ANN);
    publish_many(ANN, 30);
    list_inbox(BOB, 0, TIDINGS_UNREAD, &all);
    struct tidings_cursor cursor = {0, 0};
    next_inbox_page(BOB, TIDINGS_UNREAD, 10, &cursor);
    assert_int_equal(answer.u.feed.n, 10);
    mark(BOB, all.at, 15); /* the page, and half of the next */
    publish(ANN, "new", "");
    next_inbox_page(BOB, TIDINGS_UNREAD, 10, &cursor);
    assert_int_equal(answer.u.feed.n, 10);
    for (size_t i = 0; i < 10; i++)
        assert_int_equal(answer.u.feed.rows[i].post_id, all.at[15 + i]);
    assert_true(next_inbox_page(BOB, TIDINGS_UNREAD, 4, &cursor));
    assert_false(next_inbox_page(BOB, TIDINGS_UNREAD, 4, &cursor)); /* the last one, no dead end */
    assert_int_equal(answer.u.feed.n, 1);
}

/* Which chunks of 64 are all read is remembered for 16 runs of them. With one more, and then one post marked unread in one of
 * them, that one must be found. */
static void a_post_marked_unread_is_found_among_many_runs_of_read_ones(void **state)
{
    (void)state;
    enum { CHUNK = 64, RUNS = 17, POSTS = CHUNK * 2 * RUNS };
    static uint64_t posts[POSTS];
    options.durability = TIDINGS_DURABLE_SECOND;
    reopen_engine();
    follow(BOB, ANN);
    for (int i = 0; i < POSTS; i++)
        posts[i] = publish(ANN, "t", "");
    for (int run = 0; run < RUNS; run++) {
        assert_int_equal(mark(BOB, posts + CHUNK * 2 * run, CHUNK), CHUNK);
        if (run < RUNS - 2)
            continue;
        for (int i = 0; i <= run; i++) {
            const uint64_t *post = &posts[CHUNK * 2 * i + i];
            must((struct tidings_op){.kind = TIDINGS_OP_MARK_UNREAD,
                                     .user_id = BOB,
                                     .u.mark = {.post_ids = post, .n_post_ids = 1}});
            assert_adds_up(BOB);
            assert_int_equal(mark(BOB, post, 1), 1);
            assert_adds_up(BOB);
        }
    }
    assert_verifies();
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(only_what_is_published_while_following_is_delivered),
        OPENED(a_purge_takes_items_out_and_leaves_reading_alone),
        OPENED(a_purge_may_be_asked_for_after_the_unfollow),
        OPENED(many_follow_intervals_are_kept_exactly),
        OPENED(an_author_followed_and_left_without_a_post_leaves_no_trace),
        OPENED(a_bulk_mark_swallows_nothing_newer),
        OPENED(marks_by_id_are_all_or_nothing),
        OPENED(a_deleted_item_is_unread_for_nobody_and_stays_in_the_inbox),
        OPENED(the_first_reading_gives_the_time),
        OPENED(reads_and_deletions_count_right_at_the_edges_of_64),
        OPENED(three_old_posts_are_found_among_20000_read_ones),
        OPENED(an_inbox_cursor_is_stable_while_the_world_moves),
        OPENED(an_unread_cursor_goes_on_behind_what_was_read),
        OPENED(a_post_marked_unread_is_found_among_many_runs_of_read_ones),
    };
#undef OPENED
    return RUN_TESTS(tests);
}
