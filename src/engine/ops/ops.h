/* SPDX-License-Identifier: MIT */
/*
 * What each operation does, over typed rows: one file a capability, for every engine alike. An operation has up to two
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

/* The halves of an operation; NULL if there is nothing to change. The table has a row for each, or does not compile. */
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

/* ---- Once (once.c) -------------------------------------------------------------------------- */

/*
 * An operation with a key: whether it happened before, then nothing is to be done. OK, or KEY_REUSED if the key was used
 * for something else.
 */
enum tidings_err once_verdict(struct view *view, const struct tidings_op *op, bool *happened);

/* Keeps the rendering of the answer of the operation under way. */
void once_keep(struct view *view, const struct tidings_op *op, struct tidings_text answer);

/* What was kept, as the answer; UNCERTAIN if nothing is. */
enum tidings_err once_recall(struct view *view, struct reply *reply);

/* The least stamp of what is remembered still. */
uint64_t once_oldest_kept(const struct view *view);

/* ---- What engines ask besides --------------------------------------------------------------- */

/* Whether OPEN would change nothing, so that it need not trouble a writer (inbox.c). */
bool open_changes_nothing(struct view *view, const struct tidings_op *op);

/* The viewer's unread total (inbox.c). */
uint64_t inbox_badge(struct view *view, uint64_t viewer);

/* The least id of an event that is still young enough (event.c). */
uint64_t event_oldest_kept(const struct view *view);

/* The event is about to be removed: webhooks that were not told of it have it given up (webhook.c). */
void webhook_forget_event(struct view *view, uint64_t position, const struct tidings_event *event);

#endif
