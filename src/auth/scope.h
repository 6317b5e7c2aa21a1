/* SPDX-License-Identifier: MIT */
/* What a token may be limited to: reading or changing an area of the API. */
#ifndef AUTH_SCOPE_H
#define AUTH_SCOPE_H

#include <stddef.h>
#include <stdint.h>

/* name, its word */
#define SCOPE_AREAS(X)                \
    X(INBOX, "inbox")                 \
    X(POSTS, "posts")                 \
    X(COMMENTS, "comments")           \
    X(REACTIONS, "reactions")         \
    X(RELATION, "relation")           \
    X(PROFILE, "profile")             \
    X(READING, "reading")             \
    X(NOTIFICATIONS, "notifications") \
    X(EVENTS, "events")               \
    X(ADMIN, "admin")

enum scope_area {
#define X(name, word) SCOPE_##name,
    SCOPE_AREAS(X)
#undef X
        SCOPE_AREA_COUNT
};

enum scope_way { SCOPE_READ, SCOPE_WRITE };

/* A set of them is bits. */
#define SCOPE_BIT(area, way) (UINT32_C(1) << (2 * (unsigned)(area) + (unsigned)(way)))
#define SCOPE_ALL            UINT32_MAX

/* "notifications:write" and its NUL fit. */
enum { SCOPE_NAME_MAX = 24 };

/* The set that n bytes name: "inbox:read posts:write", spaces between. Words that are not ours are others' business. */
uint32_t scope_parse(const char *text, size_t n);

const char *scope_name(enum scope_area area, enum scope_way way, char name[SCOPE_NAME_MAX]);

#endif
