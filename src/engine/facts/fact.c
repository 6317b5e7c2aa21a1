/* SPDX-License-Identifier: MIT */
#include "engine/facts/fields.h"

#include <stddef.h>

#include "base/json_out.h"

const struct field_row fact_fields[FACT_FIELD_COUNT] = {
#define X(name, kind, type) \
    {#name, sizeof #name - 1, FIELD_KIND_##kind, offsetof(struct fact, name)},
    FACT_FIELDS(X)
#undef X
};

const struct type_row fact_types[FACT_TYPE_COUNT] = {
#define X(type, name, may, must, others) {name, may, must, others},
    FACT_TYPES(X)
#undef X
};

const struct word fact_kinds[] = {
    {"note", TIDINGS_NOTE}, {"activity", TIDINGS_ACTIVITY}, {"story", TIDINGS_STORY}, {NULL, 0}};
const struct word fact_states[] = {{"visible", TIDINGS_COMMENT_VISIBLE},
                                   {"hidden", TIDINGS_COMMENT_HIDDEN},
                                   {"deleted", TIDINGS_COMMENT_DELETED},
                                   {NULL, 0}};
const struct word fact_reactions[] = {
    {"like", TIDINGS_LIKE}, {"fav", TIDINGS_FAV}, {"downvote", TIDINGS_DOWNVOTE}, {NULL, 0}};

const char *fact_type_name(enum fact_type type)
{
    return fact_types[type].name;
}

/* ---- Writing -------------------------------------------------------------------------------- */

static void write_word(struct json_out *out, const struct word *words, int value)
{
    while (words->value != value)
        words++;
    json_out_text(out, words->text);
}

static void write_text(struct json_out *out, struct bytes text)
{
    json_out_string(out, (const char *)text.p, text.n);
}

/* As it is, unless it has line breaks, or spaces around it: then as a text, so that it stays as it is. */
static void write_object(struct json_out *out, struct bytes object)
{
    bool bare = object.p[0] == '{' && object.p[object.n - 1] == '}';
    if (!bare || memchr(object.p, '\n', object.n) || memchr(object.p, '\r', object.n))
        write_text(out, object);
    else
        json_out_raw(out, (const char *)object.p, object.n);
}

static void write_ranges(struct json_out *out, const struct fact_ranges *ranges)
{
    json_out_array(out);
    for (size_t i = 0; i < ranges->n; i++) {
        json_out_array(out);
        json_out_u64(out, ranges->at[i].first);
        if (ranges->at[i].last)
            json_out_u64(out, ranges->at[i].last);
        else
            json_out_null(out);
        json_out_end(out);
    }
    json_out_end(out);
}

static void write_messages(struct json_out *out, const struct fact_messages *messages)
{
    json_out_array(out);
    for (size_t i = 0; i < messages->n; i++) {
        json_out_object(out);
        json_out_key(out, "id");
        json_out_u64(out, messages->at[i].id);
        json_out_key(out, "text");
        json_out_string(out, messages->at[i].text.p, messages->at[i].text.n);
        json_out_end(out);
    }
    json_out_end(out);
}

static void write_ids(struct json_out *out, const struct fact_ids *ids)
{
    json_out_array(out);
    for (size_t i = 0; i < ids->n; i++)
        json_out_u64(out, ids->at[i]);
    json_out_end(out);
}

/* A name may stand for several types: it is written with the first of them. */
static void write_events(struct json_out *out, uint64_t bits)
{
    json_out_array(out);
    for (int type = 1; bits; type++) {
        if (!(bits >> type & 1))
            continue;
        const char *name = tidings_event_name((enum tidings_event_type)type);
        json_out_text(out, name);
        bits &= ~(tidings_event_bits(name, strlen(name)) | UINT64_C(1) << type);
    }
    json_out_end(out);
}

static void write_field(struct json_out *out, enum field_kind kind, const void *at)
{
    switch (kind) {
    case FIELD_KIND_ID:
    case FIELD_KIND_NUMBER:
        json_out_u64(out, *(const uint64_t *)at);
        break;
    case FIELD_KIND_TEXT:
        write_text(out, *(const struct bytes *)at);
        break;
    case FIELD_KIND_OBJECT:
        write_object(out, *(const struct bytes *)at);
        break;
    case FIELD_KIND_BOOL:
        json_out_bool(out, *(const bool *)at);
        break;
    case FIELD_KIND_KIND:
        write_word(out, fact_kinds, *(const int *)at);
        break;
    case FIELD_KIND_STATUS:
        write_word(out, fact_states, *(const int *)at);
        break;
    case FIELD_KIND_REACTION:
        write_word(out, fact_reactions, *(const int *)at);
        break;
    case FIELD_KIND_RANGES:
        write_ranges(out, at);
        break;
    case FIELD_KIND_IDS:
        write_ids(out, at);
        break;
    case FIELD_KIND_MESSAGES:
        write_messages(out, at);
        break;
    case FIELD_KIND_EVENTS:
        write_events(out, *(const uint64_t *)at);
        break;
    }
}

void fact_write(const struct fact *fact, struct buf *to)
{
    struct json_out out;
    json_out_init(&out, to);
    json_out_object(&out);
    json_out_key(&out, "type");
    json_out_text(&out, fact_types[fact->type].name);
    for (uint64_t left = fact->has; left; left &= left - 1) {
        const struct field_row *field = &fact_fields[__builtin_ctzll(left)];
        json_out_key(&out, field->name);
        write_field(&out, field->kind, (const char *)fact + field->offset);
    }
    json_out_end(&out);
    buf_char(to, '\n');
}
