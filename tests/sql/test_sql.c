/* SPDX-License-Identifier: MIT */
/* The connection to MySQL, on the server of tests/support/with-mariadb. */
#include "sql/sql.h"

#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/wait.h"
#include "sql/sql_support.h"

/* ---- Connections ---------------------------------------------------------------------------- */

static char database[SQL_URL_DATABASE_MAX + 1];

static struct sql *connect_to_test(void)
{
    struct sql_url url = server_url();
    strcpy(url.database, database);
    return connect_as(&url, NULL);
}

/* Two rows of a counter, in another database for each test: one that fails may leave locks behind. */
static int make_tables(void **state)
{
    (void)state;
    static unsigned made;
    struct sql_url url = server_url();
    struct sql *sql = connect_as(&url, NULL);
    struct buf text;
    snprintf(database, sizeof database, "test_sql_%u", ++made);
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "CREATE DATABASE %s; USE %s;", database, database);
    buf_literal(&text,
                "CREATE TABLE counter (id BIGINT PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB;"
                "INSERT INTO counter VALUES (1, 0), (2, 0);"
                "CREATE TABLE thing (id BIGINT PRIMARY KEY, b LONGBLOB, t LONGTEXT, u BIGINT "
                "UNSIGNED, s VARCHAR(3))"
                " ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    assert_int_equal(sql_run(sql, &text), SQL_DONE);
    buf_release(&text);
    sql_close(sql);
    return 0;
}

/* ---- Values --------------------------------------------------------------------------------- */

static struct bytes bytes_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static void put_thing(struct buf *text, uint64_t id, struct bytes b, struct bytes t, uint64_t u)
{
    buf_literal(text, "INSERT INTO thing (id, b, t, u) VALUES (");
    buf_u64(text, id);
    buf_char(text, ',');
    sql_put_bytes(text, b);
    buf_char(text, ',');
    sql_put_text(text, t);
    buf_char(text, ',');
    buf_u64(text, u);
    buf_char(text, ')');
}

static void assert_round_trip(struct sql *sql, struct bytes b, struct bytes t, uint64_t u)
{
    struct buf text;
    buf_init(&text, TEXT_MAX);
    buf_literal(&text, "DELETE FROM thing;");
    put_thing(&text, 7, b, t, u);
    buf_literal(&text, ";SELECT b, t, u, s FROM thing");
    assert_int_equal(sql_send(sql, &text), SQL_DONE);
    buf_release(&text);
    bool more = false;
    assert_int_equal(sql_next(sql, &more), SQL_DONE);
    assert_int_equal(sql_affected(sql), 1);
    assert_int_equal(sql_next(sql, &more), SQL_DONE);
    assert_true(more && sql_row(sql));
    assert_true(bytes_same(sql_bytes(sql, 0), b));
    assert_true(bytes_same(sql_bytes(sql, 1), t));
    assert_true(sql_u64(sql, 2) == u);
    assert_false(sql_is_null(sql, 0));
    assert_true(sql_is_null(sql, 3));
    assert_int_equal(sql_bytes(sql, 3).n, 0);
    assert_int_equal(sql_u64(sql, 3), 0);
}

static void hostile_bytes_come_back_as_they_were(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "",
        "'",
        "\\",
        "\\'; DROP TABLE thing; --",
        "%_`\"",
        "\xe4\xbd\xa0\xe5\xa5\xbd",
        "\xf0\x9f\x98\x80",
        "\r\n\t\x1a",
    };
    struct sql *sql = connect_to_test();
    uint8_t all[256];
    for (unsigned i = 0; i < sizeof all; i++)
        all[i] = (uint8_t)i;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        assert_round_trip(sql, bytes_of(texts[i]), bytes_of(texts[i]), i);
    assert_round_trip(sql, (struct bytes){all, sizeof all}, (struct bytes){all, 128}, UINT64_MAX);
    sql_close(sql);
}

