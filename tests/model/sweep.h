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
bool sweep_ask(struct sweep *sweep, const struct tidings_op *op);
/* Pages through the whole list; *n is the number of its rows. */
bool sweep_list(struct sweep *sweep, struct tidings_op op, uint64_t *n);

/* Asks as an admin, whom nothing is kept from. */
struct tidings_op admin_question(const struct sweep *sweep, enum tidings_op_kind kind);
/* Is the count as many as there are rows? If not, says so. */
bool sweep_same(struct sweep *sweep, uint64_t id, const char *what, uint64_t count, uint64_t rows);
/* For qsort. */
int by_number(const void *a, const void *b);
/* All users, ascending; how many. */
size_t sweep_users(const struct sweep *sweep, uint64_t ids[MAX_USERS]);

/* inbox.c: one list of an inbox or of an author's page. */
bool sweep_feed(struct sweep *sweep, enum tidings_op_kind kind, uint64_t viewer, uint64_t author_id,
                enum tidings_filter filter, uint64_t *n);
/* reaction.c: the counts of a post or comment, which are the lengths of the lists. */
bool sweep_target(struct sweep *sweep, enum tidings_target target, uint64_t id,
                  struct tidings_counts *counts);

#endif
