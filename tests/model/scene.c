/* SPDX-License-Identifier: MIT */
/* Scenes and their messages: few stories with many scenes. */
#include "ops.h"

#include <inttypes.h>
#include <string.h>

/* ---- Arguments ----------------------------------------------------------------------------------- */

static void scene_report(struct report *report, const struct step *step)
{
    const struct tidings_op *op = &step->op;

    if (op->kind == TIDINGS_OP_SCENE_PUBLISH)
        named_report(report, "story_id", &step->post);
    else
        named_report(report, "scene_id", &step->scene);
    report_add(report, " S%" PRIu32 " title=", step->maker);
    report_text(report, op->u.scene.title);
    if (op->u.scene.messages == NULL)
        return;
    report_add(report, " messages=[");
    for (size_t i = 0; i < op->u.scene.n_messages; i++) {
        report_add(report, "%s", i > 0 ? " " : "");
        if (step->messages != NULL)
            ref_report(report, &step->messages[i]);
        report_text(report, op->u.scene.messages[i].text);
    }
    report_add(report, "]");
}

static void scene_id_report(struct report *report, const struct step *step)
{
    named_report(report, "scene_id", &step->scene);
}

void story_report(struct report *report, const struct step *step)
{
    named_report(report, "story_id", &step->post);
}

void story_page_report(struct report *report, const struct step *step)
{
    story_report(report, step);
    page_report(report, step);
}

static bool resolve_scene(struct run *run, const struct step *step, struct tidings_op *op)
{
    struct run_story *story = &run->story;

    op->u.scene.story_id = run_ref_id(run, &step->post);
    op->u.scene.scene_id = run_ref_id(run, &step->scene);
    if (op->u.scene.messages == NULL || op->u.scene.n_messages > MESSAGES_MOST)
        return true;
    for (size_t i = 0; i < op->u.scene.n_messages; i++) {
        story->messages[i] = op->u.scene.messages[i];
        if (step->messages != NULL)
            story->messages[i].id = run_ref_id(run, &step->messages[i]);
    }
    op->u.scene.messages = story->messages;
    return true;
}

static bool resolve_scene_id(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.scene_id.scene_id = run_ref_id(run, &step->scene);
    return true;
}

bool resolve_story(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.scenes.story_id = run_ref_id(run, &step->post);
    return true;
}

/* ---- Ids that the engine makes ------------------------------------------------------------------- */

bool run_scene_id(const struct run_story *story, const struct ref *ref, uint64_t *id)
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

struct ref run_message_ref(const struct run *run, uint64_t id)
{
    const struct run_story *story = &run->story;

    for (size_t i = 1; i < story->made_room && i <= story->n_made; i++) {
        for (size_t j = 0; j < story->made[i].n_messages; j++) {
            if (story->made[i].message_ids[j] == id)
                return (struct ref){REF_MESSAGE, 0, i * MESSAGES_MOST + j};
        }
    }
    return (struct ref){REF_NUMBER, 0, TIDINGS_ID_MAX};
}

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

