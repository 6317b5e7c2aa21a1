/* SPDX-License-Identifier: MIT */
/*
 * The teller: a thread that watches the engine and makes what streams are told, so that loops need not. It hears of changes
 * from the engine, finds out who of those online is concerned, counts their badges and notifications anew, and hands each
 * loop one parcel with all of it. What comes while it works is told together in the next round, so a badge is counted once
 * for many posts. Nothing is polled.
 */
#ifndef API_TELLER_H
#define API_TELLER_H

#include <stdbool.h>
#include <stdint.h>

struct api;
struct teller;
struct watched;

/* Starts the thread, and watches. NULL if that cannot be done. */
struct teller *teller_start(struct api *api);

/* Ends the thread. After the loops have ended, before the engine closes. NULL is fine. */
void teller_stop(struct teller *teller);

/* A stream has begun: posts behind the one it has seen, if that is not 0, and the badge. Any thread; false if memory is
 * short. */
bool teller_greet(struct teller *teller, unsigned loop, uint64_t user, uint64_t stream,
                  uint64_t seen);

/* The posts that streams have open. */
struct watched *teller_watched(struct teller *teller);

/* A user's first stream on a loop has begun, or the last one ended. False if memory is short. */
bool teller_online(struct teller *teller, uint64_t user);
void teller_offline(struct teller *teller, uint64_t user);

#endif
