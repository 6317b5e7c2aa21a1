/* SPDX-License-Identifier: MIT */
/*
 * Moving from one engine to another while the first goes on. What moves is rows (engine/rows.h): first all of them, then those that have changed since,
 * again and again, each as it is at that moment, in place of what lies there. So nothing is counted twice, whatever was done twice, and rows of different
 * moments may lie side by side until the last change is there.
 *
 * A source tells which rows there are, and which have changed, by their names; carry.c takes a row of that name from the view of the one to that of the other.
 */
#ifndef MOVE_MOVE_H
#define MOVE_MOVE_H

#include "engine/engine.h"
#include "engine/view.h"

/* What a name is about, and its numbers. Indexes and counts that follow from others have no name: a put keeps them. */
enum moved_kind {
    MOVED_AUTHOR,          /* author: how long the lists of posts and deletions are */
    MOVED_STORY,           /* story: the same of its scenes */
    MOVED_POST_DELETIONS,  /* author, first, how many */
    MOVED_SCENE_DELETIONS, /* story, first, how many */
    MOVED_POST,            /* id: and what is counted of it */
    MOVED_SCENE,           /* id */
    MOVED_BODY,            /* post */
    MOVED_POST_KEY,        /* post */
    MOVED_MESSAGES,        /* scene */
    MOVED_GIVEN,           /* scene, first message id, how many */
    MOVED_COMMENT,         /* id */
    MOVED_COMMENT_BODY,    /* comment */
    MOVED_USER,            /* user: counters, buckets, the shelf */
    MOVED_PROFILE,         /* user */
    MOVED_PAIR,            /* fan, author */
    MOVED_SUBSCRIPTION,    /* user, story */
    MOVED_READ_MAP,        /* reader, author, chunk: with the history */
    MOVED_SCENE_READ_MAP,  /* user, story, chunk */
    MOVED_REACTION,        /* user, target */
    MOVED_POSITION,        /* reader, story */
    MOVED_ONCE,            /* user, and the two halves of the key */
    MOVED_EVENT,           /* id */
    MOVED_WEBHOOKS,        /* all of them */
    MOVED_RULES,           /* of heat and folding: no row, but everything is carried again */
};

struct moved {
    enum moved_kind kind;
    uint32_t bytes; /* about, that the row has */
    uint64_t a, b, c;
};

/* Names of rows. */
struct moved_set {
    struct moved *at;
    size_t n, room;
    uint64_t bytes;
};

/* The order of names; 0: the same. */
int moved_order(const struct moved *a, const struct moved *b);

/* False if memory is short. */
bool moved_add(struct moved_set *set, const struct moved *moved);

/*
 * A place among all rows of a source, in its own terms; zeros: before the first one. Behind an interruption the walk goes on with the first row of
 * (table, id): what was carried of these rows is carried again.
 */
struct moved_place {
    uint64_t table, id;
    struct {
        uint8_t n, bytes[31];
    } key; /* of the next row; n 0: the first one of `id` */
};

/*
 * What a source does (engine_vtable.source). It has the rows of one moment, which `advance` brings on, and is used by one thread.
 */
struct move_source {
    /* What it is known by; never 0. */
    uint64_t (*check)(struct engine *engine);
    /* Takes in all that is durable where it is a copy of, or all there is if that is locked; up to which batch it has come. */
    enum tidings_err (*advance)(struct engine *engine, uint64_t *batch, const char **message);
    /* Nobody else uses what it is a copy of from now on; LOCKED: somebody does. */
    enum tidings_err (*lock)(struct engine *engine);
    /* The view of what it has, until it is given back. */
    enum tidings_err (*look)(struct engine *engine, struct view **view);
    void (*look_away)(struct engine *engine);
    /* In a look: rows from the place on, as many as go into one piece, and the place behind them; none: there are no more. Of about *total rows, *rows were passed by. */
    enum tidings_err (*walk)(struct engine *engine, struct moved_place *place,
                             struct moved_set *set, uint64_t *rows, uint64_t *total);
    /* What has changed behind a batch, and up to which one that is: some of it at least, if there is any. */
    enum tidings_err (*changes)(struct engine *engine, uint64_t *batch, struct moved_set *set,
                                const char **message);
    /* What is left to know at the end. */
    enum tidings_err (*leave)(struct engine *engine, struct import_left *left);
    /* In a look: a user and a post, found by random numbers; 0: there is none. */
    void (*draw)(struct engine *engine, uint64_t random, uint64_t *user, uint64_t *post);
};

/* What a target does besides the puts of rows (engine_vtable.target), into the view of an import's piece. */
struct move_target {
    /* How long an author's two lists are; and deletions from a place on. */
    void (*put_head)(struct view *view, enum realm realm, uint64_t author, const struct head *head);
    void (*put_deletions)(struct view *view, enum realm realm, uint64_t author,
                          const uint32_t *numbers, uint32_t first, uint32_t n);
    /* An event with the id and time that it has. */
    void (*put_event)(struct view *view, const struct tidings_event *event);
};

/* The row of that name, as it is there. */
void carry(struct view *from, struct view *to, const struct move_target *target,
           const struct moved *moved);

/* See tidings_move and tidings_move_end. */
enum tidings_err move_step(struct engine *from, struct engine *to, struct tidings_move *move,
                           const char **message);
enum tidings_err move_end(struct engine *from, struct engine *to, const char **message);

#endif
