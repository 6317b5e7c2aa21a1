/* SPDX-License-Identifier: MIT */
#include "engine/local/heads.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024, FIRST_ROOM = 4 };

struct slot {
    _Atomic uint64_t author; /* 0: free */
    _Atomic(struct head *) newest;
};

/* Open addressing; replaced by one of twice the size when half full, never changed otherwise. */
struct slots {
    size_t mask;
    struct slot at[];
};

/* Memory that readers older than `version` may still look at. */
struct retired {
    struct retired *next;
    void *memory;
    uint64_t version;
};

struct heads_reader {
    struct heads_reader *next;
    _Atomic uint64_t version; /* IDLE, or no newer than the snapshot it reads */
};

#define IDLE UINT64_MAX

struct heads {
    _Atomic(struct slots *) slots;
    _Atomic uint64_t committed;
    _Atomic(struct heads_reader *) readers;
    size_t used;                       /* slots taken */
    struct retired *oldest, *youngest; /* in the order of their versions */
    struct head **touched;             /* versions made by the transaction under way */
    size_t n_touched, room_touched;
};

static const struct head empty_head;

/* ---- Finding -------------------------------------------------------------------------------- */

static size_t hash_of(uint64_t author)
{
    /* Host applications count users up: spread neighbours, keep it one multiplication. */
    uint64_t h = author * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h ^ (h >> 32));
}

static struct slot *find_slot(struct slots *slots, uint64_t author)
{
    for (size_t i = hash_of(author);; i++) {
        struct slot *slot = &slots->at[i & slots->mask];
        uint64_t found = atomic_load_explicit(&slot->author, memory_order_acquire);
        if (found == author || !found)
            return slot;
    }
}

const struct head *heads_get(const struct heads *heads, uint64_t author, uint64_t version)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_acquire);
    struct slot *slot = find_slot(slots, author);
    const struct head *head = atomic_load_explicit(&slot->newest, memory_order_acquire);
    while (head && head->version > version)
        head = head->prev;
    return head ? head : &empty_head;
}

void heads_prefetch(const struct heads *heads, uint64_t author)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_acquire);
    __builtin_prefetch(&slots->at[hash_of(author) & slots->mask]);
}

void heads_each(const struct heads *heads, void (*visit)(const struct head *newest, void *ctx),
                void *ctx)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_acquire);
    for (size_t i = 0; i <= slots->mask; i++) {
        const struct head *head = atomic_load_explicit(&slots->at[i].newest, memory_order_acquire);
        if (head)
            visit(head, ctx);
    }
}

/* ---- Retiring ------------------------------------------------------------------------------- */

/* If memory is too short to remember it, it is never freed: readers come first. */
static void retire(struct heads *heads, const void *memory, uint64_t version)
{
    struct retired *retired = memory ? malloc(sizeof *retired) : NULL;
    if (!retired)
        return;
    *retired = (struct retired){.memory = (void *)(uintptr_t)memory, .version = version};
    if (heads->youngest)
        heads->youngest->next = retired;
    else
        heads->oldest = retired;
    heads->youngest = retired;
}

/* What `gone` has and `kept`, which may be NULL, does not share. */
static void retire_version(struct heads *heads, const struct head *gone, const struct head *kept,
                           uint64_t version)
{
    if (!gone)
        return;
    if (!kept || kept->ids != gone->ids)
        retire(heads, gone->ids, version);
    if (!kept || kept->deleted != gone->deleted)
        retire(heads, gone->deleted, version);
    if (!kept || kept->deleted_sorted != gone->deleted_sorted)
        retire(heads, gone->deleted_sorted, version);
    retire(heads, gone, version);
}

/*
 * A reader announces a version it knows to be committed before it takes its snapshot, so its
 * snapshot is no older. One that announces after we have looked takes a snapshot of now at least.
 */
static uint64_t oldest_reader(const struct heads *heads)
{
    uint64_t oldest = atomic_load(&heads->committed);
    struct heads_reader *reader = atomic_load(&heads->readers);
    for (; reader; reader = reader->next) {
        uint64_t version = atomic_load(&reader->version);
        if (version < oldest)
            oldest = version;
    }
    return oldest;
}

static void reclaim(struct heads *heads)
{
    uint64_t limit = heads->oldest ? oldest_reader(heads) : 0;
    while (heads->oldest && heads->oldest->version <= limit) {
        struct retired *retired = heads->oldest;
        heads->oldest = retired->next;
        if (!heads->oldest)
            heads->youngest = NULL;
        free(retired->memory);
        free(retired);
    }
}

struct heads_reader *heads_reader_new(struct heads *heads)
{
    struct heads_reader *reader = malloc(sizeof *reader);
    if (!reader)
        return NULL;
    atomic_init(&reader->version, IDLE);
    reader->next = atomic_load(&heads->readers);
    while (!atomic_compare_exchange_weak(&heads->readers, &reader->next, reader))
        ;
    return reader;
}

