/* SPDX-License-Identifier: MIT */
/* Steps about stories: few stories with many scenes, subscribers that come and go between two of
 * them, and devices whose clocks are off and that were offline for a while. */
#include "generate.h"

#include <string.h>

/* What the clocks of a reader's devices are off by. */
static const int64_t skews_ms[] = {0, 0, 0, -40, -5000, -3600000, -3 * 86400000, 1500, 7200000};

/* ---- Stories and scenes -------------------------------------------------------------------- */

/* A story's index among the posts, n_posts if there is none. Old stories that are still there are
 * favoured, so that some get long, and one more than a word has bits. */
static size_t some_story(struct generator *g, const struct model *model)
{
    size_t living[12];
    size_t n = 0;
    size_t pick = model->n_posts;
    uint64_t seen = 0;

    for (size_t i = 0; i < model->n_posts; i++) {
        if (model->posts[i].kind != TIDINGS_STORY)
            continue;
        if (!model->posts[i].deleted && n < sizeof living / sizeof living[0])
            living[n++] = i;
        if (rng_below(&g->rng, ++seen) == 0)
            pick = i;
    }
    if (n == 0 || rng_percent(&g->rng, 10))
        return pick;
    return living[rng_percent(&g->rng, 30) ? 0 : rng_below(&g->rng, n)];
}

/* Names a post of the model; now and then one that is no story or not there. */
static struct ref story_ref(struct generator *g, const struct run *run, size_t story)
{
    if (story < run->model.n_posts && !rng_percent(&g->rng, 3))
        return (struct ref){REF_POST, rng_percent(&g->rng, 1) ? 1 : 0, run->publish_of[story]};
    return (struct ref){REF_POST, 0, rng_below(&g->rng, g->recording->n_publishes + 2)};
}

/* A scene's index; n_scenes if there is none. */
static size_t some_scene(struct generator *g, const struct model *model)
{
    size_t n = model->stories.n_scenes;
    size_t span = rng_percent(&g->rng, 70) && n > 25 ? 25 : n;

    return n > 0 ? n - 1 - rng_below(&g->rng, span) : 0;
}

/* A scene of this story, if it has any. */
static size_t scene_of(struct generator *g, const struct model *model, uint64_t story_id)
{
    size_t pick = model->stories.n_scenes;
    uint64_t seen = 0;

    for (size_t i = 0; i < model->stories.n_scenes; i++) {
        if (model->stories.scenes[i].story_id == story_id && rng_below(&g->rng, ++seen) == 0)
            pick = i;
    }
    return pick;
}

static struct ref scene_ref(struct generator *g, const struct run *run, size_t scene)
{
    if (scene < run->model.stories.n_scenes && !rng_percent(&g->rng, 3))
        return (struct ref){REF_SCENE, rng_percent(&g->rng, 1) ? 1 : 0, run->story.maker_of[scene]};
    return (struct ref){REF_SCENE, 0, g->recording->n_makers + 1};
}

/* Whoever may do this to the story, mostly. */
static void as_author(struct generator *g, struct step *step, uint64_t author_id)
{
    if (rng_percent(&g->rng, 93))
        step->op.user_id = author_id;
}

static struct tidings_text keep_text(struct generator *g, struct tidings_text text)
{
    char *p = recording_room(g->recording, text.n + 1);

    memcpy(p, text.p, text.n + 1);
    return (struct tidings_text){p, text.n};
}

static struct tidings_text message_text(struct generator *g)
{
    uint64_t most = g->recording->settings.message_max;

    if (rng_below(&g->rng, 100) == 0)
        return generate_characters(g, most < 100 ? most : 100);
    return rng_percent(&g->rng, 30)
               ? generate_body(g, rng_between(&g->rng, 1, most < 40 ? most : 40))
               : generate_characters(g, rng_between(&g->rng, 1, most < 6 ? most : 6));
}

/* So many that a millisecond's ids suffice for them: see generate_settings. */
static size_t messages_most(const struct generator *g)
{
    uint64_t most = g->recording->settings.messages_max;

    return most < 9 ? (size_t)most : 9;
}

static void publish_arguments(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_op *op = &step->op;
    size_t story = some_story(g, &run->model);
    size_t n = rng_percent(&g->rng, 10) ? messages_most(g) : rng_below(&g->rng, 3);
    struct tidings_message *messages;

    if (n > messages_most(g))
        n = messages_most(g);
    step->post = story_ref(g, run, story);
    step->maker = ++g->recording->n_makers;
    if (story < run->model.n_posts)
        as_author(g, step, run->model.posts[story].author_id);
    op->u.scene.title = generate_title(g);
    op->u.scene.n_messages = n;
    if (n == 0 && rng_percent(&g->rng, 50))
        return;
    messages = recording_room(g->recording, (n + 1) * sizeof *messages);
    memset(messages, 0, (n + 1) * sizeof *messages);
    for (size_t i = 0; i < n; i++)
        messages[i].text = message_text(g);
    op->u.scene.messages = messages;
}