static bool learn_scene(struct run *run, struct model_call *call)
{
    const struct tidings_op *op = call->op;
    struct run_story *story = &run->story;
    const struct tidings_scene *scene = &run->answer.u.scene;

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

static void remember_made(struct run *run, const struct step *step, uint64_t scene_id)
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

static bool remember_publish(struct run *run, const struct step *step, const struct tidings_op *op)
{
    remember_made(run, step,
                  op->once != NULL ? render_id(run->answer.stored, "scene ")
                                   : run->answer.u.scene.id);
    return true;
}

static bool remember_edit(struct run *run, const struct step *step, const struct tidings_op *op)
{
    (void)op;
    remember_made(run, step, 0);
    return true;
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_outline(struct diff *diff, const struct tidings_scene *want,
                         const struct tidings_scene *got)
{
    same_u64(diff, "scene.id", want->id, got->id);
    same_u64(diff, "scene.story_id", want->story_id, got->story_id);
    same_u64(diff, "scene.author_id", want->author_id, got->author_id);
    same_u64(diff, "scene.number", want->number, got->number);
    same_text(diff, "scene.title", want->title, got->title);
    same_u64(diff, "scene.n_messages", want->n_messages, got->n_messages);
    same_i64(diff, "scene.created_at", want->created_at, got->created_at);
    same_i64(diff, "scene.edited_at", want->edited_at, got->edited_at);
}

static void same_whole_scene(struct diff *diff, const struct tidings_scene *want,
                             const struct tidings_scene *got)
{
    same_outline(diff, want, got);
    if (want->n_messages != got->n_messages)
        return;
    diff->list = "messages";
    for (diff->row = 0; diff->row < want->n_messages; diff->row++) {
        same_u64(diff, "id", want->messages[diff->row].id, got->messages[diff->row].id);
        same_text(diff, "text", want->messages[diff->row].text, got->messages[diff->row].text);
    }
    diff->list = NULL;
}

static void same_scene(struct diff *diff, const struct model_answer *want,
                       const struct tidings_answer *got)
{
    same_whole_scene(diff, &want->story.scene, &got->u.scene);
}

static void same_scenes(struct diff *diff, const struct model_answer *want,
                        const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.scenes.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_outline(diff, &want->story.scenes[diff->row], &got->u.scenes.rows[diff->row]);
    same_end(diff, want->next, got->u.scenes.next);
}

static void hold_outline(struct check *check, const struct tidings_scene *scene, size_t row)
{
    require_text(check, scene->title, "title is text", row);
    require(check, scene->title.n > 0, "a scene has a title", row);
    require(check, scene->id >= 1 && scene->id <= TIDINGS_ID_MAX, "scene ids are below 2^53", row);
    require(check, scene->id > scene->story_id, "a scene is younger than its story", row);
    require(check, scene->number >= 1, "scenes are numbered from 1", row);
    require(check, scene->edited_at == 0 || scene->edited_at >= scene->created_at,
            "edited after it was made", row);
}

static void hold_scene(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_scene *scene = &answer->u.scene;

    hold_outline(check, scene, 0);
    for (size_t i = 0; i < scene->n_messages; i++) {
        uint64_t id = scene->messages[i].id;

        require_text(check, scene->messages[i].text, "text is text", i);
        require(check, id >= 1 && id <= TIDINGS_ID_MAX, "message ids are below 2^53", i);
        for (size_t j = 0; j < i; j++)
            require(check, scene->messages[j].id != id, "no message twice", i);
    }
}

static void hold_scenes(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_scene *rows = answer->u.scenes.rows;

    require_page(check, &check->op->u.scenes.page, answer->u.scenes.n, answer->u.scenes.next);
    for (size_t i = 0; i < answer->u.scenes.n; i++) {
        hold_outline(check, &rows[i], i);
        require(check, rows[i].story_id == check->op->u.scenes.story_id, "of this story", i);
        require(check, i == 0 || rows[i].number > rows[i - 1].number, "in order", i);
        require(check, i == 0 || rows[i].id > rows[i - 1].id, "in the order of publishing", i);
    }
}

static int line_of_scene(char *line, const struct tidings_scene *scene)
{
    return snprintf(line, RENDER_MAX,
                    "scene %" PRIu64 " of %" PRIu64 " number %" PRIu32 " at %" PRId64
                    " edited %" PRId64 " title %zu messages %zu",
                    scene->id, scene->story_id, scene->number, scene->created_at, scene->edited_at,
                    scene->title.n, scene->n_messages);
}

static int scene_line(char *line, const struct tidings_answer *a)
{
    return line_of_scene(line, &a->u.scene);
}

static int model_scene_line(char *line, const struct model_answer *a)
{
    return line_of_scene(line, &a->story.scene);
}

static bool sweep_scenes(struct sweep *sweep)
{
    const struct model *model = &sweep->run->model;
    struct tidings_op op = question(sweep, TIDINGS_OP_SCENES, 1);
    uint64_t n;

    for (size_t i = 0; i < model->n_posts; i++) {
        op.u.scenes.story_id = model->posts[i].id;
        if (model->posts[i].kind == TIDINGS_STORY && !sweep_list(sweep, op, &n))
            return false;
    }
    return true;
}

static bool sweep_scene(struct sweep *sweep)
{
    const struct model *model = &sweep->run->model;
    struct tidings_op op = question(sweep, TIDINGS_OP_SCENE, 1);

    for (size_t i = 0; i < model->stories.n_scenes; i++) {
        op.u.scene_id.scene_id = model->stories.scenes[i].id;
        if (!sweep_ask(sweep, &op))
            return false;
    }
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_scene_publish = {
    .delivers = true,
    .weights = {[MOOD_PUSH] = 8, [MOOD_MIXED] = 6, [MOOD_STORY] = 30, [MOOD_DEVICES] = 10},
    .arguments = scene_publish_arguments,
    .mistake = bad_scene,
    .report = scene_report,
    .resolve = resolve_scene,
    .check = check_scene,
    .write = write_scene_publish,
    .learn = learn_scene,
    .remember = remember_publish,
    .compare = same_scene,
    .hold = hold_scene,
    .line = scene_line,
    .model_line = model_scene_line,
};

const struct op_row row_scene_edit = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_STORY] = 8, [MOOD_DEVICES] = 5},
    .arguments = scene_edit_arguments,
    .mistake = bad_scene,
    .report = scene_report,
    .resolve = resolve_scene,
    .check = check_scene,
    .write = write_scene_edit,
    .learn = learn_scene,
    .remember = remember_edit,
    .compare = same_scene,
    .hold = hold_scene,
    .line = scene_line,
    .model_line = model_scene_line,
};

const struct op_row row_scene_delete = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_STORY] = 4, [MOOD_DEVICES] = 2},
    .arguments = scene_arguments,
    .mistake = bad_scene_id,
    .report = scene_id_report,
    .resolve = resolve_scene_id,
    .check = check_scene_id,
    .write = write_scene_delete,
    .compare = same_deleted,
};

const struct op_row row_scenes = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_STORY] = 5},
    .page = offsetof(struct tidings_op, u.scenes.page),
    .next = offsetof(struct tidings_answer, u.scenes.next),
    .arguments = scenes_arguments,
    .mistake = generate_bad_story_page,
    .report = story_page_report,
    .resolve = resolve_story,
    .check = model_check_story_page,
    .read = read_scenes,
    .compare = same_scenes,
    .hold = hold_scenes,
    .sweep = sweep_scenes,
};

const struct op_row row_scene = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_STORY] = 3},
    .arguments = scene_arguments,
    .mistake = bad_scene_id,
    .report = scene_id_report,
    .resolve = resolve_scene_id,
    .check = check_scene_id,
    .read = read_scene,
    .compare = same_scene,
    .hold = hold_scene,
    .sweep = sweep_scene,
};
