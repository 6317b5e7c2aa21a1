/* SPDX-License-Identifier: MIT */
/* Events in records of the log: those that are kept are rows, the others are in it to be told by whoever follows it. */
#ifndef LOCAL_TOLD_H
#define LOCAL_TOLD_H

#include "engine/local/storage/redo.h"
#include "engine/records/records.h"

enum { TOLD_BYTES_MAX = 8 + EVENT_RECORD_MAX };

/* An event that is told and not kept, as bytes of a CHANGE_TOLD: its time, and the event. Returns the length. */
size_t told_encode(const struct tidings_event *event, uint8_t to[TOLD_BYTES_MAX]);

/* The event that a change is about, kept or only told; false if the change is something else. */
bool told_event(const struct change *change, struct tidings_event *event);

#endif
