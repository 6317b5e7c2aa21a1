/* SPDX-License-Identifier: MIT */
/*
 * More records than memory holds, in the order of their keys. What does not fit is sorted piece by piece into files that have no
 * name any more, so that none is left behind whatever happens, and these are merged.
 */
#ifndef FACTS_SORT_H
#define FACTS_SORT_H

#include "base/bytes.h"
#include "tidings.h"

enum { SORT_KEY_BYTES = 34 };

struct sorter;

/* Files are made in that directory, if any are needed. NULL if memory is short. */
struct sorter *sorter_new(const char *dir, size_t memory);
void sorter_free(struct sorter *sorter);

/* Adds a record. OK, NO_SPACE, IO or NO_MEMORY. Keys must differ. */
enum tidings_err sorter_add(struct sorter *sorter, const uint8_t key[SORT_KEY_BYTES],
                            struct bytes value);

/* The first after all were added, then the next ones; false at the end, or with an error. It stays until the next call. */
bool sorter_next(struct sorter *sorter, struct bytes *value, enum tidings_err *err);

#endif
