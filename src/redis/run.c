/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/wait.h"
#include "redis/client.h"
#include "redis/command.h"

enum {
    OUT_HIGH =
        256
        << 10, /* bytes that wait to be sent to a node; more calls are written when these have gone */
    TRIES_MAX = 16,    /* redirections of one call */
    TRIES_AT_ONCE = 4, /* then the nodes get some time to agree */
    LATER_MS = 10,
    WAITS_MAX =
        5, /* a slot may be on its way for minutes, and other calls of the run wait for this one */
    COMMAND_OVERHEAD = 64,
};

static const char no_owner[] = "no node is known to have the slot";

static const uint8_t stands_for_run_id[1];
const struct bytes redis_run_id = {stands_for_run_id, 0};

/* ---- The end of a task --------------------------------------------------------------------------- */

void task_settle(struct redis *redis, uint32_t i, enum redis_outcome outcome, const char *message)
{
    struct redis_call *call = redis->tasks[i].call;
    call->outcome = outcome;
    call->message = message;
    redis->pending--;
    redis->counts.refused += outcome == REDIS_REFUSED;
    redis->counts.unreached += outcome == REDIS_AWAY;
    redis->counts.lost += outcome == REDIS_LOST;
}

static void settle_all(struct redis *redis, struct list *list, enum redis_outcome outcome,
                       const char *message)
{
    for (uint32_t i; (i = list_pop(redis, list)) != NO_TASK;)
        task_settle(redis, i, outcome, message);
    list_clear(list);
}

static void done(struct redis *redis, uint32_t i, const struct redisReply *reply,
                 const char *run_id)
{
    redis->tasks[i].call->reply = reply;
    redis->tasks[i].call->run_id = run_id;
    task_settle(redis, i, REDIS_DONE, NULL);
}

/* ---- Where it goes ------------------------------------------------------------------------------- */

static bool give(struct redis *redis, uint32_t i, uint16_t node)
{
    if (node == NO_NODE || !node_use(redis, node))
        return false;
    list_add(redis, &redis->nodes[node]->queue, i);
    return true;
}

/* Its node is; or, as long as nobody has said whose the slot is, one of those who might have. */
static const char *who_is_away(struct redis *redis, uint16_t slot)
{
    uint16_t owner = redis->map.owner[slot];
    if (owner != NO_NODE)
        return node_message(redis, redis->nodes[owner]);
    for (size_t i = 0; i < redis->n_nodes && !redis->map.known; i++)
        if (redis->nodes[i] && redis->nodes[i]->failures)
            return node_message(redis, redis->nodes[i]);
    return no_owner;
}

static void settle_away(struct redis *redis, uint32_t i)
{
    task_settle(redis, i, REDIS_AWAY, who_is_away(redis, redis->tasks[i].slot));
}

/* Where the map has no answer it may be old; as often as a new one may be asked for, that is waited for. */
void task_route(struct redis *redis, uint32_t i)
{
    struct task *task = &redis->tasks[i];
    uint16_t ask = task->ask;
    if (!redis->over && give(redis, i, ask != NO_NODE ? ask : redis->map.owner[task->slot]))
        return;
    task->ask = NO_NODE;
    redis->map.wanted = true;
    if (!redis->over)
        map_tick(redis);
    if (!redis->over && map_awaited(redis))
        list_add(redis, &redis->unrouted, i);
    else
        settle_away(redis, i);
}

void tasks_route(struct redis *redis, struct list *list)
{
    struct list taken = list_take(list);
    for (uint32_t i; (i = list_pop(redis, &taken)) != NO_TASK;)
        task_route(redis, i);
}

static void put_off(struct redis *redis, uint32_t i)
{
    redis->tasks[i].due_ms = redis->now_ms + LATER_MS;
    list_add(redis, &redis->later, i);
}

/* False if it was sent about too often. */
static bool again(struct redis *redis, uint32_t i)
{
    struct task *task = &redis->tasks[i];
    if (task->tries >= TRIES_MAX)
        return false;
    if (++task->tries <= TRIES_AT_ONCE)
        task_route(redis, i);
    else
        put_off(redis, i);
    return true;
}

/* ---- Sending ------------------------------------------------------------------------------------- */

static size_t size_of(const struct task *task)
{
    const struct redis_call *call = task->call;
    size_t n = COMMAND_OVERHEAD + (task->in_full ? strlen(call->script->text) : 0);
    for (unsigned i = 0; i < call->n_args && n <= CONN_COMMAND_MAX; i++)
        n += COMMAND_OVERHEAD +
             (call->args[i].n <= CONN_COMMAND_MAX ? call->args[i].n : CONN_COMMAND_MAX);
    return n;
}

