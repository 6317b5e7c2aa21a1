/* SPDX-License-Identifier: MIT */
/*
 * A field is a place in a struct and a type. Numbers are varints, signed ones folded so that small ones stay short; texts and
 * lists have their length plus one before them, so that 0 is "none" (p NULL).
 */
#include "engine/ops/codec.h"

#include <assert.h>
#include <stdlib.h>

enum field_type {
    FIELD_END,
    FIELD_BOOL,
    FIELD_ENUM,
    FIELD_U32,
    FIELD_U64,
    FIELD_I64,
    FIELD_TEXT,
    FIELD_WORD, /* const char *, with a NUL */
    FIELD_IDS,
    FIELD_MESSAGES,
    FIELD_MOMENT,
    FIELD_TICKET, /* TIDINGS_TICKET_BYTES */
    FIELD_ROWS,   /* structs with fields of their own */
};

struct field {
    enum field_type type;
    size_t at, count_at;      /* the latter of IDS, MESSAGES and ROWS */
    const struct field *rows; /* ROWS: of each, and its size */
    size_t row_bytes;
};

_Static_assert(sizeof(enum tidings_err) == 4, "an enum is stored as a number of 32 bits");

/* ---- Arguments ------------------------------------------------------------------------------ */

#define ARG(form, path)                                               \
    {                                                                 \
        .type = FIELD_##form, .at = offsetof(struct tidings_op, path) \
    }
#define ARG_LIST(form, path, n_path)                                   \
    {                                                                  \
        .type = FIELD_##form, .at = offsetof(struct tidings_op, path), \
        .count_at = offsetof(struct tidings_op, n_path)                \
    }
#define ENDS              \
    {                     \
        .type = FIELD_END \
    }

static const struct field args_nothing[] = {ENDS};
static const struct field args_relation[] = {ARG(U64, u.relation.user_id),
                                             ARG(BOOL, u.relation.purge_inbox), ENDS};
static const struct field args_profile[] = {ARG(TEXT, u.profile.name), ARG(TEXT, u.profile.avatar),
                                            ARG(TEXT, u.profile.extra), ENDS};
static const struct field args_publish[] = {ARG(ENUM, u.publish.kind), ARG(TEXT, u.publish.title),
                                            ARG(TEXT, u.publish.body), ARG(TEXT, u.publish.extra),
                                            ENDS};
static const struct field args_edit[] = {ARG(U64, u.edit.post_id), ARG(TEXT, u.edit.title),
                                         ARG(TEXT, u.edit.body), ARG(TEXT, u.edit.extra), ENDS};
static const struct field args_post[] = {ARG(U64, u.post.post_id), ENDS};
static const struct field args_mark[] = {ARG_LIST(IDS, u.mark.post_ids, u.mark.n_post_ids),
                                         ARG(U64, u.mark.author_id), ARG(MOMENT, u.mark.up_to),
                                         ENDS};
static const struct field args_react[] = {ARG(ENUM, u.react.reaction), ARG(ENUM, u.react.target),
                                          ARG(U64, u.react.id), ENDS};
static const struct field args_comment[] = {
    ARG(U64, u.comment.post_id), ARG(U64, u.comment.parent_id), ARG(TEXT, u.comment.body), ENDS};
static const struct field args_comment_id[] = {ARG(U64, u.comment_id.comment_id), ENDS};
static const struct field args_scene[] = {
    ARG(U64, u.scene.story_id), ARG(U64, u.scene.scene_id), ARG(TEXT, u.scene.title),
    ARG_LIST(MESSAGES, u.scene.messages, u.scene.n_messages), ENDS};
static const struct field args_scene_id[] = {ARG(U64, u.scene_id.scene_id), ENDS};
static const struct field args_reading[] = {
    ARG(U64, u.reading.story_id), ARG(U64, u.reading.scene_id), ARG(U64, u.reading.message_id),
    ARG(I64, u.reading.modified_at), ENDS};
