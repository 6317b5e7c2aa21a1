/* SPDX-License-Identifier: MIT */
/* Connections that are lost, at every moment at which it matters: what was asked for happens exactly once. */
#include <stdatomic.h>

#include "cluster/failing.h"
#include "cluster/relay.h"

static uint64_t deadline_ms = 2000;

static int begin(void **state)
{
    failing_begin(state);
    engine_start_anew(failing_url(NULL, relay_start(server_url().socket)));
    return 0;
}

static int end(void **state)
{
    int rc = failing_end(state);
    relay_stop();
    return rc;
}

static const char count_posts[] = "SELECT COUNT(*) FROM post";

/* ---- Before the commit ---------------------------------------------------------------------- */

/* And it is gone when this returns. */
static void kill_who_waits(struct sql *sql)
{
    static const char who[] = "SELECT ID FROM information_schema.PROCESSLIST WHERE DB = DATABASE() "
                              "AND INFO LIKE 'INSERT INTO user%'";
    char text[128];
    uint64_t id = asked(sql, who);
    snprintf(text, sizeof text, "KILL %" PRIu64, id);
    assert_run(sql, text);
    snprintf(text, sizeof text,
             "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = %" PRIu64, id);
    await(sql, text, 0);
}

static void a_connection_that_is_killed_before_the_commit_is_replaced(void **state)
{
    (void)state;
    struct sql *other = foreign();
    struct asked post;
    must(publish_op(ANN));
    assert_run(other, "BEGIN; SELECT user_id FROM user WHERE user_id = 2 FOR UPDATE");
    ask(&post, publish_op(ANN));
    await_lock_waits(other, 1);
    kill_who_waits(other);
    assert_run(other, "COMMIT");
    assert_int_equal(heard(&post), TIDINGS_OK);
    assert_int_equal(asked(other, count_posts), 2);
    assert_int_equal(posts_of(ANN), 2);
    sql_close(other);
}

/* ---- During it ------------------------------------------------------------------------------ */

static struct {
    struct tidings_watcher watcher;
    _Atomic unsigned posts, gaps;
} told;

static void tell(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n)
{
    (void)watcher;
    atomic_fetch_add(&told.gaps, !n);
    for (size_t i = 0; i < n; i++)
        atomic_fetch_add(&told.posts, events[i].type == TIDINGS_EVENT_POST_PUBLISHED);
}

static void a_commit_whose_answer_is_lost_is_found(void **state)
{
    (void)state;
    struct sql *other = foreign();
    struct asked post;
    told.watcher.tell = tell;
    tidings_watch(engines[0], &told.watcher);
    relay_on_commit(RELAY_KEEP_ANSWER);
    ask(&post, publish_op(ANN));
    await(other, count_posts, 1);
    relay_cut();
    assert_int_equal(heard(&post), TIDINGS_OK);
    tidings_unwatch(engines[0], &told.watcher);
    assert_int_equal(asked(other, count_posts), 1);
    assert_int_equal(posts_of(ANN), 1);
    /* At which place it happened is not known: those who watch hear that there is something to look for. */
    assert_int_equal(atomic_load(&told.gaps), 1);
    assert_int_equal(atomic_load(&told.posts), 0);
    sql_close(other);
}

static void a_commit_that_was_lost_is_done_again(void **state)
{
    (void)state;
    struct sql *other = foreign();
    relay_on_commit(RELAY_DROP);
    must(publish_op(ANN));
    relay_await_commit();
    assert_int_equal(asked(other, count_posts), 1);
    assert_int_equal(posts_of(ANN), 1);
    sql_close(other);
}

/* It is looked for and not found, and done again; while that waits for the locks of the first, the first arrives. */
static void a_commit_that_comes_late_does_not_happen_besides(void **state)
{
    (void)state;
    struct sql *other = foreign();
    struct asked post;
    must(publish_op(ANN));
    relay_on_commit(RELAY_DELAY);
    ask(&post, publish_op(ANN));
    relay_await_commit();
    await_lock_waits(other, 1);
    relay_deliver();
    assert_int_equal(heard(&post), TIDINGS_OK);
    assert_int_equal(asked(other, count_posts), 2);
    assert_int_equal(posts_of(ANN), 2);
    sql_close(other);
}

