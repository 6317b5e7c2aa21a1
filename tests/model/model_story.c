/* SPDX-License-Identifier: MIT */
/* Stories in the model: what changes them; see model_story.h. */
#include "model_story.h"

#include "model.h"

#include <stdlib.h>
#include <string.h>

/* ---- Tables -------------------------------------------------------------------------------- */

static void drop_messages(struct model_scene *scene)
{
    for (size_t i = 0; i < scene->n_messages; i++)
        model_drop(scene->messages[i].text);
    free(scene->messages);
    scene->messages = NULL;
    scene->n_messages = 0;
}

void model_story_release(struct model_stories *stories)
{
    for (size_t i = 0; i < stories->n_scenes; i++) {
        model_drop(stories->scenes[i].title);
        drop_messages(&stories->scenes[i]);
        free(stories->scenes[i].given);
    }
    for (size_t i = 0; i < stories->n_readers; i++) {
        free(stories->readers[i].visits);
        free(stories->readers[i].marks);
        free(stories->readers[i].changes);
        free(stories->readers[i].told);
    }
    free(stories->scenes);
    free(stories->subscriptions);
    free(stories->readers);
}

void model_story_answer_release(struct model_story_answer *answer)
{
    free(answer->scenes);
    free(answer->readings);
    free(answer->subscriptions);
    free(answer->notifications);
}

struct model_scene *model_scene(const struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->stories.n_scenes; i++) {
        if (model->stories.scenes[i].id == id)
            return &model->stories.scenes[i];
    }
    return NULL;
}

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

bool model_subscribes(const struct model *model, uint64_t user_id, uint64_t story_id)
{
    for (size_t i = 0; i < model->stories.n_subscriptions; i++) {
        const struct model_subscription *it = &model->stories.subscriptions[i];

        if (it->user_id == user_id && it->story_id == story_id)
            return true;
    }
    return false;
}

bool model_wants_to_know(struct model *model, uint64_t user_id, uint64_t story_id)
{
    return model_subscribes(model, user_id, story_id) && !model_reader(model, user_id)->quiet;
}

struct model_post *model_living_story(const struct model *model, uint64_t id,
                                      struct model_answer *answer)
{
    struct model_post *story = model_post(model, id);

    if (story == NULL || story->kind != TIDINGS_STORY) {
        answer->err = TIDINGS_NOT_FOUND;
        return NULL;
    }
    if (story->deleted) {
        answer->err = TIDINGS_DELETED;
        answer->title = story->title;
        return NULL;
    }
    return story;
}

struct model_scene *model_living_scene(const struct model *model, uint64_t id,
                                       struct model_answer *answer)
{
    struct model_scene *scene = model_scene(model, id);

    if (scene == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
        return NULL;
    }
    if (model_living_story(model, scene->story_id, answer) == NULL)
        return NULL;
    if (scene->deleted) {
        answer->err = TIDINGS_DELETED;
        answer->title = scene->title;
        return NULL;
    }
    return scene;
}

struct tidings_scene model_show_scene(const struct model_scene *scene)
{
    return (struct tidings_scene){
        .id = scene->id,
        .story_id = scene->story_id,
        .author_id = scene->author_id,
        .number = scene->number,
        .title = scene->title,
        .messages = scene->messages,
        .n_messages = scene->n_messages,
        .created_at = scene->created_at,
        .edited_at = scene->edited_at,
    };
}

static void scene_event(struct model *model, enum tidings_event_type type, int64_t t,
                        uint64_t actor, const struct model_scene *scene, int64_t delta)
{
    model_add_event(model, (struct tidings_event){.type = type,
                                                  .happened_at = t,
                                                  .actor_user_id = actor,
                                                  .target_id = scene->id,
                                                  .author_id = scene->author_id,
                                                  .delta = delta,
                                                  .post_id = scene->story_id});
}

/* ---- Scenes -------------------------------------------------------------------------------- */