static const struct field args_preferences[] = {ARG(BOOL, u.preferences.story_updates), ENDS};
static const struct field args_webhook[] = {
    ARG(TEXT, u.webhook.name),     ARG(TEXT, u.webhook.url),   ARG(TEXT, u.webhook.secret),
    ARG(BOOL, u.webhook.disabled), ARG(U64, u.webhook.events), ENDS};
static const struct field args_webhook_report[] = {
    ARG(TEXT, u.webhook_report.name),         ARG(U64, u.webhook_report.generation),
    ARG(U64, u.webhook_report.position),      ARG(U32, u.webhook_report.attempts),
    ARG(I64, u.webhook_report.retry_at),      ARG(I64, u.webhook_report.failing_since),
    ARG(I64, u.webhook_report.waiting_since), ARG(U64, u.webhook_report.delivered),
    ARG(U64, u.webhook_report.failed),        ARG(U64, u.webhook_report.dead),
    ARG(TEXT, u.webhook_report.last_error),   ARG(BOOL, u.webhook_report.fills),
    ARG(BOOL, u.webhook_report.rebuild),      ARG(U64, u.webhook_report.rebuilt),
    ARG(BOOL, u.webhook_report.reconciles),   ARG(U64, u.webhook_report.reconciled),
    ARG(U64, u.webhook_report.dead_event),    ARG(TEXT, u.webhook_report.dead_reason),
    ARG(U64, u.webhook_report.settled),       ENDS};
static const struct field args_wish[] = {ARG(TEXT, u.wish.name), ARG(ENUM, u.wish.wish),
                                         ARG(U64, u.wish.after), ARG(I64, u.wish.since_ms), ENDS};
static const struct field args_ticket[] = {ARG(TICKET, u.ticket.name), ARG(I64, u.ticket.until_ms),
                                           ENDS};

/* ---- Answers -------------------------------------------------------------------------------- */

#define ANSWER(form, path)                                                \
    {                                                                     \
        .type = FIELD_##form, .at = offsetof(struct tidings_answer, path) \
    }
#define ANSWER_COUNTS(path)                                                                     \
    ANSWER(U64, path.like_count), ANSWER(U64, path.fav_count), ANSWER(U64, path.comment_count), \
        ANSWER(U64, path.down_count), ANSWER(U64, path.reply_count), ANSWER(I64, path.hot_score)
#define ANSWER_POST(path)                                                                    \
    ANSWER(U64, path.id), ANSWER(U64, path.author_id), ANSWER(TEXT, path.author_name),       \
        ANSWER(ENUM, path.kind), ANSWER(TEXT, path.title), ANSWER(TEXT, path.body),          \
        ANSWER(TEXT, path.extra), ANSWER(I64, path.created_at), ANSWER(I64, path.edited_at), \
        ANSWER(TEXT, path.key), ANSWER_COUNTS(path.counts), ANSWER(BOOL, path.liked),        \
        ANSWER(BOOL, path.faved)

/* What every answer has. */
static const struct field answer_head[] = {
    ANSWER(ENUM, err),           ANSWER(WORD, field),
    ANSWER(I64, retry_after_ms), ANSWER(WORD, limit.name),
    ANSWER(I64, limit.burst),    ANSWER(I64, limit.refill_ms),
    ANSWER(I64, limit.left),     ANSWER(I64, limit.next_ms),
    ANSWER(TEXT, title),         ENDS};

static const struct field answers_nothing[] = {ENDS};
static const struct field answers_relation[] = {
    ANSWER(BOOL, u.relation.changed), ANSWER(BOOL, u.relation.following),
    ANSWER(BOOL, u.relation.mutual), ANSWER(U64, u.relation.purged), ENDS};
static const struct field answers_profile[] = {
    ANSWER(U64, u.profile.user_id), ANSWER(TEXT, u.profile.name), ANSWER(TEXT, u.profile.avatar),
    ANSWER(TEXT, u.profile.extra), ENDS};
static const struct field answers_post[] = {ANSWER_POST(u.post), ENDS};
static const struct field answers_deleted[] = {ANSWER(U64, u.deleted.author_id),
                                               ANSWER(U64, u.deleted.story_id), ENDS};