/* The list as it is, with some left out, some put in, some moved and some written anew; or the
 * same again. */
static void edit_messages(struct generator *g, struct run *run, struct step *step,
                          const struct model_scene *scene)
{
    size_t room = scene->n_messages + messages_most(g) + 1;
    struct tidings_message *messages = recording_room(g->recording, room * sizeof *messages);
    bool same = rng_percent(&g->rng, 15);
    size_t n = 0;

    memset(messages, 0, room * sizeof *messages);
    step->messages = recording_room(g->recording, room * sizeof *step->messages);
    for (size_t i = 0; i < scene->n_messages; i++) {
        if (!same && rng_percent(&g->rng, 20))
            continue;
        step->messages[n] = run_story_message(&run->story, scene->messages[i].id);
        messages[n++].text = same || rng_percent(&g->rng, 60)
                                 ? keep_text(g, scene->messages[i].text)
                                 : message_text(g);
    }
    while (!same && n < messages_most(g) && rng_percent(&g->rng, 50)) {
        step->messages[n] = (struct ref){0};
        messages[n++].text = message_text(g);
    }
    for (size_t i = 0; !same && i + 1 < n; i++) {
        size_t j = rng_between(&g->rng, i, n - 1);
        struct ref ref = step->messages[i];

        if (rng_percent(&g->rng, 70))
            continue;
        step->messages[i] = step->messages[j];
        step->messages[j] = ref;
    }
    /* Another scene's message, or one of this scene's twice. */
    if (n > 0 && rng_percent(&g->rng, 6))
        step->messages[rng_below(&g->rng, n)] = (struct ref){
            REF_MESSAGE, 0, rng_below(&g->rng, (step->maker + 1) * (uint64_t)MESSAGES_MOST)};
    if (n > 1 && rng_percent(&g->rng, 4))
        step->messages[0] = step->messages[n - 1];
    step->op.u.scene.messages = messages;
    step->op.u.scene.n_messages = n;
}

static void edit_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model_stories *stories = &run->model.stories;
    size_t scene = some_scene(g, &run->model);

    step->maker = ++g->recording->n_makers;
    step->scene = scene_ref(g, run, scene);
    if (scene < stories->n_scenes) {
        as_author(g, step, stories->scenes[scene].author_id);
        if (rng_percent(&g->rng, 70))
            edit_messages(g, run, step, &stories->scenes[scene]);
        if (rng_percent(&g->rng, 20))
            step->op.u.scene.title = keep_text(g, stories->scenes[scene].title);
    }
    if (rng_percent(&g->rng, 30) ||
        (step->op.u.scene.messages == NULL && step->op.u.scene.title.p == NULL))
        step->op.u.scene.title = generate_title(g);
}

static void scene_arguments(struct generator *g, struct run *run, struct step *step)
{
    size_t scene = some_scene(g, &run->model);

    step->scene = scene_ref(g, run, scene);
    if (step->op.kind == TIDINGS_OP_SCENE || scene >= run->model.stories.n_scenes)
        return;
    if (rng_percent(&g->rng, 20))
        step->op.role = TIDINGS_ROLE_ADMIN;
    else
        as_author(g, step, run->model.stories.scenes[scene].author_id);
}

/* ---- Devices ------------------------------------------------------------------------------- */

/* A time that the reader's devices have sent before: just then, just before or just after. */
static int64_t time_again(struct generator *g, const struct model_reader *reader)
{
    size_t n = reader->n_visits + reader->n_marks;
    size_t pick = n > 0 ? rng_below(&g->rng, n) : 0;
    int64_t at = n == 0                    ? g->now_ms
                 : pick < reader->n_visits ? reader->visits[pick].at
                                           : reader->marks[pick - reader->n_visits].at;

    return at + (int64_t)rng_below(&g->rng, 3) - 1;
}

static int64_t device_time(struct generator *g, struct run *run, uint64_t user_id)
{
    int64_t skew = skews_ms[rng_below(&g->rng, sizeof skews_ms / sizeof skews_ms[0])];
    int64_t at = g->now_ms + skew;

    if (rng_percent(&g->rng, 12))
        return 0;
    if (rng_percent(&g->rng, 20))
        at = time_again(g, model_reader(&run->model, user_id));
    else if (rng_percent(&g->rng, 30))
        at -= (int64_t)rng_below(&g->rng, 100000);
    if (rng_below(&g->rng, 100) == 0)
        at = rng_percent(&g->rng, 50) ? 1 : INT64_MAX;
    return at > 0 ? at : 1;
}

