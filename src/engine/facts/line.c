/* SPDX-License-Identifier: MIT */
/*
 * A line of JSON as a fact. Strict: an object with fields of the table and nothing else, each once, of the right kind. Nothing is
 * built of it but the fact: texts are unescaped where they lie, which never makes them longer.
 */
#include "domain/ids.h"
#include "domain/json.h"
#include "engine/facts/fields.h"

#include "base/utf8.h"

/* What has an id only where it was exported, and what names a thing only where it was not. */
#define OWN_ONLY                                                                             \
    (HAS(version) | HAS(newest) | HAS(id) | HAS(post_id) | HAS(comment_id) | HAS(story_id) | \
     HAS(scene_id) | HAS(parent_id) | HAS(message_id) | HAS(edited_id) | HAS(deleted_id) |   \
     HAS(message_ids) | HAS(delivered) | HAS(first_id) | HAS(changed_id) | HAS(excerpt))
#define OTHERS_ONLY \
    (HAS(post_key) | HAS(comment_key) | HAS(story_key) | HAS(parent_key) | HAS(history))

struct line {
    char *at, *end;
    struct arena *arena;
    const char *reason; /* the first; after it everything fails */
};

static const char not_json[] = "it is not one JSON object";
static const char wrong_kind[] = "it is not of the right kind";

static bool fail(struct line *line, const char *reason)
{
    if (!line->reason)
        line->reason = reason;
    return false;
}

static void skip_space(struct line *line)
{
    while (line->at < line->end && (*line->at == ' ' || *line->at == '\t' || *line->at == '\r'))
        line->at++;
}

/* The next character behind spaces, taken if it is that one. */
static bool take(struct line *line, char c)
{
    skip_space(line);
    bool there = line->at < line->end && *line->at == c;
    line->at += there;
    return there;
}

static char peek(struct line *line)
{
    skip_space(line);
    return line->at < line->end ? *line->at : '\0';
}

static bool take_word(struct line *line, const char *word)
{
    size_t n = strlen(word);
    skip_space(line);
    bool there = (size_t)(line->end - line->at) >= n && !memcmp(line->at, word, n);
    line->at += there ? n : 0;
    return there;
}

/* ---- Texts ---------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    char lower = (char)(c | 0x20);
    if (c >= '0' && c <= '9')
        return c - '0';
    return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

/* Four digits; UINT32_MAX if they are none. */
static uint32_t take_hex(struct line *line)
{
    uint32_t value = 0;
    if (line->end - line->at < 4)
        return UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*line->at++);
        if (digit < 0)
            return UINT32_MAX;
        value = value << 4 | (uint32_t)digit;
    }
    return value;
}

