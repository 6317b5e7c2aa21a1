/* SPDX-License-Identifier: MIT */
#include "engine/local/memory/heads.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 1024, FIRST_ROOM = 4, CACHE_LINE = 64 };

/* Half a line of the cache. */
struct slot {
    _Alignas(32) _Atomic uint64_t author; /* 0: free */
    _Atomic(struct head *) newest;
    _Atomic uint64_t brief; /* of the newest: see brief_of */
};

/* Open addressing; replaced by one of twice the size when half full, never changed otherwise. */
struct slots {
    size_t mask;
    struct slot at[];
};

/* Memory that readers who came in up to that epoch may still look at. */
struct retired {
    struct retired *next;
    void *memory;
    uint64_t epoch;
};

struct heads_reader {
    struct heads_reader *next;
    _Atomic uint64_t epoch; /* IDLE, or the one it came in */
};

#define IDLE UINT64_MAX

struct heads {
    _Atomic(struct slots *) slots;
    _Atomic uint64_t epoch; /* counts transactions, committed or not */
    _Atomic(struct heads_reader *) readers;
    size_t used;                       /* slots taken */
    struct retired *oldest, *youngest; /* in the order of their versions */
    struct head **touched;             /* versions made by the transaction under way */
    size_t n_touched, room_touched;
};

static const struct head empty_head;

/*
 * What a badge wants to know of a head, in one word beside the pointer to it: version << 24 | number of posts. All ones if
 * it does not fit, or if there is more to know.
 */
enum { BRIEF_SHIFT = 24, BRIEF_POSTS = (1 << BRIEF_SHIFT) - 1 };
#define BRIEF_NONE UINT64_MAX

static uint64_t brief_of(const struct head *head)
{
    if (!head)
        return 0;
    if (head->n_deleted || head_is_closed(head) || head->n_posts > BRIEF_POSTS ||
        head->version >= BRIEF_NONE >> BRIEF_SHIFT)
        return BRIEF_NONE;
    return head->version << BRIEF_SHIFT | head->n_posts;
}

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

const struct head *heads_newest(const struct heads *heads, uint64_t author)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_acquire);
    struct slot *slot = find_slot(slots, author);
    const struct head *newest = atomic_load_explicit(&slot->newest, memory_order_acquire);
    __builtin_prefetch(newest);
    return newest;
}

const struct head *heads_resolve(const struct head *newest, uint64_t version)
{
    while (newest && newest->version > version)
        newest = newest->prev;
    return newest ? newest : &empty_head;
}

const struct head *heads_get(const struct heads *heads, uint64_t author, uint64_t version)
{
    return heads_resolve(heads_newest(heads, author), version);
}

bool heads_count(const struct heads *heads, uint64_t author, uint64_t version, uint32_t *n_posts)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_acquire);
    uint64_t brief = atomic_load_explicit(&find_slot(slots, author)->brief, memory_order_acquire);
    *n_posts = brief & BRIEF_POSTS;
    return brief >> BRIEF_SHIFT <= version && brief != BRIEF_NONE;
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
static void retire(struct heads *heads, const void *memory)
{
    struct retired *retired = memory ? malloc(sizeof *retired) : NULL;
    if (!retired)
        return;
    *retired = (struct retired){
        .memory = (void *)(uintptr_t)memory,
        .epoch = atomic_load_explicit(&heads->epoch, memory_order_relaxed),
    };
    if (heads->youngest)
        heads->youngest->next = retired;
    else
        heads->oldest = retired;
    heads->youngest = retired;
}

/* What `gone` has and `kept`, which may be NULL, does not share. */
static void retire_version(struct heads *heads, const struct head *gone, const struct head *kept)
{
    if (!gone)
        return;
    if (!kept || kept->ids != gone->ids)
        retire(heads, gone->ids);
    if (!kept || kept->deleted != gone->deleted)
        retire(heads, gone->deleted);
    if (!kept || kept->deleted_sorted != gone->deleted_sorted)
        retire(heads, gone->deleted_sorted);
    retire(heads, gone);
}

/*
 * A transaction ends in a new epoch. Whoever comes in from then on takes a snapshot that is no older, and finds
 * nothing of what was retired before: a reader announces its epoch before it takes its snapshot.
 */
