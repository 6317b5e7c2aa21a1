/* SPDX-License-Identifier: MIT */
/* Steps about scenes: few stories with many scenes, so that some get long. */
#include "generate.h"

#include <string.h>

/* A story's index among the posts, n_posts if there is none. Old stories that are still there are
 * favoured, so that some get long, and one more than a word has bits. */
size_t some_story(struct generator *g, const struct model *model)
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
struct ref story_ref(struct generator *g, const struct run *run, size_t story)
{
    if (story < run->model.n_posts && !rng_percent(&g->rng, 3))
        return (struct ref){REF_POST, rng_percent(&g->rng, 1) ? 1 : 0, run->publish_of[story]};
    return (struct ref){REF_POST, 0, rng_below(&g->rng, g->recording->n_publishes + 2)};
}

/* A scene's index; n_scenes if there is none. */
size_t some_scene(struct generator *g, const struct model *model)
{
    size_t n = model->stories.n_scenes;
    size_t span = rng_percent(&g->rng, 70) && n > 25 ? 25 : n;

    return n > 0 ? n - 1 - rng_below(&g->rng, span) : 0;
}

/* A scene of this story, if it has any. */
size_t scene_of(struct generator *g, const struct model *model, uint64_t story_id)
{
    size_t pick = model->stories.n_scenes;
    uint64_t seen = 0;

    for (size_t i = 0; i < model->stories.n_scenes; i++) {
        if (model->stories.scenes[i].story_id == story_id && rng_below(&g->rng, ++seen) == 0)
            pick = i;
    }
    return pick;
}

struct ref scene_ref(struct generator *g, const struct run *run, size_t scene)
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

void scene_publish_arguments(struct generator *g, struct run *run, struct step *step)
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
        step->messages[n] = run_message_ref(run, scene->messages[i].id);
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

void scene_edit_arguments(struct generator *g, struct run *run, struct step *step)
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

void scene_arguments(struct generator *g, struct run *run, struct step *step)
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

void scenes_arguments(struct generator *g, struct run *run, struct step *step)
{
    step->post = story_ref(g, run, some_story(g, &run->model));
    page_arguments(g, run, step);
}

static struct ref bad_ref(struct generator *g)
{
    return (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
}

static void bad_messages(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;
    size_t most = (size_t)g->recording->settings.messages_max;
    size_t n = rng_percent(&g->rng, 30) && most < 60 ? most + 1 : 1;
    struct tidings_message *messages = recording_room(g->recording, n * sizeof *messages);

    memset(messages, 0, n * sizeof *messages);
    for (size_t i = 0; i < n; i++)
        messages[i].text = (struct tidings_text){"m", 1};
    step->messages = NULL;
    op->u.scene.messages = messages;
    op->u.scene.n_messages = n;
    switch (rng_below(&g->rng, 5)) {
    case 0:
        messages[n - 1].text = generate_bad_text(g, g->recording->settings.message_max);
        break;
    case 1:
        messages[n - 1].text = (struct tidings_text){rng_percent(&g->rng, 50) ? "" : NULL, 0};
        break;
    case 2: /* none, but so many */
        op->u.scene.messages = NULL;
        break;
    case 3: /* a new scene's messages have no ids; and no id is as great as that */
        messages[n - 1].id = op->kind == TIDINGS_OP_SCENE_PUBLISH ? 5 : generate_too_great(g);
        break;
    default:
        break;
    }
}

void bad_scene(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;

    switch (rng_below(&g->rng, 4)) {
    case 0:
        if (op->kind == TIDINGS_OP_SCENE_PUBLISH)
            step->post = bad_ref(g);
        else
            step->scene = bad_ref(g);
        break;
    case 1:
        op->u.scene.title = generate_bad_text(g, g->recording->settings.title_max);
        break;
    case 2:
        op->u.scene.title = (struct tidings_text){rng_percent(&g->rng, 50) ? "" : NULL, 0};
        if (rng_percent(&g->rng, 50)) {
            op->u.scene.messages = NULL;
            op->u.scene.n_messages = 0;
        }
        break;
    default:
        bad_messages(g, step);
        break;
    }
}

void bad_scene_id(struct generator *g, struct step *step)
{
    step->scene = bad_ref(g);
}

void generate_bad_story_page(struct generator *g, struct step *step)
{
    if (rng_percent(&g->rng, 40))
        step->post = bad_ref(g);
    else
        generate_bad_page(g, step);
}
