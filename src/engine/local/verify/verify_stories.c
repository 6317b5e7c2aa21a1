/* SPDX-License-Identifier: MIT */
/*
 * Verify's part about stories: scenes and their lists, messages and the ids given to them,
 * subscriptions, reading positions, and what is counted of these.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "domain/ids.h"
#include "engine/local/verify/verify.h"
#include "engine/ops/story.h"

static struct key copy_key(struct bytes key)
{
    struct key copy = {.n = (uint8_t)key.n};
    memcpy(copy.bytes, key.p, key.n);
    return copy;
}

static const struct bytes empty = {(const uint8_t *)"", 0};

static bool has_row(struct check *check, enum table table, struct key key)
{
    struct bytes value;
    return kv_get(txn_of(check->view), table, &key, &value);
}

/* ---- A user's rows -------------------------------------------------------------------------- */

static void check_subscription(struct check *check, uint64_t user, struct bytes key)
{
    uint64_t story_id = get_id(key.p + ID_BYTES + 1);
    struct view *view = check->view;
    struct post_record story;
    struct tie tie;
    tie_load(view, REALM_SCENES, user, story_id, &tie);
    bool quiet = local_get_shelf(view, user).quiet;
    if (view_failed(view))
        return;
    if (!story_exists(view, story_id, &story))
        verify_differ(check, "user %" PRIu64 " subscribes to %" PRIu64 ", which is no story", user,
                      story_id);
    if (quiet ? tie.pair.following : tie.pair.paused)
        verify_differ(check, "user %" PRIu64 ": the subscription to %" PRIu64 " is not as set",
                      user, story_id);
    if (tie.pair.reads_out)
        verify_differ(check, "user %" PRIu64 " has read of %" PRIu64 " what was not notified", user,
                      story_id);
    verify_pair(check, user, key);
}

static bool load_position(struct check *check, uint64_t user, uint64_t story,
                          struct position_record *position)
{
    struct key key = key_pair(user, ROW_POSITION, story);
    struct bytes value;
    if (!kv_get(txn_of(check->view), TABLE_USER, &key, &value))
        return false;
    if (!position_decode(value, position))
        kv_fail(txn_of(check->view), TIDINGS_CORRUPT);
    return !view_failed(check->view);
}

static struct reading_shown shown_of(struct check *check, uint64_t user,
                                     const struct position_record *position)
{
    int64_t cleared = (int64_t)local_get_shelf(check->view, user).cleared;
    return reading_show(&position->reading, cleared);
}

static void check_position(struct check *check, uint64_t user, uint64_t story)
{
    struct view *view = check->view;
    struct position_record position;
    if (!load_position(check, user, story, &position))
        return;
    struct reading_shown shown = shown_of(check, user, &position);
    bool sound = story_had_place(view, story, position.reading.scene, position.reading.message);
    if (view_failed(view))
        return;
    if (!sound)
        verify_differ(check, "user %" PRIu64 " stopped at no place of %" PRIu64, user, story);
    if (position.changed > local_of(view)->last_id || (shown.any && !position.changed))
        verify_differ(check, "user %" PRIu64 ": the version of %" PRIu64 " cannot be", user, story);

    struct key latest = key_latest(user, (uint64_t)shown.modified_at, story);
    struct key changed = key_changed(user, position.changed, story);
    if (shown.any && !has_row(check, TABLE_USER, latest)) {
        verify_differ(check, "user %" PRIu64 ": the list of positions lacks %" PRIu64, user, story);
        verify_mend(check, TABLE_USER, &latest, empty);
    }
    if (position.changed && !has_row(check, TABLE_USER, changed)) {
        verify_differ(check, "user %" PRIu64 ": the changes lack %" PRIu64, user, story);
        verify_mend(check, TABLE_USER, &changed, empty);
    }
}

/* A row of the list, or of the changes: what it says must be so. */
static void check_position_index(struct check *check, uint64_t user, struct bytes key, bool latest)
{
    struct key row = copy_key(key);
    const uint8_t *at = key.p + ID_BYTES + 1;
    struct position_record position = {0};
    uint64_t story = latest ? get_id_descending(at + ID_BYTES) : get_id(at + ID_BYTES);
    bool right = load_position(check, user, story, &position);
    if (latest && right) {
        struct reading_shown shown = shown_of(check, user, &position);
        right = shown.any && (uint64_t)shown.modified_at == get_id_descending(at);
    } else if (right) {
        right = position.changed == get_id(at);
    }
    if (view_failed(check->view) || right)
        return;
    verify_differ(check, "user %" PRIu64 ": %s have %" PRIu64 ", which is not so", user,
                  latest ? "the listed positions" : "the changes", story);
    verify_mend_delete(check, TABLE_USER, &row);
}

