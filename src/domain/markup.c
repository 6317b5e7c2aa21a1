/* SPDX-License-Identifier: MIT */
#include "domain/markup.h"

#include <string.h>

#include "base/utf8.h"

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
        if (*open && *open + strlen(OPENING) < *close)
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

size_t markup_excerpt(struct tidings_text body, size_t characters, char *to, size_t room)
{
    struct tidings_part part;
    size_t written = 0, count;

    while (characters && tidings_next_part(&body, &part)) {
        if (part.is_image)
            continue;
        size_t n = utf8_prefix(part.text.p, part.text.n, characters);
        if (n > room - written)
            break;
        memcpy(to + written, part.text.p, n);
        written += n;
        utf8_check(part.text.p, n, &count);
        characters -= count;
    }
    return written;
}

const char *tidings_deleted_notice(bool chinese)
{
    return chinese ? "该笔记已被作者删除" : "This post was deleted by its author.";
}
