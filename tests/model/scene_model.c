/* SPDX-License-Identifier: MIT */
/* Scenes and their messages; see scene.c. */
#include "model.h"

#include <stdlib.h>

void model_drop_messages(struct model_scene *scene)
{
    for (size_t i = 0; i < scene->n_messages; i++)
        model_drop(scene->messages[i].text);
    free(scene->messages);
    scene->messages = NULL;
    scene->n_messages = 0;
}

struct model_scene *model_scene(const struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->stories.n_scenes; i++) {
        if (model->stories.scenes[i].id == id)
            return &model->stories.scenes[i];
    }
    return NULL;
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

static struct tidings_scene show_scene(const struct model_scene *scene)
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
    model_drop_messages(scene);
    scene->messages = messages;
    scene->n_messages = n;
}

bool write_scene_publish(struct model *model, const struct model_call *call,
                         struct model_answer *answer)
{
    int64_t t = call->t;
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
    model_tell(model, stories->n_scenes - 1, story->id);
    scene_event(model, TIDINGS_EVENT_SCENE_PUBLISHED, t, op->user_id, scene, +1);
    answer->story.scene = show_scene(scene);
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

bool write_scene_edit(struct model *model, const struct model_call *call,
                      struct model_answer *answer)
{
    int64_t t = call->t;
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
    answer->story.scene = show_scene(scene);
    return true;
}

bool write_scene_delete(struct model *model, const struct model_call *call,
                        struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
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

void read_scenes(struct model *model, const struct model_call *call, struct model_answer *answer)
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
        answer->story.scenes[answer->n] = show_scene(scene);
        answer->story.scenes[answer->n++].messages = NULL;
    }
}

void read_scene(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    const struct model_scene *found = model_living_scene(model, op->u.scene_id.scene_id, answer);

    if (found != NULL)
        answer->story.scene = show_scene(found);
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

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

const char *check_scene(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    struct tidings_text title = op->u.scene.title;

    if (op->kind == TIDINGS_OP_SCENE_PUBLISH && !model_id_ok(op->u.scene.story_id))
        return "story_id";
    if (op->kind == TIDINGS_OP_SCENE_EDIT && !model_id_ok(op->u.scene.scene_id))
        return "scene_id";
    if (op->kind == TIDINGS_OP_SCENE_EDIT && title.p == NULL) {
        if (op->u.scene.messages == NULL)
            return "title"; /* nothing is to be changed */
    } else if (!text_ok(title, model->settings.title_max)) {
        return "title";
    }
    return check_messages(model, op);
}

const char *check_scene_id(const struct model *model, const struct model_call *call)
{
    (void)model;
    return !model_id_ok(call->op->u.scene_id.scene_id) ? "scene_id" : NULL;
}

const char *model_check_story_page(const struct model *model, const struct model_call *call)
{
    if (!model_id_ok(call->op->u.scenes.story_id))
        return "story_id";
    return model_check_page(model, &call->op->u.scenes.page);
}
