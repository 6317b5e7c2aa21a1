/* SPDX-License-Identifier: MIT */
/*
 * Who publishes what to whom. Authors publish posts to fans, which makes inboxes; stories publish
 * scenes to subscribers, which makes notifications. Both are the same arithmetic on the same
 * records (tie.h), in other rows: a realm says which. Words are those of the first: an author may
 * be a story, a post a scene.
 */
#ifndef LOCAL_REALM_H
#define LOCAL_REALM_H

#include "engine/local/rows/keys.h"

struct realm {
    uint64_t mark;         /* set in the number that the author's head is kept under */
    enum table lists;      /* the authors' lists: ids by number, deletions */
    enum table followers;  /* who follows, newest first */
    enum user_row inside;  /* pairs with delivered posts or a standing follow */
    enum user_row outside; /* pairs without; 0 where there are none */
    enum user_row map;     /* read maps */
};

extern const struct realm realm_posts;
extern const struct realm realm_scenes;

#endif
