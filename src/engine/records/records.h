/* SPDX-License-Identifier: MIT */
/*
 * What is stored of each kind of thing: as a struct, which the rules work on (engine/view.h), and packed into bytes,
 * for whoever stores it so. Every record here begins with a byte whose high
 * half is its version and whose low half holds flags. Decoders take any bytes: they answer false rather
 * than trust a length, a count or an order. docs/FORMAT.md is the same list in prose.
 */
#ifndef RECORDS_RECORDS_H
#define RECORDS_RECORDS_H

#include "base/arena.h"
#include "domain/pair.h"
#include "domain/readmap.h"
#include "tidings.h"

/* ---- A user: counters and small facts ------------------------------------------------------- */

/* field: the counters of SPEC section 2 in its order, then the rest */
#define USER_FIELDS(X)                                                \
    X(following)                                                      \
    X(followers)                                                      \
    X(posts)                                                          \
    X(liked_posts)                                                    \
    X(faved_posts)                                                    \
    X(likes_received)                                                 \
    X(favs_received)                                                  \
    X(follow_full_at)  /* the follow bucket; see domain/bucket.h */   \
    X(history_cleared) /* stamp: history entries up to it are gone */ \
    X(react_full_at)   /* the bucket of reactions, ... */             \
    X(comment_full_at) /* ... and of comments */

struct user_record {
#define X(field) uint64_t field;
    USER_FIELDS(X)
#undef X
    uint64_t publish_full_at; /* the bucket of posts; stored only if it is not 0 */
};

#define X(field) +1
enum { USER_RECORD_MAX = 1 + 10 * (0 USER_FIELDS(X) + 1) };
#undef X

size_t user_encode(const struct user_record *user, uint8_t to[USER_RECORD_MAX]);
bool user_decode(struct bytes from, struct user_record *user);

/* ---- A profile ------------------------------------------------------------------------------ */

struct profile_record {
    struct bytes name;
    struct bytes avatar;
    struct bytes extra; /* empty: none */
};

struct bytes profile_encode(const struct profile_record *profile, struct arena *arena);
bool profile_decode(struct bytes from, struct profile_record *profile);

/* ---- A pair: what one fan has to do with one author ----------------------------------------- */

/*
 * The spans may point into the struct itself: do not copy a decoded pair. What does not fit goes to
 * the arena; `from` must outlive the skips. room is how many spans more the caller may add.
 */
bool pair_decode(struct bytes from, struct arena *arena, struct pair *pair, uint32_t room);

/* When the standing follow began, without the rest of the pair; 0 if there is none. False if it cannot be decoded. */
bool pair_rank(struct bytes from, uint64_t *rank);

/* The sum of a pair without building it. False if it cannot be decoded. */
bool pair_sum(struct bytes from, struct pair_sum *sum);

/* Answers {NULL, 0} if memory is short. */
struct bytes pair_encode(const struct pair *pair, struct arena *arena);

/* The skips of a decoded pair. */
bool pair_skips(const struct pair *pair, struct skips *skips);

/* `to` must have room for SKIPS_BYTES_MAX and stay until the pair is encoded. */
enum { SKIPS_BYTES_MAX = 1 + PAIR_SKIPS_MAX * 2 * 5 };
void pair_set_skips(struct pair *pair, const struct skips *skips, uint8_t to[SKIPS_BYTES_MAX]);

/* ---- 64 posts' read state ------------------------------------------------------------------- */

enum { READMAP_RECORD_MAX = 1 + 3 * 8 + 2 * READMAP_POSTS * (9 + 1) };

size_t readmap_encode(const struct readmap *map, uint8_t to[READMAP_RECORD_MAX]);
bool readmap_decode(struct bytes from, struct readmap *map);

/* Only which are read: for searches that need no times. */
bool readmap_decode_bits(struct bytes from, uint64_t *read);

/* ---- A block of the reading history --------------------------------------------------------- */

/* Sorted by stamp, then by post. */
struct history_entry {
    uint64_t stamp;
    uint64_t post;
};

