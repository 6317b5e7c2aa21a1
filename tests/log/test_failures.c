/* SPDX-License-Identifier: MIT */
/* When the connection or the server fails: what is known of an append is true. */
#include "log/cut.h"
#include "log/log_support.h"

enum { SHORT_MS = 300 };

static struct log_mysql *log_cut; /* the writer's, by way of the relay */
static struct log_end end;

static int begin_failures_test(void **state)
{
    server_do("resume"); /* a test that failed may have left it standing still */
    log_begin_test(state);
    begin_log();
    log_cut = open_log(cut_start(server_url().socket));
    end = make_end(become_writer(log_cut, 1), FIRST_POSITION, 0);
    return 0;
}

static int end_failures_test(void **state)
{
    log_mysql_close(log_cut);
    cut_stop();
    return log_end_test(state);
}

#define FAILURE_TEST(name) \
    cmocka_unit_test_setup_teardown(name, begin_failures_test, end_failures_test)

/* How much an append of this text says, and is answered. */
static void measure_append(size_t *request, size_t *answered)
{
    must_append(log_cut, &end, "text");
    cut_nothing();
    must_append(log_cut, &end, "text");
    *request = cut_request_bytes();
    *answered = cut_answer_bytes();
}

static void an_append_and_a_read_are_one_round_trip(void **state)
{
    (void)state;
    struct log_batch batch;
    must_append(log_cut, &end, "text");
    cut_nothing();
    must_append(log_cut, &end, "text");
    assert_int_equal(cut_commands(), 1);
    assert_outcome(log_cut, append_one(log_cut, &(struct log_end){0}, "refused"), LOG_REFUSED);
    assert_int_equal(cut_commands(), 2);
    assert_outcome(log_cut, log_mysql_read(log_cut, FIRST_POSITION, 10, 1000, &batch), LOG_DONE);
    assert_int_equal(batch.n, 2);
    assert_int_equal(cut_commands(), 3);
}

static void an_answer_cut_at_any_byte_is_never_taken_for_another(void **state)
{
    (void)state;
    size_t request, answered;
    unsigned unknown = 0;
    measure_append(&request, &answered);
    for (size_t i = 0; i <= answered; i++) {
        must_append(log_cut, &end, "text"); /* it is connected again */
        cut_answers(i);
        enum log_outcome outcome = append_one(log_cut, &end, "text");
        cut_nothing();
        /* The server did it all, whatever came back. */
        assert_int_equal(count_records(end.position + 1), 1);
        assert_outcome(log_cut, outcome, i < answered ? LOG_UNKNOWN : LOG_DONE);
        unknown += outcome == LOG_UNKNOWN;
        end = make_end(end.fence, end.position + 1, 0);
    }
    assert_int_equal(unknown, answered);
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM tidings_log"),
                     end.position - FIRST_POSITION);
}

static void a_refusal_cut_at_any_byte_is_never_taken_for_another(void **state)
{
    (void)state;
    struct log_end wrong = make_end(end.fence + 1, FIRST_POSITION, 0);
    cut_nothing();
    assert_outcome(log_cut, append_one(log_cut, &wrong, "text"), LOG_REFUSED);
    size_t answered = cut_answer_bytes();
    for (size_t i = 0; i <= answered; i++) {
        look(log_cut);
        cut_answers(i);
        enum log_outcome outcome = append_one(log_cut, &wrong, "text");
        cut_nothing();
        assert_outcome(log_cut, outcome, i < answered ? LOG_UNKNOWN : LOG_REFUSED);
    }
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM tidings_log"), 0);
}

