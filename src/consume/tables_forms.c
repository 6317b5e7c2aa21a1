/* SPDX-License-Identifier: MIT */
#include "consume/tables_internal.h"

#include "domain/event_yl.h"

#define FOLLOW_COLUMNS                                                                         \
    {                                                                                          \
        {"from_user_id", COLUMN_NUMBER}, {"to_user_id", COLUMN_NUMBER}, {"id", COLUMN_NUMBER}, \
            {"rel_status", COLUMN_NUMBER},                                                     \
        {                                                                                      \
            "created_at", COLUMN_TIME                                                          \
        }                                                                                      \
    }
#define POST_COLUMNS(key)                                                                  \
    {                                                                                      \
        {key, COLUMN_NUMBER}, {"like_count", COLUMN_NUMBER}, {"fav_count", COLUMN_NUMBER}, \
            {"comment_count", COLUMN_NUMBER},                                              \
        {                                                                                  \
            "hot_score", COLUMN_NUMBER                                                     \
        }                                                                                  \
    }

/* That somebody follows no more is a row that stays, and may be missing. */
const struct tables_form tables_forms[FORM_COUNT] = {
    [FORM_FOLLOWING] = {"following", 2, 5, FOLLOW_COLUMNS, "rel_status<>0",
                        "rel_status=0,updated_at=NOW(3)"},
    [FORM_FOLLOWER] = {"follower", 2, 5, FOLLOW_COLUMNS, "rel_status<>0",
                       "rel_status=0,updated_at=NOW(3)"},
    [FORM_REACTION] = {"yl_reaction",
                       4,
                       5,
                       {{"user_id", COLUMN_NUMBER},
                        {"target_type", COLUMN_TARGET},
                        {"target_id", COLUMN_NUMBER},
                        {"type", COLUMN_REACTION},
                        {"created_at", COLUMN_TIME}},
                       NULL,
                       NULL},
    [FORM_COMMENT] = {"yl_comment",
                      1,
                      7,
                      {{"id", COLUMN_NUMBER},
                       {"target_type", COLUMN_TARGET},
                       {"target_id", COLUMN_NUMBER},
                       {"parent_id", COLUMN_NUMBER_OR_NULL},
                       {"user_id", COLUMN_NUMBER},
                       {"status", COLUMN_STATUS},
                       {"created_at", COLUMN_TIME}},
                      NULL,
                      NULL},
    [FORM_CONTENT_STATS] = {"yl_content_stats", 1, 5, POST_COLUMNS("content_id"), NULL, NULL},
    [FORM_ACTIVITY_STATS] = {"yl_activity_stats", 1, 5, POST_COLUMNS("activity_id"), NULL, NULL},
    [FORM_COMMENT_STATS] = {"yl_comment_stats",
                            1,
                            5,
                            {{"comment_id", COLUMN_NUMBER},
                             {"like_count", COLUMN_NUMBER},
                             {"down_count", COLUMN_NUMBER},
                             {"reply_count", COLUMN_NUMBER},
                             {"hot_score", COLUMN_NUMBER}},
                            NULL,
                            NULL},
};

/* ---- Words -------------------------------------------------------------------------------------- */

uint64_t tables_word_kind(enum tidings_post_kind kind)
{
    return kind == TIDINGS_ACTIVITY ? WORD_ACTIVITY : WORD_CONTENT;
}

uint64_t tables_word_target(const struct tidings_event *event, bool on_comment)
{
    return on_comment ? WORD_COMMENT : tables_word_kind(event->post_kind);
}

uint64_t tables_word_reaction(enum tidings_reaction reaction)
{
    static const uint64_t words[] = {
        [TIDINGS_LIKE] = WORD_LIKE, [TIDINGS_FAV] = WORD_FAV, [TIDINGS_DOWNVOTE] = WORD_DOWNVOTE};
    return words[reaction];
}

uint64_t tables_word_status(enum tidings_comment_status status)
{
    static const uint64_t words[] = {[TIDINGS_COMMENT_VISIBLE] = WORD_VISIBLE,
                                     [TIDINGS_COMMENT_HIDDEN] = WORD_HIDDEN,
                                     [TIDINGS_COMMENT_DELETED] = WORD_DELETED};
    return words[status];
}

enum { WORDS_MAX = 3 };

/* A word that is none is "". */
const char *tables_word(enum tables_column_kind kind, uint64_t word)
{
    static const char *const words[][WORDS_MAX + 1] = {
        [COLUMN_TARGET] = {"", "ACTIVITY", EVENT_YL_COMMENT, "CONTENT"},
        [COLUMN_REACTION] = {"", "DOWNVOTE", "FAV", "LIKE"},
        [COLUMN_STATUS] = {"", "DELETED", "HIDDEN", "VISIBLE"},
    };
    return words[kind][word];
}

