/* SPDX-License-Identifier: MIT */
/*
 * All facts of a snapshot, in the order in which they are applied (engine/facts/fact.h): a walk through the tables that hold the
 * truth, or through one user's part of them. What is made of it is left out: docs/FORMAT.md says what that is.
 */
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/facts/tell.h"
#include "engine/local/local.h"
#include "engine/local/rows/journal.h"
#include "engine/local/storage/files.h"

struct walk {
    struct teller teller;
    struct progress progress;
    uint64_t rows; /* so far */
};

enum { ROWS_UNTOLD = 1024 };

static struct view *view_of(struct walk *walk)
{
    return walk->teller.view;
}

static void step(struct walk *walk)
{
    arena_clear(view_of(walk)->scratch);
    if (++walk->rows % ROWS_UNTOLD == 0)
        progress_tell(&walk->progress, walk->rows);
}

static bool goes_on(const struct walk *walk)
{
    return teller_goes_on(&walk->teller);
}

/* ---- Profiles, posts, scenes, comments ------------------------------------------------------ */

static void walk_profile(struct walk *walk, uint64_t user, struct bytes value)
{
    struct profile_record profile;
    if (profile_decode(value, &profile))
        tell_profile(&walk->teller, user, &profile);
    else
        view_corrupt(view_of(walk));
}

static void walk_post(struct walk *walk, uint64_t id, struct bytes value)
{
    struct post_record post;
    if (post_decode(value, &post))
        tell_post(&walk->teller, id, &post);
    else
        view_corrupt(view_of(walk));
}

/* All ids that messages of the scene ever had. */
static uint64_t *given_ids(struct walk *walk, uint64_t scene, size_t *n)
{
    struct kv_txn *txn = txn_of(view_of(walk));
    struct key prefix = key_row(scene, ROW_GIVEN);
    struct bytes key, value;
    size_t room = 0;
    *n = 0;
    bool found = kv_seek(txn, TABLE_SCENE, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix) && value.n == 4;
         found = kv_next(txn, TABLE_SCENE, &key, &value))
        room += get_u32(value.p);
    uint64_t *ids = view_array(view_of(walk), view_of(walk)->scratch, room, sizeof *ids);
    found = ids && kv_seek(txn, TABLE_SCENE, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix) && value.n == 4;
         found = kv_next(txn, TABLE_SCENE, &key, &value))
        for (uint32_t i = 0; i < get_u32(value.p) && *n < room; i++)
            ids[(*n)++] = get_id(key.p + prefix.n) + (uint64_t)i * ID_STEP;
    return ids;
}

static void walk_scene(struct walk *walk, uint64_t id, struct bytes value)
{
    struct scene_record scene;
    size_t n;
    if (!scene_decode(value, &scene)) {
        view_corrupt(view_of(walk));
        return;
    }
    uint64_t *given = given_ids(walk, id, &n);
    tell_scene(&walk->teller, id, &scene, given, n);
}

static void walk_comment(struct walk *walk, uint64_t id, struct bytes value)
{
    struct comment_record comment;
    if (comment_decode(value, &comment))
        tell_comment(&walk->teller, id, &comment);
    else
        view_corrupt(view_of(walk));
}

/* ---- A user's ------------------------------------------------------------------------------- */

static void walk_shelf(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    struct shelf_record shelf;
    (void)key;
    if (shelf_decode(value, &shelf))
        tell_shelf(&walk->teller, user, &shelf);
    else
        view_corrupt(view_of(walk));
}

static void walk_pair(struct walk *walk, enum realm realm, uint64_t user, struct bytes key,
                      struct bytes value)
{
    uint64_t author = get_id(key.p + ID_BYTES + 1);
    struct tie_stored stored = {author, view_head(view_of(walk), realm, author), value};
    struct tie tie;
    tie_decode(view_of(walk), realm, user, &stored, &tie);
    tell_pair(&walk->teller, &tie);
}

static void walk_follow(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    walk_pair(walk, REALM_POSTS, user, key, value);
}

