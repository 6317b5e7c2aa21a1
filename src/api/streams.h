/* SPDX-License-Identifier: MIT */
/*
 * The streams of those online. Each loop has its own, by user. What they are told comes ready from the teller (teller.h):
 * here it is looked up who is connected, a bounded number of users in a turn of the loop, and sent. A stream with
 * nothing to hear costs nothing but its memory.
 */
#ifndef API_STREAMS_H
#define API_STREAMS_H

#include <stdint.h>

struct api;
struct exchange;
struct parcel;
struct streams;

struct streams *streams_new(struct api *api, unsigned loop_index);
void streams_free(struct streams *streams);

/* GET /v1/stream */
void streams_open(struct exchange *ex);

/* Takes over one hold of the parcel. Waits while the loop has too many of them; after streams_stop it waits no more. The
 * teller's thread. */
void streams_deliver(struct streams *streams, struct parcel *parcel);

/* Waits until the loop has told all that was delivered: what comes meanwhile is then told together. The teller's thread. */
void streams_wait(struct streams *streams);

/* Nobody takes parcels any more. */
void streams_stop(struct streams *streams);

#endif