static void random_bytes_come_back_as_they_were(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    struct sql *sql = connect_to_test();
    static uint8_t random[100000];
    for (unsigned round = 0; round < 30; round++) {
        size_t n = rng_below(&rng, round % 3 ? 40 : sizeof random);
        for (size_t i = 0; i < n; i++)
            random[i] = (uint8_t)rng_below(&rng, 256);
        assert_round_trip(sql, (struct bytes){random, n}, bytes_of("t"),
                          rng_below(&rng, UINT64_MAX));
    }
    sql_close(sql);
}

static void the_session_is_strict_and_in_utc(void **state)
{
    (void)state;
    struct sql *sql = connect_to_test();
    assert_int_equal(sql_run_text(sql, "INSERT INTO thing (id, s) VALUES (1, 'long')"),
                     SQL_REFUSED);
    assert_int_equal(asked(sql, "SELECT COUNT(*) FROM thing"), 0);
    assert_int_equal(asked(sql, "SELECT @@time_zone = '+00:00'"), 1);
    assert_int_equal(
        asked(sql,
              "SELECT @@character_set_client = 'utf8mb4' AND @@character_set_results = 'utf8mb4'"),
        1);
    sql_close(sql);
}

/* ---- Several statements --------------------------------------------------------------------- */

static void statements_in_one_packet_answer_in_order(void **state)
{
    (void)state;
    bool more;
    struct sql *sql = connect_to_test();
    assert_int_equal(send_text(sql, "UPDATE counter SET n = 5; SELECT n FROM counter ORDER BY id; "
                                    "SELECT 1 WHERE 1 = 0; SELECT 8"),
                     SQL_DONE);
    assert_int_equal(sql_affected(sql), 2);
    assert_false(sql_row(sql));
    assert_int_equal(sql_next(sql, &more), SQL_DONE);
    assert_true(more && sql_row(sql) && sql_u64(sql, 0) == 5 && sql_row(sql) && !sql_row(sql));
    assert_int_equal(sql_next(sql, &more), SQL_DONE);
    assert_true(more && !sql_row(sql));
    assert_int_equal(sql_next(sql, &more), SQL_DONE);
    assert_true(more && sql_row(sql) && sql_u64(sql, 0) == 8);
    assert_int_equal(sql_next(sql, &more), SQL_DONE);
    assert_false(more);
    sql_close(sql);
}

static void after_an_error_nothing_more_is_done(void **state)
{
    (void)state;
    static const char text[] =
        "UPDATE counter SET n = 1 WHERE id = 1; INSERT INTO counter VALUES (2, 9);"
        "UPDATE counter SET n = 3 WHERE id = 1";
    bool more = true;
    struct sql *sql = connect_to_test();
    assert_int_equal(send_text(sql, text), SQL_DONE);
    assert_int_equal(sql_next(sql, &more), SQL_REFUSED);
    assert_false(more);
    assert_non_null(strstr(sql_message(sql), "1062"));
    assert_int_equal(asked(sql, "SELECT n FROM counter WHERE id = 1"), 1);
    assert_int_equal(sql_run_text(sql, text), SQL_REFUSED);
    assert_int_equal(asked(sql, "SELECT n FROM counter WHERE id = 1"), 1);
    sql_close(sql);
}

static void an_error_that_nobody_took_is_the_next_answer(void **state)
{
    (void)state;
    struct sql *sql = connect_to_test();
    assert_int_equal(send_text(sql, "SELECT 1; INSERT INTO counter VALUES (2, 9)"), SQL_DONE);
    assert_int_equal(sql_run_text(sql, "UPDATE counter SET n = 3"), SQL_REFUSED);
    assert_int_equal(asked(sql, "SELECT SUM(n) FROM counter"), 0);
    assert_int_equal(send_text(sql, "SELECT 1; SELECT 2"), SQL_DONE);
    assert_int_equal(asked(sql, "SELECT 3"), 3);
    sql_close(sql);
}