static void walk_subscription(struct walk *walk, uint64_t user, struct bytes key,
                              struct bytes value)
{
    walk_pair(walk, REALM_SCENES, user, key, value);
}

static void walk_map(struct walk *walk, enum realm realm, uint64_t user, struct bytes key,
                     struct bytes value)
{
    uint64_t author = get_id(key.p + ID_BYTES + 1);
    uint32_t chunk = get_u32(key.p + 2 * ID_BYTES + 1);
    struct readmap map;
    if (readmap_decode(value, &map))
        tell_map(&walk->teller, realm, user, author, chunk, &map);
    else
        view_corrupt(view_of(walk));
}

static void walk_reads(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    walk_map(walk, REALM_POSTS, user, key, value);
}

static void walk_notified(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    walk_map(walk, REALM_SCENES, user, key, value);
}

static void walk_votes(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    uint64_t target = get_id_descending(key.p + ID_BYTES + 1);
    struct reaction_record record;
    if (!reaction_decode(value, &record)) {
        view_corrupt(view_of(walk));
        return;
    }
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++)
        if (record.stamp[i])
            tell_reaction(&walk->teller, user, target, record.target, (enum tidings_reaction)i,
                          record.stamp[i]);
}

static void walk_position(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    struct position_record position;
    if (position_decode(value, &position))
        tell_position(&walk->teller, user, get_id(key.p + ID_BYTES + 1), &position);
    else
        view_corrupt(view_of(walk));
}

/* ---- Tables --------------------------------------------------------------------------------- */

typedef void walk_fn(struct walk *walk, uint64_t user, struct bytes key, struct bytes value);

/* A user's rows of a kind, each told; the teller may look elsewhere. */
static void each_of(struct walk *walk, uint64_t user, enum user_row row, size_t key_n,
                    walk_fn *teller)
{
    struct key prefix = key_row(user, (uint8_t)row), from = prefix;
    struct bytes key, value;
    while (goes_on(walk) && kv_seek(txn_of(view_of(walk)), TABLE_USER, &from, &key, &value) &&
           key_has_prefix(key, &prefix)) {
        if (key.n != key_n) {
            view_corrupt(view_of(walk));
            return;
        }
        from.n = (uint8_t)key.n;
        memcpy(from.bytes, key.p, key.n);
        from.bytes[from.n++] = 0; /* just behind it */
        teller(walk, user, key, value);
        step(walk);
    }
}

/* The same from the last one on, where rows lie the other way round. */
static void each_back(struct walk *walk, uint64_t user, enum user_row row, size_t key_n,
                      walk_fn *teller)
{
    struct key prefix = key_row(user, (uint8_t)row), before = key_row(user, (uint8_t)(row + 1));
    struct bytes key, value;
    while (goes_on(walk) &&
           kv_seek_below(txn_of(view_of(walk)), TABLE_USER, &before, &key, &value) &&
           key_has_prefix(key, &prefix)) {
        if (key_n ? key.n != key_n : key.n > sizeof before.bytes) {
            view_corrupt(view_of(walk));
            return;
        }
        before.n = (uint8_t)key.n;
        memcpy(before.bytes, key.p, key.n);
        teller(walk, user, key, value);
        step(walk);
    }
}

static void walk_block(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    struct history_block block;
    uint64_t cleared = view_user(view_of(walk), user).history_cleared;
    if (!journal_decode(key, value, &block)) {
        view_corrupt(view_of(walk));
        return;
    }
    for (size_t i = 0; i < block.n && goes_on(walk); i++)
        tell_history(&walk->teller, user, block.at[i], cleared);
}

