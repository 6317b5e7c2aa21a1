/* SPDX-License-Identifier: MIT */
/* The tables: making them, and whether those that are there can be used. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "engine/log/mysql_internal.h"
#include "engine/log/mysql_server.h"

enum { SCHEMA_VERSION = 2, TABLES = 6 };

#define NUMBER "BIGINT UNSIGNED NOT NULL"
#define CHAIN  "BINARY(16) NOT NULL"
#define END    ") ENGINE=InnoDB ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin"

static const char tables[] =
    "CREATE TABLE IF NOT EXISTS tidings_setting (name VARBINARY(64) NOT NULL"
    ", value VARBINARY(255) NOT NULL, PRIMARY KEY (name)" END ";"
    "CREATE TABLE IF NOT EXISTS tidings_writer (id TINYINT UNSIGNED NOT NULL, fence " NUMBER
    ", holder " NUMBER ", address VARBINARY(255) NOT NULL, server " NUMBER
    ", ready TINYINT UNSIGNED NOT NULL, era " NUMBER ", position " NUMBER ", chain " CHAIN
    ", bytes " NUMBER ", append_id " NUMBER ", until DATETIME(3) NOT NULL, PRIMARY KEY (id)" END ";"
    "CREATE TABLE IF NOT EXISTS tidings_log (position " NUMBER ", fence " NUMBER
    ", at BIGINT NOT NULL, start " NUMBER ", chain " CHAIN
    ", bytes LONGBLOB NOT NULL, PRIMARY KEY (position)" END ";"
    "CREATE TABLE IF NOT EXISTS tidings_image_head (number " NUMBER
    " AUTO_INCREMENT, position " NUMBER ", chain " CHAIN ", era " NUMBER
    ", at BIGINT NOT NULL, pieces INT UNSIGNED NOT NULL, bytes " NUMBER
    ", crc INT UNSIGNED NOT NULL, done TINYINT UNSIGNED NOT NULL, PRIMARY KEY (number)" END ";"
    "CREATE TABLE IF NOT EXISTS tidings_image (number " NUMBER ", piece INT UNSIGNED NOT NULL"
    ", bytes LONGBLOB NOT NULL, PRIMARY KEY (number, piece)"
    ", FOREIGN KEY (number) REFERENCES tidings_image_head (number)" END ";"
    "CREATE TABLE IF NOT EXISTS tidings_replica (id " NUMBER
    ", address VARBINARY(255) NOT NULL, position " NUMBER ", era " NUMBER ", image_position " NUMBER
    ", seen DATETIME(3) NOT NULL, PRIMARY KEY (id)" END;

#define NAMES                                                                           \
    "'tidings_setting','tidings_writer','tidings_log','tidings_image_head','tidings_im" \
    "age','tidings_replica'"

/* ---- Settings ------------------------------------------------------------------------------- */

static enum log_outcome read_setting(struct log_mysql *log, const char *name, void *value, size_t n)
{
    struct buf *text = log_mysql_text(log);
    buf_printf(text, "SELECT value FROM tidings_setting WHERE name='%s'", name);
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (!sql_row(log->sql) || !log_take_bytes(log, 0, value, n))
        return log_say(log, LOG_CORRUPT, "tidings_setting has no %s, or one of another length",
                       name);
    return LOG_DONE;
}

enum log_outcome log_mysql_cluster(struct log_mysql *log, uint8_t cluster[LOG_CLUSTER_BYTES])
{
    return read_setting(log, "cluster", cluster, LOG_CLUSTER_BYTES);
}

enum log_outcome log_mysql_secret(struct log_mysql *log, uint8_t secret[LOG_SECRET_BYTES])
{
    return read_setting(log, "secret", secret, LOG_SECRET_BYTES);
}

enum log_outcome log_mysql_seal(struct log_mysql *log, uint8_t seal[LOG_SECRET_BYTES])
{
    return read_setting(log, "seal", seal, LOG_SECRET_BYTES);
}

/* *version is 0 if nobody has begun. */
static enum log_outcome read_version(struct log_mysql *log, uint64_t *version)
{
    buf_literal(log_mysql_text(log),
                "SELECT CAST(value AS UNSIGNED) FROM tidings_setting WHERE name='schema'");
    enum log_outcome outcome = log_ask(log);
    if (outcome == LOG_DONE)
        *version = sql_row(log->sql) ? sql_u64(log->sql, 0) : 0;
    return outcome;
}

static enum log_outcome judge_version(struct log_mysql *log, uint64_t version)
{
    if (version == SCHEMA_VERSION)
        return LOG_DONE;
    return log_say(
        log, LOG_REFUSED,
        "the tables of the database %s are of schema version %llu, %s than this program's, "
        "which is %d: %s",
        log->url.database, (unsigned long long)version,
        version > SCHEMA_VERSION ? "newer" : "older", SCHEMA_VERSION,
        version > SCHEMA_VERSION ? "use the newer program" : "use the program that made them");
}

