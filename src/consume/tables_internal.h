/* SPDX-License-Identifier: MIT */
/*
 * The tables that others read: exactly what the events say up to the position that stands beside them, in tidings_tables.
 *
 *     tables_target.c      the target: when it connects, tells, looks after the rest
 *     tables_connection.c  statements, and what becomes of them
 *     tables_schema.c      which tables there are; the row of the position
 *     tables_batch.c       events as changes of rows
 *     tables_apply.c       a batch in one transaction with its position
 *     tables_forms.c       rows that can be compared: which columns, reading and writing them
 *     tables_merge.c       rows that must be there beside those that are
 *     tables_fill.c        everything, from one moment of the engine: the first time, and to compare
 *     tables_recount.c     counts from reactions and comments
 *     tables_outbox.c      what becomes of events in yl_outbox_event
 *
 * Every transaction compares the row of the position first, and moves it, if it is one of events. So whoever does not know that
 * another server has gone on changes nothing, and an answer that was lost does not matter: the row says what has happened.
 */
#ifndef CONSUME_TABLES_INTERNAL_H
#define CONSUME_TABLES_INTERNAL_H

#include "base/arena.h"
#include "base/buf.h"
#include "consume/tables_target.h"
#include "sql/sql.h"

enum {
    TABLES_SCHEMA = 1,
    TABLES_EVENTS_MAX = 1000, /* in one transaction */
    TABLES_TEXT_MAX = 8 << 20,
    TABLES_ROWS = 1000, /* compared together, and written in one statement */
    TABLES_RULES_MAX = 120,
    TABLES_SILENT_MS = 20000, /* a server that does not answer for so long counts as lost */
};

enum tables_state { TABLES_FILLING, TABLES_READY, TABLES_COMPARE };

/* The row of tidings_tables. */
struct tables_place {
    uint64_t position; /* events up to here are in the tables */
    uint64_t event_id; /* the last event of them; 0: not known */
    uint64_t era;
    uint64_t settled; /* of the outbox: up to here nothing changes any more */
    enum tables_state state;
    char rules[TABLES_RULES_MAX + 1]; /* that hot_score is of */
    uint64_t compared_s_ago;          /* UINT64_MAX: never */
};

struct tables_batch;

struct tables {
    struct tidings *tidings;
    struct sql_url url;
    char *password;
    uint64_t compare_hours; /* 0: never */
    struct sql *sql;        /* NULL: not connected */
    struct buf text;
    struct tables_place place;
    bool has_place;  /* place is as the table has it */
    bool has_tables; /* they were looked at once */
    bool is_fresh;   /* filled, and nothing was told since */
    bool has_others; /* who go through events, too */
    bool due;        /* the outbox may have rows to settle */
    int64_t swept_ms, settled_ms;
    struct tables_batch *batch;
    char trouble[CONSUMER_TROUBLE_MAX + 1];
};

/* ---- tables_connection.c ---------------------------------------------------------------------- */

/* An empty text for the next statements. */
struct buf *tables_text(struct tables *tables);

/* Appends words and a number behind them. */
void tables_put(struct buf *text, const char *words, uint64_t number);
/* A time, in ms since 1970, as a literal. */
void tables_put_time(struct buf *text, uint64_t ms);

/* Sends the text, connecting first if need be; false: trouble says why, the connection is gone, and what stands in the tables is
 * to be read anew. */
bool tables_ask(struct tables *tables);
bool tables_run(struct tables *tables);
/* The result of the next statement that has any. */
bool tables_next(struct tables *tables);

bool tables_connect(struct tables *tables);
void tables_disconnect(struct tables *tables);

