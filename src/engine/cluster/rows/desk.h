/* SPDX-License-Identifier: MIT */
/*
 * Where a batch of operations is worked on: a connection, the sheet of rows, lists that were asked for. Each lane and each reader
 * has one, for its thread alone; the heads of authors they share.
 */
#ifndef CLUSTER_ROWS_DESK_H
#define CLUSTER_ROWS_DESK_H

#include "engine/clock.h"
#include "engine/cluster/rows/bits.h"
#include "engine/cluster/rows/copies.h"
#include "engine/cluster/rows/current.h"
#include "engine/cluster/rows/ids.h"
#include "engine/cluster/rows/known.h"
#include "engine/cluster/rows/sheet.h"
#include "engine/view.h"
#include "sql/sql.h"

/* What rows that an operation reads, and does not change under its user's lock, are locked with while it changes others. */
enum hold { HOLD_NOTHING, HOLD_SHARED, HOLD_ALONE };

/* What an operation needs to know of heads: how many posts there are; which are deleted, too; all ids besides. */
enum need { NEED_COUNTS, NEED_DELETIONS, NEED_IDS };

/* A question whose answer is not rows by their keys: a page of a list or of events, or a count. */
struct question {
    struct question *next;
    size_t call; /* whose it is */
    enum { ASKS_LIST, ASKS_NAMES, ASKS_EVENTS, ASKS_OLD_EVENTS, ASKS_NEWS, ASKS_DEAD } what;
    struct list list;
    struct bytes prefix; /* ASKS_NAMES */
    struct name_place behind;
    struct tidings_cursor after;
    uint64_t up_to;  /* ASKS_NEWS: the slot whose events are left out */
    uint64_t wanted; /* bits of event types */
    size_t most;
    bool answered;
    size_t n;
    struct place *places;
    struct tidings_event *events;
};

/* Posts and deletions behind those that are known. */
struct wanted_head {
    struct known_key key;
    uint32_t from_ids, to_ids;
    uint32_t from_deleted, to_deleted;
};

struct desk {
    struct sql *sql;
    struct ids *ids;
    struct clock *clock;
    int64_t clocks_apart_ms; /* that servers may be apart */
    struct sheet sheet;
    struct known *known; /* the server's */
    struct known_guest guest;
    struct copies *copies;   /* the server's, too */
    struct current *current; /* and these */
    struct bits *bits;
    uint64_t recalls_at; /* answers come from memory, as of that position; 0: they do not */
    struct wanted_head *wanted_heads; /* what an operation needs of them and is not known */
    size_t n_wanted_heads, wanted_heads_room;
    struct known_key *torn; /* heads of which rows are missing, as the batch has found */
    size_t n_torn, torn_room;
    struct arena scratch;
    struct buf text; /* of the statements under way */
    struct question *questions;
    uint64_t least_version; /* of users: what was newest where facts were imported from */
    bool reads;             /* one snapshot, nothing is changed */
    int64_t silent_ms;      /* a server that takes longer for an answer is lost */
    int64_t longest_ms;     /* the server itself gives up a statement that takes longer; 0: none */
    unsigned slot;          /* changing: whose events these are */
    enum hold hold;         /* changing */

    /* Of a batch that changes. Positions are counted from the one that the commit finds. */
    struct tidings_event *events;
    size_t n_events, events_room;
    uint64_t n_positions;
    struct news news;
};

struct desk_view {
    struct view view;
    struct desk *desk;
    enum tidings_err err;
    size_t call;    /* the operation's number in the batch */
    uint64_t actor; /* whose user row is locked; 0: nobody's */
    bool
        importing; /* all users' rows are its own, and it goes on behind what fails for want of rows */
    bool incomplete; /* something was not at hand: load what is wanted, and run it again */
    enum need need;
    uint64_t last_id;
    uint64_t n_ids;  /* taken besides the operation's own */
    size_t n_events; /* the batch's when the operation began */
    uint64_t n_positions;
};

static inline struct desk_view *desk_view(struct view *view)
{
    return (struct desk_view *)view;
}

extern const struct rows cluster_rows;
extern const struct move_target cluster_target;

/* A position that is given when the batch is committed: so many behind the last one. */
#define POSITION_LATER ((uint64_t)1 << 63)

/* ---- load.c --------------------------------------------------------------------------------- */