static enum log_outcome judge_cluster(struct log_mysql *log,
                                      const uint8_t cluster[LOG_CLUSTER_BYTES])
{
    uint8_t found[LOG_CLUSTER_BYTES];
    enum log_outcome outcome = log_mysql_cluster(log, found);
    if (outcome || !cluster || !memcmp(found, cluster, sizeof found))
        return outcome;
    struct buf *text = log_mysql_text(log);
    log_put_bytes(text, "SELECT 1 FROM tidings_setting WHERE name=CONCAT('former ',HEX(", cluster,
                  LOG_CLUSTER_BYTES);
    buf_literal(text, "))");
    outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (sql_row(log->sql))
        return log_say(log, LOG_FORMER, "the log in MySQL began anew with another directory");
    return log_say(log, LOG_REFUSED,
                   "the database %s has the log of another cluster: name the database of this "
                   "directory's cluster or an empty one, or begin with an empty directory",
                   log->url.database);
}

enum log_outcome log_server_read(struct log_mysql *log, struct log_server *server)
{
    struct log_server found = {0};
    bool more = true;
    buf_printf(log_mysql_text(log),
               "SHOW GLOBAL VARIABLES WHERE Variable_name IN (%s);"
               "SHOW GLOBAL STATUS WHERE Variable_name IN (%s)",
               log_server_variables, log_server_variables);
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    while (more) {
        while (sql_row(log->sql))
            log_server_note(&found, sql_bytes(log->sql, 0), sql_bytes(log->sql, 1));
        enum sql_outcome next = sql_next(log->sql, &more);
        if (next)
            return log_fail(log, next, false);
    }
    *server = found;
    return LOG_DONE;
}

static enum log_outcome judge_server(struct log_mysql *log)
{
    struct log_server server;
    enum log_outcome outcome = log_server_read(log, &server);
    if (outcome)
        return outcome;
    const char *refusal = log_server_refusal(&server);
    return refusal ? log_say(log, LOG_REFUSED, "%s", refusal) : LOG_DONE;
}

/* ---- Making them ---------------------------------------------------------------------------- */

/* One server at a time; the lock ends with the connection. */
static enum log_outcome lock_schema(struct log_mysql *log)
{
    struct buf *text = log_mysql_text(log);
    log_put(text, "SELECT GET_LOCK(CONCAT('tidings ',MD5(DATABASE())),",
            (uint64_t)log->deadline_ms / 1000 + 1);
    buf_char(text, ')');
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (!sql_row(log->sql) || sql_u64(log->sql, 0) != 1)
        return log_say(log, LOG_FAILED, "another server has been making the tables for too long");
    return LOG_DONE;
}

static enum log_outcome unlock_schema(struct log_mysql *log)
{
    buf_literal(log_mysql_text(log), "SELECT RELEASE_LOCK(CONCAT('tidings ',MD5(DATABASE())))");
    return log_ask(log);
}

/* LOG_EMPTY: they are not there, or not all of them, as if making them had been interrupted. */
static enum log_outcome judge_tables(struct log_mysql *log)
{
    static const char innodb[] = "InnoDB";
    unsigned n = 0;
    buf_literal(log_mysql_text(log),
                "SELECT table_name,engine FROM information_schema.tables WHERE "
                "table_schema=DATABASE() AND table_name IN (" NAMES ")");
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    for (; sql_row(log->sql); n++) {
        struct bytes name = sql_bytes(log->sql, 0), engine = sql_bytes(log->sql, 1);
        if (!bytes_same(engine, (struct bytes){(const uint8_t *)innodb, sizeof innodb - 1}))
            return log_say(log, LOG_REFUSED,
                           "the table %.*s is not kept by InnoDB: ALTER TABLE %.*s ENGINE=InnoDB",
                           (int)name.n, (const char *)name.p, (int)name.n, (const char *)name.p);
    }
    return n == TABLES ? LOG_DONE : LOG_EMPTY;
}

/* Only those that are missing: a user who may not make tables can use what an operator has made. */
static enum log_outcome make_tables(struct log_mysql *log)
{
    uint64_t rows;
    enum log_outcome outcome = judge_tables(log);
    if (outcome != LOG_EMPTY)
        return outcome;
    buf_text(log_mysql_text(log), tables);
    return log_change(log, &rows);
}

