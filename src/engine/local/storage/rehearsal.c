/* SPDX-License-Identifier: MIT */
#include "engine/local/storage/rehearsal.h"

#include <string.h>

static struct rehearsed *rehearsal_row(struct rehearsal *rehearsal, int table, struct bytes key)
{
    for (size_t i = 0; i < rehearsal->n; i++)
        if (rehearsal->at[i].table == table && bytes_same(rehearsal->at[i].key, key))
            return &rehearsal->at[i];
    return NULL;
}

/* In the order of the tables. */
static int rehearsal_compare(struct bytes a, struct bytes b)
{
    int order = memcmp(a.p, b.p, a.n < b.n ? a.n : b.n);
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

/* False if memory is short. */
static bool rehearsal_copy(struct rehearsal *rehearsal, struct bytes from, struct bytes *to)
{
    *to = (struct bytes){(const uint8_t *)arena_text(rehearsal->arena, from.p, from.n), from.n};
    return to->p;
}

bool rehearsal_note(struct rehearsal *rehearsal, const struct rehearsed *change)
{
    struct rehearsed copy = *change;
    struct rehearsed *row = rehearsal_row(rehearsal, change->table, change->key);
    if (!row && rehearsal->n == REHEARSAL_CHANGES_MAX)
        return false;
    if (!rehearsal_copy(rehearsal, change->key, &copy.key) ||
        !rehearsal_copy(rehearsal, change->value, &copy.value))
        return false;
    if (!row)
        row = &rehearsal->at[rehearsal->n++];
    *row = copy;
    return true;
}

const struct rehearsed *rehearsal_find(const struct rehearsal *rehearsal, int table,
                                       struct bytes key)
{
    return rehearsal_row((struct rehearsal *)(uintptr_t)rehearsal, table, key);
}

const struct rehearsed *rehearsal_find_from(const struct rehearsal *rehearsal, int table,
                                            struct bytes from)
{
    const struct rehearsed *least = NULL;
    for (size_t i = 0; i < rehearsal->n; i++) {
        const struct rehearsed *row = &rehearsal->at[i];
        if (row->table == table && row->is_put && rehearsal_compare(row->key, from) >= 0 &&
            (!least || rehearsal_compare(row->key, least->key) < 0))
            least = row;
    }
    return least;
}

bool rehearsal_is_first(const struct rehearsed *row, struct bytes key)
{
    return rehearsal_compare(row->key, key) <= 0;
}

bool rehearsal_changed(const struct rehearsal *rehearsal, int table)
{
    for (size_t i = 0; i < rehearsal->n; i++)
        if (rehearsal->at[i].table == table)
            return true;
    return false;
}