static void statements_that_do_not_fit_are_refused_before_they_are_sent(void **state)
{
    (void)state;
    struct sql *root = connect_to_test();
    uint64_t before = asked(root, "SELECT @@GLOBAL.max_allowed_packet");
    assert_run(root, "SET GLOBAL max_allowed_packet = 1024");
    struct sql *sql = connect_to_test();
    struct buf text;
    buf_init(&text, TEXT_MAX);
    for (size_t n = 1023; n <= 1024; n++) {
        buf_clear(&text);
        buf_text(&text, "DO 1");
        while (text.len < n)
            buf_char(&text, ' ');
        assert_int_equal(sql_run(sql, &text), n == 1023 ? SQL_DONE : SQL_REFUSED);
    }
    assert_non_null(strstr(sql_message(sql), "max_allowed_packet"));
    text.failed = true;
    assert_int_equal(sql_run(sql, &text), SQL_REFUSED);
    assert_int_equal(asked(sql, "SELECT 4"), 4);
    buf_release(&text);
    sql_close(sql);
    buf_init(&text, TEXT_MAX);
    buf_printf(&text, "SET GLOBAL max_allowed_packet = %" PRIu64, before);
    assert_int_equal(sql_run(root, &text), SQL_DONE);
    buf_release(&text);
    sql_close(root);
}

/* ---- Locks ---------------------------------------------------------------------------------- */

struct second {
    struct sql *sql;
    const char *text;
    enum sql_outcome outcome;
};

static void *run_second(void *ctx)
{
    struct second *second = ctx;
    second->outcome = sql_run_text(second->sql, second->text);
    return NULL;
}

/* Each holds one row and wants the other's: one of them loses all that it did, and may go on at once. */
static void a_deadlock_undoes_one_of_two(void **state)
{
    (void)state;
    struct sql *a = connect_to_test();
    struct second b = {.sql = connect_to_test(),
                       .text = "UPDATE counter SET n = n + 10 WHERE id = 1"};
    pthread_t thread;
    assert_run(a, "BEGIN; UPDATE counter SET n = n + 1 WHERE id = 1");
    assert_run(b.sql, "BEGIN; UPDATE counter SET n = n + 10 WHERE id = 2");
    assert_int_equal(pthread_create(&thread, NULL, run_second, &b), 0);
    enum sql_outcome outcome = sql_run_text(a, "UPDATE counter SET n = n + 1 WHERE id = 2");
    if (outcome == SQL_AGAIN)
        assert_run(a, "SELECT 1"); /* its locks are gone, so the other went on */
    else
        assert_run(a, "COMMIT");
    pthread_join(thread, NULL);
    assert_int_equal((outcome == SQL_AGAIN) + (b.outcome == SQL_AGAIN), 1);
    assert_int_equal((outcome == SQL_DONE) + (b.outcome == SQL_DONE), 1);
    assert_int_equal(sql_err(SQL_AGAIN), TIDINGS_BUSY);
    assert_run(b.sql, "COMMIT");
    assert_int_equal(asked(a, "SELECT COUNT(DISTINCT n) FROM counter"), 1);
    assert_true(asked(a, "SELECT n FROM counter WHERE id = 1") == (outcome == SQL_AGAIN ? 10 : 1));
    sql_close(a);
    sql_close(b.sql);
}

static void a_lock_that_does_not_come_undoes_the_whole_transaction(void **state)
{
    (void)state;
    struct sql *a = connect_to_test(), *b = connect_to_test();
    assert_run(a, "BEGIN; UPDATE counter SET n = 1 WHERE id = 1");
    assert_run(b, "SET innodb_lock_wait_timeout = 0; BEGIN; UPDATE counter SET n = 2 WHERE id = 2");
    assert_int_equal(sql_run_text(b, "UPDATE counter SET n = 2 WHERE id = 1"), SQL_LOCKED);
    assert_int_equal(sql_err(SQL_LOCKED), TIDINGS_TIMEOUT);
    assert_run(b, "COMMIT");
    assert_run(a, "COMMIT");
    assert_int_equal(asked(b, "SELECT n FROM counter WHERE id = 1"), 1);
    assert_int_equal(asked(b, "SELECT n FROM counter WHERE id = 2"), 0);
    sql_close(a);
    sql_close(b);
}

