/* SPDX-License-Identifier: MIT */
#include "http/query.h"

#include <string.h>

#include "http/parser.h"

bool http_percent_decode(struct http_text raw, bool plus_is_space, char *out, size_t *n)
{
    size_t to = 0;
    for (size_t i = 0; i < raw.n; i++) {
        char c = raw.p[i];
        if (c == '%') {
            int high = raw.n - i > 2 ? http_hex_digit(raw.p[i + 1]) : -1;
            int low = high >= 0 ? http_hex_digit(raw.p[i + 2]) : -1;
            if (low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus_is_space) {
            c = ' ';
        }
        if (!c)
            return false;
        out[to++] = c;
    }
    *n = to;
    return true;
}

static bool is_same(struct http_text a, struct http_text b)
{
    return a.n == b.n && !memcmp(a.p, b.p, a.n);
}

static enum http_query_err add_param(struct http_query *query, struct http_text piece,
                                     struct arena *arena)
{
    const char *mark = memchr(piece.p, '=', piece.n);
    size_t name_n = mark ? (size_t)(mark - piece.p) : piece.n;
    struct http_text name = {.p = piece.p, .n = name_n};
    struct http_text value = {.p = mark ? mark + 1 : piece.p + piece.n,
                              .n = mark ? piece.n - name_n - 1 : 0};
    if (query->n == HTTP_QUERY_PARAMS)
        return HTTP_QUERY_TOO_MANY;
    char *names = arena_alloc(arena, piece.n + 1);
    if (!names)
        return HTTP_QUERY_NO_MEMORY;
    char *values = names + name.n;
    if (!http_percent_decode(name, true, names, &name.n) ||
        !http_percent_decode(value, true, values, &value.n))
        return HTTP_QUERY_BAD_ESCAPE;
    name.p = names;
    value.p = values;
    for (size_t i = 0; i < query->n; i++)
        if (is_same(query->params[i].name, name))
            return HTTP_QUERY_DUPLICATE;
    query->params[query->n].name = name;
    query->params[query->n].value = value;
    query->n++;
    return HTTP_QUERY_OK;
}

enum http_query_err http_query_parse(struct http_text raw, struct arena *arena,
                                     struct http_query *query, struct http_text *culprit)
{
    query->n = 0;
    while (raw.n) {
        const char *end = memchr(raw.p, '&', raw.n);
        struct http_text piece = {.p = raw.p, .n = end ? (size_t)(end - raw.p) : raw.n};
        enum http_query_err err = piece.n ? add_param(query, piece, arena) : HTTP_QUERY_OK;
        if (err != HTTP_QUERY_OK) {
            query->n = 0;
            *culprit = piece;
            return err;
        }
        size_t step = piece.n + (end ? 1 : 0);
        raw.p += step;
        raw.n -= step;
    }
    return HTTP_QUERY_OK;
}

struct http_text http_query_get(const struct http_query *query, const char *name)
{
    struct http_text wanted = {.p = name, .n = strlen(name)};
    for (size_t i = 0; i < query->n; i++)
        if (is_same(query->params[i].name, wanted))
            return query->params[i].value;
    return (struct http_text){0};
}
