/* SPDX-License-Identifier: MIT */
/* Connections to the server of tests/support/with-mariadb. */
#ifndef TESTS_CLUSTER_SQL_SUPPORT_H
#define TESTS_CLUSTER_SQL_SUPPORT_H

#include <string.h>

#include "sql/sql.h"
#include "support/engine.h"
#include "unit/test.h"

enum { SILENT_MS = 20000, TEXT_MAX = 1 << 20 };

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

/* To the database that the directory stands for. */
static inline struct sql *connect_to_data(const char *dir)
{
    char name[DATABASE_BYTES];
    struct sql_url url = server_url();
    engine_database(dir, name);
    snprintf(url.database, sizeof url.database, "%s", name);
    return connect_as(&url, "");
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

#endif
