/* SPDX-License-Identifier: MIT */
/* What the parts of verify share. See verify.c. */
#ifndef LOCAL_VERIFY_H
#define LOCAL_VERIFY_H

#include "engine/local/view.h"

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

/* Reports a difference. */
void verify_differ(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes down a row to be written, or to be deleted. */
void verify_mend(struct check *check, enum table table, const struct key *key, struct bytes value);
void verify_mend_delete(struct check *check, enum table table, const struct key *key);

/* After each row: reports damage met on the way, and drops what was noted down because of it. */
void verify_step(struct check *check);

/* Visits every row of a table. The visitor may read other tables, but scan none of them twice at
 * once. */
void verify_each_row(struct check *check, enum table table,
                     void (*visit)(struct check *, struct bytes key, struct bytes value));

/* verify_inbox.c: rows of a user. Pairs and read maps also of subscriptions. */
void verify_pair(struct check *check, uint64_t fan, struct bytes key);
void verify_readmap(struct check *check, uint64_t reader, struct bytes key, struct bytes value);
void verify_history(struct check *check, uint64_t reader, struct bytes key);

/* verify_stories.c: a user's row that has to do with stories, false if it is none; the tables of stories, scenes and
 * subscribers, and what is counted of users' rows. */
bool verify_story_row(struct check *check, uint64_t user, struct bytes key, struct bytes value);
void verify_stories(struct check *check);

#endif
