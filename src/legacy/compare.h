/* SPDX-License-Identifier: MIT */
/*
 * Asks the old system's keys and Tidings the same questions, for a share of the users, and tells where the answers differ. Both move on
 * meanwhile: who differs is asked about again, and what is the same by then was only late.
 *
 * Users are those whom Tidings knows, and those who have keys: SCAN, never KEYS.
 */
#ifndef LEGACY_COMPARE_H
#define LEGACY_COMPARE_H

#include <stdio.h>

#include "legacy/ask.h"
#include "legacy/id_set.h"
#include "legacy/old.h"
#include "tidings.h"

/* name, what an example is about, what the question is */
#define COMPARE_KINDS(X)                                                      \
    X(TOTAL, "total", NULL, "how many posts are unread")                      \
    X(AUTHOR, "author", "author_id", "how many of an author's")               \
    X(LIST, "list", "post_id", "which posts are there: 1 is there, 0 is not") \
    X(IS_READ, "is_read", "post_id", "which of them are read: 1 is read")     \
    X(DELETED, "deleted", "post_id", "which of them are deleted: 1 is deleted")

enum compare_kind {
#define X(kind, name, about, question) COMPARE_##kind,
    COMPARE_KINDS(X)
#undef X
        COMPARE_KIND_COUNT
};

enum { COMPARE_EXAMPLES = 5 };

struct compare_example {
    uint64_t user, about;
    int64_t old, new;
};

struct compare_result {
    uint64_t users;   /* who were asked about */
    uint64_t differ;  /* of these, in the end */
    uint64_t settled; /* who differed at first */
    struct {
        uint64_t asked, differ;
        struct compare_example examples[COMPARE_EXAMPLES];
    } kinds[COMPARE_KIND_COUNT];
};

/* All of it is the caller's. */
struct compare_options {
    struct ask *ask; /* where Tidings is asked */
    struct old *old;
    uint32_t share;
    unsigned schemes;
    const struct id_set *users; /* sorted: only these; none: everybody */
    unsigned patience_s;        /* how long who differs is asked about again */
    bool (*stopped)(void);
    struct tidings_progress progress; /* in users */
};

/* False: it could not look at everything, and why, in a text that lives until the next call. */
bool compare_run(const struct compare_options *options, struct compare_result *result,
                 const char **message);

void compare_print(const struct compare_result *result, FILE *to);
/* One object on one line. */
void compare_print_json(const struct compare_result *result, FILE *to);

#endif
