/* SPDX-License-Identifier: MIT */
#include "legacy/payload.h"

#include <jansson.h>

#include "legacy/values.h"
#include "tidings.h"

/* The first of the two names that is there decides. */
static bool find_user(const json_t *object, const char *name, const char *other, uint64_t *id)
{
    const json_t *value = json_object_get(object, name);
    if (!value)
        value = json_object_get(object, other);
    if (json_is_string(value))
        return value_id(
            (struct bytes){(const uint8_t *)json_string_value(value), json_string_length(value)},
            TIDINGS_ID_MAX, id);
    json_int_t number = json_integer_value(value); /* 0 of what is no whole number */
    if (number < 1 || (uint64_t)number > TIDINGS_ID_MAX)
        return false;
    *id = (uint64_t)number;
    return true;
}

bool payload_pair(struct bytes payload, uint64_t *from, uint64_t *to)
{
    uint64_t who, whom;
    if (!payload.p)
        return false;
    json_t *object = json_loadb((const char *)payload.p, payload.n, JSON_REJECT_DUPLICATES, NULL);
    bool found = find_user(object, "from_user_id", "fromUserId", &who) &&
                 find_user(object, "to_user_id", "toUserId", &whom);
    json_decref(object);
    if (found) {
        *from = who;
        *to = whom;
    }
    return found;
}
