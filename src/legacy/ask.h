/* SPDX-License-Identifier: MIT */
/*
 * What Tidings says of users, in the old system's words: posts have the numbers that they had there ("blog:77" is 77), or their own if they were
 * published here. Answers are from the database, none is older than the question. One thread at a time.
 */
#ifndef LEGACY_ASK_H
#define LEGACY_ASK_H

#include "legacy/keys.h"
#include "tidings.h"

/* Of an inbox the newest so many are known to the old system, and count there. */
enum { INBOX_MAX = 100000, ASK_MANY = 64 };

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

/* The place of a post in a table of 2^bits: ids differ little in their last digits. */
static inline size_t legacy_place(uint64_t post, unsigned bits)
{
    return (size_t)(post * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits));
}

struct ask;

/* The engine is the caller's. NULL: memory is short. */
struct ask *ask_new(struct tidings *tidings);
void ask_free(struct ask *ask);

/* All of these users' (ASK_MANY at most), each released by legacy_inbox_release whatever the outcome. */
enum tidings_err ask_inboxes(struct ask *ask, const uint64_t *users, size_t n,
                             struct legacy_inbox *inboxes);
void legacy_inbox_release(struct legacy_inbox *inbox);

/* Of a post: member, author, at (0: it is gone) and is_deleted. The title ends with a NUL, cut if need be. */
enum { TITLE_ROOM = 1024 };
enum tidings_err ask_post(struct ask *ask, uint64_t post, struct legacy_item *item,
                          char title[TITLE_ROOM]);

/* What the old system calls it. */
enum tidings_err ask_member(struct ask *ask, uint64_t post, uint64_t *member);

/* Which of these users, ascending, follow the author and were delivered the post: they come first, in *n. */
enum tidings_err ask_fans(struct ask *ask, uint64_t author, uint64_t post, uint64_t *users,
                          size_t *n);

/* One operation, asked exactly and as a service; what the answer points to lives until the next call. */
enum tidings_err ask_one(struct ask *ask, const struct tidings_op *op,
                         const struct tidings_answer **answer);

#endif
