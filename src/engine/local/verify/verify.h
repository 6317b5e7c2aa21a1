/* SPDX-License-Identifier: MIT */
/* What the parts of verify share. See verify.c. */
#ifndef LOCAL_VERIFY_H
#define LOCAL_VERIFY_H

#include "engine/local/rows/rows.h"
#include "engine/local/storage/files.h"

/* A row to be written, or deleted where p is NULL. */
struct mend {
    struct mend *next;
    enum table table;
    struct bytes key;
    struct bytes value;
};

/*
 * What mending will change about something, for those who count or compare it later. There are as
 * many as there is damage: in sound data none.
 */
enum tally_kind {
    TALLY_LIKES = TIDINGS_LIKE, /* rows of reactors of a target; the three reactions */
    TALLY_DOWNS = TIDINGS_DOWNVOTE,
    TALLY_LISTED,         /* comments in the list of a parent */
    TALLY_VISIBLE,        /* of these, visible */
    TALLY_COMMENTS,       /* of a post at every depth, visible */
    TALLY_HEAT,           /* not a change: what orders a post or comment; negative if not listed */
    TALLY_LIKES_RECEIVED, /* of an author */
    TALLY_FAVS_RECEIVED,
};

struct tally {
    uint64_t name; /* 0: unused */
    int64_t value;
};

struct tallies {
    struct tally *at;
    size_t n, room;
};

struct check {
    struct view *view;
    struct tidings_verify *out;
    struct arena notes;
    struct mend *mends,
        **last_mend;        /* in the order of finding: a later one may correct an earlier */
    struct mend **row_mend; /* where the first one of the row under way goes */
    struct tallies tallies;
    uint64_t history_mended; /* the last reader whose history was noted down anew */
    const char *part;
    struct progress progress;
    uint64_t part_rows, part_steps; /* of the part under way: as many as it may look at; so far */
};

/* Goes on with another part, which passes once through that table. */
void verify_part(struct check *check, const char *part, enum table table);

/* Reports a difference. */
void verify_differ(struct check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Notes down a row to be written, or to be deleted. */
void verify_mend(struct check *check, enum table table, const struct key *key, struct bytes value);
void verify_mend_delete(struct check *check, enum table table, const struct key *key);
/* Either, with a key of any length. */
void verify_mend_long(struct check *check, enum table table, struct bytes key, struct bytes value);

/* After each row: reports damage met on the way, and drops what was noted down because of it. */
void verify_step(struct check *check);

/* Visits every row of a table. The visitor may read other tables, but scan none of them twice at
 * once. */
void verify_each_row(struct check *check, enum table table,
                     void (*visit)(struct check *, struct bytes key, struct bytes value));

/* To be added to only when the row is known to be free of damage. */
void verify_tally_add(struct check *check, enum tally_kind kind, uint64_t id, int64_t delta);
int64_t verify_tally_of(const struct check *check, enum tally_kind kind, uint64_t id);

/* verify_inbox.c: rows of a user. Pairs and read maps also of subscriptions. */
void verify_pair(struct check *check, uint64_t fan, struct bytes key);
void verify_readmap(struct check *check, uint64_t reader, struct bytes key, struct bytes value);

/* verify_history.c: rows of the reading history; and the history of a read map, with the ids of its 64 posts. */
void verify_history(struct check *check, uint64_t reader, struct bytes key, struct bytes value);
void verify_map_history(struct check *check, uint64_t reader, const uint64_t *posts,
                        const struct readmap *map);

/* verify_votes.c: rows of a user, and the counters made of reactions. */
void verify_vote(struct check *check, uint64_t user, struct bytes key, struct bytes value);
void verify_reacted(struct check *check, uint64_t user, struct bytes key, struct bytes value);
void verify_reactor(struct check *check, uint64_t target, struct bytes key, struct bytes value);
void verify_count_reactions(struct check *check, uint64_t user, const struct head *head,
                            struct user_record *counted);

/* How many have reacted in that way, once all is mended. */
uint64_t verify_count_reactors(struct check *check, uint64_t target,
                               enum tidings_reaction reaction);

/* Takes down what mending will do to the rows of reactors. */
void verify_tally_reactors(struct check *check);

/* verify_names.c: rows of the index of names; and whether a profile is in it. */
void verify_name(struct check *check, struct bytes key, struct bytes value);
void verify_named(struct check *check, uint64_t user, struct bytes name);

/* And of keys that posts were imported with. */
void verify_key(struct check *check, struct bytes key, struct bytes value);

/* verify_comments.c: rows of posts and comments; then all counts, states and hot lists. */
void verify_target_row(struct check *check, struct bytes key, struct bytes value);
void verify_interactions(struct check *check);

/* verify_stories.c: a user's row that has to do with stories, false if it is none; the tables of stories, scenes and
 * subscribers, and what is counted of users' rows. */
bool verify_story_row(struct check *check, uint64_t user, struct bytes key, struct bytes value);
void verify_stories(struct check *check);

/* ---- verify_deep.c ------------------------------------------------------------------------------- */

struct local;

/* Holds the data file against one made anew, and counts in out->spoiled. An error if that one cannot be made. */
enum tidings_err verify_deep(struct local *local, struct check *check);

#endif
