/* SPDX-License-Identifier: MIT */
/* Locks that others hold, and rows that are not right: who asked for these has to bear it, and nobody else. */
#include "cluster/failing.h"

enum { AUTHOR = 100 };

static uint64_t deadline_ms = 4000;

/* The same for three users in one batch. */
static void run_three(enum tidings_err ann, enum tidings_err bob, enum tidings_err cid)
{
    const uint64_t users[] = {ANN, BOB, CID};
    const enum tidings_err wanted[] = {ann, bob, cid};
    struct asked asked[COUNT_OF(users)];
    struct plug plug;
    plug_put(&plug);
    for (unsigned i = 0; i < COUNT_OF(users); i++)
        ask(&asked[i], follow_op(users[i], AUTHOR));
    plug_pull(&plug);
    for (unsigned i = 0; i < COUNT_OF(users); i++)
        assert_int_equal(heard(&asked[i]), wanted[i]);
}

static uint64_t followers(void)
{
    must(
        (struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = AUTHOR});
    return answer.u.counters.followers;
}

/* ---- Locks ---------------------------------------------------------------------------------- */

static void a_lock_that_does_not_come_fails_its_call_alone(void **state)
{
    (void)state;
    struct sql *other = foreign();
    must(follow_op(BOB, DAN));
    assert_run(other, "BEGIN; UPDATE user SET version = version + 1 WHERE user_id = 4");
    run_three(TIDINGS_OK, TIDINGS_TIMEOUT, TIDINGS_OK);
    assert_int_equal(followers(), 2);
    assert_run(other, "ROLLBACK");
    must(follow_op(BOB, AUTHOR));
    assert_int_equal(followers(), 3);
    sql_close(other);
}

struct crossing {
    struct sql *sql;
    enum sql_outcome outcome;
};

static void *lock_ann(void *ctx)
{
    struct crossing *other = ctx;
    other->outcome = sql_run_text(other->sql, "UPDATE user SET quiet = 0 WHERE user_id = 2");
    return NULL;
}

static uint64_t deadlocks(struct sql *sql)
{
    return asked(sql, "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                      "WHERE VARIABLE_NAME = 'INNODB_DEADLOCKS'");
}

/* Cid first and then Ann, while the batch has locked Ann and waits for Cid. Whoever has changed more rows is spared. */
static void a_deadlock_is_tried_again(void **state)
{
    (void)state;
    struct crossing other = {.sql = foreign()};
    struct sql *looker = foreign();
    struct asked ann, cid;
    struct plug plug;
    pthread_t thread;
    must(follow_op(ANN, DAN));
    must(follow_op(CID, DAN));
    uint64_t before = deadlocks(looker);
    assert_run(other.sql, "CREATE TABLE heavy (n INT PRIMARY KEY) ENGINE=InnoDB; BEGIN;"
                          "INSERT INTO heavy SELECT seq FROM seq_1_to_10000;"
                          "UPDATE user SET quiet = 0 WHERE user_id = 6");
    plug_put(&plug);
    ask(&ann, follow_op(ANN, AUTHOR));
    ask(&cid, follow_op(CID, AUTHOR));
    plug_pull(&plug);
    await_lock_waits(looker, 1);
    assert_int_equal(pthread_create(&thread, NULL, lock_ann, &other), 0);
    pthread_join(thread, NULL);
    assert_int_equal(other.outcome, SQL_DONE);
    assert_int_equal(deadlocks(looker), before + 1);
    assert_run(other.sql, "COMMIT; DROP TABLE heavy");
    assert_int_equal(heard(&ann), TIDINGS_OK);
    assert_int_equal(heard(&cid), TIDINGS_OK);
    assert_int_equal(followers(), 2);
    sql_close(other.sql);
    sql_close(looker);
}

/* ---- What one call alone cannot have -------------------------------------------------------- */

/* The database answers what one user writes with this error. */
static void make_fail(struct sql *sql, const char *state, unsigned code)
{
    struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_printf(&text,
               "CREATE OR REPLACE TRIGGER refuse BEFORE INSERT ON following FOR EACH ROW "
               "IF NEW.from_user_id = 4 THEN SIGNAL SQLSTATE '%s' SET MYSQL_ERRNO = %u; END IF",
               state, code);
    assert_int_equal(sql_run(sql, &text), SQL_DONE);
    buf_release(&text);
}

static void what_always_fails_is_tried_by_itself(void **state)
{
    (void)state;
    static const struct {
        const char *state;
        unsigned code;
        enum tidings_err err;
    } failures[] = {
        {"40001", 1213, TIDINGS_BUSY},     /* a deadlock, every time */
        {"HY000", 1205, TIDINGS_TIMEOUT},  /* a lock that never comes */
        {"45000", 1644, TIDINGS_IO},       /* anything */
        {"HY000", 1114, TIDINGS_NO_SPACE}, /* the table is full */
    };
    struct sql *other = foreign();
    for (unsigned i = 0; i < COUNT_OF(failures); i++) {
        make_fail(other, failures[i].state, failures[i].code);
        run_three(TIDINGS_OK, failures[i].err, TIDINGS_OK);
        assert_int_equal(followers(), 2);
        assert_run(other, "DROP TRIGGER refuse");
        for (uint64_t user = ANN; user <= CID; user += 2)
            must((struct tidings_op){
                .kind = TIDINGS_OP_UNFOLLOW, .user_id = user, .u.relation.user_id = AUTHOR});
    }
    run_three(TIDINGS_OK, TIDINGS_OK, TIDINGS_OK);
    sql_close(other);
}

static void a_damaged_row_fails_its_call_alone(void **state)
{
    (void)state;
    struct sql *other = foreign();
    for (uint64_t user = ANN; user <= CID; user += 2)
        must(follow_op(user, AUTHOR));
    must(publish_op(AUTHOR));
    for (uint64_t user = ANN; user <= CID; user += 2)
        must((struct tidings_op){
            .kind = TIDINGS_OP_UNFOLLOW, .user_id = user, .u.relation.user_id = AUTHOR});
    assert_run(other, "CREATE TABLE kept AS SELECT pair FROM following WHERE from_user_id = 4;"
                      "UPDATE following SET pair = LEFT(pair, 1) WHERE from_user_id = 4");
    run_three(TIDINGS_OK, TIDINGS_CORRUPT, TIDINGS_OK);
    assert_int_equal(run(badge_op(BOB)), TIDINGS_CORRUPT);
    assert_int_equal(badge(ANN), 1);
    assert_run(other, "UPDATE following SET pair = (SELECT pair FROM kept) WHERE from_user_id = 4;"
                      "DROP TABLE kept");
    must(follow_op(BOB, AUTHOR));
    sql_close(other);
}

int main(void)
{
#define SOON(name) \
    cmocka_unit_test_prestate_setup_teardown(name, failing_begin, failing_end, &deadline_ms)
    const struct CMUnitTest tests[] = {
        SOON(a_lock_that_does_not_come_fails_its_call_alone),
        FAILING(a_deadlock_is_tried_again),
        FAILING(what_always_fails_is_tried_by_itself),
        FAILING(a_damaged_row_fails_its_call_alone),
    };
#undef SOON
    return RUN_TESTS(tests);
}
