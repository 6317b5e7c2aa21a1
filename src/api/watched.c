/* SPDX-License-Identifier: MIT */
#include "api/watched.h"

#include <string.h>

void watched_init(struct watched *watched)
{
    memset(watched, 0, sizeof *watched);
    pthread_mutex_init(&watched->mutex, NULL);
}

void watched_release(struct watched *watched)
{
    pthread_mutex_destroy(&watched->mutex);
}

/* Ids are times and small numbers behind them: the product's upper bits depend on all of it. */
static size_t list_of(uint64_t post)
{
    return (size_t)((post * UINT64_C(0x9e3779b97f4a7c15)) >> 32) % WATCHED_LISTS;
}

void watched_add(struct watched *watched, struct watch *watch)
{
    size_t i = list_of(watch->post);
    pthread_mutex_lock(&watched->mutex);
    watch->link = &watched->lists[i];
    watch->next = watched->lists[i];
    if (watch->next)
        watch->next->link = &watch->next;
    watched->lists[i] = watch;
    atomic_fetch_add(&watched->sizes[i], 1);
    pthread_mutex_unlock(&watched->mutex);
}

void watched_remove(struct watched *watched, struct watch *watch)
{
    pthread_mutex_lock(&watched->mutex);
    *watch->link = watch->next;
    if (watch->next)
        watch->next->link = watch->link;
    atomic_fetch_sub(&watched->sizes[list_of(watch->post)], 1);
    pthread_mutex_unlock(&watched->mutex);
}

bool watched_perhaps(struct watched *watched, uint64_t post)
{
    return atomic_load(&watched->sizes[list_of(post)]) != 0;
}

void watched_each(struct watched *watched, uint64_t post, void (*run)(void *ctx, uint64_t user),
                  void *ctx)
{
    size_t first = post ? list_of(post) : 0, end = post ? first + 1 : WATCHED_LISTS;
    pthread_mutex_lock(&watched->mutex);
    for (size_t i = first; i < end; i++)
        for (const struct watch *watch = watched->lists[i]; watch; watch = watch->next)
            if (!post || watch->post == post)
                run(ctx, watch->user);
    pthread_mutex_unlock(&watched->mutex);
}