static void write_call(struct conn *conn, const struct task *task)
{
    const struct redis_call *call = task->call;
    struct buf *out = &conn->out;
    command_begin(out, call->n_args + (call->script ? 3 : 0));
    if (call->script) {
        char n_keys[12];
        struct buf number;
        buf_init_borrowed(&number, n_keys, sizeof n_keys);
        buf_u64(&number, call->n_keys);
        command_text(out, task->in_full ? "EVAL" : "EVALSHA");
        command_text(out, task->in_full ? call->script->text : call->script->sha);
        command_word(out, number.data, number.len);
    }
    for (unsigned i = 0; i < call->n_args; i++) {
        if (call->args[i].p == redis_run_id.p)
            command_text(out, conn->run_id);
        else
            command_word(out, call->args[i].p, call->args[i].n);
    }
}

/* Whether the script's text goes to the node behind these bytes, which are sent. */
static bool text_follows(const struct node *node, const struct redis_script *script, uint64_t end)
{
    for (size_t k = 0; k < node->n_texts && k < TEXTS; k++)
        if (node->texts[k].script == script && node->texts[k].end > end)
            return true;
    return false;
}

static bool send_task(struct redis *redis, struct node *node, uint32_t i)
{
    struct task *task = &redis->tasks[i];
    struct conn *conn = &node->conn;
    if (task->ask != NO_NODE) {
        command_begin(&conn->out, 1);
        command_text(&conn->out, "ASKING");
        if (!redis_conn_expect(conn, EXPECT_ASKING))
            return false;
    }
    write_call(conn, task);
    task->asking = task->ask != NO_NODE;
    task->ask = NO_NODE;
    task->in_full = false;
    return redis_conn_expect(conn, i);
}

