/* SPDX-License-Identifier: MIT */
/* Counts from what is counted: yl_reaction, and comments of yl_comment that are visible; hot_score from the counts. */
#include <stdlib.h>

#include "consume/tables_internal.h"

/* Columns of the stats. */
enum { STATS_ID, STATS_LIKE, STATS_OTHER, STATS_COMMENT, STATS_HOT };

struct recount {
    const struct tables_form *form;
    int64_t weight[3]; /* of the three counts */
    const char *
        reactions; /* of the target, and how comments are counted: questions to which a range is appended */
    const char *comments, *of_comments;
    size_t n;
    struct tables_row found[TABLES_ROWS], wanted[TABLES_ROWS];
};

static void recount_put_range(const struct recount *recount, struct buf *text, const char *column)
{
    buf_literal(text, " AND ");
    buf_text(text, column);
    buf_literal(text, ">=");
    buf_i64(text, recount->found[0].at[STATS_ID]);
    buf_literal(text, " AND ");
    buf_text(text, column);
    buf_literal(text, "<=");
    buf_i64(text, recount->found[recount->n - 1].at[STATS_ID]);
    buf_literal(text, " GROUP BY ");
    buf_text(text, column);
}

/* The next rows of the stats, in the order of their ids. */
static bool recount_read(struct tables *tables, struct recount *recount, int64_t after)
{
    struct buf *text = tables_text(tables);
    const char *key = recount->form->columns[0].name;
    buf_literal(text, "SELECT ");
    tables_put_asked(text, recount->form);
    buf_literal(text, " FROM ");
    buf_text(text, recount->form->table);
    buf_literal(text, " WHERE ");
    buf_text(text, key);
    buf_literal(text, ">");
    buf_i64(text, after);
    buf_literal(text, " ORDER BY ");
    buf_text(text, key);
    tables_put(text, " LIMIT ", TABLES_ROWS);
    if (!tables_ask(tables))
        return false;
    for (recount->n = 0; recount->n < TABLES_ROWS && sql_row(tables->sql); recount->n++) {
        struct tables_row *row = &recount->found[recount->n];
        tables_take_row(tables->sql, recount->form, row);
        recount->wanted[recount->n] = (struct tables_row){{row->at[STATS_ID]}};
    }
    return true;
}

static struct tables_row *recount_find(struct recount *recount, int64_t id)
{
    size_t low = 0, high = recount->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (recount->wanted[middle].at[STATS_ID] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < recount->n && recount->wanted[low].at[STATS_ID] == id ? &recount->wanted[low]
                                                                       : NULL;
}

/* Likes, and whatever else there is. */
static bool recount_reactions(struct tables *tables, struct recount *recount)
{
    struct buf *text = tables_text(tables);
    buf_text(text, recount->reactions);
    recount_put_range(recount, text, "target_id");
    buf_literal(text, ",type");
    if (!tables_ask(tables))
        return false;
    while (sql_row(tables->sql)) {
        struct tables_row *row = recount_find(recount, sql_i64(tables->sql, 0));
        if (row)
            row->at[sql_u64(tables->sql, 1) ? STATS_LIKE : STATS_OTHER] += sql_i64(tables->sql, 2);
    }
    return true;
}

static bool recount_comments(struct tables *tables, struct recount *recount)
{
    struct buf *text = tables_text(tables);
    buf_text(text, recount->comments);
    recount_put_range(recount, text, recount->of_comments);
    if (!tables_ask(tables))
        return false;
    while (sql_row(tables->sql)) {
        struct tables_row *row = recount_find(recount, sql_i64(tables->sql, 0));
        if (row)
            row->at[STATS_COMMENT] += sql_i64(tables->sql, 1);
    }
    return true;
}

static bool recount_mend(struct tables *tables, struct recount *recount, uint64_t *differences)
{
    size_t n = 0;
    for (size_t i = 0; i < recount->n; i++) {
        struct tables_row *row = &recount->wanted[i];
        for (int k = 0; k < 3; k++)
            row->at[STATS_HOT] += row->at[STATS_LIKE + k] * recount->weight[k];
        if (memcmp(row, &recount->found[i], (STATS_HOT + 1) * sizeof row->at[0]) != 0)
            recount->found[n++] = *row;
    }
    *differences += n;
    if (!n)
        return true;
    struct buf *text = tables_text(tables);
    tables_put_fence(tables, text);
    tables_put_rows(text, recount->form, recount->found, n);
    buf_literal(text, ";COMMIT");
    return tables_run(tables);
}

static bool recount_table(struct tables *tables, struct consumer *consumer, struct recount *recount,
                          uint64_t *differences)
{
    int64_t after = INT64_MIN;
    do {
        if (!consume_goes_on(consumer) || !recount_read(tables, recount, after))
            return false;
        if (!recount->n)
            return true;
        after = recount->found[recount->n - 1].at[STATS_ID];
        if (!recount_reactions(tables, recount) || !recount_comments(tables, recount) ||
            !recount_mend(tables, recount, differences))
            return false;
    } while (true);
}

#define REACTIONS "SELECT target_id,type='LIKE',COUNT(*) FROM yl_reaction WHERE target_type="
#define COMMENTS                                                            \
    "SELECT target_id,COUNT(*) FROM yl_comment WHERE status='VISIBLE' AND " \
    "target_type="

bool tables_recount(struct tables *tables, struct consumer *consumer,
                    const struct tidings_settings *settings, uint64_t *differences)
{
    struct recount *recount = calloc(1, sizeof *recount);
    if (!recount)
        return tables_fail(tables, "there is no memory to count");
    *recount = (struct recount){
        .form = &tables_forms[FORM_CONTENT_STATS],
        .weight = {(int64_t)settings->hot_like, (int64_t)settings->hot_fav,
                   (int64_t)settings->hot_comment},
        .reactions = REACTIONS "'CONTENT'",
        .comments = COMMENTS "'CONTENT'",
        .of_comments = "target_id",
    };
    bool fine = recount_table(tables, consumer, recount, differences);
    recount->form = &tables_forms[FORM_ACTIVITY_STATS];
    recount->reactions = REACTIONS "'ACTIVITY'";
    recount->comments = COMMENTS "'ACTIVITY'";
    fine = fine && recount_table(tables, consumer, recount, differences);
    recount->form = &tables_forms[FORM_COMMENT_STATS];
    recount->weight[0] = (int64_t)settings->hot_comment_like;
    recount->weight[1] = -(int64_t)settings->hot_comment_down;
    recount->weight[2] = (int64_t)settings->hot_comment_reply;
    recount->reactions = REACTIONS "'COMMENT'";
    recount->comments = "SELECT parent_id,COUNT(*) FROM yl_comment WHERE status='VISIBLE'";
    recount->of_comments = "parent_id";
    fine = fine && recount_table(tables, consumer, recount, differences);
    free(recount);
    return fine;
}
