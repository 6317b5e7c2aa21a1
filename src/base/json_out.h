/* SPDX-License-Identifier: MIT */
/*
 * Writes JSON (RFC 8259) into a buf: commas and quotes are its business, the order of calls is the
 * caller's. It allocates nothing of its own. Failure sticks in the buf; a call out of place (a
 * value without a key in an object, an end without a beginning, nesting deeper than JSON_OUT_DEPTH)
 * is a programmer's error and sets `misused`, which json_out_ok() reports.
 *
 * Strings are written as they are but for quotes, backslashes and control characters; U+2028 and
 * U+2029 are left alone. Bytes that are not UTF-8 become U+FFFD, so what comes out is always JSON.
 */
#ifndef BASE_JSON_OUT_H
#define BASE_JSON_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { JSON_OUT_DEPTH = 32 };

struct json_out {
    struct buf *buf;
    uint32_t objects; /* bit d: the container at depth d is an object */
    uint32_t filled;  /* bit d: it has a member already */
    unsigned depth;
    bool has_key; /* a key waits for its value */
    bool misused;
};

void json_out_init(struct json_out *out, struct buf *buf);

/* Whether everything so far fitted and was in place, and every container is closed. */
bool json_out_ok(const struct json_out *out);

void json_out_object(struct json_out *out);
void json_out_array(struct json_out *out);
/* Closes the innermost container. */
void json_out_end(struct json_out *out);

/* The key of the next value; plain ASCII without anything to escape. */
void json_out_key(struct json_out *out, const char *key);

void json_out_string(struct json_out *out, const char *bytes, size_t n);
void json_out_text(struct json_out *out, const char *text);
void json_out_u64(struct json_out *out, uint64_t value);
void json_out_i64(struct json_out *out, int64_t value);
void json_out_bool(struct json_out *out, bool value);
void json_out_null(struct json_out *out);

/* A value that is JSON already. */
void json_out_raw(struct json_out *out, const char *json, size_t n);

#endif
