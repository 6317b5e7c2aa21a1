/* SPDX-License-Identifier: MIT */
#include "engine/cluster/rows/copies.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_A_BUCKET = 1 << 12 };

struct kept_pair {
    uint64_t author;
    uint32_t at, n; /* bytes of the copy */
};

struct pairs_copy {
    struct pairs_copy *next; /* in the bucket */
    enum realm realm;
    bool used; /* since the hand came by */
    uint64_t fan, version;
    size_t n, n_bytes;
    struct kept_pair pairs[]; /* by author; their bytes behind them */
};

void copies_init(struct copies *copies, size_t bytes_max)
{
    *copies = (struct copies){.bytes_max = bytes_max, .n_buckets = bytes_max / BYTES_A_BUCKET};
    pthread_mutex_init(&copies->mutex, NULL);
    if (copies->n_buckets)
        copies->buckets = calloc(copies->n_buckets, sizeof(struct pairs_copy *));
    if (!copies->buckets)
        copies->n_buckets = 0;
}

static uint8_t *values_of(struct pairs_copy *copy)
{
    return (uint8_t *)(copy->pairs + copy->n);
}

static size_t size_of(size_t n, size_t n_bytes)
{
    return sizeof(struct pairs_copy) + n * sizeof(struct kept_pair) + n_bytes;
}

/* The link to the copy, or to where one would be; with n_buckets. */
static struct pairs_copy **link_of(struct copies *copies, enum realm realm, uint64_t fan)
{
    uint64_t hash = (fan * 2 + realm) * UINT64_C(0x9e3779b97f4a7c15);
    struct pairs_copy **link = &copies->buckets[(hash >> 32) % copies->n_buckets];
    while (*link && ((*link)->fan != fan || (*link)->realm != realm))
        link = &(*link)->next;
    return link;
}

static void drop(struct copies *copies, struct pairs_copy **link)
{
    struct pairs_copy *copy = *link;
    *link = copy->next;
    copies->bytes -= size_of(copy->n, copy->n_bytes);
    free(copy);
}

void copies_release(struct copies *copies)
{
    for (size_t i = 0; i < copies->n_buckets; i++)
        while (copies->buckets[i])
            drop(copies, &copies->buckets[i]);
    free(copies->buckets);
    pthread_mutex_destroy(&copies->mutex);
}

/* Drops what was not used since the hand came by last, until the rest fits. */
static void make_room(struct copies *copies)
{
    while (copies->bytes > copies->bytes_max) {
        for (struct pairs_copy **link = &copies->buckets[copies->hand]; *link;) {
            if (!(*link)->used) {
                drop(copies, link);
                continue;
            }
            (*link)->used = false;
            link = &(*link)->next;
        }
        copies->hand = (copies->hand + 1) % copies->n_buckets;
    }
}

/* In the place of the one that is there. */
static void keep(struct copies *copies, struct pairs_copy *copy)
{
    struct pairs_copy **link = link_of(copies, copy->realm, copy->fan);
    copy->used = *link != NULL;
    if (*link)
        drop(copies, link);
    copy->next = *link;
    *link = copy;
    copies->bytes += size_of(copy->n, copy->n_bytes);
    make_room(copies);
}

/* ---- Reading -------------------------------------------------------------------------------- */

static bool copy_out(struct pairs_copy *copy, struct arena *arena, struct tie_stored **pairs)
{
    struct tie_stored *out = arena_array(arena, copy->n + 1, sizeof *out);
    uint8_t *bytes = arena_alloc(arena, copy->n_bytes + 1);
    if (!out || !bytes)
        return false;
    memcpy(bytes, values_of(copy), copy->n_bytes);
    for (size_t i = 0; i < copy->n; i++)
        out[i] = (struct tie_stored){.author = copy->pairs[i].author,
                                     .value = {bytes + copy->pairs[i].at, copy->pairs[i].n}};
    *pairs = out;
    return true;
}

bool copies_get(struct copies *copies, enum realm realm, uint64_t fan, uint64_t version,
                struct arena *arena, struct tie_stored **pairs, size_t *n)
{
    bool found = false;
    if (!copies->n_buckets)
        return false;
    pthread_mutex_lock(&copies->mutex);
    struct pairs_copy *copy = *link_of(copies, realm, fan);
    if (copy && (!version || copy->version == version) && copy_out(copy, arena, pairs)) {
        *n = copy->n;
        found = copy->used = true;
    }
    pthread_mutex_unlock(&copies->mutex);
    return found;
}

