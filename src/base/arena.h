/* SPDX-License-Identifier: MIT */
/*
 * A bump allocator: many small pieces, freed all at once. One owner, one thread at a time.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *blocks; /* newest first */
    size_t used;                /* bytes taken from the newest block */
    size_t total;               /* bytes held in all blocks */
    size_t limit;               /* bytes it may hold */
};

/* Allocates nothing yet. `limit` bounds what it will ever hold. */
void arena_init(struct arena *arena, size_t limit);

/* Memory for any type, not zeroed, or NULL if that would pass the limit or memory is short. */
void *arena_alloc(struct arena *arena, size_t size);

/* arena_alloc for `count` elements; NULL also if the product overflows. */
void *arena_array(struct arena *arena, size_t count, size_t size);

/* A copy of n bytes with a NUL behind it. */
char *arena_text(struct arena *arena, const void *bytes, size_t n);

/* Forgets every piece but keeps one block for reuse. */
void arena_clear(struct arena *arena);

/* Frees everything. */
void arena_release(struct arena *arena);

#endif
