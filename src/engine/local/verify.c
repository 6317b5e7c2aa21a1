/* SPDX-License-Identifier: MIT */
/*
 * Verify: everything that is stored twice is computed again from what it was made of, and every
 * index is checked against its table in both directions. It looks at one snapshot while writing
 * stands still. What it can mend it notes down and, if asked to, writes in one transaction at the
 * end.
 *
 *     truth                       made of it
 *     pairs: spans, following     follower index, counters following and followers
 *     posts                       authors' lists and deletions, counter posts, bodies
 *     read maps                   pairs' counts and skips, history index
 *     what happened once          its order by age
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "engine/local/local.h"
#include "engine/local/tie.h"

enum { PROGRESS_ROWS = 1 << 17 };

/* A row to be written, or deleted where p is NULL. */
struct mend {
    struct mend *next;
    enum table table;
    struct key key;
    struct bytes value;
};

struct check {
    struct view *view;
    struct tidings_verify *out;
    struct arena notes;
    struct mend *mends,
        **last_mend;        /* in the order of finding: a later one may correct an earlier */
    struct mend **row_mend; /* where the first one of the row under way goes */
    const char *part;
};

/* ---- Findings ------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static void differ(struct check *check, const char *format,
                                                         ...)
{
    check->out->differences++;
    if (!check->out->report)
        return;
    va_list args;
    va_start(args, format);
    fprintf(check->out->report, "%s: ", check->part);
    vfprintf(check->out->report, format, args);
    fputc('\n', check->out->report);
    va_end(args);
}

static void mend(struct check *check, enum table table, const struct key *key, struct bytes value)
{
    struct mend *mend = arena_alloc(&check->notes, sizeof *mend);
    uint8_t *copy = value.p ? arena_alloc(&check->notes, value.n + 1) : NULL;
    if (!mend || (value.p && !copy)) {
        kv_fail(check->view->txn, TIDINGS_NO_MEMORY);
        return;
    }
    if (value.p && value.n)
        memcpy(copy, value.p, value.n);
    *mend = (struct mend){NULL, table, *key, {copy, value.n}};
    *check->last_mend = mend;
    check->last_mend = &mend->next;
}

static void mend_delete(struct check *check, enum table table, const struct key *key)
{
    mend(check, table, key, (struct bytes){NULL, 0});
}

static void step(struct check *check)
{
    uint64_t n = ++check->out->checked;
    arena_clear(check->view->scratch);
    /* Damage is what we are looking for: note it and go on. */
    if (check->view->txn->err == TIDINGS_CORRUPT) {
        differ(check, "a record cannot be decoded, or contradicts others");
        check->view->txn->err = TIDINGS_OK;
        /* From the failure on nothing was found any more: what it would mend rests on nothing. */
        *check->row_mend = NULL;
        check->last_mend = check->row_mend;
    }
    check->row_mend = check->last_mend;
    if (check->out->progress && n % PROGRESS_ROWS == 0) {
        fprintf(check->out->progress, "\r%" PRIu64 " rows, at %-10s", n, check->part);
        fflush(check->out->progress);
    }
}

/* Visits every row of a table. The visitor may read other tables, but scan none of them twice at
 * once. */
static void each_row(struct check *check, enum table table,
                     void (*visit)(struct check *, struct bytes key, struct bytes value))
{
    struct key at = {.n = 0};
    struct bytes key, value;
    at.bytes[at.n++] = 0;
    while (!view_failed(check->view) && kv_seek(check->view->txn, table, &at, &key, &value)) {
        if (key.n >= KEY_MAX) {
            differ(check, "a key of %zu bytes", key.n);
            return;
        }
        /* The visitor may move the scanner: remember where to go on, just behind this key. */
        at.n = (uint8_t)key.n;
        memcpy(at.bytes, key.p, key.n);
        key.p = at.bytes;
        visit(check, key, value);
        at.bytes[at.n++] = 0;
        step(check);
    }
}

/* ---- Pairs against read maps ---------------------------------------------------------------- */

