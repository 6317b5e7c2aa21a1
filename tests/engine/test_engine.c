/* SPDX-License-Identifier: MIT */
/* What the engine promises, scenario by scenario, through the public calls alone. */
#include <semaphore.h>
#include <string.h>

#include "domain/ids.h"
#include "engine/harness.h"
#include "support/local.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

#define LAST_MS (ID_EPOCH_MS + (int64_t)(TIDINGS_ID_MAX >> ID_TIME_SHIFT))

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

static void a_token_from_the_future_is_refused(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "1", "");
    struct tidings_moment now = as_of(BOB);
    struct tidings_op op = {.kind = TIDINGS_OP_MARK_READ,
                            .user_id = BOB,
                            .u.mark.up_to = local_moment(local_newest(&now) + 1)};
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "up_to");
    assert_int_equal(badge(BOB), 1);
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

static void three_old_posts_are_found_among_20000_read_ones(void **state)
{
    (void)state;
    static struct ids found;
    enum { POSTS = 20000 };
    follow(BOB, ANN);
    publish_many(ANN, POSTS);
    assert_int_equal(badge(BOB), POSTS);
    assert_int_equal(mark_up_to(BOB, 0, as_of(BOB)), POSTS);
    must((struct tidings_op){.kind = TIDINGS_OP_AUTHOR_PAGE,
                             .user_id = BOB,
                             .u.feed = {.author_id = ANN, .page.limit = 1}});
    /* The clock stands still, so ids are evenly apart: find some by counting back. */
    uint64_t newest = answer.u.feed.rows[0].post_id;
    const uint64_t old[] = {newest - 16 * 9000, newest - 16 * 15000, newest - 16 * 19999};
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

/* ---- History -------------------------------------------------------------------------------- */

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

/* ---- Relations ------------------------------------------------------------------------------ */

static struct tidings_op follow_op(uint64_t fan, uint64_t author)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_FOLLOW, .user_id = fan, .u.relation.user_id = author};
}

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

/* ---- Posts ---------------------------------------------------------------------------------- */

static void posts_are_edited_by_their_author_and_deleted_by_admins_too(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "title", "a[img]u[/img]b");
    must((struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = BOB});
    assert_string_equal(answer.u.feed.rows[0].excerpt.p, "ab");
    atomic_fetch_add(&clock_ms, 5);
    struct tidings_op op = {.kind = TIDINGS_OP_EDIT,
                            .user_id = ANN,
                            .u.edit = {.post_id = post, .body = text_of("new")}};
    must(op);
    assert_string_equal(answer.u.post.title.p, "title");
    assert_string_equal(answer.u.post.body.p, "new");
    assert_int_equal(answer.u.post.edited_at, START_MS + 5);
    atomic_fetch_add(&clock_ms, 5);
    must(op); /* the same: no edit */
    assert_int_equal(answer.u.post.edited_at, START_MS + 5);
    op.u.edit.body = (struct tidings_text){"", 0};
    must(op);
    assert_int_equal(answer.u.post.body.n, 0);
    op.user_id = BOB;
    op.role = TIDINGS_ROLE_ADMIN;
    op.u.edit.body = text_of("by another");
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);

    struct tidings_op delete = {.kind = TIDINGS_OP_DELETE, .user_id = BOB, .u.post.post_id = post};
    assert_int_equal(run(delete), TIDINGS_FORBIDDEN);
    delete.role = TIDINGS_ROLE_SERVICE;
    assert_int_equal(run(delete), TIDINGS_FORBIDDEN);
    delete.role = TIDINGS_ROLE_ADMIN;
    must(delete);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = BOB, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts, 0);
    assert_verifies();
}

static void names_are_shown_wherever_users_are(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "t", "");
    must((struct tidings_op){.kind = TIDINGS_OP_PROFILE_SET,
                             .user_id = ANN,
                             .u.profile = {text_of("Ann"), text_of("https://a")}});
    must((struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = BOB});
    assert_string_equal(answer.u.feed.rows[0].author_name.p, "Ann");
    must((struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = BOB});
    assert_string_equal(answer.u.unread.rows[0].name.p, "Ann");
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = post});
    assert_string_equal(answer.u.post.author_name.p, "Ann");
    must((struct tidings_op){.kind = TIDINGS_OP_FOLLOWING, .user_id = BOB, .u.users.user_id = BOB});
    assert_string_equal(answer.u.users.rows[0].avatar.p, "https://a");
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SET, .user_id = ANN, .u.profile = {{"", 0}, {NULL, 0}}});
    must((struct tidings_op){.kind = TIDINGS_OP_PROFILE, .user_id = BOB, .u.user.user_id = ANN});
    assert_int_equal(answer.u.profile.name.n, 0);
    assert_string_equal(answer.u.profile.avatar.p, "https://a");
}

