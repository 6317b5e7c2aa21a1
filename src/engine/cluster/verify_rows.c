/* SPDX-License-Identifier: MIT */
/*
 * Verify, row by row: what is packed, or follows from rules that all engines share.
 *
 * A look puts rows as they should be, as an operation does, and compares. On the snapshot that is taken back. To mend, the same look
 * is taken again at the rows as they are by then, with those locked that it rests on, and what it puts is written.
 */
#include <stdio.h>

#include "engine/cluster/verify.h"
#include "engine/inbox/audit.h"
#include "engine/ops/story.h"
#include "engine/ops/target.h"

enum { ROUNDS_MAX = 4096 };

/* The row that was put last, against the one that is stored; if they are the same nothing was put. */
static void compare(struct check *check, struct view *view, enum kind kind,
                    const uint64_t key[ROW_KEYS], const struct value *stored)
{
    struct sheet *sheet = &desk_view(view)->desk->sheet;
    const struct value *now = sheet_peek(sheet, kind, key);
    uint64_t before = check->found;
    char what[64];
    for (unsigned i = 0; now && i < kind_numbers(kind); i++) {
        if (now->numbers[i] == stored->numbers[i])
            continue;
        snprintf(what, sizeof what, "%s.%s", kind_forms[kind].table, kind_forms[kind].numbers[i]);
        check_differ(check, what, key[0], (int64_t)stored->numbers[i], (int64_t)now->numbers[i]);
    }
    if (check->found == before)
        sheet_undo(sheet);
}

/* ---- Pairs ---------------------------------------------------------------------------------- */

/* A subscription stands or is paused as its user wishes, and nothing but what was notified can be read of it. */
static void check_wishes(struct check *check, struct view *view, const struct tie *tie)
{
    const struct pair *pair = &tie->pair;
    bool quiet = tie->realm == REALM_SCENES && view->rows->get_shelf(view, tie->fan).quiet;
    if (desk_view(view)->incomplete)
        return;
    if (quiet ? pair->following : pair->paused)
        check_differ(check, "a pair that is paused, or is not, of user", tie->fan, pair->paused,
                     quiet);
    if (tie->realm == REALM_SCENES && pair->reads_out)
        check_differ(check, "scenes read that were not notified, of user", tie->fan,
                     pair->reads_out, 0);
}

static void check_pair(struct check *check, struct view *view, enum realm realm,
                       const uint64_t key[ROW_KEYS])
{
    enum kind kind = realm == REALM_POSTS ? KIND_FOLLOWING : KIND_SUBSCRIPTION;
    const struct value *stored = desk_get(view, kind, key[0], key[1], 0);
    uint64_t columns[ROW_NUMBERS] = {0};
    struct tie tie, fresh;
    tie_load(view, realm, key[0], key[1], &tie);
    enum audit_verdict verdict = audit_tie(view, &tie, &fresh);
    if (desk_view(view)->incomplete || view_failed(view) || !stored->exists)
        return;
    check_wishes(check, view, &tie);
    if (verdict != AUDIT_FINE)
        check_differ(check, audit_text(verdict), key[0], (int64_t)key[1], 0);
    if (verdict == AUDIT_BEYOND || verdict == AUDIT_UNREAD)
        return;
    cluster_pair_columns(&fresh, columns);
    bool shown = columns[PAIR_STATUS] == stored->numbers[PAIR_STATUS] &&
                 columns[PAIR_RANK] == stored->numbers[PAIR_RANK];
    if (!shown)
        check_differ(check, "a status or rank that the pair does not have, of", key[0],
                     (int64_t)stored->numbers[PAIR_STATUS], (int64_t)columns[PAIR_STATUS]);
    if (!shown || verdict != AUDIT_FINE)
        tie_save(view, &fresh);
}

static void visit_following(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    check_pair(check, view, REALM_POSTS, key);
}

static void visit_subscription(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    check_pair(check, view, REALM_SCENES, key);
}

