/* SPDX-License-Identifier: MIT */
/*
 * The rows of engine/rows.h on LMDB: one row of a table each, in the form of engine/records, and the indexes beside them.
 *
 *     rows.c      the table of functions; users, posts, events, webhooks, what happened once
 *     authors.c   authors' lists, in the table and in memory
 *     pairs.c     pairs and read maps                 journal.c   the reading history, in blocks
 *     targets.c   reactions, counts, comments         stories.c   scenes, shelves, reading positions
 *     post_keys.c what posts are called elsewhere     times.c     times that ids cannot have
 *     names.c     who has which name                  lists.c     all other lists that are read page by page
 */
#ifndef LOCAL_ROWS_H
#define LOCAL_ROWS_H

#include "engine/inbox/tie.h"
#include "engine/local/memory/view.h"
#include "engine/local/rows/keys.h"

extern const struct rows local_rows;

/* ---- Which rows a realm has ----------------------------------------------------------------- */

struct realm_rows {
    uint64_t mark;         /* set in the number that the author's head is kept under */
    enum table lists;      /* the authors' lists: ids by number, deletions */
    enum table followers;  /* who follows, newest first */
    enum user_row inside;  /* pairs with delivered posts or a standing follow */
    enum user_row outside; /* pairs without; 0 where there are none */
    enum user_row map;     /* read maps */
};

/* By enum realm. */
extern const struct realm_rows realm_rows[];

/* A row that is all key. */
static inline void put_mark(struct view *view, enum table table, const struct key *key)
{
    kv_put(txn_of(view), table, key, "", 0);
}

/* Encoded bytes as the value; {NULL, 0} is a lack of memory. */
static inline void put_value(struct view *view, enum table table, const struct key *key,
                             struct bytes value)
{
    if (value.p)
        kv_put(txn_of(view), table, key, value.p, value.n);
    else
        view_fail(view, TIDINGS_NO_MEMORY);
}

/* ---- authors.c ------------------------------------------------------------------------------ */

const struct head *local_get_head(struct view *view, enum realm realm, uint64_t author);
void local_add_number(struct view *view, enum realm realm, uint64_t author, uint64_t id);
void local_add_deletion(struct view *view, enum realm realm, uint64_t author, uint32_t number);
void local_close_story(struct view *view, uint64_t story);

/* ---- pairs.c -------------------------------------------------------------------------------- */

/* The letter of the rows there; 0 if there are none. */
enum user_row pair_row(enum realm realm, enum tie_place place);

bool local_get_pair(struct view *view, struct tie *tie);
void local_put_pair(struct view *view, struct tie *tie);
size_t local_get_pairs(struct view *view, enum realm realm, uint64_t fan, bool heads,
                       struct tie_stored **stored);
bool local_sum_unread(struct view *view, uint64_t fan, struct unread_sum *sum);
bool local_get_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                       struct readmap *map);
uint64_t local_get_read_bits(struct view *view, const struct tie *tie, uint32_t chunk);
void local_put_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                       const struct readmap *map);
bool local_last_read_bits(struct view *view, const struct tie *tie, uint32_t *chunk,
                          uint64_t *bits);

/* ---- targets.c ------------------------------------------------------------------------------ */

struct reaction_record local_get_reaction(struct view *view, uint64_t user, uint64_t target);
void local_put_reaction(struct view *view, uint64_t user, uint64_t target,
                        const struct reaction_record *old, const struct reaction_record *now);
struct counts_record local_get_counts(struct view *view, uint64_t post);
void local_put_counts(struct view *view, uint64_t id, const struct post_record *post,
                      const struct counts_record *old, const struct counts_record *now);
bool local_get_comment(struct view *view, uint64_t id, struct comment_record *comment);
void local_put_comment(struct view *view, uint64_t id, const struct comment_record *old,
                       const struct comment_record *now);
bool local_get_comment_body(struct view *view, uint64_t id, struct bytes *body);
void local_put_comment_body(struct view *view, uint64_t id, struct bytes body);

/* Where a post stands in the hot list of its kind, and a comment among those of its parent. */
struct key post_hot_key(const struct view *view, uint64_t id, const struct post_record *post,
                        const struct counts_record *counts);
struct key comment_hot_key(const struct view *view, uint64_t id,
                           const struct comment_record *comment);

/* ---- stories.c ------------------------------------------------------------------------------ */

bool local_get_scene(struct view *view, uint64_t id, struct scene_record *scene);
void local_put_scene(struct view *view, uint64_t id, const struct scene_record *scene);
bool local_get_messages(struct view *view, uint64_t scene, struct tidings_message **messages,
                        size_t *n);
void local_put_messages(struct view *view, uint64_t scene, const struct tidings_message *messages,
                        size_t n);
void local_give_ids(struct view *view, uint64_t scene, const uint64_t *ids, size_t n);
bool local_was_given(struct view *view, uint64_t scene, uint64_t message);
struct shelf_record local_get_shelf(struct view *view, uint64_t user);
void local_put_shelf(struct view *view, uint64_t user, const struct shelf_record *shelf);
struct position_record local_get_position(struct view *view, uint64_t reader, uint64_t story);
void local_put_position(struct view *view, uint64_t reader, uint64_t story,
                        const struct position_record *position, uint64_t version_before,
                        const struct reading_shown *before, const struct reading_shown *now);

/* ---- names.c -------------------------------------------------------------------------------- */

/* The user's row in the list of names, for a name that is not empty. */
void name_key_of(struct bytes name, uint64_t user, struct name_key *key);

/* The user had that name and has the other now. */
void local_rename(struct view *view, uint64_t user, struct bytes before, struct bytes now);
size_t local_find_names(struct view *view, struct bytes prefix, const struct name_place *after,
                        size_t most, uint64_t *users);

/* ---- post_keys.c ---------------------------------------------------------------------------- */

uint64_t local_get_key(struct view *view, enum key_kind kind, struct bytes key);
void local_put_key(struct view *view, enum key_kind kind, struct bytes key, uint64_t id);

/* The key of a post; {NULL, 0} if it has none. */
struct bytes local_key_of(struct view *view, uint64_t post);

/* ---- times.c -------------------------------------------------------------------------------- */

bool local_get_time(struct view *view, uint64_t id, int64_t *ms);
void local_put_time(struct view *view, uint64_t id, int64_t ms);

/* The time in a row of ROW_TIME; false if the row cannot be one. */
bool time_row_decode(struct bytes key, struct bytes value, int64_t *ms);

/* ---- lists.c -------------------------------------------------------------------------------- */

bool local_has_stamp(struct view *view, const struct list *list, uint64_t stamp);
struct history_entry local_newest_history(struct view *view, uint64_t reader);
size_t local_get_list(struct view *view, const struct list *list, struct tidings_cursor after,
                      size_t most, struct place *places);

#endif