static void ids_go_on_rising_after_a_restart_with_the_clock_set_back(void **state)
{
    (void)state;
    uint64_t last = publish(ANN, "1", "");
    for (int round = 0; round < 3; round++) {
        reopen_engine();
        atomic_fetch_add(&clock_ms, -86400000);
        uint64_t next = publish(ANN, "2", "");
        assert_true(next > last);
        last = next;
    }
    atomic_store(&clock_ms, 5); /* before the epoch */
    assert_true(publish(ANN, "3", "") > last);
    assert_verifies();
}

/* An operation that writes two events needs two ids: where one is left, nothing may happen. */
static void used_up_ids_refuse_and_never_begin_again(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "p", "");
    struct tidings_op clear = {.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = CID, .now_ms = LAST_MS};
    for (int i = 0; i < 255; i++)
        must(clear);
    struct tidings_op op = {.kind = TIDINGS_OP_UNFOLLOW,
                            .user_id = BOB,
                            .now_ms = LAST_MS,
                            .u.relation = {.user_id = ANN, .purge_inbox = true}};
    enum tidings_err err = run(op);
    struct tidings_moment newest = as_of(BOB);
    assert_true(local_newest(&newest) > id_floor(LAST_MS)); /* never back to the beginning */
    assert_int_equal(err, TIDINGS_NO_SPACE);
    assert_int_equal(badge(BOB), 1);
    if (!run(clear))
        assert_int_equal(run(clear), TIDINGS_NO_SPACE);
    reopen_engine();
    assert_int_equal(run(clear), TIDINGS_NO_SPACE);
}

/* ---- Events --------------------------------------------------------------------------------- */

static struct tidings_op events_op(uint64_t after, uint32_t limit)
{
    return (struct tidings_op){.kind = TIDINGS_OP_EVENTS,
                               .role = TIDINGS_ROLE_SERVICE,
                               .user_id = DAN,
                               .u.page = {limit, {after, 0}}};
}

static void events_follow_the_changes_in_order(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "1", "");
    open_post(BOB, post); /* no event, by default */
    delete_post(ANN, post);
    unfollow(BOB, ANN, true);
    const enum tidings_event_type expected[] = {
        TIDINGS_EVENT_FOLLOW_CREATED, TIDINGS_EVENT_POST_PUBLISHED, TIDINGS_EVENT_POST_DELETED,
        TIDINGS_EVENT_FOLLOW_CANCELED, TIDINGS_EVENT_INBOX_PURGED};
    uint64_t after = 0;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        must(events_op(after, 1));
        assert_int_equal(answer.u.events.n, 1);
        assert_int_equal(answer.u.events.rows[0].type, expected[i]);
        assert_true(answer.u.events.rows[0].event_id > after);
        assert_int_equal(answer.u.events.rows[0].event_id, answer.u.events.next.a);
        assert_int_equal(answer.u.events.rows[0].happened_at, START_MS);
        after = answer.u.events.next.a;
    }
    must(events_op(after, 1));
    assert_int_equal(answer.u.events.n, 0);
    assert_int_equal(answer.u.events.next.a, after);
    struct tidings_op op = events_op(0, 0);
    op.role = TIDINGS_ROLE_USER;
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);
}

static void events_are_kept_for_14_days(void **state)
{
    (void)state;
    const int64_t days_14 = INT64_C(14) * 24 * 60 * 60 * 1000;
    publish(ANN, "old", "");
    atomic_fetch_add(&clock_ms, 1);
    publish(ANN, "newer", "");
    atomic_store(&clock_ms, START_MS + days_14 - 1);
    must(events_op(0, 0));
    assert_int_equal(answer.u.events.n, 2);
    atomic_store(&clock_ms, START_MS + days_14);
    must(events_op(0, 0));
    assert_int_equal(answer.u.events.n, 1);
    publish(ANN, "newest", ""); /* sweeps */
    must(events_op(0, 0));
    assert_int_equal(answer.u.events.n, 2);
    assert_verifies();
}