static void walk_user(struct walk *walk, uint64_t user)
{
    enum { ROW = ID_BYTES + 1, WITH_ID = ROW + ID_BYTES, WITH_CHUNK = WITH_ID + 4, ANY = 0 };
    each_of(walk, user, ROW_SHELF, ROW, walk_shelf);
    each_of(walk, user, ROW_INBOX, WITH_ID, walk_follow);
    each_of(walk, user, ROW_READMAP, WITH_CHUNK, walk_reads);
    each_back(walk, user, ROW_HISTORY, ANY, walk_block);
    each_back(walk, user, ROW_VOTE, WITH_ID, walk_votes);
    each_of(walk, user, ROW_NOTIFICATIONS, WITH_ID, walk_subscription);
    each_of(walk, user, ROW_NOTIFICATION_MAP, WITH_CHUNK, walk_notified);
    each_of(walk, user, ROW_POSITION, WITH_ID, walk_position);
}

static void walk_users(struct walk *walk)
{
    uint64_t only = walk->teller.user;
    struct key from = key_id(only ? only : 1);
    struct bytes key, value;
    while (goes_on(walk) && kv_seek(txn_of(view_of(walk)), TABLE_USER, &from, &key, &value)) {
        uint64_t user = key.n > ID_BYTES ? get_id(key.p) : 0;
        if (!user || (only && user != only))
            return;
        walk_user(walk, user);
        from = key_id(user + 1);
    }
}

/* The rows of a table whose keys are ids, and, behind the id, that letter if it is not 0. Others are passed by. */
static void each_id(struct walk *walk, const char *part, enum table table, uint8_t letter,
                    void (*teller)(struct walk *, uint64_t id, struct bytes value))
{
    struct key from = key_id(1);
    struct bytes key, value;
    walk->progress.what = part;
    while (goes_on(walk) && kv_seek(txn_of(view_of(walk)), table, &from, &key, &value)) {
        uint64_t id = key.n >= ID_BYTES ? get_id(key.p) : 0;
        bool is_it =
            letter ? key.n == ID_BYTES + 1 && key.p[ID_BYTES] == letter : key.n == ID_BYTES;
        bool before = letter && (key.n == ID_BYTES || key.p[ID_BYTES] < letter);
        if (!id)
            return;
        from = before ? key_row(id, letter) : key_id(id + 1);
        if (is_it)
            teller(walk, id, value);
        step(walk);
    }
}

static void walk_profiles(struct walk *walk)
{
    uint64_t only = walk->teller.user;
    struct key key = key_id(only);
    struct bytes value;
    if (!only)
        each_id(walk, "profiles", TABLE_PROFILE, 0, walk_profile);
    else if (kv_get(txn_of(view_of(walk)), TABLE_PROFILE, &key, &value))
        walk_profile(walk, only, value);
}

static void walk_everything(struct walk *walk)
{
    tell_begin(&walk->teller, local_of(view_of(walk))->last_id);
    walk_profiles(walk);
    each_id(walk, "posts", TABLE_POST, 0, walk_post);
    each_id(walk, "scenes", TABLE_SCENE, 0, walk_scene);
    each_id(walk, "comments", TABLE_TARGET, ROW_COMMENT, walk_comment);
    walk->progress.what = "users";
    walk_users(walk);
    tell_webhooks(&walk->teller);
}

/* An estimate: what is made of the truth is passed by, and each jump over it counts once. */
static uint64_t rows_of_all(struct kv_txn *txn)
{
    return kv_rows(txn, TABLE_PROFILE) + kv_rows(txn, TABLE_POST) + kv_rows(txn, TABLE_SCENE) +
           kv_rows(txn, TABLE_TARGET) + kv_rows(txn, TABLE_USER);
}

enum tidings_err local_export(struct engine *engine, uint64_t user, struct fact_sink *sink,
                              struct tidings_progress *progress)
{
    struct local *local = (struct local *)engine;
    struct snapshot *snapshot;
    enum tidings_err err = snapshot_take(local, NULL, &snapshot);
    if (err)
        return err;
    snapshot->view.recent = NULL;
    struct walk walk = {.teller = {.view = &snapshot->view.view, .sink = sink, .user = user}};
    walk.progress.to = *progress;
    walk.progress.total = rows_of_all(&snapshot->txn);
    walk_everything(&walk);
    progress_end(&walk.progress);
    err = snapshot->txn.err;
    snapshot_return(local, snapshot);
    return err;
}
