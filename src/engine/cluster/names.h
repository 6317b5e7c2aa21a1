/* SPDX-License-Identifier: MIT */
/* The index of names against the profiles it is made of: a server of the version before changes the one and knows nothing of the
 * other. */
#ifndef CLUSTER_NAMES_H
#define CLUSTER_NAMES_H

#include "sql/sql.h"

/* Makes the index right, also while others change profiles. */
enum sql_outcome names_fill(struct sql *sql);

#endif
