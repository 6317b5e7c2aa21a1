/* SPDX-License-Identifier: MIT */
#include "engine/cluster/rows/known.h"

#include <stdlib.h>
#include <string.h>

struct known_head {
    struct known_key key;
    struct known_head *next;          /* of its bucket */
    struct known_head *newer, *older; /* by use */
    uint64_t used;
    uint32_t n_ids, ids_room;
    uint32_t n_deleted, deleted_room;
    uint64_t *ids, *positions;
    uint32_t *deleted, *sorted;
};

/* An array that heads handed out may point into. */
struct outgrown {
    struct outgrown *next;
    uint64_t since;
    void *array;
};

void known_init(struct known *known, size_t bytes_max)
{
    *known = (struct known){.bytes_max = bytes_max};
    pthread_mutex_init(&known->mutex, NULL);
}

static size_t bytes_of(const struct known_head *head)
{
    return sizeof *head + 2 * sizeof head +
           head->ids_room * (sizeof *head->ids + sizeof *head->positions) +
           head->deleted_room * (sizeof *head->deleted + sizeof *head->sorted);
}

static void free_head(struct known_head *head)
{
    free(head->ids);
    free(head->positions);
    free(head->deleted);
    free(head->sorted);
    free(head);
}

static void free_outgrown(struct outgrown *outgrown)
{
    free(outgrown->array);
    free(outgrown);
}

void known_release(struct known *known)
{
    while (known->newest) {
        struct known_head *head = known->newest;
        known->newest = head->older;
        free_head(head);
    }
    while (known->outgrown) {
        struct outgrown *outgrown = known->outgrown;
        known->outgrown = outgrown->next;
        free_outgrown(outgrown);
    }
    free(known->buckets);
    pthread_mutex_destroy(&known->mutex);
}

/* ---- Finding -------------------------------------------------------------------------------- */

static struct known_head **bucket_of(const struct known *known, struct known_key key)
{
    uint64_t hash = (key.author * 2 + key.realm) * 0x9e3779b97f4a7c15u;
    return &known->buckets[(size_t)(hash >> 32) & (known->room - 1)];
}

static bool make_room(struct known *known)
{
    enum { FIRST = 64 };
    if (known->n < known->room)
        return true;
    struct known larger = *known;
    larger.room = known->room ? known->room * 2 : FIRST;
    larger.buckets = calloc(larger.room, sizeof *larger.buckets);
    if (!larger.buckets)
        return false;
    for (struct known_head *head = known->newest; head; head = head->older) {
        struct known_head **bucket = bucket_of(&larger, head->key);
        head->next = *bucket;
        *bucket = head;
    }
    free(known->buckets);
    known->buckets = larger.buckets;
    known->room = larger.room;
    return true;
}

static void unlink_use(struct known *known, struct known_head *head)
{
    *(head != known->newest ? &head->newer->older : &known->newest) = head->older;
    *(head != known->oldest ? &head->older->newer : &known->oldest) = head->newer;
}

static void link_newest(struct known *known, struct known_head *head)
{
    head->newer = NULL;
    head->older = known->newest;
    *(known->newest ? &known->newest->newer : &known->oldest) = head;
    known->newest = head;
}

static struct known_head *find(struct known *known, struct known_key key)
{
    struct known_head *head = known->room ? *bucket_of(known, key) : NULL;
    while (head && !known_same(head->key, key))
        head = head->next;
    if (!head)
        return NULL;
    head->used = known->time;
    unlink_use(known, head);
    link_newest(known, head);
    return head;
}

static struct known_head *find_or_make(struct known *known, struct known_key key)
{
    struct known_head *head = find(known, key);
    if (head || !make_room(known))
        return head;
    head = calloc(1, sizeof *head);
    if (!head)
        return NULL;
    struct known_head **bucket = bucket_of(known, key);
    head->key = key;
    head->used = known->time;
    head->next = *bucket;
    *bucket = head;
    link_newest(known, head);
    known->n++;
    known->bytes += bytes_of(head);
    return head;
}

struct known_found known_find(struct known *known, struct known_guest *guest, struct known_key key)
{
    struct known_found found = {0};
    pthread_mutex_lock(&known->mutex);
    if (!guest->since)
        guest->since = ++known->time;
    const struct known_head *head = find(known, key);
    if (head)
        found = (struct known_found){head->n_ids,     head->n_deleted, head->ids,
                                     head->positions, head->deleted,   head->sorted};
    pthread_mutex_unlock(&known->mutex);
    return found;
}

/* ---- Adding --------------------------------------------------------------------------------- */

/* A larger array; the old one stays for those who have it. */
static bool grow(struct known *known, void **array, size_t size, uint32_t n, uint32_t room)
{
    struct outgrown *outgrown = malloc(sizeof *outgrown);
    void *grown = malloc(size * room);
    if (!outgrown || !grown) {
        free(outgrown);
        free(grown);
        return false;
    }
    if (n)
        memcpy(grown, *array, size * n);
    *outgrown = (struct outgrown){known->outgrown, known->time, *array};
    known->outgrown = outgrown;
    *array = grown;
    return true;
}

