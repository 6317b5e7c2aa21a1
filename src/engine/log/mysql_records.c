/* SPDX-License-Identifier: MIT */
/*
 * Appending, reading and trimming.
 *
 * An append is one packet: it moves the row on if that is as the writer believes, and inserts records if it was moved by this
 * very append, which its append_id says: where the row stands would not do, since it stands there after the same append, too.
 * The INSERT decides: of a row that is otherwise it selects nothing, and COMMIT ends a transaction that has done nothing, without
 * another round trip. Whoever stands still after sending holds no lock: all of it is the server's to do.
 */
#include <assert.h>

#include "engine/log/mysql_internal.h"

enum { TRIM_RECORDS = 500 };

/* ---- Appending ------------------------------------------------------------------------------ */

static size_t bytes_of(const struct log_record *records, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++)
        bytes += records[i].bytes.n;
    return bytes;
}

static void put_move(struct buf *text, const struct log_end *end, bool ready,
                     const struct log_record *last, size_t bytes, uint64_t append_id)
{
    log_put(text, "BEGIN;UPDATE tidings_writer SET append_id=", append_id);
    log_put(text, ",position=", last->position);
    log_put_bytes(text, ",chain=", last->chain, sizeof last->chain);
    log_put(text, ",bytes=bytes+", bytes);
    log_put(text,
            ",until=" LOG_UNTIL " WHERE id=1 AND server=@@server_id AND " LOG_WRITABLE
            " AND fence=",
            end->fence);
    log_put(text, " AND ready=", ready);
    log_put(text, " AND position=", end->position);
    log_put_bytes(text, " AND chain=", end->chain, sizeof end->chain);
}

/* `behind`: bytes from the record's first on, up to the end of the append. */
static void put_record(struct buf *text, const struct log_record *record, size_t behind,
                       uint64_t append_id)
{
    log_put(text, ";INSERT INTO tidings_log (position,fence,at,start,chain,bytes) SELECT ",
            record->position);
    buf_literal(text, ",fence,");
    buf_i64(text, record->at_ms);
    log_put(text, ",bytes-", behind);
    log_put_bytes(text, ",", record->chain, sizeof record->chain);
    log_put_bytes(text, ",", record->bytes.p, record->bytes.n);
    log_put(text, " FROM tidings_writer WHERE id=1 AND append_id=", append_id);
}

/* Runs the packet; *rows: what was inserted, *commits: a failure is COMMIT's own. */
static enum sql_outcome run_append(struct log_mysql *log, size_t n, uint64_t *rows, bool *commits)
{
    bool more = true;
    enum sql_outcome outcome = sql_send(log->sql, &log->text);
    for (size_t i = 0; !outcome && more; i++) { /* BEGIN, UPDATE, n times INSERT, COMMIT */
        if (i >= 2 && i < n + 2)
            *rows += sql_affected(log->sql);
        *commits = i >= n + 1;
        outcome = sql_next(log->sql, &more);
    }
    return outcome;
}

/* A COMMIT that fails may have happened. */
static enum log_outcome fail_append(struct log_mysql *log, enum sql_outcome outcome, bool commits)
{
    enum log_outcome failed = log_fail(log, outcome, true);
    return failed == LOG_FAILED && commits ? LOG_UNKNOWN : failed;
}

