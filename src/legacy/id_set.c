/* SPDX-License-Identifier: MIT */
#include "legacy/id_set.h"

#include <stdlib.h>

void id_set_add(struct id_set *set, uint64_t id)
{
    if (set->n == set->room) {
        size_t room = set->room ? 2 * set->room : 64;
        uint64_t *more = realloc(set->at, room * sizeof *more);
        if (!more) {
            set->failed = true;
            return;
        }
        set->at = more;
        set->room = room;
    }
    set->at[set->n++] = id;
}

static int ascending(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

void id_set_sort(struct id_set *set)
{
    size_t kept = 0;
    if (set->n)
        qsort(set->at, set->n, sizeof *set->at, ascending);
    for (size_t i = 0; i < set->n; i++)
        if (!i || set->at[i] != set->at[kept - 1])
            set->at[kept++] = set->at[i];
    set->n = kept;
}

size_t id_set_find(const struct id_set *set, uint64_t id)
{
    const uint64_t *at = set->n ? bsearch(&id, set->at, set->n, sizeof *set->at, ascending) : NULL;
    return at ? (size_t)(at - set->at) : set->n;
}

void id_set_release(struct id_set *set)
{
    free(set->at);
    *set = (struct id_set){0};
}
