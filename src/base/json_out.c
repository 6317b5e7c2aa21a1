/* SPDX-License-Identifier: MIT */
#include "base/json_out.h"

#include <string.h>

#include "base/octets.h"
#include "base/utf8.h"

void json_out_init(struct json_out *out, struct buf *buf)
{
    *out = (struct json_out){.buf = buf};
}

bool json_out_ok(const struct json_out *out)
{
    return !out->misused && !out->buf->failed && out->depth == 0 && !out->has_key;
}

static uint32_t level_bit(const struct json_out *out)
{
    return out->depth ? UINT32_C(1) << (out->depth - 1) : 0;
}

/* What stands before a value: nothing after a key, else a comma if the container has a member. */
static bool before_value(struct json_out *out)
{
    uint32_t bit = level_bit(out);
    if ((out->objects & bit) && !out->has_key)
        out->misused = true;
    if (out->misused)
        return false;
    if (!out->has_key && (out->filled & bit))
        buf_char(out->buf, ',');
    out->filled |= bit;
    out->has_key = false;
    return true;
}

static void begin(struct json_out *out, char bracket)
{
    if (out->depth == JSON_OUT_DEPTH)
        out->misused = true;
    if (!before_value(out))
        return;
    buf_char(out->buf, bracket);
    out->depth++;
    uint32_t bit = level_bit(out);
    out->filled &= ~bit;
    out->objects = bracket == '{' ? out->objects | bit : out->objects & ~bit;
}

void json_out_object(struct json_out *out)
{
    begin(out, '{');
}

void json_out_array(struct json_out *out)
{
    begin(out, '[');
}

void json_out_end(struct json_out *out)
{
    if (out->depth == 0 || out->has_key)
        out->misused = true;
    if (out->misused)
        return;
    buf_char(out->buf, out->objects & level_bit(out) ? '}' : ']');
    out->depth--;
}

void json_out_key(struct json_out *out, const char *key)
{
    uint32_t bit = level_bit(out);
    if (!(out->objects & bit) || out->has_key)
        out->misused = true;
    if (out->misused)
        return;
    bool comma = out->filled & bit;
    size_t n = strlen(key);
    char *to = buf_reserve(out->buf, comma + n + 3);
    out->filled |= bit;
    out->has_key = true;
    if (!to)
        return;
    if (comma)
        *to++ = ',';
    *to++ = '"';
    to = mempcpy(to, key, n);
    *to++ = '"';
    *to = ':';
    out->buf->len += comma + n + 3;
}

/* A multiple of 2, 3 and 4, so that no run of characters of one length is cut by it. */
enum { WIDE_WINDOW = 192 };

/* How many bytes from `at` on, which are not ASCII, are whole characters of UTF-8. */
static size_t wide_run(const char *at, size_t left)
{
    size_t n = 0, characters;
    while (n < left && n < WIDE_WINDOW && (at[n] & 0x80))
        n++;
    if (utf8_check(at, n, &characters))
        return n;
    for (size_t one = 2; one <= 4 && one <= n; one++)
        if (utf8_check(at, one, &characters))
            return one;
    return 0;
}

static void escape(struct buf *buf, unsigned char c)
{
    static const char *const hex = "0123456789abcdef";
    static const char names[] = "\"\"\\\\\bb\ff\nn\rr\tt";
    for (const char *name = names; *name; name += 2) {
        if (*name == (char)c) {
            buf_append(buf, (char[]){'\\', name[1]}, 2);
            return;
        }
    }
    buf_append(buf, (char[]){'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]}, 6);
}

/* Of eight bytes. */
static bool are_plain(const char *bytes)
{
    uint64_t word = octets_at(bytes);
    return !((word | octets_below(word, 0x20) | octets_equal(word, '"') | octets_equal(word, '\\') |
              octets_equal(word, 0x7f)) &
             OCTETS_TOP);
}

/* How many bytes from `at` on can be written as they are. */
static size_t plain_run(const char *at, size_t left)
{
    size_t n = 0;
    while (n < left) {
        unsigned char c = (unsigned char)at[n];
        if (left - n >= 8 && are_plain(at + n)) {
            n += 8;
        } else if (c >= 0x80) {
            size_t wide = wide_run(at + n, left - n);
            if (!wide)
                break;
            n += wide;
        } else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7f) {
            break;
        } else {
            n++;
        }
    }
    return n;
}

void json_out_string(struct json_out *out, const char *bytes, size_t n)
{
    if (!before_value(out))
        return;
    struct buf *buf = out->buf;
    buf_char(buf, '"');
    for (size_t at = 0; at < n && !buf->failed; at++) {
        size_t run = plain_run(bytes + at, n - at);
        buf_append(buf, bytes + at, run);
        at += run;
        if (at == n)
            break;
        if (bytes[at] & 0x80)
            buf_literal(buf, "\xef\xbf\xbd");
        else
            escape(buf, (unsigned char)bytes[at]);
    }
    buf_char(buf, '"');
}

void json_out_text(struct json_out *out, const char *text)
{
    json_out_string(out, text, strlen(text));
}

void json_out_u64(struct json_out *out, uint64_t value)
{
    if (before_value(out))
        buf_u64(out->buf, value);
}

void json_out_i64(struct json_out *out, int64_t value)
{
    if (before_value(out))
        buf_i64(out->buf, value);
}

void json_out_bool(struct json_out *out, bool value)
{
    if (!before_value(out))
        return;
    if (value)
        buf_literal(out->buf, "true");
    else
        buf_literal(out->buf, "false");
}

void json_out_null(struct json_out *out)
{
    if (before_value(out))
        buf_literal(out->buf, "null");
}

void json_out_raw(struct json_out *out, const char *json, size_t n)
{
    if (before_value(out))
        buf_append(out->buf, json, n);
}
