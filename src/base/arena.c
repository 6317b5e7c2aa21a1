/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LARGEST_STEP = 1 << 20 };

struct arena_block {
    struct arena_block *next;
    size_t size;
    alignas(max_align_t) unsigned char bytes[];
};

void arena_init(struct arena *arena, size_t limit)
{
    *arena = (struct arena){.limit = limit};
}

static struct arena_block *add_block(struct arena *arena, size_t need)
{
    size_t size = arena->blocks ? arena->blocks->size * 2 : FIRST_BLOCK;
    if (size > LARGEST_STEP)
        size = LARGEST_STEP;
    if (size < need)
        size = need;
    if (size > arena->limit - arena->total)
        size = need;
    if (size > arena->limit - arena->total)
        return NULL;

    struct arena_block *block =
        size <= SIZE_MAX - sizeof *block ? malloc(sizeof *block + size) : NULL;
    if (!block)
        return NULL;
    block->next = arena->blocks;
    block->size = size;
    arena->blocks = block;
    arena->used = 0;
    arena->total += size;
    return block;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    const size_t align = alignof(max_align_t);
    if (size > SIZE_MAX - align)
        return NULL;
    size = (size + align - 1) & ~(align - 1);

    struct arena_block *block = arena->blocks;
    if (!block || block->size - arena->used < size) {
        block = add_block(arena, size);
        if (!block)
            return NULL;
    }
    void *piece = block->bytes + arena->used;
    arena->used += size;
    return piece;
}

void *arena_array(struct arena *arena, size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    return arena_alloc(arena, count * size);
}

char *arena_text(struct arena *arena, const void *bytes, size_t n)
{
    if (n == SIZE_MAX)
        return NULL;
    char *copy = arena_alloc(arena, n + 1);
    if (!copy)
        return NULL;
    if (n)
        memcpy(copy, bytes, n);
    copy[n] = '\0';
    return copy;
}

static void free_from(struct arena_block *block)
{
    while (block) {
        struct arena_block *next = block->next;
        free(block);
        block = next;
    }
}

void arena_clear(struct arena *arena)
{
    if (!arena->blocks)
        return;
    /* The newest block is mostly the largest: what was enough once will be enough again. */
    free_from(arena->blocks->next);
    arena->blocks->next = NULL;
    arena->total = arena->blocks->size;
    arena->used = 0;
}

void arena_release(struct arena *arena)
{
    free_from(arena->blocks);
    arena->blocks = NULL;
    arena->used = arena->total = 0;
}
