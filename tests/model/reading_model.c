/* SPDX-License-Identifier: MIT */
/* Where readers stopped: all that was ever sent is kept, and what is shown is worked out from it; see reading.c. */
#include "model.h"

#include <string.h>

struct model_reader *model_reader(struct model *model, uint64_t user_id)
{
    struct model_stories *stories = &model->stories;
    struct model_reader *reader;

    for (size_t i = 0; i < stories->n_readers; i++) {
        if (stories->readers[i].user_id == user_id)
            return &stories->readers[i];
    }
    stories->readers =
        model_room(stories->readers, stories->n_readers + 1, sizeof *stories->readers);
    reader = &stories->readers[stories->n_readers++];
    memset(reader, 0, sizeof *reader);
    reader->user_id = user_id;
    return reader;
}

/* Whatever was sent for that time or an earlier one is void. */
static int64_t void_up_to(const struct model_reader *reader, uint64_t story_id)
{
    int64_t latest = 0;

    for (size_t i = 0; i < reader->n_marks; i++) {
        const struct model_mark *mark = &reader->marks[i];

        if ((mark->story_id == 0 || mark->story_id == story_id) && mark->at > latest)
            latest = mark->at;
    }
    return latest;
}

static bool further(const struct model_visit *a, const struct model_visit *b)
{
    if (a->at != b->at)
        return a->at > b->at;
    if (a->scene_id != b->scene_id)
        return a->scene_id > b->scene_id;
    return a->message_id > b->message_id;
}

bool stopped_at(const struct model_reader *reader, uint64_t story_id, struct tidings_reading *shown)
{
    int64_t gone = void_up_to(reader, story_id);
    const struct model_visit *read = NULL;
    const struct model_visit *entered = NULL;

    memset(shown, 0, sizeof *shown);
    for (size_t i = 0; i < reader->n_visits; i++) {
        const struct model_visit *visit = &reader->visits[i];

        if (visit->story_id != story_id || visit->at <= gone)
            continue;
        if (visit->scene_id != 0 && (read == NULL || further(visit, read)))
            read = visit;
        if (visit->scene_id == 0 && (entered == NULL || further(visit, entered)))
            entered = visit;
    }
    if (read == NULL && entered == NULL)
        return false;
    shown->story_id = story_id;
    shown->scene_id = read != NULL ? read->scene_id : 0;
    shown->message_id = read != NULL ? read->message_id : 0;
    shown->modified_at = read != NULL ? read->at : entered->at;
    return true;
}

uint64_t changed_at(const struct model_reader *reader, uint64_t story_id)
{
    for (size_t i = 0; i < reader->n_changes; i++) {
        if (reader->changes[i].story_id == story_id)
            return reader->changes[i].turn;
    }
    return 0;
}

static void note_change(struct model *model, struct model_reader *reader, uint64_t story_id)
{
    for (size_t i = 0; i < reader->n_changes; i++) {
        if (reader->changes[i].story_id == story_id) {
            reader->changes[i].turn = model->turn;
            return;
        }
    }
    reader->changes = model_room(reader->changes, reader->n_changes + 1, sizeof *reader->changes);
    reader->changes[reader->n_changes++] = (struct model_change){story_id, model->turn};
}

static int64_t device_time(const struct tidings_op *op, int64_t t)
{
    int64_t at = op->u.reading.modified_at;

    return at == 0 || at > t ? t : at;
}

static uint64_t count_shown(const struct model_reader *reader)
{
    struct tidings_reading shown;
    uint64_t n = 0;

    for (size_t i = 0; i < reader->n_changes; i++)
        n += stopped_at(reader, reader->changes[i].story_id, &shown);
    return n;
}

static bool had_message(const struct model_scene *scene, uint64_t id)
{
    for (size_t i = 0; i < scene->n_given; i++) {
        if (scene->given[i] == id)
            return true;
    }
    return false;
}

/* Is the position one of the story: a scene, also a deleted one, and a message it has or had? */
static bool is_place(const struct model *model, const struct tidings_op *op,
                     const struct model_post *story)
{
    const struct model_scene *scene = model_scene(model, op->u.reading.scene_id);

    if (op->u.reading.scene_id == 0)
        return true;
    if (scene == NULL || scene->story_id != story->id)
        return false;
    return op->u.reading.message_id == 0 || had_message(scene, op->u.reading.message_id);
}

