/* SPDX-License-Identifier: MIT */
/* A server that takes no changes, no connections, or no notice at all, and one that comes back: what is answered meanwhile, and that
 * all is well again afterwards without anybody's help. */
#include "cluster/failing.h"

static uint64_t deadline_ms = 1000;

/* An engine of a user who may not write where nobody may, and whom no connection is kept for. */
static void start_as_writer(struct sql *root)
{
    assert_run(root, "CREATE OR REPLACE USER writer@localhost;"
                     "GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO writer@localhost");
    engine_start_anew(failing_url("writer", NULL));
}

static bool is_writable(void)
{
    struct tidings_stats stats;
    tidings_stats(engines[0], &stats);
    return !stats.read_only;
}

/* ---- Read-only ------------------------------------------------------------------------------ */

static void a_server_that_takes_no_changes_is_read_from(void **state)
{
    (void)state;
    struct sql *root = foreign();
    start_as_writer(root);
    must(follow_op(BOB, ANN));
    must(publish_op(ANN));
    for (int round = 0; round < 2; round++) {
        assert_run(root, "SET GLOBAL read_only = 1");
        enum tidings_err err = run(publish_op(ANN));
        enum tidings_err reading = run(badge_op(BOB));
        assert_run(root, "SET GLOBAL read_only = 0");
        assert_int_equal(err, TIDINGS_IO);
        assert_int_equal(reading, TIDINGS_OK);
        assert_int_equal(answer.u.badge.total, 1 + round);
        assert_false(is_writable());
        must(publish_op(ANN));
        assert_true(is_writable());
        assert_int_equal(badge(BOB), 2 + round);
    }
    sql_close(root);
}

/* The lease has to be written, too. */
static void no_server_is_started_on_one_that_takes_no_changes(void **state)
{
    (void)state;
    struct sql *root = foreign();
    start_as_writer(root);
    engine_stop(0);
    assert_run(root, "SET GLOBAL read_only = 1");
    const char *why = NULL;
    enum tidings_err err = tidings_open(&options, &engines[0], &why);
    assert_run(root, "SET GLOBAL read_only = 0");
    assert_int_equal(err, TIDINGS_IO);
    assert_non_null(why);
    engine_start(0);
    must(publish_op(ANN));
    sql_close(root);
}

/* ---- Too many connections ------------------------------------------------------------------- */

enum { CONNECTIONS = 20 };

struct crowd {
    struct sql *sql[CONNECTIONS];
    unsigned n;
};

static void fill_up(struct crowd *crowd)
{
    struct sql_url url = server_url();
    char why[512];
    strcpy(url.user, "writer");
    while (crowd->n < CONNECTIONS &&
           (crowd->sql[crowd->n] = sql_open(&url, NULL, SILENT_MS, 0, why, sizeof why)))
        crowd->n++;
    assert_non_null(strstr(why, "1040"));
}

static void leave(struct crowd *crowd)
{
    while (crowd->n)
        sql_close(crowd->sql[--crowd->n]);
}

static void kill_all_of_the_engine(struct sql *root)
{
    uint64_t ids[CONNECTIONS];
    unsigned n = 0;
    assert_int_equal(send_text(root, "SELECT ID FROM information_schema.PROCESSLIST WHERE "
                                     "USER = 'writer' AND DB = DATABASE()"),
                     SQL_DONE);
    while (n < CONNECTIONS && sql_row(root))
        ids[n++] = sql_u64(root, 0);
    for (unsigned i = 0; i < n; i++) {
        struct buf text;
        buf_init(&text, TEXT_MAX);
        buf_printf(&text, "KILL %" PRIu64, ids[i]);
        sql_run(root, &text); /* it may have gone by itself */
        buf_release(&text);
    }
    await(root,
          "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'writer' AND "
          "DB = DATABASE() AND COMMAND <> 'Killed'",
          0);
}

/* Whoever is thrown out and finds everything taken says so, and goes on when there is room. */
static void too_many_connections_are_told_and_passed(void **state)
{
    (void)state;
    struct sql *root = foreign();
    struct crowd crowd = {.n = 0};
    start_as_writer(root);
    must(publish_op(ANN));
    uint64_t before = asked(root, "SELECT @@max_connections");
    assert_run(root, "SET GLOBAL max_connections = 10");
    fill_up(&crowd);

    const char *why = NULL;
    assert_int_equal(tidings_open(&options, &engines[1], &why), TIDINGS_UNREACHABLE);
    assert_non_null(strstr(why, "1040"));
    engines[1] = NULL;

    struct buf text;
    enum tidings_err err = TIDINGS_OK;
    for (int i = 0; i < 50 && err != TIDINGS_UNREACHABLE; i++) {
        kill_all_of_the_engine(root);
        fill_up(&crowd);
        err = run(publish_op(ANN));
    }
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "SET GLOBAL max_connections = %" PRIu64, before);
    assert_int_equal(sql_run(root, &text), SQL_DONE);
    buf_release(&text);
    assert_int_equal(err, TIDINGS_UNREACHABLE);
    leave(&crowd);
    uint64_t posts = posts_of(ANN);
    must(publish_op(ANN));
    assert_int_equal(posts_of(ANN), posts + 1);
    sql_close(root);
}

