/* SPDX-License-Identifier: MIT */
/* Notifications of new scenes. */
#include "ops.h"
#include "support/engine.h"

#include <inttypes.h>

/* ---- The model ----------------------------------------------------------------------------------- */

/* Everybody who wants to know at this moment. */
void model_tell(struct model *model, size_t scene, uint64_t story_id)
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

static bool stands(const struct model *model, const struct model_told *told)
{
    const struct model_scene *scene = &model->stories.scenes[told->scene];

    return !scene->deleted && !model_post(model, scene->story_id)->deleted;
}

static uint64_t count_unread(struct model *model, uint64_t user_id)
{
    const struct model_reader *reader = model_reader(model, user_id);
    uint64_t n = 0;

    for (size_t i = 0; i < reader->n_told; i++)
        n += !reader->told[i].is_read && stands(model, &reader->told[i]);
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
    if (told->is_read || !stands(model, told))
        return false;
    told->is_read = true;
    return true;
}

static bool write_notifications_mark(struct model *model, const struct model_call *call,
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
    answer->story.unread = count_unread(model, op->user_id);
    return true;
}

static void read_notifications(struct model *model, const struct model_call *call,
                               struct model_answer *answer)
{
    const struct model_reader *reader = model_reader(model, call->op->user_id);
    size_t limit = model_page_limit(model, &call->op->u.page);

    answer->story.unread = count_unread(model, call->op->user_id);
    answer->story.notifications = model_room(NULL, limit, sizeof *answer->story.notifications);
    for (size_t i = reader->n_told; i-- > 0;) {
        const struct model_told *told = &reader->told[i];
        const struct model_scene *it = &model->stories.scenes[told->scene];

        if (!stands(model, told) || (call->after.a != 0 && it->id >= call->after.a))
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

/* ---- Arguments ----------------------------------------------------------------------------------- */

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
        if (!model_id_ok(ids[i]))
            return "ids";
    }
    return up_to ? "up_to" : NULL;
}

/* A scene that the user was told of, if there is any. */
static struct ref some_notification(struct generator *g, struct run *run, uint64_t user_id)
{
    const struct model_reader *reader = model_reader(&run->model, user_id);
    size_t span = rng_percent(&g->rng, 60) && reader->n_told > 20 ? 20 : reader->n_told;

    if (reader->n_told == 0)
        return scene_ref(g, run, some_scene(g, &run->model));
    return (struct ref){
        REF_SCENE, 0,
        run->story.maker_of[reader->told[reader->n_told - 1 - rng_below(&g->rng, span)].scene]};
}

/* Is the next scene one that the viewer was told of and has not marked? */
static bool is_edge(struct run *run, uint64_t viewer, const struct model_moment *covers)
{
    const struct model_reader *reader = model_reader(&run->model, viewer);

    for (size_t i = 0; i < reader->n_told; i++) {
        if (reader->told[i].scene == covers->scenes)
            return !reader->told[i].is_read;
    }
    return false;
}

static void mark_arguments(struct generator *g, struct run *run, struct step *step)
{
    uint64_t most = g->recording->settings.mark_max;
    size_t n = rng_between(&g->rng, 1, most < 8 ? most : 8);
    uint64_t user_id = step->op.user_id;

    if (rng_percent(&g->rng, 50)) {
        step->up_to = some_token(g, run, user_id, is_edge);
        return;
    }
    step->op.u.mark.n_post_ids = n;
    step->posts = recording_room(g->recording, n * sizeof *step->posts);
    for (size_t i = 0; i < n; i++) {
        step->posts[i] = some_notification(g, run, user_id);
        if (i > 0 && rng_percent(&g->rng, 10))
            step->posts[i] = step->posts[rng_below(&g->rng, i)];
    }
    /* One of which the user was never told spoils the whole list. */
    if (rng_percent(&g->rng, 8))
        step->posts[rng_below(&g->rng, n)] = scene_ref(g, run, some_scene(g, &run->model));
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_notifications(struct diff *diff, const struct model_answer *want,
                               const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.notifications.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_notification *a = &want->story.notifications[diff->row];
        const struct tidings_notification *b = &got->u.notifications.rows[diff->row];

        same_u64(diff, "id", a->id, b->id);
        same_u64(diff, "story_id", a->story_id, b->story_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "story_title", a->story_title, b->story_title);
        same_text(diff, "scene_title", a->scene_title, b->scene_title);
        same_i64(diff, "created_at", a->created_at, b->created_at);
        same_bool(diff, "is_read", a->is_read, b->is_read);
    }
    same_end(diff, want->next, got->u.notifications.next);
    same_u64(diff, "unread", want->story.unread, got->u.notifications.unread);
}