bool verify_story_row(struct check *check, uint64_t user, struct bytes key, struct bytes value)
{
    static const struct {
        uint8_t row;
        size_t key_bytes; /* behind the row's letter */
    } rows[] = {
        {ROW_LATEST, 2 * ID_BYTES},
        {ROW_NOTIFICATION_MAP, ID_BYTES + 4},
        {ROW_NOTIFICATIONS, ID_BYTES},
        {ROW_POSITION, ID_BYTES},
        {ROW_SHELF, 0},
        {ROW_CHANGED, 2 * ID_BYTES},
    };
    uint8_t row = key.p[ID_BYTES];
    size_t i = 0, n = sizeof rows / sizeof *rows;
    while (i < n && rows[i].row != row)
        i++;
    if (i == n)
        return false;
    if (key.n != ID_BYTES + 1 + rows[i].key_bytes) {
        verify_differ(check, "user %" PRIu64 ": a key of %zu bytes", user, key.n);
        return true;
    }
    struct shelf_record shelf;
    switch (row) {
    case ROW_LATEST:
    case ROW_CHANGED:
        check_position_index(check, user, key, row == ROW_LATEST);
        break;
    case ROW_NOTIFICATION_MAP:
        verify_readmap(check, user, key, value);
        break;
    case ROW_NOTIFICATIONS:
        check_subscription(check, user, key);
        break;
    case ROW_POSITION:
        check_position(check, user, get_id(key.p + ID_BYTES + 1));
        break;
    default:
        if (!shelf_decode(value, &shelf))
            verify_differ(check, "user %" PRIu64 ": the shelf cannot be decoded", user);
    }
    return true;
}

/* ---- What is counted ------------------------------------------------------------------------ */

static uint64_t count_subscriptions(struct view *view, uint64_t user)
{
    struct tie *ties;
    uint64_t count = 0;
    size_t n = tie_list(view, REALM_SCENES, user, &ties);
    for (size_t i = 0; i < n; i++)
        count += ties[i].pair.following || ties[i].pair.paused;
    return count;
}

static uint64_t count_positions(struct view *view, uint64_t user, int64_t cleared)
{
    struct key prefix = key_row(user, ROW_POSITION);
    struct bytes key, value;
    uint64_t count = 0;
    bool found = kv_seek(txn_of(view), TABLE_USER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(txn_of(view), TABLE_USER, &key, &value)) {
        struct position_record position;
        if (position_decode(value, &position))
            count += reading_show(&position.reading, cleared).any;
        else
            view_corrupt(view);
    }
    return count;
}

static void check_shelf(struct check *check, uint64_t user)
{
    struct view *view = check->view;
    struct shelf_record shelf = local_get_shelf(view, user);
    uint64_t subscriptions = count_subscriptions(view, user);
    uint64_t positions = count_positions(view, user, (int64_t)shelf.cleared);
    if (view_failed(view) || (shelf.subscriptions == subscriptions && shelf.positions == positions))
        return;
    verify_differ(check,
                  "user %" PRIu64 ": %" PRIu64 " subscriptions and %" PRIu64
                  " positions, counted %" PRIu64 " and %" PRIu64,
                  user, shelf.subscriptions, shelf.positions, subscriptions, positions);
    shelf.subscriptions = subscriptions;
    shelf.positions = positions;
    uint8_t bytes[SHELF_RECORD_MAX];
    struct key key = key_row(user, ROW_SHELF);
    verify_mend(check, TABLE_USER, &key, (struct bytes){bytes, shelf_encode(&shelf, bytes)});
}

static void check_shelves(struct check *check)
{
    struct key at = key_id(0);
    struct bytes key, value;
    while (!view_failed(check->view) &&
           kv_seek(txn_of(check->view), TABLE_USER, &at, &key, &value) && key.n >= ID_BYTES) {
        uint64_t user = get_id(key.p);
        check_shelf(check, user);
        if (user >= ID_MASK)
            return;
        at = key_id(user + 1);
        verify_step(check);
    }
}

