/* SPDX-License-Identifier: MIT */
#include "domain/markup.h"

#include <stdint.h>
#include <string.h>

#include "domain/url.h"

#define OPENING "[img]"
#define CLOSING "[/img]"

static const char *find(const char *at, const char *end, const char *tag)
{
    return memmem(at, (size_t)(end - at), tag, strlen(tag));
}

/*
 * The first picture in [at, end): its opening tag in *open, its closing tag in *close. The
 * innermost opening tag before a closing tag is the one that counts.
 */
static bool find_image(const char *at, const char *end, const char **open, const char **close)
{
    while ((*close = find(at, end, CLOSING))) {
        *open = NULL;
        for (const char *tag = at; (tag = find(tag, *close, OPENING)); tag++)
            *open = tag;
        const char *address = *open ? *open + strlen(OPENING) : *close;
        struct tidings_text picture = {address, (size_t)(*close - address)};
        if (url_is_web(picture) || url_is_path(picture))
            return true;
        at = *close + strlen(CLOSING);
    }
    return false;
}

bool tidings_next_part(struct tidings_text *rest, struct tidings_part *part)
{
    if (!rest->n)
        return false;
    const char *at = rest->p, *end = rest->p + rest->n;
    const char *open, *close, *behind;

    if (!find_image(at, end, &open, &close)) {
        *part = (struct tidings_part){.text = *rest};
        behind = end;
    } else if (open > at) {
        *part = (struct tidings_part){.text = {at, (size_t)(open - at)}};
        behind = open;
    } else {
        const char *address = open + strlen(OPENING);
        *part =
            (struct tidings_part){.is_image = true, .text = {address, (size_t)(close - address)}};
        behind = close + strlen(CLOSING);
    }
    *rest = (struct tidings_text){behind, (size_t)(end - behind)};
    return true;
}

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/* An excerpt being written. A space waits until it is known that something follows it. */
struct excerpt {
    char *to;
    size_t room;
    size_t n;
    size_t characters; /* that it may still have */
    bool space;
};

static bool begins_character(char c)
{
    return ((uint8_t)c & 0xc0) != 0x80;
}

/* Up to the next space, as much as there is room for; whether that is all of it. *n: bytes of it. */
static bool put_word(struct excerpt *out, const char *p, const char *end, size_t *n)
{
    size_t room = out->room - out->n, left = out->characters, at = 0;
    if (left <= out->space || room <= out->space)
        return false;
    left -= out->space;
    room -= out->space;
    const char *stop = p;
    for (; stop < end && !is_space(*stop); stop++)
        if (begins_character(*stop) && left-- == 0)
            break;
    bool all = stop == end || is_space(*stop);
    at = (size_t)(stop - p);
    if (at > room)
        for (at = room, all = false; at && !begins_character(p[at]);)
            at--;
    if (!at)
        return false;
    if (out->space)
        out->to[out->n++] = ' ';
    memcpy(out->to + out->n, p, at);
    out->n += at;
    out->characters = left;
    out->space = false;
    *n = at;
    return all;
}

static bool put_words(struct excerpt *out, struct tidings_text text)
{
    const char *end = text.p + text.n;
    for (const char *p = text.p; p < end;) {
        size_t n = 1;
        if (is_space(*p))
            out->space = out->n > 0;
        else if (!put_word(out, p, end, &n))
            return false;
        p += n;
    }
    return true;
}

size_t markup_excerpt(struct tidings_text body, size_t characters, char *to, size_t room)
{
    struct excerpt out = {.to = to, .room = room, .characters = characters};
    struct tidings_part part;
    while (out.characters && tidings_next_part(&body, &part))
        if (!part.is_image && !put_words(&out, part.text))
            break;
    return out.n;
}

const char *tidings_deleted_notice(bool chinese)
{
    return chinese ? "该笔记已被作者删除" : "This post was deleted by its author.";
}
