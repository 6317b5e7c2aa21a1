/* SPDX-License-Identifier: MIT */
/* Connections to the server of tests/support/with-mariadb, and that server at command. */
#ifndef TESTS_SQL_SQL_SUPPORT_H
#define TESTS_SQL_SQL_SUPPORT_H

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/wait.h"
#include "sql/sql.h"
#include "unit/test.h"

enum { SILENT_MS = 20000, TEXT_MAX = 1 << 20, PATIENCE_MS = 20000 };

static inline struct sql_url server_url(void)
{
    const char *text = getenv("TIDINGS_TEST_MYSQL"), *wrong = NULL;
    struct sql_url url;
    if (!text)
        fail_msg("TIDINGS_TEST_MYSQL is not set: run this under tests/support/with-mariadb");
    if (!sql_url_parse(text, &url, &wrong))
        fail_msg("TIDINGS_TEST_MYSQL: %s", wrong);
    return url;
}

static inline struct sql *connect_as(const struct sql_url *url, const char *password)
{
    char why[512] = "";
    struct sql *sql = sql_open(url, password, SILENT_MS, 0, why, sizeof why);
    if (!sql)
        fail_msg("%s", why);
    return sql;
}

static inline void assert_run(struct sql *sql, const char *text)
{
    enum sql_outcome outcome = sql_run_text(sql, text);
    if (outcome != SQL_DONE)
        fail_msg("%s: outcome %d, %s", text, outcome, sql_message(sql));
}

static inline enum sql_outcome send_text(struct sql *sql, const char *text)
{
    struct buf buf;
    buf_init(&buf, TEXT_MAX);
    buf_text(&buf, text);
    enum sql_outcome outcome = sql_send(sql, &buf);
    buf_release(&buf);
    return outcome;
}

/* The number that a statement answers. */
static inline uint64_t asked(struct sql *sql, const char *text)
{
    bool more;
    if (send_text(sql, text) != SQL_DONE)
        fail_msg("%s: %s", text, sql_message(sql));
    assert_true(sql_row(sql));
    uint64_t value = sql_u64(sql, 0);
    assert_false(sql_row(sql));
    assert_int_equal(sql_next(sql, &more), SQL_DONE);
    assert_false(more);
    return value;
}

/* Polls until the statement answers that number, for PATIENCE_MS at most. */
static inline void await_answer(struct sql *sql, const char *text, uint64_t wanted)
{
    int64_t end_ms = wait_now_ms() + PATIENCE_MS;
    uint64_t found;
    while ((found = asked(sql, text)) != wanted) {
        if (wait_now_ms() > end_ms)
            fail_msg("%s: %" PRIu64 " instead of %" PRIu64, text, found, wanted);
        nanosleep(&(struct timespec){0, 5000000}, NULL);
    }
}

/* So many transactions of the server wait for a lock. Not INNODB_TRX, which is renewed only every 100 ms. */
static inline void await_lock_waits(struct sql *sql, uint64_t n)
{
    await_answer(sql,
                 "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS "
                 "WHERE VARIABLE_NAME = 'INNODB_ROW_LOCK_CURRENT_WAITS'",
                 n);
}

/* Tells the server to pause, resume, kill, start: see tests/support/with-mariadb. */
static inline void server_do(const char *word)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    char line[512] = "";
    const char *path = getenv("TIDINGS_TEST_MYSQL_CONTROL");
    assert_non_null(path);
    assert_true(strlen(path) < sizeof at.sun_path);
    strcpy(at.sun_path, path);
    int control = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(connect(control, (struct sockaddr *)&at, sizeof at), 0);
    assert_true(dprintf(control, "%s\n", word) > 0);
    assert_true(read(control, line, sizeof line - 1) > 0);
    assert_string_equal(line, "ok\n");
    close(control);
}

#endif
