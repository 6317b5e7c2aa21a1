/* SPDX-License-Identifier: MIT */
/* Arguments: strict about form here, about meaning in the engine. */
#include <string.h>

#include "api/internal.h"

/* The lists are ours, and short. */
enum { WORDS_TEXT = 96 };

bool parse_id(struct http_text text, uint64_t *id)
{
    enum { DIGITS_MAX = 16 };
    uint64_t value = 0;
    if (text.n == 0 || text.n > DIGITS_MAX || (text.p[0] == '0' && text.n > 1))
        return false;
    for (size_t i = 0; i < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text.p[i] - '0');
    }
    if (value > TIDINGS_ID_MAX)
        return false;
    *id = value;
    return true;
}

/* ---- The body ------------------------------------------------------------------------------- */

static bool is_listed(const char *name, const char *const *names)
{
    for (; *names; names++)
        if (!strcmp(name, *names))
            return true;
    return false;
}

/* The name of the object's member in which the parser was after `end` bytes, which are well-formed.
 * NULL if it was in none. */
static json_t *name_at(const char *text, size_t end)
{
    struct http_text last = {0}, name = {0};
    size_t depth = 0;
    for (size_t i = 0; i < end; i++) {
        if (text[i] == '"') {
            size_t from = i++;
            while (i < end && text[i] != '"')
                i += text[i] == '\\' ? 2 : 1;
            if (i >= end)
                break;
            last = (struct http_text){text + from, i + 1 - from};
        }
        depth += text[i] == '{' || text[i] == '[';
        depth -= text[i] == '}' || text[i] == ']';
        if (text[i] == ':' && depth == 1)
            name = last;
    }
    return name.p ? json_loadb(name.p, name.n, JSON_DECODE_ANY, NULL) : NULL;
}

/* Not error->text, which quotes the body, and may cut a character in two. */
static const char *json_fault(const json_error_t *error)
{
    switch (json_error_code(error)) {
    case json_error_premature_end_of_input:
        return "it ends too early";
    case json_error_end_of_input_expected:
        return "something follows the object";
    case json_error_duplicate_key:
        return "a name is there twice";
    case json_error_invalid_utf8:
        return "not UTF-8";
    case json_error_null_character:
    case json_error_null_byte_in_key:
        return "a NUL character";
    case json_error_stack_overflow:
        return "nested too deeply";
    default:
        return "not JSON";
    }
}

/* What is no object; a number that is too large for the parser is its field's fault. */
static void refuse_body(struct exchange *ex, struct http_text raw, const json_error_t *error)
{
    bool is_number = !ex->body && json_error_code(error) == json_error_numeric_overflow;
    json_t *name = is_number ? name_at(raw.p, (size_t)error->position) : NULL;
    if (name)
        exchange_invalid(ex, json_string_value(name), "the number is out of range");
    else if (ex->body || !raw.n)
        exchange_invalid(ex, "body", "the request needs a JSON object");
    else
        exchange_invalid(ex, "body", "line %d, column %d of the request: %s", error->line,
                         error->column, json_fault(error));
    json_decref(name);
}

bool arg_body(struct exchange *ex, const char *const *members)
{
    struct http_text raw = http_request_body(ex->req);
    json_error_t error;
    ex->body = json_loadb(raw.p, raw.n, JSON_REJECT_DUPLICATES, &error);
    if (!json_is_object(ex->body)) {
        refuse_body(ex, raw, &error);
        return false;
    }
    const char *name;
    json_t *value;
    json_object_foreach(ex->body, name, value)
    {
        if (!is_listed(name, members)) {
            exchange_invalid(ex, name, "there is no such field");
            return false;
        }
    }
    return true;
}

/*
 * The member, or NULL: then *ok tells whether that is fine. A null is the same as a missing member
 * where that is optional.
 */
static json_t *member(struct exchange *ex, const char *name, bool *given, bool *ok)
{
    json_t *value = json_object_get(ex->body, name);
    if (given && (!value || json_is_null(value))) {
        *given = false;
        *ok = true;
        return NULL;
    }
    if (given)
        *given = true;
    *ok = false;
    if (!value)
        exchange_invalid(ex, name, "missing");
    return value;
}

static bool refuse_type(struct exchange *ex, const char *name, const char *type)
{
    exchange_invalid(ex, name, "%s", type);
    return false;
}

static bool refuse_id(struct exchange *ex, const char *name)
{
    exchange_invalid(ex, name, "a whole number from 1 to %llu", (unsigned long long)TIDINGS_ID_MAX);
    return false;
}