static size_t put_utf8(char *to, uint32_t c)
{
    if (c < 0x80) {
        to[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const uint8_t lead[] = {0, 0, 0xc0, 0xe0, 0xf0};
    for (size_t i = n; i-- > 1; c >>= 6)
        to[i] = (char)(0x80 | (c & 0x3f));
    to[0] = (char)(lead[n] | c);
    return n;
}

/* A character of \uXXXX, or of two of them; how many bytes, 0 if it is none. */
static size_t take_unicode(struct line *line, char *to)
{
    uint32_t c = take_hex(line);
    if (c >= 0xd800 && c < 0xdc00) {
        bool pair = line->end - line->at >= 2 && line->at[0] == '\\' && line->at[1] == 'u';
        line->at += pair ? 2 : 0;
        uint32_t low = pair ? take_hex(line) : UINT32_MAX;
        if (low < 0xdc00 || low > 0xdfff)
            return 0;
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
    }
    return c <= 0x10ffff && (c < 0xdc00 || c > 0xdfff) ? put_utf8(to, c) : 0;
}

static size_t take_escape(struct line *line, char *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = line->at < line->end ? *line->at++ : '\0';
    const char *known = c ? strchr(from, c) : NULL;
    if (known)
        *to = into[known - from];
    return known ? 1 : c == 'u' ? take_unicode(line, to) : 0;
}

/* Unescaped where it lies. */
static bool take_text(struct line *line, struct bytes *text)
{
    size_t characters;
    if (!take(line, '"'))
        return fail(line, wrong_kind);
    char *from = line->at, *to = line->at;
    while (line->at < line->end && *line->at != '"') {
        if ((unsigned char)*line->at < 0x20)
            return fail(line, not_json);
        if (*line->at != '\\') {
            *to++ = *line->at++;
            continue;
        }
        line->at++;
        size_t n = take_escape(line, to);
        if (!n)
            return fail(line, not_json);
        to += n;
    }
    if (line->at == line->end)
        return fail(line, not_json);
    line->at++;
    *text = (struct bytes){(const uint8_t *)from, (size_t)(to - from)};
    return utf8_check(from, text->n, &characters) || fail(line, "it is not UTF-8");
}

/* ---- Other values --------------------------------------------------------------------------- */

static bool take_number(struct line *line, uint64_t least, uint64_t *number)
{
    char c = peek(line);
    uint64_t value = 0;
    char *from = line->at;
    if (c < '0' || c > '9')
        return fail(line, wrong_kind);
    for (; line->at < line->end && *line->at >= '0' && *line->at <= '9'; line->at++) {
        value = value * 10 + (uint64_t)(*line->at - '0');
        if (value > TIDINGS_ID_MAX)
            return fail(line, "the number is out of range");
    }
    bool whole = line->at == line->end || !strchr(".eE", *line->at);
    if (!whole || (*from == '0' && line->at - from > 1))
        return fail(line, "it is not a whole number");
    *number = value;
    return value >= least || fail(line, "the number is out of range");
}

static bool take_bool(struct line *line, bool *value)
{
    *value = take_word(line, "true");
    return *value || take_word(line, "false") || fail(line, wrong_kind);
}

/* Up to where the value ends: whether it is JSON is looked at by whoever knows what it is for. */
static bool take_raw(struct line *line, struct bytes *raw)
{
    size_t depth = 0;
    char *from = line->at;
    do {
        char c = line->at < line->end ? *line->at++ : '\0';
        if (!c)
            return fail(line, not_json);
        depth += c == '{' || c == '[';
        depth -= c == '}' || c == ']';
        while (c == '"' && line->at < line->end && *line->at != '"')
            line->at += *line->at == '\\' && line->end - line->at > 1 ? 2 : 1;
        line->at += c == '"' && line->at < line->end;
    } while (depth);
    *raw = (struct bytes){(const uint8_t *)from, (size_t)(line->at - from)};
    return true;
}

/* Own data may have line breaks, which no line can: then it is a text. */
static bool take_object(struct line *line, struct bytes *object)
{
    size_t characters;
    char c = peek(line);
    bool taken = c == '{' ? take_raw(line, object) : take_text(line, object);
    return taken && ((utf8_check((const char *)object->p, object->n, &characters) &&
                      json_holds_object((const char *)object->p, object->n)) ||
                     fail(line, "it is not a JSON object"));
}

static bool take_from(struct line *line, const struct word *words, int *value)
{
    struct bytes text = {NULL, 0};
    if (!take_text(line, &text))
        return false;
    for (; words->text; words++)
        if (strlen(words->text) == text.n && !memcmp(words->text, text.p, text.n)) {
            *value = words->value;
            return true;
        }
    return fail(line, "there is no such word");
}

/* ---- Arrays --------------------------------------------------------------------------------- */

/* Room for one more of them; the memory of before is left to the arena. */
static void *grow(struct line *line, void *array, size_t n, size_t size)
{
    enum { FIRST = 4 };
    if (n && (n < FIRST || (n & (n - 1))))
        return array;
    void *grown = arena_array(line->arena, n ? n * 2 : FIRST, size);
    if (grown && n)
        memcpy(grown, array, n * size);
    if (!grown)
        fail(line, "it is too long");
    return grown;
}

/* Whether there is another element, behind *n; at the end the bracket is taken. */
static bool take_element(struct line *line, size_t n)
{
    if (line->reason || (n == 0 && !take(line, '[')))
        return n == 0 && fail(line, wrong_kind);
    if (take(line, ']'))
        return false;
    return n == 0 || take(line, ',') || fail(line, not_json);
}

static bool take_range(struct line *line, struct fact_range *range)
{
    if (!take(line, '[') || !take_number(line, 1, &range->first) || !take(line, ','))
        return fail(line, wrong_kind);
    range->last = 0;
    if (!take_word(line, "null") && !take_number(line, 1, &range->last))
        return false;
    return take(line, ']') || fail(line, wrong_kind);
}

static bool take_ranges(struct line *line, struct fact_ranges *ranges)
{
    *ranges = (struct fact_ranges){0};
    while (take_element(line, ranges->n)) {
        ranges->at = grow(line, ranges->at, ranges->n, sizeof *ranges->at);
        if (!ranges->at || !take_range(line, &ranges->at[ranges->n]))
            return false;
        ranges->n++;
    }
    return !line->reason;
}

static bool take_ids(struct line *line, struct fact_ids *ids)
{
    *ids = (struct fact_ids){0};
    while (take_element(line, ids->n)) {
        ids->at = grow(line, ids->at, ids->n, sizeof *ids->at);
        if (!ids->at || !take_number(line, 1, &ids->at[ids->n]))
            return false;
        ids->n++;
    }
    return !line->reason;
}

static bool take_part(struct line *line, uint64_t *id, struct bytes *text)
{
    struct bytes name = {NULL, 0};
    if (!take_text(line, &name) || !take(line, ':'))
        return fail(line, not_json);
    if (name.n == 2 && !memcmp(name.p, "id", 2) && !*id)
        return take_number(line, 1, id);
    if (name.n == 4 && !memcmp(name.p, "text", 4) && !text->p)
        return take_text(line, text);
    return fail(line, "a message has an id and a text");
}

/* {"id": 1, "text": "..."}, in any order; or the text alone. */
static bool take_message(struct line *line, struct tidings_message *message)
{
    struct bytes text = {NULL, 0};
    message->id = 0;
    if (peek(line) == '"') {
        if (!take_text(line, &text))
            return false;
    } else {
        bool more = take(line, '{') || fail(line, wrong_kind);
        while (more && take_part(line, &message->id, &text))
            more = take(line, ',');
        if (line->reason || !take(line, '}'))
            return fail(line, not_json);
    }
    message->text = (struct tidings_text){(const char *)text.p, text.n};
    return text.p || fail(line, "a message has an id and a text");
}

static bool take_messages(struct line *line, struct fact_messages *messages)
{
    *messages = (struct fact_messages){0};
    while (take_element(line, messages->n)) {
        messages->at = grow(line, messages->at, messages->n, sizeof *messages->at);
        if (!messages->at || !take_message(line, &messages->at[messages->n]))
            return false;
        messages->n++;
    }
    return !line->reason;
}

static bool take_events(struct line *line, uint64_t *bits)
{
    struct bytes name = {NULL, 0};
    size_t n = 0;
    *bits = 0;
    while (take_element(line, n++)) {
        uint64_t more =
            take_text(line, &name) ? tidings_event_bits((const char *)name.p, name.n) : 0;
        if (!more)
            return fail(line, "there are no such events");
        *bits |= more;
    }
    return !line->reason;
}

/* ---- A line --------------------------------------------------------------------------------- */

static bool take_value(struct line *line, enum field_kind kind, void *to)
{
    switch (kind) {
    case FIELD_KIND_ID:
        return take_number(line, 1, to);
    case FIELD_KIND_NUMBER:
        return take_number(line, 0, to);
    case FIELD_KIND_TEXT:
        return take_text(line, to);
    case FIELD_KIND_OBJECT:
        return take_object(line, to);
    case FIELD_KIND_BOOL:
        return take_bool(line, to);
    case FIELD_KIND_KIND:
        return take_from(line, fact_kinds, to);
    case FIELD_KIND_STATUS:
        return take_from(line, fact_states, to);
    case FIELD_KIND_REACTION:
        return take_from(line, fact_reactions, to);
    case FIELD_KIND_RANGES:
        return take_ranges(line, to);
    case FIELD_KIND_IDS:
        return take_ids(line, to);
    case FIELD_KIND_MESSAGES:
        return take_messages(line, to);
    case FIELD_KIND_EVENTS:
        return take_events(line, to);
    }
    return false;
}

static bool take_type(struct line *line, struct fact *fact)
{
    struct bytes name = {NULL, 0};
    if (fact->type != FACT_TYPE_COUNT)
        return fail(line, "it is there twice");
    if (!take_text(line, &name))
        return false;
    for (int i = 0; i < FACT_TYPE_COUNT; i++)
        if (strlen(fact_types[i].name) == name.n && !memcmp(fact_types[i].name, name.p, name.n)) {
            fact->type = (enum fact_type)i;
            return true;
        }
    return fail(line, "there is no such type");
}

static const struct field_row *find_field(struct bytes name)
{
    for (size_t i = 0; i < FACT_FIELD_COUNT; i++)
        if (fact_fields[i].n == name.n && !memcmp(fact_fields[i].name, name.p, name.n))
            return &fact_fields[i];
    return NULL;
}

/* *field is whose fault it would be. */
static bool take_member(struct line *line, struct fact *fact, const char **field)
{
    struct bytes name = {NULL, 0};
    *field = NULL;
    if (peek(line) != '"' || !take_text(line, &name) || !take(line, ':'))
        return fail(line, not_json);
    if (name.n == 4 && !memcmp(name.p, "type", 4)) {
        *field = "type";
        return take_type(line, fact);
    }
    const struct field_row *row = find_field(name);
    if (!row)
        return fail(line, "it has a field that is not known");
    *field = row->name;
    uint64_t bit = UINT64_C(1) << (row - fact_fields);
    if (fact->has & bit)
        return fail(line, "it is there twice");
    fact->has |= bit;
    return take_value(line, row->kind, (char *)fact + row->offset);
}

/* The first field of those. */
static const char *name_of(uint64_t fields)
{
    return fields ? fact_fields[__builtin_ctzll(fields)].name : NULL;
}

static bool has_its_fields(const struct fact *fact, bool own, struct refusal *refusal)
{
    const struct type_row *type = &fact_types[fact->type];
    uint64_t must = own ? type->must : type->others;
    uint64_t may = type->may & ~(own ? OTHERS_ONLY : OWN_ONLY);
    if (must == NEVER)
        *refusal = (struct refusal){"type", own ? "an export has no such fact"
                                                : "such a fact is taken of an export only"};
    else if (must & ~fact->has)
        *refusal = (struct refusal){name_of(must & ~fact->has), "it is missing"};
    else if (fact->has & ~may)
        *refusal = (struct refusal){name_of(fact->has & ~may), "it has no place here"};
    return !refusal->reason;
}

static bool id_may_have_time(uint64_t id, uint64_t at)
{
    return (uint64_t)id_time_ms(id) == at || (id < ID_EARLY_END && at < (uint64_t)EARLY_END_MS);
}

/* The time of an id stands beside it, and says nothing else, but for times before 2020. */
static bool times_fit(const struct fact *fact, struct refusal *refusal)
{
    static const struct {
        uint64_t both;
        size_t id, at;
        const char *field;
    } pairs[] = {
        {HAS(id) | HAS(at), offsetof(struct fact, id), offsetof(struct fact, at), "at"},
        {HAS(edited_id) | HAS(edited_at), offsetof(struct fact, edited_id),
         offsetof(struct fact, edited_at), "edited_at"},
        {HAS(deleted_id) | HAS(deleted_at), offsetof(struct fact, deleted_id),
         offsetof(struct fact, deleted_at), "deleted_at"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        uint64_t id = *(const uint64_t *)((const char *)fact + pairs[i].id);
        uint64_t at = *(const uint64_t *)((const char *)fact + pairs[i].at);
        if (fact_has(fact, pairs[i].both) && !id_may_have_time(id, at))
            *refusal = (struct refusal){pairs[i].field, "it is not the time in the id"};
    }
    return !refusal->reason;
}

bool fact_read(char *text, size_t n, bool own, struct arena *arena, struct fact *fact,
               struct refusal *refusal)
{
    struct line line = {.at = text, .end = text + n, .arena = arena};
    const char *field = NULL;
    *fact = (struct fact){.type = FACT_TYPE_COUNT};
    *refusal = (struct refusal){0};
    bool more = take(&line, '{') || fail(&line, not_json);
    if (more && take(&line, '}'))
        more = false;
    while (more && take_member(&line, fact, &field)) {
        more = take(&line, ',');
        if (!more && !take(&line, '}'))
            fail(&line, not_json);
    }
    if (!line.reason && peek(&line))
        fail(&line, not_json);
    if (!line.reason && line.at != line.end)
        fail(&line, not_json);
    if (line.reason) {
        *refusal = (struct refusal){line.reason == not_json ? NULL : field, line.reason};
        return false;
    }
    if (fact->type == FACT_TYPE_COUNT) {
        *refusal = (struct refusal){"type", "it is missing"};
        return false;
    }
    return has_its_fields(fact, own, refusal) && times_fit(fact, refusal);
}
