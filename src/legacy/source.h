/* SPDX-License-Identifier: MIT */
/*
 * Another system's tables and keys as facts (docs/FACTS.md), and what in them contradicts itself (drift.h).
 *
 * Everything is read once, in pages by primary key and with SCAN, at a bounded pace; nothing is written there. What belongs together is
 * brought together by sorting, in temporary files where it is much, so memory is bounded by what one post, one author or one pair has, and no
 * key or row is asked for twice.
 *
 *     values.c      numbers, times and texts that may be anything
 *     source.c      connections, pace, facts out
 *     tables.c      rows in pages        scan.c   keys and what they hold
 *     hmdp.c        what is where there; hmdp_posts.c, hmdp_pairs.c: brought together by post, by author and fan
 *     zhiguang.c    the same of relations alone; payload.c: what its events say
 */
#ifndef LEGACY_SOURCE_H
#define LEGACY_SOURCE_H

#include "legacy/drift.h"
#include "legacy/keys.h"

#define SOURCE_SYSTEMS "hmdp|zhiguang"

struct source_options {
    const char *system;                 /* one of SOURCE_SYSTEMS */
    const char *mysql, *mysql_password; /* a URL with a database; NULL: none */
    const char *redis;                  /* "host:port,host:port"; NULL: there is none */
    const char *redis_user, *redis_password, *redis_ca;
    bool redis_tls;
    struct legacy_names names;
    int64_t zone_ahead_ms; /* of DATETIMEs, which do not say in which zone they are */
    uint64_t max_load;     /* rows and members a second; 0: as many as come */
    const char *temp;      /* a directory */
    FILE *facts;           /* one JSON object a line; NULL: they are only counted */
    /* Asked often: true ends the reading. Told what is being read, and how much of it was: seldom. */
    bool (*stop)(void *ctx);
    void (*tell)(void *ctx, const char *what, uint64_t n);
    void *ctx;
};

enum source_outcome {
    SOURCE_READ,
    SOURCE_STOPPED,
    SOURCE_WRONG, /* the options make no sense */
    SOURCE_FAILED,
};

enum { SOURCE_WHY_MAX = 512 };

/* All of it. WRONG and FAILED: `why` says so, without a password. */
enum source_outcome source_read(const struct source_options *options, struct drift *drift,
                                char why[SOURCE_WHY_MAX]);

#endif
