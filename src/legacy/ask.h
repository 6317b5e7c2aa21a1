/* SPDX-License-Identifier: MIT */
/*
 * What Tidings says of users, in the old system's words: posts have the numbers that they had there ("blog:77" is 77), or their own
 * if they were published here. Two sources answer: an engine in this process (ask_engine.h), and a running server over HTTP
 * (ask_http.h). No answer is older than its question. One thread at a time.
 */
#ifndef LEGACY_ASK_H
#define LEGACY_ASK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The newest so many posts of an inbox are known to the old system, and count there. */
enum { INBOX_MAX = 100000, ASK_MANY = 16, ASK_TROUBLE_MAX = 300 };

struct legacy_item {
    uint64_t post, member, author;
    int64_t at, read_at; /* read_at 0: not read */
    bool delivered;      /* it is in the inbox; otherwise it was only read */
    bool is_deleted;
};

/* What is unread counts, unless it is deleted. */
struct legacy_count {
    uint64_t author, unread;
    bool following;
};

struct legacy_inbox {
    uint64_t user, total;
    struct legacy_item *items; /* newest first, then what was only read */
    size_t n, room;
    struct legacy_count *counts; /* by author */
    size_t n_counts;
};

/* ---- A source -------------------------------------------------------------------------------- */

struct ask;

/* Functions return false after a failure, and `trouble` says why. */
struct ask_table {
    /* Some of the next users behind `after`, ascending, `most` at most, which is 100 at least; none: there are no more. */
    bool (*users)(struct ask *ask, uint64_t after, size_t most, uint64_t *users, size_t *n);
    /* The inboxes of so many users, ASK_MANY at most, all empty before. */
    bool (*inboxes)(struct ask *ask, const uint64_t *users, size_t n, struct legacy_inbox *inboxes);
    void (*free)(struct ask *ask);
};

struct ask {
    const struct ask_table *table;
    char trouble[ASK_TROUBLE_MAX];
};

bool ask_users(struct ask *ask, uint64_t after, size_t most, uint64_t *users, size_t *n);

/* Each inbox is released by legacy_inbox_release whatever the outcome. */
bool ask_inboxes(struct ask *ask, const uint64_t *users, size_t n, struct legacy_inbox *inboxes);

/* NULL is fine. */
void ask_free(struct ask *ask);

/* For sources: keeps the text as the trouble; returns false. */
bool ask_fail(struct ask *ask, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- Inboxes --------------------------------------------------------------------------------- */

/* False: memory is short. */
bool legacy_inbox_add(struct legacy_inbox *inbox, const struct legacy_item *item);

/* Of the items behind the first `n_delivered`, which come from the history, removes those that are among the first. False: memory
 * is short. */
bool legacy_inbox_unite(struct legacy_inbox *inbox, size_t n_delivered);

void legacy_inbox_release(struct legacy_inbox *inbox);

/* ---- The old numbers of posts ---------------------------------------------------------------- */

/* The place of a post in a table of 2^bits: ids differ little in their last digits. */
static inline size_t legacy_place(uint64_t post, unsigned bits)
{
    return (size_t)(post * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits));
}

/* "blog:77" is 77; a post with another key, or none, has its own id. */
uint64_t legacy_member(uint64_t post, const char *key, size_t n);

enum { MEMBERS_PAGE = 100, MEMBERS_BITS = 16 };

/* The members of posts, each in the one place that it may have. */
struct members {
    struct {
        uint64_t post, member;
    } known[1 << MEMBERS_BITS];
};

/* Sets `member` of the items. `look` answers for posts that are not known, MEMBERS_PAGE at most. */
bool members_name(struct members *members, struct legacy_item *items, size_t n,
                  bool (*look)(struct ask *ask, const uint64_t *posts, size_t n, uint64_t *found),
                  struct ask *ask);

#endif
