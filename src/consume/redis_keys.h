/* SPDX-License-Identifier: MIT */
/*
 * Names and values of the keys in Redis that others read: docs/FORMAT.md "Keys for others". Names are exact: what is not written
 * as we write it is somebody else's.
 */
#ifndef CONSUME_REDIS_KEYS_H
#define CONSUME_REDIS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "tidings.h"

/* kind, what the name begins with, what the value is */
#define REDIS_KINDS(X)                                \
    X(COUNTS, "ucnt:", COUNTS)                        \
    X(FOLLOWING, "uf:flws:", LIST)                    \
    X(FOLLOWERS, "uf:fans:", LIST)                    \
    X(BUCKET, "rl:follow:", BUCKET)                   \
    X(STORY_LIKERS, "like_story_user_set_", LIST)     \
    X(STORIES_LIKED, "story_user_like_set_", LIST)    \
    X(STORY_LIKES, "count_story_", NUMBER)            \
    X(COMMENT_LIKERS, "like_comment_user_set_", LIST) \
    X(COMMENTS_LIKED, "comment_user_like_set_", LIST) \
    X(COMMENT_LIKES, "count_comment_", NUMBER)

enum redis_kind {
#define X(kind, start, value) REDIS_KIND_##kind,
    REDIS_KINDS(X)
#undef X
        REDIS_KIND_COUNT
};

enum redis_value { REDIS_VALUE_COUNTS, REDIS_VALUE_LIST, REDIS_VALUE_BUCKET, REDIS_VALUE_NUMBER };

enum {
    REDIS_NAME_MAX = 56,      /* with the companion's braces, and a NUL */
    REDIS_FOLLOWS_MAX = 1000, /* members of the lists of follows */
    REDIS_NUMBERS = 7,        /* in the order of the key */
    REDIS_COUNTS_BYTES = REDIS_NUMBERS * 4 + 8,
};

enum redis_value redis_kind_value(enum redis_kind kind);

/* How many members a list has at most; 0: as many as there are. */
size_t redis_kind_max(enum redis_kind kind);

void redis_key_name(enum redis_kind kind, uint64_t id, char name[REDIS_NAME_MAX]);

/* The key beside it that says up to which event it is; in the same slot of a cluster. COUNTS say so themselves. */
void redis_key_companion(enum redis_kind kind, uint64_t id, char name[REDIS_NAME_MAX]);

/* Whether a name is that of such a key or companion. */
bool redis_key_parse(struct bytes name, enum redis_kind *kind, uint64_t *id);

/* What does not fit into 32 bits is the most that does. */
void redis_counts_encode(const struct tidings_counters *counters, uint64_t position,
                         uint8_t to[REDIS_COUNTS_BYTES]);

/* ---- Marks ------------------------------------------------------------------------------------ */

/*
 * So that what Redis has lost is noticed: some keys of ours, spread over all slots, say up to which event everything was told
 * there, and which process it was told to. What a process has of a mark, it has of all that was told before.
 */
enum { REDIS_MARKS = 256, REDIS_RUN_ID_MAX = 64, REDIS_MARK_MAX = 160 };

struct redis_mark {
    bool filling; /* keys are missing that are to be there */
    uint64_t position;
    uint64_t era;
    int64_t at_ms; /* by the clock */
    char run_id[REDIS_RUN_ID_MAX + 1];
};

/* The names, one in each 64 slots. Once. */
void redis_mark_names(char names[REDIS_MARKS][REDIS_NAME_MAX]);

/* Without the run id, which the client puts behind it. */
void redis_mark_encode(const struct redis_mark *mark, char text[REDIS_MARK_MAX]);
bool redis_mark_decode(struct bytes text, struct redis_mark *mark);

#endif