/* ---- Scenes --------------------------------------------------------------------------------- */

static void check_scene(struct check *check, uint64_t id, struct bytes value)
{
    struct view *view = check->view;
    struct scene_record scene;
    struct post_record story;
    if (!scene_decode(value, &scene)) {
        verify_differ(check, "%" PRIu64 " cannot be decoded", id);
        return;
    }
    const struct head *head = view_head(view, REALM_SCENES, scene.story);
    bool known = story_exists(view, scene.story, &story);
    if (view_failed(view))
        return;
    if (!known)
        verify_differ(check, "%" PRIu64 " belongs to no story", id);
    else if (story.deleted != head_is_closed(head))
        verify_differ(check, "story %" PRIu64 " is deleted in one place only", scene.story);
    if (scene.seq >= head->n_posts || head->ids[scene.seq] != id)
        verify_differ(check, "%" PRIu64 " is not in its story's list", id);
    else if (scene.deleted != head_is_deleted(head, scene.seq))
        verify_differ(check, "%" PRIu64 " is deleted in one place only", id);
    if (id > local_of(view)->last_id || scene.removed > local_of(view)->last_id ||
        scene.edited > local_of(view)->last_id)
        verify_differ(check, "%" PRIu64 " is newer than the newest id", id);
    if (scene.n_messages && !(known && story.deleted) &&
        !has_row(check, TABLE_SCENE, key_row(id, ROW_MESSAGES)))
        verify_differ(check, "%" PRIu64 " has lost its messages", id);
}

static int by_id(const void *a, const void *b)
{
    uint64_t x = ((const struct tidings_message *)a)->id,
             y = ((const struct tidings_message *)b)->id;
    return (x > y) - (x < y);
}

static void check_message_ids(struct check *check, uint64_t scene, struct tidings_message *messages,
                              size_t n)
{
    qsort(messages, n, sizeof *messages, by_id);
    for (size_t i = 0; i < n; i++) {
        uint64_t id = messages[i].id;
        if (i && id == messages[i - 1].id)
            verify_differ(check, "%" PRIu64 " has message %" PRIu64 " twice", scene, id);
        if (local_was_given(check->view, scene, id) || view_failed(check->view))
            continue;
        verify_differ(check, "%" PRIu64 " has message %" PRIu64 ", which was never given out",
                      scene, id);
        struct key key = key_given(scene, id);
        const uint8_t one[4] = {0, 0, 0, 1};
        verify_mend(check, TABLE_SCENE, &key, (struct bytes){one, sizeof one});
    }
}

/* Messages of a deleted story's scene wait to be swept. */
static void check_sweeping(struct check *check, const struct scene_record *scene)
{
    struct post_record story;
    struct key todo = key_id(scene->story);
    struct bytes value;
    if (!story_exists(check->view, scene->story, &story) || !story.deleted)
        return;
    if (kv_get(txn_of(check->view), TABLE_UNSWEPT, &todo, &value) && value.n == 4 &&
        get_u32(value.p) <= scene->seq)
        return;
    verify_differ(check, "messages of deleted story %" PRIu64 " that nobody sweeps", scene->story);
    const uint8_t none[4] = {0};
    verify_mend(check, TABLE_UNSWEPT, &todo, (struct bytes){none, sizeof none});
}

static void check_messages(struct check *check, uint64_t id, struct bytes value)
{
    struct view *view = check->view;
    struct key row = key_row(id, ROW_MESSAGES);
    struct tidings_message *messages;
    struct scene_record scene;
    size_t n;
    bool alive = view_scene(view, id, &scene) && !scene.deleted;
    if (view_failed(view))
        return;
    if (!alive) {
        verify_differ(check, "messages without their scene %" PRIu64, id);
        verify_mend_delete(check, TABLE_SCENE, &row);
        return;
    }
    if (!messages_decode(value, view->scratch, &messages, &n)) {
        verify_differ(check, "messages of %" PRIu64 " cannot be decoded", id);
        return;
    }
    check_message_ids(check, id, messages, n);
    check_sweeping(check, &scene);
    if (n == scene.n_messages || view_failed(view))
        return;
    verify_differ(check, "%" PRIu64 " has %zu messages, not %" PRIu32, id, n, scene.n_messages);
    scene.n_messages = (uint32_t)n;
    struct bytes fresh = scene_encode(&scene, view->scratch);
    struct key key = key_id(id);
    if (fresh.p)
        verify_mend(check, TABLE_SCENE, &key, fresh);
}

