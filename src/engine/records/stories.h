/* SPDX-License-Identifier: MIT */
/* Values that have to do with stories; as in records.h. */
#ifndef RECORDS_STORIES_H
#define RECORDS_STORIES_H

#include "base/arena.h"
#include "base/bytes.h"
#include "domain/reading.h"
#include "tidings.h"

/* ---- A scene -------------------------------------------------------------------------------- */

struct scene_record {
    bool deleted;
    uint64_t story;
    uint32_t seq;        /* its number among the story's scenes */
    uint32_t n_messages; /* 0 if deleted */
    uint64_t edited;     /* stamp, or 0 */
    uint64_t removed;    /* stamp of the deleting, or 0 */
    struct bytes title;
};

/* Answers {NULL, 0} if memory is short. */
struct bytes scene_encode(const struct scene_record *scene, struct arena *arena);
bool scene_decode(struct bytes from, struct scene_record *scene);

/* A scene's messages, in order; at least one. Decoded texts point into `from`, the array is in the
 * arena. */
struct bytes messages_encode(const struct tidings_message *messages, size_t n, struct arena *arena);
bool messages_decode(struct bytes from, struct arena *arena, struct tidings_message **messages,
                     size_t *n);

/* ---- What a user has to do with stories ----------------------------------------------------- */

/* field: counts, then facts */
#define SHELF_FIELDS(X)                                                     \
    X(subscriptions)                                                        \
    X(positions) /* reading positions that are shown */                     \
    X(cleared)   /* ms: what was read up to then is void, of all stories */ \
    X(quiet)     /* 1: not to be told of new scenes */

struct shelf_record {
#define X(field) uint64_t field;
    SHELF_FIELDS(X)
#undef X
};

enum { SHELF_RECORD_MAX = 1 + 4 * 10 };

size_t shelf_encode(const struct shelf_record *shelf, uint8_t to[SHELF_RECORD_MAX]);
bool shelf_decode(struct bytes from, struct shelf_record *shelf);

/* ---- Where a reader stopped in a story ------------------------------------------------------ */

struct position_record {
    struct reading reading;
    uint64_t first;   /* stamp of the operation that first showed it; 0 if it never was shown */
    uint64_t changed; /* stamp of the operation that last changed what is shown, or 0 */
};

enum { POSITION_RECORD_MAX = 1 + 7 * 10 };

size_t position_encode(const struct position_record *position, uint8_t to[POSITION_RECORD_MAX]);
bool position_decode(struct bytes from, struct position_record *position);

#endif
