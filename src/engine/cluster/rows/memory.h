/* SPDX-License-Identifier: MIT */
/*
 * Authors' heads in memory: the ids and positions of posts by their numbers, and the deletions in their order. Both only grow, so
 * what is here once is right for ever, and a moment's head is a beginning of it; how much of it there is at a moment is in the
 * author's row. For one thread.
 */
#ifndef CLUSTER_ROWS_MEMORY_H
#define CLUSTER_ROWS_MEMORY_H

#include "domain/head.h"
#include "engine/rows.h"

struct author_memory {
    enum realm realm;
    uint64_t author;
    uint32_t n_ids, ids_room;
    uint32_t n_deleted, deleted_room;
    uint64_t *ids;
    uint64_t *positions;
    uint32_t *deleted;
    uint32_t *sorted;
    /* What is to be loaded, and the next one of which something is. */
    uint32_t wanted_ids, wanted_deleted;
    struct author_memory *next_wanted;
    bool is_wanted;
};

struct authors {
    struct author_memory **slots; /* by hash, open addressing */
    size_t n, room;
    size_t bytes, bytes_max;
    struct author_memory *wanted;
    void **outgrown; /* arrays that heads handed out may still point into */
    size_t n_outgrown, outgrown_room;
};

void authors_init(struct authors *authors, size_t bytes_max);
void authors_release(struct authors *authors);

/* Between batches, when no head that was handed out is in use: frees what was outgrown, and all if it is too much. */
void authors_trim(struct authors *authors);

/* The author's, empty if there is none yet; NULL if memory is short. */
struct author_memory *authors_of(struct authors *authors, enum realm realm, uint64_t author);

/* Adds the next post, or the next deletion; false if memory is short. */
bool authors_add_post(struct authors *authors, struct author_memory *memory, uint64_t id,
                      uint64_t position);
bool authors_add_deletion(struct authors *authors, struct author_memory *memory, uint32_t number);

/* So many are to be loaded, in all. */
void authors_want(struct authors *authors, struct author_memory *memory, uint32_t ids,
                  uint32_t deleted);

#endif
