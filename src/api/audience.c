/* SPDX-License-Identifier: MIT */
#include "api/audience.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

void audience_init(struct audience *audience)
{
    *audience = (struct audience){.users = NULL};
    pthread_mutex_init(&audience->mutex, NULL);
}

void audience_release(struct audience *audience)
{
    pthread_mutex_destroy(&audience->mutex);
    free(audience->users);
}

static bool make_room(uint64_t **users, size_t *room, size_t wanted)
{
    if (wanted <= *room)
        return true;
    size_t grown = *room ? *room * 2 : 64;
    while (grown < wanted)
        grown *= 2;
    uint64_t *bigger = realloc(*users, grown * sizeof *bigger);
    if (!bigger)
        return false;
    *users = bigger;
    *room = grown;
    return true;
}

bool audience_add(struct audience *audience, uint64_t user)
{
    pthread_mutex_lock(&audience->mutex);
    bool ok = make_room(&audience->users, &audience->room, audience->n + 1);
    if (ok) {
        size_t i = ids_below(audience->users, audience->n, user);
        memmove(audience->users + i + 1, audience->users + i,
                (audience->n - i) * sizeof *audience->users);
        audience->users[i] = user;
        audience->n++;
    }
    pthread_mutex_unlock(&audience->mutex);
    return ok;
}

void audience_remove(struct audience *audience, uint64_t user)
{
    pthread_mutex_lock(&audience->mutex);
    size_t i = ids_below(audience->users, audience->n, user);
    audience->n--;
    memmove(audience->users + i, audience->users + i + 1,
            (audience->n - i) * sizeof *audience->users);
    pthread_mutex_unlock(&audience->mutex);
}

bool audience_is_empty(struct audience *audience)
{
    pthread_mutex_lock(&audience->mutex);
    bool empty = !audience->n;
    pthread_mutex_unlock(&audience->mutex);
    return empty;
}

size_t audience_copy(struct audience *audience, uint64_t **users, size_t *room)
{
    size_t n = 0;
    pthread_mutex_lock(&audience->mutex);
    if (make_room(users, room, audience->n))
        for (size_t i = 0; i < audience->n; i++)
            if (!i || audience->users[i] != audience->users[i - 1])
                (*users)[n++] = audience->users[i];
    pthread_mutex_unlock(&audience->mutex);
    return n;
}
