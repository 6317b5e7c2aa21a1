/* SPDX-License-Identifier: MIT */
/*
 * A server that has no room left: its tables share one file that may not grow beyond some megabytes, so this needs a server of
 * its own, with the options in tests/meson.build.
 */
#include "cluster/failing.h"

/* Rows that stay within their pages: InnoDB may end itself when it finds no room for what it puts elsewhere. */
enum { BODY = 7000, MANY = 10000 };

static char body[BODY + 1];

/* So much that it needs new pages. */
static struct tidings_op long_post(void)
{
    struct tidings_op op = publish_op(ANN);
    memset(body, 'x', BODY);
    op.u.publish.body = (struct tidings_text){body, BODY};
    return op;
}

/* Somebody else takes all room that there is. */
static void fill(struct sql *sql)
{
    enum sql_outcome outcome = SQL_DONE;
    assert_run(sql, "CREATE TABLE filler (n INT AUTO_INCREMENT PRIMARY KEY, b VARBINARY(8000)) "
                    "ENGINE=InnoDB");
    for (unsigned i = 0; i < MANY && outcome == SQL_DONE; i++)
        outcome = sql_run_text(sql, "INSERT INTO filler (b) SELECT REPEAT('x', 7000) FROM "
                                    "seq_1_to_20");
    assert_int_equal(outcome, SQL_FULL);
}

static bool is_writable(void)
{
    struct tidings_stats stats;
    tidings_stats(engines[0], &stats);
    return !stats.read_only;
}

static void without_room_reading_goes_on_and_writing_does_when_there_is_some(void **state)
{
    (void)state;
    struct sql *other = foreign();
    must(follow_op(BOB, ANN));
    must(long_post());
    for (int round = 0; round < 2; round++) {
        uint64_t posts = posts_of(ANN);
        enum tidings_err err = TIDINGS_OK;
        fill(other);
        for (unsigned i = 0; i < MANY && !err; i++) {
            err = run(long_post());
            posts += !err;
        }
        assert_int_equal(err, TIDINGS_NO_SPACE);
        assert_false(is_writable());
        assert_int_equal(badge(BOB), posts);
        assert_int_equal(posts_of(ANN), posts);
        assert_run(other, "DROP TABLE filler");
        int64_t end_ms = now_ms() + PATIENCE_MS; /* the server gives the pages back by and by */
        while ((err = run(long_post())) == TIDINGS_NO_SPACE && now_ms() < end_ms)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        assert_int_equal(err, TIDINGS_OK);
        assert_true(is_writable());
        assert_int_equal(badge(BOB), posts + 1);
    }
    sql_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FAILING(without_room_reading_goes_on_and_writing_does_when_there_is_some),
    };
    return RUN_TESTS(tests);
}
