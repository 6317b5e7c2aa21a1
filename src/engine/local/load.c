/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/local/local.h"

/* With the time elapsed, or from before that was kept. */
enum { NEWEST_BYTES = ID_BYTES + 8 + 8, NEWEST_BYTES_BEFORE = ID_BYTES + 8 };

/*
 * The version is read from the snapshot itself. LMDB has numbers of its own for snapshots, but they can lie: a
 * reader that is held up between reading the number and the root gets the root of a later commit.
 */
struct newest load_newest(struct kv_txn *txn)
{
    struct key key = key_meta("newest");
    struct bytes value;
    /* Before the first change too there is a token that says "up to now". */
    if (!kv_get(txn, TABLE_META, &key, &value))
        return (struct newest){.id = ID_STEP};
    struct decoder r = decoder_of(value.p, value.n);
    struct newest newest = {.id = read_id(&r)};
    newest.version = read_u64(&r);
    if (value.n != NEWEST_BYTES_BEFORE)
        newest.elapsed_ms = (int64_t)read_u64(&r);
    if (r.bad || decoder_left(&r))
        kv_fail(txn, TIDINGS_CORRUPT);
    return newest;
}

void save_newest(struct kv_txn *txn, struct newest newest)
{
    struct key key = key_meta("newest");
    uint8_t bytes[NEWEST_BYTES];
    put_id(bytes, newest.id);
    put_u64(bytes + ID_BYTES, newest.version);
    put_u64(bytes + ID_BYTES + 8, (uint64_t)newest.elapsed_ms);
    kv_put(txn, TABLE_META, &key, bytes, sizeof bytes);
}

void save_version(struct local *local, struct kv_txn *txn)
{
    struct newest newest = load_newest(txn);
    newest.version = kv_applied(local->kv) + 1;
    save_newest(txn, newest);
}

/* ---- The clock ------------------------------------------------------------------------------ */

enum { CLOCK_BYTES = BOOT_BYTES + 2 * 8 };

void save_clock(struct kv_txn *txn, const struct clock_row *row)
{
    struct key key = key_meta("clock");
    uint8_t bytes[CLOCK_BYTES + AGES_BYTES_MAX] = {0};
    memcpy(bytes, row->boot, strnlen(row->boot, BOOT_BYTES));
    put_u64(bytes + BOOT_BYTES, (uint64_t)row->offset_ms);
    put_u64(bytes + BOOT_BYTES + 8, (uint64_t)row->lead_ms);
    kv_put(txn, TABLE_META, &key, bytes, CLOCK_BYTES + ages_pack(&row->ages, bytes + CLOCK_BYTES));
}

bool clock_row_decode(struct bytes value, struct clock_row *row)
{
    if (value.n < CLOCK_BYTES)
        return false;
    struct decoder r = decoder_of(value.p, CLOCK_BYTES);
    memcpy(row->boot, read_bytes(&r, BOOT_BYTES), BOOT_BYTES);
    row->boot[BOOT_BYTES - 1] = '\0';
    row->offset_ms = (int64_t)read_u64(&r);
    row->lead_ms = (int64_t)read_u64(&r);
    return ages_unpack(&row->ages, value.p + CLOCK_BYTES, value.n - CLOCK_BYTES);
}

/* False if there is none. One that is damaged is none, too: then nothing is removed before its time by the clock's jumps
 * from now on. */
static bool load_clock(struct kv_txn *txn, struct clock_row *row)
{
    struct key key = key_meta("clock");
    struct bytes value;
    return kv_get(txn, TABLE_META, &key, &value) && clock_row_decode(value, row);
}

enum tidings_err load_committed(struct local *local)
{
    struct kv_txn txn;
    struct clock_row row;
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    /* If it is damaged, every change will say so; verify can still look. */
    struct newest newest = load_newest(&txn);
    struct clock_left left = {
        .has_elapsed = newest.elapsed_ms != 0,
        .elapsed_ms = newest.elapsed_ms,
        .newest_ms = id_time_ms(newest.id),
        .row = load_clock(&txn, &row) ? &row : NULL,
        .shared = atomic_load(&local->role) == TIDINGS_FOLLOWER,
    };
    atomic_store(&local->committed, newest.version);
    atomic_store(&local->era, era_load(&txn));
    clock_open(&local->clock, &left);
    kv_abort(&txn);
    return TIDINGS_OK;
}

/* ---- Heads ---------------------------------------------------------------------------------- */

/* One author's lists as they come out of the table. */
struct author_lists {
    enum realm realm;
    uint64_t author;
    uint64_t *ids;
    uint32_t *deleted;
    uint32_t *sorted;
    uint32_t n_posts, n_deleted;
    size_t room_posts, room_deleted;
};

static bool make_room(void **array, size_t *room, size_t want, size_t size)
{
    if (want <= *room)
        return true;
    size_t grown = *room ? *room * 2 : 1024;
    void *bigger = realloc(*array, grown * size);
    if (!bigger)
        return false;
    *array = bigger;
    *room = grown;
    return true;
}

static bool list_room(struct author_lists *list)
{
    size_t room_sorted = list->room_deleted;
    return make_room((void **)&list->ids, &list->room_posts, list->n_posts + READMAP_POSTS,
                     sizeof *list->ids) &&
           make_room((void **)&list->sorted, &room_sorted, list->n_deleted + READMAP_POSTS,
                     sizeof *list->sorted) &&
           make_room((void **)&list->deleted, &list->room_deleted, list->n_deleted + READMAP_POSTS,
                     sizeof *list->deleted);
}

