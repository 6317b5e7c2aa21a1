/* SPDX-License-Identifier: MIT */
#include "auth/scope.h"

#include <stdio.h>
#include <string.h>

static const char *const area_words[] = {
#define X(name, word) word,
    SCOPE_AREAS(X)
#undef X
};

static const char *const way_words[] = {[SCOPE_READ] = "read", [SCOPE_WRITE] = "write"};

_Static_assert(2 * SCOPE_AREA_COUNT <= 32, "a set is 32 bits");

const char *scope_name(enum scope_area area, enum scope_way way, char name[SCOPE_NAME_MAX])
{
    snprintf(name, SCOPE_NAME_MAX, "%s:%s", area_words[area], way_words[way]);
    return name;
}

static uint32_t scope_parse_word(const char *word, size_t n)
{
    char name[SCOPE_NAME_MAX];
    for (unsigned area = 0; area < SCOPE_AREA_COUNT; area++)
        for (unsigned way = SCOPE_READ; way <= SCOPE_WRITE; way++) {
            scope_name((enum scope_area)area, (enum scope_way)way, name);
            if (strlen(name) == n && !memcmp(name, word, n))
                return SCOPE_BIT(area, way);
        }
    return 0;
}

uint32_t scope_parse(const char *text, size_t n)
{
    uint32_t set = 0;
    for (size_t i = 0; i < n;) {
        const char *space = memchr(text + i, ' ', n - i);
        size_t word = space ? (size_t)(space - text) - i : n - i;
        set |= scope_parse_word(text + i, word);
        i += word + 1;
    }
    return set;
}
