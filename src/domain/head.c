/* SPDX-License-Identifier: MIT */
#include "domain/head.h"

#include "base/search.h"

uint32_t head_posts_below(const struct head *head, uint64_t id)
{
    if (id > head->last_id)
        return head->n_posts;
    return (uint32_t)ids_below(head->ids, head->n_posts, id);
}

uint32_t head_deleted_below(const struct head *head, uint32_t number)
{
    uint32_t low = 0, high = head->n_deleted;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (head->deleted_sorted[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool head_is_deleted(const struct head *head, uint32_t number)
{
    uint32_t at = head_deleted_below(head, number);
    return at < head->n_deleted && head->deleted_sorted[at] == number;
}

uint64_t head_deleted_mask(const struct head *head, uint32_t first)
{
    uint64_t mask = 0;
    uint32_t at = head_deleted_below(head, first);
    for (; at < head->n_deleted && head->deleted_sorted[at] - first < 64; at++)
        mask |= UINT64_C(1) << (head->deleted_sorted[at] - first);
    return mask;
}
