/* SPDX-License-Identifier: MIT */
#include "engine/cluster/rows/ids.h"

#include "domain/ids.h"
#include "tidings.h"

void ids_init(struct ids *ids)
{
    *ids = (struct ids){0};
    pthread_mutex_init(&ids->mutex, NULL);
}

void ids_begin(struct ids *ids, unsigned slot, uint64_t last)
{
    pthread_mutex_lock(&ids->mutex);
    ids->slot = slot;
    ids->last = ids->until = last > ids->last ? last : ids->last;
    pthread_mutex_unlock(&ids->mutex);
}

void ids_release(struct ids *ids)
{
    pthread_mutex_destroy(&ids->mutex);
}

uint64_t ids_next(struct ids *ids, int64_t now_ms, uint64_t above)
{
    pthread_mutex_lock(&ids->mutex);
    uint64_t last = ids->last > above ? ids->last : above;
    uint64_t next = id_next(last - last % ID_STEP, now_ms) + ids->slot;
    if (next > TIDINGS_ID_MAX || next > ids->until || next <= last)
        next = 0;
    if (next) {
        ids->last = next;
        ids->moves++;
    }
    pthread_mutex_unlock(&ids->mutex);
    return next;
}

void ids_extend(struct ids *ids, uint64_t until)
{
    pthread_mutex_lock(&ids->mutex);
    ids->until = until;
    pthread_mutex_unlock(&ids->mutex);
}

struct ids_mark ids_mark(struct ids *ids)
{
    pthread_mutex_lock(&ids->mutex);
    struct ids_mark mark = {ids->last, ids->moves};
    pthread_mutex_unlock(&ids->mutex);
    return mark;
}

void ids_rewind(struct ids *ids, struct ids_mark mark, uint64_t n)
{
    pthread_mutex_lock(&ids->mutex);
    if (n && ids->moves == mark.moves + n) {
        ids->last = mark.last;
        ids->moves++;
    }
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
