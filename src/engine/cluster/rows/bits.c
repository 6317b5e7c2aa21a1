/* SPDX-License-Identifier: MIT */
#include "engine/cluster/rows/bits.h"

#include <stdlib.h>

struct bits_row {
    struct bits_name name; /* user 0: there is none */
    uint64_t read;
};

void bits_init(struct bits *bits, size_t bytes_max)
{
    *bits = (struct bits){.room = bytes_max / sizeof *bits->rows};
    pthread_mutex_init(&bits->mutex, NULL);
    if (bits->room)
        bits->rows = calloc(bits->room, sizeof *bits->rows);
    if (!bits->rows)
        bits->room = 0;
}

void bits_release(struct bits *bits)
{
    free(bits->rows);
    pthread_mutex_destroy(&bits->mutex);
}

/* With room; whatever the version. */
static struct bits_row *place_of(struct bits *bits, const struct bits_name *name)
{
    uint64_t hash =
        (name->user * UINT64_C(0x9e3779b97f4a7c15) ^ name->author) * UINT64_C(0xbf58476d1ce4e5b9) +
        name->chunk * UINT64_C(0x94d049bb133111eb);
    return &bits->rows[(hash >> 24) % bits->room];
}

static bool is_same(const struct bits_name *a, const struct bits_name *b)
{
    return a->user == b->user && a->version == b->version && a->author == b->author &&
           a->chunk == b->chunk;
}

bool bits_get(struct bits *bits, struct bits_name name, uint64_t *read)
{
    bool found = false;
    pthread_mutex_lock(&bits->mutex);
    const struct bits_row *row = bits->room ? place_of(bits, &name) : NULL;
    if (row && is_same(&row->name, &name)) {
        *read = row->read;
        found = true;
    }
    pthread_mutex_unlock(&bits->mutex);
    return found;
}

void bits_put(struct bits *bits, struct bits_name name, uint64_t read)
{
    pthread_mutex_lock(&bits->mutex);
    if (bits->room)
        *place_of(bits, &name) = (struct bits_row){name, read};
    pthread_mutex_unlock(&bits->mutex);
}
