/* SPDX-License-Identifier: MIT */
/*
 * What one fan has to do with one author: what was delivered, and how much of it is read. Everything here follows from
 * the pair and the author's head alone; what also needs the read maps is in engine/inbox/tie.h. docs/ARCHITECTURE.md
 * explains the formulae.
 */
#ifndef DOMAIN_PAIR_H
#define DOMAIN_PAIR_H

#include "base/bytes.h"
#include "domain/head.h"
#include "domain/spans.h"

enum { PAIR_INLINE_SPANS = 3, PAIR_SKIPS_MAX = 16 };

/*
 * D is the set of the author's deleted posts; the first `settled` deletions are accounted for in
 * the dead_ counts, later ones must be looked up.
 */
struct pair {
    bool following;     /* or: subscribed to the story, and told of it */
    bool paused;        /* stories only: subscribed, and not told for now; never with following */
    uint64_t rank;      /* id of the following operation, if following: its place in the lists */
    uint32_t settled;   /* deletions accounted for; 0 while nothing is read */
    uint32_t reads_in;  /* posts read, among those delivered */
    uint32_t dead_in;   /* of these, deleted */
    uint32_t reads_out; /* posts read, not delivered */
    uint32_t dead_out;  /* of these, deleted */
    uint32_t n_spans;   /* delivered; the last is open if following */
    struct span *spans; /* inline, or in the arena of the decoder */
    struct span inline_spans[PAIR_INLINE_SPANS];
    struct bytes skips; /* encoded; see struct skips */
};

static inline bool pair_has_reads(const struct pair *pair)
{
    return pair->reads_in || pair->reads_out;
}

/* Whether the pair follows, or would if it were not paused. */
static inline bool pair_stands(const struct pair *pair)
{
    return pair->following || pair->paused;
}

static inline bool pair_has(const struct pair *pair, uint32_t seq)
{
    return spans_has(pair->spans, pair->n_spans, seq);
}

/* ---- Counting ------------------------------------------------------------------------------- */

/* Posts delivered, deleted ones too. */
uint64_t pair_delivered(const struct pair *pair, const struct head *head);

/* Posts that are read and were deleted later than the pair was settled: among those delivered, and not. */
struct unsettled {
    uint32_t in;
    uint32_t out;
};

/* Posts delivered, not deleted, not read. False if the pair contradicts itself. */
bool pair_unread(const struct pair *pair, const struct head *head, struct unsettled later,
                 uint64_t *unread);

/* Posts read and not deleted, delivered or not. False if the pair contradicts itself. */
bool pair_read_alive(const struct pair *pair, struct unsettled later, uint64_t *alive);

/* What a count needs of a pair while its author has deleted nothing. */
struct pair_sum {
    bool following;
    int64_t unread; /* delivered less read, if the author had 0 posts: below 0 while following */
};

/* With that many posts of the author, none of them deleted. Below 0: the pair is damaged. */
static inline int64_t pair_sum_unread(struct pair_sum sum, uint32_t n_posts)
{
    return sum.unread + (sum.following ? (int64_t)n_posts : 0);
}

/* ---- Searching ------------------------------------------------------------------------------ */

/* Which of an author's posts a list is about. */
enum scope {
    SCOPE_INBOX,  /* those delivered, deleted ones too */
    SCOPE_AUTHOR, /* those not deleted */
    SCOPE_ALIVE,  /* those delivered and not deleted */
};

/* Bit i is set if the post numbered first + i is in scope. */
uint64_t pair_mask(const struct pair *pair, const struct head *head, enum scope scope,
                   uint32_t first);

/* One more than the greatest number below `bound` that may be in scope; 0 if there is none. */
uint32_t pair_top(const struct pair *pair, enum scope scope, uint32_t bound);

/* The same of the greatest that is. */
uint32_t pair_search(const struct pair *pair, const struct head *head, enum scope scope,
                     uint32_t bound);

/*
 * Chunks of 64 posts of which every one is read or deleted: a hint that lets a search for the
 * unread pass them by. A chunk that could be here and is not costs time only.
 */
struct skips {
    size_t n;
    struct span at[PAIR_SKIPS_MAX + 1];
};

/* Lists the chunk, or takes it out, if need be: `read` are the posts of it that are read. */
void skips_update(struct skips *skips, const struct head *head, uint32_t chunk, uint64_t read);

/* ---- Changing: after settling, which tie.h does --------------------------------------------- */

/* Begins or ends the following: what is published from now on is delivered, or not any more. What
 * is ended and begun again with nothing published in between is one span. The spans have room for one more. */
void pair_open(struct pair *pair, const struct head *head, uint64_t rank);
void pair_close(struct pair *pair, const struct head *head);

/* Ends it and remembers that it stands: pair_open with the same rank goes on. */
void pair_pause(struct pair *pair, const struct head *head);

/* Everything delivered leaves; what was read stays read, but no longer counts as delivered. How many left. */
uint64_t pair_purge(struct pair *pair, const struct head *head);

void pair_settle(struct pair *pair, const struct head *head, struct unsettled later);

/* The posts of the chunk that are read changed from `before` to `now`. */
void pair_count_reads(struct pair *pair, uint32_t chunk, uint64_t before, uint64_t now);

#endif