/* The messages as the operation gives them, with the ids that the engine made for new ones. */
static void put_messages(struct model_scene *scene, const struct model_call *call)
{
    size_t n = call->op->u.scene.n_messages;
    struct tidings_message *messages = model_room(NULL, n, sizeof *messages);

    scene->given = model_room(scene->given, scene->n_given + n, sizeof *scene->given);
    for (size_t i = 0; i < n; i++) {
        messages[i].id = call->op->u.scene.messages[i].id;
        if (messages[i].id == 0 && i < call->n_new_message_ids) {
            messages[i].id = call->new_message_ids[i];
            scene->given[scene->n_given++] = messages[i].id;
        }
        messages[i].text = model_copy(call->op->u.scene.messages[i].text);
    }
    drop_messages(scene);
    scene->messages = messages;
    scene->n_messages = n;
}

/* Everybody who wants to know at this moment. */
static void tell(struct model *model, size_t scene, uint64_t story_id)
{
    for (size_t i = 0; i < model->stories.n_subscriptions; i++) {
        const struct model_subscription *it = &model->stories.subscriptions[i];
        struct model_reader *reader = model_reader(model, it->user_id);

        if (it->story_id != story_id || reader->quiet)
            continue;
        reader->told = model_room(reader->told, reader->n_told + 1, sizeof *reader->told);
        reader->told[reader->n_told++] = (struct model_told){scene, false};
    }
}

static bool scene_publish(struct model *model, const struct model_call *call, int64_t t,
                          struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    const struct model_post *story = model_living_story(model, op->u.scene.story_id, answer);
    struct model_stories *stories = &model->stories;
    struct model_scene *scene;
    uint32_t before = 0;

    if (story == NULL)
        return false;
    if (story->author_id != op->user_id) {
        answer->err = TIDINGS_FORBIDDEN;
        return false;
    }
    for (size_t i = 0; i < stories->n_scenes; i++)
        before += stories->scenes[i].story_id == story->id;
    if (before >= model->settings.scenes_max) {
        answer->err = TIDINGS_STORY_LIMIT;
        return false;
    }
    stories->scenes = model_room(stories->scenes, stories->n_scenes + 1, sizeof *stories->scenes);
    scene = &stories->scenes[stories->n_scenes++];
    *scene = (struct model_scene){
        .id = call->new_scene_id,
        .story_id = story->id,
        .author_id = story->author_id,
        .number = before + 1,
        .title = model_copy(op->u.scene.title),
        .created_at = t,
    };
    put_messages(scene, call);
    tell(model, stories->n_scenes - 1, story->id);
    scene_event(model, TIDINGS_EVENT_SCENE_PUBLISHED, t, op->user_id, scene, +1);
    answer->story.scene = model_show_scene(scene);
    return true;
}

/* Every id that is given is a message of the scene, and comes once. */
static bool messages_known(const struct model_scene *scene, const struct tidings_op *op)
{
    const struct tidings_message *given = op->u.scene.messages;

    for (size_t i = 0; i < op->u.scene.n_messages; i++) {
        bool known = given[i].id == 0;

        for (size_t j = 0; j < scene->n_messages; j++)
            known = known || scene->messages[j].id == given[i].id;
        for (size_t j = 0; j < i; j++)
            known = known && (given[i].id == 0 || given[j].id != given[i].id);
        if (!known)
            return false;
    }
    return true;
}

static bool messages_differ(const struct model_scene *scene, const struct tidings_op *op)
{
    if (op->u.scene.n_messages != scene->n_messages)
        return true;
    for (size_t i = 0; i < scene->n_messages; i++) {
        if (op->u.scene.messages[i].id != scene->messages[i].id ||
            !model_same_text(op->u.scene.messages[i].text, scene->messages[i].text))
            return true;
    }
    return false;
}

