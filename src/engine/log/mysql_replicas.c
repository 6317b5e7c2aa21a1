/* SPDX-License-Identifier: MIT */
#include <assert.h>

#include "engine/log/mysql_internal.h"

enum log_outcome log_mysql_register(struct log_mysql *log, const struct log_replica *replica)
{
    struct buf *text = log_mysql_text(log);
    uint64_t rows;
    log_put(text,
            "INSERT INTO tidings_replica (id,address,position,era,image_position,seen) VALUES (",
            replica->id);
    log_put_bytes(text, ",", replica->address, strlen(replica->address));
    log_put(text, ",", replica->position);
    log_put(text, ",", replica->era);
    log_put(text, ",", replica->image_position);
    buf_literal(text, ",NOW(3)) ON DUPLICATE KEY UPDATE address=VALUES(address),"
                      "position=VALUES(position),era=VALUES(era),"
                      "image_position=VALUES(image_position),seen=VALUES(seen)");
    return log_change(log, &rows);
}

static bool take_replica(const struct log_mysql *log, struct log_replica *replica)
{
    const struct sql *sql = log->sql;
    int64_t silent_ms = sql_i64(sql, 5);
    replica->id = sql_u64(sql, 0);
    replica->position = sql_u64(sql, 2);
    replica->era = sql_u64(sql, 3);
    replica->image_position = sql_u64(sql, 4);
    replica->silent_ms = silent_ms > 0 ? silent_ms : 0; /* MySQL's clock was set back */
    return log_take_address(log, 1, replica->address);
}

enum log_outcome log_mysql_replicas(struct log_mysql *log, struct log_replica *replicas, size_t max,
                                    size_t *n)
{
    struct buf *text = log_mysql_text(log);
    size_t found = 0;
    assert(max <= LOG_REPLICAS_MAX);
    log_put(text,
            "SELECT id,address,position,era,image_position,TIMESTAMPDIFF(MICROSECOND,seen,NOW(3)) "
            "DIV 1000 FROM tidings_replica ORDER BY seen DESC,id LIMIT ",
            max);
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    for (; found < max && sql_row(log->sql); found++)
        if (!take_replica(log, &replicas[found]))
            return log_say(log, LOG_CORRUPT, "tidings_replica has an address that is too long");
    *n = found;
    return LOG_DONE;
}

enum log_outcome log_mysql_forget(struct log_mysql *log, uint64_t id)
{
    uint64_t rows;
    log_put(log_mysql_text(log), "DELETE FROM tidings_replica WHERE id=", id);
    return log_change(log, &rows);
}
