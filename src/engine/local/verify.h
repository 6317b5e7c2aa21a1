/* SPDX-License-Identifier: MIT */
/* What the parts of verify share: what they found, and what would mend it. */
#ifndef LOCAL_VERIFY_H
#define LOCAL_VERIFY_H

#include "engine/local/tie.h"

/* A row to be written, or deleted where p is NULL. */
struct mend {
    struct mend *next;
    enum table table;
    struct key key;
    struct bytes value;
};

struct check {
    struct view *view;
    struct tidings_verify *out;
    struct arena notes;
    struct mend *mends,
        **last_mend;        /* in the order of finding: a later one may correct an earlier */
    struct mend **row_mend; /* where the first one of the row under way goes */
    const char *part;
};

/* A difference, for the report. */
__attribute__((format(printf, 2, 3))) void verify_differ(struct check *check, const char *format,
                                                         ...);

/* A row as it should be, or that it should not be; written at the end if that is wanted. */
void verify_mend(struct check *check, enum table table, const struct key *key, struct bytes value);
void verify_mend_delete(struct check *check, enum table table, const struct key *key);

/* Visits every row of a table. The visitor may read other tables, but scan none of them twice at
 * once. */
void verify_each_row(struct check *check, enum table table,
                     void (*visit)(struct check *, struct bytes key, struct bytes value));

/* When a row is done with: counts it, and notes it down if it was damaged. */
void verify_step(struct check *check);

/* A stored pair against read maps, head and followers. */
void verify_pair(struct check *check, const struct tie *tie);

/* A read map against its pair; the tie is to be loaded. False if there is no more to be said. */
bool verify_readmap(struct check *check, const struct realm *realm, uint64_t reader,
                    struct bytes key, struct bytes value, struct tie *tie, struct readmap *map);

/* ---- verify_stories.c ----------------------------------------------------------------------- */

/* A user's row that has to do with stories; false if it is none. */
bool verify_story_row(struct check *check, uint64_t user, struct bytes key, struct bytes value);

/* The tables of stories, scenes and subscribers, and what users' rows count. */
void verify_stories(struct check *check);

#endif