/* Writes calls until enough bytes wait. */
static void send_queue(struct redis *redis, uint16_t n)
{
    struct node *node = redis->nodes[n];
    bool alive = true;
    while (alive && node->queue.first != NO_TASK && redis_conn_unsent(&node->conn) < OUT_HIGH) {
        uint32_t i = list_pop(redis, &node->queue);
        if (size_of(&redis->tasks[i]) > CONN_COMMAND_MAX) {
            task_settle(redis, i, REDIS_AWAY, "the call is too large");
            continue;
        }
        alive = send_task(redis, node, i);
        if (!alive) /* it is not among what is expected */
            task_settle(redis, i, REDIS_AWAY, "out of memory");
    }
    if (!alive || !redis_conn_flush(&node->conn))
        node_fail(redis, n);
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void redirected(struct redis *redis, uint16_t from, uint32_t i, bool moved,
                       const struct redisReply *error)
{
    struct task *task = &redis->tasks[i];
    struct address to;
    uint16_t slot, node;
    const char *host = redis->nodes[from]->conn.address.host;
    if (!told_redirection(error->str, error->len, host, &slot, &to) || slot != task->slot ||
        (node = node_at(redis, &to)) == NO_NODE) {
        task_settle(redis, i, REDIS_AWAY, error->str);
        return;
    }
    if (moved) {
        redis->counts.moved++;
        redis->map.owner[slot] = node;
        redis->map.wanted = true;
    } else {
        redis->counts.asked++;
        task->ask = node;
    }
    redis->nodes[node]->listed = true;
    if (!again(redis, i))
        task_settle(redis, i, REDIS_AWAY, error->str);
}

/* The first to find it missing brings the text; whoever was sent before that finds it there when sent again. */
static void no_script(struct redis *redis, uint16_t from, uint32_t i, uint64_t end,
                      const struct redisReply *error)
{
    struct task *task = &redis->tasks[i];
    if (!task->call->script || task->tries >= TRIES_MAX) {
        task_settle(redis, i, REDIS_REFUSED, error->str);
        return;
    }
    task->tries++;
    struct node *node = redis->nodes[from];
    task->ask = task->asking ? from : NO_NODE; /* the slot's owner would only send it here again */
    task->in_full = !text_follows(node, task->call->script, end);
    if (task->in_full) {
        node->texts[node->n_texts++ % TEXTS] =
            (struct text_sent){task->call->script, node->conn.out_base + node->conn.out.len + 1};
        redis->counts.scripts_sent++;
    }
    task_route(redis, i);
}

static void not_here(struct redis *redis, uint16_t from, uint32_t i, const struct redisReply *error)
{
    if (redis->now_ms >= redis->nodes[from]->away_until_ms)
        node_rest(redis, redis->nodes[from], error->str);
    task_settle(redis, i, REDIS_AWAY, error->str);
}

static void take_error(struct redis *redis, uint16_t from, const struct expected *expected,
                       const struct redisReply *error)
{
    uint32_t i = expected->what;
    enum told kind = told_kind(error->str, error->len);
    if (kind != TOLD_NOT_YET && kind != TOLD_READ_ONLY)
        redis->nodes[from]->failures = 0;
    switch (kind) {
    case TOLD_NO:
        task_settle(redis, i, REDIS_REFUSED, error->str);
        return;
    case TOLD_MOVED:
    case TOLD_ASK:
        redirected(redis, from, i, kind == TOLD_MOVED, error);
        return;
    case TOLD_TRY_AGAIN:
        redis->counts.tried_again++;
        if (redis->tasks[i].waits++ < WAITS_MAX)
            put_off(redis, i);
        else
            task_settle(redis, i, REDIS_AWAY, error->str);
        return;
    case TOLD_DOWN:
        redis->map.wanted = true;
        task_settle(redis, i, REDIS_AWAY, error->str);
        return;
    case TOLD_NOT_YET:
    case TOLD_READ_ONLY:
        not_here(redis, from, i, error);
        return;
    case TOLD_NO_SCRIPT:
        no_script(redis, from, i, expected->end, error);
        return;
    }
}

static bool take_reply(struct redis *redis, uint16_t from, const struct redisReply *reply,
                       const struct redisReply *error)
{
    struct conn *conn = &redis->nodes[from]->conn;
    struct expected expected;
    if (!redis_conn_pop_expected(conn, &expected)) {
        snprintf(conn->problem, sizeof conn->problem, "an answer that nobody asked for");
        return false;
    }
    if (expected.what == EXPECT_MAP) {
        bool taken = map_take(redis, from, reply, error);
        if (!taken)
            snprintf(conn->problem, sizeof conn->problem, "CLUSTER SLOTS: %s",
                     error ? error->str : "malformed");
        return taken;
    }
    if (expected.what == EXPECT_ASKING)
        return true;
    if (error == reply) {
        take_error(redis, from, &expected, error);
        return true;
    }
    redis->nodes[from]->failures = 0;
    if (error)
        task_settle(redis, expected.what, REDIS_REFUSED, error->str);
    else
        done(redis, expected.what, reply, redis->nodes[from]->conn.run_id);
    return true;
}

/* All that has come. False if the connection is of no more use. */
static bool take_replies(struct redis *redis, uint16_t from)
{
    const struct redisReply *reply, *error;
    struct conn *conn = &redis->nodes[from]->conn;
    while (conn->state == CONN_READY) {
        enum reader_state state = redis_conn_reply(conn, &reply, &error);
        if (state == READER_MORE)
            return true;
        if (state == READER_BROKEN || !take_reply(redis, from, reply, error))
            return false;
    }
    return true;
}

/* ---- The loop ------------------------------------------------------------------------------------ */

/* A connection that was closed while nothing was under way did no harm. */
static void step(struct redis *redis, uint16_t i, short revents)
{
    struct conn *conn = &redis->nodes[i]->conn;
    bool idle = conn->state == CONN_READY && !conn->expected_n;
    bool alive = redis_conn_step(conn, revents, redis->now_ms);
    if (take_replies(redis, i)) {
        if (alive)
            return;
        if (idle) {
            node_close(redis, i);
            return;
        }
    }
    if (conn->state != CONN_CLOSED)
        node_fail(redis, i);
}

static int timeout_ms(const struct redis *redis, int64_t until_ms)
{
    int64_t next = until_ms;
    for (size_t i = 0; i < redis->n_nodes; i++) {
        const struct node *node = redis->nodes[i];
        if (!node)
            continue;
        if (node->conn.more)
            return 0;
        if (node_awaited(redis, node) && node->wait_until_ms < next)
            next = node->wait_until_ms;
    }
    if (redis->unrouted.first != NO_TASK && redis->map.asked != NO_NODE &&
        redis->now_ms < redis->map.asked_ms + MAP_WAIT_MS &&
        redis->map.asked_ms + MAP_WAIT_MS < next)
        next = redis->map.asked_ms + MAP_WAIT_MS;
    if (redis->later.first != NO_TASK && redis->tasks[redis->later.first].due_ms < next)
        next = redis->tasks[redis->later.first].due_ms;
    int64_t left = next - redis->now_ms;
    return left < 0 ? 0 : left > 60000 ? 60000 : (int)left;
}

/* Waits for something to happen and takes what has. */
static void wait_and_step(struct redis *redis, int timeout)
{
    nfds_t n = 0;
    for (uint16_t i = 0; i < redis->n_nodes; i++) {
        const struct node *node = redis->nodes[i];
        if (!node || node->conn.state == CONN_CLOSED)
            continue;
        redis->polled_node[n] = i;
        redis->polled[n++] =
            (struct pollfd){redis_conn_fd(&node->conn), redis_conn_events(&node->conn), 0};
    }
    if (poll(redis->polled, n, timeout) < 0)
        n = 0;
    redis->now_ms = wait_now_ms();
    for (nfds_t k = 0; k < n; k++) {
        uint16_t i = redis->polled_node[k];
        struct conn *conn = &redis->nodes[i]->conn;
        short revents = redis->polled[k].revents | (conn->more ? POLLIN : 0);
        if (revents && redis_conn_fd(conn) == redis->polled[k].fd)
            step(redis, i, revents);
    }
}

static void tick_node(struct redis *redis, uint16_t i)
{
    struct node *node = redis->nodes[i];
    struct conn *conn = &node->conn;
    bool opening = conn->state != CONN_CLOSED && conn->state != CONN_READY;
    if (opening && redis->now_ms >= conn->deadline_ms) {
        snprintf(conn->problem, sizeof conn->problem, "no connection in time");
        node_fail(redis, i);
    } else if (conn->state == CONN_CLOSED && node->failures && node->listed) {
        node_use(redis, i); /* so that it is back when a call needs it */
    } else if (conn->state == CONN_READY && node->queue.first != NO_TASK) {
        send_queue(redis, i);
    } else if (opening && !node_awaited(redis, node) && node->queue.first != NO_TASK) {
        settle_all(redis, &node->queue, REDIS_AWAY, "the node is not connected");
    }
}

static void tick(struct redis *redis)
{
    map_tick(redis);
    for (uint32_t i;
         (i = redis->later.first) != NO_TASK && redis->tasks[i].due_ms <= redis->now_ms;) {
        list_pop(redis, &redis->later);
        task_route(redis, i);
    }
    for (uint16_t i = 0; i < redis->n_nodes; i++)
        if (redis->nodes[i])
            tick_node(redis, i);
    if (redis->unrouted.first != NO_TASK && !map_awaited(redis))
        for (uint32_t i; (i = list_pop(redis, &redis->unrouted)) != NO_TASK;)
            settle_away(redis, i);
}

/* The time is over. */
static void give_up(struct redis *redis)
{
    static const char late[] = "no answer in time";
    redis->over = true;
    for (uint16_t i = 0; i < redis->n_nodes && redis->pending; i++) {
        struct node *node = redis->nodes[i];
        bool sent = false;
        if (!node)
            continue;
        settle_all(redis, &node->queue, REDIS_AWAY, late);
        for (size_t k = 0; k < node->conn.expected_n; k++)
            sent |=
                node->conn.expected[(node->conn.expected_at + k) & (node->conn.expected_cap - 1)]
                    .what < TASKS_MAX;
        if (!sent)
            continue;
        snprintf(node->conn.problem, sizeof node->conn.problem, "%s", late);
        node_fail(redis, i);
    }
    settle_all(redis, &redis->unrouted, REDIS_AWAY, late);
    settle_all(redis, &redis->later, REDIS_AWAY, late);
}

static bool make_tasks(struct redis *redis, size_t n)
{
    if (n <= redis->cap_tasks)
        return true;
    struct task *tasks = n < TASKS_MAX ? realloc(redis->tasks, n * sizeof *tasks) : NULL;
    if (!tasks)
        return false;
    redis->tasks = tasks;
    redis->cap_tasks = n;
    return true;
}

static void begin(struct redis *redis, struct redis_call *calls, size_t n)
{
    redis->pending = n;
    redis->over = false;
    for (size_t i = 0; i < n; i++) {
        struct redis_call *call = &calls[i];
        assert(call->key < call->n_args && (!call->script || call->script->sha[0]));
        call->reply = NULL;
        call->message = NULL;
        redis->tasks[i] =
            (struct task){.call = call,
                          .slot = call->to_slot ? call->slot : redis_slot(call->args[call->key]),
                          .ask = NO_NODE,
                          .next = NO_TASK};
        task_route(redis, (uint32_t)i);
    }
}

void redis_run(struct redis *redis, struct redis_call *calls, size_t n, int64_t until_ms)
{
    redis->now_ms = wait_now_ms();
    arena_clear(&redis->texts);
    nodes_sweep(redis);
    redis->counts.calls += n;
    if (!make_tasks(redis, n)) {
        for (size_t i = 0; i < n; i++)
            calls[i].outcome = REDIS_AWAY, calls[i].reply = NULL,
            calls[i].message = "out of memory";
        return;
    }
    list_clear(&redis->unrouted);
    list_clear(&redis->later);
    wait_and_step(redis, 0); /* connections that have ended, or were being made */
    begin(redis, calls, n);
    if (!n)
        tick(redis);
    while (redis->pending && redis->now_ms < until_ms) {
        tick(redis);
        if (redis->pending)
            wait_and_step(redis, timeout_ms(redis, until_ms));
    }
    give_up(redis);
}
