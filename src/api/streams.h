/* SPDX-License-Identifier: MIT */
/*
 * The streams of those online. Each loop has its own, by user. When something changes what a user
 * would see, every loop is told; it looks up which of its users are concerned, a bounded number in a
 * turn, counts their badges or notifications anew and sends what changed. Nothing is polled, and a stream with nothing to hear costs nothing
 * but its memory.
 */
#ifndef API_STREAMS_H
#define API_STREAMS_H

#include <stdint.h>

struct api;
struct exchange;
struct streams;

struct streams *streams_new(struct api *api, unsigned loop_index);
void streams_free(struct streams *streams);

/* GET /v1/stream */
void streams_open(struct exchange *ex);

/* After an operation has changed something: tells all loops. Any thread. */
void streams_tell(struct api *api, const struct exchange *ex);

#endif
