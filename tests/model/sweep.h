/* SPDX-License-Identifier: MIT */
/* What the parts of the sweep share; see sweep.c. */
#ifndef TIDINGS_TESTS_SWEEP_H
#define TIDINGS_TESTS_SWEEP_H

#include "run.h"

struct sweep {
    struct run *run;
    int64_t now_ms;
    uint32_t limit;
    uint64_t *authors; /* who has ever published */
    size_t n_authors;
};

struct tidings_op question(const struct sweep *sweep, enum tidings_op_kind kind, uint64_t viewer);
bool ask(struct sweep *sweep, const struct tidings_op *op);
/* Pages through the whole list; *n is the number of its rows. */
bool page_through(struct sweep *sweep, struct tidings_op op, uint64_t *n);

/* sweep_interact.c: every post and comment, the hot lists; and what one user reacted to. */
bool sweep_interactions(struct sweep *sweep);
bool sweep_reacted(struct sweep *sweep, uint64_t viewer);
/* sweep_story.c: every story and scene; and what one user reads and is told of. */
bool sweep_stories(struct sweep *sweep);
bool sweep_reader(struct sweep *sweep, uint64_t viewer);

#endif
