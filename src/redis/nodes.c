/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>

#include "redis/client.h"

static uint16_t free_place(struct redis *redis)
{
    for (size_t i = 0; i < redis->n_nodes; i++)
        if (!redis->nodes[i])
            return (uint16_t)i;
    return redis->n_nodes < NODES_MAX ? redis->n_nodes++ : NO_NODE;
}

uint16_t node_at(struct redis *redis, const struct address *address)
{
    for (size_t i = 0; i < redis->n_nodes; i++)
        if (redis->nodes[i] && redis_address_same(&redis->nodes[i]->conn.address, address))
            return (uint16_t)i;
    uint16_t i = free_place(redis);
    struct node *node = i == NO_NODE ? NULL : calloc(1, sizeof *node);
    if (!node)
        return NO_NODE;
    redis_conn_init(&node->conn, &redis->settings, address);
    list_clear(&node->queue);
    redis->nodes[i] = node;
    return i;
}

void node_free(struct redis *redis, uint16_t i)
{
    redis_conn_release(&redis->nodes[i]->conn);
    free(redis->nodes[i]);
    redis->nodes[i] = NULL;
}

void nodes_sweep(struct redis *redis)
{
    for (uint16_t i = 0; i < redis->n_nodes; i++) {
        struct node *node = redis->nodes[i];
        if (!node)
            continue;
        if (!node->seed && !node->listed && redis->map.asked != i) {
            node_free(redis, i);
            continue;
        }
        reader_forget(&node->conn.reader);
        node->message = NULL;
    }
}

bool node_ready(const struct redis *redis, const struct node *node)
{
    return node->conn.state == CONN_READY && redis->now_ms >= node->away_until_ms;
}

bool node_awaited(const struct redis *redis, const struct node *node)
{
    return node->conn.state != CONN_CLOSED && node->conn.state != CONN_READY &&
           redis->now_ms < node->wait_until_ms;
}

/* A node that has failed is waited for only as long as nobody notices. */
bool node_use(struct redis *redis, uint16_t i)
{
    struct node *node = redis->nodes[i];
    if (redis->now_ms < node->away_until_ms)
        return false;
    if (node->conn.state == CONN_CLOSED) {
        node->wait_until_ms = redis->now_ms + (node->failures ? PROBE_MS : CONN_STEP_MS);
        if (!redis_conn_open(&node->conn, redis->now_ms)) {
            node_fail(redis, i);
            return false;
        }
    }
    return node_ready(redis, node) || node_awaited(redis, node);
}

void node_rest(struct redis *redis, struct node *node, const char *why)
{
    unsigned doublings = node->failures < 8 ? node->failures : 8;
    int64_t pause = (int64_t)PAUSE_MIN_MS << doublings;
    node->failures++;
    node->away_until_ms = redis->now_ms + (pause < PAUSE_MAX_MS ? pause : PAUSE_MAX_MS);
    redis->counts.failures++;
    redis->map.wanted = true;
    redis->counts.unwelcome = !why && node->conn.unwelcome;
    if (why)
        snprintf(node->conn.problem, sizeof node->conn.problem, "%s", why);
    char address[ADDRESS_TEXT_MAX];
    redis_address_print(&node->conn.address, address);
    snprintf(redis->problem, sizeof redis->problem, "%s: %s", address, node->conn.problem);
    node->message = NULL;
}

const char *node_message(struct redis *redis, struct node *node)
{
    char address[ADDRESS_TEXT_MAX], text[sizeof redis->problem];
    if (node->message)
        return node->message;
    redis_address_print(&node->conn.address, address);
    int n = snprintf(text, sizeof text, "%s: %s", address,
                     node->failures ? node->conn.problem : "it is not connected");
    node->message =
        arena_text(&redis->texts, text, (size_t)n < MESSAGE_MAX ? (size_t)n : MESSAGE_MAX);
    return node->message ? node->message : "out of memory";
}

void node_close(struct redis *redis, uint16_t i)
{
    struct node *node = redis->nodes[i];
    node->n_texts = 0;
    redis_conn_close(&node->conn);
    if (redis->map.asked == i)
        map_lost(redis);
    tasks_route(redis, &node->queue);
}

void node_fail(struct redis *redis, uint16_t i)
{
    struct node *node = redis->nodes[i];
    struct expected expected;
    node_rest(redis, node, NULL);
    while (redis_conn_pop_expected(&node->conn, &expected)) {
        if (expected.what >= TASKS_MAX)
            continue;
        if (redis_conn_unseen(&node->conn, &expected))
            list_add(redis, &node->queue, expected.what);
        else
            task_settle(redis, expected.what, REDIS_LOST, node_message(redis, node));
    }
    node_close(redis, i);
}
