/* SPDX-License-Identifier: MIT */
/* Where readers stopped, in the model: all that was ever sent is kept, and what is shown is worked out
 * from it; see model_story.h. */
#include "model.h"

#include <string.h>

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

bool model_stopped_at(const struct model_reader *reader, uint64_t story_id,
                      struct tidings_reading *shown)
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

uint64_t model_changed_at(const struct model_reader *reader, uint64_t story_id)
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
        n += model_stopped_at(reader, reader->changes[i].story_id, &shown);
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

static bool reading_set(struct model *model, const struct tidings_op *op, int64_t t,
                        struct model_answer *answer)
{
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
    shown = model_stopped_at(reader, story->id, &before);
    if (!shown && count_shown(reader) >= model->settings.reading_max) {
        answer->err = TIDINGS_READING_LIMIT;
        return false;
    }
    reader->visits = model_room(reader->visits, reader->n_visits + 1, sizeof *reader->visits);
    reader->visits[reader->n_visits++] = (struct model_visit){
        story->id, op->u.reading.scene_id, op->u.reading.message_id, device_time(op, t)};
    model_stopped_at(reader, story->id, after);
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

        if ((story_id == 0 || story_id == id) && model_stopped_at(reader, id, &shown) &&
            shown.modified_at <= at)
            note_change(model, reader, id);
    }
    reader->marks = model_room(reader->marks, reader->n_marks + 1, sizeof *reader->marks);
    reader->marks[reader->n_marks++] = (struct model_mark){story_id, at};
}

static bool reading_delete(struct model *model, const struct tidings_op *op, int64_t t,
                           struct model_answer *answer)
{
    const struct model_post *story = model_post(model, op->u.reading.story_id);

    if (story == NULL || story->kind != TIDINGS_STORY) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    add_mark(model, model_reader(model, op->user_id), story->id, device_time(op, t));
    return true;
}

bool model_reading_write(struct model *model, const struct tidings_op *op, int64_t t,
                         struct model_answer *answer)
{
    if (op->kind == TIDINGS_OP_READING_SET)
        return reading_set(model, op, t, answer);
    if (op->kind == TIDINGS_OP_READING_DELETE)
        return reading_delete(model, op, t, answer);
    add_mark(model, model_reader(model, op->user_id), 0, device_time(op, t));
    return true;
}
