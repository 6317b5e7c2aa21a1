/* SPDX-License-Identifier: MIT */
/*
 * Ids made by Tidings: below 2^53, strictly increasing, time-ordered.
 *
 *     bit 52 ... 12   milliseconds since 2020-01-01 UTC (until 2089)
 *     bit 11 ... 4    counter within the millisecond
 *     bit  3 ... 0    0
 *
 * More than 256 ids in a millisecond borrow from the next one, and a clock that is set back stands
 * still: order never suffers, the time in an id does for a moment.
 *
 * What was imported with a time before 2020 has ids of its first day, in the order of time; the time itself is stored
 * beside (view_time() in engine/view.h).
 */
#ifndef DOMAIN_IDS_H
#define DOMAIN_IDS_H

#include <stdint.h>

#define ID_EPOCH_MS   INT64_C(1577836800000)
#define ID_TIME_SHIFT 12
#define ID_STEP       16

/* An id below ID_EARLY_END may have a stored time, before EARLY_END_MS, instead of the one in it. */
#define ID_EARLY_MS  (INT64_C(24) * 60 * 60 * 1000)
#define ID_EARLY_END ((uint64_t)ID_EARLY_MS << ID_TIME_SHIFT)
#define EARLY_END_MS (ID_EPOCH_MS + ID_EARLY_MS)

/* The next id after `last` at `now_ms`; 0 if the ids are used up. */
uint64_t id_next(uint64_t last, int64_t now_ms);

/* The time in an id. */
int64_t id_time_ms(uint64_t id);

/* The least id that id_next could give at that time: everything below it is older. */
uint64_t id_floor(int64_t time_ms);

#endif