/* ---- Read maps and the history -------------------------------------------------------------- */

/* What a map says is in the history is there, unless the reader has cleared it. */
static void check_map_history(struct check *check, struct view *view, uint64_t reader,
                              const uint64_t *posts, const struct readmap *map)
{
    uint64_t cleared = view_user(view, reader).history_cleared;
    for (uint64_t bits = map->history; bits; bits &= bits - 1) {
        unsigned i = (unsigned)__builtin_ctzll(bits);
        struct history_entry entry = {readmap_history_stamp(map, i), posts[i]};
        if (entry.stamp <= cleared)
            continue;
        const struct value *row = desk_get(view, KIND_HISTORY, reader, entry.stamp, entry.post);
        if (!row || row->exists)
            continue;
        check_differ(check, "history: a post that was read is missing, of", reader, 0,
                     (int64_t)entry.post);
        view->rows->add_history(view, reader, &entry, 1);
    }
}

static void check_map(struct check *check, struct view *view, enum realm realm,
                      const uint64_t key[ROW_KEYS])
{
    struct readmap map;
    struct tie tie;
    tie_load(view, realm, key[0], key[1], &tie);
    bool found = view->rows->get_readmap(view, &tie, (uint32_t)key[2], &map);
    if (!found || view_failed(view) || desk_view(view)->incomplete)
        return;
    uint64_t first = key[2] * READMAP_POSTS;
    if (!map.read || first + 64 - (uint64_t)__builtin_clzll(map.read) > tie.head->n_posts) {
        check_differ(check, "posts read that were never published", key[0], (int64_t)key[1], 0);
        return;
    }
    if (!tie.stored || !pair_has_reads(&tie.pair)) {
        struct tie fresh = tie;
        fresh.skips = NULL;
        audit_recount(view, &tie, &fresh.pair);
        if (desk_view(view)->incomplete)
            return;
        check_differ(check, "posts read that no pair knows of", key[0], (int64_t)key[1], 0);
        tie_save(view, &fresh);
    }
    if (map.history && realm == REALM_POSTS)
        check_map_history(check, view, key[0], tie.head->ids + first, &map);
}

static void visit_read_map(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    check_map(check, view, REALM_POSTS, key);
}

static void visit_scene_read_map(struct check *check, struct view *view,
                                 const uint64_t key[ROW_KEYS])
{
    check_map(check, view, REALM_SCENES, key);
}

static bool was_read_then(struct view *view, uint64_t reader, struct history_entry entry)
{
    struct post_record post;
    struct readmap map;
    if (!view_post(view, entry.post, &post))
        return false;
    struct tie tie = {.realm = REALM_POSTS, .fan = reader, .author = post.author};
    unsigned i = post.seq % READMAP_POSTS;
    return view->rows->get_readmap(view, &tie, post.seq / READMAP_POSTS, &map) &&
           !view_failed(view) && readmap_has(map.history, i) &&
           readmap_history_stamp(&map, i) == entry.stamp;
}

static void visit_history(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    uint64_t reader = key[0];
    struct history_entry entry = {key[1], key[2]};
    const struct value *row = desk_get(view, KIND_HISTORY, reader, entry.stamp, entry.post);
    bool right = entry.stamp <= view_user(view, reader).history_cleared ||
                 was_read_then(view, reader, entry);
    if (right || !row || !row->exists || view_failed(view) || desk_view(view)->incomplete)
        return;
    check_differ(check, "history: a post that was not read then, of", reader, (int64_t)entry.post,
                 0);
    view->rows->remove_history(view, reader, &entry, 1);
}

/* ---- Reading positions ---------------------------------------------------------------------- */