/* A story the reader has been to, or any. */
static size_t story_of_reader(struct generator *g, struct run *run, uint64_t user_id)
{
    const struct model_reader *reader = model_reader(&run->model, user_id);
    size_t pick = reader->n_changes > 0 ? rng_below(&g->rng, reader->n_changes) : 0;

    if (reader->n_changes > 0 && rng_percent(&g->rng, 60))
        return (size_t)(model_post(&run->model, reader->changes[pick].story_id) - run->model.posts);
    return some_story(g, &run->model);
}

/* One of the scene's messages, or one that it does not have: another scene's, or an id close by. */
static struct ref message_of(struct generator *g, struct run *run, const struct model_scene *scene)
{
    static const int64_t close_by[] = {1, 16, 32, 160};
    struct ref ref = {0};

    if (scene->n_given > 0 && rng_percent(&g->rng, 80))
        ref = run_story_message(&run->story, scene->given[rng_below(&g->rng, scene->n_given)]);
    else if (rng_percent(&g->rng, 10))
        ref = (struct ref){REF_MESSAGE, 0,
                           rng_below(&g->rng, (g->recording->n_makers + 1) * MESSAGES_MOST)};
    if (ref.kind == REF_MESSAGE && rng_percent(&g->rng, 5))
        ref.delta = close_by[rng_below(&g->rng, sizeof close_by / sizeof close_by[0])];
    return ref;
}

/* The same moment as an earlier position, in the same scene or another, so that the place decides. */
static bool tie_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model_reader *reader = model_reader(&run->model, step->op.user_id);
    const struct model_scene *scene;
    const struct model_visit *visit;
    size_t pick;

    if (reader->n_visits == 0)
        return false;
    visit = &reader->visits[reader->n_visits - 1 -
                            rng_below(&g->rng, reader->n_visits < 8 ? reader->n_visits : 8)];
    scene = model_scene(&run->model, visit->scene_id);
    if (scene == NULL)
        return false;
    pick = rng_percent(&g->rng, 60) ? (size_t)(scene - run->model.stories.scenes)
                                    : scene_of(g, &run->model, visit->story_id);
    step->post = (struct ref){
        REF_POST, 0, run->publish_of[model_post(&run->model, visit->story_id) - run->model.posts]};
    step->scene = scene_ref(g, run, pick);
    step->message = message_of(g, run, &run->model.stories.scenes[pick]);
    step->op.u.reading.modified_at = visit->at;
    return true;
}

static void reading_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model *model = &run->model;
    bool set = step->op.kind == TIDINGS_OP_READING_SET;
    size_t story;
    size_t scene;

    if (set && rng_percent(&g->rng, 15) && tie_arguments(g, run, step))
        return;
    step->op.u.reading.modified_at = device_time(g, run, step->op.user_id);
    if (step->op.kind == TIDINGS_OP_READING_CLEAR)
        return;
    story = story_of_reader(g, run, step->op.user_id);
    step->post = story_ref(g, run, story);
    if (!set || rng_percent(&g->rng, 20))
        return;
    scene = story < model->n_posts && rng_percent(&g->rng, 96)
                ? scene_of(g, model, model->posts[story].id)
                : some_scene(g, model);
    if (scene >= model->stories.n_scenes)
        return;
    step->scene = scene_ref(g, run, scene);
    step->message = message_of(g, run, &model->stories.scenes[scene]);
}

/* Mostly of whoever has just done something: a version is most telling right after a change. */
static struct generator_client *some_client(struct generator *g, struct step *step)
{
    const struct recording *recording = g->recording;
    const struct step *last = &recording->steps[recording->n > 0 ? recording->n - 1 : 0];
    size_t slot = rng_between(&g->rng, 1, CLIENTS - 1);
    bool new = rng_percent(&g->rng, 5);

    if (last->op.user_id != 0 && model_op_writes(last->op.kind) && rng_percent(&g->rng, 70))
        step->op.user_id = last->op.user_id;
    for (size_t i = 1; i < CLIENTS && !new; i++) {
        if (g->clients[i].number != 0 && g->clients[i].user_id == step->op.user_id)
            return &g->clients[i];
    }
    g->clients[slot].number += g->clients[slot].number == 0 ? (uint32_t)slot : CLIENTS;
    g->clients[slot].user_id = step->op.user_id;
    return &g->clients[slot];
}

