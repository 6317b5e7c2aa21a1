/* SPDX-License-Identifier: MIT */
/*
 * Images in pieces. One whose head is done can be had; it replaces those of an earlier era or position, which are removed piece
 * by piece, the head last: so nobody forgets the pieces of an image whose removal was interrupted.
 */
#include <assert.h>

#include "engine/log/mysql_internal.h"

/* An image o that the image h replaces. */
#define REPLACED                                                                             \
    "h.number<>o.number AND (h.era>o.era OR h.era=o.era AND (h.position>o.position OR h.pos" \
    "ition=o.position AND h.number>o.number))"

enum log_outcome log_mysql_image_begin(struct log_mysql *log, const struct log_image *image,
                                       uint64_t *number)
{
    struct buf *text = log_mysql_text(log);
    bool more = false;
    assert(image->at_ms >= 0);
    log_put(text,
            "INSERT INTO tidings_image_head (position,era,at,chain,pieces,bytes,crc,done) VALUES (",
            image->position);
    log_put(text, ",", image->era);
    log_put(text, ",", (uint64_t)image->at_ms);
    log_put_bytes(text, ",", image->chain, LOG_CHAIN_BYTES);
    buf_literal(text, ",0,0,0,0);SELECT LAST_INSERT_ID()");
    if (!log_connect(log))
        return LOG_UNREACHABLE;
    enum sql_outcome outcome = sql_send(log->sql, text);
    if (!outcome)
        outcome = sql_next(log->sql, &more);
    if (outcome)
        return log_fail(log, outcome, true);
    *number = sql_row(log->sql) ? sql_u64(log->sql, 0) : 0;
    return LOG_DONE;
}

enum log_outcome log_mysql_image_put(struct log_mysql *log, uint64_t number, uint32_t piece,
                                     struct bytes bytes)
{
    struct buf *text = log_mysql_text(log);
    if (bytes.n > LOG_BYTES_MAX)
        return log_say(log, LOG_FAILED, "the piece has more than %d bytes", LOG_BYTES_MAX);
    log_put(text, "INSERT INTO tidings_image (number,piece,bytes) SELECT number,", piece);
    log_put_bytes(text, ",", bytes.p, bytes.n);
    log_put(text, " FROM tidings_image_head WHERE done=0 AND number=", number);
    buf_literal(text, " ON DUPLICATE KEY UPDATE tidings_image.bytes=VALUES(bytes)");
    return log_change_one(log, "the image is done, or was removed for a newer one");
}

enum log_outcome log_mysql_image_end(struct log_mysql *log, uint64_t number, uint32_t pieces,
                                     uint64_t bytes, uint32_t crc)
{
    struct buf *text = log_mysql_text(log);
    assert(pieces);
    log_put(text, "UPDATE tidings_image_head SET done=1,pieces=", pieces);
    log_put(text, ",bytes=", bytes);
    log_put(text, ",crc=", crc);
    log_put(text, " WHERE number=", number);
    log_put(text, " AND (SELECT COUNT(*) FROM tidings_image i WHERE i.number=", number);
    log_put(text, ")=", pieces);
    log_put(text, " AND (SELECT MAX(i.piece) FROM tidings_image i WHERE i.number=", number);
    log_put(text, ")=", pieces - 1);
    return log_change_one(log, "the image lacks pieces, or was removed for a newer one");
}

enum log_outcome log_mysql_image_tidy(struct log_mysql *log, uint64_t own, bool *more)
{
    struct buf *question = log_mysql_text(log);
    uint64_t rows;
    log_put(question,
            "SELECT o.number,(SELECT MIN(piece) FROM tidings_image i WHERE i.number=o.number) "
            "FROM tidings_image_head o WHERE o.done=0 AND o.number<",
            own);
    buf_literal(question, " OR EXISTS (SELECT 1 FROM tidings_image_head h WHERE " LOG_IMAGE_USABLE
                          " AND " REPLACED ") ORDER BY o.number LIMIT 1");
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    bool is_there = sql_row(log->sql);
    if (is_there) {
        uint64_t number = sql_u64(log->sql, 0), piece = sql_u64(log->sql, 1);
        bool is_bare = sql_is_null(log->sql, 1);
        struct buf *text = log_mysql_text(log);
        log_put(text,
                is_bare ? "DELETE FROM tidings_image_head WHERE number="
                        : "DELETE FROM tidings_image WHERE number=",
                number);
        if (!is_bare)
            log_put(text, " AND piece=", piece);
        outcome = log_change(log, &rows);
    }
    if (outcome == LOG_DONE)
        *more = is_there;
    return outcome;
}

enum log_outcome log_mysql_image_newest(struct log_mysql *log, struct log_image *image)
{
    struct log_image found;
    buf_literal(log_mysql_text(log),
                "SELECT h.number,h.position,h.chain,h.era,h.pieces,h.bytes,h.crc,h.at,"
                "w.bytes-COALESCE((SELECT l.start FROM tidings_log l WHERE "
                "l.position=h.position+1),w.bytes) FROM tidings_image_head h JOIN tidings_writer w "
                "ON w.id=1 WHERE " LOG_IMAGE_USABLE
                " ORDER BY h.era DESC,h.position DESC,h.number DESC LIMIT 1");
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (!sql_row(log->sql))
        return log_say(log, LOG_EMPTY, "there is no image");
    found.number = sql_u64(log->sql, 0);
    found.position = sql_u64(log->sql, 1);
    found.era = sql_u64(log->sql, 3);
    found.pieces = (uint32_t)sql_u64(log->sql, 4);
    found.bytes = sql_u64(log->sql, 5);
    found.crc = (uint32_t)sql_u64(log->sql, 6);
    found.at_ms = sql_i64(log->sql, 7);
    found.log_bytes = sql_u64(log->sql, 8);
    if (found.at_ms < 0 || !log_take_bytes(log, 2, found.chain, sizeof found.chain))
        return log_say(log, LOG_CORRUPT, "tidings_image_head has a row that no server writes");
    *image = found;
    return LOG_DONE;
}

enum log_outcome log_mysql_image_get(struct log_mysql *log, uint64_t number, uint32_t piece,
                                     struct bytes *bytes)
{
    struct buf *text = log_mysql_text(log);
    log_put(text, "SELECT IF(LENGTH(bytes)<=", LOG_BYTES_MAX);
    log_put(text, ",bytes,NULL) FROM tidings_image WHERE number=", number);
    log_put(text, " AND piece=", piece);
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (!sql_row(log->sql))
        return log_say(log, LOG_TRIMMED, "the image was removed for a newer one");
    if (sql_is_null(log->sql, 0))
        return log_say(log, LOG_CORRUPT, "tidings_image has a piece that is too long");
    *bytes = sql_bytes(log->sql, 0);
    return LOG_DONE;
}
