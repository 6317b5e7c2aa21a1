/* SPDX-License-Identifier: MIT */
/*
 * tidings-load: makes traffic and measures how long answers take, for Tidings over HTTP and for what
 * it is compared with over their own protocols, by the same loop, so that the generator costs each
 * of them the same.
 *
 * A *step* is one request as a community makes it (look at the badge, mark this item ...). The
 * *world* picks steps; a *protocol* turns a step into bytes and tells where its reply ends; the
 * *run* keeps connections busy and takes the times.
 *
 * One thread. Nothing here trusts numbers from the other side with memory: replies are bounded.
 */
#ifndef LOAD_H
#define LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* verb, name in --mix */
#define VERBS(X)                                                                       \
    X(BADGE, "badge")                                                                  \
    X(FIRST, "first")   /* first page of 10 of the inbox */                            \
    X(OLDER, "older")   /* a page of 10 behind the newest 100 */                       \
    X(UNREAD, "unread") /* first page of 10 of what is unread */                       \
    X(MARK, "mark")     /* mark one unread item as read; each item once */             \
    X(FOLLOW, "follow") /* follow somebody new; the connection's next one unfollows */ \
    X(LIKE, "like")     /* like a post; the connection's next one takes it back */     \
    X(PUBLISH, "publish")                                                              \
    X(FOLLOWING, "following") /* first page of 20 of whom a user follows */            \
    X(COUNTERS, "counters")   /* a user's counters */                                  \
    X(PATH, "path")           /* whatever --path says, without a token */              \
    X(LOOK, "look")           /* first page of 100: learns where older pages begin */  \
    X(GATHER, "gather")       /* 100 unread items: learns what can be marked */        \
    X(STREAM, "stream")       /* a stream of events: for --streams, never over */

enum verb {
#define X(verb, name) VERB_##verb,
    VERBS(X)
#undef X
        VERB_COUNT
};

extern const char *const verb_names[VERB_COUNT];

struct step {
    enum verb verb;
    bool undo;
    uint64_t user, author, post;
    uint64_t fan_from, fan_to; /* PUBLISH where it is done in parts: positions among the fans */
    uint64_t serial;           /* different for every step of a run */
    unsigned stage;            /* 0, or how many times its replies have led to more */
};

/* ---- The world ------------------------------------------------------------------------------ */

enum { CURSOR_BYTES = 256, PORTS_MAX = 16 };

struct item {
    uint64_t user, post;
};

struct world {
    /* As `tidings bench-engine` fills it: users 1 ... users, author_of() them. */
    uint64_t users, followed;
    uint64_t random;
    char **tokens;      /* one a user; NULL if the protocol has none */
    uint64_t looked;    /* how many users' cursors are known: world_pupil() of 0 ... looked - 1 */
    char *cursors;      /* CURSOR_BYTES a user: where older pages begin, "" if not known */
    struct item *items; /* to be marked, from the end */
    size_t n_items, items_max;
    uint64_t serial;
};

bool world_open(struct world *world, uint64_t users, uint64_t followed, uint64_t seed);
/* A token for each user, from TIDINGS_JWT_SECRET. */
bool world_sign(struct world *world);
void world_close(struct world *world);
uint64_t world_random(struct world *world);
/* Room for n items, for GATHER to fill. */
bool world_expect_items(struct world *world, size_t n);
void world_add_item(struct world *world, uint64_t user, uint64_t post);
void world_shuffle_items(struct world *world);
/* The users in an order that is not theirs, for what must not be asked of all of them. */
uint64_t world_pupil(const struct world *world, uint64_t i);
/* The next step of this kind. False: there is nothing left to mark. */
bool world_next(struct world *world, enum verb verb, struct step *step);

static inline char *world_cursor(const struct world *world, uint64_t user)
{
    return world->cursors + (user - 1) * CURSOR_BYTES;
}

/* ---- Protocols ------------------------------------------------------------------------------ */

struct reply {
    int status;       /* as HTTP has it; 200 for a good answer of the others, 500 for an error */
    const char *body; /* within the bytes parsed */
    size_t n;
};

struct target {
    const struct protocol *protocol;
    struct world *world;
    const char *path;      /* PATH */
    const char *scripts;   /* the directory of the Lua scripts */
    const char *freshness; /* of reads over HTTP: Tidings-Freshness; NULL: the server's own */
    char host[64];
    uint16_t ports[PORTS_MAX];
    unsigned n_ports;
};

/* What is sent for a step, by the port that it goes to, and how many replies come back. */
struct parts {
    struct buf to[PORTS_MAX];
    unsigned replies[PORTS_MAX];
};

