/* SPDX-License-Identifier: MIT */
/*
 * Where readers stopped. The record of a reader and a story is the truth, together with the
 * reader's mark of the last clearing (domain/reading.h says what is shown of both). Two lists stand beside it:
 *
 *     LIST_READING          by the time shown, latest first: exactly those that are shown
 *     LIST_READING_CHANGES  by the version of the last change: one place for each that was ever shown, so that
 *                           a device that asks what changed learns what went, too
 *
 * A clearing touches every record that it takes away. Each of these was made by an operation
 * before, so that the work is paid for; in return no other operation need know of clearings half
 * done.
 */
#include "engine/ops/halves.h"
#include "engine/ops/story.h"

/* ---- One record ----------------------------------------------------------------------------- */

static struct reading_shown shown(const struct position_record *position,
                                  const struct shelf_record *shelf)
{
    return reading_show(&position->reading, (int64_t)shelf->cleared);
}

/*
 * Writes the record, and brings lists and count up to date with what was shown before.
 * Whether what is shown has changed. The shelf is the caller's to save.
 */
static bool save_position(struct view *view, uint64_t reader, uint64_t story,
                          struct position_record *position, struct shelf_record *shelf,
                          const struct reading_shown *before)
{
    struct reading_shown now = shown(position, shelf);
    uint64_t version_before = position->changed;
    bool changed = !reading_same(before, &now);
    if (changed) {
        view_add(view, &shelf->positions, now.any - before->any);
        position->changed = view->stamp;
        if (!position->first)
            position->first = view->stamp;
    }
    view->rows->put_position(view, reader, story, position, version_before, before, &now);
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
        view->rows->put_shelf(view, reader, shelf);
    return changed;
}

enum tidings_err change_reading_set(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    uint64_t reader = op->user_id, story_id = op->u.reading.story_id;
    struct post_record story;

    enum tidings_err err = story_find(view, reply, story_id, &story);
    if (err)
        return err;
    if (!story_has_place(view, story_id, op->u.reading.scene_id, op->u.reading.message_id))
        return TIDINGS_NOT_FOUND;
    struct shelf_record shelf = view->rows->get_shelf(view, reader);
    struct position_record position = view->rows->get_position(view, reader, story_id);
    if (!shown(&position, &shelf).any && shelf.positions >= view->settings->reading_max)
        return TIDINGS_READING_LIMIT;

    int64_t time = reading_time(op->u.reading.modified_at, view->now_ms);
    struct reading news = reading_write(time, op->u.reading.scene_id, op->u.reading.message_id);
    reply->answer->u.reading.changed = join(view, reader, story_id, &shelf, &position, news);
    return TIDINGS_OK;
}

enum tidings_err change_reading_delete(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    uint64_t reader = op->user_id, story_id = op->u.reading.story_id;
    struct post_record story;
    if (!story_exists(view, story_id, &story))
        return TIDINGS_NOT_FOUND;
    struct shelf_record shelf = view->rows->get_shelf(view, reader);
    struct position_record position = view->rows->get_position(view, reader, story_id);
    int64_t time = reading_time(op->u.reading.modified_at, view->now_ms);
    join(view, reader, story_id, &shelf, &position, reading_erasure(time));
    return TIDINGS_OK;
}

/* All that are shown with a time up to that, of which there are `most` at most; how many. */
static size_t list_until(struct view *view, uint64_t reader, int64_t time, uint64_t most,
                         struct place **places)
{
    struct list list = {.kind = LIST_READING, .of = reader};
    struct tidings_cursor after = {(uint64_t)time + 1, 0};
    *places = view_array(view, view->scratch, most + 1, sizeof **places);
    size_t n = *places ? view->rows->get_list(view, &list, after, most + 1, *places) : 0;
    if (n > most)
        view_corrupt(view);
    return view_failed(view) ? 0 : n;
}

enum tidings_err change_reading_clear(struct view *view, struct reply *reply)
{
    uint64_t reader = reply->op->user_id;
    struct shelf_record before = view->rows->get_shelf(view, reader), shelf = before;
    int64_t time = reading_time(reply->op->u.reading.modified_at, view->now_ms);
    struct place *places;
    if ((uint64_t)time <= shelf.cleared)
        return TIDINGS_OK;
    size_t n = list_until(view, reader, time, shelf.positions, &places);
    shelf.cleared = (uint64_t)time;
    for (size_t i = 0; i < n; i++) {
        uint64_t story = places[i].id;
        struct position_record position = view->rows->get_position(view, reader, story);
        struct reading_shown was = shown(&position, &before);
        save_position(view, reader, story, &position, &shelf, &was);
    }
    view->rows->put_shelf(view, reader, &shelf);
    return TIDINGS_OK;
}