void heads_enter(struct heads *heads, struct heads_reader *reader)
{
    atomic_store(&reader->version, atomic_load(&heads->committed));
}

void heads_leave(struct heads_reader *reader)
{
    atomic_store_explicit(&reader->version, IDLE, memory_order_release);
}

/* ---- Making versions ------------------------------------------------------------------------ */

static struct slots *slots_new(size_t n)
{
    struct slots *slots = calloc(1, sizeof *slots + n * sizeof slots->at[0]);
    if (slots)
        slots->mask = n - 1;
    return slots;
}

static bool grow_slots(struct heads *heads, uint64_t version)
{
    struct slots *old = atomic_load_explicit(&heads->slots, memory_order_relaxed);
    struct slots *grown = slots_new((old->mask + 1) * 2);
    if (!grown)
        return false;
    for (size_t i = 0; i <= old->mask; i++) {
        uint64_t author = atomic_load_explicit(&old->at[i].author, memory_order_relaxed);
        if (!author)
            continue;
        struct slot *slot = find_slot(grown, author);
        atomic_init(&slot->author, author);
        atomic_init(&slot->newest, atomic_load_explicit(&old->at[i].newest, memory_order_relaxed));
    }
    retire(heads, old, version);
    atomic_store_explicit(&heads->slots, grown, memory_order_release);
    return true;
}

/* The author's slot, made if need be; NULL if memory is short. */
static struct slot *claim_slot(struct heads *heads, uint64_t author, uint64_t version)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_relaxed);
    struct slot *slot = find_slot(slots, author);
    if (atomic_load_explicit(&slot->author, memory_order_relaxed))
        return slot;
    if ((heads->used + 1) * 2 > slots->mask + 1) {
        if (!grow_slots(heads, version))
            return NULL;
        slot = find_slot(atomic_load_explicit(&heads->slots, memory_order_relaxed), author);
    }
    heads->used++;
    atomic_store_explicit(&slot->author, author, memory_order_release);
    return slot;
}

static bool remember_touched(struct heads *heads, struct head *head)
{
    if (heads->n_touched == heads->room_touched) {
        size_t room = heads->room_touched ? heads->room_touched * 2 : 64;
        struct head **grown = realloc(heads->touched, room * sizeof *grown);
        if (!grown)
            return false;
        heads->touched = grown;
        heads->room_touched = room;
    }
    heads->touched[heads->n_touched++] = head;
    return true;
}

/* A copy of the newest version, to be changed and then shown with publish_version. */
static struct head *copy_version(struct slot *slot, uint64_t author, uint64_t version)
{
    struct head *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    struct head *newest = atomic_load_explicit(&slot->newest, memory_order_relaxed);
    *copy = newest ? *newest : empty_head;
    copy->author = author;
    copy->version = version;
    copy->prev = newest;
    return copy;
}

static bool publish_version(struct heads *heads, struct slot *slot, struct head *head)
{
    if (!remember_touched(heads, head))
        return false;
    atomic_store_explicit(&slot->newest, head, memory_order_release);
    return true;
}

/* Arrays have room for a power of two, so that it follows from the count. */
static size_t room_for(uint32_t n)
{
    size_t room = FIRST_ROOM;
    while (room < n)
        room *= 2;
    return room;
}

/*
 * An array that grows at its end, shared by versions: the array to write number n to, a larger copy
 * if it is full.
 */
static void *room_for_one(const void *array, uint32_t n, size_t size)
{
    if (n && n < room_for(n))
        return (void *)(uintptr_t)array;
    void *grown = malloc(room_for(n + 1) * size);
    if (grown && n)
        memcpy(grown, array, n * size);
    return grown;
}

bool heads_add_post(struct heads *heads, uint64_t author, uint64_t version, uint64_t id)
{
    struct slot *slot = claim_slot(heads, author, version);
    struct head *head = slot ? copy_version(slot, author, version) : NULL;
    uint64_t *ids = head ? room_for_one(head->ids, head->n_posts, sizeof *ids) : NULL;
    if (!ids) {
        free(head);
        return false;
    }
    bool grown = ids != head->ids;
    ids[head->n_posts++] = id;
    head->ids = ids;
    head->last_id = id;
    if (publish_version(heads, slot, head))
        return true;
    if (grown)
        free(ids);
    free(head);
    return false;
}

/* A new sorted array with one number more. */
static uint32_t *insert_sorted(const struct head *head, uint32_t number)
{
    uint32_t at = head_deleted_below(head, number);
    uint32_t *sorted = malloc(((size_t)head->n_deleted + 1) * sizeof *sorted);
    if (!sorted)
        return NULL;
    if (head->n_deleted) {
        memcpy(sorted, head->deleted_sorted, at * sizeof *sorted);
        memcpy(sorted + at + 1, head->deleted_sorted + at, (head->n_deleted - at) * sizeof *sorted);
    }
    sorted[at] = number;
    return sorted;
}