static void visit_reading(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    uint64_t reader = key[0], story = key[1];
    const struct value *stored = desk_get(view, KIND_READING, reader, story, 0);
    struct position_record position = view->rows->get_position(view, reader, story);
    struct shelf_record shelf = view->rows->get_shelf(view, reader);
    bool placed = story_had_place(view, story, position.reading.scene, position.reading.message);
    if (desk_view(view)->incomplete || view_failed(view) || !stored->exists)
        return;
    struct reading_shown shown = reading_show(&position.reading, (int64_t)shelf.cleared);
    if (!placed)
        check_differ(check, "a reader stopped at no place of a story", reader, (int64_t)story, 0);
    if (shown.any && !position.changed)
        check_differ(check, "a reading position without a version", reader, (int64_t)story, 0);
    view->rows->put_position(view, reader, story, &position, position.changed, &shown, &shown);
    compare(check, view, KIND_READING, key, stored);
}

/* ---- Comments and posts --------------------------------------------------------------------- */

static void visit_comment(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    const struct value *stored = desk_get(view, KIND_COMMENT, key[0], 0, 0);
    struct comment_record comment, now;
    if (!view->rows->get_comment(view, key[0], &comment) || !stored)
        return;
    now = comment;
    now.status = comment_folded(view, &now);
    view->rows->put_comment(view, key[0], &comment, &now);
    compare(check, view, KIND_COMMENT, key, stored);
}

static void visit_post(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    struct post_record post;
    bool found = view->rows->get_post(view, key[0], &post);
    const struct value *stored = desk_get(view, KIND_STATS, key[0], 0, 0);
    struct counts_record counts = view->rows->get_counts(view, key[0]);
    if (!found || desk_view(view)->incomplete)
        return;
    view->rows->put_counts(view, key[0], &post, &counts, post.deleted ? NULL : &counts);
    compare(check, view, KIND_STATS, key, stored);
}

/* ---- Scenes --------------------------------------------------------------------------------- */

/* Messages of a deleted story's scenes wait to be removed, and somebody must know. */
static void check_closed(struct check *check, struct view *view, uint64_t story)
{
    const struct value *closed = desk_get(view, KIND_STORY_CLOSED, story, 0, 0);
    if (!closed || closed->exists)
        return;
    check_differ(check, "messages of a deleted story that nobody sweeps", story, 0, 1);
    desk_put(view, KIND_STORY_CLOSED, story, 0, 0, &(struct value){.exists = true});
}

static void check_message_ids(struct check *check, struct view *view, uint64_t scene,
                              const struct tidings_message *messages, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (view->rows->was_given(view, scene, messages[i].id))
            continue;
        check_differ(check, "a message's id that was never given out, in scene", scene, 0,
                     (int64_t)messages[i].id);
        view->rows->give_ids(view, scene, &messages[i].id, 1);
    }
}

static void check_messages(struct check *check, struct view *view, uint64_t id,
                           const struct scene_record *scene)
{
    const uint64_t key[ROW_KEYS] = {id};
    struct tidings_message *messages;
    size_t n = 0;
    if (!view->rows->get_messages(view, id, &messages, &n)) {
        check_differ(check, "messages that cannot be decoded, of scene", id, 1, 0);
        return;
    }
    const struct value *stored = desk_get(view, KIND_SCENE, id, 0, 0);
    struct scene_record now = *scene;
    now.n_messages = (uint32_t)n;
    view->rows->put_scene(view, id, &now);
    compare(check, view, KIND_SCENE, key, stored);
    check_message_ids(check, view, id, messages, n);
}

static void visit_scene(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    struct scene_record scene;
    struct post_record story;
    const struct value *packed = desk_get(view, KIND_MESSAGES, key[0], 0, 0);
    bool found =
        view->rows->get_scene(view, key[0], &scene) && story_exists(view, scene.story, &story);
    if (!found || desk_view(view)->incomplete)
        return;
    if (packed->exists && scene.deleted) {
        check_differ(check, "messages of a scene that is gone", key[0], 1, 0);
        view->rows->put_messages(view, key[0], NULL, 0);
    } else if (packed->exists && story.deleted) {
        check_closed(check, view, scene.story);
    } else if (packed->exists) {
        check_messages(check, view, key[0], &scene);
    } else if (scene.n_messages && !story.deleted) {
        check_differ(check, "messages that are lost, of scene", key[0], 0, scene.n_messages);
    }
}

