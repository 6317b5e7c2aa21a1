/* SPDX-License-Identifier: MIT */
/* What the files of this folder share. Statements are put together in log->text and run by one of the functions below. */
#ifndef ENGINE_LOG_MYSQL_INTERNAL_H
#define ENGINE_LOG_MYSQL_INTERNAL_H

#include "base/buf.h"
#include "engine/log/mysql_log.h"
#include "sql/sql.h"

struct log_mysql {
    struct sql_url url;
    char *password;
    struct sql *sql; /* NULL: not connected */
    int64_t deadline_ms;
    uint64_t
        append_id; /* of the last append; begins at random, so that no other connection has the same */
    struct buf text;
    char message[768];
    struct log_record records[LOG_RECORDS_MAX]; /* of the last batch */
};

/* Empties log->text for statements. */
struct buf *log_mysql_text(struct log_mysql *log);
/* Connects if need be; false: LOG_UNREACHABLE, with a message. The call must have ended when its deadline is over. */
bool log_connect(struct log_mysql *log);
/* The next call connects anew. */
void log_disconnect(struct log_mysql *log);
/* Every failure ends the connection: the server undoes what was not committed. */
enum log_outcome log_fail(struct log_mysql *log, enum sql_outcome outcome, bool changes);
enum log_outcome log_say(struct log_mysql *log, enum log_outcome outcome, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Runs log->text: one statement that answers rows, which are there until the next call. */
enum log_outcome log_ask(struct log_mysql *log);
/* Runs log->text: statements that change something; *rows: how many the last was about. */
enum log_outcome log_change(struct log_mysql *log, uint64_t *rows);
/* The same for a statement that is about a row if that is as the caller believes: LOG_REFUSED with this message if not. */
enum log_outcome log_change_one(struct log_mysql *log, const char *refusal);

/* The settings of the server of MySQL. */
struct log_server;
enum log_outcome log_server_read(struct log_mysql *log, struct log_server *server);

/* Whether there are tables of this program's with a log: LOG_EMPTY, LOG_REFUSED if not. */
enum log_outcome log_tables_judge(struct log_mysql *log);

/* A number that follows text. */
void log_put(struct buf *text, const char *words, uint64_t number);
void log_put_bytes(struct buf *text, const char *words, const void *bytes, size_t n);

/* Copies a field of exactly n bytes. */
bool log_take_bytes(const struct log_mysql *log, unsigned field, void *to, size_t n);
/* Copies a field of at most LOG_ADDRESS_MAX bytes. */
bool log_take_address(const struct log_mysql *log, unsigned field, char *to);

/*
 * Condition: the server takes changes from everybody. Users with enough privileges can change a read-only server, which is the
 * former primary after a switchover: what is written there is lost. Newer servers say OFF instead of 0.
 */
#define LOG_WRITABLE "CAST(@@GLOBAL.read_only AS CHAR) IN ('0','OFF')"

/* The columns of log_take_writer, of a table that is called w; and the number of columns. */
#define LOG_WRITER_COLUMNS                                                              \
    "w.fence,w.holder,w.address,w.server,@@server_id,w.ready,w.era,w.position,w.chain," \
    "w.bytes,CAST(UNIX_TIMESTAMP(w.until)*1000 AS SIGNED),TIMESTAMPDIFF(MICROSECOND,"   \
    "NOW(3),w.until) DIV 1000,CAST(UNIX_TIMESTAMP(NOW(3))*1000 AS SIGNED)," LOG_WRITABLE
enum { LOG_WRITER_FIELDS = 14 };
/* False: no server writes such a row. */
bool log_take_writer(const struct log_mysql *log, struct log_writer *writer);

/*
 * Condition on an image h that can be had: it is done, not ahead of the log and does not contradict it. One that does is of a
 * history that was lost, which is reported elsewhere.
 */
#define LOG_IMAGE_USABLE                                                                   \
    "h.done=1 AND h.position<=(SELECT position FROM tidings_writer WHERE id=1) AND NOT EX" \
    "ISTS (SELECT 1 FROM tidings_log l WHERE l.position=h.position AND l.chain<>h.chain) " \
    "AND NOT EXISTS (SELECT 1 FROM tidings_writer v WHERE v.id=1 AND v.position=h.positio" \
    "n AND v.chain<>h.chain)"

#define LOG_UNTIL "NOW(3)+INTERVAL 3 SECOND"
_Static_assert(LOG_LEASE_MS == 3000, "LOG_UNTIL says the same");

#endif