static void there_is_always_a_place_to_ask_again(void **state)
{
    (void)state;
    must(events_op(0, 0));
    assert_int_equal(answer.u.events.n, 0);
    assert_int_equal(answer.u.events.next.a, 0); /* from the beginning again */
    publish(ANN, "p", "");
    must(events_op(0, 0));
    uint64_t at = answer.u.events.next.a;
    assert_int_equal(at, answer.u.events.rows[0].event_id);
    must(events_op(at, 0));
    assert_int_equal(answer.u.events.n, 0);
    assert_int_equal(answer.u.events.next.a, at);
}

static void reading_writes_events_if_asked_to(void **state)
{
    (void)state;
    close_engine();
    options.settings.read_events = 1;
    open_engine();
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", ""), p2 = publish(ANN, "2", "");
    const uint64_t both[] = {p1, p2};
    uint64_t after = events_end();
    mark(BOB, both, 2);
    unmark_one(BOB, p1);
    mark_up_to(BOB, ANN, as_of(BOB));
    must(events_op(after, 0));
    assert_int_equal(answer.u.events.n, 4);
    assert_int_equal(answer.u.events.rows[0].type, TIDINGS_EVENT_POST_READ);
    assert_int_equal(answer.u.events.rows[1].target_id, p2);
    assert_int_equal(answer.u.events.rows[2].type, TIDINGS_EVENT_POST_UNREAD);
    assert_int_equal(answer.u.events.rows[3].type, TIDINGS_EVENT_INBOX_READ);
    assert_int_equal(answer.u.events.rows[3].delta, 1);
}

/* ---- Once ----------------------------------------------------------------------------------- */

static bool render_post(const struct tidings_once *once, const struct tidings_answer *of,
                        struct tidings_text *bytes)
{
    char *to = once->ctx;
    int n = snprintf(to, 32, "post %" PRIu64, of->u.post.id);
    *bytes = (struct tidings_text){to, (size_t)n};
    return true;
}

static void a_key_makes_it_happen_once(void **state)
{
    (void)state;
    char first[64], buffer[32];
    struct tidings_once once = {
        .key = "key", .fingerprint = "this", .render = render_post, .ctx = buffer};
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .user_id = ANN,
                            .once = &once,
                            .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    must(op);
    snprintf(first, sizeof first, "%s", answer.stored.p);
    assert_memory_equal(first, "post ", 5);
    for (int round = 0; round < 2; round++) {
        must(op);
        assert_string_equal(answer.stored.p, first);
        once.fingerprint[0] = 'T';
        assert_int_equal(run(op), TIDINGS_KEY_REUSED);
        once.fingerprint[0] = 't';
        reopen_engine();
    }
    op.user_id = BOB; /* a key of his own */
    must(op);
    assert_string_not_equal(answer.stored.p, first);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts, 1);
    op.kind = TIDINGS_OP_BADGE;
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "once");
    assert_verifies();
}

static void what_fails_is_not_remembered(void **state)
{
    (void)state;
    char buffer[32];
    struct tidings_once once = {.key = "key", .render = render_post, .ctx = buffer};
    struct tidings_op op = {
        .kind = TIDINGS_OP_OPEN, .user_id = BOB, .once = &once, .u.post.post_id = 16};
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    op.u.post.post_id = publish(ANN, "t", "");
    must(op);
    assert_verifies();
}

static int64_t ticking_clock(void *ctx)
{
    (void)ctx;
    return atomic_fetch_add(&clock_ms, 1);
}

/* The moment at which a key is forgotten may pass between the change and its answer. */
static void a_key_is_whole_until_the_moment_it_is_forgotten(void **state)
{
    (void)state;
    const int64_t day = 24 * 60 * 60 * 1000;
    close_engine();
    options.clock = ticking_clock;
    open_engine();
    for (int64_t early = 6; early >= 0; early--) {
        char buffer[32];
        struct tidings_once once = {.key = {(uint8_t)early}, .render = render_post, .ctx = buffer};
        struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                                .user_id = ANN,
                                .once = &once,
                                .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
        int64_t at = atomic_load(&clock_ms);
        must(op);
        atomic_store(&clock_ms, at + day - early);
        must(op);
        assert_memory_equal(answer.stored.p, "post ", 5);
    }
}

