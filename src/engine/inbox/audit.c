/* SPDX-License-Identifier: MIT */
#include "engine/inbox/audit.h"

const char *audit_text(enum audit_verdict verdict)
{
    static const char *const texts[] = {
        [AUDIT_FINE] = "fine",
        [AUDIT_BEYOND] = "delivered beyond the last post",
        [AUDIT_COUNTS] = "counts do not fit what was read",
        [AUDIT_AMISS] = "stored amiss",
        [AUDIT_UNREAD] = "unread does not fit its posts",
    };
    return texts[verdict];
}

void audit_recount(struct view *view, const struct tie *tie, struct pair *fresh)
{
    uint32_t chunk = UINT32_MAX;
    uint64_t read;
    fresh->reads_in = fresh->reads_out = fresh->dead_in = fresh->dead_out = 0;
    fresh->settled = tie->head->n_deleted;
    while (view->rows->last_read_bits(view, tie, &chunk, &read)) {
        uint32_t first = chunk * READMAP_POSTS;
        uint64_t in = spans_mask(tie->pair.spans, tie->pair.n_spans, first);
        uint64_t dead = head_deleted_mask(tie->head, first);
        fresh->reads_in += (uint32_t)__builtin_popcountll(read & in);
        fresh->reads_out += (uint32_t)__builtin_popcountll(read & ~in);
        fresh->dead_in += (uint32_t)__builtin_popcountll(read & in & dead);
        fresh->dead_out += (uint32_t)__builtin_popcountll(read & ~in & dead);
    }
}

/* Unread posts counted one by one, 64 at a time. */
static uint64_t count_unread(struct view *view, const struct tie *tie)
{
    uint64_t unread = 0;
    uint32_t bound = tie->head->n_posts;
    while ((bound = spans_top(tie->pair.spans, tie->pair.n_spans, bound))) {
        uint32_t chunk = (bound - 1) / READMAP_POSTS, first = chunk * READMAP_POSTS;
        uint64_t mask = spans_mask(tie->pair.spans, tie->pair.n_spans, first) &
                        mask_below(bound - first) & ~head_deleted_mask(tie->head, first);
        uint64_t read = view->rows->get_read_bits(view, tie, chunk);
        unread += (uint64_t)__builtin_popcountll(mask & ~read);
        bound = first;
    }
    return unread;
}

static bool skips_are_sound(struct view *view, const struct tie *tie)
{
    struct skips skips;
    if (!pair_skips(&tie->pair, &skips))
        return false;
    for (size_t i = 0; i < skips.n; i++)
        for (uint32_t chunk = skips.at[i].start; chunk < skips.at[i].end; chunk++) {
            uint64_t done = view->rows->get_read_bits(view, tie, chunk) |
                            head_deleted_mask(tie->head, chunk * READMAP_POSTS);
            if (done != ~UINT64_C(0) || chunk >= tie->head->n_posts / READMAP_POSTS)
                return false;
        }
    return true;
}

static bool spans_are_sound(const struct tie *tie)
{
    const struct pair *pair = &tie->pair;
    for (size_t i = 0; i < pair->n_spans; i++) {
        const struct span *span = &pair->spans[i];
        if (span->start > tie->head->n_posts)
            return false;
        if (span->end != SPAN_OPEN && span->end > tie->head->n_posts)
            return false;
    }
    return true;
}

/* The tie once more, to be changed; without skips that are not sound. */
static void copy_tie(const struct tie *tie, bool sound, struct tie *copy)
{
    *copy = *tie;
    copy->skips = NULL;
    if (!sound)
        copy->pair.skips = (struct bytes){NULL, 0};
}

static bool same_counts(const struct pair *a, const struct pair *b)
{
    return a->reads_in == b->reads_in && a->reads_out == b->reads_out && a->dead_in == b->dead_in &&
           a->dead_out == b->dead_out;
}

enum audit_verdict audit_tie(struct view *view, const struct tie *tie, struct tie *fresh)
{
    struct tie settled;
    if (!spans_are_sound(tie))
        return AUDIT_BEYOND;
    bool sound = skips_are_sound(view, tie) && tie->pair.settled <= tie->head->n_deleted;
    copy_tie(tie, sound, &settled);
    copy_tie(tie, sound, fresh);
    tie_settle(view, &settled);
    audit_recount(view, tie, &fresh->pair);
    if (view_failed(view))
        return AUDIT_FINE;
    if (!same_counts(&settled.pair, &fresh->pair))
        return AUDIT_COUNTS;
    if (!sound || tie->stored != tie_belongs(fresh))
        return AUDIT_AMISS;
    return tie_unread(view, tie) == count_unread(view, tie) ? AUDIT_FINE : AUDIT_UNREAD;
}