/* ---- Names ---------------------------------------------------------------------------------- */

static void visit_profile(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    struct sheet *sheet = &desk_view(view)->desk->sheet;
    struct profile_record profile = view->rows->get_profile(view, key[0]);
    const struct value *stored = desk_get(view, KIND_NAME, key[0], 0, 0);
    if (desk_view(view)->incomplete)
        return;
    view->rows->put_profile(view, key[0], &profile);
    const struct value *now = sheet_peek(sheet, KIND_NAME, key);
    if (!now->exists || (stored->exists && bytes_same(stored->texts[0], now->texts[0])))
        sheet_undo(sheet);
    else
        check_differ(check, "a user who cannot be found by the name", key[0], 0, 1);
}

/* ---- Keys: found by the key, and by the post ------------------------------------------------ */

/* A row that is named by its key's hash is as it was written. Those of comments are of an import that has ended. */
static void visit_key(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    const struct value *row = desk_get(view, KIND_KEY, key[0], key[1], key[2]);
    if (!row || !row->exists)
        return;
    uint64_t id = row->numbers[0], right[ROW_KEYS];
    struct bytes name = row->texts[0], of_post = view->rows->get_post_key(view, id);
    struct post_record post;
    bool whole = key[0] == KEY_POST && cluster_key_row(KEY_POST, name, right) &&
                 !key_order(key, right) && view_post(view, id, &post);
    if (desk_view(view)->incomplete || (whole && bytes_same(of_post, name)))
        return;
    bool has_another = whole && view->rows->get_key(view, KEY_POST, of_post) == id;
    if (desk_view(view)->incomplete)
        return;
    check_differ(check, "a key by which its post is not called", id, 1, 0);
    if (whole && !has_another)
        view->rows->put_key(view, KEY_POST, name, id);
    else
        desk_put(view, KIND_KEY, key[0], key[1], key[2], NULL);
}

static void visit_post_key(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    struct bytes name = view->rows->get_post_key(view, key[0]);
    struct post_record post;
    uint64_t found = view->rows->get_key(view, KEY_POST, name);
    bool exists = view_post(view, key[0], &post);
    if (desk_view(view)->incomplete || (exists && found == key[0]))
        return;
    check_differ(check, "a post that is not found by its key", key[0], (int64_t)found,
                 (int64_t)key[0]);
    if (exists && name.n && !found)
        view->rows->put_key(view, KEY_POST, name, key[0]);
    else
        desk_put(view, KIND_POST_KEY, key[0], 0, 0, NULL);
}

/* ---- What is kept packed and nothing follows from ------------------------------------------- */

static void visit_webhook(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    struct webhook_record record;
    const struct value *row = desk_get(view, KIND_WEBHOOK, key[0], 0, 0);
    if (row && row->exists && !webhook_decode(row->texts[1], &record))
        check_differ(check, "a webhook that cannot be decoded", key[0], 1, 0);
}

static void visit_once(struct check *check, struct view *view, const uint64_t key[ROW_KEYS])
{
    struct once_record record;
    const struct value *row = desk_get(view, KIND_ONCE, key[0], key[1], key[2]);
    if (!row || !row->exists)
        return;
    if (!once_decode(row->texts[0], &record)) {
        check_differ(check, "a kept answer that cannot be decoded, of user", key[0], 1, 0);
        return;
    }
    struct spent_record spent;
    if (key[1] == UINT64_MAX && key[2] == UINT64_MAX && !spent_decode(record.answer, &spent))
        check_differ(check, "used tickets that cannot be decoded, of user", key[0], 1, 0);
    struct value now = *row;
    now.numbers[0] = record.stamp;
    desk_put(view, KIND_ONCE, key[0], key[1], key[2], &now);
    compare(check, view, KIND_ONCE, key, row);
}

