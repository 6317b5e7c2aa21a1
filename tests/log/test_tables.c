/* SPDX-License-Identifier: MIT */
/* Making the tables of a log, and refusing what cannot be used. */
#include "engine/log/mysql_server.h"
#include "log/log_support.h"

static const uint8_t one[LOG_CLUSTER_BYTES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};

static void assert_refused(const char *words)
{
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_REFUSED);
    assert_says(log_a, words);
}

static void a_url_without_a_database_is_refused(void **state)
{
    (void)state;
    struct log_mysql *log = NULL;
    const char *wrong = "";
    assert_int_equal(log_mysql_open("mysql://root@localhost/", NULL, &log, &wrong), LOG_REFUSED);
    assert_non_null(strstr(wrong, "database"));
    assert_int_equal(log_mysql_open("http://localhost/x", NULL, &log, &wrong), LOG_REFUSED);
    assert_null(log);
    log_mysql_close(NULL);
}

static void a_log_begins_where_it_is_told_to(void **state)
{
    (void)state;
    struct log_beginning beginning = make_beginning(1);
    uint8_t cluster[LOG_CLUSTER_BYTES], secret[2][LOG_SECRET_BYTES], zeros[LOG_SECRET_BYTES] = {0};
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_EMPTY);
    begin_log();
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_DONE);
    assert_outcome(log_a, log_mysql_check(log_a, NULL), LOG_DONE);
    struct log_writer writer = look(log_a);
    assert_int_equal(writer.position, FIRST_POSITION);
    assert_int_equal(writer.era, ANY_ERA);
    assert_memory_equal(writer.chain, beginning.chain, sizeof writer.chain);
    assert_false(writer.ready);
    assert_true(writer.lease_left_ms <= 0);
    assert_int_equal(writer.server, writer.asked);
    assert_int_equal(writer.until_ms, 0);
    assert_true(writer.clock_ms > 1600000000000);
    assert_outcome(log_a, log_mysql_cluster(log_a, cluster), LOG_DONE);
    assert_memory_equal(cluster, beginning.cluster, sizeof cluster);
    assert_outcome(log_a, log_mysql_secret(log_a, secret[0]), LOG_DONE);
    assert_memory_not_equal(secret[0], zeros, sizeof zeros);
    /* Again, elsewhere: it stays as it is. */
    beginning.position = 7;
    assert_outcome(log_a, log_mysql_begin(log_a, &beginning), LOG_DONE);
    assert_int_equal(look(log_a).position, FIRST_POSITION);
    assert_outcome(log_a, log_mysql_secret(log_a, secret[1]), LOG_DONE);
    assert_memory_equal(secret[0], secret[1], sizeof zeros);
}

/* ---- Several at once ------------------------------------------------------------------------ */

enum { SERVERS = 8 };

struct beginner {
    pthread_t thread;
    struct log_mysql *log;
    struct log_beginning beginning;
    enum log_outcome outcome;
    uint8_t secret[LOG_SECRET_BYTES];
};

static void *run_beginner(void *ctx)
{
    struct beginner *beginner = ctx;
    beginner->outcome = log_mysql_begin(beginner->log, &beginner->beginning);
    if (!beginner->outcome)
        beginner->outcome = log_mysql_secret(beginner->log, beginner->secret);
    return NULL;
}

static void begin_all(struct beginner *beginners)
{
    for (unsigned i = 0; i < SERVERS; i++) {
        beginners[i].log = open_log(NULL);
        pthread_create(&beginners[i].thread, NULL, run_beginner, &beginners[i]);
    }
    for (unsigned i = 0; i < SERVERS; i++)
        pthread_join(beginners[i].thread, NULL);
}

static void eight_servers_begin_one_log(void **state)
{
    (void)state;
    struct beginner beginners[SERVERS];
    for (unsigned i = 0; i < SERVERS; i++)
        beginners[i] = (struct beginner){.beginning = make_beginning(1)};
    begin_all(beginners);
    for (unsigned i = 0; i < SERVERS; i++) {
        assert_outcome(beginners[i].log, beginners[i].outcome, LOG_DONE);
        assert_memory_equal(beginners[i].secret, beginners[0].secret, LOG_SECRET_BYTES);
        log_mysql_close(beginners[i].log);
    }
    assert_int_equal(asked(other, "SELECT COUNT(*) FROM tidings_writer"), 1);
}

static void of_eight_clusters_one_gets_the_database(void **state)
{
    (void)state;
    struct beginner beginners[SERVERS];
    unsigned done = 0;
    for (unsigned i = 0; i < SERVERS; i++)
        beginners[i] = (struct beginner){.beginning = make_beginning(i + 1)};
    begin_all(beginners);
    for (unsigned i = 0; i < SERVERS; i++) {
        done += beginners[i].outcome == LOG_DONE;
        if (beginners[i].outcome)
            assert_outcome(beginners[i].log, beginners[i].outcome, LOG_REFUSED);
        log_mysql_close(beginners[i].log);
    }
    assert_int_equal(done, 1);
}

