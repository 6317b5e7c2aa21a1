/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

#include "base/wait.h"
#include "consume/tables_internal.h"

/*
 * A transaction is one packet; so only one that was refused can stay open, if whoever sent it stands still. Its lock ends with its
 * connection, after a few seconds without a statement. A lock that does not come says that nothing was done.
 */
static const char session[] =
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;"
    "SET SESSION completion_type=0, innodb_lock_wait_timeout=5, wait_timeout=5";

struct buf *tables_text(struct tables *tables)
{
    buf_clear(&tables->text);
    return &tables->text;
}

void tables_put(struct buf *text, const char *words, uint64_t number)
{
    buf_text(text, words);
    buf_u64(text, number);
}

void tables_put_time(struct buf *text, uint64_t ms)
{
    enum { DATETIME_MAX_S = 253402300799 }; /* the end of the year 9999 */
    struct tm at = {0};
    uint64_t s = ms / 1000;
    time_t time = (time_t)(s < (uint64_t)DATETIME_MAX_S ? s : (uint64_t)DATETIME_MAX_S);
    gmtime_r(&time, &at);
    buf_printf(text, "'%04d-%02d-%02d %02d:%02d:%02d.%03d'", at.tm_year + 1900, at.tm_mon + 1,
               at.tm_mday, at.tm_hour, at.tm_min, at.tm_sec, (int)(ms % 1000));
}

void tables_disconnect(struct tables *tables)
{
    sql_close(tables->sql);
    tables->sql = NULL;
    tables->has_place = false;
}

bool tables_fail(struct tables *tables, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(tables->trouble, sizeof tables->trouble, format, values);
    va_end(values);
    tables_disconnect(tables);
    return false;
}

static bool tables_fail_sql(struct tables *tables, enum sql_outcome outcome)
{
    if (outcome == SQL_FENCED)
        return tables_fail(tables, "another server has moved the tables on");
    return tables_fail(tables, "%s", sql_message(tables->sql));
}

bool tables_connect(struct tables *tables)
{
    if (tables->sql && sql_is_alive(tables->sql))
        return true;
    tables_disconnect(tables);
    tables->sql =
        sql_open(&tables->url, tables->password, TABLES_SILENT_MS, wait_now_ms() + TABLES_SILENT_MS,
                 tables->trouble, sizeof tables->trouble);
    if (!tables->sql)
        return false;
    sql_until(tables->sql, 0);
    enum sql_outcome outcome = sql_run_text(tables->sql, session);
    return !outcome || tables_fail_sql(tables, outcome);
}

bool tables_ask(struct tables *tables)
{
    if (!tables_connect(tables))
        return false;
    enum sql_outcome outcome = sql_send(tables->sql, &tables->text);
    return !outcome || tables_fail_sql(tables, outcome);
}

bool tables_next(struct tables *tables)
{
    bool more;
    enum sql_outcome outcome = sql_next(tables->sql, &more);
    return !outcome || tables_fail_sql(tables, outcome);
}

bool tables_run(struct tables *tables)
{
    if (!tables_connect(tables))
        return false;
    enum sql_outcome outcome = sql_run(tables->sql, &tables->text);
    return !outcome || tables_fail_sql(tables, outcome);
}