static void a_request_cut_at_any_byte_does_nothing(void **state)
{
    (void)state;
    size_t request, answered;
    measure_append(&request, &answered);
    for (size_t i = 0; i <= request; i += i < 16 || i + 16 > request ? 1 : 13) {
        look(log_cut);
        cut_requests(i);
        enum log_outcome outcome = append_one(log_cut, &end, "text");
        cut_nothing();
        if (i == request) {
            assert_outcome(log_cut, outcome, LOG_DONE);
            end = make_end(end.fence, end.position + 1, 0);
        } else if (outcome != LOG_UNREACHABLE) {
            assert_outcome(log_cut, outcome, LOG_UNKNOWN);
        }
        assert_int_equal(look(log_cut).position, end.position);
        assert_int_equal(count_records(end.position + 1), 0);
    }
}

/* Bytes that nobody reads fill the socket: those behind them were never sent. */
static void what_did_not_go_out_is_known_not_to_be_there(void **state)
{
    (void)state;
    uint8_t *bytes = calloc(1, 16 << 20);
    struct log_record record = make_record(end.position + 1, 0, (struct bytes){bytes, 16 << 20});
    struct log_mysql *log = open_log(NULL);
    must_append(log, &end, "text");
    record.position = end.position + 1;
    log_mysql_set_deadline(log, SHORT_MS);
    server_do("pause");
    enum log_outcome outcome = log_mysql_append(log, &end, true, &record, 1);
    server_do("resume");
    assert_outcome(log, outcome, LOG_UNREACHABLE);
    log_mysql_set_deadline(log, PATIENCE_MS);
    must_append(log, &end, "text");
    log_mysql_close(log);
    free(bytes);
}

/* ---- Whoever stands still -------------------------------------------------------------------- */

struct appender {
    pthread_t thread;
    struct log_mysql *log;
    struct log_end end;
    enum log_outcome outcome;
};

static void *run_appender(void *ctx)
{
    struct appender *appender = ctx;
    appender->outcome = append_one(appender->log, &appender->end, "text");
    return NULL;
}

static void start_appender(struct appender *appender, const struct log_end *from)
{
    *appender = (struct appender){.log = log_cut, .end = *from};
    pthread_create(&appender->thread, NULL, run_appender, appender);
}

/* The server has answered the append, of which the client has heard nothing yet. */
static void assert_holds_no_lock(const struct log_end *from, enum log_outcome wanted)
{
    struct appender appender;
    must_append(log_cut, &end, "text");
    cut_hold();
    start_appender(&appender, from ? from : &end);
    cut_await_held();
    await_answer(other,
                 "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'BEGIN%'", 0);
    end_lease();
    uint64_t fence = take_over(log_a, 2);
    cut_nothing();
    pthread_join(appender.thread, NULL);
    assert_outcome(log_cut, appender.outcome, wanted);
    assert_int_equal(look(log_a).fence, fence);
}

static void a_client_that_stands_still_holds_no_lock(void **state)
{
    (void)state;
    assert_holds_no_lock(NULL, LOG_DONE);
    assert_int_equal(count_records(end.position + 1), 1);
}

static void a_client_that_stands_still_and_was_refused_holds_no_lock(void **state)
{
    (void)state;
    struct log_end wrong = make_end(end.fence, end.position, 1);
    assert_holds_no_lock(&wrong, LOG_REFUSED);
}

/* ---- The server ------------------------------------------------------------------------------ */

static void a_connection_that_was_closed_is_opened_again(void **state)
{
    (void)state;
    must_append(log_cut, &end, "text");
    uint64_t before =
        asked(other, "SELECT MAX(id) FROM information_schema.processlist WHERE db=DATABASE()");
    char text[64];
    snprintf(text, sizeof text, "KILL %llu", (unsigned long long)before);
    assert_run(other, text);
    await_answer(other,
                 "SELECT COUNT(*) FROM information_schema.processlist WHERE db=DATABASE() AND "
                 "id<>CONNECTION_ID() AND id<>0",
                 1);
    must_append(log_a, &end, "text"); /* of log_a, which has its own */
    must_append(log_cut, &end, "text");
}

