/* SPDX-License-Identifier: MIT */
/* The tables: made and brought up to date in numbered steps, again and again, also while servers run. */
#ifndef CLUSTER_SCHEMA_H
#define CLUSTER_SCHEMA_H

#include "sql/sql.h"

/* Takes the steps that are missing; `said` hears of each. None where *newer: the tables are ahead of this version. */
enum sql_outcome schema_upgrade(struct sql *sql, void (*said)(void *ctx, const char *line),
                                void *ctx, bool *newer);

/* OK if the tables are as this version needs them, VERSION with a message if they are not. */
enum tidings_err schema_check(struct sql *sql, const char **message);

extern const char schema_is_newer[];

#endif