/* ---- The directory -------------------------------------------------------------------------- */

static void a_missing_directory_is_made(void **state)
{
    (void)state;
    assert_int_not_equal(access(harness_dir(), F_OK), 0);
    open_engine();
    assert_int_equal(access(harness_dir(), F_OK), 0);
    assert_int_equal(badge(BOB), 0);
    assert_verifies();
}

static void a_missing_parent_is_an_error(void **state)
{
    (void)state;
    char path[512];
    const char *message = NULL;
    harness_path(path, "no/such/place");
    options.dir = path;
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_IO);
    assert_non_null(message);
    assert_null(engine);
}

static void a_file_in_place_of_the_directory_is_an_error(void **state)
{
    (void)state;
    const char *message = NULL;
    FILE *file = fopen(harness_dir(), "w");
    assert_non_null(file);
    fclose(file);
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_IO);
    assert_non_null(message);
    assert_null(engine);
}

static void a_directory_is_for_one_engine_at_a_time(void **state)
{
    (void)state;
    struct tidings *second = NULL;
    const char *message = NULL;
    open_engine();
    publish(ANN, "t", "");
    assert_int_equal(tidings_open(&options, &second, &message), TIDINGS_LOCKED);
    assert_non_null(message);
    assert_null(second);
    publish(ANN, "t", ""); /* the first one is none the worse for it */
    close_engine();
    open_engine();
}

static void what_is_no_data_file_is_made_anew(void **state)
{
    (void)state;
    char path[512];
    open_engine();
    follow(BOB, ANN);
    publish(ANN, "t", "");
    close_engine();
    harness_path(path, "data/data.mdb");
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    for (int i = 0; i < 8192; i++)
        fputc('x', file);
    fclose(file);
    open_engine();
    assert_int_equal(badge(BOB), 1);
    assert_verifies();
}

static void bad_options_are_named(void **state)
{
    (void)state;
    const char *message = NULL;
    options.settings.page_max = 0;
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_INVALID);
    assert_string_equal(message, "page_max");
    options.settings.page_max = 100;
    options.dir = NULL;
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_INVALID);
    assert_string_equal(message, "dir");
}

static void everything_is_there_after_a_restart(void **state)
{
    (void)state;
    open_engine();
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", "body"), p2 = publish(ANN, "2", "");
    uint64_t p3 = publish(ANN, "3", "");
    open_post(BOB, p2);
    delete_post(ANN, p3);
    for (int i = 0; i < 3; i++) {
        reopen_engine();
        ASSERT_INBOX(BOB, TIDINGS_ALL, p3, p2, p1);
        ASSERT_INBOX(BOB, TIDINGS_UNREAD, p1);
        ASSERT_HISTORY(BOB, p2);
        must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = CID, .u.post.post_id = p1});
        assert_string_equal(answer.u.post.body.p, "body");
        assert_verifies();
    }
}

/* ---- A full disk ---------------------------------------------------------------------------- */

static void a_full_file_refuses_writes_and_goes_on_reading(void **state)
{
    (void)state;
    static struct ids found;
    static char body[65536];
    options.settings.map_mb = 16;
    open_engine();
    follow(BOB, ANN);
    memset(body, 'x', sizeof body);
    struct tidings_op op = {
        .kind = TIDINGS_OP_PUBLISH,
        .user_id = ANN,
        .u.publish = {TIDINGS_NOTE, text_of("big"), {body, sizeof body}},
    };
    uint64_t published = 0, last = 0;
    while (!run(op)) {
        published++;
        last = answer.u.post.id;
        assert_true(published < 1000);
    }
    assert_int_equal(answer.err, TIDINGS_NO_SPACE);
    assert_true(published > 100);
    for (int i = 0; i < 3; i++)
        assert_int_equal(run(op), TIDINGS_NO_SPACE);

    for (int round = 0; round < 2; round++) {
        assert_int_equal(badge(BOB), published);
        assert_adds_up(BOB);
        list_author(BOB, ANN, TIDINGS_ALL, &found);
        assert_int_equal(found.n, published);
        assert_int_equal(found.at[0], last);
        must((struct tidings_op){
            .kind = TIDINGS_OP_COUNTERS, .user_id = BOB, .u.user.user_id = ANN});
        assert_int_equal(answer.u.counters.posts, published);
        must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = last});
        assert_int_equal(answer.u.post.body.n, sizeof body);
        assert_verifies();
        reopen_engine();
    }
    close_engine();
    options.settings.map_mb = 64; /* more room, and on it goes */
    open_engine();
    must(op);
    assert_true(answer.u.post.id > last);
    assert_int_equal(badge(BOB), published + 1);
    assert_verifies();
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static void count_done(struct tidings_call *call)
{
    atomic_fetch_add((_Atomic unsigned *)call->ctx, 1);
}

