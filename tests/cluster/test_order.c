/* SPDX-License-Identifier: MIT */
/*
 * Two servers on one database, and the moments at which one of them is slow, asleep or behind: nothing is swallowed, delivered twice
 * or not at all. Each test provokes what one rule of locks and order prevents.
 */
#include <stdatomic.h>

#include "cluster/failing.h"
#include "domain/ids.h"

enum { NOBODY = 500, ROUNDS = 20, EVE = 5 /* on another lane than the others */ };

static int begin(void **state)
{
    failing_begin(state);
    engine_start(1);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, failing_end)

static enum tidings_err run_on(unsigned server, struct tidings_op op)
{
    return tidings_run(engines[server], &op, &answer);
}

static void must_on(unsigned server, struct tidings_op op)
{
    enum tidings_err err = run_on(server, op);
    if (err)
        fail_msg("operation %d: %s", (int)op.kind, tidings_err_code(err));
}

static void ask_on(unsigned server, struct asked *asked, struct tidings_op op)
{
    struct tidings *first = engines[0];
    engines[0] = engines[server];
    ask(asked, op);
    engines[0] = first;
}

static uint64_t badge_on(unsigned server, uint64_t user)
{
    must_on(server, badge_op(user));
    return answer.u.badge.total;
}

static struct tidings_op mark_all(uint64_t user)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_MARK_READ, .user_id = user, .u.mark.up_to = answer.u.badge.as_of};
}

/* ---- Rows that are not there yet ------------------------------------------------------------ */

/* A row that does not exist cannot be locked: both must not believe that they are the first. */
static void two_servers_meet_a_new_user(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t user = 10000 + 2 * i;
        struct asked here, there;
        ask_on(0, &here, follow_op(user, ANN));
        ask_on(1, &there, follow_op(user, BOB));
        assert_int_equal(heard(&here), TIDINGS_OK);
        assert_int_equal(heard(&there), TIDINGS_OK);
        must((struct tidings_op){
            .kind = TIDINGS_OP_COUNTERS, .user_id = user, .u.user.user_id = user});
        assert_int_equal(answer.u.counters.following, 2);
    }
}

/* The first post is delivered to whoever followed before it, and to nobody who followed after it. */
static void a_follow_meets_the_first_post_of_its_author(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < ROUNDS; i++) {
        uint64_t author = 20000 + 2 * i, fan = 30000 + 2 * i;
        struct asked follow, post;
        ask_on(i % 2, &follow, follow_op(fan, author));
        ask_on(1 - i % 2, &post, publish_op(author));
        assert_int_equal(heard(&follow), TIDINGS_OK);
        assert_int_equal(heard(&post), TIDINGS_OK);
        uint64_t delivered = badge_on(0, fan);
        assert_in_range(delivered, 0, 1);
        must_on(1, publish_op(author));
        assert_int_equal(badge_on(0, fan), delivered + 1);
        assert_int_equal(badge_on(1, fan), delivered + 1);
    }
}

/* The author has no row yet. The follow is held up when it has read what the author's next post will be, and the first post has to
 * wait for it. */
static void a_follow_of_somebody_who_never_published_holds_up_the_first_post(void **state)
{
    (void)state;
    struct sql *other = foreign();
    struct asked follow, post;
    assert_run(other, "BEGIN; INSERT INTO following VALUES (4, 500, 0, 0, '')");
    ask_on(0, &follow, follow_op(BOB, NOBODY));
    await_lock_waits(other, 1);
    ask_on(1, &post, publish_op(NOBODY));
    await_lock_waits(other, 2);
    assert_run(other, "ROLLBACK");
    assert_int_equal(heard(&follow), TIDINGS_OK);
    assert_int_equal(heard(&post), TIDINGS_OK);
    assert_int_equal(badge_on(0, BOB), 1);
    sql_close(other);
}

/* ---- A transaction that is slow ------------------------------------------------------------- */

/*
 * The first server's post has its id, and is held up before its commit; the second one's, with a greater id, is held up behind it.
 * The fan marks all read in between. What becomes visible later must be unread.
 */
static void a_mark_of_all_swallows_nothing_that_comes_later(void **state)
{
    (void)state;
    struct sql *other = foreign();
    struct asked slow, late;
    must(follow_op(EVE, ANN));
    must(follow_op(EVE, CID));
    must(publish_op(ANN));
    must_on(1, publish_op(CID));
    assert_run(other, "BEGIN; SELECT position FROM news_position FOR UPDATE");
    ask_on(0, &slow, publish_op(ANN));
    await_lock_waits(other, 1);
    ask_on(1, &late, publish_op(CID));
    await_lock_waits(other, 2);
    assert_int_equal(badge_on(1, EVE), 2);
    struct tidings_op mark = mark_all(EVE);
    must_on(1, mark); /* writes no event, so it waits for nobody */
    assert_int_equal(answer.u.mark.marked, 2);
    assert_run(other, "COMMIT");
    assert_int_equal(heard(&slow), TIDINGS_OK);
    assert_int_equal(heard(&late), TIDINGS_OK);
    assert_int_equal(badge_on(0, EVE), 2);
    must_on(0, mark); /* up to the same moment: these came later */
    assert_int_equal(answer.u.mark.marked, 0);
    assert_int_equal(badge_on(1, EVE), 2);
    sql_close(other);
}

