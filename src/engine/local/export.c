/* SPDX-License-Identifier: MIT */
/*
 * All facts of a snapshot, in the order in which they are applied (engine/facts/fact.h): a walk through the tables that hold the
 * truth, or through one user's part of them. What is made of it is left out: docs/FORMAT.md says what that is.
 */
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/facts/apply.h"
#include "engine/local/local.h"
#include "engine/local/rows/journal.h"
#include "engine/local/storage/files.h"

struct walk {
    struct view *view;
    struct fact_sink *sink;
    uint64_t user; /* only this one's; 0: all */
    bool enough;   /* the sink takes no more */
    struct progress progress;
    uint64_t rows; /* so far */
};

enum { ROWS_UNTOLD = 1024 };

static void step(struct walk *walk)
{
    arena_clear(walk->view->scratch);
    if (++walk->rows % ROWS_UNTOLD == 0)
        progress_tell(&walk->progress, walk->rows);
}

static void tell(struct walk *walk, const struct fact *fact)
{
    if (!view_failed(walk->view) && !walk->enough)
        walk->enough = !walk->sink->take(walk->sink, fact);
}

static bool goes_on(const struct walk *walk)
{
    return !walk->enough && !view_failed(walk->view);
}

static bool is_wanted(const struct walk *walk, uint64_t user)
{
    return !walk->user || walk->user == user;
}

/* ---- Profiles, posts, scenes ---------------------------------------------------------------- */

static void set_text(struct fact *fact, struct bytes *to, uint64_t bit, struct bytes text)
{
    if (!text.n)
        return;
    *to = text;
    fact->has |= bit;
}
#define SET_TEXT(fact, field, text) set_text(fact, &(fact)->field, HAS(field), text)

static void tell_profile(struct walk *walk, uint64_t user, struct bytes value)
{
    struct fact fact = {.type = FACT_USER};
    struct profile_record profile;
    if (!profile_decode(value, &profile)) {
        view_corrupt(walk->view);
        return;
    }
    FACT_SET(&fact, user_id, user);
    SET_TEXT(&fact, name, profile.name);
    SET_TEXT(&fact, avatar, profile.avatar);
    SET_TEXT(&fact, extra, profile.extra);
    tell(walk, &fact);
}

/* When it was edited and deleted. */
static void set_changes(struct fact *fact, uint64_t edited, uint64_t removed)
{
    if (edited) {
        FACT_SET(fact, edited_id, edited);
        FACT_SET(fact, edited_at, (uint64_t)id_time_ms(edited));
    }
    if (removed) {
        FACT_SET(fact, deleted_id, removed);
        FACT_SET(fact, deleted_at, (uint64_t)id_time_ms(removed));
    }
}

static void tell_post(struct walk *walk, uint64_t id, struct bytes value)
{
    struct fact fact = {.type = FACT_POST};
    struct post_record post;
    if (!post_decode(value, &post)) {
        view_corrupt(walk->view);
        return;
    }
    if (!is_wanted(walk, post.author))
        return;
    struct bytes body = walk->view->rows->get_body(walk->view, id);
    fact_stamp(&fact, id);
    FACT_SET(&fact, author_id, post.author);
    FACT_SET(&fact, kind, (int)post.kind);
    SET_TEXT(&fact, key, local_key_of(walk->view, id));
    SET_TEXT(&fact, title, post.title);
    SET_TEXT(&fact, body, body);
    SET_TEXT(&fact, extra, post.extra);
    if (!post.deleted && !bytes_same(post.excerpt, fact_excerpt(walk->view, body)))
        FACT_SET(&fact, excerpt, post.excerpt);
    set_changes(&fact, post.edited, post.removed);
    tell(walk, &fact);
}

/* Ids that messages of the scene had and have no more: those given out, but those in use. */
static void set_given(struct walk *walk, uint64_t scene, struct fact *fact)
{
    struct kv_txn *txn = txn_of(walk->view);
    struct key prefix = key_row(scene, ROW_GIVEN);
    struct bytes key, value;
    size_t room = 0, n = 0;
    bool found = kv_seek(txn, TABLE_SCENE, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix) && value.n == 4;
         found = kv_next(txn, TABLE_SCENE, &key, &value))
        room += get_u32(value.p);
    uint64_t *ids = view_array(walk->view, walk->view->scratch, room, sizeof *ids);
    found = ids && kv_seek(txn, TABLE_SCENE, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix) && value.n == 4;
         found = kv_next(txn, TABLE_SCENE, &key, &value))
        for (uint32_t i = 0; i < get_u32(value.p) && n < room; i++)
            ids[n++] = get_id(key.p + prefix.n) + (uint64_t)i * ID_STEP;
    fact_set_given(fact, ids, n);
}

