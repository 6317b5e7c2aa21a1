/* SPDX-License-Identifier: MIT */
/* Stories in the model: what only reads, and which arguments are good; see model_story.h. */
#include "model_story.h"

#include "model.h"

#include "invariants.h"

#include <stdlib.h>

/* ---- Scenes -------------------------------------------------------------------------------- */

static void scenes(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct model_post *story = model_living_story(model, call->op->u.scenes.story_id, answer);
    size_t limit = model_page_limit(model, &call->op->u.scenes.page);

    if (story == NULL)
        return;
    answer->story.scenes = model_room(NULL, limit, sizeof *answer->story.scenes);
    for (size_t i = 0; i < model->stories.n_scenes; i++) {
        const struct model_scene *scene = &model->stories.scenes[i];

        if (scene->story_id != story->id || scene->deleted || scene->number <= call->after.a)
            continue;
        if (answer->n == limit) {
            answer->next.a = answer->story.scenes[limit - 1].number;
            return;
        }
        answer->story.scenes[answer->n] = model_show_scene(scene);
        answer->story.scenes[answer->n++].messages = NULL;
    }
}

static void scene(struct model *model, const struct tidings_op *op, struct model_answer *answer)
{
    const struct model_scene *found = model_living_scene(model, op->u.scene_id.scene_id, answer);

    if (found != NULL)
        answer->story.scene = model_show_scene(found);
}

/* ---- Where a reader stopped ---------------------------------------------------------------- */

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

        if (!model_stopped_at(reader, reader->changes[i].story_id, &shown))
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

static void readings(struct model *model, const struct model_call *call,
                     struct model_answer *answer)
{
    const struct model_reader *reader = model_reader(model, call->op->user_id);
    size_t limit = model_page_limit(model, &call->op->u.readings.page);

    gather_readings(model, reader, call->after, answer);
    if (call->op->u.readings.delta || answer->n <= limit)
        return;
    answer->n = limit;
    answer->next = place_of(&answer->story.readings[limit - 1]);
}

/* ---- Who is told, and of what -------------------------------------------------------------- */

static void subscriptions(struct model *model, const struct model_call *call,
                          struct model_answer *answer)
{
    size_t limit = model_page_limit(model, &call->op->u.page);
    uint64_t last = 0;

    answer->story.subscriptions = model_room(NULL, limit, sizeof *answer->story.subscriptions);
    for (size_t i = model->stories.n_subscriptions; i-- > 0;) {
        const struct model_subscription *it = &model->stories.subscriptions[i];
        const struct model_post *story = model_post(model, it->story_id);

        if (it->user_id != call->op->user_id || (call->after.a != 0 && it->turn >= call->after.a))
            continue;
        if (answer->n == limit) {
            answer->next.a = last;
            return;
        }
        answer->story.subscriptions[answer->n++] = (struct tidings_subscription_row){
            story->id, story->author_id, story->title, it->since, story->deleted};
        last = it->turn;
    }
}

static void subscribers(struct model *model, const struct model_call *call,
                        struct model_answer *answer)
{
    size_t limit = model_page_limit(model, &call->op->u.scenes.page);
    uint64_t story_id = call->op->u.scenes.story_id;
    uint64_t last = 0;

    if (call->op->role == TIDINGS_ROLE_USER) {
        answer->err = TIDINGS_FORBIDDEN;
        return;
    }
    if (model_living_story(model, story_id, answer) == NULL)
        return;
    answer->user_rows = model_room(NULL, limit, sizeof *answer->user_rows);
    for (size_t i = model->stories.n_subscriptions; i-- > 0;) {
        const struct model_subscription *it = &model->stories.subscriptions[i];
        const struct model_user *user = model_user(model, it->user_id);

        if (it->story_id != story_id || !model_wants_to_know(model, it->user_id, story_id))
            continue;
        if (call->after.a != 0 && it->turn >= call->after.a)
            continue;
        if (answer->n == limit) {
            answer->next.a = last;
            return;
        }
        answer->user_rows[answer->n++] =
            (struct tidings_user_row){user->id, user->name, user->avatar, it->since};
        last = it->turn;
    }
}

/* Was the user ever told of one of the story's scenes? */
static bool was_told(struct model *model, uint64_t user_id, uint64_t story_id)
{
    const struct model_reader *reader = model_reader(model, user_id);

    for (size_t i = 0; i < reader->n_told; i++) {
        if (model->stories.scenes[reader->told[i].scene].story_id == story_id)
            return true;
    }
    return false;
}

static void subscribers_among(struct model *model, const struct tidings_op *op,
                              struct model_answer *answer)
{
    uint64_t story_id = op->u.among.author_id;

    answer->user_ids = model_room(NULL, op->u.among.n_user_ids, sizeof *answer->user_ids);
    for (size_t i = 0; i < op->u.among.n_user_ids; i++) {
        uint64_t id = op->u.among.user_ids[i];

        if (model_wants_to_know(model, id, story_id) ||
            (op->u.among.delivered && was_told(model, id, story_id)))
            answer->user_ids[answer->n++] = id;
    }
}

static void notifications(struct model *model, const struct model_call *call,
                          struct model_answer *answer)
{
    const struct model_reader *reader = model_reader(model, call->op->user_id);
    size_t limit = model_page_limit(model, &call->op->u.page);

