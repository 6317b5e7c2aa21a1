/* SPDX-License-Identifier: MIT */
/*
 * The connection, and what becomes of statements. A call that fails ends its connection, whatever the reason: so no transaction
 * stays open, no lock of MySQL's is held, and the next call begins with a session that is as it should be.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/wait.h"
#include "engine/log/mysql_internal.h"

/* Between calls; a larger text is freed. */
enum { TEXT_KEPT = 1 << 20 };

/*
 * READ COMMITTED: an UPDATE that finds the row otherwise keeps no lock on it. A lock that does not come within a second is an error that
 * says that nothing was done, which a deadline would not. The rest is what a server's settings could have made otherwise.
 */
static const char session[] = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;"
                              "SET SESSION completion_type=0, innodb_lock_wait_timeout=1 "
                              "/*M!100301 , idle_write_transaction_timeout=3*/";

/* Half of all numbers, so that it can be counted on for long. */
static bool draw_id(uint64_t *id)
{
    bool is_drawn = getrandom(id, sizeof *id, 0) == (ssize_t)sizeof *id;
    *id >>= 1;
    return is_drawn;
}

enum log_outcome log_mysql_open(const char *url, const char *password, struct log_mysql **log,
                                const char **message)
{
    struct sql_url parsed;
    if (!sql_url_parse(url, &parsed, message))
        return LOG_REFUSED;
    if (!*parsed.database) {
        *message = "the URL names no database";
        return LOG_REFUSED;
    }
    struct log_mysql *made = calloc(1, sizeof *made);
    char *copy = password ? strdup(password) : NULL;
    if (!made || (password && !copy) || !draw_id(&made->append_id)) {
        *message = "there is no memory for a connection, or there are no random bytes";
        free(made);
        free(copy);
        return LOG_FAILED;
    }
    made->url = parsed;
    made->password = copy;
    made->deadline_ms = LOG_DEADLINE_MS;
    buf_init(&made->text, LOG_PACKET_MIN);
    *log = made;
    return LOG_DONE;
}

void log_mysql_close(struct log_mysql *log)
{
    if (!log)
        return;
    sql_close(log->sql);
    buf_release(&log->text);
    if (log->password)
        explicit_bzero(log->password, strlen(log->password));
    free(log->password);
    free(log);
}

void log_mysql_set_deadline(struct log_mysql *log, int64_t deadline_ms)
{
    assert(deadline_ms > 0);
    log->deadline_ms = deadline_ms;
}

const char *log_mysql_message(const struct log_mysql *log)
{
    return log->message;
}

enum log_outcome log_say(struct log_mysql *log, enum log_outcome outcome, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    vsnprintf(log->message, sizeof log->message, format, values);
    va_end(values);
    return outcome;
}

void log_disconnect(struct log_mysql *log)
{
    sql_close(log->sql);
    log->sql = NULL;
}

bool log_connect(struct log_mysql *log)
{
    int64_t until_ms = wait_now_ms() + log->deadline_ms;
    if (log->sql && !sql_is_alive(log->sql))
        log_disconnect(log);
    if (log->sql) {
        sql_until(log->sql, until_ms);
        return true;
    }
    log->sql = sql_open(&log->url, log->password, log->deadline_ms, until_ms, log->message,
                        sizeof log->message);
    if (!log->sql)
        return false;
    enum sql_outcome outcome = sql_run_text(log->sql, session);
    if (outcome)
        log_fail(log, outcome, false);
    return !outcome;
}

enum log_outcome log_fail(struct log_mysql *log, enum sql_outcome outcome, bool changes)
{
    bool sent = sql_was_sent(log->sql);
    log_say(log, LOG_FAILED, "%s", sql_message(log->sql));
    log_disconnect(log);
    if (outcome != SQL_LOST)
        return LOG_FAILED;
    return changes && sent ? LOG_UNKNOWN : LOG_UNREACHABLE;
}

struct buf *log_mysql_text(struct log_mysql *log)
{
    if (log->text.cap > TEXT_KEPT)
        buf_release(&log->text);
    buf_clear(&log->text);
    return &log->text;
}

enum log_outcome log_ask(struct log_mysql *log)
{
    if (!log_connect(log))
        return LOG_UNREACHABLE;
    enum sql_outcome outcome = sql_send(log->sql, &log->text);
    return outcome ? log_fail(log, outcome, false) : LOG_DONE;
}

enum log_outcome log_change(struct log_mysql *log, uint64_t *rows)
{
    if (!log_connect(log))
        return LOG_UNREACHABLE;
    enum sql_outcome outcome = sql_run_counted(log->sql, &log->text, rows);
    return outcome ? log_fail(log, outcome, true) : LOG_DONE;
}

enum log_outcome log_change_one(struct log_mysql *log, const char *refusal)
{
    uint64_t rows = 0;
    enum log_outcome outcome = log_change(log, &rows);
    if (outcome == LOG_DONE && !rows)
        return log_say(log, LOG_REFUSED, "%s", refusal);
    return outcome;
}

/* ---- Fields --------------------------------------------------------------------------------- */

void log_put(struct buf *text, const char *words, uint64_t number)
{
    buf_text(text, words);
    buf_u64(text, number);
}

void log_put_bytes(struct buf *text, const char *words, const void *bytes, size_t n)
{
    buf_text(text, words);
    sql_put_bytes(text, (struct bytes){bytes, n});
}

bool log_take_bytes(const struct log_mysql *log, unsigned field, void *to, size_t n)
{
    struct bytes from = sql_bytes(log->sql, field);
    if (from.n != n)
        return false;
    memcpy(to, from.p, n);
    return true;
}

bool log_take_address(const struct log_mysql *log, unsigned field, char *to)
{
    struct bytes from = sql_bytes(log->sql, field);
    if (from.n > LOG_ADDRESS_MAX)
        return false;
    if (from.n)
        memcpy(to, from.p, from.n);
    to[from.n] = '\0';
    return true;
}

enum log_outcome log_mysql_local_host(struct log_mysql *log, char host[LOG_HOST_BYTES])
{
    _Static_assert((int)LOG_HOST_BYTES == (int)SQL_HOST_BYTES, "the same text");
    if (!log_connect(log))
        return LOG_UNREACHABLE;
    sql_local_host(log->sql, host);
    return LOG_DONE;
}
