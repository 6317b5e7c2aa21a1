/* SPDX-License-Identifier: MIT */
#include "engine/local/memory/recent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inbox/tie.h"
#include "engine/local/memory/view.h"

/* Powers of two. A lock is held for a microsecond, and a bin takes 16 bytes. */
enum { SHARDS = 64, BINS = 2048 };

/* A pair, packed: the author with the length of the value, which is among those behind the rows, and the pair's sum,
 * which the badge is spared to make. */
enum { LENGTH_MAX = 255 };
struct row {
    uint64_t author_length;
    int64_t unread_following;
};

/* Unread for a pair that has no sum: no number of posts brings it up to 0. */
#define NO_SUM (-(INT64_C(1) << 40))

static inline uint64_t author_of(const struct row *row)
{
    return row->author_length / (LENGTH_MAX + 1);
}

static inline size_t length_of(const struct row *row)
{
    return row->author_length & LENGTH_MAX;
}

static inline struct pair_sum sum_of(const struct row *row)
{
    return (struct pair_sum){row->unread_following & 1, row->unread_following >> 1};
}

struct copy {
    uint64_t fan;
    uint64_t version;
    uint64_t age;
    bool used;        /* since the hand last came by */
    unsigned patched; /* times, by the batch of its version */
    size_t n;
    size_t bytes, room; /* of the values, which follow the rows */
    struct row rows[];  /* by author id */
};

struct bin {
    uint64_t changed;
    struct copy *copy;
};

struct shard {
    pthread_mutex_t mutex;
    size_t held; /* bytes */
    size_t hand; /* where looking for room goes on */
    size_t turned_away;
    struct bin bins[BINS];
};

struct recent {
    _Atomic uint64_t age;
    size_t shard_max;
    struct shard shards[SHARDS];
};

/* ---- Life ----------------------------------------------------------------------------------- */

struct recent *recent_new(size_t bytes_max)
{
    struct recent *recent = calloc(1, sizeof *recent);
    if (!recent)
        return NULL;
    recent->shard_max = bytes_max / SHARDS;
    for (size_t i = 0; i < SHARDS; i++)
        pthread_mutex_init(&recent->shards[i].mutex, NULL);
    return recent;
}

void recent_free(struct recent *recent)
{
    if (!recent)
        return;
    for (size_t i = 0; i < SHARDS; i++) {
        pthread_mutex_destroy(&recent->shards[i].mutex);
        for (size_t j = 0; recent->shards[i].held && j < BINS; j++)
            free(recent->shards[i].bins[j].copy);
    }
    free(recent);
}

uint64_t recent_age(const struct recent *recent)
{
    return atomic_load(&recent->age);
}

void recent_forget(struct recent *recent)
{
    atomic_fetch_add(&recent->age, 1);
}

/* ---- Places --------------------------------------------------------------------------------- */

/* The fan's bin, its shard locked. */
static struct bin *lock_bin(struct recent *recent, uint64_t fan, struct shard **shard)
{
    uint64_t hash = fan * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    *shard = &recent->shards[hash % SHARDS];
    pthread_mutex_lock(&(*shard)->mutex);
    return &(*shard)->bins[hash / SHARDS % BINS];
}

static size_t size_of(size_t n, size_t room)
{
    return sizeof(struct copy) + n * sizeof(struct row) + room;
}

static void drop(struct shard *shard, struct bin *bin)
{
    if (!bin->copy)
        return;
    shard->held -= size_of(bin->copy->n, bin->copy->room);
    free(bin->copy);
    bin->copy = NULL;
}

/* Drops what was not used since it was last asked, until there are that many bytes. */
static void make_room(struct shard *shard, size_t bytes, size_t most)
{
    while (shard->held && shard->held + bytes > most) {
        struct bin *bin = &shard->bins[shard->hand++ % BINS];
        if (bin->copy && !bin->copy->used)
            drop(shard, bin);
        else if (bin->copy)
            bin->copy->used = false;
    }
}

/* Whether nothing has changed since the copy was made. */
static bool is_current(const struct local_view *view, const struct bin *bin)
{
    return bin->copy && bin->copy->age == view->age && bin->changed <= bin->copy->version;
}

