/* SPDX-License-Identifier: MIT */
/*
 * Many open streams in one thread, and which posts have reached how many of them. Reading is as cheap as
 * it can be, since the reader shares the machine with the server: no event is looked into further than
 * to the post's id or the badge's number.
 */
#ifndef FANS_H
#define FANS_H

#include "load.h"

enum { FANS_READ_BYTES = 65536, FANS_REST_MAX = 16384, FANS_POSTS = 1024 };

struct fan {
    int fd;
    bool accepted;        /* a head has come */
    bool greeted;         /* and a badge */
    uint64_t first_badge; /* before anything was published */
    uint64_t badge;       /* the last one told */
    uint64_t had;         /* of posts by serial: all before this one, */
    uint64_t had_besides; /* and of those from it on a bit each */
    char *rest;           /* of an event that is not whole yet */
    size_t n_rest;
};

/* A post on its way; its serial counts from 0 in the order in which they were first heard of. */
struct post {
    uint64_t id;
    uint64_t sent_ns; /* 0 until its answer has come */
    uint64_t told_ns; /* when the last stream so far had it */
    unsigned told;
};

struct fans {
    struct fan *fans;
    unsigned n, greeted;
    uint64_t oldest, next; /* serials: the oldest post that not all have; the next to come */
    struct post posts[FANS_POSTS]; /* by serial: those under way, and some before them */
    struct hist told;              /* from sending a post until the last stream has it */
    uint64_t n_badges;             /* badges told behind the first ones */
    unsigned n_settled; /* fans whose badge counts every post, up to the first that does not */
    const char *failed; /* NULL, or why nothing more can be measured */
    char bytes[FANS_REST_MAX + FANS_READ_BYTES];
};

/* Opens a stream for each of n users from first_user on; their events are for an epoll of the
 * caller's, in which `data.u64` is the fan's number. */
bool fans_open(struct fans *fans, const struct target *target, uint64_t first_user, unsigned n,
               int epoll_fd);
void fans_close(struct fans *fans);
/* Reads all that has come for one of them; the epoll tells of it once. */
void fans_read(struct fans *fans, unsigned number);
/* The answer to a post that was sent then has come. */
void fans_expect(struct fans *fans, uint64_t id, uint64_t sent_ns);
/* Everybody has been told of that many posts in all, and everybody's badge counts them. */
bool fans_told(const struct fans *fans, uint64_t posts);
bool fans_settled(struct fans *fans);

#endif
