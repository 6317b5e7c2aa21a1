/* SPDX-License-Identifier: MIT */
/*
 * Pages of a walk. One ends where its table, or one of the sources that the rules count in, has as many rows as a page may have; a
 * key is never divided. So a page costs little, however large the tables are, or as much as one key does.
 *
 * Its ends are in @p, @pb, @pc and @q, @qb, @qc, for all that is asked of it.
 */
#include "engine/cluster/verify.h"

static void put_behind(struct buf *text, const struct walk *walk)
{
    const char *a = walk->keys[0], *b = walk->keys[1], *c = walk->keys[2];
    buf_printf(text, "%s >= @p AND (%s > @p OR %s = @p AND (%s > @pb OR %s = @pb AND %s > @pc))", a,
               a, a, b, b, c);
}

void page_put_range(struct buf *text, const struct walk *walk)
{
    const char *a = walk->keys[0], *b = walk->keys[1], *c = walk->keys[2];
    put_behind(text, walk);
    buf_printf(text,
               " AND %s <= @q AND (%s < @q OR %s = @q AND (%s < @qb OR %s = @qb AND %s <= @qc))", a,
               a, a, b, b, c);
}

/* The last rows that a page may have, each in a result of its own. */
static void put_ends(struct buf *text, const struct walk *walk, uint64_t page)
{
    unsigned long long before = page - 1;
    buf_printf(text, "SELECT %s, %s, %s FROM %s WHERE ", walk->keys[0], walk->keys[1],
               walk->keys[2], walk->table);
    put_behind(text, walk);
    buf_printf(text, " ORDER BY 1, 2, 3 LIMIT %llu, 1", before);
    for (size_t i = 0; i < SOURCES_MAX && walk->sources[i].table; i++) {
        const char *table = walk->sources[i].table, *key = walk->sources[i].key;
        buf_printf(text, ";SELECT %s, 0, 0 FROM %s WHERE %s > @p ORDER BY 1 LIMIT %llu, 1", key,
                   table, key, before);
    }
}

/* The first of them; a table that has none left ends nowhere. */
static void take_end(struct sql *sql, struct range *range)
{
    while (sql_row(sql)) {
        uint64_t key = sql_u64(sql, 0);
        if (!range->is_last && key >= range->up_to[0])
            continue;
        range->is_last = false;
        for (unsigned i = 0; i < ROW_KEYS; i++)
            range->up_to[i] = sql_u64(sql, i);
    }
}

static enum sql_outcome find_end(struct desk *desk, const struct walk *walk,
                                 const uint64_t after[ROW_KEYS], uint64_t page, struct range *range)
{
    bool more = true;
    buf_printf(&desk->text, "SET @p=%llu, @pb=%llu, @pc=%llu;", (unsigned long long)after[0],
               (unsigned long long)after[1], (unsigned long long)after[2]);
    put_ends(&desk->text, walk, page);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    while (!outcome && more) {
        take_end(desk->sql, range);
        outcome = sql_next(desk->sql, &more);
    }
    buf_clear(&desk->text);
    return outcome;
}

static enum sql_outcome count_rows(struct desk *desk, const struct walk *walk, struct range *range)
{
    bool more;
    buf_printf(&desk->text, "SET @q=%llu, @qb=%llu, @qc=%llu;SELECT COUNT(*) FROM %s WHERE ",
               (unsigned long long)range->up_to[0], (unsigned long long)range->up_to[1],
               (unsigned long long)range->up_to[2], walk->table);
    page_put_range(&desk->text, walk);
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    if (!outcome)
        outcome = sql_next(desk->sql, &more);
    if (!outcome && sql_row(desk->sql))
        range->rows = sql_u64(desk->sql, 0);
    buf_clear(&desk->text);
    return outcome;
}

enum sql_outcome page_measure(struct check *check, const struct walk *walk,
                              const uint64_t after[ROW_KEYS], struct range *range)
{
    *range = (struct range){.is_last = true, .up_to = {UINT64_MAX, UINT64_MAX, UINT64_MAX}};
    if (!walk->keys[0])
        return SQL_DONE;
    enum sql_outcome outcome = find_end(&check->desk, walk, after, check->page, range);
    return outcome ? outcome : count_rows(&check->desk, walk, range);
}