static void same_mark(struct diff *diff, const struct model_answer *want,
                      const struct tidings_answer *got)
{
    same_u64(diff, "marked", want->marked, got->u.notifications_mark.marked);
    same_u64(diff, "unread", want->story.unread, got->u.notifications_mark.unread);
}

static void hold_notifications(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_notification *rows = answer->u.notifications.rows;
    const struct tidings_page *page = &check->op->u.page;
    struct tidings_cursor next = answer->u.notifications.next;
    size_t n = answer->u.notifications.n;
    uint64_t unread = 0;

    require_page(check, page, n, next);
    for (size_t i = 0; i < n; i++) {
        require_text(check, rows[i].story_title, "story_title is text", i);
        require_text(check, rows[i].scene_title, "scene_title is text", i);
        require(check, i == 0 || rows[i].id < rows[i - 1].id, "newest first", i);
        require(check, engine_covers(&answer->u.notifications.as_of, rows[i].id),
                "as_of covers all shown", i);
        unread += !rows[i].is_read;
    }
    require(check, unread <= answer->u.notifications.unread, "unread covers the page", n);
    if (page->after.a == 0 && page->after.b == 0 && next.a == 0 && next.b == 0)
        require(check, unread == answer->u.notifications.unread, "unread is what is unread", n);
}

static int mark_line(char *line, const struct tidings_answer *a)
{
    return line_of_mark(line, a->u.notifications_mark.marked, a->u.notifications_mark.unread);
}

static int model_mark_line(char *line, const struct model_answer *a)
{
    return line_of_mark(line, a->marked, a->story.unread);
}

/* The number of unread notifications is that of the unread rows, in every answer on the way. */
static bool sweep_notifications(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_NOTIFICATIONS, viewer);
    struct tidings_cursor model_after = {0, 0};
    const struct tidings_answer *answer = &sweep->run->answer;
    uint64_t unread = 0;

    op.u.page.limit = sweep->limit;
    do {
        if (!run_op(sweep->run, &op, model_after))
            return false;
        for (size_t i = 0; i < answer->u.notifications.n; i++)
            unread += !answer->u.notifications.rows[i].is_read;
        op.u.page.after = answer->u.notifications.next;
        model_after = sweep->run->expected.next;
    } while (op.u.page.after.a != 0 || op.u.page.after.b != 0);
    if (unread != answer->u.notifications.unread)
        return run_fail(sweep->run,
                        "user %" PRIu64 ": %" PRIu64 " unread notifications, but %" PRIu64
                        " in the list",
                        viewer, answer->u.notifications.unread, unread);
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_notifications_mark = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_STORY] = 12},
    .arguments = mark_arguments,
    .mistake = generate_bad_mark,
    .report = mark_report,
    .resolve = resolve_mark,
    .check = check_notifications_mark,
    .write = write_notifications_mark,
    .compare = same_mark,
    .line = mark_line,
    .model_line = model_mark_line,
};

const struct op_row row_notifications = {
    .weights = {[MOOD_MIXED] = 4, [MOOD_STORY] = 14, [MOOD_DEVICES] = 2},
    .page = offsetof(struct tidings_op, u.page),
    .next = offsetof(struct tidings_answer, u.notifications.next),
    .as_of = offsetof(struct tidings_answer, u.notifications.as_of),
    .arguments = page_arguments,
    .mistake = generate_bad_page,
    .report = page_report,
    .check = model_check_own_page,
    .read = read_notifications,
    .compare = same_notifications,
    .hold = hold_notifications,
    .sweep_user = sweep_notifications,
};
