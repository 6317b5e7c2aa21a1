/* SPDX-License-Identifier: MIT */
/*
 * The tables as the engine sees them: kinds of rows, each with its key, numbers and texts. One table says it all (kinds.c), and
 * loading and writing rows of any kind follow from it.
 */
#ifndef CLUSTER_ROWS_KINDS_H
#define CLUSTER_ROWS_KINDS_H

#include <stdbool.h>

#include "base/buf.h"

/* In the order in which rows are locked. */
enum kind {
    KIND_USER,
    KIND_AUTHOR,
    KIND_STORY,
    KIND_POST,
    KIND_SCENE,
    KIND_COMMENT,
    KIND_STATS,
    KIND_COUNTER,
    KIND_PROFILE,
    KIND_NAME,
    KIND_BODY,
    KIND_POST_KEY,
    KIND_KEY,
    KIND_FOLLOWING,
    KIND_SUBSCRIPTION,
    KIND_FOLLOWER,
    KIND_SUBSCRIBER,
    KIND_DELETION,
    KIND_SCENE_DELETION,
    KIND_READ_MAP,
    KIND_SCENE_READ_MAP,
    KIND_HISTORY,
    KIND_HISTORY_CLEARED,
    KIND_STORY_CLOSED,
    KIND_REACTION,
    KIND_COMMENT_BODY,
    KIND_MESSAGES,
    KIND_MESSAGE_ID,
    KIND_READING,
    KIND_WEBHOOK,
    KIND_ONCE,
    KIND_POSITION,
    KIND_EPOCH,
    KIND_COUNTER_CHANGE, /* of no table: what is added to KIND_COUNTER, which need not be known for that */
    KINDS,
};

enum { ROW_KEYS = 3, ROW_NUMBERS = 13, ROW_TEXTS = 3 };

/* How a text is kept. */
enum text_form { TEXT_BYTES, TEXT_UTF8 };

struct kind_form {
    const char *table;
    const char *keys[ROW_KEYS];
    const char *numbers[ROW_NUMBERS];
    struct {
        const char *name;
        enum text_form form;
    } texts[ROW_TEXTS];
    unsigned
        range_keys; /* a range is all rows with the first so many keys; 0: all rows of the table */
    bool has_range;
    const char *range_only; /* what else holds of the rows of a range, or NULL */
};
extern const struct kind_form kind_forms[KINDS];

/* How many there are of each. */
unsigned kind_keys(enum kind kind);
unsigned kind_numbers(enum kind kind);
unsigned kind_texts(enum kind kind);

/* All its columns: keys, numbers, texts. */
void kind_put_columns(struct buf *text, enum kind kind);

/* The statement that locks a row of one key, and makes it first if it is of a kind that must be there for that. */
void kind_put_lock(struct buf *text, enum kind kind, uint64_t key);

/* ---- Which number is which ------------------------------------------------------------------ */

enum user_number {
    USER_VERSION,
    USER_FOLLOWING,
    USER_LIKED_POSTS,
    USER_FAVED_POSTS,
    USER_FOLLOW_FULL_AT,
    USER_REACT_FULL_AT,
    USER_COMMENT_FULL_AT,
    USER_PUBLISH_FULL_AT,
    USER_HISTORY_CLEARED,
    USER_SUBSCRIPTIONS,
    USER_POSITIONS,
    USER_READING_CLEARED,
    USER_QUIET,
};
enum author_number { AUTHOR_POSTS, AUTHOR_DELETED, AUTHOR_LAST_ID, AUTHOR_REMADE, AUTHOR_NUMBERS };
enum post_number {
    POST_AUTHOR,
    POST_NUMBER,
    POST_KIND,
    POST_EDITED,
    POST_REMOVED,
    POST_POSITION,
};
enum post_text { POST_TITLE, POST_EXCERPT, POST_OWN_DATA };
enum scene_number {
    SCENE_STORY,
    SCENE_NUMBER,
    SCENE_MESSAGES,
    SCENE_EDITED,
    SCENE_REMOVED,
    SCENE_POSITION,
};
enum comment_number {
    COMMENT_POST,
    COMMENT_PARENT,
    COMMENT_USER,
    COMMENT_STATUS,
    COMMENT_MODERATED,
    COMMENT_LIKES,
    COMMENT_DOWNS,
    COMMENT_REPLIES,
    COMMENT_LISTED,
    COMMENT_LIST, /* what it is listed under; 0: it is not */
    COMMENT_HEAT,
};
enum stats_number { STATS_KIND, STATS_LIKES, STATS_FAVS, STATS_COMMENTS, STATS_HEAT };
enum counter_number { COUNT_FOLLOWERS, COUNT_POSTS, COUNT_LIKES_RECEIVED, COUNT_FAVS_RECEIVED };
enum pair_number { PAIR_STATUS, PAIR_RANK };
enum pair_status { PAIR_OUTSIDE, PAIR_INSIDE, PAIR_FOLLOWING, PAIR_PAUSED };
enum reaction_number { REACTION_TARGET, REACTION_STAMP };
enum reading_number {
    READING_READ_AT,
    READING_SCENE,
    READING_MESSAGE,
    READING_ENTERED_AT,
    READING_ERASED_AT,
    READING_FIRST,
    READING_CHANGED,
    READING_SHOWN_AT, /* 0: it is not shown */
};

#endif