static void a_statement_that_takes_too_long_undoes_the_whole_transaction(void **state)
{
    (void)state;
    struct sql *sql = connect_to_test();
    assert_run(sql, "SET max_statement_time = 0.05; BEGIN; UPDATE counter SET n = 2 WHERE id = 2");
    assert_int_equal(sql_run_text(sql, "SELECT SUM(seq % 7) FROM seq_1_to_1000000000"),
                     SQL_TIMEOUT);
    assert_int_equal(sql_err(SQL_TIMEOUT), TIDINGS_TIMEOUT);
    assert_run(sql, "COMMIT");
    assert_int_equal(asked(sql, "SELECT n FROM counter WHERE id = 2"), 0);
    sql_close(sql);
}

/* ---- A time by which all must be answered --------------------------------------------------- */

static void what_is_not_answered_by_its_time_is_lost(void **state)
{
    (void)state;
    struct sql *sql = connect_to_test();
    int64_t begun_ms = wait_now_ms();
    sql_until(sql, begun_ms + 60000);
    assert_run(sql, "SELECT 1");
    sql_until(sql, begun_ms + 300);
    /* Also behind a result that came in time. */
    assert_int_equal(sql_run_text(sql, "SELECT 1; SELECT SLEEP(30)"), SQL_LOST);
    assert_in_range(wait_now_ms() - begun_ms, 300, 10000);
    sql_close(sql);
}

/* Somebody who takes connections and says nothing. */
static void connecting_ends_in_time_as_well(void **state)
{
    (void)state;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof at), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &size), 0);
    struct sql_url url = {.user = "root", .host = "127.0.0.1", .port = ntohs(at.sin_port)};
    char why[512];
    int64_t begun_ms = wait_now_ms();
    assert_null(sql_open(&url, NULL, SILENT_MS, begun_ms + 300, why, sizeof why));
    assert_in_range(wait_now_ms() - begun_ms, 300, 10000);
    close(listener);
}

/* ---- Servers that do not -------------------------------------------------------------------- */

static void kill_connection(struct sql *by, uint64_t id)
{
    struct buf text;
    char storage[64];
    buf_init_borrowed(&text, storage, sizeof storage);
    buf_literal(&text, "KILL ");
    buf_u64(&text, id);
    assert_int_equal(sql_run(by, &text), SQL_DONE);
}

static void a_killed_connection_is_lost_for_good(void **state)
{
    (void)state;
    struct sql *by = connect_to_test(), *sql = connect_to_test();
    assert_run(sql, "BEGIN; UPDATE counter SET n = 2");
    kill_connection(by, asked(sql, "SELECT CONNECTION_ID()"));
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(sql_run_text(sql, "UPDATE counter SET n = 3"), SQL_LOST);
    assert_int_equal(sql_err(SQL_LOST), TIDINGS_UNREACHABLE);
    assert_true(*sql_message(sql));
    assert_false(sql_row(sql));
    assert_run(by, "SELECT n FROM counter FOR UPDATE"); /* waits until the other's locks are gone */
    assert_int_equal(asked(by, "SELECT SUM(n) FROM counter"), 0);
    sql_close(sql);
    sql_close(by);
}

static void what_the_server_gives_up_is_not_used_again(void **state)
{
    (void)state;
    struct sql *sql = connect_to_test();
    assert_int_equal(sql_run_text(sql, "SIGNAL SQLSTATE '70100' SET MYSQL_ERRNO = 1927"), SQL_LOST);
    assert_int_equal(sql_run_text(sql, "UPDATE counter SET n = 3"), SQL_LOST);
    sql_close(sql);
    sql = connect_to_test();
    assert_int_equal(asked(sql, "SELECT SUM(n) FROM counter"), 0);
    sql_close(sql);
}

static void a_silent_server_is_lost(void **state)
{
    (void)state;
    struct sql_url url = server_url();
    char why[512];
    struct sql *sql = sql_open(&url, NULL, 200, 0, why, sizeof why);
    assert_non_null(sql);
    assert_int_equal(sql_run_text(sql, "SELECT SLEEP(30)"), SQL_LOST);
    assert_int_equal(sql_run_text(sql, "SELECT 1"), SQL_LOST);
    sql_close(sql);
}

