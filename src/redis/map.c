/* SPDX-License-Identifier: MIT */
#include "redis/client.h"
#include "redis/command.h"

void map_lost(struct redis *redis)
{
    redis->map.asked = NO_NODE;
    redis->map.next_ms = redis->now_ms;
}

static bool ask(struct redis *redis, uint16_t i)
{
    struct conn *conn = &redis->nodes[i]->conn;
    command_begin(&conn->out, 2);
    command_text(&conn->out, "CLUSTER");
    command_text(&conn->out, "SLOTS");
    redis->map.asked = i;
    redis->map.asked_ms = redis->now_ms;
    redis->map.next_ms = redis->now_ms + MAP_EVERY_MS;
    redis->map.turn = (uint16_t)(i + 1);
    if (redis_conn_expect(conn, EXPECT_MAP) && redis_conn_flush(conn))
        return true;
    node_fail(redis, i);
    return false;
}

/* In turn, so that one that does not answer or is wrong is not the only one that is asked. */
static bool ask_somebody(struct redis *redis)
{
    for (size_t n = 0; n < redis->n_nodes; n++) {
        uint16_t i = (uint16_t)((redis->map.turn + n) % redis->n_nodes);
        const struct node *node = redis->nodes[i];
        if (node && i != redis->map.asked && node_ready(redis, node) && ask(redis, i))
            return true;
    }
    return false;
}

static void open_some(struct redis *redis)
{
    unsigned opening = 0;
    for (size_t n = 0; n < redis->n_nodes && opening < OPENING_MAX; n++) {
        uint16_t i = (uint16_t)((redis->map.turn + n) % redis->n_nodes);
        if (redis->nodes[i] && node_use(redis, i))
            opening++;
    }
}

void map_tick(struct redis *redis)
{
    struct map *map = &redis->map;
    int64_t due_ms = map->asked == NO_NODE ? map->next_ms : map->asked_ms + MAP_WAIT_MS;
    if (map->wanted && redis->now_ms >= due_ms && !ask_somebody(redis))
        open_some(redis);
}

/* Without any map they wait for whoever may be reached; otherwise only for an answer that was asked for just now. */
bool map_awaited(const struct redis *redis)
{
    const struct map *map = &redis->map;
    if (map->asked != NO_NODE && redis->now_ms < map->asked_ms + MAP_WAIT_MS)
        return true;
    if (map->known || !map->wanted)
        return false;
    for (size_t i = 0; i < redis->n_nodes; i++) {
        const struct node *node = redis->nodes[i];
        if (node && (node_awaited(redis, node) || (node_ready(redis, node) && map->asked != i)))
            return true;
    }
    return false;
}

static void mark_unlisted(struct redis *redis)
{
    for (size_t i = 0; i < redis->n_nodes; i++)
        if (redis->nodes[i])
            redis->nodes[i]->listed = false;
    for (size_t slot = 0; slot < REDIS_SLOTS; slot++)
        redis->map.owner[slot] = NO_NODE;
    redis->map.replicas = 0;
}

static void apply_range(struct redis *redis, const struct told_range *range)
{
    uint16_t node = range->has_master ? node_at(redis, &range->master) : NO_NODE;
    if (node == NO_NODE)
        return;
    for (unsigned slot = range->first; slot <= range->last; slot++)
        redis->map.owner[slot] = node;
    if (!redis->nodes[node]->listed)
        redis->map.replicas += range->replicas;
    redis->nodes[node]->listed = true;
}

static void everything_is_of(struct redis *redis, uint16_t node)
{
    mark_unlisted(redis);
    for (size_t slot = 0; slot < REDIS_SLOTS; slot++)
        redis->map.owner[slot] = node;
    redis->nodes[node]->listed = true;
}

/* All of it is looked at before any of it is believed. */
static bool apply(struct redis *redis, uint16_t from, const struct redisReply *reply)
{
    const char *host = redis->nodes[from]->conn.address.host;
    struct told_range range;
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements > REDIS_SLOTS)
        return false;
    for (size_t i = 0; i < reply->elements; i++)
        if (!told_range(reply->element[i], host, &range))
            return false;
    mark_unlisted(redis);
    for (size_t i = 0; i < reply->elements; i++)
        if (told_range(reply->element[i], host, &range))
            apply_range(redis, &range);
    return true;
}

bool map_take(struct redis *redis, uint16_t from, const struct redisReply *reply,
              const struct redisReply *error)
{
    struct map *map = &redis->map;
    if (map->asked == from)
        map->asked = NO_NODE;
    const bool single = error && told_single(error->str, error->len);
    if (single)
        everything_is_of(redis, from);
    else if (error || !apply(redis, from, reply)) {
        map_lost(redis);
        return false;
    }
    map->known = true;
    map->single = single;
    map->wanted = false;
    redis->counts.maps++;
    tasks_route(redis, &redis->unrouted);
    return true;
}