/* Whether the fan's copy serves the view. */
static bool is_here(const struct local_view *view, const struct bin *bin, uint64_t fan)
{
    return is_current(view, bin) && bin->copy->fan == fan && bin->changed <= view->version;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static uint8_t *values_of(struct copy *copy)
{
    return (uint8_t *)(copy->rows + copy->n);
}

static void copy_out(struct local_view *view, struct copy *copy, struct tie_stored *rows,
                     uint8_t *values)
{
    memcpy(values, values_of(copy), copy->bytes);
    for (size_t i = 0; i < copy->n; i++) {
        rows[i].author = author_of(&copy->rows[i]);
        rows[i].value = (struct bytes){values, length_of(&copy->rows[i])};
        values += rows[i].value.n;
        heads_prefetch(view->heads, rows[i].author | (copy->fan & HEAD_STORY));
    }
}

bool recent_find(struct local_view *view, uint64_t fan, struct tie_stored **rows, size_t *n)
{
    struct shard *shard;
    struct bin *bin = lock_bin(view->recent, fan, &shard);
    struct copy *copy = bin->copy;
    bool found = is_here(view, bin, fan);
    if (found) {
        copy->used = true;
        *n = copy->n;
        *rows = view_array(&view->view, view->view.scratch, copy->n, sizeof **rows);
        uint8_t *values = view_array(&view->view, view->view.scratch, copy->bytes, 1);
        found = *rows && values;
        if (found)
            copy_out(view, copy, *rows, values);
    }
    pthread_mutex_unlock(&shard->mutex);
    return found;
}

static struct tie_stored stored_of(struct local_view *view, const struct row *row,
                                   const uint8_t *value, uint64_t mark)
{
    struct tidings_text copy =
        view_text(&view->view, view->view.scratch, (struct bytes){value, length_of(row)});
    const struct head *head = heads_get(view->heads, author_of(row) | mark, view->version);
    return (struct tie_stored){author_of(row), head, {(const uint8_t *)copy.p, copy.n}};
}

/*
 * Two passes: the first asks for the memory that the second will touch (heads.h). A damaged pair, and one with an author
 * who has deleted anything, is left to be looked at.
 */
static void sum_up(struct local_view *view, struct copy *copy, struct unread_sum *sum)
{
    uint64_t mark = copy->fan & HEAD_STORY;
    const uint8_t *value = values_of(copy);
    for (size_t i = 0; i < copy->n; i++)
        heads_prefetch(view->heads, author_of(&copy->rows[i]) | mark);
    for (size_t i = 0; i < copy->n; value += length_of(&copy->rows[i++])) {
        const struct row *row = &copy->rows[i];
        uint32_t n_posts;
        bool known = heads_count(view->heads, author_of(row) | mark, view->version, &n_posts);
        int64_t unread = pair_sum_unread(sum_of(row), n_posts);
        if (known && unread >= 0)
            sum->unread += (uint64_t)unread;
        else
            sum->rest[sum->n_rest++] = stored_of(view, row, value, mark);
    }
}

bool recent_badge(struct local_view *view, uint64_t fan, struct unread_sum *sum)
{
    struct shard *shard;
    struct bin *bin = lock_bin(view->recent, fan, &shard);
    struct copy *copy = bin->copy;
    bool found = is_here(view, bin, fan);
    *sum = (struct unread_sum){.unread = 0};
    if (found) {
        copy->used = true;
        sum->rest = view_array(&view->view, view->view.scratch, copy->n, sizeof *sum->rest);
        if (sum->rest)
            sum_up(view, copy, sum);
    }
    pthread_mutex_unlock(&shard->mutex);
    return found;
}

/* ---- Keeping -------------------------------------------------------------------------------- */

static struct row row_of(uint64_t author, struct bytes value)
{
    struct pair_sum sum = {.unread = 0};
    if (!pair_sum(value, &sum))
        sum.unread = NO_SUM;
    return (struct row){author * (LENGTH_MAX + 1) + value.n, sum.unread * 2 + sum.following};
}

/* Bytes of the values; SIZE_MAX if one is too long. */
static size_t values_bytes(const struct tie_stored *rows, size_t n)
{
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].value.n > LENGTH_MAX)
            return SIZE_MAX;
        bytes += rows[i].value.n;
    }
    return bytes;
}