/* The list, or what changed for one of the clients. */
static void readings_arguments(struct generator *g, struct step *step)
{
    struct generator_client *client;

    if (rng_percent(&g->rng, 30)) {
        page_arguments(g, step);
        return;
    }
    client = some_client(g, step);
    if (rng_percent(&g->rng, 30)) {
        size_t slot = rng_between(&g->rng, 1, CLIENTS - 1);

        if (g->clients[slot].number != 0)
            client = &g->clients[slot];
    }
    step->op.u.readings.delta = true;
    step->op.user_id = client->user_id;
    step->client = client->number;
    if (rng_percent(&g->rng, 60))
        step->op.u.readings.page.limit =
            (uint32_t)rng_between(&g->rng, 1, g->recording->settings.page_max);
}

/* ---- Who is told --------------------------------------------------------------------------- */

static void subscribe_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model *model = &run->model;
    size_t story = some_story(g, model);
    uint64_t seen = 0;

    if (step->op.kind == TIDINGS_OP_UNSUBSCRIBE && rng_percent(&g->rng, 75)) {
        for (size_t i = 0; i < model->stories.n_subscriptions; i++) {
            const struct model_subscription *it = &model->stories.subscriptions[i];

            if (it->user_id == step->op.user_id && rng_below(&g->rng, ++seen) == 0)
                story = (size_t)(model_post(model, it->story_id) - model->posts);
        }
    }
    step->post = story_ref(g, run, story);
    /* Who writes a story may be among those who are told of it. */
    if (story < model->n_posts && rng_percent(&g->rng, 5))
        step->op.user_id = model->posts[story].author_id;
}

static void subscribers_arguments(struct generator *g, struct run *run, struct step *step)
{
    if (rng_percent(&g->rng, 85))
        step->op.role = rng_percent(&g->rng, 50) ? TIDINGS_ROLE_SERVICE : TIDINGS_ROLE_ADMIN;
    if (step->op.kind == TIDINGS_OP_SUBSCRIBERS_AMONG) {
        among_arguments(g, step);
        step->op.u.among.delivered = rng_percent(&g->rng, 40);
    }
    step->post = story_ref(g, run, some_story(g, &run->model));
    if (step->op.kind == TIDINGS_OP_SUBSCRIBERS)
        page_arguments(g, step);
}

/* A scene that the user was told of, if there is any. */
static struct ref some_notice(struct generator *g, struct run *run, uint64_t user_id)
{
    const struct model_reader *reader = model_reader(&run->model, user_id);
    size_t span = rng_percent(&g->rng, 60) && reader->n_told > 20 ? 20 : reader->n_told;

    if (reader->n_told == 0)
        return scene_ref(g, run, some_scene(g, &run->model));
    return (struct ref){
        REF_SCENE, 0,
        run->story.maker_of[reader->told[reader->n_told - 1 - rng_below(&g->rng, span)].scene]};
}

static void notifications_mark_arguments(struct generator *g, struct run *run, struct step *step)
{
    uint64_t most = g->recording->settings.mark_max;
    size_t n = rng_between(&g->rng, 1, most < 8 ? most : 8);
    uint64_t user_id = step->op.user_id;

    if (rng_percent(&g->rng, 35)) {
        step->up_to = some_token(g);
        return;
    }
    step->op.u.mark.n_post_ids = n;
    step->posts = recording_room(g->recording, n * sizeof *step->posts);
    for (size_t i = 0; i < n; i++) {
        step->posts[i] = some_notice(g, run, user_id);
        if (i > 0 && rng_percent(&g->rng, 10))
            step->posts[i] = step->posts[rng_below(&g->rng, i)];
    }
    /* One of which the user was never told spoils the whole list. */
    if (rng_percent(&g->rng, 8))
        step->posts[rng_below(&g->rng, n)] = scene_ref(g, run, some_scene(g, &run->model));
}

void generate_story(struct generator *g, struct run *run, struct step *step)
{
    switch (step->op.kind) {
    case TIDINGS_OP_SCENE_PUBLISH:
        publish_arguments(g, run, step);
        break;
    case TIDINGS_OP_SCENE_EDIT:
        edit_arguments(g, run, step);
        break;
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENE:
        scene_arguments(g, run, step);
        break;
    case TIDINGS_OP_SCENES:
        step->post = story_ref(g, run, some_story(g, &run->model));
        page_arguments(g, step);
        break;
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
        reading_arguments(g, run, step);
        break;
    case TIDINGS_OP_READING:
        readings_arguments(g, step);
        break;
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
        subscribe_arguments(g, run, step);
        break;
    case TIDINGS_OP_SUBSCRIBERS:
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
        subscribers_arguments(g, run, step);
        break;
    case TIDINGS_OP_PREFERENCES_SET:
        step->op.u.preferences.story_updates = rng_percent(&g->rng, 65);
        break;
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        notifications_mark_arguments(g, run, step);
        break;
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_NOTIFICATIONS:
        page_arguments(g, step);
        break;
    default:
        break;
    }
}
