/* SPDX-License-Identifier: MIT */
/*
 * Where readers stopped. The record of a reader and a story is the truth, together with the
 * reader's mark of the last clearing (domain/reading.h says what is shown of both). Two indexes on
 * it:
 *
 *     latest   by the time shown, latest first: exactly those that are shown
 *     changed  by the version of the last change: one row for each that was ever shown, so that
 *              a device that asks what changed learns what went, too
 *
 * A clearing touches every record that it takes away. Each of these was made by an operation
 * before, so that the work is paid for; in return no other operation need know of clearings half
 * done.
 */
#include <string.h>

#include "domain/ids.h"
#include "engine/ops/ops.h"
#include "engine/ops/story.h"

enum { RESULT_CHANGED }; /* call->result; of a refused call the story that is deleted */

/* ---- One record ----------------------------------------------------------------------------- */

static struct position_record load_position(struct view *view, uint64_t reader, uint64_t story)
{
    struct position_record position = {0};
    struct key key = key_pair(reader, ROW_POSITION, story);
    struct bytes value;
    if (kv_get(view->txn, TABLE_USER, &key, &value) && !position_decode(value, &position))
        view_corrupt(view);
    return position;
}

static struct reading_shown shown(const struct position_record *position,
                                  const struct shelf_record *shelf)
{
    return reading_show(&position->reading, (int64_t)shelf->cleared);
}

static void put_empty(struct view *view, struct key key)
{
    kv_put(view->txn, TABLE_USER, &key, "", 0);
}

static void move_latest(struct view *view, uint64_t reader, uint64_t story,
                        const struct reading_shown *before, const struct reading_shown *after)
{
    struct key old = key_latest(reader, (uint64_t)before->modified_at, story);
    if (before->any && after->any && before->modified_at == after->modified_at)
        return;
    if (before->any)
        kv_del(view->txn, TABLE_USER, &old);
    if (after->any)
        put_empty(view, key_latest(reader, (uint64_t)after->modified_at, story));
}

/*
 * Writes the record, and brings the indexes and the count up to date with what was shown before.
 * Whether what is shown has changed. The shelf is the caller's to save.
 */
static bool save_position(struct view *view, uint64_t reader, uint64_t story,
                          struct position_record *position, struct shelf_record *shelf,
                          const struct reading_shown *before)
{
    struct reading_shown after = shown(position, shelf);
    struct key key = key_pair(reader, ROW_POSITION, story);
    uint8_t bytes[POSITION_RECORD_MAX];
    bool changed = !reading_same(before, &after);
    if (changed) {
        struct key old = key_changed(reader, position->changed, story);
        if (position->changed)
            kv_del(view->txn, TABLE_USER, &old);
        put_empty(view, key_changed(reader, view->stamp, story));
        move_latest(view, reader, story, before, &after);
        view_add(view, &shelf->positions, after.any - before->any);
        position->changed = view->stamp;
        if (!position->first)
            position->first = view->stamp;
    }
    kv_put(view->txn, TABLE_USER, &key, bytes, position_encode(position, bytes));
    return changed;
}

/* ---- Changing ------------------------------------------------------------------------------- */

/* Joins the news to what is known. Whether what is shown has changed. */
static bool join(struct view *view, uint64_t reader, uint64_t story, struct shelf_record *shelf,
                 struct position_record *position, struct reading news)
{
    struct reading_shown before = shown(position, shelf);
    struct reading joined = reading_join(position->reading, news);
    if (!memcmp(&joined, &position->reading, sizeof joined))
        return false;
    position->reading = joined;
    bool changed = save_position(view, reader, story, position, shelf, &before);
    if (changed)
        view_put_shelf(view, reader, shelf);
    return changed;
}

/* Whether there is, or was, such a place in the story. */
static bool is_place(struct view *view, const struct tidings_op *op)
{
    struct scene_record scene;
    uint64_t scene_id = op->u.reading.scene_id, message_id = op->u.reading.message_id;
    if (!scene_id)
        return true;
    if (!view_scene(view, scene_id, &scene) || scene.story != op->u.reading.story_id)
        return false;
    return !message_id || scene_had_message(view, scene_id, message_id);
}