struct protocol {
    const char *name;
    bool needs_tokens;
    /* A step may go to several ports at a time, so a connection is one to each of them. Otherwise connections are
     * spread over the ports. */
    bool is_split;
    /* Once, before the first connection. */
    bool (*prepare)(const struct target *target);
    /* Once a connection, blocking; NULL if nothing is said first. */
    bool (*greet)(int fd);
    /* False: it has no such request. */
    bool (*build)(const struct target *target, const struct step *step, struct buf *out);
    /* The same where is_split, in the place of build. */
    bool (*build_parts)(const struct target *target, const struct step *step, struct parts *parts);
    /* All replies have come, the last of which is this one; true if more is to be sent for the step. NULL: never. */
    bool (*more)(const struct target *target, const struct step *step, const struct reply *reply,
                 struct parts *parts);
    /* How many bytes the first reply has; 0 if it is not whole yet, -1 if it is none. */
    ssize_t (*parse)(const char *bytes, size_t n, struct reply *reply);
    /* Takes what LOOK and GATHER were asked for. */
    void (*learn)(struct world *world, const struct step *step, const struct reply *reply);
    /* The number a badge is. */
    uint64_t (*number)(const struct reply *reply);
};

extern const struct protocol protocol_http, protocol_redis, protocol_redis_cluster, protocol_mysql;

/* A connected blocking socket without delay, greeted, to the port of that number, counted around; -1 with a message. */
int target_connect(const struct target *target, unsigned number);
void parts_init(struct parts *parts);
void parts_clear(struct parts *parts);
void parts_release(struct parts *parts);
/* Sends a step and waits for its reply, whose bytes are in `in`. */
bool target_ask(const struct target *target, int fd, const struct step *step, struct buf *in,
                struct reply *reply);
bool write_all(int fd, const char *bytes, size_t n);

/* ---- Times ---------------------------------------------------------------------------------- */

/* Counts of nanoseconds in steps of 1/64. */
enum { HIST_BUCKETS = 64 * 48 };

struct hist {
    uint64_t n, max, sum;
    uint64_t counts[HIST_BUCKETS];
};

void hist_add(struct hist *hist, uint64_t ns);
/* The value that the share (0 ... 1) of all does not exceed. */
uint64_t hist_at(const struct hist *hist, double share);
/* `"name":{...}` in microseconds. */
void hist_print(const char *name, const struct hist *hist);

uint64_t now_ns(void);
/* CPU seconds a process has used so far; 0 if it is not there. */
double cpu_seconds(int pid);

/* ---- Runs ----------------------------------------------------------------------------------- */

enum { STATUS_MAX = 600 };

struct plan {
    unsigned connections;
    double seconds, warm_up;
    double rate; /* requests a second at fixed times; 0: each connection as fast as answered */
    unsigned weights[VERB_COUNT];
    int pid;      /* of the server, whose CPU time is measured, too; 0 is none */
    size_t items; /* to gather for marking; 0 is as many as there are */
    bool
        announces; /* a line when the time measured begins, and when it ends; waits for one in answer */
};

struct result {
    struct hist *all, *by[VERB_COUNT]; /* `by` is NULL where nothing happened */
    uint64_t done, statuses[STATUS_MAX];
    double seconds, user_seconds, system_seconds;
    double server_seconds; /* CPU time of the server, all its threads */
    uint64_t late;         /* requests that waited for a free connection */
    uint64_t overdue;      /* requests that were never sent since the run ended first */
    bool exhausted;        /* everything was marked before the time was over */
};

bool run_load(const struct target *target, const struct plan *plan, struct result *result);
void result_release(struct result *result);
void result_print(const struct target *target, const struct plan *plan,
                  const struct result *result);

/* Publishes `times` posts to an author with that many fans, and prints how long until the last fan
 * sees each. */
bool run_publish(const struct target *target, uint64_t author, uint64_t fans, uint64_t last_fan,
                 unsigned times);

/* ---- Streams -------------------------------------------------------------------------------- */

/* In a world where everybody follows the authors 1 ... followed; those behind them listen. */
struct live_plan {
    unsigned streams;
    uint64_t author;     /* who publishes */
    unsigned in_flight;  /* posts under way until all streams have them, at most */
    unsigned publishers; /* connections that publish */
    double seconds;      /* of publishing one by one, then of publishing back to back */
    double patience;     /* seconds until what has not come counts as lost */
    int pid;             /* of the server, as in struct plan */
};

enum { PUBLISHERS_MAX = 16, IN_FLIGHT_MAX = 64, STREAMS_MAX = 50000 };

/* Publishes to streams that are all open, and prints how long until the last of them is told, and how
 * many posts a second reach them all. */
bool run_streams(const struct target *target, const struct live_plan *plan);

#endif