static bool id_of(const json_t *value, uint64_t *id)
{
    json_int_t number = json_is_integer(value) ? json_integer_value(value) : 0;
    if (number < 1 || number > (json_int_t)TIDINGS_ID_MAX)
        return false;
    *id = (uint64_t)number;
    return true;
}

bool arg_id(struct exchange *ex, const char *name, uint64_t *id, bool *given)
{
    bool ok;
    json_t *value = member(ex, name, given, &ok);
    if (!value)
        return ok;
    return id_of(value, id) || refuse_id(ex, name);
}

bool arg_time(struct exchange *ex, const char *name, int64_t *time_ms, bool *given)
{
    uint64_t value = 0;
    if (!arg_id(ex, name, &value, given))
        return false;
    *time_ms = (int64_t)value;
    return true;
}

bool arg_text(struct exchange *ex, const char *name, struct tidings_text *text, bool *given)
{
    bool ok;
    json_t *value = member(ex, name, given, &ok);
    if (!value)
        return ok;
    if (!json_is_string(value))
        return refuse_type(ex, name, "a string");
    *text = (struct tidings_text){json_string_value(value), json_string_length(value)};
    return true;
}

/* ---- A value as it stands in the body. The parser has found that to be well-formed: it ends with the object's brace. */

static size_t skip_space(const char *text, size_t i)
{
    return i + strspn(text + i, " \t\r\n");
}

static size_t skip_string(const char *text, size_t i)
{
    for (i++; text[i] != '"'; i++)
        i += text[i] == '\\';
    return i + 1;
}

static size_t skip_value(const char *text, size_t i)
{
    for (size_t depth = 0; depth || !strchr(",} \t\r\n", text[i]); i++) {
        if (text[i] == '"')
            i = skip_string(text, i) - 1;
        depth += text[i] == '{' || text[i] == '[';
        depth -= text[i] == '}' || text[i] == ']';
    }
    return i;
}

/* A name may be written with escapes. */
static bool is_named(const char *quoted, size_t n, const char *name)
{
    json_t *string = json_loadb(quoted, n, JSON_DECODE_ANY, NULL);
    bool same = json_is_string(string) && !strcmp(json_string_value(string), name);
    json_decref(string);
    return same;
}

static struct tidings_text find_json(const char *text, const char *name)
{
    size_t i = skip_space(text, 0);
    while (text[i] == '{' || text[i] == ',') {
        size_t from = skip_space(text, i + 1);
        if (text[from] != '"')
            break;
        size_t behind = skip_string(text, from);
        size_t value = skip_space(text, skip_space(text, behind) + 1);
        size_t end = skip_value(text, value);
        if (is_named(text + from, behind - from, name))
            return (struct tidings_text){text + value, end - value};
        i = skip_space(text, end);
    }
    return (struct tidings_text){NULL, 0};
}

bool arg_object(struct exchange *ex, const char *name, struct tidings_text *json)
{
    const json_t *value = json_object_get(ex->body, name);
    if (!value || json_is_null(value))
        return true;
    if (!json_is_object(value))
        return refuse_type(ex, name, "an object");
    *json = find_json(http_request_body(ex->req).p, name);
    return true;
}

bool arg_bool(struct exchange *ex, const char *name, bool *flag, bool *given)
{
    bool ok;
    json_t *value = member(ex, name, given, &ok);
    if (!value)
        return ok;
    if (!json_is_boolean(value))
        return refuse_type(ex, name, "true or false");
    *flag = json_is_true(value);
    return true;
}

bool arg_ids(struct exchange *ex, const char *name, const uint64_t **ids, size_t *n, bool *given)
{
    bool ok;
    json_t *value = member(ex, name, given, &ok);
    if (!value)
        return ok;
    if (!json_is_array(value))
        return refuse_type(ex, name, "a list of ids");
    size_t count = json_array_size(value);
    uint64_t *list = arena_array(http_request_arena(ex->req), count + 1, sizeof *list);
    if (!list)
        return refuse_type(ex, name, "too many ids");
    for (size_t i = 0; i < count; i++)
        if (!id_of(json_array_get(value, i), &list[i]))
            return refuse_id(ex, name);
    *ids = list;
    *n = count;
    return true;
}

static bool find_word(const char *word, size_t n, const char *const *words, unsigned *index)
{
    for (unsigned i = 0; words[i]; i++)
        if (strlen(words[i]) == n && !memcmp(words[i], word, n)) {
            *index = i;
            return true;
        }
    return false;
}

static bool refuse_word(struct exchange *ex, const char *name, const char *const *words)
{
    char list[WORDS_TEXT];
    struct buf text;
    buf_init_borrowed(&text, list, sizeof list);
    for (size_t i = 0; words[i]; i++)
        buf_printf(&text, i ? ", %s" : "%s", words[i]);
    exchange_invalid(ex, name, "one of %.*s", (int)text.len, list);
    return false;
}

