/* SPDX-License-Identifier: MIT */
/*
 * A busy world of stories: who is in it, and what its threads share.
 *
 * Scenes are deleted as fast as they are published, so that all of a reader's notifications fit on one page
 * and every answer can be counted. The keepers' story is the exception: its scenes stay, nobody but
 * the keeper marks them, and so the keeper knows what a mark must hit.
 */
#ifndef TIDINGS_TESTS_STORIES_H
#define TIDINGS_TESTS_STORIES_H

#include "world.h"

enum {
    STORIES = 5, /* each with an author of its own: FIRST_AUTHOR and on */
    DOOMED = 3,  /* the number of the one that is deleted half-way */
    KEPT = 4,    /* the keepers' */
    SUBSCRIBERS = 10,
    FIRST_SUBSCRIBER = 41,
    KEEPER = 61,
    DEVICES_USER = 62, /* whose devices tell where they are */

    PUBLISHERS = 6,
    TOGGLERS = 4,
    MARKERS = 4,
    LOOKERS = 4,
    DEVICES = 4,
    CLIENTS = 2,

    LIVING_MOST = 40, /* scenes of one publisher */
    READ_STORIES = 3, /* stories that devices read: those that are not deleted, without the kept */
};

struct stories {
    struct world world;
    uint64_t ids[STORIES];
    atomic_uint_fast64_t scenes[READ_STORIES]; /* one of each, never deleted */
    int64_t half_ns;
};

/* What a client has of DEVICES_USER's positions, by the story's number. */
struct copy {
    struct tidings_reading rows[READ_STORIES];
    uint64_t version;
};

/* Asks for what has changed until there is no more of it. */
bool copy_catch_up(struct seat *seat, const struct stories *stories, struct copy *copy);

/* When all threads have ended: the lists are what the events say, and what the answers counted. */
bool stories_add_up(struct seat *seat, const struct stories *stories);

#endif
