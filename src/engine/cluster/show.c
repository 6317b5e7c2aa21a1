/* SPDX-License-Identifier: MIT */
/*
 * The rows about somebody or something, for people: every column by its name, and what is packed taken apart. From one
 * snapshot, a page at a time. It trusts no byte: what cannot be taken apart is said to be damaged, and printed all the same.
 */
#include <inttypes.h>
#include <stdio.h>

#include "engine/cluster/cluster.h"
#include "engine/records/records.h"
#include "engine/records/stories.h"

enum { PAGE = 1000, ORDER_MAX = 2, SUBJECT_PARTS_MAX = 16 };
#define SCRATCH_MAX ((size_t)64 << 20)

/* Rows of a table whose column has the subject's id, in the order of others, by which there is an index. */
struct part {
    enum kind kind;
    const char *column;
    const char *order[ORDER_MAX];
};

/* clang-format off */
static const struct subject {
    size_t n;
    struct part parts[SUBJECT_PARTS_MAX];
} subjects[] = {
    [TIDINGS_SUBJECT_USER] = {12, {
        {KIND_USER, "user_id", {0}},
        {KIND_COUNTER, "user_id", {0}},
        {KIND_PROFILE, "user_id", {0}},
        {KIND_FOLLOWING, "from_user_id", {"to_user_id"}},
        {KIND_READ_MAP, "user_id", {"author_id", "chunk"}},
        {KIND_SUBSCRIPTION, "user_id", {"story_id"}},
        {KIND_SCENE_READ_MAP, "user_id", {"story_id", "chunk"}},
        {KIND_HISTORY, "user_id", {"stamp", "post_id"}},
        {KIND_HISTORY_CLEARED, "user_id", {0}},
        {KIND_REACTION, "user_id", {"target_id", "reaction"}},
        {KIND_READING, "user_id", {"story_id"}},
        {KIND_ONCE, "user_id", {"key_high", "key_low"}},
    }},
    [TIDINGS_SUBJECT_AUTHOR] = {5, {
        {KIND_AUTHOR, "author_id", {0}},
        {KIND_COUNTER, "user_id", {0}},
        {KIND_POST, "author_id", {"number"}},
        {KIND_DELETION, "author_id", {"ordinal"}},
        {KIND_FOLLOWER, "to_user_id", {"rank_id", "from_user_id"}},
    }},
    [TIDINGS_SUBJECT_POST] = {9, {
        {KIND_POST, "post_id", {0}},
        {KIND_BODY, "post_id", {0}},
        {KIND_STATS, "post_id", {0}},
        {KIND_REACTION, "target_id", {"reaction", "stamp"}},
        {KIND_COMMENT, "list_id", {"comment_id"}},
        {KIND_STORY, "story_id", {0}},
        {KIND_SCENE, "story_id", {"number"}},
        {KIND_SCENE_DELETION, "story_id", {"ordinal"}},
        {KIND_SUBSCRIBER, "story_id", {"rank_id", "user_id"}},
    }},
};
/* clang-format on */

struct show {
    struct sql *sql;
    FILE *to;
    struct arena scratch;
    struct buf text;
    uint64_t rows;
};

/* ---- Packed columns ------------------------------------------------------------------------- */

static void print_spans(FILE *to, const char *name, const struct span *spans, size_t n)
{
    fprintf(to, " %s", name);
    for (size_t i = 0; i < n; i++)
        if (spans[i].end == SPAN_OPEN)
            fprintf(to, "%c%" PRIu32 "-", i ? ',' : '=', spans[i].start);
        else
            fprintf(to, "%c%" PRIu32 "-%" PRIu32, i ? ',' : '=', spans[i].start, spans[i].end - 1);
    if (!n)
        fputs("=none", to);
}