/* ---- Silence -------------------------------------------------------------------------------- */

enum { CALLS = 6, SLACK_MS = 10000 };

static void a_server_that_stands_still_is_not_waited_for(void **state)
{
    (void)state;
    struct asked asked[CALLS];
    must(follow_op(BOB, ANN));
    must(publish_op(ANN));
    server_do("pause");
    int64_t begun_ms = now_ms();
    for (unsigned i = 0; i < CALLS; i++)
        ask(&asked[i], i % 2 ? publish_op(ANN) : badge_op(BOB));
    for (unsigned i = 0; i < CALLS; i++)
        assert_int_equal(heard(&asked[i]), TIDINGS_TIMEOUT);
    assert_in_range(now_ms() - begun_ms, deadline_ms, (int64_t)deadline_ms + SLACK_MS);
    server_do("resume");
    must(publish_op(ANN));
    assert_int_equal(badge(BOB), 2); /* what was given up has not happened */
}

static void await_writable(bool wanted)
{
    int64_t end_ms = now_ms() + PATIENCE_MS;
    while (is_writable() != wanted && now_ms() < end_ms)
        nanosleep(&(struct timespec){0, 10000000}, NULL);
    assert_int_equal(is_writable(), wanted);
}

/* Also if nobody writes. */
static void whether_anything_can_be_written_is_known(void **state)
{
    (void)state;
    server_do("pause");
    await_writable(false);
    server_do("resume");
    await_writable(true);
}

/* ---- Too much to do ------------------------------------------------------------------------- */

static uint64_t busy_among(struct asked *asked, unsigned n)
{
    uint64_t busy = 0;
    for (unsigned i = 0; i < n; i++) {
        enum tidings_err err = heard(&asked[i]);
        assert_true(err == TIDINGS_BUSY || err == TIDINGS_TIMEOUT);
        busy += err == TIDINGS_BUSY;
    }
    return busy;
}

/* A lane takes two and two wait; two readers take two each, and two wait: then changes are not taken either, since they would
 * wait there to be answered. */
static void queues_are_bounded(void **state)
{
    (void)state;
    enum { MANY = 20 };
    struct asked changes[MANY], reads[MANY];
    struct tidings_stats stats;
    options.settings.queue_max = 2;
    engine_start_anew(options.mysql);
    must(publish_op(ANN));
    server_do("pause");
    for (unsigned i = 0; i < MANY; i++) {
        ask(&changes[i], publish_op(ANN));
        ask(&reads[i], badge_op(BOB));
    }
    tidings_stats(engines[0], &stats);
    uint64_t busy_changes = busy_among(changes, MANY), busy_reads = busy_among(reads, MANY);
    server_do("resume");
    assert_in_range(busy_changes, MANY - 4, MANY - 1);
    assert_in_range(busy_reads, MANY - 6, MANY - 2);
    assert_int_equal(stats.refused_busy, busy_changes);
    assert_int_equal(posts_of(ANN), 1);
}

/* ---- Gone and back -------------------------------------------------------------------------- */

static void go_and_come_back(const char *how)
{
    uint64_t posts = posts_of(ANN);
    server_do(how);
    assert_int_equal(run(publish_op(ANN)), TIDINGS_UNREACHABLE);
    assert_int_equal(run(badge_op(BOB)), TIDINGS_UNREACHABLE);
    server_do("start");
    assert_int_equal(posts_of(ANN), posts);
    must(publish_op(ANN));
    assert_int_equal(badge(BOB), posts + 1);
}

static void a_server_that_comes_back_is_used_again(void **state)
{
    (void)state;
    must(follow_op(BOB, ANN));
    must(publish_op(ANN));
    go_and_come_back("stop");
    go_and_come_back("kill");
}

int main(void)
{
#define SOON(name) \
    cmocka_unit_test_prestate_setup_teardown(name, failing_begin, failing_end, &deadline_ms)
    const struct CMUnitTest tests[] = {
        FAILING(a_server_that_takes_no_changes_is_read_from),
        FAILING(no_server_is_started_on_one_that_takes_no_changes),
        FAILING(too_many_connections_are_told_and_passed),
        SOON(a_server_that_stands_still_is_not_waited_for),
        SOON(whether_anything_can_be_written_is_known),
        SOON(queues_are_bounded),
        FAILING(a_server_that_comes_back_is_used_again),
    };
#undef SOON
    return RUN_TESTS(tests);
}