static bool scene_edit(struct model *model, const struct model_call *call, int64_t t,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_scene *scene = model_living_scene(model, op->u.scene.scene_id, answer);
    bool changed = false;

    if (scene == NULL)
        return false;
    if (scene->author_id != op->user_id) {
        answer->err = TIDINGS_FORBIDDEN;
        return false;
    }
    if (op->u.scene.messages != NULL && !messages_known(scene, op)) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    if (op->u.scene.title.p != NULL && !model_same_text(scene->title, op->u.scene.title)) {
        model_set_text(&scene->title, op->u.scene.title);
        changed = true;
    }
    if (op->u.scene.messages != NULL && messages_differ(scene, op)) {
        put_messages(scene, call);
        changed = true;
    }
    if (changed) {
        scene->edited_at = t;
        scene_event(model, TIDINGS_EVENT_SCENE_EDITED, t, op->user_id, scene, 0);
    }
    answer->story.scene = model_show_scene(scene);
    return true;
}

static bool scene_delete(struct model *model, const struct tidings_op *op, int64_t t,
                         struct model_answer *answer)
{
    struct model_scene *scene = model_living_scene(model, op->u.scene_id.scene_id, answer);

    if (scene == NULL)
        return false;
    if (scene->author_id != op->user_id && op->role != TIDINGS_ROLE_ADMIN) {
        answer->err = TIDINGS_FORBIDDEN;
        return false;
    }
    scene->deleted = true;
    answer->deleted_author_id = scene->author_id;
    answer->deleted_story_id = scene->story_id;
    scene_event(model, TIDINGS_EVENT_SCENE_DELETED, t, op->user_id, scene, -1);
    return true;
}

/* ---- Who is told --------------------------------------------------------------------------- */

static uint64_t count_subscriptions(const struct model *model, uint64_t user_id)
{
    uint64_t n = 0;

    for (size_t i = 0; i < model->stories.n_subscriptions; i++)
        n += model->stories.subscriptions[i].user_id == user_id;
    return n;
}

static void subscription_event(struct model *model, enum tidings_event_type type, int64_t t,
                               uint64_t actor, const struct model_post *story, int64_t delta)
{
    model_add_event(model, (struct tidings_event){.type = type,
                                                  .happened_at = t,
                                                  .actor_user_id = actor,
                                                  .target_id = story->id,
                                                  .author_id = story->author_id,
                                                  .delta = delta});
}

static bool subscribe(struct model *model, const struct tidings_op *op, int64_t t,
                      struct model_answer *answer)
{
    const struct model_post *story = model_living_story(model, op->u.post.post_id, answer);
    struct model_stories *stories = &model->stories;

    if (story == NULL)
        return false;
    answer->changed = !model_subscribes(model, op->user_id, story->id);
    if (answer->changed &&
        count_subscriptions(model, op->user_id) >= model->settings.subscriptions_max) {
        answer->err = TIDINGS_SUBSCRIPTION_LIMIT;
        return false;
    }
    if (answer->changed) {
        stories->subscriptions = model_room(stories->subscriptions, stories->n_subscriptions + 1,
                                            sizeof *stories->subscriptions);
        stories->subscriptions[stories->n_subscriptions++] =
            (struct model_subscription){op->user_id, story->id, t, model->turn};
        subscription_event(model, TIDINGS_EVENT_SUBSCRIPTION_CREATED, t, op->user_id, story, +1);
    }
    answer->story.subscribed = true;
    return true;
}

static bool unsubscribe(struct model *model, const struct tidings_op *op, int64_t t,
                        struct model_answer *answer)
{
    const struct model_post *story = model_post(model, op->u.post.post_id);
    struct model_stories *stories = &model->stories;
    size_t n = 0;

    if (story == NULL || story->kind != TIDINGS_STORY) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    for (size_t i = 0; i < stories->n_subscriptions; i++) {
        const struct model_subscription *it = &stories->subscriptions[i];

        if (it->user_id != op->user_id || it->story_id != story->id)
            stories->subscriptions[n++] = *it;
    }
    answer->changed = n != stories->n_subscriptions;
    stories->n_subscriptions = n;
    if (answer->changed)
        subscription_event(model, TIDINGS_EVENT_SUBSCRIPTION_DELETED, t, op->user_id, story, -1);
    return true;
}

