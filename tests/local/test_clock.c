/* SPDX-License-Identifier: MIT */
/* The clock is set back and ahead: what that means for a directory and its log. */
#include "contract/clocks.h"
#include "local/damage.h"

#include <string.h>
#include <unistd.h>

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
    options.elapsed = clocks_elapsed;
    jump(-YEAR_MS);
    open_engine();
    assert_refills();
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
#define TEST(name) cmocka_unit_test_setup_teardown(name, clocks_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(limits_refill_in_a_directory_that_was_left_a_year_ahead),
        TEST(a_restore_until_now_has_what_was_acknowledged),
        TEST(a_restore_has_nothing_that_came_later),
        TEST(the_log_stays_until_its_days_have_passed),
    };
    return RUN_TESTS(tests);
}
