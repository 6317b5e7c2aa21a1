/* SPDX-License-Identifier: MIT */
/* The clock is set back and ahead, while the engine runs and while it does not; time goes on all the same. */
#include "contract/harness.h"
#include "local/damage.h"

#include <string.h>
#include <unistd.h>

enum { ANN = 1, BOB = 2 };

#define SECOND_MS INT64_C(1000)
#define HOUR_MS   INT64_C(3600000)
#define DAY_MS    (24 * HOUR_MS)
#define YEAR_MS   (365 * DAY_MS)

static _Atomic int64_t since_ms;

static int64_t elapsed(void *ctx)
{
    (void)ctx;
    return atomic_load(&since_ms);
}

static struct {
    unsigned times;
    int64_t by_ms;
    bool stopped;
} told_of;

static void note_jump(void *ctx, int64_t by_ms, bool stopped)
{
    (void)ctx;
    told_of.times++;
    told_of.by_ms = by_ms;
    told_of.stopped = stopped;
}

static int begin(void **state)
{
    if (harness_begin_closed(state))
        return -1;
    atomic_store(&since_ms, 500 * SECOND_MS);
    memset(&told_of, 0, sizeof told_of);
    options.elapsed = elapsed;
    options.clock_jumped = note_jump;
    options.settings.follow_burst = 2;
    return try_open() ? -1 : 0;
}

static void jump(int64_t ms)
{
    atomic_fetch_add(&clock_ms, ms);
}

static void pass(int64_t ms)
{
    atomic_fetch_add(&since_ms, ms);
    jump(ms);
}

static void stop_and_start(int64_t jump_ms)
{
    close_engine();
    jump(jump_ms);
    open_engine();
}

static enum tidings_err try_follow(void)
{
    return run(follow_op(BOB, ANN));
}

static void drain(void)
{
    for (int i = 0; i < 100 && !try_follow(); i++)
        ;
    assert_int_equal(answer.err, TIDINGS_RATE_LIMITED);
    assert_in_range(answer.retry_after_ms, 1, 1000);
}

static void assert_refills(void)
{
    drain();
    pass(SECOND_MS);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(try_follow(), TIDINGS_RATE_LIMITED);
    pass(2 * SECOND_MS);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(try_follow(), TIDINGS_OK);
    assert_int_equal(try_follow(), TIDINGS_RATE_LIMITED);
}

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

/* As a version that knew one time only has left it. */
static void limits_refill_in_a_directory_that_was_left_a_year_ahead(void **state)
{
    (void)state;
    close_engine();
    options.elapsed = NULL;
    jump(YEAR_MS);
    open_engine();
    drain();
    row_cut(TABLE_META, key_meta("newest"), ID_BYTES + 8);
    options.elapsed = elapsed;
    jump(-YEAR_MS);
    open_engine();
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

static uint64_t posts_of(uint64_t user)
{
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = user, .u.user.user_id = user});
    return answer.u.counters.posts;
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

/* ---- The log ------------------------------------------------------------------------------------- */

/* Posts in what is restored to the time that the clock says now. */
static uint64_t posts_restored(unsigned number)
{
    const char *message = "";
    char name[32], dir[512];
    struct tidings_options of_old = options;
    snprintf(name, sizeof name, "restored-%u", number);
    harness_path(dir, name);
    struct tidings_restore to = {
        .from = harness_dir(), .dir = dir, .until_ms = atomic_load(&clock_ms)};
    if (tidings_restore(&to, &message))
        fail_msg("%s", message);
    struct tidings *old = engine;
    options.dir = dir;
    open_engine();
    uint64_t posts = posts_of(ANN);
    close_engine();
    options = of_old;
    engine = old;
    return posts;
}

static void await_batches(uint64_t n)
{
    struct tidings_stats stats;
    for (int tries = 0; tries < 600; tries++) {
        tidings_stats(engine, &stats);
        if (stats.batches >= n)
            return;
        usleep(50000);
    }
    fail_msg("not written in 30 s");
}

static void a_restore_until_now_has_what_was_acknowledged(void **state)
{
    (void)state;
    struct tidings_stats stats;
    publish(ANN, "1", "");
    jump(-30 * SECOND_MS);
    publish(ANN, "2", "");
    pass(10);
    assert_int_equal(posts_restored(1), 2);
    jump(20 * HOUR_MS);
    publish(ANN, "3", "");
    jump(-20 * HOUR_MS);
    tidings_stats(engine, &stats);
    await_batches(stats.batches +
                  1); /* the clock that was set back is in the log though nobody writes */
    assert_int_equal(posts_restored(2), 3);
    stop_and_start(YEAR_MS);
    publish(ANN, "4", "");
    assert_int_equal(posts_restored(3), 4);
    stop_and_start(-YEAR_MS);
    await_batches(1);
    assert_int_equal(posts_restored(4), 4);
    publish(ANN, "5", "");
    assert_int_equal(posts_restored(5), 5);
}

static void a_restore_has_nothing_that_came_later(void **state)
{
    (void)state;
    publish(ANN, "1", "");
    jump(-YEAR_MS);
    publish(ANN, "2", "");
    int64_t then_ms = atomic_load(&clock_ms);
    pass(HOUR_MS);
    publish(ANN, "3", "");
    atomic_store(&clock_ms, then_ms);
    assert_int_equal(posts_restored(1), 2);
}

static void make_base(uint64_t n)
{
    static char body[60000];
    struct tidings_stats stats;
    uint64_t post = publish(ANN, "edited", "");
    for (int i = 0; i < 40; i++) {
        memset(body, 'a' + i % 26, sizeof body - 1);
        must((struct tidings_op){.kind = TIDINGS_OP_EDIT,
                                 .user_id = ANN,
                                 .u.edit = {.post_id = post, .body = text_of(body)}});
    }
    for (int tries = 0; tries < 600; tries++) {
        tidings_stats(engine, &stats);
        if (stats.snapshots >= n)
            return;
        usleep(50000);
    }
    fail_msg("no base image in 30 s");
}

static bool has_first_segment(void)
{
    char path[600];
    snprintf(path, sizeof path, "%s/log/0000000000000001.log", harness_dir());
    return !access(path, F_OK);
}

/* A month ahead the log of all days before was removed with the next base image. */
static void the_log_stays_until_its_days_have_passed(void **state)
{
    (void)state;
    options.settings.snapshot_log_mb = 1;
    options.settings.log_segment_mb = 1;
    stop_and_start(0);
    make_base(1);
    stop_and_start(30 * DAY_MS);
    make_base(1);
    make_base(2); /* when it is made, what the one before has made needless is gone */
    assert_true(has_first_segment());
    pass(15 * DAY_MS);
    make_base(3);
    make_base(4);
    assert_false(has_first_segment());
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(limits_refill_when_the_clock_is_set_back),
        TEST(limits_refill_after_a_year_ahead_and_back),
        TEST(limits_refill_in_a_directory_that_was_left_a_year_ahead),
        TEST(time_passes_while_nobody_is_here),
        TEST(order_does_not_depend_on_the_clock),
        TEST(a_clock_far_ahead_stops_writing),
        TEST(a_start_takes_the_clock_as_it_is),
        TEST(only_jumps_of_more_than_a_minute_are_told_of),
        TEST(events_stay_until_their_days_have_passed),
        TEST(what_happened_once_is_remembered_for_its_hours),
        TEST(a_restore_until_now_has_what_was_acknowledged),
        TEST(a_restore_has_nothing_that_came_later),
        TEST(the_log_stays_until_its_days_have_passed),
    };
    return RUN_TESTS(tests);
}