/* ---- Keeping -------------------------------------------------------------------------------- */

/* An empty one with that much room, NULL if memory is short. */
static struct pairs_copy *make_copy(enum realm realm, uint64_t fan, uint64_t version, size_t n,
                                    size_t n_bytes)
{
    struct pairs_copy *copy = n_bytes <= UINT32_MAX ? malloc(size_of(n, n_bytes)) : NULL;
    if (copy)
        *copy = (struct pairs_copy){.realm = realm, .fan = fan, .version = version, .n = n};
    return copy;
}

static void add_pair(struct pairs_copy *copy, size_t i, uint64_t author, struct bytes value)
{
    copy->pairs[i] = (struct kept_pair){author, (uint32_t)copy->n_bytes, (uint32_t)value.n};
    if (value.n)
        memcpy(values_of(copy) + copy->n_bytes, value.p, value.n);
    copy->n_bytes += value.n;
}

void copies_put(struct copies *copies, enum realm realm, uint64_t fan, uint64_t version,
                const struct tie_stored *pairs, size_t n)
{
    size_t n_bytes = 0;
    for (size_t i = 0; i < n; i++)
        n_bytes += pairs[i].value.n;
    if (!version || size_of(n, n_bytes) > copies->bytes_max / 2 || !copies->n_buckets)
        return;
    struct pairs_copy *copy = make_copy(realm, fan, version, n, n_bytes);
    for (size_t i = 0; copy && i < n; i++)
        add_pair(copy, i, pairs[i].author, pairs[i].value);
    pthread_mutex_lock(&copies->mutex);
    if (copy)
        keep(copies, copy);
    pthread_mutex_unlock(&copies->mutex);
}

/* ---- Changing ------------------------------------------------------------------------------- */

/* How many pairs and bytes there are when all that was there and all that is new is kept. */
static struct pairs_copy *make_larger(const struct pairs_copy *old, uint64_t version,
                                      const struct copies_change *changes, size_t n)
{
    size_t n_bytes = old->n_bytes, n_pairs = 0;
    for (size_t i = 0, at = 0; i < old->n || at < n; n_pairs++) {
        bool is_new = i == old->n || (at < n && changes[at].author < old->pairs[i].author);
        bool both = !is_new && at < n && changes[at].author == old->pairs[i].author;
        if (is_new || both)
            n_bytes += changes[at].value.p ? changes[at].value.n : 0;
        n_pairs -= (is_new || both) && !changes[at].value.p;
        i += !is_new;
        at += is_new || both;
    }
    return make_copy(old->realm, old->fan, version, n_pairs, n_bytes);
}

/* The old one's pairs with the changes made. */
static struct pairs_copy *merge(struct pairs_copy *old, uint64_t version,
                                const struct copies_change *changes, size_t n)
{
    struct pairs_copy *copy = make_larger(old, version, changes, n);
    for (size_t i = 0, at = 0, to = 0; copy && (i < old->n || at < n);) {
        bool is_new = i == old->n || (at < n && changes[at].author < old->pairs[i].author);
        bool both = !is_new && at < n && changes[at].author == old->pairs[i].author;
        if (!is_new && !both)
            add_pair(copy, to++, old->pairs[i].author,
                     (struct bytes){values_of(old) + old->pairs[i].at, old->pairs[i].n});
        else if (changes[at].value.p)
            add_pair(copy, to++, changes[at].author, changes[at].value);
        i += !is_new;
        at += is_new || both;
    }
    return copy;
}

void copies_change(struct copies *copies, enum realm realm, uint64_t fan, uint64_t from,
                   uint64_t to, const struct copies_change *changes, size_t n)
{
    if (!copies->n_buckets)
        return;
    pthread_mutex_lock(&copies->mutex);
    struct pairs_copy *old = *link_of(copies, realm, fan), *changed = NULL;
    if (old && old->version == from) {
        if (n)
            changed = merge(old, to, changes, n);
        else
            old->version = to;
    }
    if (changed)
        keep(copies, changed);
    pthread_mutex_unlock(&copies->mutex);
}