static const struct field answers_open[] = {ANSWER_POST(u.open.post),
                                            ANSWER(U64, u.open.unread_total),
                                            ANSWER(U64, u.open.unread_author), ENDS};
static const struct field answers_mark[] = {ANSWER(U64, u.mark.marked), ANSWER(U64, u.mark.total),
                                            ENDS};
static const struct field answers_reaction[] = {ANSWER(BOOL, u.reaction.changed),
                                                ANSWER_COUNTS(u.reaction.counts), ENDS};
static const struct field answers_comment[] = {ANSWER(U64, u.comment.id),
                                               ANSWER(U64, u.comment.post_id),
                                               ANSWER(U64, u.comment.parent_id),
                                               ANSWER(U64, u.comment.user_id),
                                               ANSWER(TEXT, u.comment.user_name),
                                               ANSWER(TEXT, u.comment.body),
                                               ANSWER(ENUM, u.comment.status),
                                               ANSWER(BOOL, u.comment.moderated),
                                               ANSWER(I64, u.comment.created_at),
                                               ANSWER_COUNTS(u.comment.counts),
                                               ANSWER(BOOL, u.comment.liked),
                                               ANSWER(BOOL, u.comment.downvoted),
                                               ENDS};
static const struct field answers_scene[] = {
    ANSWER(U64, u.scene.id),
    ANSWER(U64, u.scene.story_id),
    ANSWER(U64, u.scene.author_id),
    ANSWER(U32, u.scene.number),
    ANSWER(TEXT, u.scene.title),
    {.type = FIELD_MESSAGES,
     .at = offsetof(struct tidings_answer, u.scene.messages),
     .count_at = offsetof(struct tidings_answer, u.scene.n_messages)},
    ANSWER(I64, u.scene.created_at),
    ANSWER(I64, u.scene.edited_at),
    ENDS};
static const struct field answers_reading[] = {
    ANSWER(BOOL, u.reading.changed),           ANSWER(U64, u.reading.record.story_id),
    ANSWER(TEXT, u.reading.record.title),      ANSWER(BOOL, u.reading.record.is_deleted),
    ANSWER(U64, u.reading.record.scene_id),    ANSWER(U64, u.reading.record.message_id),
    ANSWER(I64, u.reading.record.modified_at), ENDS};
static const struct field answers_subscription[] = {ANSWER(BOOL, u.subscription.changed),
                                                    ANSWER(BOOL, u.subscription.subscribed), ENDS};
static const struct field answers_preferences[] = {ANSWER(BOOL, u.preferences.story_updates), ENDS};
static const struct field answers_notifications_mark[] = {
    ANSWER(U64, u.notifications_mark.marked), ANSWER(U64, u.notifications_mark.unread), ENDS};
static const struct field answers_webhook[] = {
    ANSWER(TEXT, u.webhook.name),         ANSWER(TEXT, u.webhook.url),
    ANSWER(TEXT, u.webhook.secret),       ANSWER(TEXT, u.webhook.old_secret),
    ANSWER(I64, u.webhook.old_secret_ms), ANSWER(U64, u.webhook.events),
    ANSWER(ENUM, u.webhook.state),        ANSWER(U64, u.webhook.generation),
    ANSWER(U64, u.webhook.position),      ANSWER(U32, u.webhook.attempts),
    ANSWER(I64, u.webhook.retry_at),      ANSWER(I64, u.webhook.failing_since),
    ANSWER(I64, u.webhook.waiting_since), ANSWER(U64, u.webhook.delivered),
    ANSWER(U64, u.webhook.failed),        ANSWER(U64, u.webhook.dead),
    ANSWER(TEXT, u.webhook.last_error),   ANSWER(I64, u.webhook.created_at),
    ANSWER(BOOL, u.webhook.fills),        ANSWER(U64, u.webhook.rebuild),
    ANSWER(BOOL, u.webhook.reconciles),   ANSWER(U64, u.webhook.reconcile),
    ANSWER(U64, u.webhook.letters),       ANSWER(U64, u.webhook.letters_again),
    ANSWER(U64, u.webhook.letters_lost),  ENDS};