/* False, with a reason. */
bool tables_fail(struct tables *tables, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- tables_schema.c -------------------------------------------------------------------------- */

/* The tables are there, and of this version. */
bool tables_make(struct tables *tables);

/* The place anew, from the row. */
bool tables_read_place(struct tables *tables);

/* Begins a transaction that does nothing but fail if the row is not as `place` says. */
void tables_put_fence(struct tables *tables, struct buf *text);

/* The row as `now` says, if it still is as `place` says; then place is `now`. */
bool tables_move(struct tables *tables, const struct tables_place *now);

/* What hot_score is made of, as the row has it. */
bool tables_rules(struct tables *tables, struct tidings_settings *settings,
                  char rules[TABLES_RULES_MAX + 1]);

/* ---- tables_batch.c --------------------------------------------------------------------------- */

struct tables_batch *tables_batch_new(void);
void tables_batch_free(struct tables_batch *batch);
void tables_batch_clear(struct tables_batch *batch);
/* TABLES_EVENTS_MAX at most. */
void tables_batch_add(struct tables_batch *batch, const struct tidings_event *event,
                      const struct tidings_settings *settings);
/* The statements, each with `;` before it. */
void tables_batch_put(struct tables_batch *batch, struct buf *text);

/* ---- tables_apply.c --------------------------------------------------------------------------- */

/* Events behind the place, in order. */
bool tables_apply(struct tables *tables, const struct tidings_event *events, size_t n);

/* Reads events behind the place, up to that one, and applies them; the place is there then. */
bool tables_advance(struct tables *tables, struct consumer *consumer, uint64_t up_to);

/* Events behind `after`: how many of at most TABLES_EVENTS_MAX. False: they cannot be read. */
bool tables_read_events(struct tables *tables, uint64_t after, struct tidings_event *events,
                        size_t *n);

/* ---- tables_outbox.c -------------------------------------------------------------------------- */

/* Whether there are others. */
bool tables_outbox_look(struct tables *tables);

/* Appends `;INSERT` of those that have a place in it; the same again changes nothing. */
void tables_outbox_put(const struct tables *tables, struct buf *text,
                       const struct tidings_event *events, size_t n);

/* What is kept up to that event goes into it. *last: the last event of all. */
bool tables_outbox_fill(struct tables *tables, struct consumer *consumer, uint64_t up_to,
                        uint64_t *last);

/* Settles and removes a few rows. */
bool tables_outbox_tend(struct tables *tables);

/* ---- tables_forms.c --------------------------------------------------------------------------- */

enum tables_form_id {
    FORM_FOLLOWING,
    FORM_FOLLOWER,
    FORM_REACTION,
    FORM_COMMENT,
    FORM_CONTENT_STATS,
    FORM_ACTIVITY_STATS,
    FORM_COMMENT_STATS,
    FORM_COUNT
};

enum { FORM_COLUMNS_MAX = 8 };

/* Words, in the order of their letters. */
enum { WORD_ACTIVITY = 1, WORD_COMMENT, WORD_CONTENT };
enum { WORD_DOWNVOTE = 1, WORD_FAV, WORD_LIKE };
enum { WORD_DELETED = 1, WORD_HIDDEN, WORD_VISIBLE };

enum tables_column_kind {
    COLUMN_NUMBER,
    COLUMN_NUMBER_OR_NULL, /* 0 is NULL */
    COLUMN_TIME,           /* ms since 1970 */
    COLUMN_TARGET,
    COLUMN_REACTION,
    COLUMN_STATUS,
};

struct tables_column {
    const char *name;
    enum tables_column_kind kind;
};

struct tables_form {
    const char *table;
    unsigned n_keys, n; /* columns; keys come first, in the order of an index */
    struct tables_column columns[FORM_COLUMNS_MAX];
    const char *only; /* rows that count, as a condition; NULL: all */
    const char *gone; /* how a row too many is changed; NULL: it is deleted */
};

extern const struct tables_form tables_forms[FORM_COUNT];

struct tables_row {
    int64_t at[FORM_COLUMNS_MAX];
};

int tables_row_compare(const struct tables_form *form, const struct tables_row *a,
                       const struct tables_row *b);

/* Appends the names of the columns; columns for a SELECT; takes a row of its result. */
void tables_put_columns(struct buf *text, const struct tables_form *form);
void tables_put_asked(struct buf *text, const struct tables_form *form);
void tables_take_row(struct sql *sql, const struct tables_form *form, struct tables_row *row);

/* Appends `;INSERT …` that makes rows be so; `;DELETE …` or `;UPDATE …` of rows that must not be there. */
void tables_put_rows(struct buf *text, const struct tables_form *form,
                     const struct tables_row *rows, size_t n);
void tables_put_gone(struct buf *text, const struct tables_form *form,
                     const struct tables_row *rows, size_t n);

uint64_t tables_word_target(const struct tidings_event *event, bool on_comment);
uint64_t tables_word_kind(enum tidings_post_kind kind);
uint64_t tables_word_reaction(enum tidings_reaction reaction);
uint64_t tables_word_status(enum tidings_comment_status status);
const char *tables_word(enum tables_column_kind kind, uint64_t word);

/* ---- tables_merge.c --------------------------------------------------------------------------- */

/* Rows of one table that must be there, collected until there are enough; and what was found. */
struct tables_merge {
    const struct tables_form *form;
    bool only_keys; /* what the other columns say does not matter */
    struct tables_row *rows;
    size_t n, room;
    int64_t upto;   /* first column: everything up to here was compared */
    uint64_t found; /* rows that were there */
    uint64_t differences;
};

void tables_merge_init(struct tables_merge *merge, const struct tables_form *form, bool only_keys);
void tables_merge_release(struct tables_merge *merge);

/* First columns never fall. Compares what was collected when it is enough. */
bool tables_merge_add(struct tables *tables, struct tables_merge *merge,
                      const struct tables_row *row);
/* Compares all rows that were not yet, up to that value of the first column, and mends. */
bool tables_merge_flush(struct tables *tables, struct tables_merge *merge, int64_t upto);

/* ---- tables_fill.c, tables_recount.c ---------------------------------------------------------- */

/* Everything from one moment, with a new position: whatever was in the tables before. */
bool tables_fill(struct tables *tables, struct consumer *consumer, uint64_t era);

/* The same at the position where the tables come to, and a line of log with what was found. *looked_at: so many rows were there; it may be
 * NULL. */
bool tables_compare(struct tables *tables, struct consumer *consumer, uint64_t *looked_at);

/* All counts anew from yl_reaction and yl_comment; hot_score by those settings. */
bool tables_recount(struct tables *tables, struct consumer *consumer,
                    const struct tidings_settings *settings, uint64_t *differences);

#endif