static inline bool history_before(struct history_entry a, struct history_entry b)
{
    return a.stamp != b.stamp ? a.stamp < b.stamp : a.post < b.post;
}

/*
 * A block is full at that many bytes: each new entry writes them again, so their number is what counts, not that of the
 * entries. An entry takes 1 ... 18.
 */
enum { HISTORY_FULL = 128, HISTORY_ENTRIES_MAX = HISTORY_FULL, HISTORY_RECORD_MAX = 128 + 18 };

/* Oldest first; none is there twice. The first one is the row's key and not in its value. */
struct history_block {
    size_t n;
    struct history_entry at[HISTORY_ENTRIES_MAX];
};

/* Of the first of these, as many as a block takes; how many. */
size_t history_encode(const struct history_entry *entries, size_t n, uint8_t to[HISTORY_RECORD_MAX],
                      size_t *bytes);

/* The same behind the last one of a block that is there already, without writing all of it anew. */
size_t history_append(uint8_t to[HISTORY_RECORD_MAX], size_t *bytes, struct history_entry last,
                      const struct history_entry *entries, size_t n);

bool history_decode(struct bytes from, struct history_entry oldest, struct history_block *block);

/* ---- A post --------------------------------------------------------------------------------- */

struct post_record {
    bool deleted;
    enum tidings_post_kind kind;
    uint64_t author;
    uint32_t seq;     /* its number among the author's posts */
    uint64_t edited;  /* stamp, or 0 */
    uint64_t removed; /* stamp of the deleting, or 0 */
    struct bytes title;
    struct bytes excerpt;
    struct bytes extra; /* empty: none */
};

struct bytes post_encode(const struct post_record *post, struct arena *arena);
bool post_decode(struct bytes from, struct post_record *post);

/* ---- Reactions, comments and counts (records_react.c) --------------------------------------- */

enum { REACTIONS = TIDINGS_DOWNVOTE + 1 };

/* What one user thinks of one post or comment. Without any reaction there is no row. */
struct reaction_record {
    enum tidings_target target;
    uint64_t stamp[REACTIONS]; /* since when, by enum tidings_reaction; 0: not */
};

enum { REACTION_RECORD_MAX = 1 + 3 * 7 };

size_t reaction_encode(const struct reaction_record *reaction, uint8_t to[REACTION_RECORD_MAX]);
bool reaction_decode(struct bytes from, struct reaction_record *reaction);

/* A post's counts. A post of which all are 0 has no row. No count of these records is above
 * HEAT_COUNT_MAX. */
struct counts_record {
    uint64_t likes;
    uint64_t favs;
    uint64_t comments; /* visible, at every depth */
};

enum { COUNTS_RECORD_MAX = 1 + 3 * 10 };

size_t counts_encode(const struct counts_record *counts, uint8_t to[COUNTS_RECORD_MAX]);
bool counts_decode(struct bytes from, struct counts_record *counts);

struct comment_record {
    enum tidings_comment_status status;
    bool moderated; /* the status is a moderator's word, if it is not deleted */
    uint64_t post;
    uint64_t parent; /* a comment, or 0 */
    uint64_t user;
    uint64_t likes;
    uint64_t downs;
    uint64_t replies; /* direct and visible */
    uint64_t listed;  /* direct, and in the lists: visible, hidden, or deleted with such replies */
};

enum { COMMENT_RECORD_MAX = 1 + 3 * 7 + 4 * 10 };

size_t comment_encode(const struct comment_record *comment, uint8_t to[COMMENT_RECORD_MAX]);
bool comment_decode(struct bytes from, struct comment_record *comment);

/* The settings that stored order and states were made with, in the order of rules_of(). */
enum { RULES = 9 };

struct rules_record {
    uint64_t value[RULES];
    uint8_t stage;  /* of the work that a change of them makes; see reheat.c */
    uint64_t place; /* ids up to it are done with, in that stage */
};

enum { RULES_RECORD_MAX = 1 + RULES * 10 + 1 + 10 };

