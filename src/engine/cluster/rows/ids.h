/* SPDX-License-Identifier: MIT */
/*
 * Ids made by a server of a cluster: as in domain/ids.h, with the server's slot as the node, which it leases, so that no two
 * servers have the same at a time. A server's ids increase. Thread-safe.
 */
#ifndef CLUSTER_ROWS_IDS_H
#define CLUSTER_ROWS_IDS_H

#include <pthread.h>
#include <stdint.h>

enum { ID_SLOTS = 16 };

struct ids {
    pthread_mutex_t mutex;
    unsigned slot;
    uint64_t last;
    uint64_t moves; /* how often `last` has changed */
    uint64_t until; /* the lease: greater ones are not made */
};

/* Makes no ids until a slot is known. */
void ids_init(struct ids *ids);
/* Those up to `last` may have been made, by whoever had the slot; another one may be begun later. */
void ids_begin(struct ids *ids, unsigned slot, uint64_t last);
void ids_release(struct ids *ids);

/* An id greater than `above` and all that were given out before; 0: not within the lease, or all are used up. */
uint64_t ids_next(struct ids *ids, int64_t now_ms, uint64_t above);

/* Where it stands; and back to there, if it has moved just so many times since, all of them the caller's: the ids were not
 * used. Going back is a move, too. */
struct ids_mark {
    uint64_t last, moves;
};
struct ids_mark ids_mark(struct ids *ids);
void ids_rewind(struct ids *ids, struct ids_mark mark, uint64_t n);

/* The lease goes on until then. */
void ids_extend(struct ids *ids, uint64_t until);

/* The newest one, and its time. */
uint64_t ids_last(struct ids *ids);
int64_t ids_last_ms(struct ids *ids);

#endif
