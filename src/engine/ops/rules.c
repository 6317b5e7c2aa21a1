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
