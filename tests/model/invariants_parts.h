/* SPDX-License-Identifier: MIT */
/* What the parts of invariants.h share. */
#ifndef TIDINGS_TESTS_INVARIANTS_PARTS_H
#define TIDINGS_TESTS_INVARIANTS_PARTS_H

#include "report.h"
#include "tidings.h"

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
void check_users(struct check *check, const struct tidings_page *page,
                 const struct tidings_answer *answer);

/* invariants_story.c: an answer about stories. */
void check_story(struct check *check, const struct tidings_answer *answer);

#endif