static void next_epoch(struct heads *heads)
{
    uint64_t oldest = atomic_fetch_add(&heads->epoch, 1) + 1;
    struct heads_reader *reader = heads->oldest ? atomic_load(&heads->readers) : NULL;
    for (; reader; reader = reader->next) {
        uint64_t epoch = atomic_load(&reader->epoch);
        if (epoch < oldest)
            oldest = epoch;
    }
    while (heads->oldest && heads->oldest->epoch < oldest) {
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
    atomic_init(&reader->epoch, IDLE);
    reader->next = atomic_load(&heads->readers);
    while (!atomic_compare_exchange_weak(&heads->readers, &reader->next, reader))
        ;
    return reader;
}

void heads_enter(struct heads *heads, struct heads_reader *reader)
{
    atomic_store(&reader->epoch, atomic_load(&heads->epoch));
    /* Seen before the snapshot is taken, which LMDB does with plain loads. */
    atomic_thread_fence(memory_order_seq_cst);
}

void heads_leave(struct heads_reader *reader)
{
    atomic_store_explicit(&reader->epoch, IDLE, memory_order_release);
}

/* ---- Making versions ------------------------------------------------------------------------ */

static struct slots *slots_new(size_t n)
{
    /* A multiple of a line, as aligned_alloc wants it. */
    size_t size = sizeof(struct slots) + n * sizeof(struct slot);
    size = (size + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    struct slots *slots = aligned_alloc(CACHE_LINE, size);
    if (!slots)
        return NULL;
    memset(slots, 0, size);
    slots->mask = n - 1;
    return slots;
}

static bool grow_slots(struct heads *heads)
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
        atomic_init(&slot->brief, atomic_load_explicit(&old->at[i].brief, memory_order_relaxed));
    }
    retire(heads, old);
    atomic_store_explicit(&heads->slots, grown, memory_order_release);
    return true;
}