enum log_outcome log_mysql_append(struct log_mysql *log, const struct log_end *end, bool ready,
                                  const struct log_record *records, size_t n)
{
    struct buf *text = log_mysql_text(log);
    size_t behind = bytes_of(records, n);
    uint64_t rows = 0;
    bool commits = false;
    assert(n && n <= LOG_RECORDS_MAX);
    if (behind > LOG_BYTES_MAX)
        return log_say(log, LOG_FAILED, "the records have more than %d bytes", LOG_BYTES_MAX);
    log->append_id++;
    put_move(text, end, ready, &records[n - 1], behind, log->append_id);
    for (size_t i = 0; i < n; i++) {
        assert(records[i].position == end->position + 1 + i);
        put_record(text, &records[i], behind, log->append_id);
        behind -= records[i].bytes.n;
    }
    buf_literal(text, ";COMMIT");
    if (!log_connect(log))
        return LOG_UNREACHABLE;
    enum sql_outcome outcome = run_append(log, n, &rows, &commits);
    if (outcome)
        return fail_append(log, outcome, commits);
    if (!rows)
        return log_say(log, LOG_REFUSED,
                       "another server has taken over, or the log goes on elsewhere");
    return LOG_DONE;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/*
 * One statement, so that the row and the records are of one moment. Records come in the order of their key, but only an ORDER BY
 * would promise that, and costs a temporary table with all bytes in it: see note_record. By `start`, and that of the first of
 * them, f, bytes are bounded before any are looked at.
 */
static void put_question(struct buf *text, uint64_t after, size_t max_records, size_t max_bytes)
{
    buf_printf(text,
               "SELECT " LOG_WRITER_COLUMNS ",l.position,l.fence,l.at,l.chain,"
               "IF(LENGTH(l.bytes)<=%d,l.bytes,NULL) "
               "FROM tidings_writer w LEFT JOIN tidings_log f ON f.position=",
               LOG_BYTES_MAX);
    buf_u64(text, after + 1);
    log_put(text, " LEFT JOIN tidings_log l ON l.position>", after);
    log_put(text, " AND l.position<=", after + max_records);
    log_put(text, " AND (l.position=", after + 1);
    log_put(text, " OR l.start<f.start+", max_bytes);
    log_put(text, " AND l.start+LENGTH(l.bytes)<=f.start+", max_bytes);
    buf_literal(text, ") WHERE w.id=1");
}

static bool take_record(const struct log_mysql *log, struct log_record *record)
{
    const struct sql *sql = log->sql;
    *record = (struct log_record){.position = sql_u64(sql, LOG_WRITER_FIELDS),
                                  .fence = sql_u64(sql, LOG_WRITER_FIELDS + 1),
                                  .at_ms = sql_i64(sql, LOG_WRITER_FIELDS + 2),
                                  .bytes = sql_bytes(sql, LOG_WRITER_FIELDS + 4)};
    return !sql_is_null(sql, LOG_WRITER_FIELDS + 4) &&
           log_take_bytes(log, LOG_WRITER_FIELDS + 3, record->chain, sizeof record->chain);
}

/* In its place among the n before it: behind them, as a rule. */
static void note_record(struct log_mysql *log, size_t n, const struct log_record *record)
{
    for (; n && log->records[n - 1].position > record->position; n--)
        log->records[n] = log->records[n - 1];
    log->records[n] = *record;
}

static bool take_rows(struct log_mysql *log, size_t max_records, struct log_batch *batch)
{
    struct log_record record;
    bool is_first = true;
    *batch = (struct log_batch){.records = log->records};
    while (sql_row(log->sql)) {
        if (is_first && !log_take_writer(log, &batch->writer))
            return false;
        is_first = false;
        if (sql_is_null(log->sql, LOG_WRITER_FIELDS))
            continue; /* there is no record */
        if (batch->n == max_records || !take_record(log, &record))
            return false;
        note_record(log, batch->n++, &record);
    }
    return !is_first;
}

/* Positions follow each other, and the last record is the one that the row says. */
static bool is_sound(const struct log_batch *batch, uint64_t after)
{
    for (size_t i = 0; i < batch->n; i++)
        if (batch->records[i].position != after + 1 + i)
            return false;
    if (!batch->n)
        return true;
    const struct log_record *last = &batch->records[batch->n - 1];
    return last->position < batch->writer.position ||
           (last->position == batch->writer.position &&
            !memcmp(last->chain, batch->writer.chain, sizeof last->chain));
}

static enum log_outcome ask_oldest(struct log_mysql *log, uint64_t *oldest)
{
    buf_literal(log_mysql_text(log), "SELECT MIN(position) FROM tidings_log");
    enum log_outcome outcome = log_ask(log);
    if (outcome == LOG_DONE)
        *oldest = sql_row(log->sql) ? sql_u64(log->sql, 0) : 0;
    return outcome;
}

/* The record behind `after` is missing, though the log goes on. */
static enum log_outcome say_missing(struct log_mysql *log, uint64_t after)
{
    uint64_t oldest = 0;
    enum log_outcome outcome = ask_oldest(log, &oldest);
    if (outcome)
        return outcome;
    if (!oldest || oldest > after + 1)
        return log_say(log, LOG_TRIMMED, "the log is not kept from position %llu on any more",
                       (unsigned long long)after + 1);
    return log_say(log, LOG_CORRUPT, "tidings_log lacks position %llu",
                   (unsigned long long)after + 1);
}

enum log_outcome log_mysql_read(struct log_mysql *log, uint64_t after, size_t max_records,
                                size_t max_bytes, struct log_batch *batch)
{
    struct log_batch found;
    assert(max_records && max_records <= LOG_RECORDS_MAX && after <= INT64_MAX);
    assert(max_bytes <= INT64_MAX);
    put_question(log_mysql_text(log), after, max_records, max_bytes);
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (!take_rows(log, max_records, &found))
        return log_say(log, LOG_CORRUPT,
                       "tidings_writer or tidings_log has a row that no server writes");
    if (!found.writer.writable) {
        log_disconnect(log);
        return log_say(log, LOG_UNREACHABLE,
                       "the server of MySQL is read-only: name the primary, or SET GLOBAL "
                       "read_only=OFF if this is the primary");
    }
    if (found.writer.position > after && (!found.n || found.records[0].position != after + 1))
        return say_missing(log, after);
    if (!is_sound(&found, after))
        return log_say(log, LOG_CORRUPT,
                       "tidings_log does not agree with itself behind position %llu",
                       (unsigned long long)after);
    *batch = found;
    return LOG_DONE;
}

/* ---- Trimming ------------------------------------------------------------------------------- */

enum log_outcome log_mysql_kept(struct log_mysql *log, struct log_kept *kept)
{
    struct log_kept found;
    buf_literal(log_mysql_text(log),
                "SELECT " LOG_WRITER_COLUMNS ",l.position,l.start FROM tidings_writer w LEFT JOIN "
                "tidings_log l ON l.position=(SELECT MIN(position) FROM tidings_log) WHERE w.id=1");
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (!sql_row(log->sql) || !log_take_writer(log, &found.writer))
        return log_say(log, LOG_CORRUPT, "tidings_writer has no row, or one that no server writes");
    bool is_empty = sql_is_null(log->sql, LOG_WRITER_FIELDS);
    uint64_t first = is_empty ? found.writer.position + 1 : sql_u64(log->sql, LOG_WRITER_FIELDS);
    uint64_t start = is_empty ? found.writer.bytes : sql_u64(log->sql, LOG_WRITER_FIELDS + 1);
    if (!first || first > found.writer.position + 1 || start > found.writer.bytes)
        return log_say(log, LOG_CORRUPT, "tidings_log does not agree with tidings_writer");
    found.after = first - 1;
    found.records = found.writer.position - found.after;
    found.bytes = found.writer.bytes - start;
    *kept = found;
    return LOG_DONE;
}

/* Rule 15: whether somebody who joins can have an image that goes so far. */
static enum log_outcome ask_image(struct log_mysql *log, uint64_t up_to, bool *is_there)
{
    struct buf *text = log_mysql_text(log);
    log_put(text,
            "SELECT EXISTS (SELECT 1 FROM tidings_image_head h WHERE " LOG_IMAGE_USABLE
            " AND h.position>=",
            up_to);
    log_put(text,
            ") OR (SELECT COUNT(*) FROM tidings_replica r JOIN tidings_writer w ON w.id=1 AND "
            "w.era=r.era WHERE r.seen>NOW(3)-INTERVAL 3 SECOND AND r.image_position>=",
            up_to);
    buf_literal(text, ")>=2");
    enum log_outcome outcome = log_ask(log);
    if (outcome == LOG_DONE)
        *is_there = sql_row(log->sql) && sql_u64(log->sql, 0);
    return outcome;
}

/* The last of the oldest records that may go; 0: none. Times may go back from one record to the next: the first record that
 * must stay keeps all behind it, so that there is no gap. */
static enum log_outcome ask_last_old(struct log_mysql *log, uint64_t up_to, int64_t before_ms,
                                     uint64_t *last, bool *more)
{
    struct buf *text = log_mysql_text(log);
    size_t n = 0;
    log_put(text, "SELECT position,at FROM tidings_log WHERE position<=", up_to);
    log_put(text, " ORDER BY position LIMIT ", TRIM_RECORDS);
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    *last = 0;
    while (sql_row(log->sql) && sql_i64(log->sql, 1) < before_ms) {
        *last = sql_u64(log->sql, 0);
        n++;
    }
    *more = n == TRIM_RECORDS;
    return LOG_DONE;
}

enum log_outcome log_mysql_trim(struct log_mysql *log, uint64_t up_to, int64_t before_ms,
                                bool *more)
{
    uint64_t rows = 0, last = 0;
    bool is_there = false, left = false;
    enum log_outcome outcome = ask_image(log, up_to, &is_there);
    if (outcome)
        return outcome;
    if (!is_there)
        return log_say(log, LOG_REFUSED,
                       "there is no image of the log at position %llu or behind it",
                       (unsigned long long)up_to);
    outcome = ask_last_old(log, up_to, before_ms, &last, &left);
    if (!outcome && last) {
        log_put(log_mysql_text(log), "DELETE FROM tidings_log WHERE position<=", last);
        outcome = log_change(log, &rows);
    }
    if (outcome == LOG_DONE)
        *more = left;
    return outcome;
}
