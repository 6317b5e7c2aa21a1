/* SPDX-License-Identifier: MIT */
/* The index of names against the profiles it is made of: a server of the version before changes the one and knows nothing of the
 * other. */
#ifndef CLUSTER_NAMES_H
#define CLUSTER_NAMES_H

#include "engine/cluster/sql/sql.h"

/* Who cannot be found by the name, with it and what it should be found by. */
typedef void name_fn(void *ctx, uint64_t user, struct bytes name, struct bytes folded);

/* Looks at the next users behind *after, moves that on, and tells of those whose row is missing or wrong. *more is whether there are
 * further ones. */
enum sql_outcome names_look(struct sql *sql, uint64_t *after, bool *more, name_fn *tell, void *ctx);

/* Makes the index right, also while others change profiles. */
enum sql_outcome names_fill(struct sql *sql);

#endif
