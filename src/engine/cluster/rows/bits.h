/* SPDX-License-Identifier: MIT */
/*
 * Which of 64 posts a user has read, for those few read maps that a badge needs: of authors who have deleted something since the user's pair was settled. Kept by
 * the version of the user's row, which every change of the user's makes anew, so they are what the tables have or are not found. A place each, and whoever comes last has it.
 */
#ifndef CLUSTER_ROWS_BITS_H
#define CLUSTER_ROWS_BITS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bits_name {
    uint64_t user, version, author, chunk;
};

struct bits {
    pthread_mutex_t mutex; /* guards the rest */
    struct bits_row *rows;
    size_t room; /* 0: nothing is kept */
};

/* All are thread-safe but these two. */
void bits_init(struct bits *bits, size_t bytes_max);
void bits_release(struct bits *bits);

/* False if they are not known. */
bool bits_get(struct bits *bits, struct bits_name name, uint64_t *read);
void bits_put(struct bits *bits, struct bits_name name, uint64_t read);

#endif
