/* SPDX-License-Identifier: MIT */
/*
 * Rows that must be there, beside those that are, both in the order of an index: what is missing or otherwise is written, what is
 * too many goes. Nothing is written where nothing differs.
 */
#include <stdlib.h>

#include "consume/tables_internal.h"

/* Rows read together beyond twice as many as must be there; rows too many that are removed by one statement. */
enum { MERGE_MORE = 50000, MERGE_GONE = 200, MERGE_ROOM_MAX = 1 << 26 };

struct merge_change {
    struct tables_row *rows;
    size_t n, room;
};

static bool merge_grow(struct tables_row **rows, size_t *room)
{
    size_t wanted = *room ? 2 * *room : TABLES_ROWS;
    struct tables_row *grown =
        wanted <= MERGE_ROOM_MAX ? realloc(*rows, wanted * sizeof *grown) : NULL;
    if (!grown)
        return false;
    *rows = grown;
    *room = wanted;
    return true;
}

static bool change_add(struct merge_change *change, const struct tables_row *row)
{
    if (change->n == change->room && !merge_grow(&change->rows, &change->room))
        return false;
    change->rows[change->n++] = *row;
    return true;
}

void tables_merge_init(struct tables_merge *merge, const struct tables_form *form, bool only_keys)
{
    *merge = (struct tables_merge){.form = form, .only_keys = only_keys, .upto = INT64_MIN};
}

void tables_merge_release(struct tables_merge *merge)
{
    free(merge->rows);
    merge->rows = NULL;
}

bool tables_merge_add(struct tables *tables, struct tables_merge *merge,
                      const struct tables_row *row)
{
    int64_t last = merge->n ? merge->rows[merge->n - 1].at[0] : 0;
    if (merge->n >= TABLES_ROWS && row->at[0] != last && !tables_merge_flush(tables, merge, last))
        return false;
    if (merge->n == merge->room && !merge_grow(&merge->rows, &merge->room))
        return tables_fail(tables, "there is no memory to compare %s", merge->form->table);
    merge->rows[merge->n++] = *row;
    return true;
}

/* ---- Comparing ---------------------------------------------------------------------------------- */

static int merge_compare(const void *a, const void *b, void *form)
{
    return tables_row_compare(form, a, b);
}

static bool merge_differs(const struct tables_merge *merge, const struct tables_row *a,
                          const struct tables_row *b)
{
    for (unsigned i = merge->form->n_keys; !merge->only_keys && i < merge->form->n; i++)
        if (a->at[i] != b->at[i])
            return true;
    return false;
}

static bool merge_ask(struct tables *tables, const struct tables_merge *merge, int64_t upto,
                      size_t limit)
{
    struct buf *text = tables_text(tables);
    const char *key = merge->form->columns[0].name;
    buf_literal(text, "SELECT ");
    tables_put_asked(text, merge->form);
    buf_literal(text, " FROM ");
    buf_text(text, merge->form->table);
    buf_literal(text, " WHERE ");
    buf_text(text, key);
    buf_literal(text, ">");
    buf_i64(text, merge->upto);
    buf_literal(text, " AND ");
    buf_text(text, key);
    buf_literal(text, "<=");
    buf_i64(text, upto);
    if (merge->form->only) {
        buf_literal(text, " AND ");
        buf_text(text, merge->form->only);
    }
    for (unsigned i = 0; i < merge->form->n_keys; i++) {
        buf_text(text, i ? "," : " ORDER BY ");
        buf_text(text, merge->form->columns[i].name);
    }
    tables_put(text, " LIMIT ", limit);
    return tables_ask(tables);
}

/* Goes through the result beside what must be there. *next: of what must be there, the first that was not reached. */
static bool merge_walk(struct tables *tables, struct tables_merge *merge, size_t *n_read,
                       size_t *next, struct merge_change *missing, struct merge_change *gone)
{
    struct tables_row found;
    bool room = true;
    while (room && sql_row(tables->sql)) {
        int order = -1;
        tables_take_row(tables->sql, merge->form, &found);
        ++*n_read;
        while (room && *next < merge->n &&
               (order = tables_row_compare(merge->form, &merge->rows[*next], &found)) < 0)
            room = change_add(missing, &merge->rows[(*next)++]);
        if (*next < merge->n && !order) {
            if (merge_differs(merge, &merge->rows[*next], &found))
                room = change_add(missing, &merge->rows[*next]);
            ++*next;
        } else if (room) {
            room = change_add(gone, &found);
        }
    }
    return room;
}

/* ---- Mending ------------------------------------------------------------------------------------ */

static bool merge_write(struct tables *tables, const struct tables_merge *merge,
                        const struct merge_change *change, size_t together,
                        void (*put)(struct buf *, const struct tables_form *,
                                    const struct tables_row *, size_t))
{
    for (size_t at = 0; at < change->n; at += together) {
        struct buf *text = tables_text(tables);
        size_t left = change->n - at;
        tables_put_fence(tables, text);
        put(text, merge->form, &change->rows[at], left < together ? left : together);
        buf_literal(text, ";COMMIT");
        if (!tables_run(tables))
            return false;
    }
    return true;
}

/* Some rows; *more: there may be others behind them. */
static bool merge_some(struct tables *tables, struct tables_merge *merge, int64_t upto,
                       size_t *next, bool *more)
{
    struct merge_change missing = {0}, gone = {0};
    size_t limit = 2 * merge->n + MERGE_MORE, n_read = 0;
    *next = 0;
    bool fine = merge_ask(tables, merge, upto, limit);
    if (fine && !merge_walk(tables, merge, &n_read, next, &missing, &gone))
        fine = tables_fail(tables, "there is no memory to compare %s", merge->form->table);
    *more = n_read == limit;
    merge->found += n_read;
    for (; fine && !*more && *next < merge->n; ++*next)
        if (!change_add(&missing, &merge->rows[*next]))
            fine = tables_fail(tables, "there is no memory to compare %s", merge->form->table);
    fine = fine && merge_write(tables, merge, &gone, MERGE_GONE, tables_put_gone) &&
           merge_write(tables, merge, &missing, TABLES_ROWS, tables_put_rows);
    merge->differences += missing.n + gone.n;
    free(missing.rows);
    free(gone.rows);
    return fine;
}

/* Where there are far too many rows, they go in pieces: each is read again without those before it. */
bool tables_merge_flush(struct tables *tables, struct tables_merge *merge, int64_t upto)
{
    size_t next;
    bool more = true;
    if (merge->n)
        qsort_r(merge->rows, merge->n, sizeof *merge->rows, merge_compare,
                (void *)(uintptr_t)merge->form);
    while (more)
        if (!merge_some(tables, merge, upto, &next, &more))
            return false;
    merge->n = 0;
    merge->upto = upto;
    return true;
}
