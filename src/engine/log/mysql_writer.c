/* SPDX-License-Identifier: MIT */
/* The writer's row: one statement each, so that a client that stands still holds no lock. */
#include <assert.h>

#include "engine/log/mysql_internal.h"

/* A fence counts on the server of MySQL where it was taken, and nowhere else; nor there once it is not the primary any more. */
#define HELD " WHERE id=1 AND server=@@server_id AND " LOG_WRITABLE " AND fence="

bool log_take_writer(const struct log_mysql *log, struct log_writer *writer)
{
    const struct sql *sql = log->sql;
    writer->fence = sql_u64(sql, 0);
    writer->holder = sql_u64(sql, 1);
    writer->server = sql_u64(sql, 3);
    writer->asked = sql_u64(sql, 4);
    writer->ready = sql_u64(sql, 5);
    writer->era = sql_u64(sql, 6);
    writer->position = sql_u64(sql, 7);
    writer->bytes = sql_u64(sql, 9);
    writer->until_ms = sql_i64(sql, 10);
    writer->lease_left_ms = sql_i64(sql, 11);
    writer->clock_ms = sql_i64(sql, 12);
    writer->writable = sql_u64(sql, 13);
    return log_take_address(log, 2, writer->address) &&
           log_take_bytes(log, 8, writer->chain, sizeof writer->chain);
}

enum log_outcome log_mysql_look(struct log_mysql *log, struct log_writer *writer)
{
    struct log_writer found;
    buf_literal(log_mysql_text(log),
                "SELECT " LOG_WRITER_COLUMNS " FROM tidings_writer w WHERE w.id=1");
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (!sql_row(log->sql) || !log_take_writer(log, &found))
        return log_say(log, LOG_CORRUPT, "tidings_writer has not the one row that it should have");
    *writer = found;
    return LOG_DONE;
}

enum log_outcome log_mysql_take(struct log_mysql *log, const struct log_writer *seen,
                                const struct log_holder *holder, uint64_t *fence)
{
    struct buf *text = log_mysql_text(log);
    size_t n = strlen(holder->address);
    assert(n <= LOG_ADDRESS_MAX);
    buf_literal(text, "UPDATE tidings_writer SET fence=fence+1,"
                      "ready=IF(server=@@server_id,ready,0),server=@@server_id,until=" LOG_UNTIL);
    log_put(text, ",holder=", holder->id);
    log_put_bytes(text, ",address=", holder->address, n);
    log_put(text, " WHERE id=1 AND fence=", seen->fence);
    log_put(text, " AND server=", seen->server);
    log_put(text, " AND @@server_id=", seen->asked);
    if (holder->holds)
        buf_literal(text, " AND server=@@server_id");
    else
        buf_printf(text,
                   " AND (until<=NOW(3) OR until>" LOG_UNTIL
                   " AND until=FROM_UNIXTIME(%lld.%03lld))",
                   (long long)seen->until_ms / 1000, (long long)seen->until_ms % 1000);
    enum log_outcome outcome =
        log_change_one(log, "another server has taken over, or the writer's lease is not over");
    if (outcome == LOG_DONE)
        *fence = seen->fence + 1;
    return outcome;
}

enum log_outcome log_mysql_confirm(struct log_mysql *log, const struct log_end *end, uint64_t era)
{
    struct buf *text = log_mysql_text(log);
    log_put(text, "UPDATE tidings_writer SET ready=1,until=" LOG_UNTIL ",era=", era);
    log_put(text, HELD, end->fence);
    log_put(text, " AND position=", end->position);
    log_put_bytes(text, " AND chain=", end->chain, sizeof end->chain);
    log_put(text, " AND era<=", era);
    return log_change_one(log, "another server has taken over, or the log goes on elsewhere");
}

enum log_outcome log_mysql_renew(struct log_mysql *log, uint64_t fence, uint64_t position)
{
    struct buf *text = log_mysql_text(log);
    log_put(text, "UPDATE tidings_writer SET until=" LOG_UNTIL HELD, fence);
    log_put(text, " AND position>=", position);
    return log_change_one(log, "another server has taken over, or the log went back");
}

enum log_outcome log_mysql_give_back(struct log_mysql *log, uint64_t fence)
{
    log_put(log_mysql_text(log), "UPDATE tidings_writer SET until=FROM_UNIXTIME(0)" HELD, fence);
    return log_change_one(log, "another server has taken over");
}
