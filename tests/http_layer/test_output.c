/* SPDX-License-Identifier: MIT */
/* Who is cut when clients do not take what waits for them: the rules alone, without sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "http/internal.h"

enum { KB = 1000, CONNS = 8, TIMEOUT_MS = 10000 };

static struct {
    struct http_config config;
    _Atomic uint64_t unsent;
    struct http_loop loop;
    struct http_conn conns[CONNS];
    size_t n;
} world;

static int set_up(void **state)
{
    (void)state;
    memset(&world, 0, sizeof world);
#define X(name, standard, least, text) world.config.name = standard;
    HTTP_SETTINGS(X)
#undef X
    world.config.unsent_max = 1000 * KB;
    world.config.write_timeout_ms = TIMEOUT_MS;
    world.config.write_rate_min = 1000;
    loop_init(&world.loop, &world.config, 0, 1, &world.unsent, NULL);
    loop_set_time(&world.loop, 1000000, 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    while (world.n)
        conn_release(&world.conns[--world.n]);
    assert_int_equal(world.unsent, 0);
    assert_int_equal(world.loop.counters.unsent, 0);
    loop_release(&world.loop);
    return 0;
}

/* A connection whose client has not taken so many bytes for so long. */
static struct http_conn *add(size_t bytes, uint64_t waited_ms)
{
    static const struct http_peer peer;
    struct http_conn *conn = &world.conns[world.n++];
    conn_init(conn, &world.loop, &peer);
    assert_non_null(buf_reserve(&conn->out, bytes));
    memset(conn->out.data, 0, bytes);
    conn->out.len = bytes;
    conn_recharge(conn);
    conn_begins_sending(conn);
    conn->since_ms -= waited_ms;
    return conn;
}

static void pass(uint64_t ms)
{
    loop_set_time(&world.loop, world.loop.now_ms + ms, 0);
}

static uint64_t cuts(enum http_cut why)
{
    return world.loop.counters.cut[why];
}

/* ---- All together -------------------------------------------------------------------------- */

static void the_most_bytes_for_the_longest_time_go_first(void **state)
{
    (void)state;
    struct http_conn *young = add(300 * KB, 50), *old = add(200 * KB, 5000);
    struct http_conn *fat_and_old = add(300 * KB, 5000), *fat = add(400 * KB, 0);
    struct http_conn *small = add(1 * KB, 9000);
    assert_int_equal(world.unsent, 1201 * KB);
    loop_shed(&world.loop);
    assert_true(fat_and_old->dead && fat_and_old->reset && old->dead);
    assert_false(young->dead || fat->dead || small->dead);
    assert_int_equal(cuts(HTTP_CUT_BUDGET), 2);
    assert_int_equal(world.unsent, 701 * KB);
}

static void nobody_goes_below_the_limit(void **state)
{
    (void)state;
    add(500 * KB, 9000);
    add(500 * KB, 9000);
    loop_shed(&world.loop);
    assert_int_equal(cuts(HTTP_CUT_BUDGET), 0);
}

static void of_equals_no_more_go_than_needed(void **state)
{
    (void)state;
    for (int i = 0; i < CONNS; i++)
        add(130 * KB, 2000);
    loop_shed(&world.loop); /* 1040 KB; comfortable is 875 */
    assert_int_equal(cuts(HTTP_CUT_BUDGET), 2);
}

static void other_loops_cut_their_part(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++)
        add(100 * KB, 2000);
    world.unsent += 1500 * KB; /* another loop's */
    loop_shed(&world.loop);    /* a quarter of the 1125 KB that are too much */
    world.unsent -= 1500 * KB;
    assert_int_equal(cuts(HTTP_CUT_BUDGET), 3);
}

static void room_is_made_by_cutting_the_slow_and_only_them(void **state)
{
    (void)state;
    struct http_conn *slow = add(600 * KB, 1500), *quick = add(300 * KB, 500);
    assert_true(loop_make_room(&world.loop, 100 * KB));
    assert_false(slow->dead);
    assert_true(loop_make_room(&world.loop, 101 * KB));
    assert_true(slow->dead);
    assert_false(quick->dead);
    assert_false(loop_make_room(&world.loop, 800 * KB));
    assert_false(quick->dead);
    /* By now it has been slow, too; but who found nobody does not look again at once. */
    pass(BARREN_MS - 1);
    quick->since_ms -= 1000;
    assert_false(loop_make_room(&world.loop, 800 * KB));
    pass(1);
    assert_true(loop_make_room(&world.loop, 800 * KB));
    assert_true(quick->dead);
    assert_false(loop_make_room(&world.loop, 1001 * KB));
}

