/* SPDX-License-Identifier: MIT */
#include "run_story.h"

#include "model.h"
#include "render.h"
#include "run.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void run_story_open(struct run_story *story, const struct recording *recording)
{
    memset(story, 0, sizeof *story);
    story->made_room = recording->room + 1;
    story->made = calloc(story->made_room, sizeof *story->made);
    story->maker_of = calloc(story->made_room, sizeof *story->maker_of);
}

void run_story_close(struct run_story *story)
{
    for (size_t i = 0; i < CLIENTS; i++)
        free(story->clients[i].rows);
    free(story->made);
    free(story->maker_of);
}

/* ---- Names --------------------------------------------------------------------------------- */

bool run_story_id(const struct run_story *story, const struct ref *ref, uint64_t *id)
{
    uint64_t maker = ref->kind == REF_MESSAGE ? ref->value / MESSAGES_MOST : ref->value;
    const struct made *made = &story->made[maker < story->made_room ? maker : 0];

    if (ref->kind == REF_MESSAGE) {
        if (ref->value % MESSAGES_MOST >= made->n_messages)
            return false;
        *id = made->message_ids[ref->value % MESSAGES_MOST];
    } else {
        *id = made->scene_id;
    }
    return maker != 0 && maker < story->made_room && *id != 0;
}

struct ref run_story_message(const struct run_story *story, uint64_t id)
{
    for (size_t i = 1; i < story->made_room && i <= story->n_made; i++) {
        for (size_t j = 0; j < story->made[i].n_messages; j++) {
            if (story->made[i].message_ids[j] == id)
                return (struct ref){REF_MESSAGE, 0, i * MESSAGES_MOST + j};
        }
    }
    return (struct ref){REF_NUMBER, 0, TIDINGS_ID_MAX};
}

static struct client *find_client(struct run *run, const struct step *step)
{
    struct client *client = &run->story.clients[step->client % CLIENTS];

    if (client->number == step->client && client->user_id == step->op.user_id)
        return client;
    free(client->rows);
    *client = (struct client){.number = step->client, .user_id = step->op.user_id};
    return client;
}

static void resolve_scene(struct run *run, const struct step *step, struct tidings_op *op)
{
    struct run_story *story = &run->story;

    op->u.scene.story_id = run_ref_id(run, &step->post);
    op->u.scene.scene_id = run_ref_id(run, &step->scene);
    if (op->u.scene.messages == NULL || op->u.scene.n_messages > MESSAGES_MOST)
        return;
    for (size_t i = 0; i < op->u.scene.n_messages; i++) {
        story->messages[i] = op->u.scene.messages[i];
        if (step->messages != NULL)
            story->messages[i].id = run_ref_id(run, &step->messages[i]);
    }
    op->u.scene.messages = story->messages;
}

void run_story_resolve(struct run *run, const struct step *step, struct tidings_op *op)
{
    switch (op->kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
        resolve_scene(run, step, op);
        break;
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENE:
        op->u.scene_id.scene_id = run_ref_id(run, &step->scene);
        break;
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SUBSCRIBERS:
        op->u.scenes.story_id = run_ref_id(run, &step->post);
        break;
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
        op->u.reading.story_id = run_ref_id(run, &step->post);
        op->u.reading.scene_id = run_ref_id(run, &step->scene);
        op->u.reading.message_id = run_ref_id(run, &step->message);
        break;
    case TIDINGS_OP_READING:
        if (step->client != 0)
            op->u.readings.since = find_client(run, step)->version;
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        op->u.post.post_id = run_ref_id(run, &step->post);
        break;
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        op->u.among.author_id = run_ref_id(run, &step->post);
        break;
    default:
        break;
    }
}

/* ---- Ids that the engine makes ------------------------------------------------------------- */

/* Of an operation that is to be made once there is only a line; the scene itself tells more. */
static bool look_at_scene(struct run *run, const struct tidings_op *op, struct model_call *call)
{
    struct tidings_op look = {
        .kind = TIDINGS_OP_SCENE, .user_id = op->user_id, .now_ms = op->now_ms};
    struct tidings_answer answer;
    struct run_story *story = &run->story;

    look.u.scene_id.scene_id = render_id(run->answer.stored, "scene ");
    if (look.u.scene_id.scene_id == 0)
        return true;
    tidings_answer_init(&answer);
    if (tidings_run(run->engine, &look, &answer) == TIDINGS_OK) {
        call->new_scene_id = answer.u.scene.id;
        for (size_t i = 0; i < answer.u.scene.n_messages && i < MESSAGES_MOST; i++)
            story->new_ids[story->n_new_ids++] = answer.u.scene.messages[i].id;
    }
    tidings_answer_release(&answer);
    return op->kind != TIDINGS_OP_SCENE_PUBLISH ||
           model_scene(&run->model, look.u.scene_id.scene_id) != NULL ||
           run_check_new_id(run, call->new_scene_id, "scene");
}

bool run_story_learn(struct run *run, const struct tidings_op *op, struct model_call *call)
{
    struct run_story *story = &run->story;
    const struct tidings_scene *scene = &run->answer.u.scene;

    if (op->kind != TIDINGS_OP_SCENE_PUBLISH && op->kind != TIDINGS_OP_SCENE_EDIT)
        return true;
    story->n_new_ids = 0;
    call->new_message_ids = story->new_ids;
    if (run->answer.err != TIDINGS_OK)
        return true;
    if (op->once != NULL) {
        if (!look_at_scene(run, op, call))
            return false;
        call->n_new_message_ids = story->n_new_ids;
        return true;
    }
    call->new_scene_id = scene->id;
    if (op->kind == TIDINGS_OP_SCENE_PUBLISH && !run_check_new_id(run, scene->id, "scene"))
        return false;
    for (size_t i = 0; i < scene->n_messages && i < MESSAGES_MOST; i++) {
        bool is_new = i < op->u.scene.n_messages && op->u.scene.messages != NULL &&
                      op->u.scene.messages[i].id == 0;

        if (is_new && !run_check_new_id(run, scene->messages[i].id, "message"))
            return false;
        story->new_ids[story->n_new_ids++] = scene->messages[i].id;
    }
    call->n_new_message_ids = story->n_new_ids;
    return true;
}