/* The pair's counts, from the read maps and the head alone. */
static void recount(struct view *view, const struct tie *tie, struct pair *fresh)
{
    struct key prefix = key_pair(tie->fan, ROW_READMAP, tie->author);
    struct bytes key, value;
    fresh->reads_in = fresh->reads_out = fresh->dead_in = fresh->dead_out = 0;
    fresh->settled = tie->head->n_deleted;
    bool found = kv_seek(view->txn, TABLE_USER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_USER, &key, &value)) {
        uint64_t read = 0;
        if (key.n != (size_t)prefix.n + 4 || !readmap_decode_bits(value, &read)) {
            view_corrupt(view);
            return;
        }
        uint32_t first = get_u32(key.p + prefix.n) * READMAP_POSTS;
        uint64_t in = spans_mask(tie->pair.spans, tie->pair.n_spans, first);
        uint64_t dead = head_deleted_mask(tie->head, first);
        fresh->reads_in += (uint32_t)__builtin_popcountll(read & in);
        fresh->reads_out += (uint32_t)__builtin_popcountll(read & ~in);
        fresh->dead_in += (uint32_t)__builtin_popcountll(read & in & dead);
        fresh->dead_out += (uint32_t)__builtin_popcountll(read & ~in & dead);
    }
}

static uint64_t read_bits_at(struct view *view, const struct tie *tie, uint32_t chunk)
{
    struct key key = key_readmap(tie->fan, tie->author, chunk);
    struct bytes value;
    uint64_t read = 0;
    if (kv_get(view->txn, TABLE_USER, &key, &value) && !readmap_decode_bits(value, &read))
        view_corrupt(view);
    return read;
}

/* Unread posts counted one by one, 64 at a time. */
static uint64_t count_unread(struct view *view, const struct tie *tie)
{
    uint64_t unread = 0;
    uint32_t bound = tie->head->n_posts;
    while ((bound = spans_top(tie->pair.spans, tie->pair.n_spans, bound))) {
        uint32_t chunk = (bound - 1) / READMAP_POSTS, first = chunk * READMAP_POSTS;
        uint64_t mask = spans_mask(tie->pair.spans, tie->pair.n_spans, first) &
                        mask_below(bound - first) & ~head_deleted_mask(tie->head, first);
        unread += (uint64_t)__builtin_popcountll(mask & ~read_bits_at(view, tie, chunk));
        bound = first;
    }
    return unread;
}

static bool skips_are_sound(struct view *view, const struct tie *tie)
{
    struct skips skips;
    if (!pair_skips(&tie->pair, &skips))
        return false;
    for (size_t i = 0; i < skips.n; i++)
        for (uint32_t chunk = skips.at[i].start; chunk < skips.at[i].end; chunk++) {
            uint64_t done = read_bits_at(view, tie, chunk) |
                            head_deleted_mask(tie->head, chunk * READMAP_POSTS);
            if (done != ~UINT64_C(0) || chunk >= tie->head->n_posts / READMAP_POSTS)
                return false;
        }
    return true;
}

static bool spans_are_sound(const struct tie *tie)
{
    const struct pair *pair = &tie->pair;
    for (size_t i = 0; i < pair->n_spans; i++) {
        const struct span *span = &pair->spans[i];
        if (span->start > tie->head->n_posts)
            return false;
        if (span->end != SPAN_OPEN && span->end > tie->head->n_posts)
            return false;
    }
    return true;
}

static void check_follower_row(struct check *check, const struct tie *tie)
{
    struct key key = key_follower(tie->author, tie->pair.rank);
    struct bytes value;
    bool found = kv_get(check->view->txn, TABLE_FOLLOWER, &key, &value);
    if (found && value.n == ID_BYTES && get_id(value.p) == tie->fan)
        return;
    differ(check, "user %" PRIu64 " follows %" PRIu64 ", who has no such follower", tie->fan,
           tie->author);
    uint8_t fan[ID_BYTES];
    put_id(fan, tie->fan);
    mend(check, TABLE_FOLLOWER, &key, (struct bytes){fan, sizeof fan});
}

static void mend_pair(struct check *check, const struct tie *tie, const struct pair *fresh)
{
    struct view *view = check->view;
    enum user_row row = fresh->n_spans ? ROW_INBOX : ROW_OUTSIDE;
    bool needed = fresh->n_spans || pair_has_reads(fresh);
    if (tie->stored && (tie->stored != row || !needed)) {
        struct key old = key_pair(tie->fan, tie->stored, tie->author);
        mend_delete(check, TABLE_USER, &old);
    }
    struct bytes value = pair_encode(fresh, view->scratch);
    struct key key = key_pair(tie->fan, row, tie->author);
    if (needed && value.p)
        mend(check, TABLE_USER, &key, value);
}

