/* SPDX-License-Identifier: MIT */
/*
 * Pairs of users who were here lately, in the memory of a server. A copy has the version of its user's row, which every change
 * of the user's makes anew, under the lock of that row: so a snapshot in which the row has the copy's version has the copy's
 * pairs, and nobody needs to be told that a copy is old. docs/decisions/0026-copies-by-version.md
 */
#ifndef CLUSTER_ROWS_COPIES_H
#define CLUSTER_ROWS_COPIES_H

#include <pthread.h>

#include "base/arena.h"
#include "engine/inbox/tie.h"

struct pairs_copy;

struct copies {
    pthread_mutex_t mutex; /* guards the rest */
    struct pairs_copy **buckets;
    size_t n_buckets; /* 0: nothing is kept */
    size_t hand;      /* the bucket from which the next copy is dropped */
    size_t bytes, bytes_max;
};

/* What has become of a pair; value.p NULL: it is not among those that are kept any more. */
struct copies_change {
    uint64_t author;
    struct bytes value;
};

/* All of these are thread-safe but the first and the last. If memory is short nothing is kept. */
void copies_init(struct copies *copies, size_t bytes_max);
void copies_release(struct copies *copies);

/* The pairs of that version, or with version 0 of any, in the arena, without heads. False if there are none. */
bool copies_get(struct copies *copies, enum realm realm, uint64_t fan, uint64_t version,
                struct arena *arena, struct tie_stored **pairs, size_t *n);
/* Keeps these, in the place of others. Nothing is kept of a user without a version. */
void copies_put(struct copies *copies, enum realm realm, uint64_t fan, uint64_t version,
                const struct tie_stored *pairs, size_t n);
/* The user has changed these, by author, and nothing else, between two versions. Only a copy of the first is changed. */
void copies_change(struct copies *copies, enum realm realm, uint64_t fan, uint64_t from,
                   uint64_t to, const struct copies_change *changes, size_t n);

#endif
