/* SPDX-License-Identifier: MIT */
#include "engine/ops/rules.h"

#include <string.h>

#include "domain/check.h"

/* In the order of the record. */
#define RULE_SETTINGS(X)   \
    X(hot_like)            \
    X(hot_fav)             \
    X(hot_comment)         \
    X(hot_comment_like)    \
    X(hot_comment_reply)   \
    X(hot_comment_down)    \
    X(hot_half_life_hours) \
    X(fold_down)           \
    X(fold_percent)

void rules_of(const struct tidings_settings *settings, uint64_t value[RULES])
{
    const uint64_t values[RULES] = {
#define X(name) settings->name,
        RULE_SETTINGS(X)
#undef X
    };
    memcpy(value, values, sizeof values);
}

void rules_adopt(const struct rules_record *stored, struct tidings_settings *settings)
{
    struct tidings_settings adopted = *settings;
    uint64_t *const fields[RULES] = {
#define X(name) &adopted.name,
        RULE_SETTINGS(X)
#undef X
    };
    for (size_t i = 0; i < RULES; i++)
        *fields[i] = stored->value[i];
    if (!check_settings(&adopted))
        *settings = adopted;
}

/* In the order of the record: new ones go to its end. */
#define LIMIT_SETTINGS(X) \
    X(follow_burst)       \
    X(follow_refill_ms)   \
    X(following_max)      \
    X(name_max)           \
    X(avatar_max)         \
    X(title_max)          \
    X(body_max)           \
    X(excerpt_max)        \
    X(mark_max)           \
    X(many_max)           \
    X(ids_max)            \
    X(publish_burst)      \
    X(publish_refill_ms)  \
    X(react_burst)        \
    X(react_refill_ms)    \
    X(comment_burst)      \
    X(comment_refill_ms)  \
    X(comment_max)        \
    X(scenes_max)         \
    X(messages_max)       \
    X(message_max)        \
    X(reading_max)        \
    X(subscriptions_max)  \
    X(webhooks_max)       \
    X(page_default)       \
    X(page_max)           \
    X(event_days)         \
    X(read_events)        \
    X(once_hours)

#define X(name) +1
_Static_assert((0 LIMIT_SETTINGS(X)) * VARINT_MAX <= LIMITS_BYTES_MAX, "they fit");
#undef X

size_t limits_encode(const struct tidings_settings *settings, uint8_t to[LIMITS_BYTES_MAX])
{
    size_t n = 0;
#define X(name) n += put_varint(to + n, settings->name);
    LIMIT_SETTINGS(X)
#undef X
    return n;
}

/* What a program of before did not write is as the settings say. */
bool limits_adopt(struct bytes stored, struct tidings_settings *settings)
{
    struct tidings_settings adopted = *settings;
    struct decoder r = decoder_of(stored.p, stored.n);
#define X(name)           \
    if (decoder_left(&r)) \
        adopted.name = read_varint(&r);
    LIMIT_SETTINGS(X)
#undef X
    if (r.bad || decoder_left(&r) || check_settings(&adopted))
        return false;
    *settings = adopted;
    return true;
}