/* ---- What operators ask, besides ---------------------------------------------------------------- */

#define ROW(form, row, path)                            \
    {                                                   \
        .type = FIELD_##form, .at = offsetof(row, path) \
    }
#define WEBHOOK(form, path) ROW(form, struct tidings_webhook, path)
#define LETTER(form, path)  ROW(form, struct tidings_letter, path)

static const struct field args_letters[] = {ARG(TEXT, u.letters.name), ARG(BOOL, u.letters.again),
                                            ARG(U64, u.letters.after), ARG(U32, u.letters.limit),
                                            ENDS};

/* Without secrets: they are for whoever delivers. */
static const struct field webhook_row_fields[] = {
    WEBHOOK(TEXT, name),         WEBHOOK(TEXT, url),          WEBHOOK(ENUM, state),
    WEBHOOK(U64, position),      WEBHOOK(I64, failing_since), WEBHOOK(I64, waiting_since),
    WEBHOOK(U64, delivered),     WEBHOOK(U64, failed),        WEBHOOK(U64, dead),
    WEBHOOK(TEXT, last_error),   WEBHOOK(BOOL, fills),        WEBHOOK(U64, rebuild),
    WEBHOOK(BOOL, reconciles),   WEBHOOK(U64, reconcile),     WEBHOOK(U64, letters),
    WEBHOOK(U64, letters_again), WEBHOOK(U64, letters_lost),  ENDS};
static const struct field letter_row_fields[] = {LETTER(U64, event_id), LETTER(I64, happened_at),
                                                 LETTER(I64, noted_at), LETTER(BOOL, again),
                                                 LETTER(TEXT, reason),  ENDS};

static const struct field answers_webhooks[] = {
    {FIELD_ROWS, offsetof(struct tidings_answer, u.webhooks.rows),
     offsetof(struct tidings_answer, u.webhooks.n), webhook_row_fields,
     sizeof(struct tidings_webhook)},
    ANSWER(U64, u.webhooks.newest),
    ENDS};
static const struct field answers_letters[] = {{FIELD_ROWS,
                                                offsetof(struct tidings_answer, u.letters.rows),
                                                offsetof(struct tidings_answer, u.letters.n),
                                                letter_row_fields, sizeof(struct tidings_letter)},
                                               ANSWER(U64, u.letters.all),
                                               ANSWER(U64, u.letters.lost),
                                               ANSWER(U64, u.letters.next.a),
                                               ENDS};

/* ---- The table ------------------------------------------------------------------------------ */

struct op_fields {
    const struct field *args, *answer; /* NULL: the operation only reads */
};

#define FIELDS_0(args, answer) \
    {                          \
        NULL, NULL             \
    }
#define FIELDS_1(args, answer)        \
    {                                 \
        args_##args, answers_##answer \
    }

static const struct op_fields op_fields[TIDINGS_OP_COUNT] = {
#define X(name, lower, writes, args, answer) [TIDINGS_OP_##name] = FIELDS_##writes(args, answer),
    TIDINGS_OPS(X)
#undef X
};

static const struct op_fields letters_fields = {args_letters, answers_letters};
static const struct op_fields webhooks_fields = {args_nothing, answers_webhooks};

/* NULL: such an operation is not sent. */
static const struct op_fields *fields_of(enum tidings_op_kind kind)
{
    if (kind == TIDINGS_OP_LETTERS)
        return &letters_fields;
    if (kind == TIDINGS_OP_WEBHOOKS)
        return &webhooks_fields;
    return kind < TIDINGS_OP_COUNT && op_fields[kind].args ? &op_fields[kind] : NULL;
}

/* ---- Encoding ------------------------------------------------------------------------------- */