/* NULL if memory is short. */
static struct copy *copy_new(const struct local_view *view, uint64_t fan,
                             const struct tie_stored *rows, size_t n, size_t bytes, size_t room)
{
    struct copy *copy = malloc(size_of(n, room));
    if (!copy)
        return NULL;
    *copy = (struct copy){
        .fan = fan,
        .version = view->version,
        .age = view->age,
        .n = n,
        .bytes = bytes,
        .room = room,
    };
    uint8_t *to = values_of(copy);
    for (size_t i = 0; i < n; i++) {
        copy->rows[i] = row_of(rows[i].author, rows[i].value);
        memcpy(to, rows[i].value.p, rows[i].value.n);
        to += rows[i].value.n;
    }
    return copy;
}

/* A copy costs about as much as it spares once. Where one has to go for it, only every few get in: whoever comes
 * often does, and with more users than fit most answers do not pay for copies that are never used. */
static bool may_enter(struct shard *shard, size_t size, size_t most)
{
    enum { ONE_IN = 8 };
    return shard->held + size <= most || ++shard->turned_away % ONE_IN == 0;
}

void recent_keep(struct local_view *view, uint64_t fan, const struct tie_stored *rows, size_t n)
{
    enum { SHARE = 4 }; /* of a shard that one copy may take */
    size_t most = view->recent->shard_max, bytes = values_bytes(rows, n);
    size_t room = bytes + bytes / 4; /* values grow while their posts are being read */
    if (bytes == SIZE_MAX || size_of(n, room) > most / SHARE)
        return;
    struct shard *shard;
    struct bin *bin = lock_bin(view->recent, fan, &shard);
    bool newer = is_current(view, bin) && bin->copy->version > view->version;
    if (!newer && bin->changed <= view->version && may_enter(shard, size_of(n, room), most)) {
        drop(shard, bin);
        make_room(shard, size_of(n, room), most);
        bin->copy = copy_new(view, fan, rows, n, bytes, room);
        shard->held += bin->copy ? size_of(n, room) : 0;
    }
    pthread_mutex_unlock(&shard->mutex);
}

/* ---- Changing ------------------------------------------------------------------------------- */

/* Where the author's row is, or would be; *at is where its value begins. */
static size_t find_row(const struct copy *copy, uint64_t author, size_t *at)
{
    size_t i = 0;
    *at = 0;
    for (; i < copy->n && author_of(&copy->rows[i]) < author; i++)
        *at += length_of(&copy->rows[i]);
    return i;
}

/* False if the copy cannot take it: a row more or less, or no room for it. */
static bool patch(struct copy *copy, uint64_t author, struct bytes value)
{
    size_t at, i = find_row(copy, author, &at);
    bool has = i < copy->n && author_of(&copy->rows[i]) == author;
    if (!has || !value.n)
        return has == (value.n != 0);
    size_t old = length_of(&copy->rows[i]);
    if (value.n > LENGTH_MAX || copy->bytes - old + value.n > copy->room)
        return false;
    uint8_t *to = values_of(copy) + at;
    memmove(to + value.n, to + old, copy->bytes - at - old);
    memcpy(to, value.p, value.n);
    copy->bytes = copy->bytes - old + value.n;
    copy->rows[i] = row_of(author, value);
    return true;
}

/* A patch looks through the copy. With many of them it is cheaper to make it anew, and not the writer's time. */
static bool is_worth_it(struct copy *copy, uint64_t version)
{
    enum { PATCHES = 64 };
    copy->patched = copy->version == version ? copy->patched + 1 : 1;
    return copy->patched <= PATCHES;
}

static bool takes(struct copy *copy, const struct local_view *view, uint64_t author,
                  struct bytes value)
{
    return is_worth_it(copy, view->version) && patch(copy, author, value);
}

void recent_change(struct local_view *view, uint64_t fan, uint64_t author, struct bytes value)
{
    struct shard *shard;
    struct bin *bin = lock_bin(view->recent, fan, &shard);
    bool current = is_current(view, bin);
    bin->changed = view->version;
    /* The copy of another fan in the same bin is as good as before. */
    if (current && (bin->copy->fan != fan || takes(bin->copy, view, author, value)))
        bin->copy->version = view->version;
    else
        drop(shard, bin);
    pthread_mutex_unlock(&shard->mutex);
}