static void check_pair(struct check *check, const struct tie *tie)
{
    struct view *view = check->view;
    struct pair fresh = tie->pair;
    if (!spans_are_sound(tie)) {
        differ(check, "pair %" PRIu64 " and %" PRIu64 ": delivered beyond the last post", tie->fan,
               tie->author);
        return;
    }
    bool sound = skips_are_sound(view, tie) && tie->pair.settled <= tie->head->n_deleted;
    struct tie settled = *tie;
    settled.pair.spans = tie->pair.spans;
    settled.skips = NULL;
    if (!sound)
        settled.pair.skips = (struct bytes){NULL, 0};
    tie_settle(view, &settled);
    recount(view, tie, &fresh);
    if (view_failed(view))
        return;

    enum user_row row = fresh.n_spans ? ROW_INBOX : ROW_OUTSIDE;
    bool same = settled.pair.reads_in == fresh.reads_in &&
                settled.pair.reads_out == fresh.reads_out &&
                settled.pair.dead_in == fresh.dead_in && settled.pair.dead_out == fresh.dead_out;
    if (!same || !sound || tie->stored != row) {
        differ(check, "pair %" PRIu64 " and %" PRIu64 ": %s", tie->fan, tie->author,
               !same ? "counts do not fit what was read" : "stored amiss");
        fresh.skips = sound ? fresh.skips : (struct bytes){NULL, 0};
        mend_pair(check, tie, &fresh);
    } else if (tie_unread(view, tie) != count_unread(view, tie)) {
        differ(check, "pair %" PRIu64 " and %" PRIu64 ": unread does not fit its posts", tie->fan,
               tie->author);
    }
    if (tie->pair.following)
        check_follower_row(check, tie);
}

/* ---- A user's other rows -------------------------------------------------------------------- */

/* The history row of each post in the map that has one. */
static void check_map_history(struct check *check, const struct tie *tie, uint32_t chunk,
                              const struct readmap *map, uint64_t cleared)
{
    for (uint64_t bits = map->history; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctzll(bits);
        uint64_t stamp = readmap_history_stamp(map, i);
        struct key key = key_history(tie->fan, stamp, tie->head->ids[chunk * READMAP_POSTS + i]);
        struct bytes value;
        if (stamp <= cleared || kv_get(check->view->txn, TABLE_USER, &key, &value))
            continue;
        differ(check, "user %" PRIu64 " has read a post that the history lacks", tie->fan);
        mend(check, TABLE_USER, &key, (struct bytes){(const uint8_t *)"", 0});
    }
}

static void check_readmap(struct check *check, uint64_t reader, struct bytes key,
                          struct bytes value)
{
    struct view *view = check->view;
    struct readmap map;
    struct tie tie;
    if (key.n != 2 * ID_BYTES + 1 + 4 || !readmap_decode(value, &map)) {
        differ(check, "user %" PRIu64 ": a read map cannot be decoded", reader);
        return;
    }
    uint64_t author = get_id(key.p + ID_BYTES + 1);
    uint32_t chunk = get_u32(key.p + 2 * ID_BYTES + 1);
    tie_load(view, reader, author, &tie);
    if (view_failed(view))
        return;
    uint64_t first = (uint64_t)chunk * READMAP_POSTS;
    if (first + 64 - (uint64_t)__builtin_clzll(map.read) > tie.head->n_posts) {
        differ(check, "user %" PRIu64 " has read posts that %" PRIu64 " never published", reader,
               author);
        return;
    }
    if (!tie.stored || !pair_has_reads(&tie.pair)) {
        differ(check, "user %" PRIu64 " has read %" PRIu64 ", but no pair says so", reader, author);
        struct pair fresh = tie.pair;
        recount(view, &tie, &fresh);
        mend_pair(check, &tie, &fresh);
    }
    check_map_history(check, &tie, chunk, &map, view_user(view, reader).history_cleared);
}