bool heads_add_deletion(struct heads *heads, uint64_t author, uint64_t version, uint32_t number)
{
    struct slot *slot = claim_slot(heads, author, version);
    struct head *head = slot ? copy_version(slot, author, version) : NULL;
    uint32_t *sorted = head ? insert_sorted(head, number) : NULL;
    uint32_t *deleted =
        sorted ? room_for_one(head->deleted, head->n_deleted, sizeof *deleted) : NULL;
    bool grown = deleted && deleted != head->deleted;
    if (deleted) {
        deleted[head->n_deleted++] = number;
        head->deleted = deleted;
        head->deleted_sorted = sorted;
        if (publish_version(heads, slot, head))
            return true;
    }
    if (grown)
        free(deleted);
    free(sorted);
    free(head);
    return false;
}

bool heads_load(struct heads *heads, const struct head *from)
{
    struct slot *slot = claim_slot(heads, from->author, 0);
    struct head *head = slot ? copy_version(slot, from->author, 0) : NULL;
    if (!head)
        return false;
    uint64_t *ids = malloc(room_for(from->n_posts) * sizeof *ids);
    uint32_t *deleted = malloc(room_for(from->n_deleted) * sizeof *deleted);
    uint32_t *sorted = malloc(room_for(from->n_deleted) * sizeof *sorted);
    if (!ids || !deleted || !sorted) {
        free(ids);
        free(deleted);
        free(sorted);
        free(head);
        return false;
    }
    memcpy(ids, from->ids, from->n_posts * sizeof *ids);
    memcpy(deleted, from->deleted, from->n_deleted * sizeof *deleted);
    memcpy(sorted, from->deleted_sorted, from->n_deleted * sizeof *sorted);
    head->ids = ids;
    head->deleted = deleted;
    head->deleted_sorted = sorted;
    head->n_posts = from->n_posts;
    head->n_deleted = from->n_deleted;
    head->last_id = from->n_posts ? ids[from->n_posts - 1] : 0;
    atomic_store_explicit(&slot->newest, head, memory_order_release);
    return true;
}

/* ---- The end of a transaction --------------------------------------------------------------- */

void heads_commit(struct heads *heads, uint64_t version)
{
    atomic_store(&heads->committed, version);
    for (size_t i = 0; i < heads->n_touched; i++)
        retire_version(heads, heads->touched[i]->prev, heads->touched[i], version);
    heads->n_touched = 0;
    reclaim(heads);
}

void heads_abort(struct heads *heads, uint64_t version)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_relaxed);
    while (heads->n_touched) {
        struct head *head = heads->touched[--heads->n_touched];
        struct slot *slot = find_slot(slots, head->author);
        struct head *prev = (struct head *)(uintptr_t)head->prev;
        atomic_store_explicit(&slot->newest, prev, memory_order_release);
        retire_version(heads, head, prev, version);
    }
}

/* ---- Life ----------------------------------------------------------------------------------- */

struct heads *heads_new(void)
{
    struct heads *heads = calloc(1, sizeof *heads);
    struct slots *slots = slots_new(FIRST_SLOTS);
    if (!heads || !slots) {
        free(heads);
        free(slots);
        return NULL;
    }
    atomic_init(&heads->slots, slots);
    return heads;
}

static void free_newest(const struct head *newest, void *ctx)
{
    (void)ctx;
    free((void *)(uintptr_t)newest->ids);
    free((void *)(uintptr_t)newest->deleted);
    free((void *)(uintptr_t)newest->deleted_sorted);
    free((void *)(uintptr_t)newest);
}

void heads_free(struct heads *heads)
{
    if (!heads)
        return;
    heads_each(heads, free_newest, NULL);
    while (heads->oldest) {
        struct retired *retired = heads->oldest;
        heads->oldest = retired->next;
        free(retired->memory);
        free(retired);
    }
    struct heads_reader *reader = atomic_load(&heads->readers);
    while (reader) {
        struct heads_reader *next = reader->next;
        free(reader);
        reader = next;
    }
    free(atomic_load(&heads->slots));
    free(heads->touched);
    free(heads);
}

/* ---- Arithmetic on one head ----------------------------------------------------------------- */

uint32_t head_posts_below(const struct head *head, uint64_t id)
{
    uint32_t low = 0, high = head->n_posts;
    if (id > head->last_id)
        return high;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (head->ids[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint32_t head_deleted_below(const struct head *head, uint32_t number)
{
    uint32_t low = 0, high = head->n_deleted;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (head->deleted_sorted[middle] < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

bool head_is_deleted(const struct head *head, uint32_t number)
{
    uint32_t at = head_deleted_below(head, number);
    return at < head->n_deleted && head->deleted_sorted[at] == number;
}

uint64_t head_deleted_mask(const struct head *head, uint32_t first)
{
    uint64_t mask = 0;
    uint32_t at = head_deleted_below(head, first);
    for (; at < head->n_deleted && head->deleted_sorted[at] - first < 64; at++)
        mask |= UINT64_C(1) << (head->deleted_sorted[at] - first);
    return mask;
}
