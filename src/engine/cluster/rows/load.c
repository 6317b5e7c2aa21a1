/* SPDX-License-Identifier: MIT */
/* Loading: what is wanted, of every kind, in as few statements as there are kinds, and one round trip. */
#include <stdlib.h>

#include "engine/cluster/rows/desk.h"

enum { ROWS_A_STATEMENT = 512 };

/* What a statement answers with. */
struct plan {
    enum { PLAN_NOTHING, PLAN_ROWS, PLAN_IDS, PLAN_DELETIONS, PLAN_QUESTION } what;
    enum kind kind;
    const struct wanted_head *head;
    struct question *question;
};

struct plans {
    struct plan *at;
    size_t n, room;
    bool failed;
};

static void add_plan(struct desk *desk, struct plans *plans, struct plan plan)
{
    if (plans->n == plans->room) {
        size_t room = plans->room ? plans->room * 2 : 32;
        struct plan *grown = realloc(plans->at, room * sizeof *grown);
        if (!grown) {
            plans->failed = true;
            return;
        }
        plans->at = grown;
        plans->room = room;
    }
    if (desk->text.len)
        buf_char(&desk->text, ';');
    plans->at[plans->n++] = plan;
}

/* ---- Statements ----------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    const struct row *x = *(struct row *const *)a, *y = *(struct row *const *)b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->is_range != y->is_range)
        return x->is_range ? 1 : -1;
    return key_order(x->key, y->key);
}

static void put_tuple(struct buf *text, const uint64_t *numbers, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        buf_char(text, i ? ',' : '(');
        buf_u64(text, numbers[i]);
    }
    buf_char(text, ')');
}

void desk_put_keys(struct buf *text, struct row **rows, size_t n, unsigned keys)
{
    const struct kind_form *form = &kind_forms[rows[0]->kind];
    if (!keys) {
        buf_literal(text, "TRUE");
        return;
    }
    for (unsigned i = 0; i < keys; i++) {
        buf_char(text, i ? ',' : '(');
        buf_text(text, form->keys[i]);
    }
    buf_literal(text, ") IN (");
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_char(text, ',');
        put_tuple(text, rows[i]->key, keys);
    }
    buf_char(text, ')');
}

/* Kinds whose rows others may change, and a change may rely on. */
static const char *lock_of(const struct desk *desk, enum kind kind)
{
    static const char *const words[] = {"", " LOCK IN SHARE MODE", " FOR UPDATE"};
    if (desk->reads)
        return "";
    switch (kind) {
    case KIND_AUTHOR:
    case KIND_STORY:
    case KIND_POST:
    case KIND_SCENE:
        return words[desk->hold];
    case KIND_EPOCH:
        return words[HOLD_SHARED];
    case KIND_COMMENT:
    case KIND_STATS:
    case KIND_WEBHOOK:
        return words[HOLD_ALONE];
    default:
        return "";
    }
}

/* Rows of one kind, either single ones or ranges. */
static void put_rows(struct desk *desk, struct plans *plans, struct row **rows, size_t n)
{
    const struct kind_form *form = &kind_forms[rows[0]->kind];
    bool ranges = rows[0]->is_range;
    unsigned keys = ranges ? form->range_keys : kind_keys(rows[0]->kind);
    add_plan(desk, plans, (struct plan){.what = PLAN_ROWS, .kind = rows[0]->kind});
    buf_literal(&desk->text, "SELECT ");
    kind_put_columns(&desk->text, rows[0]->kind);
    buf_printf(&desk->text, " FROM %s FORCE INDEX (PRIMARY) WHERE ", form->table);
    if (ranges && form->range_only)
        buf_printf(&desk->text, "%s AND ", form->range_only);
    desk_put_keys(&desk->text, rows, n, keys);
    buf_text(&desk->text, lock_of(desk, rows[0]->kind));
}

static bool go_together(const struct row *a, const struct row *b)
{
    return a->kind == b->kind && a->is_range == b->is_range;
}