/* A quarter more than it needs, once it has grown. */
static uint32_t room_for(uint32_t n, uint32_t had)
{
    return had ? n + n / 4 : n;
}

static bool make_ids_room(struct known *known, struct known_head *head, uint32_t n)
{
    void *ids = head->ids, *positions = head->positions;
    uint32_t room = room_for(n, head->ids_room);
    if (n <= head->ids_room)
        return true;
    if (!grow(known, &ids, sizeof *head->ids, head->n_ids, room))
        return false;
    head->ids = ids;
    if (!grow(known, &positions, sizeof *head->positions, head->n_ids, room))
        return false;
    head->positions = positions;
    head->ids_room = room;
    return true;
}

bool known_add_posts(struct known *known, struct known_key key, uint32_t first, const uint64_t *ids,
                     const uint64_t *positions, size_t n)
{
    pthread_mutex_lock(&known->mutex);
    struct known_head *head = find_or_make(known, key);
    size_t before = head ? bytes_of(head) : 0;
    uint32_t end = first + (uint32_t)n;
    bool fine = head && make_ids_room(known, head, end);
    for (uint32_t i = fine && head->n_ids >= first ? head->n_ids : end; i < end; i++) {
        head->ids[i] = ids[i - first];
        head->positions[i] = positions[i - first];
        head->n_ids = i + 1;
    }
    known->bytes += head ? bytes_of(head) - before : 0;
    pthread_mutex_unlock(&known->mutex);
    return fine;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* The sorted ones are another array each time: those who have it count on its order. */
static bool add_deletions(struct known *known, struct known_head *head, const uint32_t *numbers,
                          uint32_t n)
{
    uint32_t all = head->n_deleted + n;
    void *deleted = head->deleted, *sorted = head->sorted;
    uint32_t room =
        all > head->deleted_room ? room_for(all, head->deleted_room) : head->deleted_room;
    if (room > head->deleted_room &&
        !grow(known, &deleted, sizeof *head->deleted, head->n_deleted, room))
        return false;
    head->deleted = deleted;
    if (!grow(known, &sorted, sizeof *head->sorted, head->n_deleted, room))
        return false;
    head->sorted = sorted;
    head->deleted_room = room;
    memcpy(head->deleted + head->n_deleted, numbers, n * sizeof *numbers);
    memcpy(head->sorted + head->n_deleted, numbers, n * sizeof *numbers);
    head->n_deleted = all;
    qsort(head->sorted, all, sizeof *head->sorted, by_number);
    return true;
}

bool known_add_deletions(struct known *known, struct known_key key, uint32_t first,
                         const uint32_t *numbers, size_t n)
{
    pthread_mutex_lock(&known->mutex);
    struct known_head *head = find_or_make(known, key);
    size_t before = head ? bytes_of(head) : 0;
    bool fine = head;
    uint32_t end = first + (uint32_t)n;
    if (fine && head->n_deleted >= first && head->n_deleted < end)
        fine =
            add_deletions(known, head, numbers + (head->n_deleted - first), end - head->n_deleted);
    known->bytes += head ? bytes_of(head) - before : 0;
    pthread_mutex_unlock(&known->mutex);
    return fine;
}

/* ---- Leaving -------------------------------------------------------------------------------- */

void known_join(struct known *known, struct known_guest *guest)
{
    pthread_mutex_lock(&known->mutex);
    *guest = (struct known_guest){.next = known->guests};
    known->guests = guest;
    pthread_mutex_unlock(&known->mutex);
}

void known_part(struct known *known, struct known_guest *guest)
{
    pthread_mutex_lock(&known->mutex);
    struct known_guest **at = &known->guests;
    while (*at && *at != guest)
        at = &(*at)->next;
    if (*at)
        *at = guest->next;
    pthread_mutex_unlock(&known->mutex);
}

/* What was last used, or outgrown, before that is nobody's. */
static uint64_t earliest(const struct known *known)
{
    uint64_t since = known->time + 1;
    for (const struct known_guest *guest = known->guests; guest; guest = guest->next)
        if (guest->since && guest->since < since)
            since = guest->since;
    return since;
}

static void forget(struct known *known, struct known_head *head)
{
    struct known_head **at = bucket_of(known, head->key);
    while (*at != head)
        at = &(*at)->next;
    *at = head->next;
    unlink_use(known, head);
    known->n--;
    known->bytes -= bytes_of(head);
    free_head(head);
}

/* The newest ones come first. */
static void free_old(struct known *known, uint64_t before)
{
    struct outgrown **at = &known->outgrown;
    while (*at && (*at)->since >= before)
        at = &(*at)->next;
    while (*at) {
        struct outgrown *outgrown = *at;
        *at = outgrown->next;
        free_outgrown(outgrown);
    }
}

void known_leave(struct known *known, struct known_guest *guest)
{
    pthread_mutex_lock(&known->mutex);
    guest->since = 0;
    uint64_t before = earliest(known);
    free_old(known, before);
    while (known->bytes > known->bytes_max && known->oldest && known->oldest->used < before)
        forget(known, known->oldest);
    pthread_mutex_unlock(&known->mutex);
}