enum tidings_err apply_reading_set(struct view *view, struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t reader = op->user_id, story_id = op->u.reading.story_id;
    struct post_record story;

    call->result[0] = story_id;
    enum tidings_err err = view_story(view, story_id, &story);
    if (err)
        return err;
    if (!is_place(view, op))
        return TIDINGS_NOT_FOUND;
    struct shelf_record shelf = view_shelf(view, reader);
    struct position_record position = load_position(view, reader, story_id);
    if (!shown(&position, &shelf).any && shelf.positions >= view->settings->reading_max)
        return TIDINGS_READING_LIMIT;

    int64_t time = reading_time(op->u.reading.modified_at, view->now_ms);
    struct reading news = reading_write(time, op->u.reading.scene_id, op->u.reading.message_id);
    call->result[RESULT_CHANGED] = join(view, reader, story_id, &shelf, &position, news);
    return TIDINGS_OK;
}

enum tidings_err apply_reading_delete(struct view *view, struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t reader = op->user_id, story_id = op->u.reading.story_id;
    struct post_record story;
    if (view_story(view, story_id, &story) == TIDINGS_NOT_FOUND)
        return TIDINGS_NOT_FOUND;
    struct shelf_record shelf = view_shelf(view, reader);
    struct position_record position = load_position(view, reader, story_id);
    int64_t time = reading_time(op->u.reading.modified_at, view->now_ms);
    join(view, reader, story_id, &shelf, &position, reading_erasure(time));
    return TIDINGS_OK;
}

/* The stories whose positions are shown with a time up to `time`; there are `most` at most. How
 * many. */
static size_t list_up_to(struct view *view, uint64_t reader, int64_t time, uint64_t most,
                         uint64_t **stories)
{
    struct key prefix = key_row(reader, ROW_LATEST);
    struct key from = key_latest(reader, (uint64_t)time, ID_MASK);
    struct bytes key, value;
    size_t n = 0;
    *stories = view_array(view, view->scratch, most, sizeof **stories);
    bool found = *stories && kv_seek(view->txn, TABLE_USER, &from, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_USER, &key, &value)) {
        if (key.n != from.n || n == most) {
            view_corrupt(view);
            return 0;
        }
        (*stories)[n++] = get_id_descending(key.p + prefix.n + ID_BYTES);
    }
    return view_failed(view) ? 0 : n;
}

enum tidings_err apply_reading_clear(struct view *view, struct tidings_call *call)
{
    uint64_t reader = call->op->user_id, *stories;
    struct shelf_record before = view_shelf(view, reader), shelf = before;
    int64_t time = reading_time(call->op->u.reading.modified_at, view->now_ms);
    if ((uint64_t)time <= shelf.cleared)
        return TIDINGS_OK;
    size_t n = list_up_to(view, reader, time, shelf.positions, &stories);
    shelf.cleared = (uint64_t)time;
    for (size_t i = 0; i < n; i++) {
        struct position_record position = load_position(view, reader, stories[i]);
        struct reading_shown was = shown(&position, &before);
        save_position(view, reader, stories[i], &position, &shelf, &was);
    }
    view_put_shelf(view, reader, &shelf);
    return TIDINGS_OK;
}

/* ---- Answering ------------------------------------------------------------------------------ */

static bool fill_reading(struct view *view, struct reply *reply, uint64_t story_id,
                         const struct reading_shown *reading, struct tidings_reading *out)
{
    struct post_record story;
    if (view_story(view, story_id, &story) == TIDINGS_NOT_FOUND) {
        view_corrupt(view);
        return false;
    }
    *out = (struct tidings_reading){
        .story_id = story_id,
        .title = view_text(view, reply->arena, story.title),
        .is_deleted = story.deleted,
        .scene_id = reading->scene,
        .message_id = reading->message,
        .modified_at = reading->modified_at,
    };
    return true;
}

enum tidings_err answer_reading_set(struct view *view, struct reply *reply)
{
    uint64_t reader = reply->op->user_id, story = reply->op->u.reading.story_id;
    struct shelf_record shelf = view_shelf(view, reader);
    struct position_record position = load_position(view, reader, story);
    struct reading_shown now = shown(&position, &shelf);
    reply->answer->u.reading.changed = reply->call->result[RESULT_CHANGED];
    if (now.any)
        fill_reading(view, reply, story, &now, &reply->answer->u.reading.record);
    return TIDINGS_OK;
}

/* Where the list goes on; rows sort by falling time, then falling story. */
static struct key list_from(uint64_t reader, const struct tidings_page *page)
{
    if (!page->after.a)
        return key_row(reader, ROW_LATEST);
    if (page->after.b)
        return key_latest(reader, page->after.a, page->after.b - 1);
    return key_latest(reader, page->after.a - 1, ID_MASK);
}

