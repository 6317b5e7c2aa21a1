/* SPDX-License-Identifier: MIT */
#include "domain/readmap.h"

#include <assert.h>

void readmap_mark(struct readmap *map, unsigned i, uint64_t stamp, bool in_history)
{
    uint64_t bit = UINT64_C(1) << i;
    assert(!(map->read & bit));
    map->read |= bit;
    map->read_stamp[i] = stamp;
    if (in_history)
        map->history |= bit;
}

void readmap_mark_all(struct readmap *map, uint64_t posts, uint64_t stamp)
{
    for (; posts; posts &= posts - 1)
        readmap_mark(map, (unsigned)__builtin_ctzll(posts), stamp, false);
}

void readmap_enter_history(struct readmap *map, unsigned i, uint64_t stamp)
{
    uint64_t bit = UINT64_C(1) << i;
    assert(map->read & bit);
    map->history |= bit;
    if (stamp == map->read_stamp[i]) {
        map->late &= ~bit;
        return;
    }
    map->late |= bit;
    map->late_stamp[i] = stamp;
}

void readmap_leave_history(struct readmap *map, unsigned i)
{
    uint64_t bit = UINT64_C(1) << i;
    map->history &= ~bit;
    map->late &= ~bit;
}

void readmap_unmark(struct readmap *map, unsigned i)
{
    readmap_leave_history(map, i);
    map->read &= ~(UINT64_C(1) << i);
}

uint64_t readmap_history_stamp(const struct readmap *map, unsigned i)
{
    return readmap_has(map->late, i) ? map->late_stamp[i] : map->read_stamp[i];
}
