/* SPDX-License-Identifier: MIT */
/* The tables: made and brought up to date in numbered steps, again and again, also while servers run. */
#ifndef CLUSTER_SCHEMA_H
#define CLUSTER_SCHEMA_H

#include "sql/sql.h"

/* Takes the steps that are missing; `said` hears of each. */
enum sql_outcome schema_upgrade(struct sql *sql, void (*said)(void *ctx, const char *line),
                                void *ctx);

/* Whether the tables are as this version needs them: *newer if they are ahead of it. */
enum sql_outcome schema_check(struct sql *sql, bool *fits, bool *newer);

#endif
