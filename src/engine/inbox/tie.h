/* SPDX-License-Identifier: MIT */
/*
 * The tie between a fan and an author: the stored pair, the author's head, and the read maps, put
 * together. The inbox is not stored; it is what follows from ties:
 *
 *     delivered = the pair's spans
 *     deleted   = the head's deletions
 *     read      = the read maps
 *     unread    = delivered, not deleted, not read
 *
 * Counting it does not look at single posts: the pair holds how many are read (reads_in, reads_out)
 * and how many of these were deleted, up to the author's deletion number `settled`; only later
 * deletions are looked up. Every change to a pair settles it.
 */
#ifndef INBOX_TIE_H
#define INBOX_TIE_H

#include "engine/view.h"

/* Where a pair is kept: among those with posts delivered or a standing follow, which are looked at together, or apart. */
enum tie_place { TIE_NOWHERE, TIE_INSIDE, TIE_OUTSIDE };

struct tie {
    enum realm realm;
    uint64_t fan;
    uint64_t author;
    const struct head *head;
    enum tie_place stored; /* where the pair lies */
    uint64_t
        listed; /* the rank under which the author's followers list the fan; 0 if they do not */
    struct skips *skips; /* decoded when first needed, in the scratch arena */
    struct pair pair;
};

/* ---- Loading -------------------------------------------------------------------------------- */

/* The tie, empty if nothing is stored. Ties must not be copied. On failure the view fails. */
void tie_load(struct view *view, enum realm realm, uint64_t fan, uint64_t author, struct tie *tie);

/* For an engine: the pair of a tie out of its bytes; where they lie, and the head, is the caller's. */
void tie_unpack(struct view *view, struct bytes value, struct tie *tie);

/* For an engine: where the pair belongs now, and the rank under which followers list it now, or 0. */
enum tie_place tie_belongs(const struct tie *tie);

static inline uint64_t tie_rank(const struct tie *tie)
{
    return tie->pair.following ? tie->pair.rank : 0;
}

/* For an engine: the bytes of the pair, in the scratch arena; {NULL, 0} if memory is short. */
struct bytes tie_pack(struct view *view, struct tie *tie);

/* The tie to the author from among *n settled ones, or loaded, settled and added to them. NULL if
 * memory is short. */
struct tie *tie_among(struct view *view, enum realm realm, uint64_t fan, uint64_t author,
                      struct tie **ties, size_t *n);

/* A pair as it is stored, with the author's head: enough to know how new its posts may be. */
struct tie_stored {
    uint64_t author;
    const struct head *head;
    struct bytes value;
};

/* All pairs of a fan with posts delivered, or a standing follow, by author id; in the scratch
 * arena. */
static inline size_t tie_scan(struct view *view, enum realm realm, uint64_t fan,
                              struct tie_stored **stored)
{
    return view->rows->get_pairs(view, realm, fan, true, stored);
}

/* The tie of a stored pair. */
void tie_decode(struct view *view, enum realm realm, uint64_t fan, const struct tie_stored *stored,
                struct tie *tie);

/* All of tie_scan's, decoded; and settled, too: a change may be made to each. */
size_t tie_list(struct view *view, enum realm realm, uint64_t fan, struct tie **ties);
size_t tie_settle_all(struct view *view, enum realm realm, uint64_t fan, struct tie **ties);

/* A standing follow. */
struct tie_follow {
    uint64_t rank;
    uint64_t author;
};

/* The fan's standing follows that began before the rank `after`, or all if that is 0; the newest `most` of them, newest
 * first, in the scratch arena. */
size_t tie_follows(struct view *view, enum realm realm, uint64_t fan, uint64_t after, size_t most,
                   struct tie_follow **follows);

/* ---- Counting ------------------------------------------------------------------------------- */

/* Posts delivered, not deleted, not read. */
uint64_t tie_unread(struct view *view, const struct tie *tie);

/* Posts read and not deleted, delivered or not. */
uint64_t tie_read_alive(struct view *view, const struct tie *tie);

struct tie_count {
    uint64_t author;
    uint64_t unread;
    bool following;
};

/* What is unread of a stored pair. */
struct tie_count tie_count_stored(struct view *view, enum realm realm, uint64_t fan,
                                  const struct tie_stored *stored);

/* What is unread, author by author, for all of the inbox's pairs. */
size_t tie_counts(struct view *view, uint64_t fan, struct tie_count **counts);

/* ---- Single posts --------------------------------------------------------------------------- */

static inline bool tie_has(const struct tie *tie, uint32_t seq)
{
    return pair_has(&tie->pair, seq);
}

/* The stamp of the first reading, or 0. */
uint64_t tie_read_stamp(struct view *view, const struct tie *tie, uint32_t seq);

/*
 * The newest post with a number below `bound` that is in scope and passes the filter: its number +
 * 1, or 0 if there is none. Runs of posts all read or deleted are passed by (struct skips), and
 * posts without a read map are not looked for when only read ones are wanted.
 */
uint32_t tie_search(struct view *view, struct tie *tie, enum scope scope,
                    enum tidings_filter filter, uint32_t bound);

/* ---- Changing ------------------------------------------------------------------------------- */

/* Accounts for the author's latest deletions. Before any other change. */
void tie_settle(struct view *view, struct tie *tie);

/* Marks everything unread with a number below `bound`; how many. If there was any, the pair is to be saved. */
uint64_t tie_mark_below(struct view *view, struct tie *tie, uint32_t bound);

/* Writes the pair, or removes it if it says nothing any more. */
static inline void tie_save(struct view *view, struct tie *tie)
{
    view->rows->put_pair(view, tie);
}

/* The 64 posts around `seq`; empty if none of them is read. */
void tie_readmap(struct view *view, const struct tie *tie, uint32_t seq, struct readmap *map);

/* Writes them back, and brings the pair's counts and skips up to date with the change from
 * `read_before`. The pair must be settled and not yet saved. */
void tie_put_readmap(struct view *view, struct tie *tie, uint32_t seq, const struct readmap *map,
                     uint64_t read_before);

#endif
