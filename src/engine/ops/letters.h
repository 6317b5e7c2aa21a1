/* SPDX-License-Identifier: MIT */
/*
 * Dead letters: events that a target of events, a webhook or a consumer, has refused for good. They are rows beside the target's,
 * put in the same step as the report that says so, TIDINGS_LETTERS_MAX at most: an older one is dropped for a newer one, and
 * counted.
 */
#ifndef OPS_LETTERS_H
#define OPS_LETTERS_H

#include "engine/view.h"

struct letters_record letters_load(struct view *view, const struct webhook_record *target);

/* The event was refused. What was known of it is replaced, and is not to be told again. */
void letter_note(struct view *view, const struct webhook_record *target, uint64_t event,
                 struct bytes reason);

/* The event was told after all. Nothing happens if there is no such letter. */
void letter_settle(struct view *view, const struct webhook_record *target, uint64_t event);

/* Those behind an event go: it is told again with all behind it, or the target goes. */
void letters_remove(struct view *view, const struct webhook_record *target, uint64_t after);

/* All are to be told again. */
void letters_tell_again(struct view *view, const struct webhook_record *target);

/* What the target said of itself: whether what stands there can be compared; and that a wish to do so was fulfilled. */
void letters_set_reconciles(struct view *view, const struct webhook_record *target);
void letters_end_reconcile(struct view *view, const struct webhook_record *target, uint64_t wish);

/* ---- Rows of targets ------------------------------------------------------------------------ */

/* A fresh start, under a new generation: the next event is tried at once and has all the time again. */
void webhook_start_anew(struct view *view, struct webhook_record *record);
void webhook_save(struct view *view, const struct tidings_op *op, struct tidings_text name,
                  struct webhook_record *record);

/* Goes back to where events were given up since the last success, and has all other dead letters told again. */
void webhook_retry(struct view *view, struct webhook_record *record);

#endif
