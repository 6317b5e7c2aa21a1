/* SPDX-License-Identifier: MIT */
/*
 * Many authors' posts as one list, newest first. An author enters the merge with the id of the
 * newest post that might match; only when that id comes to the top is the first real match searched
 * for, so that authors whose posts are too old for the page cost nothing more.
 */
#ifndef INBOX_MERGE_H
#define INBOX_MERGE_H

#include "engine/inbox/tie.h"

/* One author's place in the merge. */
struct source {
    uint64_t id;   /* of the post numbered top - 1 */
    uint32_t top;  /* no match at or above this number is left */
    bool is_match; /* that post is a match; otherwise it only might be */
    const struct tie_stored *stored;
    struct tie *tie; /* NULL until the id first came to the top */
};

struct merge {
    struct view *view;
    enum realm realm;
    uint64_t viewer;
    enum scope scope;
    enum tidings_filter filter;
    size_t n;
    struct source *heap; /* greatest id first */
};

/* An author's posts below the id `after`, or all of them if that is 0. Either a stored pair or its
 * tie. The heap has room for all that are added. */
void merge_add(struct merge *merge, const struct head *head, uint64_t after,
               const struct tie_stored *stored, struct tie *tie);

/* All of them, in a heap in the scratch arena. */
void merge_add_all(struct merge *merge, const struct tie_stored *stored, size_t n, uint64_t after);

/* When all are added. */
void merge_begin(struct merge *merge);

/* The next match: its number and id, and the tie it belongs to. False at the end, or if the view
 * has failed. */
bool merge_next(struct merge *merge, struct tie **tie, uint32_t *seq, uint64_t *id);

#endif