static bool preferences_set(struct model *model, const struct tidings_op *op, int64_t t,
                            struct model_answer *answer)
{
    struct model_reader *reader = model_reader(model, op->user_id);
    bool quiet = !op->u.preferences.story_updates;
    struct model_bucket bucket = model_follow_bucket(model, op);

    if (reader->quiet != quiet) {
        if (!model_bucket_has(&bucket, op, t, answer))
            return false;
        model_bucket_take(&bucket, op, t);
        model_add_event(model, (struct tidings_event){.type = TIDINGS_EVENT_PREFERENCES_CHANGED,
                                                      .happened_at = t,
                                                      .actor_user_id = op->user_id,
                                                      .target_id = op->user_id});
    }
    reader->quiet = quiet;
    answer->story.story_updates = !quiet;
    return true;
}

/* ---- Notices ------------------------------------------------------------------------------- */

bool model_notice_stands(const struct model *model, const struct model_told *told)
{
    const struct model_scene *scene = &model->stories.scenes[told->scene];

    return !scene->deleted && !model_post(model, scene->story_id)->deleted;
}

uint64_t model_notifications_unread(struct model *model, uint64_t user_id)
{
    const struct model_reader *reader = model_reader(model, user_id);
    uint64_t n = 0;

    for (size_t i = 0; i < reader->n_told; i++)
        n += !reader->told[i].is_read && model_notice_stands(model, &reader->told[i]);
    return n;
}

static struct model_told *find_told(const struct model *model, struct model_reader *reader,
                                    uint64_t scene_id)
{
    for (size_t i = 0; i < reader->n_told; i++) {
        if (model->stories.scenes[reader->told[i].scene].id == scene_id)
            return &reader->told[i];
    }
    return NULL;
}

static bool mark_told(const struct model *model, struct model_told *told)
{
    if (told->is_read || !model_notice_stands(model, told))
        return false;
    told->is_read = true;
    return true;
}

static bool notifications_mark(struct model *model, const struct model_call *call,
                               struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_reader *reader = model_reader(model, op->user_id);
    const uint64_t *ids = op->u.mark.post_ids;

    for (size_t i = 0; ids != NULL && i < op->u.mark.n_post_ids; i++) {
        if (find_told(model, reader, ids[i]) == NULL) {
            answer->err = TIDINGS_NOT_FOUND;
            return false;
        }
    }
    for (size_t i = 0; ids != NULL && i < op->u.mark.n_post_ids; i++)
        answer->marked += mark_told(model, find_told(model, reader, ids[i]));
    for (size_t i = 0; ids == NULL && i < reader->n_told; i++) {
        if (reader->told[i].scene < call->up_to.scenes)
            answer->marked += mark_told(model, &reader->told[i]);
    }
    answer->story.unread = model_notifications_unread(model, op->user_id);
    return true;
}

bool model_story_write(struct model *model, const struct model_call *call, int64_t t,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;

    switch (op->kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
        return scene_publish(model, call, t, answer);
    case TIDINGS_OP_SCENE_EDIT:
        return scene_edit(model, call, t, answer);
    case TIDINGS_OP_SCENE_DELETE:
        return scene_delete(model, op, t, answer);
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
        return model_reading_write(model, op, t, answer);
    case TIDINGS_OP_SUBSCRIBE:
        return subscribe(model, op, t, answer);
    case TIDINGS_OP_UNSUBSCRIBE:
        return unsubscribe(model, op, t, answer);
    case TIDINGS_OP_PREFERENCES_SET:
        return preferences_set(model, op, t, answer);
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        return notifications_mark(model, call, answer);
    default:
        abort();
    }
}