static void put_signed(struct buf *to, int64_t value)
{
    buf_varint(to, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static void put_text(struct buf *to, const char *text, size_t n)
{
    buf_varint(to, text ? (uint64_t)n + 1 : 0);
    buf_append(to, text, text ? n : 0);
}

static void put_ids(struct buf *to, const uint64_t *ids, size_t n)
{
    buf_varint(to, ids ? (uint64_t)n + 1 : 0);
    for (size_t i = 0; ids && i < n; i++)
        buf_varint(to, ids[i]);
}

static void put_messages(struct buf *to, const struct tidings_message *messages, size_t n)
{
    buf_varint(to, messages ? (uint64_t)n + 1 : 0);
    for (size_t i = 0; messages && i < n; i++) {
        buf_varint(to, messages[i].id);
        put_text(to, messages[i].text.p, messages[i].text.n);
    }
}

/* A value of the field's type, whatever alignment its place has. */
#define FIELD_VALUE(type, base, at, name) \
    type name;                            \
    memcpy(&name, (const char *)(base) + (at), sizeof name)

static void put_fields(struct buf *to, const void *base, const struct field *fields);

static void put_rows(struct buf *to, const char *rows, size_t n, const struct field *field)
{
    buf_varint(to, rows ? (uint64_t)n + 1 : 0);
    for (size_t i = 0; rows && i < n; i++)
        put_fields(to, rows + i * field->row_bytes, field->rows);
}

static void put_field(struct buf *to, const void *base, const struct field *field)
{
    switch (field->type) {
    case FIELD_BOOL: {
        FIELD_VALUE(bool, base, field->at, value);
        buf_varint(to, value);
        break;
    }
    case FIELD_ENUM:
    case FIELD_U32: {
        FIELD_VALUE(uint32_t, base, field->at, value);
        buf_varint(to, value);
        break;
    }
    case FIELD_U64: {
        FIELD_VALUE(uint64_t, base, field->at, value);
        buf_varint(to, value);
        break;
    }
    case FIELD_I64: {
        FIELD_VALUE(int64_t, base, field->at, value);
        put_signed(to, value);
        break;
    }
    case FIELD_TEXT: {
        FIELD_VALUE(struct tidings_text, base, field->at, text);
        put_text(to, text.p, text.n);
        break;
    }
    case FIELD_WORD: {
        FIELD_VALUE(const char *, base, field->at, word);
        put_text(to, word, word ? strlen(word) : 0);
        break;
    }
    case FIELD_IDS: {
        FIELD_VALUE(const uint64_t *, base, field->at, ids);
        FIELD_VALUE(size_t, base, field->count_at, n);
        put_ids(to, ids, n);
        break;
    }
    case FIELD_MESSAGES: {
        FIELD_VALUE(const struct tidings_message *, base, field->at, messages);
        FIELD_VALUE(size_t, base, field->count_at, n);
        put_messages(to, messages, n);
        break;
    }
    case FIELD_ROWS: {
        FIELD_VALUE(const char *, base, field->at, rows);
        FIELD_VALUE(size_t, base, field->count_at, n);
        put_rows(to, rows, n, field);
        break;
    }
    case FIELD_MOMENT: {
        FIELD_VALUE(struct tidings_moment, base, field->at, moment);
        for (size_t i = 0; i < TIDINGS_MOMENT_PARTS; i++)
            buf_varint(to, moment.part[i]);
        break;
    }
    case FIELD_TICKET:
        buf_append(to, (const char *)base + field->at, TIDINGS_TICKET_BYTES);
        break;
    case FIELD_END:
        break;
    }
}

static void put_fields(struct buf *to, const void *base, const struct field *fields)
{
    for (; fields->type; fields++)
        put_field(to, base, fields);
}

void op_encode(const struct tidings_op *op, struct buf *to)
{
    assert(fields_of(op->kind));
    buf_varint(to, op->kind);
    buf_varint(to, op->role);
    buf_varint(to, op->user_id);
    put_signed(to, op->now_ms);
    buf_varint(to, op->once != NULL);
    if (op->once) {
        buf_append(to, op->once->key, sizeof op->once->key);
        buf_append(to, op->once->fingerprint, sizeof op->once->fingerprint);
    }
    put_fields(to, op, fields_of(op->kind)->args);
}

void answer_encode(enum tidings_op_kind kind, const struct tidings_answer *answer, struct buf *to)
{
    put_fields(to, answer, answer_head);
    if (!answer->err)
        put_fields(to, answer, fields_of(kind)->answer);
}

/* ---- Decoding ------------------------------------------------------------------------------- */

struct codec_reader {
    struct decoder *r;
    struct arena *arena;
    bool copies; /* texts go into the arena */
};

static int64_t read_signed(struct decoder *r)
{
    uint64_t value = read_varint(r);
    return (int64_t)(value >> 1) ^ -(int64_t)(value & 1);
}

static uint32_t read_number32(struct decoder *r)
{
    uint64_t value = read_varint(r);
    if (value > INT32_MAX)
        decoder_fail(r);
    return (uint32_t)value;
}

static bool read_flag(struct decoder *r)
{
    uint64_t value = read_varint(r);
    if (value > 1)
        decoder_fail(r);
    return value == 1;
}

/* The number of elements, each of which takes a byte at least; *is_there: it is not NULL. */
static size_t read_count(struct decoder *r, bool *is_there)
{
    uint64_t n = read_varint(r);
    *is_there = n > 0;
    if (n && n - 1 > decoder_left(r))
        decoder_fail(r);
    return r->bad || !n ? 0 : (size_t)(n - 1);
}

static struct tidings_text read_text_field(struct codec_reader *reader, bool as_word)
{
    bool is_there;
    size_t n = read_count(reader->r, &is_there);
    const char *at = (const char *)read_bytes(reader->r, n);
    if (reader->r->bad || !is_there)
        return (struct tidings_text){NULL, 0};
    if (reader->copies || as_word)
        at = arena_text(reader->arena, at, n);
    if (!at)
        decoder_fail(reader->r);
    return (struct tidings_text){at, n};
}

static uint64_t *read_ids(struct codec_reader *reader, size_t *n)
{
    bool is_there;
    *n = read_count(reader->r, &is_there);
    uint64_t *ids = is_there ? arena_array(reader->arena, *n ? *n : 1, sizeof *ids) : NULL;
    if (is_there && !ids)
        decoder_fail(reader->r);
    for (size_t i = 0; ids && i < *n; i++)
        ids[i] = read_varint(reader->r);
    return ids;
}

static struct tidings_message *read_messages(struct codec_reader *reader, size_t *n)
{
    bool is_there;
    *n = read_count(reader->r, &is_there);
    struct tidings_message *messages =
        is_there ? arena_array(reader->arena, *n ? *n : 1, sizeof *messages) : NULL;
    if (is_there && !messages)
        decoder_fail(reader->r);
    for (size_t i = 0; messages && i < *n; i++) {
        messages[i].id = read_varint(reader->r);
        messages[i].text = read_text_field(reader, false);
    }
    return messages;
}

#define FIELD_STORE(base, at, value) memcpy((char *)(base) + (at), &(value), sizeof(value))

static void read_fields(struct codec_reader *reader, void *base, const struct field *fields);

/* Each takes a byte at least, so hostile counts allocate no more than a multiple of what came. */
static char *read_rows(struct codec_reader *reader, const struct field *field, size_t *n)
{
    uint64_t count = read_varint(reader->r);
    *n = 0;
    if (!count)
        return NULL;
    if (count - 1 > decoder_left(reader->r)) {
        decoder_fail(reader->r);
        return NULL;
    }
    char *rows = arena_alloc(reader->arena, (size_t)(count - 1) * field->row_bytes + 1);
    if (!rows) {
        decoder_fail(reader->r);
        return NULL;
    }
    memset(rows, 0, (size_t)(count - 1) * field->row_bytes);
    for (; *n < count - 1 && !reader->r->bad; ++*n)
        read_fields(reader, rows + *n * field->row_bytes, field->rows);
    return rows;
}

static void read_field(struct codec_reader *reader, void *base, const struct field *field)
{
    struct decoder *r = reader->r;
    size_t n;
    switch (field->type) {
    case FIELD_BOOL: {
        bool value = read_flag(r);
        FIELD_STORE(base, field->at, value);
        break;
    }
    case FIELD_ENUM:
    case FIELD_U32: {
        uint32_t value = read_number32(r);
        FIELD_STORE(base, field->at, value);
        break;
    }
    case FIELD_U64: {
        uint64_t value = read_varint(r);
        FIELD_STORE(base, field->at, value);
        break;
    }
    case FIELD_I64: {
        int64_t value = read_signed(r);
        FIELD_STORE(base, field->at, value);
        break;
    }
    case FIELD_TEXT: {
        struct tidings_text text = read_text_field(reader, false);
        FIELD_STORE(base, field->at, text);
        break;
    }
    case FIELD_WORD: {
        const char *word = read_text_field(reader, true).p;
        FIELD_STORE(base, field->at, word);
        break;
    }
    case FIELD_IDS: {
        uint64_t *ids = read_ids(reader, &n);
        FIELD_STORE(base, field->at, ids);
        FIELD_STORE(base, field->count_at, n);
        break;
    }
    case FIELD_MESSAGES: {
        struct tidings_message *messages = read_messages(reader, &n);
        FIELD_STORE(base, field->at, messages);
        FIELD_STORE(base, field->count_at, n);
        break;
    }
    case FIELD_ROWS: {
        char *rows = read_rows(reader, field, &n);
        FIELD_STORE(base, field->at, rows);
        FIELD_STORE(base, field->count_at, n);
        break;
    }
    case FIELD_MOMENT: {
        struct tidings_moment moment;
        for (size_t i = 0; i < TIDINGS_MOMENT_PARTS; i++)
            moment.part[i] = read_varint(r);
        FIELD_STORE(base, field->at, moment);
        break;
    }
    case FIELD_TICKET: {
        const uint8_t *bytes = read_bytes(r, TIDINGS_TICKET_BYTES);
        if (bytes)
            memcpy((char *)base + field->at, bytes, TIDINGS_TICKET_BYTES);
        break;
    }
    case FIELD_END:
        break;
    }
}

static void read_fields(struct codec_reader *reader, void *base, const struct field *fields)
{
    for (; fields->type && !reader->r->bad; fields++)
        read_field(reader, base, fields);
}

static void read_once(struct decoder *r, struct tidings_op *op, struct tidings_once *once)
{
    *once = (struct tidings_once){.render = NULL};
    const uint8_t *bytes = read_bytes(r, sizeof once->key + sizeof once->fingerprint);
    if (!bytes)
        return;
    memcpy(once->key, bytes, sizeof once->key);
    memcpy(once->fingerprint, bytes + sizeof once->key, sizeof once->fingerprint);
    op->once = once;
}

static bool decode_operation(struct decoder *r, struct arena *arena, struct tidings_op *op,
                             struct tidings_once *once, bool may_read)
{
    struct codec_reader reader = {r, arena, false};
    uint64_t kind = read_varint(r);
    *op = (struct tidings_op){.kind = (enum tidings_op_kind)kind};
    const struct op_fields *fields = fields_of(op->kind);
    if (kind >= TIDINGS_OP_COUNT || !fields || (!may_read && !op_fields[kind].args))
        return false;
    op->role = (enum tidings_role)read_number32(r);
    op->user_id = read_varint(r);
    op->now_ms = read_signed(r);
    if (read_flag(r))
        read_once(r, op, once);
    read_fields(&reader, op, fields->args);
    return !r->bad && !decoder_left(r);
}

bool op_decode(struct decoder *r, struct arena *arena, struct tidings_op *op,
               struct tidings_once *once)
{
    return decode_operation(r, arena, op, once, false);
}

bool op_decode_any(struct decoder *r, struct arena *arena, struct tidings_op *op,
                   struct tidings_once *once)
{
    return decode_operation(r, arena, op, once, true);
}

bool answer_decode(enum tidings_op_kind kind, struct decoder *r, struct arena *arena,
                   struct tidings_answer *answer)
{
    struct codec_reader reader = {r, arena, true};
    read_fields(&reader, answer, answer_head);
    if (!r->bad && !answer->err)
        read_fields(&reader, answer, fields_of(kind)->answer);
    return !r->bad && !decoder_left(r) && (unsigned)answer->err <= TIDINGS_STANDBY;
}