static void remember_scene(struct run *run, const struct step *step, uint64_t scene_id)
{
    struct run_story *story = &run->story;
    struct made *made = &story->made[step->maker];

    for (size_t i = 0; i < story->n_new_ids; i++) {
        if (story->new_ids[i] > run->model.newest_id)
            run->model.newest_id = story->new_ids[i];
    }
    if (scene_id > run->model.newest_id)
        run->model.newest_id = scene_id;
    if (step->maker > story->n_made)
        story->n_made = step->maker;
    made->n_messages = story->n_new_ids;
    memcpy(made->message_ids, story->new_ids, sizeof made->message_ids);
    /* The model knows whether a scene was made, or only the answer to an earlier one repeated. */
    if (run->model.stories.n_scenes == story->n_scenes)
        return;
    made->scene_id = scene_id;
    story->maker_of[story->n_scenes++] = step->maker;
}

/* ---- Clients ------------------------------------------------------------------------------- */

static bool is_gone(const struct tidings_answer *answer, uint64_t story_id)
{
    for (size_t i = 0; i < answer->u.readings.n; i++) {
        if (answer->u.readings.rows[i].story_id == story_id)
            return true;
    }
    for (size_t i = 0; i < answer->u.readings.n_deleted; i++) {
        if (answer->u.readings.deleted[i] == story_id)
            return true;
    }
    return false;
}

/* What a device does with a delta: what is named goes, and what is given comes. */
static void apply_delta(struct client *client, const struct tidings_answer *answer)
{
    size_t n = 0;

    for (size_t i = 0; i < client->n; i++) {
        if (!is_gone(answer, client->rows[i].story_id))
            client->rows[n++] = client->rows[i];
    }
    client->rows = model_room(client->rows, n + answer->u.readings.n, sizeof *client->rows);
    for (size_t i = 0; i < answer->u.readings.n; i++)
        client->rows[n++] = answer->u.readings.rows[i];
    client->n = n;
    client->version = answer->u.readings.version;
}

/* A delta has nothing that was the same when the client last had everything. */
static bool delta_is_news(struct run *run, const struct client *client)
{
    const struct model_reader *reader = model_reader(&run->model, client->user_id);
    const struct tidings_answer *answer = &run->answer;

    if (client->turn == 0)
        return true;
    for (size_t i = 0; i < answer->u.readings.n; i++) {
        uint64_t id = answer->u.readings.rows[i].story_id;

        if (model_changed_at(reader, id) <= client->turn)
            return run_fail(run, "the delta gives story %" PRIu64 ", which did not change", id);
    }
    for (size_t i = 0; i < answer->u.readings.n_deleted; i++) {
        uint64_t id = answer->u.readings.deleted[i];

        if (model_changed_at(reader, id) <= client->turn)
            return run_fail(run, "the delta takes story %" PRIu64 ", which did not change", id);
    }
    return true;
}

static bool client_has_all(struct run *run, const struct client *client)
{
    const struct model_reader *reader = model_reader(&run->model, client->user_id);
    size_t shown = 0;

    for (size_t i = 0; i < reader->n_changes; i++) {
        struct tidings_reading record;

        shown += model_stopped_at(reader, reader->changes[i].story_id, &record);
    }
    if (client->n != shown)
        return run_fail(run, "the client of user %" PRIu64 " has %zu records, there are %zu",
                        client->user_id, client->n, shown);
    for (size_t i = 0; i < client->n; i++) {
        const struct tidings_reading *has = &client->rows[i];
        struct tidings_reading is;

        model_stopped_at(reader, has->story_id, &is);
        if (has->scene_id != is.scene_id || has->message_id != is.message_id ||
            has->modified_at != is.modified_at)
            return run_fail(run, "the client of user %" PRIu64 " is wrong about story %" PRIu64,
                            client->user_id, has->story_id);
    }
    return true;
}

/* The answer to a delta is in run->answer. */
static bool client_hears(struct run *run, struct client *client)
{
    if (!delta_is_news(run, client))
        return false;
    apply_delta(client, &run->answer);
    client->turn = run->answer.u.readings.more ? 0 : run->model.turn;
    return run->answer.u.readings.more || client_has_all(run, client);
}

bool run_story_catch_up(struct run *run, struct client *client, int64_t now_ms, uint32_t limit)
{
    struct tidings_op op = {
        .kind = TIDINGS_OP_READING, .user_id = client->user_id, .now_ms = now_ms};

    op.u.readings.delta = true;
    op.u.readings.page.limit = limit;
    do {
        op.u.readings.since = client->version;
        if (!run_op(run, &op, (struct tidings_cursor){0, 0}) || !client_hears(run, client))
            return false;
    } while (run->answer.u.readings.more);
    return true;
}

bool run_story_remember(struct run *run, const struct step *step, const struct tidings_op *op)
{
    switch (op->kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
        remember_scene(run, step,
                       op->once != NULL ? render_id(run->answer.stored, "scene ")
                                        : run->answer.u.scene.id);
        return true;
    case TIDINGS_OP_SCENE_EDIT:
        remember_scene(run, step, 0);
        return true;
    case TIDINGS_OP_READING:
        return step->client == 0 || client_hears(run, find_client(run, step));
    default:
        return true;
    }
}