static void closing_completes_what_was_submitted(void **state)
{
    (void)state;
    enum { CALLS = 500 };
    static struct tidings_call calls[CALLS];
    _Atomic unsigned done = 0;
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .user_id = ANN,
                            .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    for (size_t i = 0; i < CALLS; i++) {
        calls[i] =
            (struct tidings_call){.op = &op, .answer = &answer, .done = count_done, .ctx = &done};
        tidings_submit(engine, &calls[i]);
    }
    close_engine();
    assert_int_equal(atomic_load(&done), CALLS);
    for (size_t i = 0; i < CALLS; i++)
        assert_int_equal(calls[i].err, TIDINGS_OK);
    open_engine();
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts, CALLS);
}

struct gate {
    sem_t reached, opened;
};

static void wait_at_gate(struct tidings_call *call)
{
    struct gate *gate = call->ctx;
    sem_post(&gate->reached);
    sem_wait(&gate->opened);
}

/* The writer is held up in a `done`, so that what comes meanwhile must wait. */
static void a_full_queue_is_busy_and_says_so_at_once(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = ANN};
    struct tidings_call held, calls[3];
    struct gate gate;
    _Atomic unsigned done = 0;
    close_engine();
    options.settings.queue_max = 2;
    open_engine();
    sem_init(&gate.reached, 0, 0);
    sem_init(&gate.opened, 0, 0);
    held = (struct tidings_call){.op = &op, .answer = &answer, .done = wait_at_gate, .ctx = &gate};
    tidings_submit(engine, &held);
    sem_wait(&gate.reached);
    for (size_t i = 0; i < 3; i++) {
        calls[i] =
            (struct tidings_call){.op = &op, .answer = &answer, .done = count_done, .ctx = &done};
        tidings_submit(engine, &calls[i]);
    }
    assert_int_equal(atomic_load(&done), 1); /* the third, refused at once */
    assert_int_equal(tidings_finish(engine, &calls[2]), TIDINGS_BUSY);
    assert_true(answer.retry_after_ms > 0);
    assert_int_equal(badge(BOB), 0); /* reading does not wait */
    sem_post(&gate.opened);
    close_engine();
    assert_int_equal(atomic_load(&done), 3);
    assert_int_equal(calls[0].err, TIDINGS_OK);
    assert_int_equal(calls[1].err, TIDINGS_OK);
    sem_destroy(&gate.reached);
    sem_destroy(&gate.opened);
}

static void a_bad_argument_is_named_and_costs_nothing(void **state)
{
    (void)state;
    assert_int_equal(run(follow_op(BOB, BOB)), TIDINGS_INVALID);
    assert_string_equal(answer.field, "user_id");
    assert_int_equal(run((struct tidings_op){.kind = (enum tidings_op_kind)999}), TIDINGS_INVALID);
    assert_string_equal(answer.field, "op");
    must((struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB});
    assert_null(answer.field);
    struct tidings_stats stats;
    tidings_stats(engine, &stats);
    assert_int_equal(stats.changes, 0);
}

static void one_reader_is_enough(void **state)
{
    (void)state;
    close_engine();
    options.settings.readers_max = 1;
    options.settings.batch_max = 1;
    open_engine();
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "t", "");
    open_post(BOB, post);
    open_post(BOB, post);
    assert_adds_up(BOB);
    assert_verifies();
}

