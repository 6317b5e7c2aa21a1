/* SPDX-License-Identifier: MIT */
/* The clock is set back and ahead, while the engine runs and while it does not; time goes on all the same. */
#include "contract/clocks.h"

/* Limits stood still for as long as the clock was set back. */
static void limits_refill_when_the_clock_is_set_back(void **state)
{
    (void)state;
    drain();
    jump(-30 * SECOND_MS);
    assert_refills();
    jump(-YEAR_MS);
    assert_refills();
    jump(20 * HOUR_MS);
    drain();
    assert_refills();
}

/* After a start with a clock a year ahead, and its correction, no bucket was ever refilled again. */
static void limits_refill_after_a_year_ahead_and_back(void **state)
{
    (void)state;
    drain();
    stop_and_start(YEAR_MS);
    assert_refills();
    jump(-YEAR_MS);
    assert_refills();
    stop_and_start(0);
    assert_refills();
    stop_and_start(-HOUR_MS);
    assert_refills();
}

static void time_passes_while_nobody_is_here(void **state)
{
    (void)state;
    drain();
    close_engine();
    pass(SECOND_MS);
    jump(-HOUR_MS);
    open_engine();
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(try_follow(), TIDINGS_RATE_LIMITED);
}

/* ---- Order, and writing ------------------------------------------------------------------------ */

static void order_does_not_depend_on_the_clock(void **state)
{
    (void)state;
    static const int64_t jumps[] = {-30 * SECOND_MS, 20 * HOUR_MS, -YEAR_MS, 0, HOUR_MS};
    uint64_t last = publish(ANN, "first", "");
    for (size_t i = 0; i < COUNT_OF(jumps); i++) {
        jump(jumps[i]);
        uint64_t id = publish(ANN, "next", "");
        assert_true(id > last);
        last = id;
        stop_and_start(jumps[i]);
    }
    assert_verifies();
}

static void a_clock_far_ahead_stops_writing(void **state)
{
    (void)state;
    struct tidings_stats stats;
    uint64_t post = publish(ANN, "before", "");
    int64_t before_ms = atomic_load(&clock_ms);
    jump(30 * DAY_MS);
    for (int i = 0; i < 3; i++)
        assert_int_equal(try_follow(), TIDINGS_CLOCK);
    assert_int_equal(told_of.times, 1);
    assert_int_equal(told_of.by_ms, 30 * DAY_MS);
    assert_true(told_of.stopped);
    tidings_stats(engine, &stats);
    assert_true(stats.clock_stopped);
    assert_int_equal(stats.clock_jumps, 1);
    assert_int_equal(stats.clock_jump_ms, 30 * DAY_MS);
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = post});

    jump(-30 * DAY_MS);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(told_of.times, 2);
    assert_false(told_of.stopped);
    must((struct tidings_op){
        .kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = publish(ANN, "after", "")});
    assert_int_equal(answer.u.post.created_at, before_ms);
    tidings_stats(engine, &stats);
    assert_false(stats.clock_stopped);
    assert_int_equal(stats.clock_jumps, 2);
}

static void a_start_takes_the_clock_as_it_is(void **state)
{
    (void)state;
    publish(ANN, "before", "");
    jump(30 * DAY_MS);
    assert_int_equal(try_follow(), TIDINGS_CLOCK);
    told_of.times = 0;
    stop_and_start(0);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(told_of.times, 1); /* once for the new process */
    assert_int_equal(told_of.by_ms, 30 * DAY_MS);
    stop_and_start(0);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(told_of.times, 1);
}

static void only_jumps_of_more_than_a_minute_are_told_of(void **state)
{
    (void)state;
    static const int64_t jumps[] = {59 * SECOND_MS, -59 * SECOND_MS, -30 * SECOND_MS};
    for (size_t i = 0; i < COUNT_OF(jumps); i++) {
        jump(jumps[i]);
        publish(ANN, "t", "");
    }
    assert_int_equal(told_of.times, 0);
    jump(-31 * SECOND_MS);
    publish(ANN, "t", "");
    assert_int_equal(told_of.times, 1);
    assert_int_equal(told_of.by_ms, -61 * SECOND_MS);
    stop_and_start(61 * SECOND_MS);
    publish(ANN, "t", "");
    assert_int_equal(told_of.times, 2);
    assert_int_equal(told_of.by_ms, 61 * SECOND_MS);
}

/* ---- What is kept for some time ------------------------------------------------------------------ */

static size_t count_events(void)
{
    size_t n = 0;
    struct tidings_op op = {
        .kind = TIDINGS_OP_EVENTS, .user_id = BOB, .role = TIDINGS_ROLE_SERVICE};
    do {
        must(op);
        n += answer.u.events.n;
        op.u.page.after = answer.u.events.next;
    } while (answer.u.events.n);
    return n;
}

/* A month ahead they were all swept. */
static void events_stay_until_their_days_have_passed(void **state)
{
    (void)state;
    publish_many(ANN, 100);
    stop_and_start(30 * DAY_MS);
    for (int i = 0; i < 5; i++)
        publish(ANN, "sweeps", "");
    assert_int_equal(count_events(), 105);
    pass(14 * DAY_MS - 1);
    publish(ANN, "sweeps", "");
    assert_int_equal(count_events(), 106);
    pass(1);
    assert_int_equal(count_events(), 1);
    jump(20 * HOUR_MS); /* that is believed, and changes nothing */
    publish(ANN, "sweeps", "");
    assert_int_equal(count_events(), 2);
    jump(-40 * DAY_MS);
    publish(ANN, "sweeps", "");
    assert_int_equal(count_events(), 3);
    assert_verifies();
}

static bool render_nothing(const struct tidings_once *once, const struct tidings_answer *of,
                           struct tidings_text *bytes)
{
    (void)once;
    (void)of;
    *bytes = (struct tidings_text){"x", 1};
    return true;
}

static void what_happened_once_is_remembered_for_its_hours(void **state)
{
    (void)state;
    struct tidings_once once = {.key = "key", .render = render_nothing};
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .user_id = ANN,
                            .role = TIDINGS_ROLE_SERVICE,
                            .once = &once,
                            .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    must(op);
    jump(23 * HOUR_MS);
    publish(BOB, "sweeps", "");
    pass(2 * HOUR_MS);
    publish(BOB, "sweeps", "");
    must(op);
    stop_and_start(YEAR_MS);
    publish(BOB, "sweeps", "");
    pass(22 * HOUR_MS - 1);
    must(op);
    assert_int_equal(posts_of(ANN), 1);
    pass(1);
    must(op);
    assert_int_equal(posts_of(ANN), 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, clocks_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(limits_refill_when_the_clock_is_set_back),
        TEST(limits_refill_after_a_year_ahead_and_back),
        TEST(time_passes_while_nobody_is_here),
        TEST(order_does_not_depend_on_the_clock),
        TEST(a_clock_far_ahead_stops_writing),
        TEST(a_start_takes_the_clock_as_it_is),
        TEST(only_jumps_of_more_than_a_minute_are_told_of),
        TEST(events_stay_until_their_days_have_passed),
        TEST(what_happened_once_is_remembered_for_its_hours),
    };
    return RUN_TESTS(tests);
}
