/* SPDX-License-Identifier: MIT */
/*
 * Writing what a batch has changed, with many rows a statement, in one packet that ends with COMMIT. What has to do with the order
 * of things comes last: the batch takes the next positions under the lock of one row, which it holds for the rest of the
 * packet, while the server works through it by itself. So positions are in the order of commits.
 */
#include <stdlib.h>

#include "engine/cluster/rows/desk.h"

enum { ROWS_A_STATEMENT = 1000 };

/* How a row is written. What is published is new, or it is not: an id that was given twice must not replace anything. */
enum way { DELETES, INSERTS, REPLACES };

static enum way way_of(const struct row *row)
{
    bool published = row->kind == KIND_POST || row->kind == KIND_SCENE || row->kind == KIND_COMMENT;
    if (!row->value->exists)
        return DELETES;
    return published && !(row->loaded && row->loaded->exists) ? INSERTS : REPLACES;
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (way_of(x) != way_of(y))
        return way_of(x) < way_of(y) ? -1 : 1;
    return key_order(x->key, y->key);
}

/* A row that is as it was, or was not there and is not. */
static bool is_same(const struct row *row)
{
    return !row->value || row->value == row->loaded ||
           (row->loaded && !row->loaded->exists && !row->value->exists);
}

/* All rows that differ from what is in the tables, in order; NULL if memory is short. */
static struct row **collect(const struct desk *desk, size_t *n)
{
    size_t room = 0;
    for (struct row *row = desk->sheet.changed; row; row = row->next_changed)
        room++;
    struct row **rows = malloc((room + 1) * sizeof *rows);
    *n = 0;
    for (struct row *row = desk->sheet.changed; rows && row; row = row->next_changed)
        if (!is_same(row))
            rows[(*n)++] = row;
    if (rows && *n)
        qsort(rows, *n, sizeof *rows, by_key);
    return rows;
}

static void put_number(struct buf *text, enum kind kind, uint64_t number)
{
    if (kind == KIND_COUNTER_CHANGE)
        buf_i64(text, (int64_t)number);
    else if (number & POSITION_LATER && number != HEAD_CLOSED)
        buf_printf(text, "@p+%llu", (unsigned long long)(number - POSITION_LATER));
    else
        buf_u64(text, number);
}

static void put_values(struct buf *text, const struct row *row, enum kind form)
{
    const char *comma = "(";
    for (unsigned i = 0; i < kind_keys(form); i++, comma = ",") {
        buf_text(text, comma);
        buf_u64(text, row->key[i]);
    }
    for (unsigned i = 0; i < kind_numbers(form); i++, comma = ",") {
        buf_text(text, comma);
        put_number(text, row->kind, row->value->numbers[i]);
    }
    for (unsigned i = 0; i < kind_texts(form); i++) {
        buf_char(text, ',');
        if (kind_forms[form].texts[i].form == TEXT_UTF8)
            sql_put_text(text, row->value->texts[i]);
        else
            sql_put_bytes(text, row->value->texts[i]);
    }
    buf_char(text, ')');
}

/* What becomes of the columns of a row that is there. */
static void put_updates(struct buf *text, enum kind kind, bool adds)
{
    const struct kind_form *form = &kind_forms[kind];
    const char *comma = "";
    for (unsigned i = 0; i < kind_numbers(kind); i++, comma = ",") {
        buf_printf(text, "%s%s=", comma, form->numbers[i]);
        if (adds)
            buf_printf(text, "%s+", form->numbers[i]);
        buf_printf(text, "VALUES(%s)", form->numbers[i]);
    }
    for (unsigned i = 0; i < kind_texts(kind); i++, comma = ",")
        buf_printf(text, "%s%s=VALUES(%s)", comma, form->texts[i].name, form->texts[i].name);
    if (!*comma) /* nothing but keys: it is there */
        buf_printf(text, "%s=%s", form->keys[0], form->keys[0]);
}

