/* SPDX-License-Identifier: MIT */
#include "http/peers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An address in use, in the chain of its bucket; or a free one, in the chain of free ones. */
struct slot {
    uint64_t address[2];
    uint64_t connections;
    uint32_t next;
    uint32_t bucket;
};

struct peers {
    pthread_mutex_t lock;
    uint64_t limit;
    uint64_t seed;
    uint32_t n;
    uint32_t free;
    uint32_t *buckets;
    struct slot *slots;
};

struct peers *peers_new(uint32_t connections, uint64_t limit, uint64_t seed)
{
    struct peers *peers = calloc(1, sizeof *peers);
    if (!peers)
        return NULL;
    pthread_mutex_init(&peers->lock, NULL);
    peers->limit = limit;
    peers->seed = seed;
    peers->n = connections ? connections : 1;
    peers->buckets = malloc(peers->n * sizeof *peers->buckets);
    peers->slots = malloc(peers->n * sizeof *peers->slots);
    if (!peers->buckets || !peers->slots) {
        peers_free(peers);
        return NULL;
    }
    for (uint32_t i = 0; i < peers->n; i++) {
        peers->buckets[i] = PEERS_NONE;
        peers->slots[i].next = i + 1 < peers->n ? i + 1 : PEERS_NONE;
    }
    return peers;
}

void peers_free(struct peers *peers)
{
    if (!peers)
        return;
    pthread_mutex_destroy(&peers->lock);
    free(peers->buckets);
    free(peers->slots);
    free(peers);
}

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

static uint32_t find(const struct peers *peers, uint32_t bucket, const uint64_t address[2])
{
    uint32_t at = peers->buckets[bucket];
    while (at != PEERS_NONE && memcmp(peers->slots[at].address, address, 16) != 0)
        at = peers->slots[at].next;
    return at;
}

bool peers_enter(struct peers *peers, const struct http_peer *peer, uint32_t *slot)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    uint64_t address[2];
    memcpy(address, peer->address, sizeof address);
    if (memcmp(peer->address, mapped, sizeof mapped) != 0)
        address[1] = 0;
    uint64_t hash = mix(mix(address[0] ^ peers->seed) + address[1] + (peers->seed >> 7));
    uint32_t bucket = (uint32_t)(hash % peers->n);

    pthread_mutex_lock(&peers->lock);
    uint32_t at = find(peers, bucket, address);
    bool fresh = at == PEERS_NONE;
    if (fresh)
        at = peers->free;
    bool ok = at != PEERS_NONE && (fresh || peers->slots[at].connections < peers->limit);
    if (ok && fresh) {
        struct slot *taken = &peers->slots[at];
        peers->free = taken->next;
        memcpy(taken->address, address, sizeof address);
        taken->connections = 0;
        taken->bucket = bucket;
        taken->next = peers->buckets[bucket];
        peers->buckets[bucket] = at;
    }
    if (ok)
        peers->slots[at].connections++;
    pthread_mutex_unlock(&peers->lock);
    *slot = at;
    return ok;
}

void peers_leave(struct peers *peers, uint32_t slot)
{
    pthread_mutex_lock(&peers->lock);
    struct slot *left = &peers->slots[slot];
    if (--left->connections == 0) {
        uint32_t *link = &peers->buckets[left->bucket];
        while (*link != slot)
            link = &peers->slots[*link].next;
        *link = left->next;
        left->next = peers->free;
        peers->free = slot;
    }
    pthread_mutex_unlock(&peers->lock);
}