static void check_history(struct check *check, uint64_t reader, struct bytes key)
{
    struct view *view = check->view;
    struct key row = {.n = (uint8_t)key.n};
    struct post_record post = {0};
    struct readmap map = {0};
    if (key.n != 3 * ID_BYTES + 1) {
        differ(check, "user %" PRIu64 ": a history key of %zu bytes", reader, key.n);
        return;
    }
    memcpy(row.bytes, key.p, key.n);
    uint64_t stamp = get_id_descending(key.p + ID_BYTES + 1);
    uint64_t post_id = get_id_descending(key.p + 2 * ID_BYTES + 1);
    if (stamp <= view_user(view, reader).history_cleared) {
        struct key todo = key_id(reader);
        struct bytes value;
        if (!kv_get(view->txn, TABLE_TODO, &todo, &value)) {
            differ(check, "user %" PRIu64 ": cleared history that nobody sweeps", reader);
            mend(check, TABLE_TODO, &todo, (struct bytes){(const uint8_t *)"", 0});
        }
        return;
    }
    if (view_post(view, post_id, &post)) {
        /* Not through the tie: the pair may be what is missing. */
        struct key map_key = key_readmap(reader, post.author, post.seq / READMAP_POSTS);
        struct bytes value;
        if (kv_get(view->txn, TABLE_USER, &map_key, &value) && !readmap_decode(value, &map))
            view_corrupt(view);
    }
    if (view_failed(view))
        return;
    unsigned i = post.seq % READMAP_POSTS;
    if (map.read && readmap_has(map.history, i) && readmap_history_stamp(&map, i) == stamp)
        return;
    differ(check, "user %" PRIu64 ": the history has a post that was not read then", reader);
    mend_delete(check, TABLE_USER, &row);
}

static void check_user_row(struct check *check, struct bytes key, struct bytes value)
{
    struct user_record user;
    struct tie tie;
    if (key.n < ID_BYTES + 1) {
        differ(check, "a key of %zu bytes", key.n);
        return;
    }
    uint64_t id = get_id(key.p);
    uint8_t row = key.p[ID_BYTES];
    switch (row) {
    case ROW_HISTORY:
        check_history(check, id, key);
        break;
    case ROW_READMAP:
        check_readmap(check, id, key, value);
        break;
    case ROW_USER:
        if (!user_decode(value, &user))
            differ(check, "user %" PRIu64 ": the record cannot be decoded", id);
        break;
    case ROW_INBOX:
    case ROW_OUTSIDE:
        if (key.n != 2 * ID_BYTES + 1) {
            differ(check, "user %" PRIu64 ": a pair's key of %zu bytes", id, key.n);
            break;
        }
        tie_load(check->view, id, get_id(key.p + ID_BYTES + 1), &tie);
        if (view_failed(check->view))
            break;
        if (tie.stored != (enum user_row)row)
            differ(check, "user %" PRIu64 " has two pairs with %" PRIu64, id, tie.author);
        else
            check_pair(check, &tie);
        break;
    default:
        differ(check, "user %" PRIu64 ": a row of unknown kind %u", id, row);
    }
}

/* ---- Counters ------------------------------------------------------------------------------- */

/* Rows of the index as they will be: with those that are missing, without those that are wrong. */
static uint64_t count_followers(struct check *check, uint64_t author)
{
    struct view *view = check->view;
    struct key prefix = key_id(author);
    struct bytes key, value;
    uint64_t n = 0;
    for (const struct mend *mend = check->mends; mend; mend = mend->next) {
        struct bytes name = {mend->key.bytes, mend->key.n};
        if (mend->table == TABLE_FOLLOWER && key_has_prefix(name, &prefix))
            n += mend->value.p ? 1 : (uint64_t)-1;
    }
    bool found = kv_seek(view->txn, TABLE_FOLLOWER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_FOLLOWER, &key, &value))
        n++;
    return n;
}

static uint64_t count_following(struct view *view, uint64_t fan)
{
    struct tie *ties;
    uint64_t count = 0;
    size_t n = tie_list(view, fan, &ties);
    for (size_t i = 0; i < n; i++)
        count += ties[i].pair.following;
    return count;
}

static bool compare(struct check *check, uint64_t user, const char *name, uint64_t *stored,
                    uint64_t counted)
{
    if (*stored == counted)
        return true;
    differ(check, "user %" PRIu64 ": %s is %" PRIu64 ", counted %" PRIu64, user, name, *stored,
           counted);
    *stored = counted;
    return false;
}

static void check_counters(struct check *check, uint64_t id)
{
    struct view *view = check->view;
    struct user_record user = view_user(view, id);
    const struct head *head = view_head(view, id);
    uint64_t following = count_following(view, id), followers = count_followers(check, id);
    if (view_failed(view))
        return; /* damaged pairs: what could be counted is not all there is */
    bool right = compare(check, id, "following", &user.following, following);
    right &= compare(check, id, "followers", &user.followers, followers);
    right &= compare(check, id, "posts", &user.posts, head->n_posts - head->n_deleted);
    if (right)
        return;
    uint8_t bytes[USER_RECORD_MAX];
    struct key key = key_row(id, ROW_USER);
    mend(check, TABLE_USER, &key, (struct bytes){bytes, user_encode(&user, bytes)});
}

