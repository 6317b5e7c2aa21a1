/* SPDX-License-Identifier: MIT */
/*
 * Another history in the place of the log's. One packet, one transaction: the writer's row is moved first, if it is as it was seen,
 * and gets a number that this call alone has drawn; everything else is removed if the row has that number. So a server that takes
 * over meanwhile keeps its log, and one that was writing finds another fence.
 */
#include <assert.h>

#include "engine/log/mysql_internal.h"

/* Removing a long log in one transaction takes its time. */
enum { RESTART_MS = 600000 };

#define MOVED " WHERE EXISTS (SELECT 1 FROM tidings_writer WHERE id=1 AND append_id="

static void put_move(struct buf *text, const struct log_writer *seen,
                     const struct log_beginning *beginning, uint64_t number)
{
    log_put(text,
            "BEGIN;UPDATE tidings_writer SET fence=fence+1,holder=0,address=x'',"
            "server=@@server_id,ready=0,bytes=0,until=FROM_UNIXTIME(0),era=",
            beginning->era);
    log_put(text, ",position=", beginning->position);
    log_put_bytes(text, ",chain=", beginning->chain, sizeof beginning->chain);
    log_put(text, ",append_id=", number);
    log_put(text, " WHERE id=1 AND fence=", seen->fence);
    log_put(text, " AND position=", seen->position);
    log_put_bytes(text, " AND chain=", seen->chain, sizeof seen->chain);
    log_put(text, " AND until<=NOW(3) AND " LOG_WRITABLE " AND era<", beginning->era);
}

/* Which cluster's log it is, and whose it was. */
static void put_cluster(struct buf *text, const struct log_beginning *beginning, uint64_t number)
{
    buf_literal(text, ";INSERT IGNORE INTO tidings_setting SELECT CONCAT('former ',HEX(s.value)),"
                      "x'' FROM tidings_setting s JOIN tidings_writer w ON w.id=1");
    log_put(text, " AND w.append_id=", number);
    log_put_bytes(text, " WHERE s.name='cluster' AND s.value<>", beginning->cluster,
                  LOG_CLUSTER_BYTES);
    log_put_bytes(text, ";UPDATE tidings_setting SET value=", beginning->cluster,
                  LOG_CLUSTER_BYTES);
    log_put(text, MOVED, number);
    log_put_bytes(text,
                  ") AND name='cluster';DELETE FROM tidings_setting WHERE name=CONCAT('former ',"
                  "HEX(",
                  beginning->cluster, LOG_CLUSTER_BYTES);
    log_put(text, ")) AND EXISTS (SELECT 1 FROM tidings_writer WHERE id=1 AND append_id=", number);
    buf_char(text, ')');
}

enum log_outcome log_mysql_restart(struct log_mysql *log, const struct log_writer *seen,
                                   const struct log_beginning *beginning)
{
    static const char *const tables[] = {"tidings_log", "tidings_image", "tidings_image_head",
                                         "tidings_replica"};
    struct buf *text = log_mysql_text(log);
    uint64_t number = ++log->append_id, rows;
    int64_t deadline_ms = log->deadline_ms;
    put_move(text, seen, beginning, number);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        buf_printf(text, ";DELETE FROM %s", tables[i]);
        log_put(text, MOVED, number);
        buf_char(text, ')');
    }
    put_cluster(text, beginning, number);
    buf_literal(text, ";COMMIT");
    log->deadline_ms = RESTART_MS;
    enum log_outcome outcome = log_change(log, &rows);
    log->deadline_ms = deadline_ms;
    if (outcome)
        return outcome;
    log_put(log_mysql_text(log), "SELECT append_id=", number);
    buf_literal(&log->text, " FROM tidings_writer WHERE id=1");
    outcome = log_ask(log);
    if (outcome)
        return LOG_UNKNOWN;
    return sql_row(log->sql) && sql_u64(log->sql, 0) == 1
               ? LOG_DONE
               : log_say(log, LOG_REFUSED,
                         "another server has taken over meanwhile, or the lease is not over");
}