static void tell_scene(struct walk *walk, uint64_t id, struct bytes value)
{
    struct fact fact = {.type = FACT_SCENE};
    struct scene_record scene;
    struct post_record story;
    if (!scene_decode(value, &scene) || !view_post(walk->view, scene.story, &story)) {
        view_corrupt(walk->view);
        return;
    }
    if (!is_wanted(walk, story.author))
        return;
    fact_stamp(&fact, id);
    FACT_SET(&fact, story_id, scene.story);
    SET_TEXT(&fact, title, scene.title);
    if (scene.n_messages && !story.deleted) {
        if (!local_get_messages(walk->view, id, &fact.messages.at, &fact.messages.n))
            view_corrupt(walk->view);
        fact.has |= HAS(messages);
    }
    set_given(walk, id, &fact);
    set_changes(&fact, scene.edited, scene.removed);
    tell(walk, &fact);
}

/* ---- Comments ------------------------------------------------------------------------------- */

static void tell_comment(struct walk *walk, uint64_t id, struct bytes value)
{
    struct fact fact = {.type = FACT_COMMENT};
    struct comment_record comment;
    struct bytes body = {NULL, 0};
    if (!comment_decode(value, &comment)) {
        view_corrupt(walk->view);
        return;
    }
    if (!is_wanted(walk, comment.user))
        return;
    local_get_comment_body(walk->view, id, &body);
    fact_stamp(&fact, id);
    FACT_SET(&fact, user_id, comment.user);
    FACT_SET(&fact, post_id, comment.post);
    if (comment.parent)
        FACT_SET(&fact, parent_id, comment.parent);
    SET_TEXT(&fact, body, body);
    if (comment.status != TIDINGS_COMMENT_VISIBLE)
        FACT_SET(&fact, status, (int)comment.status);
    if (comment.moderated)
        FACT_SET(&fact, moderated, true);
    tell(walk, &fact);
}

/* ---- A user's ------------------------------------------------------------------------------- */

static void tell_shelf(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    struct fact fact = {.type = FACT_PREFERENCES};
    struct shelf_record shelf;
    (void)key;
    if (!shelf_decode(value, &shelf))
        view_corrupt(walk->view);
    else if (shelf.quiet || shelf.cleared) {
        FACT_SET(&fact, user_id, user);
        if (shelf.quiet)
            FACT_SET(&fact, story_updates, false);
        if (shelf.cleared)
            FACT_SET(&fact, cleared_at, shelf.cleared);
        tell(walk, &fact);
    }
}

/* The spans as ranges of ids. One that is open and has no posts yet follows from the rest. */
static void set_delivered(struct walk *walk, const struct tie *tie, struct fact *fact)
{
    const struct head *head = tie->head;
    struct fact_ranges ranges = {0};
    ranges.at = view_array(walk->view, walk->view->scratch, tie->pair.n_spans, sizeof *ranges.at);
    for (size_t i = 0; ranges.at && i < tie->pair.n_spans; i++) {
        struct span span = tie->pair.spans[i];
        bool open = span.end == SPAN_OPEN;
        if (span.start < head->n_posts && (open || span.end <= head->n_posts))
            ranges.at[ranges.n++] =
                (struct fact_range){head->ids[span.start], open ? 0 : head->ids[span.end - 1]};
        else if (!open)
            view_corrupt(walk->view);
    }
    FACT_SET(fact, delivered, ranges);
}

static void tell_pair(struct walk *walk, enum realm realm, uint64_t user, struct bytes key,
                      struct bytes value)
{
    struct fact fact = {.type = realm == REALM_POSTS ? FACT_FOLLOW : FACT_SUBSCRIPTION};
    uint64_t author = get_id(key.p + ID_BYTES + 1);
    struct tie_stored stored = {author, view_head(walk->view, realm, author), value};
    struct tie tie;
    tie_decode(walk->view, realm, user, &stored, &tie);
    if (pair_stands(&tie.pair))
        fact_stamp(&fact, tie.pair.rank);
    FACT_SET(&fact, user_id, user);
    if (realm == REALM_POSTS)
        FACT_SET(&fact, author_id, author);
    else
        FACT_SET(&fact, story_id, author);
    set_delivered(walk, &tie, &fact);
    tell(walk, &fact);
}