/* Loads all that is wanted in one round trip, behind the statements that stand in desk->text already, of which there are so many. */
enum sql_outcome desk_load(struct desk *desk, unsigned n_before);

/* The condition that the first `keys` keys are those of one of the rows, which are of one kind: (a,b) IN ((1,2),(3,4)). The
 * server searches that list; terms with OR between them it would compare with every row, one after the other. It weighs every
 * index there is for each of them, too: hence FORCE INDEX (PRIMARY) where this is used. */
void desk_put_keys(struct buf *text, struct row **rows, size_t n, unsigned keys);

/* ---- write.c -------------------------------------------------------------------------------- */

/* Puts the statements together that write what has changed; false if there is nothing, or no memory for it. */
bool desk_write(struct desk *desk);

/* ---- lists.c -------------------------------------------------------------------------------- */

size_t cluster_get_list(struct view *view, const struct list *list, struct tidings_cursor after,
                        size_t most, struct place *places);
size_t cluster_find_names(struct view *view, struct bytes prefix, const struct name_place *after,
                          size_t most, uint64_t *users);
size_t cluster_get_events(struct view *view, uint64_t after, size_t most,
                          struct tidings_event *events);
uint64_t cluster_count_old_events(struct view *view, uint64_t after, uint64_t up_to,
                                  uint64_t wanted);
/* The statement that answers it, and its answer. */
void question_put(struct desk *desk, const struct question *question);
void question_take(struct desk *desk, struct question *question);

/* ---- authors.c ------------------------------------------------------------------------------ */

/* Brings together what is wanted of the same head more than once. */
void desk_sort_wanted_heads(struct desk *desk);
/* Rows of it are missing: what needs them fails, rather than ask again. False if memory is short. */
bool desk_tear(struct desk *desk, struct known_key key);
const struct head *cluster_get_head(struct view *view, enum realm realm, uint64_t author);
void cluster_add_number(struct view *view, enum realm realm, uint64_t author, uint64_t id);
void cluster_add_deletion(struct view *view, enum realm realm, uint64_t author, uint32_t number);
void cluster_close_story(struct view *view, uint64_t story);
void cluster_put_head(struct view *view, enum realm realm, uint64_t author,
                      const struct head *head);
void cluster_put_deletions(struct view *view, enum realm realm, uint64_t author,
                           const uint32_t *numbers, uint32_t first, uint32_t n);
uint32_t cluster_posts_by(struct view *view, const struct head *head,
                          const struct tidings_moment *at);

/* ---- pairs.c -------------------------------------------------------------------------------- */

bool cluster_get_pair(struct view *view, struct tie *tie);
void cluster_put_pair(struct view *view, struct tie *tie);
/* The columns beside the packed pair, which follow from it. */
void cluster_pair_columns(const struct tie *tie, uint64_t numbers[ROW_NUMBERS]);
bool cluster_sum_unread(struct view *view, uint64_t fan, struct unread_sum *sum);
size_t cluster_get_pairs(struct view *view, enum realm realm, uint64_t fan, bool heads,
                         struct tie_stored **out);
/* The batch is committed: copies of its users' pairs follow. */
void desk_put_copies(struct desk *desk);
bool cluster_get_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                         struct readmap *map);
uint64_t cluster_get_read_bits(struct view *view, const struct tie *tie, uint32_t chunk);
void cluster_put_readmap(struct view *view, const struct tie *tie, uint32_t chunk,
                         const struct readmap *map);
bool cluster_last_read_bits(struct view *view, const struct tie *tie, uint32_t *chunk,
                            uint64_t *bits);

/* ---- post_keys.c ---------------------------------------------------------------------------- */

/* The keys of the row of a key; false if it can be none. */
bool cluster_key_row(enum key_kind kind, struct bytes key, uint64_t row[ROW_KEYS]);
uint64_t cluster_get_key(struct view *view, enum key_kind kind, struct bytes key);
void cluster_put_key(struct view *view, enum key_kind kind, struct bytes key, uint64_t id);
struct bytes cluster_get_post_key(struct view *view, uint64_t post);

/* ---- Rows, for the files above -------------------------------------------------------------- */

/* The value; NULL: not at hand. A row whose first key is 0 does not exist. */
const struct value *desk_get(struct view *view, enum kind kind, uint64_t a, uint64_t b, uint64_t c);
void desk_put(struct view *view, enum kind kind, uint64_t a, uint64_t b, uint64_t c,
              const struct value *value);

#endif