/* Once a user: those with rows of their own, then those who only have followers or posts. */
static void check_users(struct check *check)
{
    enum table tables[] = {TABLE_USER, TABLE_FOLLOWER, TABLE_AUTHOR};
    struct bytes key, value, found;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct key at = key_id(0);
        while (!view_failed(check->view) &&
               kv_seek(check->view->txn, tables[i], &at, &key, &value) && key.n >= ID_BYTES) {
            uint64_t user = get_id(key.p);
            struct key record = key_row(user, ROW_USER);
            if (i == 0 || !kv_get(check->view->txn, TABLE_USER, &record, &found))
                check_counters(check, user);
            if (user >= ID_MASK)
                break;
            at = key_id(user + 1);
            step(check);
        }
    }
}

/* ---- The other tables ----------------------------------------------------------------------- */

static void check_follower(struct check *check, struct bytes key, struct bytes value)
{
    struct tie tie;
    struct key row = {.n = (uint8_t)key.n};
    if (key.n != 2 * ID_BYTES || value.n != ID_BYTES) {
        differ(check, "a row of %zu and %zu bytes", key.n, value.n);
        return;
    }
    memcpy(row.bytes, key.p, key.n);
    uint64_t author = get_id(key.p), rank = get_id_descending(key.p + ID_BYTES);
    uint64_t fan = get_id(value.p);
    tie_load(check->view, fan, author, &tie);
    if (view_failed(check->view) || (tie.pair.following && tie.pair.rank == rank))
        return;
    differ(check, "%" PRIu64 " has follower %" PRIu64 ", who does not follow so", author, fan);
    mend_delete(check, TABLE_FOLLOWER, &row);
}

static void check_post(struct check *check, struct bytes key, struct bytes value)
{
    struct post_record post;
    if (key.n != ID_BYTES || !post_decode(value, &post)) {
        differ(check, "a post cannot be decoded");
        return;
    }
    uint64_t id = get_id(key.p);
    const struct head *head = view_head(check->view, post.author);
    if (post.seq >= head->n_posts || head->ids[post.seq] != id)
        differ(check, "%" PRIu64 " is not in its author's list", id);
    else if (post.deleted != head_is_deleted(head, post.seq))
        differ(check, "%" PRIu64 " is deleted in one place only", id);
    if (id > check->view->last_id || post.removed > check->view->last_id)
        differ(check, "%" PRIu64 " is newer than the newest id", id);
}

static void check_list(struct check *check, struct bytes key, struct bytes value)
{
    struct post_record post;
    if (key.n != ID_BYTES + 1 + 4 || key.p[ID_BYTES] != ROW_POSTS)
        return;
    uint64_t author = get_id(key.p);
    uint32_t first = get_u32(key.p + ID_BYTES + 1) * READMAP_POSTS;
    for (uint32_t i = 0; i < value.n / ID_BYTES; i++) {
        uint64_t id = get_id(value.p + i * ID_BYTES);
        if (!view_post(check->view, id, &post) || post.author != author || post.seq != first + i)
            differ(check, "%" PRIu64 " lists %" PRIu64 ", which is no post of theirs", author, id);
    }
}

static void check_body(struct check *check, struct bytes key, struct bytes value)
{
    struct post_record post;
    (void)value;
    uint64_t id = key.n == ID_BYTES ? get_id(key.p) : 0;
    struct key row = key_id(id);
    bool alive = id && view_post(check->view, id, &post) && !post.deleted;
    if (alive || view_failed(check->view))
        return;
    differ(check, "a body without its post %" PRIu64, id);
    mend_delete(check, TABLE_BODY, &row);
}

static void check_event(struct check *check, struct bytes key, struct bytes value)
{
    struct tidings_event event;
    if (key.n != ID_BYTES || !event_decode(value, &event))
        differ(check, "an event cannot be decoded");
    else if (get_id(key.p) > check->view->last_id)
        differ(check, "%" PRIu64 " is newer than the newest id", get_id(key.p));
}

static void check_profile(struct check *check, struct bytes key, struct bytes value)
{
    struct profile_record profile;
    if (key.n != ID_BYTES || !profile_decode(value, &profile))
        differ(check, "a profile cannot be decoded");
}

