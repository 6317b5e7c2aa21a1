/* SPDX-License-Identifier: MIT */
#ifndef LOCAL_MOVED_H
#define LOCAL_MOVED_H

#include "engine/local/storage/kv.h"
#include "engine/move/move.h"

/* What the row of that key is called; false if it follows from others, or, in a walk through all rows, comes with another. A row that is gone has no value. */
bool moved_name(enum table table, struct bytes key, struct bytes value, bool walking,
                struct moved *moved);

/* Whether a walk has to look at the table. */
bool moved_has(enum table table);

#endif
