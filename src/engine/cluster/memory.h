/* SPDX-License-Identifier: MIT */
/*
 * What servers remember beside MySQL, so that a badge need not ask it: versions of users' rows, in Redis, for all of them
 * (versions.h), and authors' rows, each for itself (rows/current.h).
 *
 * They do so while the epoch, a row of MySQL's, is odd. Every change reads it under a shared lock and goes by it. Who cannot say in
 * Redis what it changes raises the epoch, and with it all that was remembered is gone. Servers hear of the epoch with the news;
 * one that has not heard for MEMORY_HEARD_MS answers from MySQL, and who has raised it waits for so long before anything is
 * acknowledged: so nobody answers with what was remembered before. When Redis is there again, and all servers use it, the first of
 * them raises the epoch again. docs/decisions/0029-versions-in-redis.md
 */
#ifndef CLUSTER_MEMORY_H
#define CLUSTER_MEMORY_H

#include <pthread.h>
#include <stdatomic.h>

#include "engine/cluster/rows/bits.h"
#include "engine/cluster/rows/current.h"
#include "engine/cluster/versions.h"
#include "sql/sql.h"

struct cluster;
struct lane;
struct reader;
struct tidings_answer;
struct tidings_call;
struct tidings_cluster;
struct tidings_options;

/* How long Redis may take, and how long what was heard of the epoch holds. */
enum { MEMORY_WAIT_MS = 250, MEMORY_HEARD_MS = 250 };

struct memory {
    bool wanted; /* there is a Redis */
    bool exact;  /* and yet nobody is answered from memory */
    struct current current;
    struct bits bits;
    struct versions *probe;         /* the caretaker's */
    _Atomic unsigned masters, away; /* when it last looked */
    pthread_mutex_t telling;        /* of what follows */
    char trouble[256];              /* what it found; "": nothing is wrong */
    _Atomic uint64_t epoch;         /* as it was heard of last, ... */
    _Atomic int64_t heard_ms; /* ... by a question that was asked then, by the monotonic clock */
    _Atomic uint64_t recalled, looked_up; /* badges that were answered from it, and others */
};

/* What a reader or a lane has of it; for its thread alone. */
struct recollection {
    struct versions *versions; /* NULL: there is no Redis */
    uint64_t epoch;
    size_t n; /* users that are marked, or whose version the reader may tell */
    struct version users[VERSIONS_MAX];
};

enum tidings_err memory_open(struct cluster *cluster, const struct tidings_options *options,
                             const char **message);
void memory_close(struct cluster *cluster);

void memory_status(struct cluster *cluster, struct tidings_cluster *status);

/* ---- Those who change ----------------------------------------------------------------------- */

/* Before the batch is committed. AGAIN: nothing is remembered any more, and the batch is to be begun anew. */
enum sql_outcome memory_mark(struct lane *lane);
/* A statement before the batch's first one, which notes when that was by the database's clock: 1, or 0 if none is wanted. */
unsigned memory_put_begin(struct lane *lane);
/* A term for what the commit depends on: that the marks still stand. A network or a pause may hold it for any time, and who reads
 * after the marks are gone would take the version of before for the last. */
void memory_put_limit(struct lane *lane);
/* Whether its users are marked, so that the position is wanted which the commit finds. */
bool memory_is_marked(const struct lane *lane);
/* It is committed, and the news was at that position at least; 0: where it was is not known. Not DONE: it must not be acknowledged. */
enum sql_outcome memory_tell(struct lane *lane, uint64_t position);
/* Nothing has happened. */
void memory_unmark(struct lane *lane);

/* ---- Those who answer ----------------------------------------------------------------------- */

/* Answers those calls that can be answered without MySQL; how many are left, with what was said to them. */
size_t memory_recall(struct reader *reader, struct tidings_call **calls,
                     struct tidings_answer *said, size_t n);
/* The position that a batch's answers are of; 0: it is not known. */
uint64_t memory_shown(struct reader *reader);
/* What the snapshot of a batch has shown is remembered; then, when the batch is answered, told to others. */
void memory_want(struct reader *reader);
void memory_note(struct reader *reader);
void memory_fill(struct reader *reader);

/* ---- The news, and the caretaker ------------------------------------------------------------ */

/* What has changed since. */
enum sql_outcome memory_hear(struct cluster *cluster, struct sql *sql);
/* This server takes part; and, if it is the first, everybody may, as soon as Redis is there. */
void memory_beat(struct cluster *cluster, struct sql *sql, bool first);
/* Somebody changes rows beside the lanes: nothing that was remembered counts, and keys for others are made anew (rebuild.c). */
enum sql_outcome memory_forget(struct sql *sql);

#endif