static void check_once(struct check *check, struct bytes key, struct bytes value)
{
    struct once_record record;
    if (key.n != ID_BYTES + ONCE_BYTES || !once_decode(value, &record)) {
        differ(check, "a kept answer cannot be decoded");
        return;
    }
    struct key age = key_id(record.stamp);
    struct bytes name;
    if (kv_get(check->view->txn, TABLE_ONCE_AGE, &age, &name) && name.n == key.n &&
        !memcmp(name.p, key.p, key.n))
        return;
    differ(check, "an answer of user %" PRIu64 " is kept for ever", get_id(key.p));
    mend(check, TABLE_ONCE_AGE, &age, key);
}

/* An age whose key was used again is normal; one without any answer is not. */
static void check_once_age(struct check *check, struct bytes key, struct bytes value)
{
    struct key name = {.n = (uint8_t)value.n};
    struct bytes found;
    uint64_t stamp = key.n == ID_BYTES ? get_id(key.p) : 0;
    struct key age = key_id(stamp);
    if (value.n == ID_BYTES + ONCE_BYTES)
        memcpy(name.bytes, value.p, value.n);
    else
        name.n = 0;
    if (stamp && name.n && kv_get(check->view->txn, TABLE_ONCE, &name, &found))
        return;
    differ(check, "an age without an answer");
    mend_delete(check, TABLE_ONCE_AGE, &age);
}

static void check_webhook(struct check *check, struct bytes key, struct bytes value)
{
    struct webhook_record record;
    if (!webhook_decode(value, &record))
        differ(check, "%.*s cannot be decoded", (int)key.n, (const char *)key.p);
    else if (record.generation > check->view->last_id || record.position > check->view->last_id)
        differ(check, "%.*s is newer than the newest id", (int)key.n, (const char *)key.p);
}

/* ---- All together --------------------------------------------------------------------------- */

static void check_everything(struct check *check)
{
    static const struct {
        const char *part;
        enum table table;
        void (*visit)(struct check *, struct bytes key, struct bytes value);
    } parts[] = {
        {"posts", TABLE_POST, check_post},        {"authors", TABLE_AUTHOR, check_list},
        {"bodies", TABLE_BODY, check_body},       {"followers", TABLE_FOLLOWER, check_follower},
        {"users", TABLE_USER, check_user_row},    {"profiles", TABLE_PROFILE, check_profile},
        {"events", TABLE_EVENT, check_event},     {"answers", TABLE_ONCE, check_once},
        {"ages", TABLE_ONCE_AGE, check_once_age}, {"webhooks", TABLE_WEBHOOK, check_webhook},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        check->part = parts[i].part;
        each_row(check, parts[i].table, parts[i].visit);
    }
    check->part = "counters";
    check_users(check);
}

static enum tidings_err write_mends(struct local *local, struct check *check)
{
    struct kv_txn txn;
    enum tidings_err err = check->mends ? kv_begin(local->kv, &txn) : TIDINGS_OK;
    if (err || !check->mends)
        return err;
    uint64_t n = 0;
    for (struct mend *mend = check->mends; mend; mend = mend->next, n++) {
        if (mend->value.p)
            kv_put(&txn, mend->table, &mend->key, mend->value.p, mend->value.n);
        else
            kv_del(&txn, mend->table, &mend->key);
    }
    err = kv_commit(&txn);
    if (!err) {
        check->out->repaired = n;
        local->writer.no_sweeping = false;
    }
    return err;
}

enum tidings_err local_verify(struct engine *engine, struct tidings_verify *out)
{
    struct local *local = (struct local *)engine;
    struct snapshot *snapshot;
    out->checked = out->differences = out->repaired = 0;

    pthread_mutex_lock(&local->writer.turn);
    enum tidings_err err = snapshot_take(local, NULL, &snapshot);
    if (!err) {
        struct check check = {.view = &snapshot->view, .out = out};
        arena_init(&check.notes, SCRATCH_MEMORY_MAX);
        check.last_mend = check.row_mend = &check.mends;
        check_everything(&check);
        err = snapshot->txn.err;
        snapshot_return(local, snapshot);
        if (!err && out->repair)
            err = write_mends(local, &check);
        arena_release(&check.notes);
        if (out->progress)
            fprintf(out->progress, "\r%-40s\r", "");
    }
    pthread_mutex_unlock(&local->writer.turn);
    return err;
}
