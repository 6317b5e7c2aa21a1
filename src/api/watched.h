/* SPDX-License-Identifier: MIT */
/*
 * The posts that streams have open, and whose streams they are: a table by post. An entry lies in its stream, so nothing is
 * allocated here, and what a table of streams costs is bounded by the streams. Thread-safe.
 */
#ifndef API_WATCHED_H
#define API_WATCHED_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Posts of one stream at most; lists in the table, a power of two. */
enum { WATCHED_POSTS_MAX = 10, WATCHED_LISTS = 4096 };

/* One post of one stream. The stream sets the first two, the table the others. */
struct watch {
    uint64_t post;
    uint64_t user;
    struct watch *next, **link;
};

struct watched {
    pthread_mutex_t mutex;
    struct watch *lists[WATCHED_LISTS];
    atomic_uint sizes[WATCHED_LISTS]; /* for those who must not wait */
};

void watched_init(struct watched *watched);
void watched_release(struct watched *watched);

void watched_add(struct watched *watched, struct watch *watch);
void watched_remove(struct watched *watched, struct watch *watch);

/* Whether somebody may have this post open; sometimes yes for one that nobody has. Waits for nobody. */
bool watched_perhaps(struct watched *watched, uint64_t post);

/* Calls `run` with the user of each stream that has the post open; with 0, that has any. */
void watched_each(struct watched *watched, uint64_t post, void (*run)(void *ctx, uint64_t user),
                  void *ctx);

#endif
