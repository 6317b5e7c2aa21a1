/* SPDX-License-Identifier: MIT */
#include "engine/cluster/ids.h"

#include "domain/ids.h"
#include "tidings.h"

void ids_init(struct ids *ids)
{
    *ids = (struct ids){0};
    pthread_mutex_init(&ids->mutex, NULL);
}

void ids_begin(struct ids *ids, unsigned slot, uint64_t last)
{
    ids->slot = slot;
    ids->last = ids->until = last;
}

void ids_release(struct ids *ids)
{
    pthread_mutex_destroy(&ids->mutex);
}

static uint64_t make(const struct ids *ids, uint64_t time, uint64_t counter)
{
    return time << ID_TIME_SHIFT | (uint64_t)ids->slot << ID_COUNTER_BITS | counter;
}

uint64_t ids_next(struct ids *ids, int64_t now_ms, uint64_t above)
{
    const uint64_t counters = (uint64_t)1 << ID_COUNTER_BITS;
    pthread_mutex_lock(&ids->mutex);
    if (ids->last < above)
        ids->last = above;
    uint64_t time = ids->last >> ID_TIME_SHIFT, wall = id_floor(now_ms) >> ID_TIME_SHIFT;
    uint64_t counter = (ids->last & (counters - 1)) + 1;
    bool same_slot = (ids->last >> ID_COUNTER_BITS & (ID_SLOTS - 1)) == ids->slot;
    if (wall > time) {
        time = wall;
        counter = 0;
    } else if (!same_slot || counter == counters) {
        time++;
        counter = 0;
    }
    uint64_t id = make(ids, time, counter);
    if (id > TIDINGS_ID_MAX || id > ids->until)
        id = 0;
    else
        ids->last = id;
    pthread_mutex_unlock(&ids->mutex);
    return id;
}

void ids_extend(struct ids *ids, uint64_t until)
{
    pthread_mutex_lock(&ids->mutex);
    ids->until = until;
    pthread_mutex_unlock(&ids->mutex);
}

void ids_give_back(struct ids *ids, uint64_t id, uint64_t before)
{
    pthread_mutex_lock(&ids->mutex);
    if (ids->last == id)
        ids->last = before;
    pthread_mutex_unlock(&ids->mutex);
}

uint64_t ids_last(struct ids *ids)
{
    pthread_mutex_lock(&ids->mutex);
    uint64_t last = ids->last;
    pthread_mutex_unlock(&ids->mutex);
    return last;
}

int64_t ids_last_ms(struct ids *ids)
{
    return id_time_ms(ids_last(ids));
}
