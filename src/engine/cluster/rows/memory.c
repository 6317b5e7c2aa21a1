/* SPDX-License-Identifier: MIT */
#include "engine/cluster/rows/memory.h"

#include <stdlib.h>
#include <string.h>

void authors_init(struct authors *authors, size_t bytes_max)
{
    *authors = (struct authors){.bytes_max = bytes_max};
}

static void memory_free(struct author_memory *memory)
{
    free(memory->ids);
    free(memory->positions);
    free(memory->deleted);
    free(memory->sorted);
    free(memory);
}

void authors_release(struct authors *authors)
{
    for (size_t i = 0; i < authors->room; i++)
        if (authors->slots[i])
            memory_free(authors->slots[i]);
    free(authors->slots);
    for (size_t i = 0; i < authors->n_outgrown; i++)
        free(authors->outgrown[i]);
    free(authors->outgrown);
    authors_init(authors, authors->bytes_max);
}

void authors_trim(struct authors *authors)
{
    while (authors->n_outgrown)
        free(authors->outgrown[--authors->n_outgrown]);
    if (authors->bytes > authors->bytes_max)
        authors_release(authors);
}

static size_t slot_of(const struct authors *authors, enum realm realm, uint64_t author)
{
    uint64_t hash = (author * 2 + realm) * 0x9e3779b97f4a7c15u;
    size_t at = (size_t)(hash >> 32) & (authors->room - 1);
    while (authors->slots[at] &&
           (authors->slots[at]->author != author || authors->slots[at]->realm != realm))
        at = (at + 1) & (authors->room - 1);
    return at;
}

/* Never more than half full. */
static bool make_room(struct authors *authors)
{
    enum { FIRST = 64 };
    if (authors->n * 2 < authors->room)
        return true;
    struct authors larger = *authors;
    larger.room = authors->room ? authors->room * 2 : FIRST;
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < authors->room; i++)
        if (authors->slots[i])
            larger.slots[slot_of(&larger, authors->slots[i]->realm, authors->slots[i]->author)] =
                authors->slots[i];
    free(authors->slots);
    *authors = larger;
    return true;
}

struct author_memory *authors_of(struct authors *authors, enum realm realm, uint64_t author)
{
    if (!make_room(authors))
        return NULL;
    size_t at = slot_of(authors, realm, author);
    if (authors->slots[at])
        return authors->slots[at];
    struct author_memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return NULL;
    memory->realm = realm;
    memory->author = author;
    authors->slots[at] = memory;
    authors->n++;
    authors->bytes += sizeof *memory + 2 * sizeof memory;
    return memory;
}

/* A larger array; the old one stays until authors_trim. */
static bool grow(struct authors *authors, void **array, size_t size, uint32_t n, uint32_t room)
{
    if (authors->n_outgrown == authors->outgrown_room) {
        size_t more = authors->outgrown_room ? authors->outgrown_room * 2 : 16;
        void **list = realloc(authors->outgrown, more * sizeof *list);
        if (!list)
            return false;
        authors->outgrown = list;
        authors->outgrown_room = more;
    }
    void *grown = malloc(size * room);
    if (!grown)
        return false;
    if (n)
        memcpy(grown, *array, size * n);
    authors->outgrown[authors->n_outgrown++] = *array;
    *array = grown;
    return true;
}

bool authors_add_post(struct authors *authors, struct author_memory *memory, uint64_t id,
                      uint64_t position)
{
    if (memory->n_ids == memory->ids_room) {
        uint32_t room = memory->ids_room ? memory->ids_room * 2 : 8;
        void *ids = memory->ids, *positions = memory->positions;
        if (!grow(authors, &ids, sizeof id, memory->n_ids, room) ||
            !grow(authors, &positions, sizeof position, memory->n_ids, room))
            return false;
        memory->ids = ids;
        memory->positions = positions;
        authors->bytes += (room - memory->ids_room) * (sizeof id + sizeof position);
        memory->ids_room = room;
    }
    memory->ids[memory->n_ids] = id;
    memory->positions[memory->n_ids++] = position;
    return true;
}

static void sort_in(uint32_t *sorted, uint32_t n, uint32_t number)
{
    for (; n && sorted[n - 1] > number; n--)
        sorted[n] = sorted[n - 1];
    sorted[n] = number;
}

bool authors_add_deletion(struct authors *authors, struct author_memory *memory, uint32_t number)
{
    if (memory->n_deleted == memory->deleted_room) {
        uint32_t room = memory->deleted_room ? memory->deleted_room * 2 : 8;
        void *deleted = memory->deleted, *sorted = memory->sorted;
        if (!grow(authors, &deleted, sizeof number, memory->n_deleted, room) ||
            !grow(authors, &sorted, sizeof number, memory->n_deleted, room))
            return false;
        memory->deleted = deleted;
        memory->sorted = sorted;
        authors->bytes += (room - memory->deleted_room) * 2 * sizeof number;
        memory->deleted_room = room;
    }
    memory->deleted[memory->n_deleted] = number;
    sort_in(memory->sorted, memory->n_deleted++, number);
    return true;
}

void authors_want(struct authors *authors, struct author_memory *memory, uint32_t ids,
                  uint32_t deleted)
{
    if (memory->wanted_ids < ids)
        memory->wanted_ids = ids;
    if (memory->wanted_deleted < deleted)
        memory->wanted_deleted = deleted;
    if (memory->is_wanted)
        return;
    memory->is_wanted = true;
    memory->next_wanted = authors->wanted;
    authors->wanted = memory;
}
