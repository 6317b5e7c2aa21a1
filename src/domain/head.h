/* SPDX-License-Identifier: MIT */
/*
 * An author's head: the ids of the posts by number, and the deletions, in the order of deleting. Both only grow at their
 * end. A story has one too: its scenes are to it what posts are to their author.
 */
#ifndef DOMAIN_HEAD_H
#define DOMAIN_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HEAD_CLOSED UINT64_MAX /* as last_id: the story was deleted, and its scenes with it */

struct head {
    uint64_t author;
    uint64_t version;
    const struct head *prev; /* the version before, or NULL */
    uint64_t last_id;        /* of the newest post; 0 if there is none; HEAD_CLOSED */
    uint32_t n_posts;        /* and so the next post's number */
    uint32_t n_deleted;
    const uint64_t *ids;            /* by number, ascending */
    const uint32_t *deleted;        /* numbers in the order of deleting */
    const uint32_t *deleted_sorted; /* the same, ascending */
};

/* How many of the author's posts have an id below `id`. */
uint32_t head_posts_below(const struct head *head, uint64_t id);

/* How many deleted posts have a number below `number`. */
uint32_t head_deleted_below(const struct head *head, uint32_t number);

bool head_is_deleted(const struct head *head, uint32_t number);

static inline bool head_is_closed(const struct head *head)
{
    return head->last_id == HEAD_CLOSED;
}

/* Bit i is set if the post numbered first + i is deleted. */
uint64_t head_deleted_mask(const struct head *head, uint32_t first);

#endif