/* The author's slot, made if need be; NULL if memory is short. */
static struct slot *claim_slot(struct heads *heads, uint64_t author)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_relaxed);
    struct slot *slot = find_slot(slots, author);
    if (atomic_load_explicit(&slot->author, memory_order_relaxed))
        return slot;
    if ((heads->used + 1) * 2 > slots->mask + 1) {
        if (!grow_slots(heads))
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

/* A head is looked at whole, so it lies in one line of the cache: half of a badge's time went into second lines. */
static struct head *head_alloc(void)
{
    _Static_assert(sizeof(struct head) == CACHE_LINE, "a head fills a line");
    return aligned_alloc(CACHE_LINE, sizeof(struct head));
}

/*
 * The author's version of the transaction under way, made if need be. It may be changed: no reader looks at more
 * than its number and its predecessor.
 */
static struct head *own_version(struct heads *heads, struct slot *slot, uint64_t author,
                                uint64_t version)
{
    struct head *newest = atomic_load_explicit(&slot->newest, memory_order_relaxed);
    if (newest && newest->version == version)
        return newest;
    struct head *copy = head_alloc();
    if (!copy || !remember_touched(heads, copy)) {
        free(copy);
        return NULL;
    }
    *copy = newest ? *newest : empty_head;
    copy->author = author;
    copy->version = version;
    copy->prev = newest;
    atomic_store_explicit(&slot->newest, copy, memory_order_release);
    return copy;
}

/* Shows the change to whoever will read this version: the stores are what their loads pair with. */
static void publish(struct slot *slot, struct head *head)
{
    atomic_store_explicit(&slot->newest, head, memory_order_release);
    atomic_store_explicit(&slot->brief, brief_of(head), memory_order_release);
}

/* Frees an array that has been replaced, unless the version before still has it. */
static void drop_array(const void *old, const void *before)
{
    if (old != before)
        free((void *)(uintptr_t)old);
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
    struct slot *slot = claim_slot(heads, author);
    struct head *head = slot ? own_version(heads, slot, author, version) : NULL;
    uint64_t *ids = head ? room_for_one(head->ids, head->n_posts, sizeof *ids) : NULL;
    if (!ids)
        return false;
    if (ids != head->ids)
        drop_array(head->ids, head->prev ? head->prev->ids : NULL);
    ids[head->n_posts++] = id;
    head->ids = ids;
    head->last_id = id;
    publish(slot, head);
    return true;
}

bool heads_close(struct heads *heads, uint64_t author, uint64_t version)
{
    struct slot *slot = claim_slot(heads, author);
    struct head *head = slot ? own_version(heads, slot, author, version) : NULL;
    if (!head)
        return false;
    head->last_id = HEAD_CLOSED;
    publish(slot, head);
    return true;
}

/* Room for one more in the sorted array. It is changed in its middle, so it is not shared: the first time in a
 * transaction it is copied. */
static uint32_t *own_sorted(const struct head *head)
{
    const uint32_t *shared = head->prev ? head->prev->deleted_sorted : NULL;
    uint32_t n = head->n_deleted;
    if (head->deleted_sorted && head->deleted_sorted != shared && n < room_for(n))
        return (uint32_t *)(uintptr_t)head->deleted_sorted;
    uint32_t *copy = malloc(room_for(n + 1) * sizeof *copy);
    if (copy && n)
        memcpy(copy, head->deleted_sorted, n * sizeof *copy);
    return copy;
}

bool heads_add_deletion(struct heads *heads, uint64_t author, uint64_t version, uint32_t number)
{
    struct slot *slot = claim_slot(heads, author);
    struct head *head = slot ? own_version(heads, slot, author, version) : NULL;
    if (!head)
        return false;
    const struct head *prev = head->prev ? head->prev : &empty_head;
    uint32_t *sorted = own_sorted(head);
    uint32_t *deleted =
        sorted ? room_for_one(head->deleted, head->n_deleted, sizeof *deleted) : NULL;
    if (!deleted) {
        if (sorted != head->deleted_sorted)
            free(sorted);
        return false;
    }
    if (sorted != head->deleted_sorted)
        drop_array(head->deleted_sorted, prev->deleted_sorted);
    if (deleted != head->deleted)
        drop_array(head->deleted, prev->deleted);
    head->deleted = deleted;
    head->deleted_sorted = sorted;
    uint32_t at = head_deleted_below(head, number);
    memmove(sorted + at + 1, sorted + at, (head->n_deleted - at) * sizeof *sorted);
    sorted[at] = number;
    deleted[head->n_deleted++] = number;
    publish(slot, head);
    return true;
}

static void free_newest(const struct head *newest, void *ctx)
{
    (void)ctx;
    free((void *)(uintptr_t)newest->ids);
    free((void *)(uintptr_t)newest->deleted);
    free((void *)(uintptr_t)newest->deleted_sorted);
    free((void *)(uintptr_t)newest);
}

static bool copy_array(const void *from, uint32_t n, size_t size, const void *to)
{
    void *copy = malloc(room_for(n) * size);
    if (copy && n)
        memcpy(copy, from, n * size);
    *(void **)(uintptr_t)to = copy;
    return copy != NULL;
}

bool heads_load(struct heads *heads, const struct head *from)
{
    struct slot *slot = claim_slot(heads, from->author);
    struct head *head = slot ? head_alloc() : NULL;
    if (!head)
        return false;
    *head = *from;
    head->version = 0;
    head->prev = NULL;
    if (!head_is_closed(from))
        head->last_id = from->n_posts ? from->ids[from->n_posts - 1] : 0;
    bool ok = copy_array(from->ids, from->n_posts, sizeof *from->ids, &head->ids);
    ok = copy_array(from->deleted, from->n_deleted, sizeof *from->deleted, &head->deleted) && ok;
    ok = copy_array(from->deleted_sorted, from->n_deleted, sizeof *from->deleted_sorted,
                    &head->deleted_sorted) &&
         ok;
    if (!ok) {
        free_newest(head, NULL);
        return false;
    }
    publish(slot, head);
    return true;
}

bool heads_replace(struct heads *heads, const struct head *from, uint64_t version)
{
    struct head lists = {0};
    bool ok = copy_array(from->ids, from->n_posts, sizeof *from->ids, &lists.ids);
    ok = copy_array(from->deleted, from->n_deleted, sizeof *from->deleted, &lists.deleted) && ok;
    ok = copy_array(from->deleted_sorted, from->n_deleted, sizeof *from->deleted_sorted,
                    &lists.deleted_sorted) &&
         ok;
    struct slot *slot = ok ? claim_slot(heads, from->author) : NULL;
    struct head *head = slot ? own_version(heads, slot, from->author, version) : NULL;
    if (!head) {
        drop_array(lists.ids, NULL);
        drop_array(lists.deleted, NULL);
        drop_array(lists.deleted_sorted, NULL);
        return false;
    }
    const struct head *prev = head->prev ? head->prev : &empty_head;
    drop_array(head->ids, prev->ids);
    drop_array(head->deleted, prev->deleted);
    drop_array(head->deleted_sorted, prev->deleted_sorted);
    head->ids = lists.ids;
    head->deleted = lists.deleted;
    head->deleted_sorted = lists.deleted_sorted;
    head->n_posts = from->n_posts;
    head->n_deleted = from->n_deleted;
    head->last_id = head_is_closed(from) ? HEAD_CLOSED
                    : from->n_posts      ? from->ids[from->n_posts - 1]
                                         : 0;
    publish(slot, head);
    return true;
}

/* ---- The end of a transaction --------------------------------------------------------------- */

void heads_commit(struct heads *heads)
{
    for (size_t i = 0; i < heads->n_touched; i++)
        retire_version(heads, heads->touched[i]->prev, heads->touched[i]);
    heads->n_touched = 0;
    next_epoch(heads);
}

void heads_abort(struct heads *heads)
{
    struct slots *slots = atomic_load_explicit(&heads->slots, memory_order_relaxed);
    while (heads->n_touched) {
        struct head *head = heads->touched[--heads->n_touched];
        struct head *prev = (struct head *)(uintptr_t)head->prev;
        publish(find_slot(slots, head->author), prev);
        retire_version(heads, head, prev);
    }
    next_epoch(heads);
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
