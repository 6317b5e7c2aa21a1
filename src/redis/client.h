/* SPDX-License-Identifier: MIT */
/*
 * The inside of a client: its nodes, who has which slots, and the calls that are under way.
 *
 *   nodes.c   nodes by address: opened, failed, left alone, tried again, forgotten
 *   map.c     who has which slots: asked when it is wanted, not too often, of whoever answers
 *   run.c     calls: routed, sent, settled; the loop
 *
 * A call that is under way is a task, and is in one place: in a node's queue (to be sent), among what a connection expects (sent), in
 * `unrouted` (waits for the map) or in `later` (waits for a time). A task that is settled is nowhere.
 */
#ifndef REDIS_CLIENT_H
#define REDIS_CLIENT_H

#include <poll.h>

#include "base/arena.h"
#include "redis/conn.h"
#include "redis/redis.h"

enum {
    NODES_MAX = 1024,
    NO_NODE = UINT16_MAX,
    NO_TASK = UINT32_MAX,
    EXPECT_MAP = EXPECT_OWNERS,
    EXPECT_ASKING = EXPECT_OWNERS - 1,
    TASKS_MAX = EXPECT_OWNERS - 2,

    PAUSE_MIN_MS = 50, /* that a node is left alone after a failure; doubled with each */
    PAUSE_MAX_MS = 2000,
    PROBE_MS = 10, /* that calls wait for a node that was away and is tried again: once a pause */
    MAP_EVERY_MS = 250, /* it is asked for at most that often */
    MAP_WAIT_MS =
        100, /* that calls wait for one if there is an older one; then another node is asked */
    MESSAGE_MAX = 200,
    OPENING_MAX = 8, /* connections that are opened at once for the sake of the map */
};

struct task {
    struct redis_call *call;
    uint32_t next; /* in its list */
    uint16_t slot;
    uint16_t ask;         /* the node that is to be asked this once, or NO_NODE */
    uint8_t tries, waits; /* how often it was sent about, and put off */
    bool asking;          /* it was sent as one that is asked this once */
    bool in_full;         /* the script's text is sent with it */
    int64_t due_ms;       /* in `later` */
};

struct list {
    uint32_t first, last;
};

/* Scripts whose text goes to a node: calls that were sent before and found it missing need not bring it once more. */
enum { TEXTS = 8 };
struct text_sent {
    const struct redis_script *script;
    uint64_t end;
};

struct node {
    struct conn conn;
    struct list queue;
    unsigned failures;     /* since it last answered a call */
    int64_t away_until_ms; /* it is left alone until then */
    int64_t wait_until_ms; /* calls wait for its connection until then */
    bool seed;             /* one of those given */
    bool listed;           /* the map, or a redirection since then, has it */
    struct text_sent texts[TEXTS];
    size_t n_texts;
    const char *message; /* why it is away, for the calls of this run; NULL: not written yet */
};

struct map {
    bool known, single, wanted;
    uint16_t owner[REDIS_SLOTS]; /* a node or NO_NODE */
    uint16_t asked;              /* who was asked and has not answered, or NO_NODE */
    uint16_t turn;               /* where looking for somebody to ask begins */
    int64_t asked_ms, next_ms;
    unsigned replicas;
};

struct redis {
    struct conn_settings settings;
    struct node *nodes[NODES_MAX]; /* NULL: free */
    uint16_t n_nodes;              /* in use, with the free ones between them */
    struct map map;
    struct task *tasks;
    size_t cap_tasks, pending;
    struct list unrouted, later;
    int64_t now_ms;
    bool over;          /* nothing is sent any more in this run */
    struct arena texts; /* messages of this run */
    struct pollfd polled[NODES_MAX];
    uint16_t polled_node[NODES_MAX];
    struct redis_health counts;
    char problem[ADDRESS_TEXT_MAX + 2 + CONN_PROBLEM_MAX];
};

/* ---- Lists of tasks ------------------------------------------------------------------------------ */

static inline void list_clear(struct list *list)
{
    list->first = list->last = NO_TASK;
}

static inline void list_add(struct redis *redis, struct list *list, uint32_t i)
{
    redis->tasks[i].next = NO_TASK;
    if (list->first == NO_TASK)
        list->first = i;
    else
        redis->tasks[list->last].next = i;
    list->last = i;
}

static inline uint32_t list_pop(struct redis *redis, struct list *list)
{
    uint32_t i = list->first;
    if (i != NO_TASK)
        list->first = redis->tasks[i].next;
    return i;
}

/* Takes all of it. */
static inline struct list list_take(struct list *list)
{
    struct list taken = *list;
    list_clear(list);
    return taken;
}

/* ---- Nodes --------------------------------------------------------------------------------------- */

/* That of the address, made if it is new; NO_NODE if there are too many or no memory. */
uint16_t node_at(struct redis *redis, const struct address *address);
void node_free(struct redis *redis, uint16_t i);
/* Forgets those that are no longer of the cluster. Before a run. */
void nodes_sweep(struct redis *redis);

/* It is connected and not left alone. */
bool node_ready(const struct redis *redis, const struct node *node);
/* It is connecting, and calls may wait for it. */
bool node_awaited(const struct redis *redis, const struct node *node);
/* Begins to connect if that is due. Answers whether calls may be given to it. */
bool node_use(struct redis *redis, uint16_t i);
/* It is left alone for a while, longer each time. `why` is NULL if its connection says so. */
void node_rest(struct redis *redis, struct node *node, const char *why);
/* It is left alone, and its connection is closed; what was sent by it is lost, what was not goes its way again. */
void node_fail(struct redis *redis, uint16_t i);
/* Its connection is closed, and may be opened again at once: nothing was under way. What waits for it goes its way again. */
void node_close(struct redis *redis, uint16_t i);

/* ---- The map ------------------------------------------------------------------------------------- */

/* Asks for it if it is wanted and somebody is there. */
void map_tick(struct redis *redis);
/* Whether tasks without a node may hope for one. */
bool map_awaited(const struct redis *redis);
/* The answer. False if it is malformed. */
bool map_take(struct redis *redis, uint16_t from, const struct redisReply *reply,
              const struct redisReply *error);
/* Whoever was asked cannot answer. */
void map_lost(struct redis *redis);

/* ---- Tasks --------------------------------------------------------------------------------------- */

/* Gives the task to the node of its slot, lets it wait for the map, or gives it up. */
void task_route(struct redis *redis, uint32_t i);
void task_settle(struct redis *redis, uint32_t i, enum redis_outcome outcome, const char *message);
/* Those of the list, again. */
void tasks_route(struct redis *redis, struct list *list);

/* Why the node is away, for the calls of this run. */
const char *node_message(struct redis *redis, struct node *node);

#endif
