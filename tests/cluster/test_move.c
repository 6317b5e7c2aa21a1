/* SPDX-License-Identifier: MIT */
/* What a move to a cluster takes along besides rows, and what it does with a history that was cleared between two rounds. */
#include <stdlib.h>

#include "contract/clocks.h"
#include "support/engine.h"

static const char *message;
static struct tidings *shadow, *cluster;

static int begin(void **state)
{
    setenv("TIDINGS_TEST_ENGINE", "local", 1);
    return clocks_begin(state);
}

static struct tidings *open_in_cluster(bool importing)
{
    static char path[512];
    struct tidings *opened;
    harness_path(path, "moved");
    options.dir = path;
    options.importing = importing;
    setenv("TIDINGS_TEST_ENGINE", "cluster", 1);
    assert_int_equal(engine_open(&options, &opened, &message), TIDINGS_OK);
    return opened;
}

static void do_round(void)
{
    static char path[512];
    struct tidings_options of = options;
    struct tidings_move move = {0};
    harness_path(path, "shadow");
    of.shadow = path;
    if (!shadow) {
        assert_int_equal(tidings_open(&of, &shadow, &message), TIDINGS_OK);
        cluster = open_in_cluster(true);
    }
    assert_int_equal(tidings_move(shadow, cluster, &move, &message), TIDINGS_OK);
}

/* The engine is in the cluster from now on. */
static void move_over(void)
{
    close_engine();
    assert_int_equal(tidings_shadow_lock(shadow), TIDINGS_OK);
    do_round();
    assert_int_equal(tidings_move_end(shadow, cluster, &message), TIDINGS_OK);
    tidings_close(shadow);
    tidings_close(cluster);
    shadow = cluster = NULL;
    engine = open_in_cluster(false);
}

/* The clock of the machine was set ahead some time, so it says more than has elapsed: a bucket is not full for that. */
static void limits_go_on_by_the_time_that_has_elapsed(void **state)
{
    (void)state;
    drain();
    jump(HOUR_MS);
    assert_int_equal(try_follow(), TIDINGS_RATE_LIMITED);
    do_round();
    move_over();
    assert_int_equal(try_follow(), TIDINGS_RATE_LIMITED);
    assert_refills();
}

static size_t history_of(uint64_t reader)
{
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY, .user_id = reader});
    return answer.u.history.n;
}

/* Clearing changes no read map: it is told by the user's row alone, and what was carried before must be removed in time. */
static void a_history_that_was_cleared_is_gone(void **state)
{
    (void)state;
    open_post(BOB, publish(ANN, "first", ""));
    publish(ANN, "so that it is durable", "");
    do_round();
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = BOB});
    move_over();
    assert_int_equal(history_of(BOB), 0);
    struct tidings_verify verify = {.report = stderr};
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    assert_int_equal(verify.differences, 0);
}

/* The newest thing that a token covers is covered there, too, and what came behind it is not. */
static void a_moment_covers_what_it_covered(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "seen", "");
    struct tidings_moment seen = as_of(BOB);
    publish(ANN, "not seen", "");
    do_round();
    move_over();
    assert_int_equal(mark_up_to(BOB, 0, seen), 1);
    assert_int_equal(badge(BOB), 1);
}

/* Somebody else's rows are not overwritten, and nobody else's move goes on. */
static void what_is_there_already_is_left_alone(void **state)
{
    (void)state;
    struct tidings_move move = {0};
    publish(ANN, "a post", "");
    do_round();
    move_over();
    close_engine();
    setenv("TIDINGS_TEST_ENGINE", "local", 1);
    options.dir = harness_dir();
    options.importing = false;
    open_engine();
    publish(ANN, "another", "");
    char path[512];
    struct tidings_options of = options;
    harness_path(path, "shadow");
    of.shadow = path;
    assert_int_equal(tidings_open(&of, &shadow, &message), TIDINGS_OK);
    cluster = open_in_cluster(true);
    assert_int_equal(tidings_move(shadow, cluster, &move, &message), TIDINGS_INVALID);
    tidings_close(shadow);
    tidings_close(cluster);
    shadow = cluster = NULL;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(limits_go_on_by_the_time_that_has_elapsed),
        TEST(a_history_that_was_cleared_is_gone),
        TEST(a_moment_covers_what_it_covered),
        TEST(what_is_there_already_is_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