static void tell_follow(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    tell_pair(walk, REALM_POSTS, user, key, value);
}

static void tell_subscription(struct walk *walk, uint64_t user, struct bytes key,
                              struct bytes value)
{
    tell_pair(walk, REALM_SCENES, user, key, value);
}

static void tell_map(struct walk *walk, enum realm realm, uint64_t user, struct bytes key,
                     struct bytes value)
{
    uint64_t author = get_id(key.p + ID_BYTES + 1);
    uint32_t first = get_u32(key.p + 2 * ID_BYTES + 1) * READMAP_POSTS;
    const struct head *head = view_head(walk->view, realm, author);
    struct readmap map;
    if (!readmap_decode(value, &map)) {
        view_corrupt(walk->view);
        return;
    }
    for (uint64_t left = map.read; left && goes_on(walk); left &= left - 1) {
        struct fact fact = {.type = realm == REALM_POSTS ? FACT_READ : FACT_NOTIFIED};
        unsigned i = (unsigned)__builtin_ctzll(left);
        if (first + i >= head->n_posts) {
            view_corrupt(walk->view);
            return;
        }
        fact_stamp(&fact, map.read_stamp[i]);
        FACT_SET(&fact, user_id, user);
        if (realm == REALM_POSTS)
            FACT_SET(&fact, post_id, head->ids[first + i]);
        else
            FACT_SET(&fact, scene_id, head->ids[first + i]);
        tell(walk, &fact);
    }
}

static void tell_reads(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    tell_map(walk, REALM_POSTS, user, key, value);
}

static void tell_notified(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    tell_map(walk, REALM_SCENES, user, key, value);
}

static void tell_block(struct walk *walk, uint64_t user, const struct history_block *block,
                       uint64_t cleared)
{
    for (size_t i = 0; i < block->n && goes_on(walk); i++) {
        struct fact fact = {.type = FACT_HISTORY};
        if (block->at[i].stamp <= cleared)
            continue;
        fact_stamp(&fact, block->at[i].stamp);
        FACT_SET(&fact, user_id, user);
        FACT_SET(&fact, post_id, block->at[i].post);
        tell(walk, &fact);
    }
}

/* Oldest first, so that it can be added to in order; the rows lie the other way round. What was cleared is nobody's. */
static void tell_history(struct walk *walk, uint64_t user)
{
    uint64_t cleared = view_user(walk->view, user).history_cleared;
    struct kv_txn *txn = txn_of(walk->view);
    struct key prefix = key_row(user, ROW_HISTORY), end = key_row(user, ROW_HISTORY + 1);
    struct history_block block;
    struct bytes key, value;
    bool found = kv_seek_below(txn, TABLE_USER, &end, &key, &value);
    for (; found && goes_on(walk) && key_has_prefix(key, &prefix);
         found = kv_prev(txn, TABLE_USER, &key, &value)) {
        if (!journal_decode(key, value, &block)) {
            view_corrupt(walk->view);
            return;
        }
        tell_block(walk, user, &block, cleared);
        step(walk);
    }
}

static void tell_votes(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    uint64_t target = get_id_descending(key.p + ID_BYTES + 1);
    struct reaction_record record;
    if (!reaction_decode(value, &record)) {
        view_corrupt(walk->view);
        return;
    }
    for (int i = TIDINGS_LIKE; i < REACTIONS; i++) {
        struct fact fact = {.type = FACT_REACTION};
        if (!record.stamp[i])
            continue;
        fact_stamp(&fact, record.stamp[i]);
        FACT_SET(&fact, user_id, user);
        if (record.target == TIDINGS_TARGET_POST)
            FACT_SET(&fact, post_id, target);
        else
            FACT_SET(&fact, comment_id, target);
        FACT_SET(&fact, reaction, i);
        tell(walk, &fact);
    }
}

static void tell_position(struct walk *walk, uint64_t user, struct bytes key, struct bytes value)
{
    struct fact fact = {.type = FACT_POSITION};
    struct position_record position;
    if (!position_decode(value, &position)) {
        view_corrupt(walk->view);
        return;
    }
    FACT_SET(&fact, user_id, user);
    FACT_SET(&fact, story_id, get_id(key.p + ID_BYTES + 1));
    fact_set_position(&fact, &position);
    tell(walk, &fact);
}

/* ---- Tables --------------------------------------------------------------------------------- */