bool arg_word(struct exchange *ex, const char *name, const char *const *words, unsigned *index)
{
    const json_t *value = json_object_get(ex->body, name);
    bool fine = json_is_string(value) &&
                find_word(json_string_value(value), json_string_length(value), words, index);
    return fine || refuse_word(ex, name, words);
}

bool arg_up_to(struct exchange *ex, uint8_t purpose, struct tidings_moment *up_to, bool *given)
{
    struct tidings_text text;
    if (!arg_text(ex, "up_to", &text, given))
        return false;
    if (!*given)
        return true;
    if (seal_open_some(exchange_loop(ex)->seal, purpose, ex->user_id, text.p, text.n, up_to->part,
                       TIDINGS_MOMENT_PARTS) > 0)
        return true;
    exchange_invalid(ex, "up_to", "not an as_of that you were given");
    return false;
}

/* ---- The query ------------------------------------------------------------------------------ */

bool query_id(struct exchange *ex, const char *name, uint64_t *id, bool *given)
{
    struct http_text text = http_query_get(&ex->query, name);
    if (given)
        *given = text.p != NULL;
    if (!text.p && given)
        return true;
    if (text.p && parse_id(text, id) && *id)
        return true;
    return refuse_id(ex, name);
}

/* How many pieces there are between commas. */
static size_t count_pieces(struct http_text text)
{
    size_t n = 1;
    for (size_t i = 0; i < text.n; i++)
        n += text.p[i] == ',';
    return n;
}

static bool parse_ids(struct http_text text, uint64_t *ids, size_t n)
{
    const char *at = text.p, *end = text.p + text.n;
    for (size_t i = 0; i < n; i++) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        struct http_text piece = {at, (size_t)((comma ? comma : end) - at)};
        if (!parse_id(piece, &ids[i]) || !ids[i])
            return false;
        at = comma ? comma + 1 : end;
    }
    return true;
}

bool query_ids(struct exchange *ex, const char *name, const uint64_t **ids, size_t *n)
{
    uint64_t most = ex->api->config.settings.ids_max;
    struct http_text text = http_query_get(&ex->query, name);
    size_t count = text.p ? count_pieces(text) : 0;
    bool fine = count && count <= most;
    uint64_t *list = fine ? arena_array(http_request_arena(ex->req), count, sizeof *list) : NULL;
    if (!list || !parse_ids(text, list, count)) {
        exchange_invalid(ex, name, "1 to %llu ids, separated by commas", (unsigned long long)most);
        return false;
    }
    *ids = list;
    *n = count;
    return true;
}

bool query_time(struct exchange *ex, const char *name, int64_t *time_ms, bool *given)
{
    uint64_t value = 0;
    if (!query_id(ex, name, &value, given))
        return false;
    *time_ms = (int64_t)value;
    return true;
}

bool query_word(struct exchange *ex, const char *name, const char *const *words, unsigned *index)
{
    struct http_text text = http_query_get(&ex->query, name);
    return !text.p || find_word(text.p, text.n, words, index) || refuse_word(ex, name, words);
}

bool query_flag(struct exchange *ex, const char *name, bool *flag)
{
    static const char *const words[] = {"0", "1", NULL};
    unsigned index = *flag;
    bool fine = query_word(ex, name, words, &index);
    if (fine)
        *flag = index == 1;
    return fine;
}

bool query_limit(struct exchange *ex, struct tidings_page *page)
{
    struct http_text limit = http_query_get(&ex->query, "limit");
    uint64_t number = 0;
    if (!limit.p)
        return true;
    if (!parse_id(limit, &number) || !number || number > UINT32_MAX) {
        exchange_invalid(ex, "limit", "1 to %llu",
                         (unsigned long long)ex->api->config.settings.page_max);
        return false;
    }
    page->limit = (uint32_t)number;
    return true;
}

bool refuse_cursor(struct exchange *ex)
{
    exchange_invalid(ex, "cursor", "not a cursor that you were given");
    return false;
}

bool query_page(struct exchange *ex, uint8_t purpose, struct tidings_page *page)
{
    struct http_text cursor = http_query_get(&ex->query, "cursor");
    uint64_t values[2];
    if (!query_limit(ex, page))
        return false;
    if (!cursor.p)
        return true;
    if (!seal_open(exchange_loop(ex)->seal, purpose, ex->user_id, cursor.p, cursor.n, values, 2))
        return refuse_cursor(ex);
    page->after = (struct tidings_cursor){values[0], values[1]};
    return true;
}