static void check_given(struct check *check, uint64_t id, struct bytes key, struct bytes value)
{
    struct key row = copy_key(key);
    struct scene_record scene;
    if (key.n != 2 * ID_BYTES + 1 || value.n != 4) {
        verify_differ(check, "ids given to %" PRIu64 ": a row of %zu and %zu bytes", id, key.n,
                      value.n);
        return;
    }
    bool known = view_scene(check->view, id, &scene);
    if (view_failed(check->view))
        return;
    uint64_t first = get_id(key.p + ID_BYTES + 1), n = get_u32(value.p);
    if (!n || first <= id || first + (n - 1) * ID_STEP > local_of(check->view)->last_id)
        verify_differ(check, "ids given to %" PRIu64 " that cannot be", id);
    if (known)
        return;
    verify_differ(check, "ids given to %" PRIu64 ", which is no scene", id);
    verify_mend_delete(check, TABLE_SCENE, &row);
}

static void check_scene_row(struct check *check, struct bytes key, struct bytes value)
{
    if (key.n < ID_BYTES) {
        verify_differ(check, "a key of %zu bytes", key.n);
        return;
    }
    uint64_t id = get_id(key.p);
    uint8_t row = key.n > ID_BYTES ? key.p[ID_BYTES] : 0;
    if (!row)
        check_scene(check, id, value);
    else if (row == ROW_MESSAGES && key.n == ID_BYTES + 1)
        check_messages(check, id, value);
    else if (row == ROW_GIVEN)
        check_given(check, id, key, value);
    else
        verify_differ(check, "%" PRIu64 ": a row of unknown kind %u", id, row);
}

static void check_list(struct check *check, struct bytes key, struct bytes value)
{
    struct scene_record scene;
    if (key.n != ID_BYTES + 1 + 4 || key.p[ID_BYTES] != ROW_POSTS)
        return;
    uint64_t story = get_id(key.p);
    uint32_t first = get_u32(key.p + ID_BYTES + 1) * READMAP_POSTS;
    for (uint32_t i = 0; i < value.n / ID_BYTES; i++) {
        uint64_t id = get_id(value.p + i * ID_BYTES);
        bool found = view_scene(check->view, id, &scene);
        if (view_failed(check->view))
            return;
        if (!found || scene.story != story || scene.seq != first + i)
            verify_differ(check, "%" PRIu64 " lists %" PRIu64 ", which is no scene of its", story,
                          id);
    }
}

static void check_subscriber(struct check *check, struct bytes key, struct bytes value)
{
    struct key row = copy_key(key);
    struct tie tie;
    if (key.n != 2 * ID_BYTES || value.n != ID_BYTES) {
        verify_differ(check, "a row of %zu and %zu bytes", key.n, value.n);
        return;
    }
    uint64_t story = get_id(key.p), rank = get_id_descending(key.p + ID_BYTES);
    uint64_t user = get_id(value.p);
    tie_load(check->view, REALM_SCENES, user, story, &tie);
    if (view_failed(check->view) || (tie.pair.following && tie.pair.rank == rank))
        return;
    verify_differ(check, "%" PRIu64 " has subscriber %" PRIu64 ", who is not one so", story, user);
    verify_mend_delete(check, TABLE_SUBSCRIBER, &row);
}

void verify_stories(struct check *check)
{
    static const struct {
        const char *part;
        enum table table;
        void (*visit)(struct check *, struct bytes key, struct bytes value);
    } parts[] = {
        {"stories", TABLE_STORY, check_list},
        {"scenes", TABLE_SCENE, check_scene_row},
        {"subscribers", TABLE_SUBSCRIBER, check_subscriber},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        verify_part(check, parts[i].part, parts[i].table);
        verify_each_row(check, parts[i].table, parts[i].visit);
    }
    verify_part(check, "shelves", TABLE_USER);
    check_shelves(check);
}