/* ---- The tables ----------------------------------------------------------------------------- */

static const struct walk of_inboxes[] = {
    {.table = "following",
     .keys = {"from_user_id", "to_user_id", "0"},
     .is_users = true,
     .visit = visit_following},
    {.table = "read_map",
     .keys = {"user_id", "author_id", "chunk"},
     .is_users = true,
     .visit = visit_read_map},
    {.table = "history",
     .keys = {"user_id", "stamp", "post_id"},
     .is_users = true,
     .visit = visit_history},
    {.table = "subscription",
     .keys = {"user_id", "story_id", "0"},
     .is_users = true,
     .visit = visit_subscription},
    {.table = "scene_read_map",
     .keys = {"user_id", "story_id", "chunk"},
     .is_users = true,
     .visit = visit_scene_read_map},
    {.table = "reading_position",
     .keys = {"user_id", "story_id", "0"},
     .is_users = true,
     .visit = visit_reading},
};
static const struct walk of_comments[] = {
    {.table = "comment", .keys = {"comment_id", "0", "0"}, .visit = visit_comment},
};
static const struct walk of_posts[] = {
    {.table = "post", .keys = {"post_id", "0", "0"}, .visit = visit_post},
};
static const struct walk of_scenes[] = {
    {.table = "scene", .keys = {"scene_id", "0", "0"}, .visit = visit_scene},
};
static const struct walk of_others[] = {
    {.table = "profile", .keys = {"user_id", "0", "0"}, .is_users = true, .visit = visit_profile},
    {.table = "imported_key", .keys = {"kind", "hash_high", "hash_low"}, .visit = visit_key},
    {.table = "post_key", .keys = {"post_id", "0", "0"}, .visit = visit_post_key},
    {.table = "webhook", .keys = {"created", "0", "0"}, .visit = visit_webhook},
    {.table = "idempotency",
     .keys = {"user_id", "key_high", "key_low"},
     .is_users = true,
     .visit = visit_once},
};

const struct walks row_walks[STAGES] = {
    [STAGE_INBOXES] = WALKS(of_inboxes), [STAGE_COMMENTS] = WALKS(of_comments),
    [STAGE_POSTS] = WALKS(of_posts),     [STAGE_SCENES] = WALKS(of_scenes),
    [STAGE_OTHERS] = WALKS(of_others),
};

/* ---- Looking at one ------------------------------------------------------------------------- */

struct spot {
    const struct walk *walk;
    const uint64_t *key;
};

enum verdict {
    INCOMPLETE, /* something is not at hand yet */
    FINE,
    DIFFERS,
    DAMAGED, /* it differs, and what was put rests on nothing */
};

/* Looks at one row with what is on the desk. What was put, if it differs, stays to be written or undone. */
static enum verdict look_once(struct check *check, struct desk *desk, const struct spot *spot)
{
    static const struct tidings_op nobody = {.user_id = 1};
    struct desk_view own = desk_view_of(check->cluster, desk, &nobody, 0);
    uint64_t before = check->found;
    own.view.err = &own.err;
    own.need = NEED_IDS;
    spot->walk->visit(check, &own.view, spot->key);
    arena_clear(&desk->scratch);
    enum verdict verdict = check->found > before ? DIFFERS : FINE;
    if (own.err && verdict == FINE)
        check_differ(check, "what cannot be decoded, or rests on what is damaged", spot->key[0],
                     (int64_t)spot->key[1], 0);
    if (own.err)
        verdict = DAMAGED;
    if (own.incomplete)
        verdict = INCOMPLETE;
    if (verdict != DIFFERS)
        sheet_undo(&desk->sheet);
    return verdict;
}

