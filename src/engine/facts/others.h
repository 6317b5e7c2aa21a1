/* SPDX-License-Identifier: MIT */
/*
 * Facts of other systems: in any order, without ids, with keys. They are sorted twice, with temporary files if there are many: by
 * time, to give ids in that order; and by the order in which they are applied. What comes out is as in an export, but that
 * references are keys, and that follows have a time in place of what was delivered.
 */
#ifndef FACTS_OTHERS_H
#define FACTS_OTHERS_H

#include "engine/facts/fact.h"
#include "engine/facts/input.h"

struct others;

/*
 * Reads and sorts everything, beginning with a line that was read already. Lines that cannot be taken are told of if `tell`. On
 * failure *message is a static text.
 */
enum tidings_err others_collect(struct input *input, const char *first, size_t n_first, bool tell,
                                struct others **others, const char **message);

/* The next fact, its memory in the arena, and how much that was added to *bytes; false at the end, or with an error. */
bool others_next(struct others *others, struct arena *arena, struct fact *fact, size_t *bytes,
                 enum tidings_err *err);

/* How many lines were refused. */
uint64_t others_rejected(const struct others *others);

void others_free(struct others *others);

#endif
