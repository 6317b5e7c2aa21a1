/* SPDX-License-Identifier: MIT */
/*
 * The authors' heads in memory: every author's post ids and deletions, 8 bytes a post. They answer
 * "what has this author published" at the speed of memory, for any snapshot that a reader can have.
 *
 * A committed head never changes. A publishing or deleting makes a new version, stamped with the
 * number of the batch that does it and linked to the version before; a reader walks to the
 * newest version that its snapshot knows. So an answer mixes no two moments, no reader ever waits or
 * tries again, and an aborted transaction just takes its versions back. Versions share the arrays
 * that only grow at their end.
 *
 * One writer at a time. What a version supersedes is freed when no reader can reach it any more:
 * readers announce the epoch they came in, the writer frees what was retired before all of them came.
 */
#ifndef LOCAL_HEADS_H
#define LOCAL_HEADS_H

#include <stdatomic.h>

#include "domain/head.h"

/*
 * A story has a head too: its scenes are to it what posts are to their author. Both kinds are kept
 * in one place, under numbers that cannot be mixed up, so that an answer about both is of one
 * moment.
 */
#define HEAD_STORY (UINT64_C(1) << 63) /* | the story's id: `author` of its head */

struct heads;

/* NULL if memory is short. */
struct heads *heads_new(void);
void heads_free(struct heads *heads);

/* The author's head in the snapshot `version`; an empty one if the author has published nothing. It
 * lives as long as the reader's announcement, or in the writer until heads_commit or heads_abort.
 */
const struct head *heads_get(const struct heads *heads, uint64_t author, uint64_t version);

/*
 * The same in three steps, for many authors: each step asks for the memory that the next will touch, so that they
 * wait for memory together and not one after the other.
 */
void heads_prefetch(const struct heads *heads, uint64_t author);
const struct head *heads_newest(const struct heads *heads, uint64_t author);
const struct head *heads_resolve(const struct head *newest, uint64_t version);

/*
 * How many posts the author has in the snapshot. False if the head itself must be asked: some of the posts are deleted, or
 * there is a later version. Asks for less memory than a head does.
 */
bool heads_count(const struct heads *heads, uint64_t author, uint64_t version, uint32_t *n_posts);

/* Before the first transaction: a whole head, copied from one with author, posts and deletions
 * filled in. False if memory is short. */
bool heads_load(struct heads *heads, const struct head *from);

/* ---- For the writer ------------------------------------------------------------------------- */

/* A new version with one post more, or one deletion more. False if memory is short. */
bool heads_add_post(struct heads *heads, uint64_t author, uint64_t version, uint64_t id);
bool heads_add_deletion(struct heads *heads, uint64_t author, uint64_t version, uint32_t number);

/* A new version that is closed; the lists stay. False if memory is short. */
bool heads_close(struct heads *heads, uint64_t author, uint64_t version);

/* A new version with these posts and deletions, which are copied, in place of all that were. False if memory is short. */
bool heads_replace(struct heads *heads, const struct head *from, uint64_t version);

/* After the transaction's commit; after its abort, which takes its versions back. Both free what no
 * reader can reach any more. */
void heads_commit(struct heads *heads);
void heads_abort(struct heads *heads);

/* Calls back for every author that has a head. */
void heads_each(const struct heads *heads, void (*visit)(const struct head *newest, void *ctx),
                void *ctx);

/* ---- For readers ---------------------------------------------------------------------------- */

/* A reader's place in the announcements; NULL if memory is short. Lives until heads_free. */
struct heads_reader;
struct heads_reader *heads_reader_new(struct heads *heads);

/* Before the snapshot is taken, and when it is given up. */
void heads_enter(struct heads *heads, struct heads_reader *reader);
void heads_leave(struct heads_reader *reader);

#endif
