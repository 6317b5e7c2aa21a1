/* SPDX-License-Identifier: MIT */
#include "base/json_out.h"

#include <string.h>

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
    if (out->filled & bit)
        buf_char(out->buf, ',');
    out->filled |= bit;
    out->has_key = true;
    buf_char(out->buf, '"');
    buf_text(out->buf, key);
    buf_literal(out->buf, "\":");
}

/* The bytes of the UTF-8 sequence at `at`, or 0 if there is none (RFC 3629). */
static size_t sequence(const unsigned char *at, size_t left)
{
    unsigned char low = 0x80, high = 0xbf;
    size_t n = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    if (at[0] < 0xc2 || at[0] > 0xf4 || left < n)
        return 0;
    if (at[0] == 0xe0)
        low = 0xa0;
    if (at[0] == 0xed)
        high = 0x9f;
    if (at[0] == 0xf0)
        low = 0x90;
    if (at[0] == 0xf4)
        high = 0x8f;
    if (at[1] < low || at[1] > high)
        return 0;
    for (size_t i = 2; i < n; i++)
        if ((at[i] & 0xc0) != 0x80)
            return 0;
    return n;
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

/* How many bytes from `at` on can be written as they are. */
static size_t plain_run(const unsigned char *at, size_t left)
{
    size_t n = 0;
    while (n < left) {
        unsigned char c = at[n];
        if (c >= 0x80) {
            size_t length = sequence(at + n, left - n);
            if (!length)
                break;
            n += length;
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
    const unsigned char *at = (const unsigned char *)bytes;
    buf_char(buf, '"');
    for (size_t left = n; left && !buf->failed;) {
        size_t run = plain_run(at, left);
        buf_append(buf, at, run);
        at += run;
        left -= run;
        if (!left)
            break;
        if (*at < 0x80)
            escape(buf, *at);
        else
            buf_literal(buf, "\xef\xbf\xbd");
        at++;
        left--;
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