static void words_exist_for_every_error_and_event(void **state)
{
    (void)state;
#define X(name, code, text)                                      \
    assert_string_equal(tidings_err_code(TIDINGS_##name), code); \
    assert_string_equal(tidings_err_text(TIDINGS_##name), text);
    TIDINGS_ERRORS(X)
#undef X
#define X(type, name, action, target)                                        \
    assert_string_equal(tidings_event_name(TIDINGS_EVENT_##type), name);     \
    assert_string_equal(tidings_event_action(TIDINGS_EVENT_##type), action); \
    assert_string_equal(tidings_event_target(TIDINGS_EVENT_##type), target);
    TIDINGS_EVENTS(X)
#undef X
    assert_non_null(tidings_err_code((enum tidings_err)999));
    assert_non_null(tidings_err_text((enum tidings_err) - 1));
    assert_null(tidings_event_name(TIDINGS_EVENT_NONE));
    assert_null(tidings_event_name((enum tidings_event_type)999));
    assert_null(tidings_event_action((enum tidings_event_type) - 1));
}

static void closing_nothing_is_fine(void **state)
{
    (void)state;
    tidings_close(NULL);
    tidings_answer_release(&answer);
    tidings_answer_release(&answer);
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
#define CLOSED(name) cmocka_unit_test_setup_teardown(name, harness_begin_closed, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(only_what_is_published_while_following_is_delivered),
        OPENED(a_purge_takes_items_out_and_leaves_reading_alone),
        OPENED(a_purge_may_be_asked_for_after_the_unfollow),
        OPENED(many_follow_intervals_are_kept_exactly),
        OPENED(an_author_followed_and_left_without_a_post_leaves_no_trace),
        OPENED(a_bulk_mark_swallows_nothing_newer),
        OPENED(a_token_from_the_future_is_refused),
        OPENED(marks_by_id_are_all_or_nothing),
        OPENED(a_deleted_item_is_unread_for_nobody_and_stays_in_the_inbox),
        OPENED(the_first_reading_gives_the_time),
        OPENED(reads_and_deletions_count_right_at_the_edges_of_64),
        OPENED(three_old_posts_are_found_among_20000_read_ones),
        OPENED(the_history_has_what_was_opened_or_marked_one_by_one),
        OPENED(deleting_from_the_history_turns_nothing_unread),
        OPENED(a_long_history_is_cleared_at_once_and_for_good),
        OPENED(a_repeat_changes_nothing),
        OPENED(the_following_limit_is_exact),
        OPENED(the_bucket_survives_a_restart),
        OPENED(thousands_of_followed_authors_are_all_there),
        OPENED(fans_among_users_are_found_from_either_side),
        OPENED(an_inbox_cursor_is_stable_while_the_world_moves),
        OPENED(an_unread_cursor_goes_on_behind_what_was_read),
        OPENED(follow_lists_neither_skip_nor_repeat),
        OPENED(posts_are_edited_by_their_author_and_deleted_by_admins_too),
        OPENED(names_are_shown_wherever_users_are),
        OPENED(ids_go_on_rising_after_a_restart_with_the_clock_set_back),
        OPENED(used_up_ids_refuse_and_never_begin_again),
        OPENED(events_follow_the_changes_in_order),
        OPENED(events_are_kept_for_14_days),
        OPENED(there_is_always_a_place_to_ask_again),
        OPENED(reading_writes_events_if_asked_to),
        OPENED(a_key_makes_it_happen_once),
        OPENED(what_fails_is_not_remembered),
        OPENED(a_key_is_whole_until_the_moment_it_is_forgotten),
        CLOSED(a_missing_directory_is_made),
        CLOSED(a_missing_parent_is_an_error),
        CLOSED(a_file_in_place_of_the_directory_is_an_error),
        CLOSED(a_directory_is_for_one_engine_at_a_time),
        CLOSED(what_is_no_data_file_is_made_anew),
        CLOSED(bad_options_are_named),
        CLOSED(everything_is_there_after_a_restart),
        CLOSED(a_full_file_refuses_writes_and_goes_on_reading),
        OPENED(closing_completes_what_was_submitted),
        OPENED(a_full_queue_is_busy_and_says_so_at_once),
        OPENED(a_bad_argument_is_named_and_costs_nothing),
        OPENED(one_reader_is_enough),
        CLOSED(words_exist_for_every_error_and_event),
        CLOSED(closing_nothing_is_fine),
    };
#undef OPENED
#undef CLOSED
    return RUN_TESTS(tests);
}
