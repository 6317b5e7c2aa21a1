/* SPDX-License-Identifier: MIT */
/*
 * Authors' heads in memory, for all threads of a server: the ids and positions of posts by their numbers, and the deletions in their
 * order. Both only grow, unless verify mends them, so what is here once is right for ever, and a moment's head is a beginning of it; how much of it there is
 * at a moment is in the author's row.
 *
 * Heads that were handed out to a guest stay as they are until the guest leaves. What nobody has used for the longest time goes when
 * there is too much. Thread-safe.
 */
#ifndef CLUSTER_ROWS_KNOWN_H
#define CLUSTER_ROWS_KNOWN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/rows.h"

struct known_head;
struct outgrown;

/* Somebody who uses them, a batch at a time. */
struct known_guest {
    struct known_guest *next;
    uint64_t since; /* when the batch began; 0: there is none */
};

struct known {
    pthread_mutex_t mutex; /* guards all of it */
    struct known_head **buckets;
    size_t n, room;
    size_t bytes, bytes_max;
    struct known_head *newest, *oldest; /* in the order of their last use */
    struct outgrown *outgrown;
    struct known_guest *guests;
    uint64_t time; /* a batch is a tick */
};

/* Which one. Where verify has made the deletions anew, that is another head; the one before is soon nobody's. */
struct known_key {
    enum realm realm;
    uint64_t author;
    uint64_t remade; /* how often that was, as the author's row says */
};

static inline bool known_same(struct known_key a, struct known_key b)
{
    return a.realm == b.realm && a.author == b.author && a.remade == b.remade;
}

/* As far as it is known; sorted holds the deletions, all of them, by number. */
struct known_found {
    uint32_t n_ids, n_deleted;
    const uint64_t *ids, *positions;
    const uint32_t *deleted, *sorted;
};

void known_init(struct known *known, size_t bytes_max);
void known_release(struct known *known);

void known_join(struct known *known, struct known_guest *guest);
void known_part(struct known *known, struct known_guest *guest);

/* What is known; nothing of one that is new. It stays until known_leave. */
struct known_found known_find(struct known *known, struct known_guest *guest, struct known_key key);
/* The guest's batch is over. */
void known_leave(struct known *known, struct known_guest *guest);

/* Posts from number `first` on, or deletions, of which others may be known already; false if memory is short. */
bool known_add_posts(struct known *known, struct known_key key, uint32_t first, const uint64_t *ids,
                     const uint64_t *positions, size_t n);
bool known_add_deletions(struct known *known, struct known_key key, uint32_t first,
                         const uint32_t *numbers, size_t n);

#endif
