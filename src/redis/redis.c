/* SPDX-License-Identifier: MIT */
#include "redis/redis.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redis/client.h"

enum { TEXTS_MAX = 1 << 20 };

void redis_script_init(struct redis_script *script)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (!EVP_Digest(script->text, strlen(script->text), digest, &n, EVP_sha1(), NULL) || n != 20)
        abort();
    for (unsigned i = 0; i < n; i++)
        snprintf(script->sha + 2 * i, 3, "%02x", digest[i]);
}

static const char *add_seeds(struct redis *redis, const char *list)
{
    struct address address;
    bool bad = false, any = false;
    while (redis_address_next(&list, &address, &bad)) {
        uint16_t node = node_at(redis, &address);
        if (node == NO_NODE)
            return "too many nodes";
        redis->nodes[node]->seed = any = true;
    }
    return bad ? "a node is host:port or [number]:port" : any ? NULL : "no nodes are given";
}

/* Why not, or NULL. */
static const char *settle_options(struct redis *redis, const struct redis_options *options)
{
    const char *message = NULL;
    redis->settings.user = options->user ? strdup(options->user) : NULL;
    redis->settings.password = options->password ? strdup(options->password) : NULL;
    if ((options->user && !redis->settings.user) ||
        (options->password && !redis->settings.password))
        return "out of memory";
    if (options->tls && !(redis->settings.tls = tls_new(options->ca_file, &message)))
        return message;
    return add_seeds(redis, options->nodes ? options->nodes : "");
}

struct redis *redis_new(const struct redis_options *options, const char **message)
{
    struct redis *redis = calloc(1, sizeof *redis);
    if (!redis) {
        *message = "out of memory";
        return NULL;
    }
    arena_init(&redis->texts, TEXTS_MAX);
    for (size_t slot = 0; slot < REDIS_SLOTS; slot++)
        redis->map.owner[slot] = NO_NODE;
    redis->map.asked = NO_NODE;
    redis->map.wanted = true;
    const char *wrong = settle_options(redis, options);
    if (!wrong)
        return redis;
    redis_free(redis);
    *message = wrong;
    return NULL;
}

static void free_secret(char *text)
{
    if (text)
        OPENSSL_cleanse(text, strlen(text));
    free(text);
}

void redis_free(struct redis *redis)
{
    if (!redis)
        return;
    for (uint16_t i = 0; i < redis->n_nodes; i++)
        if (redis->nodes[i])
            node_free(redis, i);
    tls_free(redis->settings.tls);
    free_secret(redis->settings.user);
    free_secret(redis->settings.password);
    arena_release(&redis->texts);
    free(redis->tasks);
    free(redis);
}

unsigned redis_next_owner(const struct redis *redis, unsigned slot)
{
    unsigned next = slot;
    while (next < REDIS_SLOTS && redis->map.owner[next] == redis->map.owner[slot])
        next++;
    return next;
}

void redis_health(const struct redis *redis, struct redis_health *health)
{
    bool master[NODES_MAX] = {false};
    *health = redis->counts;
    health->known = redis->map.known;
    health->single = redis->map.single;
    health->replicas = redis->map.replicas;
    health->problem = redis->problem;
    for (size_t slot = 0; slot < REDIS_SLOTS; slot++) {
        uint16_t owner = redis->map.owner[slot];
        health->slots += owner != NO_NODE;
        if (owner == NO_NODE || master[owner])
            continue;
        const struct node *node = redis->nodes[owner];
        master[owner] = true;
        health->masters++;
        health->connected += node->conn.state == CONN_READY;
        health->away += node->failures != 0 && !node_ready(redis, node);
    }
}
