/* SPDX-License-Identifier: MIT */
#include "legacy/keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static const unsigned n_numbers[] = {
#define X(name, prefix, numbers, what) numbers,
    LEGACY_KEYS(X)
#undef X
};

void legacy_names_init(struct legacy_names *names)
{
    static const char *const prefixes[] = {
#define X(name, prefix, numbers, what) prefix,
        LEGACY_KEYS(X)
#undef X
    };
    *names = (struct legacy_names){0};
    for (size_t i = 0; i < LEGACY_KEY_COUNT; i++)
        snprintf(names->prefix[i], sizeof names->prefix[i], "%s", prefixes[i]);
}

bool legacy_names_set(struct legacy_names *names, const char *text)
{
    static const char *const kinds[] = {
#define X(name, prefix, numbers, what) #name,
        LEGACY_KEYS(X)
#undef X
    };
    size_t n = strcspn(text, "=");
    const char *prefix = text[n] ? text + n + 1 : "";
    if (!*prefix || strlen(prefix) >= LEGACY_PREFIX_MAX)
        return false;
    for (size_t i = 0; i < LEGACY_KEY_COUNT; i++)
        if (strlen(kinds[i]) == n && !strncasecmp(kinds[i], text, n)) {
            snprintf(names->prefix[i], sizeof names->prefix[i], "%s", prefix);
            return true;
        }
    return false;
}

size_t legacy_key(const struct legacy_names *names, enum legacy_key key, uint64_t first,
                  uint64_t second, char to[LEGACY_KEY_MAX])
{
    const char *prefix = names->prefix[key];
    int n = snprintf(to, LEGACY_KEY_MAX, "%s", prefix);
    if (n_numbers[key] > 0)
        n += snprintf(to + n, (size_t)(LEGACY_KEY_MAX - n),
                      names->tagged ? "{%" PRIu64 "}" : "%" PRIu64, first);
    if (n_numbers[key] > 1)
        n += snprintf(to + n, (size_t)(LEGACY_KEY_MAX - n), ":%" PRIu64, second);
    return (size_t)n;
}

static bool read_number(const char **at, const char *end, uint64_t *number)
{
    uint64_t value = 0;
    const char *begin = *at;
    for (; *at < end && **at >= '0' && **at <= '9'; ++*at) {
        if (value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(**at - '0');
    }
    *number = value;
    return *at > begin && *begin != '0';
}

static bool read_char(const char **at, const char *end, char c)
{
    if (*at == end || **at != c)
        return false;
    ++*at;
    return true;
}

bool legacy_key_read(const struct legacy_names *names, enum legacy_key key, const char *text,
                     size_t n, uint64_t *first, uint64_t *second)
{
    const char *prefix = names->prefix[key], *at = text + strlen(prefix), *end = text + n;
    uint64_t numbers[2] = {0, 0};
    if (n < strlen(prefix) || memcmp(text, prefix, strlen(prefix)) != 0)
        return false;
    if (n_numbers[key] > 0 &&
        ((names->tagged && !read_char(&at, end, '{')) || !read_number(&at, end, &numbers[0]) ||
         (names->tagged && !read_char(&at, end, '}'))))
        return false;
    if (n_numbers[key] > 1 && (!read_char(&at, end, ':') || !read_number(&at, end, &numbers[1])))
        return false;
    if (at != end)
        return false;
    *first = numbers[0];
    *second = numbers[1];
    return true;
}