/* ---- What is refused ------------------------------------------------------------------------ */

static void the_log_of_another_cluster_is_refused(void **state)
{
    (void)state;
    struct log_beginning beginning = make_beginning(2);
    assert_outcome(log_a, log_mysql_begin(log_a, &beginning), LOG_DONE);
    assert_refused("another cluster");
    beginning = make_beginning(1);
    assert_outcome(log_a, log_mysql_begin(log_a, &beginning), LOG_REFUSED);
    assert_says(log_a, "another cluster");
    assert_outcome(log_a, log_mysql_check(log_a, NULL), LOG_DONE);
}

static void tables_of_another_version_are_refused(void **state)
{
    (void)state;
    struct log_beginning beginning = make_beginning(1);
    begin_log();
    assert_run(other, "UPDATE tidings_setting SET value='1' WHERE name='schema'");
    assert_refused("older");
    assert_run(other, "UPDATE tidings_setting SET value='99' WHERE name='schema'");
    assert_refused("newer");
    assert_outcome(log_a, log_mysql_begin(log_a, &beginning), LOG_REFUSED);
    assert_says(log_a, "newer");
}

static void settings_that_are_not_as_long_as_they_should_be_are_corrupt(void **state)
{
    (void)state;
    uint8_t secret[LOG_SECRET_BYTES];
    begin_log();
    assert_run(other, "UPDATE tidings_setting SET value=CONCAT(value,'x') WHERE name<>'schema'");
    assert_outcome(log_a, log_mysql_secret(log_a, secret), LOG_CORRUPT);
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_CORRUPT);
    assert_run(other, "DELETE FROM tidings_writer");
    struct log_writer writer;
    assert_outcome(log_a, log_mysql_look(log_a, &writer), LOG_CORRUPT);
}

/* Of a server that was killed while it made them. */
static void tables_that_are_not_all_there_are_made(void **state)
{
    (void)state;
    begin_log();
    assert_run(other, "DROP TABLE tidings_replica; DELETE FROM tidings_setting; DELETE FROM "
                      "tidings_writer");
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_EMPTY);
    begin_log();
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_DONE);
}

static void a_part_of_a_log_does_not_become_another(void **state)
{
    (void)state;
    struct log_beginning beginning = make_beginning(1);
    begin_log();
    assert_run(other, "DELETE FROM tidings_setting");
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_EMPTY);
    assert_outcome(log_a, log_mysql_begin(log_a, &beginning), LOG_REFUSED);
    assert_says(log_a, "part of a log");
}

static void a_table_that_is_not_innodb_is_refused(void **state)
{
    (void)state;
    begin_log();
    assert_run(other, "ALTER TABLE tidings_log ENGINE=Aria");
    assert_refused("InnoDB");
}

static void a_foreign_table_is_fine(void **state)
{
    (void)state;
    assert_run(other,
               "CREATE TABLE tidings_table (id INT) ENGINE=Aria; CREATE TABLE user (id INT)");
    begin_log();
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_DONE);
}

/* With the server set so, and back to what it was. */
static void assert_refused_with(const char *variable, const char *value, const char *words)
{
    char text[256];
    snprintf(text, sizeof text, "SET @was=@@global.%s; SET GLOBAL %s=%s", variable, variable,
             value);
    assert_run(other, text);
    enum log_outcome outcome = log_mysql_check(log_a, one);
    snprintf(text, sizeof text, "SET GLOBAL %s=@was", variable);
    assert_run(other, text);
    assert_outcome(log_a, outcome, LOG_REFUSED);
    assert_says(log_a, words);
}

static void a_server_that_is_not_fit_is_refused(void **state)
{
    (void)state;
    assert_refused_with("read_only", "1", "read-only: name the primary");
    assert_refused_with("max_allowed_packet", "33554432", "max_allowed_packet");
    assert_refused_with("innodb_flush_log_at_trx_commit", "2", "innodb_flush_log_at_trx_commit=1");
    assert_refused_with("binlog_format", "'STATEMENT'", "binlog_format");
    assert_outcome(log_a, log_mysql_check(log_a, one), LOG_EMPTY);
}

