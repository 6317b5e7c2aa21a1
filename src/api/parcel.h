/* SPDX-License-Identifier: MIT */
/*
 * What streams are to be told, made ready by the teller (teller.h) and handed to every loop, which looks up who is connected
 * and sends. All loops share one parcel; the last one frees it.
 */
#ifndef API_PARCEL_H
#define API_PARCEL_H

#include <stdatomic.h>

#include "base/buf.h"

/* A piece of the parcel's text; empty: nothing. */
struct slice {
    uint32_t at;
    uint32_t n;
};

enum { PARCEL_MESSAGES = 64 };

#define NOT_COUNTED UINT64_MAX
#define ANY_POST    UINT64_MAX /* ... this: for streams that have a post open, whichever */

/* One user. */
struct told {
    uint64_t user;
    uint64_t messages; /* bits: which of the parcel's messages */
    uint64_t changes;  /* likewise, of its changes */
    uint64_t
        badge; /* NOT_COUNTED: nothing to be said of it; else told if it is another than the last time, ... */
    uint64_t unread; /* ... and so the number of notifications */
    struct slice badge_text;
    struct slice unread_text;
    struct slice own; /* for this user alone, with the number of notifications in it */
    uint64_t stream;  /* a greeting: for this stream of the user's alone; 0: for all of them */
};

struct parcel {
    atomic_uint holders;
    struct buf text;
    struct slice messages[PARCEL_MESSAGES];
    uint64_t about
        [PARCEL_MESSAGES]; /* by message: for streams that have this post open; 0: for all, ... */
    struct slice changes[PARCEL_MESSAGES]; /* posts that changed, for all streams */
    size_t n, room;
    struct told *told; /* by user id */
};

/* NULL if memory is short. */
struct parcel *parcel_new(size_t room);

/* Gives up one hold; the last one frees it. */
void parcel_drop(struct parcel *parcel);

/* What was appended to the text since it had that length. */
static inline struct slice parcel_slice(const struct parcel *parcel, size_t from)
{
    return (struct slice){(uint32_t)from, (uint32_t)(parcel->text.len - from)};
}

#endif
