/* SPDX-License-Identifier: MIT */
/* The inside of the target of keys in Redis. All functions that answer bool: false, and consume_note() was told why, or it is time to stop. */
#ifndef CONSUME_REDIS_PARTS_H
#define CONSUME_REDIS_PARTS_H

#include "consume/redis_calls.h"
#include "consume/redis_target.h"

enum {
    REDIS_TOUCHES = 7, /* of one event at most */
    REDIS_MEMBERS = REDIS_FOLLOWS_MAX,
    REDIS_NODES_MAX = 64,
};

/* A key that an event changes: a member of a list, or whatever it is now. */
struct redis_touch {
    enum redis_kind kind;
    uint64_t id;
    uint32_t order; /* of the event in the page */
    bool anew;      /* of a list: all of it */
    struct redis_member member;
};

/* Going through all nodes' keys. */
struct redis_scan {
    unsigned slot; /* of the node that is gone through */
    char cursor[24];
    char run_id[REDIS_RUN_ID_MAX + 1];
    size_t n_done;
    char done[REDIS_NODES_MAX][REDIS_RUN_ID_MAX + 1];
    uint64_t removed;
};

/* Where going through everything is, within a user. */
struct redis_walk {
    uint64_t user; /* whose posts are gone through; 0: nobody's */
    struct tidings_cursor posts;
};

/* What comparing has found so far. */
struct redis_comparison {
    uint64_t keys;      /* that were there */
    uint64_t different; /* or missing */
    uint64_t left; /* not compared, since Redis refuses that; or not mended: too many at once */
    char error[REDIS_TROUBLE_MAX]; /* why Redis refuses */
};

struct redis_target {
    struct tidings *tidings;
    uint32_t page;
    uint32_t ids_max; /* in one question */
    struct redis_calls *calls;
    struct tidings_answer answer;
    struct tidings_answer nested; /* of questions while the rows of `answer` are gone through */
    struct redis_member members[REDIS_MEMBERS];
    size_t n_touches, n_missing;
    struct redis_touch touches[REDIS_TOUCHES * CONSUMER_PAGE];
    struct redis_about missing[REDIS_TOUCHES * CONSUMER_PAGE];
    size_t n_different;
    struct redis_about different[REDIS_TOUCHES * CONSUMER_PAGE]; /* from what they are to be */
    uint64_t ids[CONSUMER_PAGE * 3];
    struct redis_comparison comparison;
    struct redis_scan scan;
    struct redis_walk walk;
    char mark_names[REDIS_MARKS][REDIS_NAME_MAX];
    struct redis_mark marks[REDIS_MARKS]; /* as they were read last */
    uint64_t marked; /* the position that they were written with; 0: not in this term */
};

/* ---- redis_target.c ----------------------------------------------------------------------------- */

/* Runs what was put, and keeps in mind which lists are missing, and which keys differ. */
bool redis_target_run(struct redis_target *target, struct consumer *consumer);
/* The same, if there is no room for more. */
bool redis_target_make_room(struct redis_target *target, struct consumer *consumer);
/* Asks the engine. What is not there, or deleted, is fine: *found says whether it is there; NULL: it must be. */
bool redis_target_ask(struct redis_target *target, struct consumer *consumer,
                      const struct tidings_op *op, struct tidings_answer *answer, bool *found);

/* ---- redis_read.c: puts what the engine has. The ids are ascending, or in any order. ------------- */

bool redis_read_counts(struct redis_target *target, struct consumer *consumer,
                       const uint64_t *users, size_t n, uint64_t position);
bool redis_read_story_likes(struct redis_target *target, struct consumer *consumer,
                            const uint64_t *posts, size_t n, uint64_t position);
bool redis_read_comment_likes(struct redis_target *target, struct consumer *consumer,
                              uint64_t comment, uint64_t position);
bool redis_read_bucket(struct redis_target *target, struct consumer *consumer, uint64_t user);
bool redis_read_list(struct redis_target *target, struct consumer *consumer, enum redis_kind kind,
                     uint64_t id, uint64_t position);
/* Those that runs have found missing. */
bool redis_read_missing(struct redis_target *target, struct consumer *consumer, uint64_t position);

/* ---- redis_fill.c: going through everything ------------------------------------------------------ */

/* Some keys of a node. *some: not all of them were taken, and they are to be asked for again. They are valid until the next run. */
typedef bool redis_scan_take(struct redis_target *target, struct consumer *consumer,
                             const struct redisReply *keys, bool *some);

/* Through all keys of all masters, a step at a time. */
void redis_scan_begin(struct redis_target *target);
bool redis_scan_step(struct redis_target *target, struct consumer *consumer, redis_scan_take *take,
                     bool *done);

/* Puts and runs the keys of some users, or of some posts of one. */
bool redis_fill_walk(struct redis_target *target, struct consumer *consumer,
                     struct consumer_fill *fill, bool *done);

/* ---- redis_events.c, redis_fill.c, redis_reconcile.c, redis_marks.c ------------------------------------------------- */

bool redis_events_tell(void *ctx, struct consumer *consumer, struct consumer_page *page);

enum consumer_filled redis_fill_step(void *ctx, struct consumer *consumer,
                                     struct consumer_fill *fill);

enum consumer_filled redis_reconcile_step(void *ctx, struct consumer *consumer,
                                          struct consumer_fill *fill);

bool redis_marks_look(void *ctx, struct consumer *consumer, bool first);
/* Writes all of them: while filling whether there are any or not, otherwise only those that are there. */
bool redis_marks_write(struct redis_target *target, struct consumer *consumer, bool filling,
                       bool only_there);
/* *all: all are there, and say what `filling` says. */
bool redis_marks_check(struct redis_target *target, struct consumer *consumer, bool filling,
                       bool *all);

#endif