/* Rows of a log whose settings are gone must not become the beginning of another. */
static enum log_outcome judge_rest(struct log_mysql *log)
{
    buf_literal(
        log_mysql_text(log),
        "SELECT EXISTS (SELECT 1 FROM tidings_writer) OR EXISTS (SELECT 1 FROM tidings_log) "
        "OR EXISTS (SELECT 1 FROM tidings_image_head)");
    enum log_outcome outcome = log_ask(log);
    if (outcome)
        return outcome;
    if (sql_row(log->sql) && sql_u64(log->sql, 0))
        return log_say(log, LOG_REFUSED,
                       "the database %s has a part of a log: restore all tables whose names begin "
                       "with tidings_, or drop them",
                       log->url.database);
    return LOG_DONE;
}

/* All rows at once: a log has begun when these are there. */
static enum log_outcome fill_tables(struct log_mysql *log, const struct log_beginning *beginning)
{
    uint8_t secret[LOG_SECRET_BYTES];
    struct buf *text = log_mysql_text(log);
    uint64_t rows;
    if (getrandom(secret, sizeof secret, 0) != (ssize_t)sizeof secret)
        return log_say(log, LOG_FAILED, "there are no random bytes");
    log_put(text, "BEGIN;INSERT INTO tidings_writer VALUES (1,0,0,x'',@@server_id,0,",
            beginning->era);
    log_put(text, ",", beginning->position);
    log_put_bytes(text, ",", beginning->chain, sizeof beginning->chain);
    log_put(text, ",0,0,FROM_UNIXTIME(0));INSERT INTO tidings_setting VALUES ('schema',",
            SCHEMA_VERSION);
    log_put_bytes(text, "),('cluster',", beginning->cluster, sizeof beginning->cluster);
    log_put_bytes(text, "),('secret',", secret, sizeof secret);
    log_put_bytes(text, "),('seal',", beginning->seal, sizeof beginning->seal);
    buf_literal(text, ");COMMIT");
    enum log_outcome outcome = log_change(log, &rows);
    explicit_bzero(secret, sizeof secret);
    explicit_bzero(log->text.data, log->text.cap);
    return outcome;
}

static enum log_outcome begin_locked(struct log_mysql *log, const struct log_beginning *beginning)
{
    uint64_t version = 0;
    enum log_outcome outcome = make_tables(log);
    if (!outcome)
        outcome = read_version(log, &version);
    if (outcome)
        return outcome;
    if (version) {
        outcome = judge_version(log, version);
        return outcome ? outcome : judge_cluster(log, beginning->cluster);
    }
    outcome = judge_rest(log);
    return outcome ? outcome : fill_tables(log, beginning);
}

/* After an answer of MySQL's that left the connection open. */
static enum log_outcome end_schema(struct log_mysql *log, enum log_outcome outcome)
{
    if (outcome != LOG_DONE && outcome != LOG_REFUSED && outcome != LOG_FORMER)
        return outcome;
    char message[sizeof log->message];
    memcpy(message, log->message, sizeof message);
    enum log_outcome unlocked = unlock_schema(log);
    if (unlocked == LOG_DONE)
        memcpy(log->message, message, sizeof message);
    return outcome ? outcome : unlocked;
}

enum log_outcome log_mysql_begin(struct log_mysql *log, const struct log_beginning *beginning)
{
    enum log_outcome outcome = lock_schema(log);
    return outcome ? outcome : end_schema(log, begin_locked(log, beginning));
}

static enum log_outcome prepare_locked(struct log_mysql *log, bool *has_log)
{
    uint64_t version = 0;
    enum log_outcome outcome = make_tables(log);
    if (!outcome)
        outcome = read_version(log, &version);
    if (outcome)
        return outcome;
    *has_log = version != 0;
    return version ? judge_version(log, version) : judge_rest(log);
}

enum log_outcome log_mysql_prepare(struct log_mysql *log, bool *has_log)
{
    enum log_outcome outcome = judge_server(log);
    if (!outcome)
        outcome = lock_schema(log);
    return outcome ? outcome : end_schema(log, prepare_locked(log, has_log));
}

/* ---- Whether they can be used --------------------------------------------------------------- */

enum log_outcome log_tables_judge(struct log_mysql *log)
{
    uint64_t version = 0;
    enum log_outcome outcome = judge_tables(log);
    if (!outcome)
        outcome = read_version(log, &version);
    if (outcome == LOG_EMPTY || (!outcome && !version))
        return log_say(log, LOG_EMPTY, "the database %s has no log", log->url.database);
    return outcome ? outcome : judge_version(log, version);
}

enum log_outcome log_mysql_check(struct log_mysql *log, const uint8_t cluster[LOG_CLUSTER_BYTES])
{
    enum log_outcome outcome = judge_server(log);
    if (!outcome)
        outcome = log_tables_judge(log);
    return outcome ? outcome : judge_cluster(log, cluster);
}