/* Copies of pairs go by the version. A user's only grow, and the row is locked: so this one has never been, and never will be
 * again. */
static void put_next_version(struct desk *desk, uint64_t user)
{
    buf_printf(&desk->text, "UPDATE user SET version=version+1 WHERE user_id=%llu;",
               (unsigned long long)user);
}

/* As it is now, with all locked that the look rests on. */
static enum sql_outcome mend(struct check *check, const void *what, uint64_t *rows)
{
    const struct spot *spot = what;
    struct desk *desk = &check->mender;
    enum verdict verdict = INCOMPLETE;
    *rows = 0;
    desk->hold = spot->walk->is_users ? HOLD_NOTHING : HOLD_ALONE;
    buf_literal(&desk->text, "BEGIN");
    if (spot->walk->is_users) {
        buf_char(&desk->text, ';');
        kind_put_lock(&desk->text, KIND_USER, spot->key[0]);
    }
    enum sql_outcome outcome = sql_run(desk->sql, &desk->text);
    buf_clear(&desk->text);
    for (int round = 0; !outcome && verdict == INCOMPLETE && round < ROUNDS_MAX; round++) {
        verdict = look_once(check, desk, spot);
        outcome = verdict == INCOMPLETE ? desk_load(desk, 0) : SQL_DONE;
    }
    if (outcome)
        return outcome;
    if (verdict == DIFFERS)
        *rows = desk_write(desk);
    if (*rows && spot->walk->is_users)
        put_next_version(desk, spot->key[0]);
    buf_literal(&desk->text, "COMMIT");
    return desk->sheet.failed ? SQL_FULL : sql_run(desk->sql, &desk->text);
}

/* ---- A page --------------------------------------------------------------------------------- */

struct page {
    uint64_t key[PAGE_ROWS][ROW_KEYS];
    bool ready[PAGE_ROWS];
    size_t n;
};

static enum sql_outcome list_keys(struct desk *desk, const struct walk *walk, struct page *page)
{
    buf_printf(&desk->text, "SELECT %s, %s, %s FROM %s WHERE ", walk->keys[0], walk->keys[1],
               walk->keys[2], walk->table);
    page_put_range(&desk->text, walk);
    buf_literal(&desk->text, " ORDER BY 1, 2, 3");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    for (page->n = 0; !outcome && page->n < PAGE_ROWS && sql_row(desk->sql); page->n++) {
        page->ready[page->n] = false;
        for (unsigned i = 0; i < ROW_KEYS; i++)
            page->key[page->n][i] = sql_u64(desk->sql, i);
    }
    buf_clear(&desk->text);
    return outcome;
}

/* Nothing is reported before all is at hand: it would be again. */
static enum sql_outcome look_at(struct check *check, const struct spot *spot, bool *ready)
{
    check->silent = true;
    enum verdict verdict = look_once(check, &check->desk, spot);
    sheet_undo(&check->desk.sheet);
    check->silent = false;
    *ready = verdict != INCOMPLETE;
    if (verdict != DIFFERS && verdict != DAMAGED)
        return SQL_DONE;
    look_once(check, &check->desk, spot);
    sheet_undo(&check->desk.sheet);
    return verdict == DIFFERS && check->out->repair ? check_mend(check, mend, spot) : SQL_DONE;
}

enum sql_outcome check_rows(struct check *check, const struct walk *walk)
{
    struct page *page = &(struct page){.n = 0};
    enum sql_outcome outcome = list_keys(&check->desk, walk, page);
    size_t left = page->n;
    for (int round = 0; left && !outcome && round < ROUNDS_MAX; round++) {
        for (size_t i = 0; i < page->n && !outcome; i++) {
            if (page->ready[i])
                continue;
            outcome = look_at(check, &(struct spot){walk, page->key[i]}, &page->ready[i]);
            left -= page->ready[i];
        }
        if (left && !outcome)
            outcome = desk_load(&check->desk, 0);
    }
    return outcome;
}