static void put_rows(struct buf *text, struct row **rows, size_t n)
{
    enum kind kind = rows[0]->kind;
    bool adds = kind == KIND_COUNTER_CHANGE;
    enum kind form = adds ? KIND_COUNTER : kind;
    buf_printf(text, "INSERT INTO %s (", kind_forms[form].table);
    kind_put_columns(text, form);
    buf_literal(text, ") VALUES ");
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_char(text, ',');
        put_values(text, rows[i], form);
    }
    if (way_of(rows[0]) == REPLACES) {
        buf_literal(text, " ON DUPLICATE KEY UPDATE ");
        put_updates(text, form, adds);
    }
    buf_char(text, ';');
}

static void put_deletes(struct buf *text, struct row **rows, size_t n)
{
    /* By another name: DELETE HISTORY means something else to MariaDB. */
    buf_printf(text, "DELETE t FROM %s t FORCE INDEX (PRIMARY) WHERE ",
               kind_forms[rows[0]->kind].table);
    desk_put_keys(text, rows, n, kind_keys(rows[0]->kind));
    buf_char(text, ';');
}

/* Those that have to do with order, and their turn to be written. */
static bool has_turn(enum kind kind, bool last)
{
    bool is_last = kind == KIND_POST || kind == KIND_SCENE || kind == KIND_COUNTER_CHANGE;
    return is_last == last;
}

static void put_all(struct buf *text, struct row **rows, size_t n, bool last)
{
    for (size_t i = 0, count; i < n; i += count) {
        for (count = 1; i + count < n && count < ROWS_A_STATEMENT &&
                        rows[i + count]->kind == rows[i]->kind &&
                        way_of(rows[i + count]) == way_of(rows[i]);)
            count++;
        if (!has_turn(rows[i]->kind, last))
            continue;
        if (way_of(rows[i]) == DELETES)
            put_deletes(text, rows + i, count);
        else
            put_rows(text, rows + i, count);
    }
}

/* Those of a move have their positions, and may be there already. */
static void put_events(struct desk *desk)
{
    struct buf *text = &desk->text;
    if (!desk->n_events)
        return;
    bool moved = !(desk->events[0].event_id & POSITION_LATER);
    buf_literal(text,
                "INSERT INTO outbox_event (position, event_type, happened_at, actor_id, target_id, "
                "author_id, delta, post_id, reaction, slot) VALUES ");
    for (size_t i = 0; i < desk->n_events; i++) {
        const struct tidings_event *event = &desk->events[i];
        buf_text(text, i ? ",(" : "(");
        put_number(text, KIND_POSITION, event->event_id);
        buf_printf(text, ",%u,%lld,%llu,%llu,%llu,%lld,%llu,%u,%u)", (unsigned)event->type,
                   (long long)event->happened_at, (unsigned long long)event->actor_user_id,
                   (unsigned long long)event->target_id, (unsigned long long)event->author_id,
                   (long long)event->delta, (unsigned long long)event->post_id,
                   (unsigned)event->reaction, desk->slot);
    }
    if (moved)
        buf_literal(text, " ON DUPLICATE KEY UPDATE position=VALUES(position)");
    buf_char(text, ';');
}

bool desk_write(struct desk *desk)
{
    size_t n;
    struct row **rows = collect(desk, &n);
    struct buf *text = &desk->text;
    if (!rows) {
        desk->sheet.failed = true;
        return false;
    }
    bool anything = n || desk->n_positions || desk->n_events;
    put_all(text, rows, n, false);
    if (desk->n_positions)
        buf_printf(text,
                   "SELECT position INTO @p FROM news_position WHERE id=1 FOR UPDATE;"
                   "UPDATE news_position SET position=@p+%llu WHERE id=1;SELECT @p;",
                   (unsigned long long)desk->n_positions);
    put_all(text, rows, n, true);
    put_events(desk);
    free(rows);
    return anything;
}
