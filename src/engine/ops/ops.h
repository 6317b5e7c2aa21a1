/* SPDX-License-Identifier: MIT */
/*
 * What each operation does, over typed rows: one file a capability. An operation has up to two
 * halves:
 *
 *   change_…  checks everything, then changes. Answers an error only before its first put. What only it knows (whether
 *             anything changed, a new id, why it refuses) goes into the answer, which is all zeros before.
 *   answer_…  on a view that includes the change: fills in the rest of the answer.
 *
 * Storage errors are sticky in the view and need not be answered.
 */
#ifndef OPS_OPS_H
#define OPS_OPS_H

#include "engine/view.h"

typedef enum tidings_err op_fn(struct view *view, struct reply *reply);

/* The halves of an operation; change NULL: it only reads. The table has a row for each, or does not compile. */
struct op_halves {
    op_fn *change;
    op_fn *answer;
};
extern const struct op_halves op_table[TIDINGS_OP_COUNT];

static inline bool op_writes(enum tidings_op_kind kind)
{
    return op_table[kind].change != NULL;
}

/* Texts that the operation stores: what makes a batch large. */
size_t op_bytes(const struct tidings_op *op);

/*
 * Makes the change, on a view whose answer is empty. One with a key (op->once) that has happened before changes nothing;
 * if it happens now, its answer is made and rendered here, and kept in the same step (once.c).
 */
enum tidings_err op_change(struct view *view, struct reply *reply);

/* Completes the answer, on a view that includes the change; with a key it is what was kept. The final error: UNCERTAIN if a
 * change was made, and its answer could not be. */
enum tidings_err op_answer(struct view *view, struct reply *reply);

/* The least stamp of what happened once that is remembered still. */
uint64_t once_oldest_kept(const struct view *view);

/* ---- What the engine asks besides ----------------------------------------------------------- */

/* Whether OPEN would change nothing, so that it need not trouble a writer (inbox.c). */
bool open_changes_nothing(struct view *view, const struct tidings_op *op);

/* The viewer's unread total (inbox.c). */
uint64_t inbox_badge(struct view *view, uint64_t viewer);

/* The least id of an event that is still young enough (event.c). */
uint64_t event_oldest_kept(const struct view *view);

/* The event is about to be removed: webhooks that were not told of it have it given up (webhook.c). */
void webhook_forget_event(struct view *view, uint64_t position, const struct tidings_event *event);

#endif
