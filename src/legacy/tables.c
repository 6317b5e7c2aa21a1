/* SPDX-License-Identifier: MIT */
/*
 * Tables of others, in pages by their ids: no page is a long statement, and none holds a lock. What columns a table has is asked
 * for, since applications have their own; names in statements are this program's alone.
 */
#include <strings.h>

#include "legacy/inside.h"

static bool ask(struct source *source)
{
    if (!source_goes_on(source))
        return false;
    if (sql_send(source->sql, &source->statement) == SQL_DONE)
        return true;
    source_fail(source, "the source's MySQL: %s", sql_message(source->sql));
    return false;
}

/* ---- Columns -------------------------------------------------------------------------------- */

static struct column *find_column(struct table *table, struct bytes name)
{
    for (size_t i = 0; i < table->n_columns; i++)
        if (strlen(table->columns[i].name) == name.n &&
            !strncasecmp(table->columns[i].name, (const char *)name.p, name.n))
            return &table->columns[i];
    return NULL;
}

static bool is_type(struct bytes type, const char *name)
{
    return type.n == strlen(name) && !strncasecmp((const char *)type.p, name, type.n);
}

/* A TIMESTAMP is told in the session's zone, which is UTC; a DATETIME has none; and some keep numbers. */
static void note_type(struct column *column, struct bytes type)
{
    column->utc = is_type(type, "timestamp");
    column->moment = column->kind == COLUMN_TIME && type.n >= 3 &&
                     !strncasecmp((const char *)type.p + type.n - 3, "int", 3);
}

/* Whether the table is there, with all that is needed. */
static bool find_columns(struct source *source, struct table *table)
{
    bool any = false;
    int fields = 0;
    for (size_t i = 0; i < table->n_columns; i++)
        table->columns[i].field = -1;
    buf_clear(&source->statement);
    buf_literal(
        &source->statement,
        "SELECT column_name, data_type FROM information_schema.columns WHERE table_schema = "
        "DATABASE() AND table_name = ");
    sql_put_text(&source->statement,
                 (struct bytes){(const uint8_t *)table->name, strlen(table->name)});
    if (!ask(source))
        return false;
    while (sql_row(source->sql)) {
        struct column *column = find_column(table, sql_bytes(source->sql, 0));
        any = true;
        if (!column)
            continue;
        column->field = 0;
        note_type(column, sql_bytes(source->sql, 1));
    }
    for (size_t i = 0; i < table->n_columns; i++) {
        struct column *column = &table->columns[i];
        if (any && column->needed && column->field < 0)
            source_fail(source, "the table %s has no column %s", table->name, column->name);
        if (column->field == 0)
            column->field = fields++;
    }
    return any && !source->failed;
}

/* ---- Pages ---------------------------------------------------------------------------------- */

enum { ID_TEXT_MAX = 24 };

static void put_columns(struct source *source, const struct table *table)
{
    const char *comma = "";
    for (size_t i = 0; i < table->n_columns; i++) {
        const struct column *column = &table->columns[i];
        if (column->field < 0)
            continue;
        if (column->characters)
            buf_printf(&source->statement, "%sLEFT(`%s`, %zu)", comma, column->name,
                       column->characters);
        else
            buf_printf(&source->statement, "%s`%s`", comma, column->name);
        comma = ", ";
    }
}

static bool ask_page(struct source *source, const struct table *table, const char *after,
                     unsigned rows)
{
    buf_clear(&source->statement);
    buf_literal(&source->statement, "SELECT ");
    put_columns(source, table);
    buf_printf(&source->statement, " FROM `%s`", table->name);
    if (*after)
        buf_printf(&source->statement, " WHERE id > %s", after);
    buf_printf(&source->statement, " ORDER BY id LIMIT %u", rows);
    return ask(source);
}

/* The id as it stands there, for the next page: also one that cannot be an id here. */
static void keep_id(struct source *source, const struct table *table, char id[ID_TEXT_MAX])
{
    struct bytes text = sql_bytes(source->sql, 0);
    size_t digits = 0;
    for (size_t i = text.n && text.p[0] == '-'; i < text.n; i++)
        digits += text.p[i] >= '0' && text.p[i] <= '9';
    if (!digits || digits + (text.p[0] == '-') != text.n || text.n >= ID_TEXT_MAX) {
        source_fail(source, "the table %s has an id that is no whole number", table->name);
        return;
    }
    memcpy(id, text.p, text.n);
    id[text.n] = '\0';
}

bool table_read(struct source *source, struct table *table, bool needed,
                void (*take)(struct source *source, const struct table *table, void *ctx),
                void *ctx)
{
    char after[ID_TEXT_MAX] = "";
    unsigned page = source_at_once(source, table->page), n = page;
    source_connect(source);
    bool there = find_columns(source, table);
    if (!there && needed)
        source_fail(source, "there is no table %s", table->name);
    source->part_done = 0;
    while (there && take && n == page && ask_page(source, table, after, page)) {
        for (n = 0; !source->failed && sql_row(source->sql); n++) {
            keep_id(source, table, after);
            take(source, table, ctx);
        }
        source_took(source, table->name, n);
    }
    return there;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

struct bytes row_text(const struct source *source, const struct table *table, size_t column)
{
    int field = table->columns[column].field;
    return field < 0 ? (struct bytes){NULL, 0} : sql_bytes(source->sql, (unsigned)field);
}

bool row_id(const struct source *source, const struct table *table, size_t column, uint64_t most,
            uint64_t *id)
{
    return value_id(row_text(source, table, column), most, id);
}

bool row_count(const struct source *source, const struct table *table, size_t column,
               int64_t *count)
{
    return value_number(row_text(source, table, column), count);
}

bool row_time(const struct source *source, const struct table *table, size_t column, uint64_t *at)
{
    const struct column *time = &table->columns[column];
    struct bytes text = row_text(source, table, column);
    if (time->moment)
        return value_score(text, at);
    return value_date(text, time->utc ? 0 : source->how->zone_ahead_ms, at);
}
