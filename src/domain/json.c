/* SPDX-License-Identifier: MIT */
#include "domain/json.h"

#include <stdint.h>
#include <string.h>

struct scan {
    const char *at, *end;
    uint32_t objects; /* the lowest bit: the innermost container is an object */
    unsigned depth;
};

/* The next character, '\0' at the end: no value begins or ends with it. */
static char peek(const struct scan *scan)
{
    return scan->at < scan->end ? *scan->at : '\0';
}

static bool take(struct scan *scan, char c)
{
    bool there = scan->at < scan->end && *scan->at == c;
    scan->at += there;
    return there;
}

static void skip_space(struct scan *scan)
{
    while (take(scan, ' ') || take(scan, '\n') || take(scan, '\r') || take(scan, '\t'))
        ;
}

static bool take_word(struct scan *scan, const char *word)
{
    size_t n = strlen(word);
    bool there = (size_t)(scan->end - scan->at) >= n && !memcmp(scan->at, word, n);
    scan->at += there ? n : 0;
    return there;
}

/* ---- Strings ------------------------------------------------------------------------------- */

/* Four hexadecimal digits; -1 if they are none. */
static int take_hex(struct scan *scan)
{
    int value = 0;
    for (int i = 0; i < 4; i++) {
        char c = peek(scan), lower = (char)(c | 0x20);
        if (c >= '0' && c <= '9')
            value = value * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f')
            value = value * 16 + (lower - 'a' + 10);
        else
            return -1;
        scan->at++;
    }
    return value;
}

/* What follows a backslash. Half of a pair of surrogates is no character. */
static bool take_escape(struct scan *scan)
{
    if (!take(scan, 'u')) {
        bool known = peek(scan) && strchr("\"\\/bfnrt", peek(scan));
        scan->at += known;
        return known;
    }
    int code = take_hex(scan);
    if (code < 0 || (code >= 0xdc00 && code <= 0xdfff))
        return false;
    if (code < 0xd800 || code > 0xdbff)
        return true;
    int second = take(scan, '\\') && take(scan, 'u') ? take_hex(scan) : -1;
    return second >= 0xdc00 && second <= 0xdfff;
}

static bool take_string(struct scan *scan)
{
    if (!take(scan, '"'))
        return false;
    while (scan->at < scan->end) {
        char c = *scan->at++;
        if (c == '"')
            return true;
        if ((unsigned char)c < 0x20 || (c == '\\' && !take_escape(scan)))
            return false;
    }
    return false;
}

/* ---- Numbers ------------------------------------------------------------------------------- */

static bool take_digits(struct scan *scan)
{
    const char *from = scan->at;
    while (peek(scan) >= '0' && peek(scan) <= '9')
        scan->at++;
    return scan->at > from;
}

static bool take_number(struct scan *scan)
{
    take(scan, '-');
    if (!take(scan, '0') && !take_digits(scan))
        return false;
    if (take(scan, '.') && !take_digits(scan))
        return false;
    if (!take(scan, 'e') && !take(scan, 'E'))
        return true;
    if (!take(scan, '+'))
        take(scan, '-');
    return take_digits(scan);
}

/* ---- Containers ---------------------------------------------------------------------------- */

static bool take_scalar(struct scan *scan)
{
    switch (peek(scan)) {
    case '"':
        return take_string(scan);
    case 't':
        return take_word(scan, "true");
    case 'f':
        return take_word(scan, "false");
    case 'n':
        return take_word(scan, "null");
    default:
        return take_number(scan);
    }
}

static bool take_name(struct scan *scan)
{
    skip_space(scan);
    if (!take_string(scan))
        return false;
    skip_space(scan);
    return take(scan, ':');
}

static bool is_in_object(const struct scan *scan)
{
    return scan->objects & 1;
}

/* Behind a value: containers may end, and if another value is to follow it is at hand. */
static bool leave(struct scan *scan)
{
    for (skip_space(scan); scan->depth; skip_space(scan)) {
        if (take(scan, ','))
            return !is_in_object(scan) || take_name(scan);
        if (!take(scan, is_in_object(scan) ? '}' : ']'))
            return false;
        scan->objects >>= 1;
        scan->depth--;
    }
    return true;
}

/* A container begins; what it has first is at hand, or it has ended again. */
static bool enter(struct scan *scan, bool object)
{
    if (scan->depth == JSON_DEPTH)
        return false;
    scan->objects = scan->objects << 1 | object;
    scan->depth++;
    skip_space(scan);
    if (peek(scan) == (object ? '}' : ']'))
        return leave(scan);
    return !object || take_name(scan);
}

bool json_holds_object(const char *text, size_t n)
{
    struct scan scan = {.at = text, .end = text + n};
    skip_space(&scan);
    if (peek(&scan) != '{')
        return false;
    do {
        bool fine;
        skip_space(&scan);
        if (take(&scan, '{'))
            fine = enter(&scan, true);
        else if (take(&scan, '['))
            fine = enter(&scan, false);
        else
            fine = take_scalar(&scan) && leave(&scan);
        if (!fine)
            return false;
    } while (scan.depth);
    skip_space(&scan);
    return scan.at == scan.end;
}
