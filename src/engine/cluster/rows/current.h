/* SPDX-License-Identifier: MIT */
/*
 * Authors' rows as they are at the position that the news has reached, for all threads of a server. They are put here out of
 * snapshots, with the position that these show, and forgotten when the news says that they have changed. So what is here
 * and was so at a position no later than the news is what it is at the position of the news, for all of them.
 */
#ifndef CLUSTER_ROWS_CURRENT_H
#define CLUSTER_ROWS_CURRENT_H

#include <pthread.h>

#include "engine/cluster/rows/sheet.h"
#include "engine/inbox/tie.h"

struct current_row {
    uint64_t author;
    uint64_t at; /* the position at which it was so; 0: there is none */
    uint64_t numbers[AUTHOR_NUMBERS];
};

struct current {
    pthread_mutex_t mutex; /* guards the rest */
    struct current_row *rows;
    size_t room; /* 0: nothing is kept */
    uint64_t position;
};

/* All of these are thread-safe but the first and the last. */
void current_init(struct current *current, size_t bytes_max);
void current_release(struct current *current);

/* The news has reached that position, and these have changed until then. */
void current_move(struct current *current, uint64_t position, const uint64_t *changed, size_t n);
/* The same, and anything may have changed. */
void current_begin(struct current *current, uint64_t position);

uint64_t current_position(struct current *current);

/* As it is at that position, which was the news' a moment ago; false if that is not known. */
bool current_get(struct current *current, uint64_t author, uint64_t position, struct value *value);
/* How many posts the authors of these pairs have at that position, in the same order: those who have deleted nothing. CURRENT_UNKNOWN: of the others, or it is not known. */
#define CURRENT_UNKNOWN UINT32_MAX
void current_posts(struct current *current, uint64_t position, const struct tie_stored *pairs,
                   size_t n, uint32_t *posts);
/* It is so in a snapshot of that position. */
void current_put(struct current *current, uint64_t author, uint64_t position,
                 const struct value *value);

#endif
