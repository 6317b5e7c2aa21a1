/* SPDX-License-Identifier: MIT */
/* The users who have streams open, on whichever loop. Thread-safe. */
#ifndef API_AUDIENCE_H
#define API_AUDIENCE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct audience {
    pthread_mutex_t mutex;
    uint64_t *users; /* ascending, once for each loop that has streams of the user */
    size_t n, room;
};

void audience_init(struct audience *audience);
void audience_release(struct audience *audience);

/* A loop has the user's first stream, or has lost the last one. False if memory is short. */
bool audience_add(struct audience *audience, uint64_t user);
void audience_remove(struct audience *audience, uint64_t user);

bool audience_is_empty(struct audience *audience);

/* All of them, each once, ascending, into *users, which is grown as need be; how many. */
size_t audience_copy(struct audience *audience, uint64_t **users, size_t *room);

#endif
