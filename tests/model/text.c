/* SPDX-License-Identifier: MIT */
/* Texts in the model: which are good, what a body's excerpt is, and keeping them. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of the character at p, or 0 if there is no valid one. NUL is not valid. */
static size_t character_bytes(const unsigned char *p, size_t n)
{
    uint32_t c;
    size_t bytes;

    if (p[0] < 0x80)
        return p[0] != 0;
    if (p[0] >= 0xc0 && p[0] < 0xe0) {
        bytes = 2;
        c = p[0] & 0x1f;
    } else if (p[0] >= 0xe0 && p[0] < 0xf0) {
        bytes = 3;
        c = p[0] & 0x0f;
    } else if (p[0] >= 0xf0 && p[0] < 0xf8) {
        bytes = 4;
        c = p[0] & 0x07;
    } else {
        return 0;
    }
    if (bytes > n)
        return 0;
    for (size_t i = 1; i < bytes; i++) {
        if (p[i] < 0x80 || p[i] > 0xbf)
            return 0;
        c = c << 6 | (p[i] & 0x3f);
    }
    if (bytes == 2 && c < 0x80)
        return 0;
    if (bytes == 3 && (c < 0x800 || (c >= 0xd800 && c <= 0xdfff)))
        return 0;
    if (bytes == 4 && (c < 0x10000 || c > 0x10ffff))
        return 0;
    return bytes;
}

long model_characters(struct tidings_text text)
{
    long characters = 0;

    for (size_t i = 0; i < text.n;) {
        size_t bytes = character_bytes((const unsigned char *)text.p + i, text.n - i);

        if (bytes == 0)
            return -1;
        i += bytes;
        characters++;
    }
    return characters;
}

static bool text_at(struct tidings_text text, size_t i, const char *what)
{
    size_t n = strlen(what);

    return i + n <= text.n && memcmp(text.p + i, what, n) == 0;
}

/* The host, and what is behind it, as far as the generator makes any: its hosts are names without ports, or 127.0.0.1:1. */
bool model_url_ok(struct tidings_text url)
{
    char text[8192];

    if (url.n >= sizeof text)
        return false;
    memcpy(text, url.p, url.n);
    text[url.n] = '\0';
    const char *host = strstr(text, "://");
    bool web = strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
    if (!web || strlen(text) != url.n)
        return false;
    size_t length = strcspn(host + 3, "/?#");
    return length > 0 && strcspn(host + 3, "@") >= length && host[3] != ':' &&
           strpbrk(text, " \"<>\\`") == NULL;
}

/* Bytes of the picture that begins at i, tags included, or 0 if none does. */
static size_t picture_bytes(struct tidings_text body, size_t i)
{
    size_t inside = i + strlen("[img]");

    if (!text_at(body, i, "[img]"))
        return 0;
    for (size_t j = inside; j < body.n; j++) {
        if (text_at(body, j, "[img]"))
            return 0;
        if (text_at(body, j, "[/img]"))
            return model_url_ok((struct tidings_text){body.p + inside, j - inside})
                       ? j + strlen("[/img]") - i
                       : 0;
    }
    return 0;
}

struct tidings_text model_excerpt(struct tidings_text body, uint64_t most)
{
    char *p = model_room(NULL, body.n + 1, 1);
    size_t n = 0;
    uint64_t characters = 0;

    for (size_t i = 0; i < body.n && characters < most;) {
        size_t bytes = picture_bytes(body, i);

        if (bytes == 0) {
            bytes = character_bytes((const unsigned char *)body.p + i, body.n - i);
            bool space = strchr(" \t\n\v\f\r", body.p[i]) != NULL;
            if (!space || (n > 0 && p[n - 1] != ' ')) {
                memcpy(p + n, space ? " " : body.p + i, bytes);
                n += bytes;
                characters++;
            }
        }
        i += bytes;
    }
    if (n > 0 && p[n - 1] == ' ')
        n--;
    p[n] = '\0';
    return (struct tidings_text){p, n};
}

bool model_same_text(struct tidings_text a, struct tidings_text b)
{
    return a.n == b.n && memcmp(a.p, b.p, a.n) == 0;
}

void model_set_text(struct tidings_text *place, struct tidings_text text)
{
    model_drop(*place);
    *place = model_copy(text);
}

struct tidings_text model_copy(struct tidings_text text)
{
    char *p = model_room(NULL, text.n + 1, 1);

    if (text.n > 0)
        memcpy(p, text.p, text.n);
    p[text.n] = '\0';
    return (struct tidings_text){p, text.n};
}

void model_drop(struct tidings_text text)
{
    free((void *)(uintptr_t)text.p);
}
