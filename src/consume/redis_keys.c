/* SPDX-License-Identifier: MIT */
#include "consume/redis_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/redis.h"

enum { DIGITS_MAX = 20, MARK_SLOTS = REDIS_SLOTS / REDIS_MARKS };

static const struct {
    const char *start;
    enum redis_value value;
} redis_kinds[REDIS_KIND_COUNT] = {
#define X(kind, start, value) [REDIS_KIND_##kind] = {start, REDIS_VALUE_##value},
    REDIS_KINDS(X)
#undef X
};

enum redis_value redis_kind_value(enum redis_kind kind)
{
    return redis_kinds[kind].value;
}

size_t redis_kind_max(enum redis_kind kind)
{
    bool follows = kind == REDIS_KIND_FOLLOWING || kind == REDIS_KIND_FOLLOWERS;
    return follows ? REDIS_FOLLOWS_MAX : 0;
}

void redis_key_name(enum redis_kind kind, uint64_t id, char name[REDIS_NAME_MAX])
{
    snprintf(name, REDIS_NAME_MAX, "%s%" PRIu64, redis_kinds[kind].start, id);
}

void redis_key_companion(enum redis_kind kind, uint64_t id, char name[REDIS_NAME_MAX])
{
    snprintf(name, REDIS_NAME_MAX, "{%s%" PRIu64 "}:at", redis_kinds[kind].start, id);
}

/* Decimal, without zeros in front. */
static bool redis_id_parse(const char *text, size_t n, uint64_t *id)
{
    uint64_t value = 0;
    if (!n || n >= DIGITS_MAX || *text == '0')
        return false;
    for (size_t i = 0; i < n; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *id = value;
    return value <= TIDINGS_ID_MAX;
}

bool redis_key_parse(struct bytes name, enum redis_kind *kind, uint64_t *id)
{
    static const char end[] = "}:at";
    const char *text = (const char *)name.p;
    size_t n = name.n, n_end = sizeof end - 1;
    if (n > n_end && *text == '{' && !memcmp(text + n - n_end, end, n_end)) {
        text++;
        n -= 1 + n_end;
    }
    for (unsigned i = 0; i < REDIS_KIND_COUNT; i++) {
        size_t start = strlen(redis_kinds[i].start);
        if (n <= start || memcmp(text, redis_kinds[i].start, start) != 0)
            continue;
        *kind = (enum redis_kind)i;
        return redis_id_parse(text + start, n - start, id);
    }
    return false;
}

void redis_counts_encode(const struct tidings_counters *counters, uint64_t position,
                         uint8_t to[REDIS_COUNTS_BYTES])
{
    const uint64_t counts[REDIS_NUMBERS] = {
        counters->following,     counters->followers,   counters->posts,
        counters->liked_posts,   counters->faved_posts, counters->likes_received,
        counters->favs_received,
    };
    for (size_t i = 0; i < REDIS_NUMBERS; i++)
        put_u32(to + 4 * i, counts[i] < UINT32_MAX ? (uint32_t)counts[i] : UINT32_MAX);
    put_u64(to + (size_t)4 * REDIS_NUMBERS, position);
}

/* ---- Marks ------------------------------------------------------------------------------------ */

void redis_mark_names(char names[REDIS_MARKS][REDIS_NAME_MAX])
{
    bool named[REDIS_MARKS] = {0};
    for (unsigned i = 0, n = 0; n < REDIS_MARKS; i++) {
        char name[REDIS_NAME_MAX];
        int length = snprintf(name, sizeof name, "tidings:keys:%u", i);
        unsigned at =
            redis_slot((struct bytes){(const uint8_t *)name, (size_t)length}) / MARK_SLOTS;
        if (named[at])
            continue;
        memcpy(names[at], name, sizeof name);
        named[at] = true;
        n++;
    }
}

void redis_mark_encode(const struct redis_mark *mark, char text[REDIS_MARK_MAX])
{
    snprintf(text, REDIS_MARK_MAX, "%s %" PRIu64 " %" PRIu64 " %" PRId64,
             mark->filling ? "fill" : "kept", mark->position, mark->era, mark->at_ms);
}

/* The next word, without its end, which is a space or that of the text; NULL: there is none. */
static const char *redis_mark_word(const char **at, const char *end, size_t *n)
{
    const char *word = *at;
    if (word >= end)
        return NULL;
    const char *space = memchr(word, ' ', (size_t)(end - word));
    *n = (size_t)((space ? space : end) - word);
    *at = space ? space + 1 : end;
    return word;
}

/* Any number of 63 bits. */
static bool redis_mark_number(const char **at, const char *end, uint64_t *number)
{
    size_t n;
    const char *word = redis_mark_word(at, end, &n);
    if (!word || !n || n >= DIGITS_MAX)
        return false;
    for (*number = 0; n; n--, word++) {
        if (*word < '0' || *word > '9' || *number > INT64_MAX / 10 - 1)
            return false;
        *number = *number * 10 + (uint64_t)(*word - '0');
    }
    return true;
}

bool redis_mark_decode(struct bytes text, struct redis_mark *mark)
{
    const char *at = (const char *)text.p, *end = at + text.n;
    uint64_t at_ms;
    size_t n;
    const char *word = redis_mark_word(&at, end, &n);
    if (!word || n != 4 || (memcmp(word, "fill", 4) != 0 && memcmp(word, "kept", 4) != 0))
        return false;
    mark->filling = *word == 'f';
    if (!redis_mark_number(&at, end, &mark->position) || !redis_mark_number(&at, end, &mark->era) ||
        !redis_mark_number(&at, end, &at_ms))
        return false;
    mark->at_ms = (int64_t)at_ms;
    word = redis_mark_word(&at, end, &n);
    if (!word || !n || n > REDIS_RUN_ID_MAX || at != end || memchr(word, '\0', n))
        return false;
    memcpy(mark->run_id, word, n);
    mark->run_id[n] = '\0';
    return true;
}
