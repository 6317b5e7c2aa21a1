/* SPDX-License-Identifier: MIT */
/*
 * How many answers one loop lets the engine make before it has sent those before.
 *
 * An engine may make answers on threads of its own, faster than the loop can write them. Between the two they are in nobody's
 * budget: the HTTP layer counts what it was given. So a loop hands over only as many reads as there is room for, each with
 * the bytes of the largest answer that its route ever had, and the others wait their turn here, in the order of coming. Nobody
 * but the loop waits for the loop: the engine never does, whoever else uses it.
 *
 * Changes need no room: their answers are small, and what has been changed must be told. One read is always let in, however
 * large.
 */
#ifndef API_ROOM_H
#define API_ROOM_H

#include <stdbool.h>
#include <stddef.h>

struct exchange;

struct room {
    size_t most;                   /* bytes that may be under way */
    size_t waiting_max;            /* exchanges that may wait */
    size_t used;                   /* bytes that are */
    size_t *largest;               /* for each route: bytes of the largest answer so far */
    struct exchange *first, *last; /* those who wait */
    size_t waiting;
};

enum room_place { ROOM_IN, ROOM_WAITS, ROOM_FULL };

/* False if memory is short. */
bool room_init(struct room *room, size_t most, size_t waiting_max);
void room_release(struct room *room);

/* Whether it may be submitted; if it waits, room_next will have it. */
enum room_place room_enter(struct room *room, struct exchange *ex);
/* The next of those who wait, if there is room for it now, or NULL. */
struct exchange *room_next(struct room *room);
/* Its answer is made, and has so many bytes. */
void room_learn(struct room *room, const struct exchange *ex, size_t bytes);
/* The answer that had so many bytes reserved (ex->room) is gone. */
void room_leave(struct room *room, size_t reserved);

#endif