static void put_wanted(struct desk *desk, struct plans *plans)
{
    struct sheet *sheet = &desk->sheet;
    if (sheet->n_wanted)
        qsort(sheet->wanted, sheet->n_wanted, sizeof *sheet->wanted, by_key);
    for (size_t i = 0, n; i < sheet->n_wanted; i += n) {
        for (n = 1; i + n < sheet->n_wanted && n < ROWS_A_STATEMENT &&
                    go_together(sheet->wanted[i], sheet->wanted[i + n]);)
            n++;
        put_rows(desk, plans, sheet->wanted + i, n);
    }
}

/* What the head lacks, up to what its row says. */
static void put_head(struct desk *desk, struct plans *plans, const struct wanted_head *wanted)
{
    bool posts = wanted->key.realm == REALM_POSTS;
    const char *author = posts ? "author_id" : "story_id";
    if (wanted->from_ids < wanted->to_ids) {
        add_plan(desk, plans, (struct plan){.what = PLAN_IDS, .head = wanted});
        buf_printf(&desk->text,
                   "SELECT number, %s, position FROM %s WHERE %s=%llu AND number>=%u AND number<%u "
                   "ORDER BY number",
                   posts ? "post_id" : "scene_id", posts ? "post" : "scene", author,
                   (unsigned long long)wanted->key.author, wanted->from_ids, wanted->to_ids);
    }
    if (wanted->from_deleted < wanted->to_deleted) {
        add_plan(desk, plans, (struct plan){.what = PLAN_DELETIONS, .head = wanted});
        buf_printf(&desk->text,
                   "SELECT ordinal, number FROM %s WHERE %s=%llu AND ordinal>=%u AND ordinal<%u "
                   "ORDER BY ordinal",
                   posts ? "post_deletion" : "scene_deletion", author,
                   (unsigned long long)wanted->key.author, wanted->from_deleted,
                   wanted->to_deleted);
    }
}

static void put_heads(struct desk *desk, struct plans *plans)
{
    desk_sort_wanted_heads(desk);
    for (size_t i = 0; i < desk->n_wanted_heads; i++)
        put_head(desk, plans, &desk->wanted_heads[i]);
}

static void put_questions(struct desk *desk, struct plans *plans)
{
    for (struct question *question = desk->questions; question; question = question->next) {
        if (question->answered)
            continue;
        add_plan(desk, plans, (struct plan){.what = PLAN_QUESTION, .question = question});
        question_put(desk, question);
    }
}

/* ---- Answers -------------------------------------------------------------------------------- */

static void take_row(struct desk *desk, enum kind kind)
{
    uint64_t key[ROW_KEYS] = {0};
    struct value value = {.exists = true};
    unsigned field = 0;
    for (unsigned i = 0; i < kind_keys(kind); i++)
        key[i] = sql_u64(desk->sql, field++);
    for (unsigned i = 0; i < kind_numbers(kind); i++)
        value.numbers[i] = sql_u64(desk->sql, field++);
    for (unsigned i = 0; i < kind_texts(kind); i++)
        value.texts[i] = sql_bytes(desk->sql, field++);
    sheet_loaded(&desk->sheet, kind, key, &value);
}

/* Rows of a head, some at a time, up to the first that is missing: what stands behind it would be taken for another. */
enum { PIECE = 512 };

static bool is_next(struct desk *desk, uint64_t number)
{
    return sql_row(desk->sql) && sql_u64(desk->sql, 0) == number;
}

static bool take_ids(struct desk *desk, const struct wanted_head *wanted)
{
    uint64_t ids[PIECE], positions[PIECE];
    uint32_t first = wanted->from_ids;
    size_t n;
    bool fine = true;
    do {
        for (n = 0; n < PIECE && is_next(desk, first + n); n++) {
            ids[n] = sql_u64(desk->sql, 1);
            positions[n] = sql_u64(desk->sql, 2);
        }
        fine &= known_add_posts(desk->known, wanted->key, first, ids, positions, n);
        first += (uint32_t)n;
    } while (n == PIECE);
    return fine && (first >= wanted->to_ids || desk_tear(desk, wanted->key));
}

