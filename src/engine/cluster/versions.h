/* SPDX-License-Identifier: MIT */
/*
 * The versions of users' rows, remembered in Redis, so that an answer need not ask MySQL for them. A user has one key there, with
 *
 *     C run version position    the version, and a position of the news that is no less than that of anything its writer saw
 *     M run token               somebody is about to change the user, and alone may say what the version is then
 *     S                         several are, and nobody may
 *     R run token               somebody has found nothing, looks into MySQL, and may say what is there
 *
 * or nothing. `run` is the run id of the Redis process that it was written in: of a version or a right of another one, whose last
 * writes may be lost, nobody takes any notice. Everything but a version ends by itself when its time is over.
 *
 * Who changes a user marks it before the commit, and says what became of it before the change is acknowledged. If either cannot be
 * confirmed, nothing is remembered by anybody any more (memory.h). tests/protocols/versions.py goes through all that can happen.
 *
 * Keys are tidings:<database>:<epoch>:{<user>}; with another epoch all of them are others.
 */
#ifndef CLUSTER_VERSIONS_H
#define CLUSTER_VERSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct redis_options;
struct redis_health;

enum { VERSIONS_MAX = 256 }; /* users in a call */

struct versions; /* for one thread */

enum version_state {
    VERSION_UNKNOWN, /* and not to be told */
    VERSION_KNOWN,
    VERSION_WANTED, /* whoever asked may tell it with versions_fill */
};

struct version {
    uint64_t user;
    enum version_state state;
    uint64_t version, position;
};

/* What a key has, if that is a version of this run of the process. */
bool version_parse(struct bytes value, const char *run_id, struct version *version);

/* Of the database of that name. NULL, and why, if the options make no sense. */
struct versions *versions_open(const struct redis_options *options, const char *database,
                               const char **message);
void versions_close(struct versions *versions);

/* What is remembered of these users; n at most VERSIONS_MAX in all of these. They take as long as MEMORY_WAIT_MS at most. */
void versions_get(struct versions *versions, uint64_t epoch, struct version *all, size_t n);
/* Those that are WANTED and have got a version. */
void versions_fill(struct versions *versions, uint64_t epoch, const struct version *all, size_t n);

/* They are about to be changed. False if that could not be said of all of them. */
bool versions_mark(struct versions *versions, uint64_t epoch, const struct version *all, size_t n,
                   int64_t life_ms);
/* They have been, or with version 0: they may have been. */
bool versions_tell(struct versions *versions, uint64_t epoch, const struct version *all, size_t n);

/* Whether all of the cluster answers. */
bool versions_probe(struct versions *versions);
void versions_health(const struct versions *versions, struct redis_health *health);

#endif