static void without_a_server_nothing_is_written(void **state)
{
    (void)state;
    struct log_writer writer;
    must_append(log_a, &end, "text");
    server_do("kill");
    assert_outcome(log_a, append_one(log_a, &end, "text"), LOG_UNREACHABLE);
    assert_outcome(log_a, log_mysql_look(log_a, &writer), LOG_UNREACHABLE);
    server_do("start");
    must_append(log_a, &end, "text");
    sql_close(other);
    struct sql_url url = server_url();
    strcpy(url.database, log_database());
    other = connect_as(&url, NULL);
}

static void a_server_that_is_killed_in_the_middle_leaves_it_unknown(void **state)
{
    (void)state;
    struct appender appender;
    must_append(log_cut, &end, "text");
    assert_run(other, "BEGIN; SELECT * FROM tidings_writer FOR UPDATE");
    start_appender(&appender, &end);
    struct sql_url url = server_url();
    struct sql *watcher = connect_as(&url, NULL);
    await_lock_waits(watcher, 1);
    server_do("kill");
    pthread_join(appender.thread, NULL);
    sql_close(watcher);
    sql_close(other);
    server_do("start");
    strcpy(url.database, log_database());
    other = connect_as(&url, NULL);
    assert_outcome(log_cut, appender.outcome, LOG_UNKNOWN);
    assert_int_equal(count_records(end.position + 1), 0);
    must_append(log_cut, &end, "text");
}

static void a_server_that_stands_still_is_waited_for_until_the_deadline(void **state)
{
    (void)state;
    struct log_writer writer;
    struct log_mysql *fresh = open_log(NULL);
    log_mysql_set_deadline(fresh, SHORT_MS);
    must_append(log_a, &end, "text");
    log_mysql_set_deadline(log_a, SHORT_MS);
    server_do("pause");
    int64_t began_ms = wait_now_ms();
    enum log_outcome outcome = append_one(log_a, &end, "text");
    enum log_outcome asked_again = log_mysql_look(log_a, &writer);
    enum log_outcome never_connected = append_one(fresh, &end, "text");
    int64_t took_ms = wait_now_ms() - began_ms;
    server_do("resume");
    assert_outcome(log_a, outcome, LOG_UNKNOWN);
    assert_outcome(log_a, asked_again, LOG_UNREACHABLE);
    assert_outcome(fresh, never_connected, LOG_UNREACHABLE);
    assert_in_range(took_ms, 3 * SHORT_MS - 10, PATIENCE_MS);
    log_mysql_close(fresh);
    log_mysql_set_deadline(log_a, PATIENCE_MS);
    /* It was sent: the server does it now. */
    await_answer(other, "SELECT position FROM tidings_writer", end.position + 1);
    assert_int_equal(count_records(end.position + 1), 1);
    assert_outcome(log_a, append_one(log_a, &end, "text"), LOG_REFUSED);
}

int test_log_failures(void)
{
    const struct CMUnitTest tests[] = {
        FAILURE_TEST(an_append_and_a_read_are_one_round_trip),
        FAILURE_TEST(an_answer_cut_at_any_byte_is_never_taken_for_another),
        FAILURE_TEST(a_refusal_cut_at_any_byte_is_never_taken_for_another),
        FAILURE_TEST(a_request_cut_at_any_byte_does_nothing),
        FAILURE_TEST(what_did_not_go_out_is_known_not_to_be_there),
        FAILURE_TEST(a_client_that_stands_still_holds_no_lock),
        FAILURE_TEST(a_client_that_stands_still_and_was_refused_holds_no_lock),
        FAILURE_TEST(a_connection_that_was_closed_is_opened_again),
        FAILURE_TEST(without_a_server_nothing_is_written),
        FAILURE_TEST(a_server_that_is_killed_in_the_middle_leaves_it_unknown),
        FAILURE_TEST(a_server_that_stands_still_is_waited_for_until_the_deadline),
    };
    return RUN_TESTS(tests);
}