static bool take_deletions(struct desk *desk, const struct wanted_head *wanted)
{
    uint32_t numbers[PIECE], first = wanted->from_deleted;
    size_t n;
    bool fine = true;
    do {
        for (n = 0; n < PIECE && is_next(desk, first + n); n++)
            numbers[n] = (uint32_t)sql_u64(desk->sql, 1);
        fine &= known_add_deletions(desk->known, wanted->key, first, numbers, n);
        first += (uint32_t)n;
    } while (n == PIECE);
    return fine && (first >= wanted->to_deleted || desk_tear(desk, wanted->key));
}

static bool take(struct desk *desk, const struct plan *plan)
{
    switch (plan->what) {
    case PLAN_ROWS:
        while (sql_row(desk->sql))
            take_row(desk, plan->kind);
        return true;
    case PLAN_IDS:
        return take_ids(desk, plan->head);
    case PLAN_DELETIONS:
        return take_deletions(desk, plan->head);
    case PLAN_QUESTION:
        question_take(desk, plan->question);
        return true;
    case PLAN_NOTHING:
        return true;
    }
    return true;
}

static enum sql_outcome take_all(struct desk *desk, const struct plans *plans)
{
    bool more = true, fine = true;
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    for (size_t i = 0; !outcome && i < plans->n; i++) {
        fine &= take(desk, &plans->at[i]);
        outcome = sql_next(desk->sql, &more);
    }
    desk->sheet.failed |= !fine;
    return outcome;
}

/* ---- Rows that must be there to be locked --------------------------------------------------- */

static bool is_story(struct desk *desk, uint64_t id)
{
    const uint64_t key[ROW_KEYS] = {id};
    const struct value *post = sheet_peek(&desk->sheet, KIND_POST, key);
    return post && post->exists && post->numbers[POST_KIND] == TIDINGS_STORY;
}

/* An author's or story's row that was to be locked, and is not there. */
static bool is_missing(struct desk *desk, const struct row *row)
{
    if (row->value || row->is_range || !*lock_of(desk, row->kind))
        return false;
    return row->kind == KIND_AUTHOR || (row->kind == KIND_STORY && is_story(desk, row->key[0]));
}

/*
 * A row that does not exist cannot be locked: who follows somebody who has never published would not be held up by the first
 * post, and have it delivered or not as luck will have it. So it is made, by itself, and all is begun again.
 */
static enum sql_outcome make_missing(struct desk *desk)
{
    bool any = false;
    buf_clear(&desk->text);
    buf_literal(&desk->text, "ROLLBACK");
    for (size_t i = 0; i < desk->sheet.n_wanted; i++) {
        const struct row *row = desk->sheet.wanted[i];
        if (!is_missing(desk, row))
            continue;
        any = true;
        buf_char(&desk->text, ';');
        kind_put_lock(&desk->text, row->kind, row->key[0]);
    }
    enum sql_outcome outcome = any ? sql_run(desk->sql, &desk->text) : SQL_DONE;
    buf_clear(&desk->text);
    return any && !outcome ? SQL_AGAIN : outcome;
}

enum sql_outcome desk_load(struct desk *desk, unsigned n_before)
{
    struct plans plans = {0};
    size_t before = desk->text.len;
    while (n_before--)
        add_plan(desk, &plans, (struct plan){.what = PLAN_NOTHING});
    desk->text.len = before;
    put_wanted(desk, &plans);
    put_heads(desk, &plans);
    put_questions(desk, &plans);
    enum sql_outcome outcome = SQL_DONE;
    if (desk->text.failed || plans.failed)
        desk->sheet.failed = true;
    else if (desk->text.len)
        outcome = take_all(desk, &plans);
    free(plans.at);
    buf_clear(&desk->text);
    desk->n_wanted_heads = 0;
    if (!outcome)
        outcome = make_missing(desk);
    if (!outcome)
        sheet_settle_wanted(&desk->sheet);
    return outcome;
}
