/* SPDX-License-Identifier: MIT */
/*
 * Keeps the keys in Redis that others read (mirror.h). Each server fills what is missing of those it was asked about. One of them at a time goes
 * through the events and renews what is there of the users whom they name.
 */
#ifndef CLUSTER_COPIER_H
#define CLUSTER_COPIER_H

#include <stdatomic.h>

#include "engine/cluster/consumer.h"
#include "engine/cluster/mirror.h"

struct redis_options;
struct tidings_call;
struct tidings_cluster;

/* Different ones that may wait to be filled; what comes besides has to be asked about again. */
enum { COPIER_WANTS = 1024 };

struct copier_want {
    bool is_there;
    bool refused;          /* the user has no token left to follow with ... */
    int64_t until_ms;      /* ... until then, by the monotonic clock; or: */
    enum mirror_kind kind; /* somebody has asked about that */
    uint64_t user;
};

enum { REBUILD_NODES = 64, REBUILD_RUN_BYTES = 72 };

/* Making all of it anew, under way: rebuild.c. */
struct rebuild {
    uint64_t wish;                  /* which it is; 0: none is under way */
    unsigned slot;                  /* of the node that is being gone through */
    char cursor[24];                /* "0": it begins */
    char run_id[REBUILD_RUN_BYTES]; /* of that node */
    size_t n_done;                  /* nodes */
    char done[REBUILD_NODES][REBUILD_RUN_BYTES];
    uint64_t epoch;              /* of versions that are left */
    uint64_t looked_at, removed; /* keys */
    uint64_t moves;              /* that the client had met when it began */
    unsigned passes;
    int64_t told_ms; /* when others were told of it */
};

/* A user and what it is about an event that changes. */
struct copier_named {
    enum mirror_kind kind;
    uint64_t user;
};

struct copier {
    struct consumer consumer; /* comes first */
    struct mirror *mirror;    /* NULL: there is no Redis */
    struct rebuild rebuild;
    int64_t standby_ms; /* when the lease was last asked for */
    int64_t asked_ms;   /* when it was looked whether all is to be made anew */
    bool looks_back;
    int64_t looked_back_ms;
    _Atomic uint64_t filled, renewed, dropped;
    pthread_mutex_t mutex; /* guards what is wanted */
    struct copier_want wants[COPIER_WANTS];
    struct copier_want taken[COPIER_WANTS];
    struct mirror_copy copies[MIRROR_MAX];
    struct copier_named named[5 * CONSUMER_PAGE];
};

void copier_init(struct cluster *cluster);
void copier_release(struct cluster *cluster);
/* Does nothing without a Redis, to which memory_open gives it a client. Stopping is the ticker's. */
enum tidings_err copier_start(struct cluster *cluster);
void copier_status(struct cluster *cluster, struct tidings_cluster *status);

/* These calls are about to be answered: what they are about is wanted. Waits for nobody. */
void copier_note(struct cluster *cluster, struct tidings_call *const *calls, size_t n);

/* ---- Between copier.c and rebuild.c ----------------------------------------------------------- */

/* Removes what there is of these and fills it again. False if it could not be removed. */
bool copier_remake(struct copier *copier, struct mirror_copy *all, size_t n);

/* Goes on making everything anew, if somebody has asked for that; whether there is more to do at once. */
bool rebuild_step(struct copier *copier);

#endif