/* Settings of the server that a session begins with are of no consequence. */
static void sessions_do_not_depend_on_the_servers_settings(void **state)
{
    (void)state;
    static const struct {
        const char *name, *value;
    } settings[] = {
        {"autocommit", "0"},
        {"completion_type", "'CHAIN'"},
        {"sql_mode", "'ANSI,NO_BACKSLASH_ESCAPES'"},
        {"tx_read_only", "1"},
        {"tx_isolation", "'SERIALIZABLE'"},
        {"time_zone", "'+11:00'"},
        {"character_set_server", "'ucs2'"},
    };
    char text[256];
    begin_log();
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        snprintf(text, sizeof text, "SET @was=@@global.%s; SET GLOBAL %s=%s", settings[i].name,
                 settings[i].name, settings[i].value);
        assert_run(other, text);
        struct log_mysql *log = open_log(NULL);
        enum log_outcome outcome = log_mysql_check(log, one);
        snprintf(text, sizeof text, "SET GLOBAL %s=@was", settings[i].name);
        assert_run(other, text);
        assert_outcome(log, outcome, LOG_DONE);
        end_lease();
        struct log_end end = make_end(become_writer(log, 1), look(log).position, 0);
        must_append(log, &end, "text");
        must_append(log, &end, "text");
        assert_outcome(log, log_mysql_renew(log, end.fence, 0), LOG_DONE);
        assert_run(other, "SET innodb_lock_wait_timeout=1"); /* nothing is locked */
        end_lease();
        log_mysql_close(log);
    }
    assert_int_equal(look(log_a).position, FIRST_POSITION + 2 * COUNT_OF(settings));
}

/* What no server here can be made to be. */
static void servers_that_cannot_be_had_here_are_refused(void **state)
{
    (void)state;
    const struct log_server fine = {.packet = LOG_PACKET_MIN, .server_id = 1, .nodes = 1};
    struct log_server server = fine;
    assert_null(log_server_refusal(&server));
    server.is_galera = true;
    assert_null(log_server_refusal(&server));
    server.nodes = 2;
    assert_non_null(strstr(log_server_refusal(&server), "Galera"));
    server.is_galera = false; /* the library is there, and nobody uses it */
    assert_null(log_server_refusal(&server));
    server = fine;
    server.server_id = 0;
    assert_non_null(strstr(log_server_refusal(&server), "server_id"));
    server = fine;
    server.innodb_read_only = true;
    assert_non_null(strstr(log_server_refusal(&server), "innodb_read_only"));
    server = fine;
    server.packet--;
    assert_non_null(strstr(log_server_refusal(&server), "max_allowed_packet"));
    server = fine;
    server.logs_statements = true;
    assert_null(log_server_refusal(&server)); /* it has no binary log */
}

static struct bytes text_of(const char *text)
{
    return (struct bytes){(const uint8_t *)text, strlen(text)};
}

static void variables_that_cannot_be_had_here_are_understood(void **state)
{
    (void)state;
    struct log_server server = {0};
    log_server_note(&server, text_of("super_read_only"), text_of("ON"));
    log_server_note(&server, text_of("read_only"), text_of("OFF"));
    assert_true(server.read_only);
    log_server_note(&server, text_of("innodb_read_only"), text_of("ON"));
    assert_true(server.innodb_read_only);
    log_server_note(&server, text_of("wsrep_on"), text_of("ON"));
    log_server_note(&server, text_of("wsrep_cluster_size"), text_of("3"));
    assert_true(server.is_galera);
    assert_int_equal(server.nodes, 3);
    log_server_note(&server, text_of("server_id"), text_of("4294967295"));
    assert_true(server.server_id == UINT32_MAX);
    log_server_note(&server, text_of("max_allowed_packet"),
                    text_of("99999999999999999999999999999999999999"));
    log_server_note(&server, text_of("another"), text_of(""));
}

int test_log_tables(void)
{
    const struct CMUnitTest tests[] = {
        LOG_TEST(a_url_without_a_database_is_refused),
        LOG_TEST(a_log_begins_where_it_is_told_to),
        LOG_TEST(eight_servers_begin_one_log),
        LOG_TEST(of_eight_clusters_one_gets_the_database),
        LOG_TEST(the_log_of_another_cluster_is_refused),
        LOG_TEST(tables_of_another_version_are_refused),
        LOG_TEST(settings_that_are_not_as_long_as_they_should_be_are_corrupt),
        LOG_TEST(tables_that_are_not_all_there_are_made),
        LOG_TEST(a_part_of_a_log_does_not_become_another),
        LOG_TEST(a_table_that_is_not_innodb_is_refused),
        LOG_TEST(a_foreign_table_is_fine),
        LOG_TEST(a_server_that_is_not_fit_is_refused),
        LOG_TEST(sessions_do_not_depend_on_the_servers_settings),
        cmocka_unit_test(servers_that_cannot_be_had_here_are_refused),
        cmocka_unit_test(variables_that_cannot_be_had_here_are_understood),
    };
    return RUN_TESTS(tests);
}
