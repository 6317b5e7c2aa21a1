/* SPDX-License-Identifier: MIT */
/*
 * The keys that the systems people come from have in Redis, one row of the table a kind: what it is called in an option, how the
 * name begins, how many numbers follow. Two schemes of inboxes (a sorted set and counters; sets of unread posts), and one of relations.
 *
 * Names may be others: an application had its own. On a Redis Cluster all keys of a user must be in one slot for a script to change
 * them together; then the user's number is the hash tag, feed:{42}.
 */
#ifndef LEGACY_KEYS_H
#define LEGACY_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(name, default, numbers, what it is) */
#define LEGACY_KEYS(X)                                                                    \
    X(FEED, "feed:", 1, "a fan's inbox: sorted set of posts by when they came")           \
    X(READ, "blog:read:", 1, "what a user has read: sorted set of posts by when")         \
    X(TOTAL_UNREAD, "total_unread:", 1, "a fan's unread posts, as a number")              \
    X(AUTHOR_UNREAD, "author_unread:", 2, "of one author, as a number: fan, author")      \
    X(BLOG_AUTHOR, "blog_author:", 1, "who wrote a post")                                 \
    X(DELETED, "deleted_blogs", 0, "set of posts that were deleted")                      \
    X(LIKED, "blog:liked:", 1, "who liked a post: sorted set of users by when")           \
    X(FOLLOWS, "follows:", 1, "whom a user follows: set")                                 \
    X(USER_READ, "user:read:", 1, "second scheme: set of posts that a user has read")     \
    X(USER_UNREAD, "user:unread:", 2, "second scheme: set of unread posts: fan, author")  \
    X(UNREAD_COUNT, "user:unread:count:", 1, "second scheme: hash of unread by author")   \
    X(AUTHOR_BLOGS, "author:blogs:", 1, "second scheme: set of an author's posts")        \
    X(BLOG_INFO, "blog:info:", 1, "second scheme: hash of id, userId, title, createTime") \
    X(UCNT, "ucnt:", 1, "relations: five counts of 32 bits, big-endian")                  \
    X(FOLLOWING, "uf:flws:", 1, "relations: sorted set of whom a user follows, by when")  \
    X(FANS, "uf:fans:", 1, "relations: sorted set of who follows a user, by when")

enum legacy_key {
#define X(name, prefix, numbers, what) LEGACY_##name,
    LEGACY_KEYS(X)
#undef X
        LEGACY_KEY_COUNT
};

enum { LEGACY_PREFIX_MAX = 64, LEGACY_KEY_MAX = LEGACY_PREFIX_MAX + 2 * 24 };

struct legacy_names {
    char prefix[LEGACY_KEY_COUNT][LEGACY_PREFIX_MAX];
    bool tagged; /* the first number in braces */
};

/* The default names. */
void legacy_names_init(struct legacy_names *names);

/* Another name of one kind, "FEED=inbox:", in small letters too. False: there is no such kind, or the name is empty or too long. */
bool legacy_names_set(struct legacy_names *names, const char *text);

/* The key of these numbers, of which it takes as many as it has; ends with a NUL. Its length. */
size_t legacy_key(const struct legacy_names *names, enum legacy_key key, uint64_t first,
                  uint64_t second, char to[LEGACY_KEY_MAX]);

/* Whether a text is such a key, and its numbers. Numbers are decimal, from 1 to 2^63 - 1, and as they are written by legacy_key. */
bool legacy_key_read(const struct legacy_names *names, enum legacy_key key, const char *text,
                     size_t n, uint64_t *first, uint64_t *second);

#endif
