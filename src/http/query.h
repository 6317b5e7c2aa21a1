/* SPDX-License-Identifier: MIT */
/*
 * Query strings and percent-encoding, strictly: a bad escape, an encoded NUL and a parameter given
 * twice are errors, never guessed at. Whether a value is UTF-8 is for its reader to check.
 */
#ifndef HTTP_QUERY_H
#define HTTP_QUERY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "http/http.h"

enum { HTTP_QUERY_PARAMS = 32 };

enum http_query_err {
    HTTP_QUERY_OK,
    HTTP_QUERY_BAD_ESCAPE,
    HTTP_QUERY_DUPLICATE,
    HTTP_QUERY_TOO_MANY,
    HTTP_QUERY_NO_MEMORY,
};

struct http_query {
    size_t n;
    struct {
        struct http_text name;
        struct http_text value;
    } params[HTTP_QUERY_PARAMS];
};

/*
 * Decodes "a=1&b=x%20y+z" ('+' is a space; no '=' is an empty value; empty pieces are skipped) into
 * the arena. On an error *culprit is the raw piece at fault, and the query is empty.
 */
enum http_query_err http_query_parse(struct http_text raw, struct arena *arena,
                                     struct http_query *query, struct http_text *culprit);

/* The value of a parameter; p is NULL if it is not there. */
struct http_text http_query_get(const struct http_query *query, const char *name);

/* Decodes a part of a path or query into `out`, which has room for raw.n bytes. *n is how many. */
bool http_percent_decode(struct http_text raw, bool plus_is_space, char *out, size_t *n);

#endif
