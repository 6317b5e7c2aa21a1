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

/* ---- What the rows' invariants are made of ------------------------------------------------------ */

struct check {
    const struct tidings_settings *settings;
    const struct tidings_op *op;
    struct report *report;
    bool failed;
};

/* Says what must be true, and does not say it of the rows after the first that breaks it. */
void require(struct check *check, bool truth, const char *what, size_t row);
void require_text(struct check *check, struct tidings_text text, const char *what, size_t row);
void require_page(struct check *check, const struct tidings_page *page, size_t n,
                  struct tidings_cursor next);
/* Users, newest first. */
void hold_users(struct check *check, const struct tidings_answer *answer);
/* Terms of a post's score. */
void hold_post_counts(struct check *check, const struct tidings_counts *counts, size_t i);

#endif