    answer->story.unread = model_notifications_unread(model, call->op->user_id);
    answer->story.notifications = model_room(NULL, limit, sizeof *answer->story.notifications);
    for (size_t i = reader->n_told; i-- > 0;) {
        const struct model_told *told = &reader->told[i];
        const struct model_scene *it = &model->stories.scenes[told->scene];

        if (!model_notice_stands(model, told) || (call->after.a != 0 && it->id >= call->after.a))
            continue;
        if (answer->n == limit) {
            answer->next.a = answer->story.notifications[limit - 1].id;
            return;
        }
        answer->story.notifications[answer->n++] = (struct tidings_notification){
            .id = it->id,
            .story_id = it->story_id,
            .author_id = it->author_id,
            .story_title = model_post(model, it->story_id)->title,
            .scene_title = it->title,
            .created_at = it->created_at,
            .is_read = told->is_read,
        };
    }
}

void model_story_read(struct model *model, const struct model_call *call,
                      struct model_answer *answer)
{
    const struct tidings_op *op = call->op;

    switch (op->kind) {
    case TIDINGS_OP_SCENES:
        scenes(model, call, answer);
        return;
    case TIDINGS_OP_SCENE:
        scene(model, op, answer);
        return;
    case TIDINGS_OP_READING:
        readings(model, call, answer);
        return;
    case TIDINGS_OP_SUBSCRIPTIONS:
        subscriptions(model, call, answer);
        return;
    case TIDINGS_OP_SUBSCRIBERS:
        subscribers(model, call, answer);
        return;
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        subscribers_among(model, op, answer);
        return;
    case TIDINGS_OP_PREFERENCES:
        answer->story.story_updates = !model_reader(model, op->user_id)->quiet;
        return;
    case TIDINGS_OP_NOTIFICATIONS:
        notifications(model, call, answer);
        return;
    default:
        abort();
    }
}

/* ---- Arguments ----------------------------------------------------------------------------- */

static bool id_ok(uint64_t id)
{
    return id >= 1 && id <= TIDINGS_ID_MAX;
}

static bool text_ok(struct tidings_text text, uint64_t most)
{
    long n = text.p != NULL ? model_characters(text) : 0;

    return n >= 1 && (uint64_t)n <= most;
}

static const char *check_messages(const struct model *model, const struct tidings_op *op)
{
    size_t n = op->u.scene.n_messages;

    if (n > model->settings.messages_max || (n > 0 && op->u.scene.messages == NULL))
        return "messages";
    for (size_t i = 0; i < n; i++) {
        const struct tidings_message *message = &op->u.scene.messages[i];

        if (!text_ok(message->text, model->settings.message_max))
            return "messages";
        /* The messages of a new scene have no ids yet. */
        if (op->kind == TIDINGS_OP_SCENE_PUBLISH ? message->id != 0 : message->id > TIDINGS_ID_MAX)
            return "messages";
    }
    return NULL;
}

static const char *check_scene(const struct model *model, const struct tidings_op *op)
{
    struct tidings_text title = op->u.scene.title;

    if (op->kind == TIDINGS_OP_SCENE_PUBLISH && !id_ok(op->u.scene.story_id))
        return "story_id";
    if (op->kind == TIDINGS_OP_SCENE_EDIT && !id_ok(op->u.scene.scene_id))
        return "scene_id";
    if (op->kind == TIDINGS_OP_SCENE_EDIT && title.p == NULL) {
        if (op->u.scene.messages == NULL)
            return "title"; /* nothing is to be changed */
    } else if (!text_ok(title, model->settings.title_max)) {
        return "title";
    }
    return check_messages(model, op);
}

static const char *check_reading(const struct tidings_op *op)
{
    if (op->kind != TIDINGS_OP_READING_CLEAR && !id_ok(op->u.reading.story_id))
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

static const char *check_among(const struct tidings_op *op)
{
    const uint64_t *ids = op->u.among.user_ids;

    if (!id_ok(op->u.among.author_id))
        return "author_id";
    for (size_t i = 0; i < op->u.among.n_user_ids; i++) {
        if (!id_ok(ids[i]) || (i > 0 && ids[i] <= ids[i - 1]))
            return "user_ids";
    }
    return NULL;
}

static const char *check_notifications_mark(const struct model *model,
                                            const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    const uint64_t *ids = op->u.mark.post_ids;
    size_t n = op->u.mark.n_post_ids;
    bool up_to = moment_is_given(&op->u.mark.up_to);

    if (op->u.mark.author_id != 0)
        return "author_id";
    if (ids == NULL && !up_to)
        return "ids";
    if (ids == NULL)
        return call->up_to.given ? NULL : "up_to";
    if (n == 0 || n > model->settings.mark_max)
        return "ids";
    for (size_t i = 0; i < n; i++) {
        if (!id_ok(ids[i]))
            return "ids";
    }
    return up_to ? "up_to" : NULL;
}

const char *model_story_check(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;

    switch (op->kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        return check_scene(model, op);
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENE:
        return !id_ok(op->u.scene_id.scene_id) ? "scene_id" : NULL;
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SUBSCRIBERS:
        if (!id_ok(op->u.scenes.story_id))
            return "story_id";
        return model_check_page(model, &op->u.scenes.page);
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
        return check_reading(op);
    case TIDINGS_OP_READING:
        if (op->u.readings.since > TIDINGS_ID_MAX ||
            (op->u.readings.since != 0 && !op->u.readings.delta))
            return "since";
        return model_check_page(model, &op->u.readings.page);
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        return !id_ok(op->u.post.post_id) ? "story_id" : NULL;
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        return check_among(op);
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        return check_notifications_mark(model, call);
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_NOTIFICATIONS:
        return model_check_page(model, &op->u.page);
    case TIDINGS_OP_PREFERENCES_SET:
    case TIDINGS_OP_PREFERENCES:
        return NULL;
    default:
        abort();
    }
}
