/* SPDX-License-Identifier: MIT */
#include "engine/inbox/merge.h"

#include "base/heap.h"

void merge_add(struct merge *merge, const struct head *head, uint64_t after,
               const struct tie_stored *stored, struct tie *tie)
{
    uint32_t top = after ? head_posts_below(head, after) : head->n_posts;
    if (!top)
        return;
    uint64_t id = top == head->n_posts ? head->last_id : head->ids[top - 1];
    merge->heap[merge->n++] = (struct source){id, top, false, stored, tie};
}

void merge_add_all(struct merge *merge, const struct tie_stored *stored, size_t n, uint64_t after)
{
    merge->heap = view_array(merge->view, merge->view->scratch, n, sizeof *merge->heap);
    for (size_t i = 0; merge->heap && i < n; i++)
        merge_add(merge, stored[i].head, after, &stored[i], NULL);
}

void merge_begin(struct merge *merge)
{
    heap_make(merge->heap, merge->n, sizeof *merge->heap);
}

/* The first source's tie; NULL if there can be no match in it, or the view has failed. */
static struct tie *first_tie(struct merge *merge)
{
    struct source *first = &merge->heap[0];
    if (first->tie)
        return first->tie;
    first->tie = view_array(merge->view, merge->view->scratch, 1, sizeof *first->tie);
    if (!first->tie)
        return NULL;
    tie_decode(merge->view, merge->realm, merge->viewer, first->stored, first->tie);
    bool nothing = merge->filter == TIDINGS_UNREAD && !tie_unread(merge->view, first->tie);
    return nothing ? NULL : first->tie;
}

/* Moves the first source to its post numbered top - 1, or drops it. */
static void move_first(struct merge *merge, uint32_t top, bool is_match)
{
    struct source *first = &merge->heap[0];
    if (!top) {
        merge->heap[0] = merge->heap[--merge->n];
    } else {
        first->top = top;
        first->id = first->tie->head->ids[top - 1];
        first->is_match = is_match;
    }
    if (merge->n)
        heap_sift(merge->heap, merge->n, sizeof *merge->heap, 0);
}

bool merge_next(struct merge *merge, struct tie **tie, uint32_t *seq, uint64_t *id)
{
    while (merge->n && !view_failed(merge->view)) {
        struct source *first = &merge->heap[0];
        if (first->is_match) {
            *tie = first->tie;
            *seq = first->top - 1;
            *id = first->id;
            move_first(merge, first->top - 1, false);
            return true;
        }
        struct tie *found = first_tie(merge);
        uint32_t top =
            found ? tie_search(merge->view, found, merge->scope, merge->filter, first->top) : 0;
        move_first(merge, top, true);
    }
    return false;
}