/* ---- A clock that is behind ----------------------------------------------------------------- */

enum { BEHIND_MS = 800 }; /* less than what a server is stopped for */

static int64_t clock_behind(void *ctx)
{
    struct timespec now;
    (void)ctx;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - BEHIND_MS;
}

static int begin_behind(void **state)
{
    failing_begin(state);
    options.clock = clock_behind;
    engine_start(1);
    options.clock = NULL;
    return 0;
}

/* Its posts have smaller ids than those that the fan has seen, and marked, already. */
static void a_post_with_a_smaller_id_is_not_taken_for_an_old_one(void **state)
{
    (void)state;
    must(follow_op(BOB, ANN));
    must(follow_op(BOB, CID));
    for (int i = 0; i < 10; i++) {
        must_on(0, publish_op(ANN));
        uint64_t seen = answer.u.post.id;
        assert_int_equal(badge_on(0, BOB), 1);
        struct tidings_op mark = mark_all(BOB);
        must_on(1, publish_op(CID));
        assert_true(answer.u.post.id < seen);
        must_on(0, mark);
        assert_int_equal(answer.u.mark.marked, 1);
        assert_int_equal(badge_on(0, BOB), 1);
        must_on(1, mark_all(BOB));
        assert_int_equal(badge_on(1, BOB), 0);
    }
}

/* ---- A server that slept -------------------------------------------------------------------- */

/* As another one does when this one was silent for too long. */
static const char take_slot[] = "UPDATE server SET fence = fence + 1 WHERE slot = 0;"
                                "UPDATE lane SET fence = fence + 1, batch = 0 WHERE slot = 0";

static unsigned slot_of(uint64_t id)
{
    return (unsigned)(id % ID_STEP);
}

static void a_server_whose_slot_was_taken_takes_another(void **state)
{
    (void)state;
    struct sql *other = foreign();
    must(publish_op(ANN));
    assert_int_equal(slot_of(answer.u.post.id), 0);
    assert_run(other, take_slot);
    must(publish_op(ANN));
    assert_int_not_equal(slot_of(answer.u.post.id), 0);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM post"), 2);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM outbox_event WHERE slot = 0"), 1);
    assert_int_equal(asked(other, "SELECT batch FROM lane WHERE slot = 0 AND lane = 0"), 0);
    must_on(1, publish_op(ANN));
    assert_int_equal(posts_of(ANN), 3);
    sql_close(other);
}

static struct {
    struct tidings_watcher watcher;
    _Atomic unsigned gaps;
    _Atomic uint64_t posts;
} told;

static void tell(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n)
{
    (void)watcher;
    atomic_fetch_add(&told.gaps, !n);
    for (size_t i = 0; i < n; i++)
        atomic_fetch_add(&told.posts, events[i].type == TIDINGS_EVENT_POST_PUBLISHED);
}

static void await_told(_Atomic unsigned *count)
{
    for (int i = 0; i < PATIENCE_MS && !atomic_load(count); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    assert_true(atomic_load(count));
}

/* Whose events those in between were is not known: those who watch look for themselves. */
static void who_watches_a_server_whose_slot_was_taken_hears_of_a_gap(void **state)
{
    (void)state;
    struct sql *other = foreign();
    told.watcher.tell = tell;
    tidings_watch(engines[0], &told.watcher);
    await_told(
        &told.gaps); /* once, some seconds after the start, since the others did not know of it before */
    atomic_store(&told.gaps, 0);
    assert_run(other, take_slot);
    must(publish_op(ANN));
    await_told(&told.gaps);
    assert_int_equal(atomic_load(&told.posts), 1);
    tidings_unwatch(engines[0], &told.watcher);
    sql_close(other);
}

/* It went to sleep with a transaction open, and wakes up when the slot is another's: nothing of that is written. */
static void what_was_begun_before_the_slot_was_taken_is_done_in_another(void **state)
{
    (void)state;
    struct sql *other = foreign(), *sleeper = foreign();
    struct asked post;
    must(publish_op(ANN));
    assert_run(sleeper, "BEGIN; SELECT user_id FROM user WHERE user_id = 2 FOR UPDATE");
    ask(&post, publish_op(ANN));
    await_lock_waits(other, 1);
    assert_run(other, take_slot);
    assert_run(sleeper, "COMMIT");
    assert_int_equal(heard(&post), TIDINGS_OK);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM post"), 2);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM outbox_event WHERE slot = 0"), 1);
    assert_int_equal(asked(other, "SELECT batch FROM lane WHERE slot = 0 AND lane = 0"), 0);
    assert_int_equal(posts_of(ANN), 2);
    sql_close(sleeper);
    sql_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_servers_meet_a_new_user),
        TEST(a_follow_meets_the_first_post_of_its_author),
        TEST(a_follow_of_somebody_who_never_published_holds_up_the_first_post),
        TEST(a_mark_of_all_swallows_nothing_that_comes_later),
        cmocka_unit_test_setup_teardown(a_post_with_a_smaller_id_is_not_taken_for_an_old_one,
                                        begin_behind, failing_end),
        TEST(a_server_whose_slot_was_taken_takes_another),
        TEST(who_watches_a_server_whose_slot_was_taken_hears_of_a_gap),
        TEST(what_was_begun_before_the_slot_was_taken_is_done_in_another),
    };
    return RUN_TESTS(tests);
}