static uint64_t word_of(enum tables_column_kind kind, struct bytes text)
{
    for (uint64_t word = 1; word <= WORDS_MAX; word++) {
        const char *it = tables_word(kind, word);
        if (text.n == strlen(it) && !memcmp(text.p, it, text.n))
            return word;
    }
    return 0;
}

static bool is_word(enum tables_column_kind kind)
{
    return kind >= COLUMN_TARGET;
}

/* ---- Rows --------------------------------------------------------------------------------------- */

int tables_row_compare(const struct tables_form *form, const struct tables_row *a,
                       const struct tables_row *b)
{
    for (unsigned i = 0; i < form->n_keys; i++)
        if (a->at[i] != b->at[i])
            return a->at[i] < b->at[i] ? -1 : 1;
    return 0;
}

void tables_put_columns(struct buf *text, const struct tables_form *form)
{
    for (unsigned i = 0; i < form->n; i++) {
        buf_text(text, i ? "," : "");
        buf_text(text, form->columns[i].name);
    }
}

void tables_put_asked(struct buf *text, const struct tables_form *form)
{
    for (unsigned i = 0; i < form->n; i++) {
        bool time = form->columns[i].kind == COLUMN_TIME;
        buf_text(text, i ? "," : "");
        buf_text(text, time ? "TIMESTAMPDIFF(MICROSECOND,'1970-01-01'," : "");
        buf_text(text, form->columns[i].name);
        buf_text(text, time ? ") DIV 1000" : "");
    }
}

static int64_t tables_take_column(struct sql *sql, unsigned i, enum tables_column_kind kind)
{
    return is_word(kind) ? (int64_t)word_of(kind, sql_bytes(sql, i)) : sql_i64(sql, i);
}

void tables_take_row(struct sql *sql, const struct tables_form *form, struct tables_row *row)
{
    for (unsigned i = 0; i < form->n; i++)
        row->at[i] = tables_take_column(sql, i, form->columns[i].kind);
}

static void tables_put_value(struct buf *text, enum tables_column_kind kind, int64_t value)
{
    if (is_word(kind)) {
        buf_char(text, '\'');
        buf_text(text, tables_word(kind, (uint64_t)value));
        buf_char(text, '\'');
    } else if (kind == COLUMN_TIME) {
        tables_put_time(text, (uint64_t)value);
    } else if (kind == COLUMN_NUMBER_OR_NULL && !value) {
        buf_literal(text, "NULL");
    } else {
        buf_i64(text, value);
    }
}

static bool tables_has_update(const struct tables_form *form)
{
    return form->gone != NULL;
}

/* Follows have the time of the last change, too: since when, if nothing else is known. */
void tables_put_rows(struct buf *text, const struct tables_form *form,
                     const struct tables_row *rows, size_t n)
{
    buf_literal(text, ";INSERT INTO ");
    buf_text(text, form->table);
    buf_literal(text, " (");
    tables_put_columns(text, form);
    buf_text(text, tables_has_update(form) ? ",updated_at) VALUES " : ") VALUES ");
    for (size_t i = 0; i < n; i++) {
        buf_text(text, i ? ",(" : "(");
        for (unsigned k = 0; k < form->n; k++) {
            buf_text(text, k ? "," : "");
            tables_put_value(text, form->columns[k].kind, rows[i].at[k]);
        }
        if (tables_has_update(form)) {
            buf_char(text, ',');
            tables_put_time(text, (uint64_t)rows[i].at[form->n - 1]);
        }
        buf_char(text, ')');
    }
    buf_literal(text, " ON DUPLICATE KEY UPDATE ");
    for (unsigned k = 0; k < form->n; k++) {
        buf_text(text, k ? "," : "");
        buf_text(text, form->columns[k].name);
        buf_literal(text, "=VALUES(");
        buf_text(text, form->columns[k].name);
        buf_char(text, ')');
    }
    if (tables_has_update(form))
        buf_literal(text, ",updated_at=VALUES(updated_at)");
}

void tables_put_gone(struct buf *text, const struct tables_form *form,
                     const struct tables_row *rows, size_t n)
{
    buf_text(text, form->gone ? ";UPDATE " : ";DELETE FROM ");
    buf_text(text, form->table);
    if (form->gone) {
        buf_literal(text, " SET ");
        buf_text(text, form->gone);
    }
    buf_literal(text, " WHERE ");
    for (size_t i = 0; i < n; i++) {
        buf_text(text, i ? " OR (" : "(");
        for (unsigned k = 0; k < form->n_keys; k++) {
            buf_text(text, k ? " AND " : "");
            buf_text(text, form->columns[k].name);
            buf_char(text, '=');
            tables_put_value(text, form->columns[k].kind, rows[i].at[k]);
        }
        buf_char(text, ')');
    }
}