/* That it was ruled out must not be taken for the batch itself, whose number is one less. */
static void a_batch_that_was_ruled_out_is_not_taken_for_done(void **state)
{
    (void)state;
    struct sql *other = foreign();
    struct asked post;
    must(publish_op(ANN));
    uint64_t batch = asked(other, "SELECT batch FROM lane WHERE slot = 0 AND lane = 0");
    relay_on_commit(RELAY_DROP);
    relay_on_rule_out(RELAY_KEEP_ANSWER);
    ask(&post, publish_op(ANN));
    await(other, "SELECT batch FROM lane WHERE slot = 0 AND lane = 0", batch + 2);
    relay_cut();
    assert_int_equal(heard(&post), TIDINGS_OK);
    assert_int_equal(asked(other, count_posts), 2);
    assert_int_equal(posts_of(ANN), 2);
    sql_close(other);
}

/* ---- When nobody can be asked --------------------------------------------------------------- */

static bool render_post(const struct tidings_once *once, const struct tidings_answer *of,
                        struct tidings_text *bytes)
{
    char *to = once->ctx;
    int n = snprintf(to, 32, "post %" PRIu64, of->u.post.id);
    *bytes = (struct tidings_text){to, (size_t)n};
    return true;
}

/* Asked again with the same key, it happens once, whether it had happened or not. */
static void run_uncertain(enum relay_way way)
{
    char buffer[32];
    struct tidings_once once = {.key = "key", .render = render_post, .ctx = buffer};
    struct tidings_op op = publish_op(ANN);
    struct sql *other = foreign();
    struct asked post;
    int64_t begun_ms = now_ms();
    op.once = &once;
    relay_refuse(true);
    relay_on_commit(way);
    ask(&post, op);
    relay_await_commit();
    if (way == RELAY_KEEP_ANSWER) {
        await(other, count_posts, 1);
        relay_cut();
    }
    assert_int_equal(heard(&post), TIDINGS_UNCERTAIN);
    assert_in_range(now_ms() - begun_ms, 0, 3 * (int64_t)deadline_ms);
    relay_refuse(false);
    must(op);
    assert_memory_equal(answer.stored.p, "post ", 5);
    assert_int_equal(asked(other, count_posts), 1);
    assert_int_equal(posts_of(ANN), 1);
    sql_close(other);
}

static void a_commit_that_cannot_be_looked_up_is_uncertain(void **state)
{
    (void)state;
    run_uncertain(RELAY_KEEP_ANSWER);
}

static void and_so_is_one_that_did_not_happen(void **state)
{
    (void)state;
    run_uncertain(RELAY_DROP);
}

/* The server neither answers nor hangs up. */
static void a_commit_that_is_never_answered_is_looked_up(void **state)
{
    (void)state;
    struct sql *other = foreign();
    relay_on_commit(RELAY_KEEP_ANSWER);
    must(publish_op(ANN));
    assert_int_equal(asked(other, count_posts), 1);
    relay_cut();
    sql_close(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
#define SOON(name) cmocka_unit_test_prestate_setup_teardown(name, begin, end, &deadline_ms)
    const struct CMUnitTest tests[] = {
        TEST(a_connection_that_is_killed_before_the_commit_is_replaced),
        TEST(a_commit_whose_answer_is_lost_is_found),
        TEST(a_commit_that_was_lost_is_done_again),
        TEST(a_commit_that_comes_late_does_not_happen_besides),
        TEST(a_batch_that_was_ruled_out_is_not_taken_for_done),
        SOON(a_commit_that_cannot_be_looked_up_is_uncertain),
        SOON(and_so_is_one_that_did_not_happen),
        SOON(a_commit_that_is_never_answered_is_looked_up),
    };
#undef SOON
#undef TEST
    return RUN_TESTS(tests);
}