/* A user's rows of a kind, each told; the teller may look elsewhere. */
static void each_of(struct walk *walk, uint64_t user, enum user_row row, size_t key_n,
                    void (*teller)(struct walk *, uint64_t user, struct bytes key,
                                   struct bytes value))
{
    struct key prefix = key_row(user, (uint8_t)row), from = prefix;
    struct bytes key, value;
    while (goes_on(walk) && kv_seek(txn_of(walk->view), TABLE_USER, &from, &key, &value) &&
           key_has_prefix(key, &prefix)) {
        if (key.n != key_n) {
            view_corrupt(walk->view);
            return;
        }
        from.n = (uint8_t)key.n;
        memcpy(from.bytes, key.p, key.n);
        from.bytes[from.n++] = 0; /* just behind it */
        teller(walk, user, key, value);
        step(walk);
    }
}

static void tell_user(struct walk *walk, uint64_t user)
{
    enum { ROW = ID_BYTES + 1, WITH_ID = ROW + ID_BYTES, WITH_CHUNK = WITH_ID + 4 };
    each_of(walk, user, ROW_SHELF, ROW, tell_shelf);
    each_of(walk, user, ROW_INBOX, WITH_ID, tell_follow);
    each_of(walk, user, ROW_READMAP, WITH_CHUNK, tell_reads);
    tell_history(walk, user);
    each_of(walk, user, ROW_VOTE, WITH_ID, tell_votes);
    each_of(walk, user, ROW_NOTIFICATIONS, WITH_ID, tell_subscription);
    each_of(walk, user, ROW_NOTIFICATION_MAP, WITH_CHUNK, tell_notified);
    each_of(walk, user, ROW_POSITION, WITH_ID, tell_position);
}

static void tell_users(struct walk *walk)
{
    struct key from = key_id(walk->user ? walk->user : 1);
    struct bytes key, value;
    while (goes_on(walk) && kv_seek(txn_of(walk->view), TABLE_USER, &from, &key, &value)) {
        uint64_t user = key.n > ID_BYTES ? get_id(key.p) : 0;
        if (!user || !is_wanted(walk, user))
            return;
        tell_user(walk, user);
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
    while (goes_on(walk) && kv_seek(txn_of(walk->view), table, &from, &key, &value)) {
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

static void tell_webhooks(struct walk *walk)
{
    struct webhook_row *rows;
    size_t n = walk->user ? 0 : walk->view->rows->get_webhooks(walk->view, &rows);
    for (size_t i = 0; i < n && goes_on(walk); i++) {
        struct fact fact = {.type = FACT_WEBHOOK};
        fact_stamp(&fact, rows[i].record.created);
        FACT_SET(&fact, name, rows[i].name);
        FACT_SET(&fact, url, rows[i].record.url);
        FACT_SET(&fact, secret, rows[i].record.secret);
        if (rows[i].record.events)
            FACT_SET(&fact, events, rows[i].record.events);
        if (rows[i].record.disabled)
            FACT_SET(&fact, enabled, false);
        tell(walk, &fact);
    }
}

static void tell_profiles(struct walk *walk)
{
    struct key key = key_id(walk->user);
    struct bytes value;
    if (!walk->user)
        each_id(walk, "profiles", TABLE_PROFILE, 0, tell_profile);
    else if (kv_get(txn_of(walk->view), TABLE_PROFILE, &key, &value))
        tell_profile(walk, walk->user, value);
}

static void tell_begin(struct walk *walk)
{
    struct fact fact = {.type = FACT_TIDINGS};
    FACT_SET(&fact, version, FACTS_VERSION);
    FACT_SET(&fact, newest, local_of(walk->view)->last_id);
    if (walk->user)
        FACT_SET(&fact, user_id, walk->user);
    tell(walk, &fact);
}

static void tell_everything(struct walk *walk)
{
    tell_begin(walk);
    tell_profiles(walk);
    each_id(walk, "posts", TABLE_POST, 0, tell_post);
    each_id(walk, "scenes", TABLE_SCENE, 0, tell_scene);
    each_id(walk, "comments", TABLE_TARGET, ROW_COMMENT, tell_comment);
    walk->progress.what = "users";
    tell_users(walk);
    tell_webhooks(walk);
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
    struct walk walk = {.view = &snapshot->view.view, .sink = sink, .user = user};
    walk.progress.to = *progress;
    walk.progress.total = rows_of_all(&snapshot->txn);
    tell_everything(&walk);
    progress_end(&walk.progress);
    err = snapshot->txn.err;
    snapshot_return(local, snapshot);
    return err;
}