static void a_server_that_takes_no_changes_says_so(void **state)
{
    (void)state;
    struct sql *root = connect_to_test();
    assert_run(root, "CREATE OR REPLACE USER writer@localhost IDENTIFIED BY 'pass word';"
                     "GRANT SELECT, UPDATE ON *.* TO writer@localhost;"
                     "SET GLOBAL read_only = 1");
    struct sql_url url = server_url();
    strcpy(url.user, "writer");
    strcpy(url.database, database);
    struct sql *sql = connect_as(&url, "pass word");
    enum sql_outcome outcome = sql_run_text(sql, "UPDATE counter SET n = 1");
    assert_run(root, "SET GLOBAL read_only = 0");
    assert_int_equal(outcome, SQL_READ_ONLY);
    assert_int_equal(sql_err(SQL_READ_ONLY), TIDINGS_IO);
    assert_run(sql, "START TRANSACTION READ ONLY");
    assert_int_equal(sql_run_text(sql, "UPDATE counter SET n = 1"), SQL_READ_ONLY);
    sql_close(sql);
    sql_close(root);
}

static void a_full_table_is_told(void **state)
{
    (void)state;
    struct sql *sql = connect_to_test();
    assert_run(sql, "SET max_heap_table_size = 16384; CREATE TEMPORARY TABLE small (b CHAR(255)) "
                    "ENGINE=MEMORY");
    assert_int_equal(sql_run_text(sql, "INSERT INTO small SELECT 'x' FROM seq_1_to_100000"),
                     SQL_FULL);
    assert_int_equal(sql_err(SQL_FULL), TIDINGS_NO_SPACE);
    sql_close(sql);
}

/* What a disk without room answers; the server says it in our words, since ours has room. */
static void an_error_of_files_is_full_only_if_there_is_no_room(void **state)
{
    (void)state;
    struct sql *sql = connect_to_test();
    assert_int_equal(
        sql_run_text(sql, "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1030, MESSAGE_TEXT = "
                          "'Got error 28 \"No space left on device\" from storage engine InnoDB'"),
        SQL_FULL);
    assert_int_equal(
        sql_run_text(sql,
                     "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1026, MESSAGE_TEXT = "
                     "'Error writing file ''binlog'' (errno: 28 \"No space left on device\")'"),
        SQL_FULL);
    assert_int_equal(
        sql_run_text(sql, "SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1030, MESSAGE_TEXT = "
                          "'Got error 5 \"Input/output error\" from storage engine InnoDB'"),
        SQL_REFUSED);
    assert_run(sql, "SELECT 1");
    sql_close(sql);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(hostile_bytes_come_back_as_they_were, make_tables),
        cmocka_unit_test_setup(random_bytes_come_back_as_they_were, make_tables),
        cmocka_unit_test_setup(the_session_is_strict_and_in_utc, make_tables),
        cmocka_unit_test_setup(statements_in_one_packet_answer_in_order, make_tables),
        cmocka_unit_test_setup(after_an_error_nothing_more_is_done, make_tables),
        cmocka_unit_test_setup(an_error_that_nobody_took_is_the_next_answer, make_tables),
        cmocka_unit_test_setup(statements_that_do_not_fit_are_refused_before_they_are_sent,
                               make_tables),
        cmocka_unit_test_setup(a_deadlock_undoes_one_of_two, make_tables),
        cmocka_unit_test_setup(a_lock_that_does_not_come_undoes_the_whole_transaction, make_tables),
        cmocka_unit_test_setup(a_statement_that_takes_too_long_undoes_the_whole_transaction,
                               make_tables),
        cmocka_unit_test_setup(what_is_not_answered_by_its_time_is_lost, make_tables),
        cmocka_unit_test_setup(connecting_ends_in_time_as_well, make_tables),
        cmocka_unit_test_setup(a_killed_connection_is_lost_for_good, make_tables),
        cmocka_unit_test_setup(what_the_server_gives_up_is_not_used_again, make_tables),
        cmocka_unit_test_setup(a_silent_server_is_lost, make_tables),
        cmocka_unit_test_setup(a_server_that_takes_no_changes_says_so, make_tables),
        cmocka_unit_test_setup(a_full_table_is_told, make_tables),
        cmocka_unit_test_setup(an_error_of_files_is_full_only_if_there_is_no_room, make_tables),
    };
    return RUN_TESTS(tests);
}
