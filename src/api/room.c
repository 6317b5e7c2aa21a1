/* SPDX-License-Identifier: MIT */
#include "api/room.h"

#include <stdlib.h>

#include "api/exchange.h"

/* Who had small answers so far may have a large one now: they are not let in by thousands. */
enum { LEAST = 32 << 10 };

bool room_init(struct room *room, size_t most, size_t waiting_max)
{
    *room = (struct room){.most = most, .waiting_max = waiting_max};
    room->largest = calloc(n_routes, sizeof *room->largest);
    return room->largest != NULL;
}

void room_release(struct room *room)
{
    free(room->largest);
}

static size_t need(const struct room *room, const struct exchange *ex)
{
    size_t largest = room->largest[ex->route - routes];
    return largest > LEAST ? largest : LEAST;
}

static bool fits(const struct room *room, size_t bytes)
{
    return !room->used || (room->used < room->most && bytes <= room->most - room->used);
}

static void let_in(struct room *room, struct exchange *ex, size_t bytes)
{
    ex->room = bytes;
    room->used += bytes;
}

enum room_place room_enter(struct room *room, struct exchange *ex)
{
    size_t bytes = need(room, ex);
    if (ex->route->verb != HTTP_VERB_GET)
        return ROOM_IN;
    if (!room->first && fits(room, bytes)) {
        let_in(room, ex, bytes);
        return ROOM_IN;
    }
    if (room->waiting >= room->waiting_max)
        return ROOM_FULL;
    if (room->last)
        room->last->waits_next = ex;
    else
        room->first = ex;
    room->last = ex;
    room->waiting++;
    return ROOM_WAITS;
}

struct exchange *room_next(struct room *room)
{
    struct exchange *ex = room->first;
    size_t bytes = ex ? need(room, ex) : 0;
    if (!ex || !fits(room, bytes))
        return NULL;
    room->first = ex->waits_next;
    if (!room->first)
        room->last = NULL;
    room->waiting--;
    let_in(room, ex, bytes);
    return ex;
}

void room_learn(struct room *room, const struct exchange *ex, size_t bytes)
{
    size_t *largest = &room->largest[ex->route - routes];
    if (bytes > *largest)
        *largest = bytes;
}

void room_leave(struct room *room, size_t reserved)
{
    room->used -= reserved;
}
