/* SPDX-License-Identifier: MIT */
/*
 * Keys in Redis for others to read (docs/FORMAT.md has their form): counts of users, whom they follow and who follows them.
 *
 *     ucnt:42        seven counts, and the position of the news that they are of
 *     uf:flws:42     the newest 1,000 whom 42 follows, by the time of the follow
 *     uf:fans:42     the newest 1,000 who follow 42
 *     rl:follow:42   42 has no token left to follow with; there until the next one comes
 *
 * A key may be missing; it must not be old. They are written by two: whoever was asked about a user *fills* what is missing, on any server;
 * and one server goes through the events and renews what is there (copier.c). So that what was read before an event is not
 * written behind it, filling takes a *right* first, `{ucnt:42}:fill`, then reads, and may write only as long as the right
 * stands. Who renews takes all rights away before it looks what is there. A right carries the run id of the Redis process: in a replica that
 * was promoted it counts for nothing. Counts that are there are replaced by those of a later position, never by
 * those of an earlier one, whoever comes with them; lists are removed and filled again.
 *
 * For one thread. All functions take as long as MEMORY_WAIT_MS for each question at most.
 */
#ifndef CLUSTER_MIRROR_H
#define CLUSTER_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "sql/sql.h"

struct redis;
struct redis_options;

enum mirror_kind { MIRROR_COUNTS, MIRROR_FOLLOWING, MIRROR_FOLLOWERS, MIRROR_KINDS };

enum {
    MIRROR_MAX = 1024,      /* copies in a call */
    MIRROR_LISTS_MAX = 16,  /* lists among those that are filled */
    MIRROR_LIST_MAX = 1000, /* members of a list */
    MIRROR_NUMBERS = 7,     /* counts of a user, in the order of the key: S3's five, and our two */
    MIRROR_BYTES = MIRROR_NUMBERS * 4 + 8,
};

struct mirror_member {
    uint64_t user;
    int64_t since_ms;
};

struct mirror_copy {
    enum mirror_kind kind;
    uint64_t user;
    bool wanted;       /* of those that are asked about: there is something to do */
    uint64_t position; /* counts: of which they are */
    uint64_t counts[MIRROR_NUMBERS];
    size_t n_members;
    struct mirror_member *members; /* of a list; whoever has read them owns them */
};

struct mirror;

/* NULL, and why, if the options make no sense. */
struct mirror *mirror_open(const struct redis_options *options, const char **message);
void mirror_close(struct mirror *mirror);

/* Of the last function that returned false. */
const char *mirror_trouble(const struct mirror *mirror);
/* Whether a key was found in another process than before since this was last asked: its last writes may be lost. */
bool mirror_was_replaced(struct mirror *mirror);

/* ---- Renewing: false if that could not be done for all of them ---------------------------------- */

/* Nobody may write any more what was read before. */
bool mirror_cancel(struct mirror *mirror, const struct mirror_copy *all, size_t n);
/* Counts: wanted are those that are there, and older than that position. */
bool mirror_look(struct mirror *mirror, struct mirror_copy *all, size_t n, uint64_t position);
/* Replaces the wanted ones that are still there, unless those are newer. */
bool mirror_renew(struct mirror *mirror, const struct mirror_copy *all, size_t n);
/* They are gone; wanted are those that were there. */
bool mirror_remove(struct mirror *mirror, struct mirror_copy *all, size_t n);

/* ---- Filling: what cannot be filled stays missing -------------------------------------------- */

/* Wanted are those that are missing. */
void mirror_find_missing(struct mirror *mirror, struct mirror_copy *all, size_t n);
/* Of the wanted ones those stay wanted that this mirror got the right to fill. What is written must be read after this. */
void mirror_claim(struct mirror *mirror, struct mirror_copy *all, size_t n);
/* Writes the wanted ones, as far as the right still stands; how many were. */
size_t mirror_store(struct mirror *mirror, const struct mirror_copy *all, size_t n);

/* The user has no token left for so long. */
void mirror_refuse(struct mirror *mirror, const uint64_t *users, const int64_t *left_ms, size_t n);

/* For who goes through all keys. */
struct redis *mirror_redis(struct mirror *mirror);
/* The key's name, if it is one of ours; and the other way round. */
bool mirror_parse(struct bytes name, enum mirror_kind *kind, uint64_t *user);
enum { MIRROR_NAME_MAX = 48 };
void mirror_name(enum mirror_kind kind, uint64_t user, char name[MIRROR_NAME_MAX]);

/* ---- What MySQL has (mirror_rows.c) ------------------------------------------------------------ */

struct desk;

/* The wanted ones, all in one snapshot. Members are in the desk's scratch memory. */
enum sql_outcome mirror_read(struct desk *desk, struct mirror_copy *all, size_t n);

#endif