/* Appends a chunk; false if it is not the next one or not whole. */
static bool add_chunk(struct author_lists *list, uint8_t row, uint32_t chunk, struct bytes value)
{
    bool posts = row == ROW_POSTS;
    size_t size = posts ? ID_BYTES : 4;
    uint32_t have = posts ? list->n_posts : list->n_deleted;
    size_t n = value.n / size;
    if (value.n % size || !n || n > READMAP_POSTS || have != (uint64_t)chunk * READMAP_POSTS)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (posts)
            list->ids[list->n_posts++] = get_id(value.p + i * size);
        else
            list->deleted[list->n_deleted++] = get_u32(value.p + i * size);
    }
    return true;
}

static int by_number(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool is_sound(const struct author_lists *list)
{
    for (uint32_t i = 1; i < list->n_posts; i++)
        if (list->ids[i] <= list->ids[i - 1])
            return false;
    for (uint32_t i = 0; i < list->n_deleted; i++)
        if (list->sorted[i] >= list->n_posts || (i && list->sorted[i] == list->sorted[i - 1]))
            return false;
    return true;
}

/* Whether the list is a story's that has been deleted. */
static bool is_closed(struct kv_txn *txn, const struct author_lists *list)
{
    struct key key = key_id(list->author);
    struct post_record post;
    struct bytes value;
    return list->realm == REALM_SCENES && kv_get(txn, TABLE_POST, &key, &value) &&
           post_decode(value, &post) && post.deleted;
}

/* Sorted, and looked at; *head shares the lists. */
static enum tidings_err finish_head(struct kv_txn *txn, struct author_lists *list,
                                    struct head *head)
{
    if (list->n_deleted)
        memcpy(list->sorted, list->deleted, list->n_deleted * sizeof *list->sorted);
    qsort(list->sorted, list->n_deleted, sizeof *list->sorted, by_number);
    if (!is_sound(list))
        return TIDINGS_CORRUPT;
    *head = (struct head){
        .author = list->author | realm_rows[list->realm].mark,
        .last_id = is_closed(txn, list) ? HEAD_CLOSED : 0,
        .n_posts = list->n_posts,
        .n_deleted = list->n_deleted,
        .ids = list->ids,
        .deleted = list->deleted,
        .deleted_sorted = list->sorted,
    };
    return TIDINGS_OK;
}

static enum tidings_err finish_list(struct local *local, struct kv_txn *txn,
                                    struct author_lists *list)
{
    struct head head;
    enum tidings_err err = list->author ? finish_head(txn, list, &head) : TIDINGS_OK;
    if (err || !list->author)
        return err;
    return heads_load(local->heads, &head) ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

static enum tidings_err take_row(struct local *local, struct kv_txn *txn, struct author_lists *list,
                                 struct bytes key, struct bytes value)
{
    if (key.n != ID_BYTES + 1 + 4)
        return TIDINGS_CORRUPT;
    uint64_t author = get_id(key.p);
    uint8_t row = key.p[ID_BYTES];
    if (author != list->author) {
        enum tidings_err err = finish_list(local, txn, list);
        if (err)
            return err;
        list->author = author;
        list->n_posts = list->n_deleted = 0;
    }
    if (!list_room(list))
        return TIDINGS_NO_MEMORY;
    bool known = row == ROW_POSTS || row == ROW_DELETED;
    return known && add_chunk(list, row, get_u32(key.p + ID_BYTES + 1), value) ? TIDINGS_OK
                                                                               : TIDINGS_CORRUPT;
}

static enum tidings_err load_realm(struct local *local, struct kv_txn *txn, enum realm realm)
{
    struct author_lists list = {.realm = realm};
    struct key first = key_id(0);
    struct bytes key, value;
    enum tidings_err err = TIDINGS_OK;
    bool found = kv_seek(txn, realm_rows[realm].lists, &first, &key, &value);
    for (; found && !err; found = kv_next(txn, realm_rows[realm].lists, &key, &value))
        err = take_row(local, txn, &list, key, value);
    if (!err)
        err = txn->err;
    if (!err)
        err = finish_list(local, txn, &list);
    free(list.ids);
    free(list.deleted);
    free(list.sorted);
    return err;
}

enum tidings_err load_heads(struct local *local, const char **message)
{
    struct kv_txn txn;
    enum tidings_err err = kv_begin(local->kv, &txn);
    if (err)
        return err;
    err = load_realm(local, &txn, REALM_POSTS);
    if (!err)
        err = load_realm(local, &txn, REALM_SCENES);
    if (err == TIDINGS_CORRUPT)
        *message = "an author's list of posts is damaged; verify --repair makes the lists anew";
    kv_abort(&txn);
    return err;
}

enum tidings_err load_head(struct local *local, struct kv_txn *txn, enum realm realm,
                           uint64_t author, uint64_t version)
{
    struct author_lists list = {.realm = realm, .author = author};
    struct key prefix = key_id(author);
    struct bytes key, value;
    struct head head;
    enum table table = realm_rows[realm].lists;
    enum tidings_err err = list_room(&list) ? TIDINGS_OK : TIDINGS_NO_MEMORY;
    bool found = kv_seek(txn, table, &prefix, &key, &value);
    for (; found && !err && key_has_prefix(key, &prefix); found = kv_next(txn, table, &key, &value))
        err = take_row(local, txn, &list, key, value);
    if (!err)
        err = txn->err ? txn->err : finish_head(txn, &list, &head);
    if (!err && !heads_replace(local->heads, &head, version))
        err = TIDINGS_NO_MEMORY;
    free(list.ids);
    free(list.deleted);
    free(list.sorted);
    return err;
}
