/* SPDX-License-Identifier: MIT */
#include "engine/cluster/rows/current.h"

#include <stdlib.h>
#include <string.h>

enum { WAYS = 4 }; /* places that a row may be in */

void current_init(struct current *current, size_t bytes_max)
{
    *current = (struct current){.room = bytes_max / sizeof *current->rows / WAYS * WAYS};
    pthread_mutex_init(&current->mutex, NULL);
    if (current->room)
        current->rows = calloc(current->room, sizeof *current->rows);
    if (!current->rows)
        current->room = 0;
}

void current_release(struct current *current)
{
    free(current->rows);
    pthread_mutex_destroy(&current->mutex);
}

/* The first of the places of an author; with room. */
static struct current_row *places_of(struct current *current, uint64_t author)
{
    uint64_t hash = author * UINT64_C(0x9e3779b97f4a7c15);
    return &current->rows[(hash >> 32) % (current->room / WAYS) * WAYS];
}

static struct current_row *find(struct current *current, uint64_t author)
{
    struct current_row *row = current->room ? places_of(current, author) : NULL;
    for (int i = 0; row && i < WAYS; i++, row++)
        if (row->at && row->author == author)
            return row;
    return NULL;
}

void current_move(struct current *current, uint64_t position, const uint64_t *changed, size_t n)
{
    pthread_mutex_lock(&current->mutex);
    for (size_t i = 0; i < n; i++) {
        struct current_row *row = find(current, changed[i]);
        if (row && row->at < position)
            row->at = 0;
    }
    current->position = position;
    pthread_mutex_unlock(&current->mutex);
}

void current_begin(struct current *current, uint64_t position)
{
    pthread_mutex_lock(&current->mutex);
    if (current->room)
        memset(current->rows, 0, current->room * sizeof *current->rows);
    current->position = position;
    pthread_mutex_unlock(&current->mutex);
}

uint64_t current_position(struct current *current)
{
    pthread_mutex_lock(&current->mutex);
    uint64_t position = current->position;
    pthread_mutex_unlock(&current->mutex);
    return position;
}

bool current_get(struct current *current, uint64_t author, uint64_t position, struct value *value)
{
    pthread_mutex_lock(&current->mutex);
    const struct current_row *row = find(current, author);
    bool found = row && row->at <= position;
    if (found) {
        *value = (struct value){.exists = true};
        memcpy(value->numbers, row->numbers, sizeof row->numbers);
    }
    pthread_mutex_unlock(&current->mutex);
    return found;
}

/* All in one turn; memory is asked for before it is needed. */
void current_posts(struct current *current, uint64_t position, const struct tie_stored *pairs,
                   size_t n, uint32_t *posts)
{
    pthread_mutex_lock(&current->mutex);
    for (size_t i = 0; current->room && i < n; i++)
        __builtin_prefetch(places_of(current, pairs[i].author));
    for (size_t i = 0; i < n; i++) {
        const struct current_row *row = find(current, pairs[i].author);
        bool counts = row && row->at <= position && !row->numbers[AUTHOR_DELETED];
        posts[i] = counts ? (uint32_t)row->numbers[AUTHOR_POSTS] : CURRENT_UNKNOWN;
    }
    pthread_mutex_unlock(&current->mutex);
}

/* In its own place, else in that of the one that was put longest ago. */
static struct current_row *place_for(struct current *current, uint64_t author)
{
    struct current_row *own = find(current, author), *rows = places_of(current, author),
                       *oldest = rows;
    for (int i = 1; i < WAYS; i++)
        if (rows[i].at < oldest->at)
            oldest = &rows[i];
    return own ? own : oldest;
}

static bool is_same(const struct current_row *row, uint64_t author, const struct value *value)
{
    return row->at && row->author == author &&
           !memcmp(row->numbers, value->numbers, sizeof row->numbers);
}

/* What the news has passed since may have changed it. One that is as it was stays of the position that it was of: its numbers only
 * grow, so it was like that all the time. */
void current_put(struct current *current, uint64_t author, uint64_t position,
                 const struct value *value)
{
    pthread_mutex_lock(&current->mutex);
    if (current->room && position >= current->position) {
        struct current_row *row = place_for(current, author);
        if (!is_same(row, author, value))
            *row = (struct current_row){.author = author, .at = position};
        memcpy(row->numbers, value->numbers, sizeof row->numbers);
    }
    pthread_mutex_unlock(&current->mutex);
}