static void answer_list(struct view *view, struct reply *reply, const struct shelf_record *shelf)
{
    const struct tidings_page *page = &reply->op->u.readings.page;
    uint64_t reader = reply->op->user_id;
    size_t limit = view_limit(view, page), n = 0;
    struct key prefix = key_row(reader, ROW_LATEST), from = list_from(reader, page);
    struct tidings_reading *rows = view_array(view, reply->arena, limit, sizeof *rows);
    struct bytes key, value;

    reply->answer->u.readings.rows = rows;
    bool found = rows && kv_seek(view->txn, TABLE_USER, &from, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_USER, &key, &value)) {
        if (n == limit) {
            const struct tidings_reading *last = &rows[n - 1];
            reply->answer->u.readings.next =
                (struct tidings_cursor){(uint64_t)last->modified_at, last->story_id};
            break;
        }
        uint64_t story = key.n == (size_t)prefix.n + 2 * ID_BYTES
                             ? get_id_descending(key.p + prefix.n + ID_BYTES)
                             : 0;
        struct position_record position = load_position(view, reader, story);
        struct reading_shown now = shown(&position, shelf);
        if (!now.any)
            view_corrupt(view);
        if (view_failed(view) || !fill_reading(view, reply, story, &now, &rows[n]))
            break;
        n++;
    }
    reply->answer->u.readings.n = n;
}

/* Stories in the order of their last changes, from `since` on. */
struct changes {
    uint64_t *stories;
    size_t n, room;
    uint64_t last; /* version of the last one */
    bool more;
};

static bool add_change(struct view *view, struct changes *changes, uint64_t story)
{
    if (changes->n == changes->room) {
        size_t room = changes->room ? changes->room * 2 : 64;
        uint64_t *grown = view_array(view, view->scratch, room, sizeof *grown);
        if (grown && changes->n)
            memcpy(grown, changes->stories, changes->n * sizeof *grown);
        changes->stories = grown;
        changes->room = room;
    }
    if (changes->stories)
        changes->stories[changes->n++] = story;
    return changes->stories != NULL;
}

/* A clearing gives many the same version: these are not torn apart, so that a version says all. */
static void find_changes(struct view *view, const struct tidings_op *op, struct changes *changes)
{
    size_t limit = view_limit(view, &op->u.readings.page);
    struct key prefix = key_row(op->user_id, ROW_CHANGED);
    struct key from = key_changed(op->user_id, op->u.readings.since + 1, 0);
    struct bytes key, value;
    bool found = kv_seek(view->txn, TABLE_USER, &from, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_USER, &key, &value)) {
        if (key.n != from.n) {
            view_corrupt(view);
            return;
        }
        uint64_t version = get_id(key.p + prefix.n);
        changes->more = changes->n >= limit && version != changes->last;
        if (changes->more || !add_change(view, changes, get_id(key.p + prefix.n + ID_BYTES)))
            return;
        changes->last = version;
    }
}

static void answer_delta(struct view *view, struct reply *reply, const struct shelf_record *shelf)
{
    uint64_t reader = reply->op->user_id;
    struct changes changes = {0};
    find_changes(view, reply->op, &changes);
    struct tidings_reading *rows = view_array(view, reply->arena, changes.n, sizeof *rows);
    uint64_t *deleted = view_array(view, reply->arena, changes.n, sizeof *deleted);
    size_t n = 0, n_deleted = 0;
    for (size_t i = 0; i < changes.n && !view_failed(view); i++) {
        struct position_record position = load_position(view, reader, changes.stories[i]);
        struct reading_shown now = shown(&position, shelf);
        if (now.any)
            n += fill_reading(view, reply, changes.stories[i], &now, &rows[n]);
        else if (position.first <= reply->op->u.readings.since)
            deleted[n_deleted++] = changes.stories[i];
    }
    reply->answer->u.readings.rows = rows;
    reply->answer->u.readings.n = n;
    reply->answer->u.readings.deleted = deleted;
    reply->answer->u.readings.n_deleted = n_deleted;
    reply->answer->u.readings.more = changes.more;
    if (changes.more)
        reply->answer->u.readings.version = changes.last;
}

enum tidings_err answer_reading(struct view *view, struct reply *reply)
{
    struct shelf_record shelf = view_shelf(view, reply->op->user_id);
    reply->answer->u.readings.version = view->last_id;
    if (reply->op->u.readings.delta)
        answer_delta(view, reply, &shelf);
    else
        answer_list(view, reply, &shelf);
    return TIDINGS_OK;
}