static bool print_pair(struct show *show, struct bytes from)
{
    struct pair pair;
    struct skips skips;
    if (!pair_decode(from, &show->scratch, &pair, 0) || !pair_skips(&pair, &skips))
        return false;
    fprintf(show->to, "following=%d paused=%d rank=%" PRIu64 " settled=%" PRIu32, pair.following,
            pair.paused, pair.rank, pair.settled);
    fprintf(show->to, " reads_in=%" PRIu32 " dead_in=%" PRIu32, pair.reads_in, pair.dead_in);
    fprintf(show->to, " reads_out=%" PRIu32 " dead_out=%" PRIu32, pair.reads_out, pair.dead_out);
    print_spans(show->to, "delivered", pair.spans, pair.n_spans);
    print_spans(show->to, "skips", skips.at, skips.n);
    return true;
}

/* A post of the 64 in a line: when it was first read, and since when it stands in the history. */
static bool print_map(struct show *show, struct bytes from)
{
    struct readmap map;
    const char *comma = "";
    if (!readmap_decode(from, &map))
        return false;
    for (unsigned i = 0; i < READMAP_POSTS; i++) {
        if (!readmap_has(map.read, i))
            continue;
        fprintf(show->to, "%s%u:read=%" PRIu64, comma, i, map.read_stamp[i]);
        if (readmap_has(map.history, i))
            fprintf(show->to, ":history=%" PRIu64, readmap_history_stamp(&map, i));
        comma = " ";
    }
    return true;
}

/* The answer has people's texts in it; that it is there, and how long, is enough. */
static bool print_once(struct show *show, struct bytes from)
{
    struct once_record once;
    if (!once_decode(from, &once))
        return false;
    fprintf(show->to, "stamp=%" PRIu64 " fingerprint=", once.stamp);
    for (size_t i = 0; i < ONCE_BYTES; i++)
        fprintf(show->to, "%02x", once.fingerprint[i]);
    fprintf(show->to, " answer=%zu bytes", once.answer.n);
    return true;
}

/* Of those kinds that a subject has. */
static bool (*const packed[KINDS])(struct show *show, struct bytes from) = {
    [KIND_FOLLOWING] = print_pair, [KIND_SUBSCRIPTION] = print_pair,
    [KIND_READ_MAP] = print_map,   [KIND_SCENE_READ_MAP] = print_map,
    [KIND_ONCE] = print_once,
};

