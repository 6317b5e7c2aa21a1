/* SPDX-License-Identifier: MIT */
/* Events that are not kept, as they stand in a row of `passing_news`: of each its length, when it happened, and its record. */
#ifndef CLUSTER_PASSING_H
#define CLUSTER_PASSING_H

#include "engine/records/records.h"

/* A row has so many bytes at most; with more than that everybody looks for themselves. */
enum { PASSING_MAX = 1 << 16, PASSING_EVENTS = PASSING_MAX / 10 };

/* Behind the first *n of PASSING_MAX bytes; false if there is no room. */
bool passing_put(uint8_t *bytes, size_t *n, const struct tidings_event *event);

/* How many there are; 0: more than could be remembered, or damage, which is taken for that. */
size_t passing_take(struct bytes bytes, struct tidings_event events[PASSING_EVENTS]);

#endif