/* ---- One ----------------------------------------------------------------------------------- */

/* As the transport does: the kernel takes everything that waits. */
static void give(struct http_conn *conn)
{
    conn_gave(conn, conn_pending(conn));
    buf_release(&conn->out);
}

static void who_takes_too_little_is_cut_although_it_takes_some(void **state)
{
    (void)state;
    struct http_conn *conn = add(60 * KB, 0);
    give(conn);
    conn_measured(conn, 60 * KB); /* the first look */
    for (int i = 1; i < 40; i++) {
        pass(250);
        conn_measured(conn, 60 * KB - (size_t)i * 240);
        assert_false(conn->dead);
    }
    pass(250);
    conn_measured(conn, 50 * KB + 1);
    assert_true(conn->dead && conn->reset);
    assert_int_equal(cuts(HTTP_CUT_WRITE), 1);
}

static void who_takes_enough_is_not_cut(void **state)
{
    (void)state;
    struct http_conn *conn = add(60 * KB, 0);
    give(conn);
    conn_measured(conn, 60 * KB);
    for (size_t left = 50 * KB; left; left -= 10 * KB) {
        pass(TIMEOUT_MS);
        conn_measured(conn, left);
        assert_false(conn->dead);
    }
}

static void what_the_kernel_of_the_client_takes_at_once_does_not_count(void **state)
{
    (void)state;
    struct http_conn *conn = add(60 * KB, 0);
    give(conn);
    pass(250);
    conn_measured(conn, 20 * KB);
    pass(TIMEOUT_MS);
    conn_measured(conn, 19 * KB);
    assert_true(conn->dead);
}

/* A stream of small events: something is always on its way, and never for long. */
static void who_keeps_up_is_not_cut_however_little_there_is(void **state)
{
    (void)state;
    struct http_conn *conn = add(10, 0);
    give(conn);
    for (int i = 0; i < 200; i++) {
        conn_measured(conn, 10);
        buf_literal(&conn->out, "0123456789");
        give(conn);
        pass(250);
    }
    assert_false(conn->dead);
    pass(TIMEOUT_MS);
    conn_measured(conn, 20);
    conn_measured(conn, 20);
    assert_true(conn->dead);
}

static void without_a_rate_any_progress_will_do(void **state)
{
    (void)state;
    world.config.write_rate_min = 0;
    struct http_conn *conn = add(60 * KB, 0);
    give(conn);
    conn_measured(conn, 60 * KB);
    pass(TIMEOUT_MS);
    conn_measured(conn, 60 * KB - 1);
    assert_false(conn->dead);
    pass(TIMEOUT_MS);
    conn_measured(conn, 60 * KB - 1);
    assert_true(conn->dead);
}

/* What was given since the last look may still be there, but no more than fits. */
static void the_kernel_is_charged_with_what_it_can_hold(void **state)
{
    (void)state;
    struct http_conn *conn = add(1, 0);
    buf_release(&conn->out);
    for (int i = 0; i < 100; i++) {
        conn_gave(conn, 10 * KB);
        conn_recharge(conn);
        assert_true(world.unsent <= 2 * world.config.send_buffer);
    }
    assert_true(world.unsent >= world.config.send_buffer);
    conn_measured(conn, 5);
    assert_int_equal(world.unsent, 5);
    conn_measured(conn, 3 * world.config.send_buffer);
    conn_gave(conn, 1);
    conn_recharge(conn);
    assert_int_equal(world.unsent, 3 * world.config.send_buffer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_most_bytes_for_the_longest_time_go_first),
        TEST(nobody_goes_below_the_limit),
        TEST(of_equals_no_more_go_than_needed),
        TEST(other_loops_cut_their_part),
        TEST(room_is_made_by_cutting_the_slow_and_only_them),
        TEST(who_takes_too_little_is_cut_although_it_takes_some),
        TEST(who_takes_enough_is_not_cut),
        TEST(what_the_kernel_of_the_client_takes_at_once_does_not_count),
        TEST(who_keeps_up_is_not_cut_however_little_there_is),
        TEST(without_a_rate_any_progress_will_do),
        TEST(the_kernel_is_charged_with_what_it_can_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