static void print_packed(struct show *show, enum kind kind, const char *name, struct bytes from)
{
    fprintf(show->to, " %s=", name);
    for (size_t i = 0; i < from.n; i++)
        fprintf(show->to, "%02x", from.p[i]);
    fprintf(show->to, "\n    %s: ", name);
    if (!packed[kind](show, from))
        fputs("damaged", show->to);
    arena_clear(&show->scratch);
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* In one line, whatever it holds, and no terminal does anything because of it. */
static void print_text(FILE *to, const char *name, struct bytes text)
{
    fprintf(to, " %s=\"", name);
    for (size_t i = 0; i < text.n; i++) {
        uint8_t c = text.p[i];
        bool is_c1 = c == 0xc2 && i + 1 < text.n && text.p[i + 1] < 0xa0;
        if (c < 0x20 || c == 0x7f || is_c1)
            fprintf(to, "\\x%02x", c);
        else if (c == '"' || c == '\\')
            fprintf(to, "\\%c", c);
        else
            fputc(c, to);
        if (is_c1)
            fprintf(to, "\\x%02x", text.p[++i]);
    }
    fputc('"', to);
}

/* As the database wrote it: some may be below 0. */
static void print_number(struct show *show, const char *name, unsigned field)
{
    struct bytes digits = sql_bytes(show->sql, field);
    fprintf(show->to, " %s=%.*s", name, (int)digits.n, (const char *)digits.p);
}

static void print_row(struct show *show, enum kind kind)
{
    const struct kind_form *form = &kind_forms[kind];
    unsigned field = 0;
    fputs(form->table, show->to);
    for (unsigned i = 0; i < kind_keys(kind); i++, field++)
        print_number(show, form->keys[i], field);
    for (unsigned i = 0; i < kind_numbers(kind); i++, field++)
        print_number(show, form->numbers[i], field);
    for (unsigned i = 0; i < kind_texts(kind); i++, field++)
        if (form->texts[i].form == TEXT_UTF8)
            print_text(show->to, form->texts[i].name, sql_bytes(show->sql, field));
        else
            print_packed(show, kind, form->texts[i].name, sql_bytes(show->sql, field));
    fputc('\n', show->to);
    show->rows++;
}

/* ---- Pages ---------------------------------------------------------------------------------- */

/* Which field of a row a column is; keys and numbers come first. */
static unsigned field_of(enum kind kind, const char *column)
{
    const struct kind_form *form = &kind_forms[kind];
    unsigned keys = kind_keys(kind);
    for (unsigned i = 0; i < keys; i++)
        if (!strcmp(form->keys[i], column))
            return i;
    unsigned i = 0;
    while (strcmp(form->numbers[i], column))
        i++;
    return keys + i;
}

static unsigned n_order(const struct part *part)
{
    unsigned n = 0;
    while (n < ORDER_MAX && part->order[n])
        n++;
    return n;
}

/* What is behind a row, spelled out so that the index is used: a>1 OR a=1 AND b>2. */
static void put_after(struct buf *text, const struct part *part, const uint64_t *after)
{
    const char *a = part->order[0], *b = part->order[1];
    buf_printf(text, " AND (%s>%" PRIu64, a, after[0]);
    if (b)
        buf_printf(text, " OR (%s=%" PRIu64 " AND %s>%" PRIu64 ")", a, after[0], b, after[1]);
    buf_char(text, ')');
}

static void put_page(struct buf *text, const struct part *part, uint64_t id, const uint64_t *after)
{
    unsigned n = n_order(part);
    buf_clear(text);
    buf_literal(text, "SELECT ");
    kind_put_columns(text, part->kind);
    buf_printf(text, " FROM %s WHERE %s=%" PRIu64, kind_forms[part->kind].table, part->column, id);
    if (after)
        put_after(text, part, after);
    for (unsigned i = 0; i < n; i++)
        buf_printf(text, "%s%s", i ? "," : " ORDER BY ", part->order[i]);
    buf_printf(text, " LIMIT %d", PAGE);
}

static enum sql_outcome show_part(struct show *show, const struct part *part, uint64_t id)
{
    uint64_t after[ORDER_MAX] = {0};
    unsigned n = n_order(part);
    uint64_t before;
    bool first = true;
    do {
        put_page(&show->text, part, id, first ? NULL : after);
        enum sql_outcome outcome = sql_send(show->sql, &show->text);
        if (outcome)
            return outcome;
        before = show->rows;
        first = false;
        while (sql_row(show->sql)) {
            for (unsigned i = 0; i < n; i++)
                after[i] = sql_u64(show->sql, field_of(part->kind, part->order[i]));
            print_row(show, part->kind);
        }
    } while (n && show->rows - before == PAGE);
    return SQL_DONE;
}

static enum sql_outcome show_all(struct show *show, const struct subject *subject, uint64_t id)
{
    enum sql_outcome outcome = sql_run_text(
        show->sql, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ;START TRANSACTION WITH "
                   "CONSISTENT SNAPSHOT, READ ONLY");
    for (size_t i = 0; !outcome && i < subject->n; i++)
        outcome = show_part(show, &subject->parts[i], id);
    return outcome;
}

enum tidings_err engine_cluster_show(const struct tidings_options *options,
                                     enum tidings_subject subject, uint64_t id, FILE *to,
                                     const char **message)
{
    enum tidings_err err;
    struct show show = {.to = to, .sql = cluster_connect(options, &err, message)};
    if (!show.sql)
        return err;
    arena_init(&show.scratch, SCRATCH_MAX);
    buf_init(&show.text, 1 << 12);
    err = cluster_refused(show.sql, show_all(&show, &subjects[subject], id), message);
    buf_release(&show.text);
    arena_release(&show.scratch);
    sql_close(show.sql);
    return err || show.rows ? err : TIDINGS_NOT_FOUND;
}