/* ---- Answering ------------------------------------------------------------------------------ */

static bool fill_reading(struct view *view, struct reply *reply, uint64_t story_id,
                         const struct reading_shown *reading, struct tidings_reading *out)
{
    struct post_record story;
    if (!story_exists(view, story_id, &story)) {
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
    struct shelf_record shelf = view->rows->get_shelf(view, reader);
    struct position_record position = view->rows->get_position(view, reader, story);
    struct reading_shown now = shown(&position, &shelf);
    if (now.any)
        fill_reading(view, reply, story, &now, &reply->answer->u.reading.record);
    return TIDINGS_OK;
}

static void answer_list(struct view *view, struct reply *reply, const struct shelf_record *shelf)
{
    struct list list = {.kind = LIST_READING, .of = reply->op->user_id};
    struct place *places;
    size_t n = view_page(view, &list, &reply->op->u.readings.page, &places,
                         &reply->answer->u.readings.next);
    struct tidings_reading *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; i < n && !view_failed(view); i++) {
        struct position_record position = view->rows->get_position(view, list.of, places[i].id);
        struct reading_shown now = shown(&position, shelf);
        if (!now.any)
            view_corrupt(view);
        fill_reading(view, reply, places[i].id, &now, &rows[i]);
    }
    reply->answer->u.readings.rows = rows;
    reply->answer->u.readings.n = n;
}

/*
 * Stories in the order of their last changes, behind the version asked for; how many. A clearing gives many the same
 * version: these are not torn apart, so that a version says all. So the page is as long as it takes.
 */
static size_t find_changes(struct view *view, const struct tidings_op *op, struct place **changes,
                           bool *more)
{
    struct list list = {.kind = LIST_READING_CHANGES, .of = op->user_id};
    struct tidings_cursor after = {op->u.readings.since, UINT64_MAX};
    size_t limit = view_limit(view, &op->u.readings.page);
    for (size_t room = limit + 1; !view_failed(view); room *= 2) {
        *changes = view_array(view, view->scratch, room, sizeof **changes);
        size_t found = *changes ? view->rows->get_list(view, &list, after, room, *changes) : 0;
        if (found <= limit)
            return found;
        size_t n = limit;
        while (n < found && (*changes)[n].at.a == (*changes)[n - 1].at.a)
            n++;
        *more = n < found;
        if (*more || found < room)
            return n;
    }
    return 0;
}

static void answer_delta(struct view *view, struct reply *reply, const struct shelf_record *shelf)
{
    uint64_t reader = reply->op->user_id;
    struct place *changes;
    bool more = false;
    size_t n_changes = find_changes(view, reply->op, &changes, &more), n = 0, n_deleted = 0;
    struct tidings_reading *rows = view_array(view, reply->arena, n_changes, sizeof *rows);
    uint64_t *deleted = view_array(view, reply->arena, n_changes, sizeof *deleted);
    for (size_t i = 0; i < n_changes && !view_failed(view); i++) {
        uint64_t story = changes[i].id;
        struct position_record position = view->rows->get_position(view, reader, story);
        struct reading_shown now = shown(&position, shelf);
        if (now.any)
            n += fill_reading(view, reply, story, &now, &rows[n]);
        else if (position.first <= reply->op->u.readings.since)
            deleted[n_deleted++] = story;
    }
    reply->answer->u.readings.rows = rows;
    reply->answer->u.readings.n = n;
    reply->answer->u.readings.deleted = deleted;
    reply->answer->u.readings.n_deleted = n_deleted;
    reply->answer->u.readings.more = more;
    if (more)
        reply->answer->u.readings.version = changes[n_changes - 1].at.a;
}

enum tidings_err answer_reading(struct view *view, struct reply *reply)
{
    struct shelf_record shelf = view->rows->get_shelf(view, reply->op->user_id);
    reply->answer->u.readings.version = view->rows->version(view);
    if (reply->op->u.readings.delta)
        answer_delta(view, reply, &shelf);
    else
        answer_list(view, reply, &shelf);
    return TIDINGS_OK;
}
