/* SPDX-License-Identifier: MIT */
/* What is true of every single answer, whatever happened before and whatever happens meanwhile. */
#ifndef TIDINGS_TESTS_INVARIANTS_H
#define TIDINGS_TESTS_INVARIANTS_H

#include "report.h"
#include "tidings.h"

/* False, and why in the report, if the answer contradicts itself or the operation. */
bool invariants_hold(const struct tidings_settings *settings, const struct tidings_op *op,
                     const struct tidings_answer *answer, struct report *report);

/* Where the answer says that its list goes on; {0, 0} if it is no list. */
struct tidings_cursor answer_next(enum tidings_op_kind kind, const struct tidings_answer *answer);

/* The answer's token; NULL if it has none. */
const struct tidings_moment *answer_as_of(enum tidings_op_kind kind,
                                          const struct tidings_answer *answer);
/* Is there anything in the token? */
bool moment_is_given(const struct tidings_moment *moment);

#endif