bool write_reading_set(struct model *model, const struct model_call *call,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    const struct model_post *story = model_living_story(model, op->u.reading.story_id, answer);
    struct model_reader *reader = model_reader(model, op->user_id);
    struct tidings_reading before;
    struct tidings_reading *after = &answer->story.reading;
    bool shown;

    if (story == NULL)
        return false;
    if (!is_place(model, op, story)) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    shown = stopped_at(reader, story->id, &before);
    if (!shown && count_shown(reader) >= model->settings.reading_max) {
        answer->err = TIDINGS_READING_LIMIT;
        return false;
    }
    reader->visits = model_room(reader->visits, reader->n_visits + 1, sizeof *reader->visits);
    reader->visits[reader->n_visits++] = (struct model_visit){
        story->id, op->u.reading.scene_id, op->u.reading.message_id, device_time(op, t)};
    stopped_at(reader, story->id, after);
    answer->changed = memcmp(&before, after, sizeof before) != 0;
    if (answer->changed)
        note_change(model, reader, story->id);
    if (after->story_id != 0)
        after->title = story->title;
    return true;
}

static void add_mark(struct model *model, struct model_reader *reader, uint64_t story_id,
                     int64_t at)
{
    size_t n = reader->n_changes;
    struct tidings_reading shown;

    /* Whatever was shown has changed at least once. */
    for (size_t i = 0; i < n; i++) {
        uint64_t id = reader->changes[i].story_id;

        if ((story_id == 0 || story_id == id) && stopped_at(reader, id, &shown) &&
            shown.modified_at <= at)
            note_change(model, reader, id);
    }
    reader->marks = model_room(reader->marks, reader->n_marks + 1, sizeof *reader->marks);
    reader->marks[reader->n_marks++] = (struct model_mark){story_id, at};
}

bool write_reading_delete(struct model *model, const struct model_call *call,
                          struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    const struct model_post *story = model_post(model, op->u.reading.story_id);

    if (story == NULL || story->kind != TIDINGS_STORY) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    add_mark(model, model_reader(model, op->user_id), story->id, device_time(op, t));
    return true;
}

bool write_reading_clear(struct model *model, const struct model_call *call,
                         struct model_answer *answer)
{
    (void)answer;
    add_mark(model, model_reader(model, call->op->user_id), 0, device_time(call->op, call->t));
    return true;
}

/* a comes before b: the later one, of the same time the one with the greater story id. */
static bool reading_before(struct tidings_cursor a, struct tidings_cursor b)
{
    return a.a != b.a ? a.a > b.a : a.b > b.b;
}

static struct tidings_cursor place_of(const struct tidings_reading *shown)
{
    return (struct tidings_cursor){(uint64_t)shown->modified_at, shown->story_id};
}

/* All that is shown of the reader behind `after`, in order. */
static void gather_readings(struct model *model, const struct model_reader *reader,
                            struct tidings_cursor after, struct model_answer *answer)
{
    struct tidings_reading *rows = model_room(NULL, reader->n_changes, sizeof *rows);

    for (size_t i = 0; i < reader->n_changes; i++) {
        struct tidings_reading shown;
        size_t at = answer->n;
        const struct model_post *story;

        if (!stopped_at(reader, reader->changes[i].story_id, &shown))
            continue;
        if (after.a != 0 && !reading_before(after, place_of(&shown)))
            continue;
        story = model_post(model, shown.story_id);
        shown.title = story->title;
        shown.is_deleted = story->deleted;
        for (; at > 0 && reading_before(place_of(&shown), place_of(&rows[at - 1])); at--)
            rows[at] = rows[at - 1];
        rows[at] = shown;
        answer->n++;
    }
    answer->story.readings = rows;
}

void read_readings(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct model_reader *reader = model_reader(model, call->op->user_id);
    size_t limit = model_page_limit(model, &call->op->u.readings.page);

    gather_readings(model, reader, call->after, answer);
    if (call->op->u.readings.delta || answer->n <= limit)
        return;
    answer->n = limit;
    answer->next = place_of(&answer->story.readings[limit - 1]);
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

const char *check_reading(const struct model *model, const struct model_call *call)
{
    (void)model;
    const struct tidings_op *op = call->op;

    if (op->kind != TIDINGS_OP_READING_CLEAR && !model_id_ok(op->u.reading.story_id))
        return "story_id";
    if (op->u.reading.modified_at < 0)
        return "modified_at";
    if (op->kind != TIDINGS_OP_READING_SET)
        return NULL;
    if (op->u.reading.scene_id > TIDINGS_ID_MAX)
        return "scene_id";
    if (op->u.reading.message_id > TIDINGS_ID_MAX)
        return "message_id";
    return op->u.reading.scene_id == 0 && op->u.reading.message_id != 0 ? "message_id" : NULL;
}

const char *check_readings(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;

    if (op->u.readings.since > TIDINGS_ID_MAX ||
        (op->u.readings.since != 0 && !op->u.readings.delta))
        return "since";
    return model_check_page(model, &op->u.readings.page);
}
