/* SPDX-License-Identifier: MIT */
/*
 * Many threads vote on the same comments and posts, which fold and come back, rise and fall, while
 * others page through the lists they stand in.
 *
 *   contested   comments and posts that all vote on; replies come and go under the comments
 *   quiet       comments and posts that nobody touches: in every list each of them stands once, in
 *               the same order, however much the others move about
 *   doomed      posts that are published, liked and deleted (the ring of recent ones in the world)
 */
#ifndef TIDINGS_TESTS_VOTES_H
#define TIDINGS_TESTS_VOTES_H

#include "world.h"

enum {
    VOTERS = 16,
    LOOKERS = 4,
    OWN_USERS = 2, /* of each voter: nobody else votes as them, so the voter knows their votes */
    SHARED_USERS = 3,

    CONTESTED = 5, /* of each; a moderator meddles with the first comment */
    QUIET = 24,    /* of each */
    DOOMED = 12,   /* of the ring: few, so that many vote on each before and after it is deleted */
    WAVE = 100,    /* votes until the mood turns from down to up, or back */

    AUTHOR = 1,
    DOOMED_AUTHOR = 2,
    MODERATOR = 3,
    FIRST_QUIET_USER = 10, /* who liked what is quiet */
    QUIET_USERS = 4,
    FIRST_SHARED_USER = 20,
    FIRST_OWN_USER = 30,
    VOTES_USERS = FIRST_OWN_USER + VOTERS * OWN_USERS, /* all ids are below */
};

struct ballot {
    struct world world;
    uint64_t topic;
    uint64_t comments[CONTESTED];
    uint64_t posts[CONTESTED];
    uint64_t quiet_comments[QUIET]; /* as they stand in their list */
    uint64_t quiet_posts[QUIET];
    atomic_uint_fast64_t votes;  /* cast so far */
    atomic_uint_fast64_t flips;  /* comments seen otherwise than the time before */
    atomic_uint_fast64_t quiets; /* moments in which nothing happened while a looker looked */
};

/* A voter's or looker's place. */
struct booth {
    struct seat seat;
    struct ballot *ballot;
    enum tidings_reaction votes[OWN_USERS][CONTESTED]; /* in force; 0 is none */
    uint64_t reply;                                    /* its own that is not deleted yet, or 0 */
    uint64_t reply_user;
    bool hidden[CONTESTED]; /* looker: how they were */
};

uint64_t own_user(const struct booth *booth, unsigned i);

/* votes_look.c: one round of looking; also used in the end, when everything is quiet. */
bool look_around(struct booth *booth);
/* The quiet ones of the list, in order; *n at most QUIET + 1. */
bool list_quiet_comments(struct booth *booth, uint64_t *ids, size_t *n);
bool list_quiet_posts(struct booth *booth, uint64_t *ids, size_t *n);
/* Was nothing written while this looked? Then all that it saw must fit together. */
bool look_at_a_quiet_moment(struct booth *booth, unsigned number);

/* votes_add_up.c: when all have voted. */
bool votes_add_up(struct ballot *ballot, struct booth *voters);

#endif