size_t rules_encode(const struct rules_record *rules, uint8_t to[RULES_RECORD_MAX]);
bool rules_decode(struct bytes from, struct rules_record *rules);

/* ---- What happened once --------------------------------------------------------------------- */

enum { ONCE_BYTES = 16 };

struct once_record {
    uint64_t stamp;
    const uint8_t *fingerprint; /* ONCE_BYTES of them */
    struct bytes answer;
};

struct bytes once_encode(const struct once_record *once, struct arena *arena);
bool once_decode(struct bytes from, struct once_record *once);

/*
 * Tickets that a user has used lately. They are kept as if they were an answer, under a key that nobody else's can be, so that
 * they are forgotten as answers are.
 */
struct spent_ticket {
    uint8_t name[TIDINGS_TICKET_BYTES];
    int64_t until_ms;
};

struct spent_record {
    size_t n;
    struct spent_ticket at[TIDINGS_TICKETS_MAX];
};

enum { SPENT_RECORD_MAX = TIDINGS_TICKETS_MAX * (TIDINGS_TICKET_BYTES + 8) };

/* The key; and whether it is that one. */
extern const uint8_t once_tickets[ONCE_BYTES];
bool once_is_tickets(const uint8_t key[ONCE_BYTES]);

size_t spent_encode(const struct spent_record *spent, uint8_t to[SPENT_RECORD_MAX]);
bool spent_decode(struct bytes from, struct spent_record *spent);

/* ---- A webhook ------------------------------------------------------------------------------ */

/* field: as in struct tidings_webhook; the position goes back to dead_from when it is tried anew */
#define WEBHOOK_FIELDS(X)                                                         \
    X(position)                                                                   \
    X(dead_from) /* 0, or where the first event given up since a success began */ \
    X(retry_at)                                                                   \
    X(failing_since)                                                              \
    X(waiting_since)                                                              \
    X(attempts)                                                                   \
    X(delivered)                                                                  \
    X(failed)                                                                     \
    X(dead)

struct webhook_record {
    bool disabled;
    uint64_t generation; /* stamp of what last changed it besides reports */
    uint64_t created;    /* stamp */
#define X(field) uint64_t field;
    WEBHOOK_FIELDS(X)
#undef X
    struct bytes url;
    struct bytes secret;
    struct bytes last_error;
    uint64_t events;  /* bits; 0: what has a tag */
    uint64_t rotated; /* elapsed ms when the old secret was replaced; 0 without one */
    struct bytes old_secret;
    /* Of a consumer: its target can be made anew out of what the engine has; and the stamp of the wish that it be. 0: none. */
    bool fills;
    uint64_t rebuild;
};

/* ---- A dead letter, and what a target's letters have in common -------------------------------- */

struct letter_record {
    bool again;     /* it is to be told again */
    uint64_t noted; /* stamp */
    struct bytes reason;
};

struct letters_record {
    uint64_t kept, again, lost; /* as in struct tidings_webhook */
    bool reconciles;
    uint64_t reconcile; /* stamp of the wish; 0: none */
};

/* Answer {NULL, 0} if memory is short. */
struct bytes letter_encode(const struct letter_record *letter, struct arena *arena);
bool letter_decode(struct bytes from, struct letter_record *letter);
struct bytes letters_encode(const struct letters_record *letters, struct arena *arena);
bool letters_decode(struct bytes from, struct letters_record *letters);

struct bytes webhook_encode(const struct webhook_record *webhook, struct arena *arena);
bool webhook_decode(struct bytes from, struct webhook_record *webhook);

/* ---- An event ------------------------------------------------------------------------------- */

enum { EVENT_RECORD_MAX = 2 + 3 * 10 + 10 + 10 + 1 };

/* All but the event's id, which is its key, and its time, which is in the id. */
size_t event_encode(const struct tidings_event *event, uint8_t to[EVENT_RECORD_MAX]);
bool event_decode(struct bytes from, struct tidings_event *event);
/* Those too that are never kept. */
bool event_decode_any(struct bytes from, struct tidings_event *event);

#endif
