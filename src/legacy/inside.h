/* SPDX-License-Identifier: MIT */
/*
 * A system that is being read. Failure sticks: after the first one, or when the reader was asked to stop, every call here does
 * nothing, so that a system's file reads straight through and nobody has to ask in between.
 */
#ifndef LEGACY_INSIDE_H
#define LEGACY_INSIDE_H

#include "engine/facts/fact.h"
#include "engine/facts/sort.h"
#include "legacy/source.h"
#include "legacy/values.h"
#include "redis/redis.h"
#include "sql/sql.h"

struct source {
    const struct source_options *how;
    struct drift *drift;
    struct sql_url url;
    struct sql *sql;     /* of the table that is being read */
    struct redis *redis; /* NULL: there is none */
    struct buf line, statement;
    uint64_t now_ms;    /* when it began, on the wall */
    uint64_t due_us;    /* when the next may be asked for */
    uint64_t told_us;   /* when progress was told of */
    uint64_t part_done; /* of what is being read */
    /* There are such keys: what is not used at all contradicts nothing. */
    bool seen[LEGACY_KEY_COUNT];
    bool failed, stopped, wrong;
    char *why;
};

/* hmdp.c, zhiguang.c: a whole system. */
void hmdp_read(struct source *source);
void zhiguang_read(struct source *source);

/* ---- source.c ------------------------------------------------------------------------------ */

bool source_goes_on(struct source *source);
void source_fail(struct source *source, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void source_failed_with(struct source *source, const char *what, enum tidings_err err);

/* A new connection to the database. */
void source_connect(struct source *source);

/* So many rows or members of that were read: counts them, tells of them, and waits until more may be. */
void source_took(struct source *source, const char *what, uint64_t n);

/* How many may be asked for in one page: that many at most, and what a fifth of a second is for. */
unsigned source_at_once(const struct source *source, unsigned most);

/* Writes a fact. */
void source_write(struct source *source, const struct fact *fact);

struct sorter *source_sorter(struct source *source);
void source_sort(struct source *source, struct sorter *sorter, const uint8_t key[SORT_KEY_BYTES],
                 const struct buf *value);
/* False at the end. */
bool source_next(struct source *source, struct sorter *sorter, struct bytes *value);

void source_found(struct source *source, enum drift_kind kind, struct drift_example example);

/* A time that is not ahead of now. Otherwise another one, or now if that is 0, and it is counted. */
uint64_t source_time(struct source *source, bool known, uint64_t at, uint64_t otherwise,
                     struct drift_example example);

/* ---- tables.c ------------------------------------------------------------------------------- */

struct column {
    const char *name;
    enum { COLUMN_ID, COLUMN_COUNT, COLUMN_TIME, COLUMN_TEXT } kind;
    bool needed;
    size_t characters; /* of a text: no more are asked for */
    int field;         /* set by table_read: where it is in a row; -1: the table has none */
    bool utc, moment;  /* set: a time that has no zone of its own needs none; a number */
};

struct table {
    const char *name;
    struct column *columns; /* the first is its id */
    size_t n_columns;
    unsigned page; /* rows at once, at most */
};

/*
 * Calls `take` with each row; with NULL it only looks whether all is there that is needed. Whether the table is there: if not, and it is
 * needed, that is an error.
 */
bool table_read(struct source *source, struct table *table, bool needed,
                void (*take)(struct source *source, const struct table *table, void *ctx),
                void *ctx);

/* Of the present row; bytes are NULL, and ids and times false, if there is none or it is NULL. */
struct bytes row_text(const struct source *source, const struct table *table, size_t column);
bool row_id(const struct source *source, const struct table *table, size_t column, uint64_t most,
            uint64_t *id);
bool row_count(const struct source *source, const struct table *table, size_t column,
               int64_t *count);
bool row_time(const struct source *source, const struct table *table, size_t column, uint64_t *at);

/* ---- scan.c --------------------------------------------------------------------------------- */

struct found_key {
    enum legacy_key kind;
    uint64_t first, second; /* its numbers */
};

/*
 * Calls `take` for all that the keys of these kinds hold: a string; a member; a member and its score; a field and its value; of
 * blog:info userId, title and createTime. What is not there is NULL. The same may come more than once.
 */
enum { VALUES_MAX = 3 };
void scan_keys(struct source *source, const bool wanted[LEGACY_KEY_COUNT],
               void (*take)(struct source *source, const struct found_key *key,
                            const struct bytes values[VALUES_MAX], void *ctx),
               void *ctx);

/* The default beginning of such keys: what they are called in reports. */
const char *key_name(enum legacy_key kind);
struct drift_example key_example(const struct found_key *key);

/* ---- Records that are sorted ---------------------------------------------------------------- */

/* Value and key of a record: numbers and texts one behind the other. */
static inline void pack_u64(struct buf *to, uint64_t number)
{
    uint8_t bytes[8];
    put_u64(bytes, number);
    buf_append(to, bytes, sizeof bytes);
}

static inline void pack_text(struct buf *to, const char *text, size_t n)
{
    pack_u64(to, n);
    buf_append(to, text, n);
}

static inline struct bytes unpack_text(struct decoder *from)
{
    size_t n = (size_t)read_u64(from);
    const uint8_t *at = read_bytes(from, n);
    return (struct bytes){at, at ? n : 0};
}

#endif
