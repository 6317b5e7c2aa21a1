/* SPDX-License-Identifier: MIT */
/*
 * A connection to MySQL or MariaDB, for one thread at a time. Statements are text that is put together here and holds numbers
 * and hexadecimal digits besides the program's own words: no text of a user is ever part of a statement.
 */
#ifndef SQL_SQL_H
#define SQL_SQL_H

#include "base/buf.h"
#include "base/bytes.h"
#include "sql/url.h"
#include "tidings.h"

struct sql;

/* What became of statements. */
enum sql_outcome {
    SQL_DONE,
    SQL_AGAIN,  /* a deadlock: all of the transaction is undone, and may be tried again */
    SQL_LOCKED, /* a lock did not come in time: all of the transaction is undone */
    SQL_FENCED, /* what must not be NULL was: a statement's way to say that it must not be done */
    SQL_LOST,   /* the connection is gone; whether a COMMIT under way happened is not known */
    SQL_READ_ONLY, /* the server takes no changes */
    SQL_FULL,      /* the server has no room */
    SQL_TIMEOUT,   /* a statement took too long; all of the transaction is undone */
    SQL_REFUSED,   /* anything else: sql_message tells */
};

/*
 * Connects within so many milliseconds; later, a server that takes as long for an answer counts as lost. So does one that has
 * not answered when the monotonic clock says until_ms; 0: there is no such time. The session is strict, in UTC, and commits
 * each statement outside a transaction. NULL: `why` says what is wrong, without the password.
 */
struct sql *sql_open(const struct sql_url *url, const char *password, int64_t silent_ms,
                     int64_t until_ms, char *why, size_t why_size);
/* Another such time, for what is asked from now on. */
void sql_until(struct sql *sql, int64_t until_ms);
void sql_close(struct sql *sql);

/*
 * Sends the statements, several separated by `;`, in one packet, and waits for the first result. The others, and the
 * errors of later statements, come with sql_next: after an error the statements behind it are not executed. Results of
 * the statements before that nobody took are taken first, and an error among them is the answer: then nothing was sent.
 */
enum sql_outcome sql_send(struct sql *sql, const struct buf *text);
/* Moves to the next statement's result; *more is false behind the last one. */
enum sql_outcome sql_next(struct sql *sql, bool *more);
/* Sends and takes all results, whatever rows they have: for what answers nothing. */
enum sql_outcome sql_run(struct sql *sql, const struct buf *text);
enum sql_outcome sql_run_text(struct sql *sql, const char *text);
/* The same, and how many rows the last statement was about. */
enum sql_outcome sql_run_counted(struct sql *sql, const struct buf *text, uint64_t *rows);

/* The next row of the present result, if there is one. Fields stay until the next sql_next. */
bool sql_row(struct sql *sql);
unsigned sql_columns(const struct sql *sql);
bool sql_is_null(const struct sql *sql, unsigned field);
struct bytes sql_bytes(const struct sql *sql, unsigned field);
uint64_t sql_u64(const struct sql *sql, unsigned field);
int64_t sql_i64(const struct sql *sql, unsigned field);
/* Rows that the last statement was about, whether they were as it says already or not. */
uint64_t sql_affected(const struct sql *sql);

/* What the server said of the last failure; static or the connection's. */
const char *sql_message(const struct sql *sql);

/* Whether the last statements that were to be sent went out whole. If not, the server has done none of them. */
bool sql_was_sent(const struct sql *sql);
/* False: the server has hung up. Only between statements, when all results are taken. */
bool sql_is_alive(const struct sql *sql);

/* The error that callers of the engine get for an outcome. */
enum tidings_err sql_err(enum sql_outcome outcome);

/* ---- Putting statements together ------------------------------------------------------------ */

/* The bytes as a hexadecimal literal, x'…'. */
void sql_put_bytes(struct buf *text, struct bytes bytes);
/* The same as characters of utf8mb4. */
void sql_put_text(struct buf *text, struct bytes bytes);

/* Writes the address by which this machine is connected to the server, "10.0.0.1" or "[::1]"; "127.0.0.1" over a socket in
 * the file system. */
enum { SQL_HOST_BYTES = 64 };
void sql_local_host(const struct sql *sql, char host[SQL_HOST_BYTES]);

#endif
