/* SPDX-License-Identifier: MIT */
#include "engine/local/memory/recent.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/inbox/tie.h"

/* Powers of two. A lock is held for a microsecond, and a place takes 16 bytes. */
enum { SHARDS = 64, PLACES = 2048 };

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
    bool used; /* since the hand last came by */
    size_t n;
    size_t bytes, room; /* of the values, which follow the rows */
    struct row rows[];  /* by author id */
};

struct place {
    uint64_t changed;
    struct copy *copy;
};

struct shard {
    pthread_mutex_t mutex;
    size_t held; /* bytes */
    size_t hand; /* where looking for room goes on */
    size_t turned_away;
    struct place places[PLACES];
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
        for (size_t j = 0; recent->shards[i].held && j < PLACES; j++)
            free(recent->shards[i].places[j].copy);
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

/* The fan's place, its shard locked. */
static struct place *lock_place(struct recent *recent, uint64_t fan, struct shard **shard)
{
    uint64_t hash = fan * UINT64_C(0x9e3779b97f4a7c15);
    hash ^= hash >> 32;
    *shard = &recent->shards[hash % SHARDS];
    pthread_mutex_lock(&(*shard)->mutex);
    return &(*shard)->places[hash / SHARDS % PLACES];
}

static size_t size_of(size_t n, size_t room)
{
    return sizeof(struct copy) + n * sizeof(struct row) + room;
}

static void drop(struct shard *shard, struct place *place)
{
    if (!place->copy)
        return;
    shard->held -= size_of(place->copy->n, place->copy->room);
    free(place->copy);
    place->copy = NULL;
}

/* Drops what was not used since it was last asked, until there are that many bytes. */
static void make_room(struct shard *shard, size_t bytes, size_t most)
{
    while (shard->held && shard->held + bytes > most) {
        struct place *place = &shard->places[shard->hand++ % PLACES];
        if (place->copy && !place->copy->used)
            drop(shard, place);
        else if (place->copy)
            place->copy->used = false;
    }
}

/* Whether nothing has changed since the copy was made. */
static bool is_current(const struct view *view, const struct place *place)
{
    return place->copy && place->copy->age == view->age && place->changed <= place->copy->version;
}

/* Whether the fan's copy serves the view. */
static bool is_here(const struct view *view, const struct place *place, uint64_t fan)
{
    return is_current(view, place) && place->copy->fan == fan && place->changed <= view->version;
}

/* ---- Reading -------------------------------------------------------------------------------- */

static uint8_t *values_of(struct copy *copy)
{
    return (uint8_t *)(copy->rows + copy->n);
}

static void copy_out(struct view *view, struct copy *copy, struct tie_stored *rows, uint8_t *values)
{
    memcpy(values, values_of(copy), copy->bytes);
    for (size_t i = 0; i < copy->n; i++) {
        rows[i].author = author_of(&copy->rows[i]);
        rows[i].value = (struct bytes){values, length_of(&copy->rows[i])};
        values += rows[i].value.n;
        heads_prefetch(view->heads, rows[i].author | (copy->fan & HEAD_STORY));
    }
}

bool recent_find(struct view *view, uint64_t fan, struct tie_stored **rows, size_t *n)
{
    struct shard *shard;
    struct place *place = lock_place(view->recent, fan, &shard);
    struct copy *copy = place->copy;
    bool found = is_here(view, place, fan);
    if (found) {
        copy->used = true;
        *n = copy->n;
        *rows = view_array(view, view->scratch, copy->n, sizeof **rows);
        uint8_t *values = view_array(view, view->scratch, copy->bytes, 1);
        found = *rows && values;
        if (found)
            copy_out(view, copy, *rows, values);
    }
    pthread_mutex_unlock(&shard->mutex);
    return found;
}

static struct tie_stored stored_of(struct view *view, const struct row *row, const uint8_t *value,
                                   uint64_t mark)
{
    struct tidings_text copy =
        view_text(view, view->scratch, (struct bytes){value, length_of(row)});
    const struct head *head = heads_get(view->heads, author_of(row) | mark, view->version);
    return (struct tie_stored){author_of(row), head, {(const uint8_t *)copy.p, copy.n}};
}

/*
 * Two passes: the first asks for the memory that the second will touch (heads.h). A damaged pair, and one with an author
 * who has deleted anything, is left to be looked at.
 */
static void sum_up(struct view *view, struct copy *copy, struct recent_sum *sum)
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

bool recent_badge(struct view *view, uint64_t fan, struct recent_sum *sum)
{
    struct shard *shard;
    struct place *place = lock_place(view->recent, fan, &shard);
    struct copy *copy = place->copy;
    bool found = is_here(view, place, fan);
    *sum = (struct recent_sum){.unread = 0};
    if (found) {
        copy->used = true;
        sum->rest = view_array(view, view->scratch, copy->n, sizeof *sum->rest);
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
static size_t bytes_of(const struct tie_stored *rows, size_t n)
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
static struct copy *copy_new(const struct view *view, uint64_t fan, const struct tie_stored *rows,
                             size_t n, size_t bytes, size_t room)
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

void recent_keep(struct view *view, uint64_t fan, const struct tie_stored *rows, size_t n)
{
    enum { SHARE = 4 }; /* of a shard that one copy may take */
    size_t most = view->recent->shard_max, bytes = bytes_of(rows, n);
    size_t room = bytes + bytes / 4; /* values grow while their posts are being read */
    if (bytes == SIZE_MAX || size_of(n, room) > most / SHARE)
        return;
    struct shard *shard;
    struct place *place = lock_place(view->recent, fan, &shard);
    bool newer = is_current(view, place) && place->copy->version > view->version;
    if (!newer && place->changed <= view->version && may_enter(shard, size_of(n, room), most)) {
        drop(shard, place);
        make_room(shard, size_of(n, room), most);
        place->copy = copy_new(view, fan, rows, n, bytes, room);
        shard->held += place->copy ? size_of(n, room) : 0;
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

void recent_change(struct view *view, uint64_t fan, uint64_t author, struct bytes value)
{
    struct shard *shard;
    struct place *place = lock_place(view->recent, fan, &shard);
    bool current = is_current(view, place);
    place->changed = view->version;
    /* The copy of another fan in the same place is as good as before. */
    if (current && (place->copy->fan != fan || patch(place->copy, author, value)))
        place->copy->version = view->version;
    else
        drop(shard, place);
    pthread_mutex_unlock(&shard->mutex);
}
