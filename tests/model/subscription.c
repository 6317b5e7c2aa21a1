/* SPDX-License-Identifier: MIT */
/* Subscriptions, which come and go between two scenes, and whether one wants to be told at all. */
#include "ops.h"

#include <inttypes.h>
#include <string.h>

/* ---- The model ----------------------------------------------------------------------------------- */

static bool subscribes(const struct model *model, uint64_t user_id, uint64_t story_id)
{
    for (size_t i = 0; i < model->stories.n_subscriptions; i++) {
        const struct model_subscription *it = &model->stories.subscriptions[i];

        if (it->user_id == user_id && it->story_id == story_id)
            return true;
    }
    return false;
}

static bool wants_to_know(struct model *model, uint64_t user_id, uint64_t story_id)
{
    return subscribes(model, user_id, story_id) && !model_reader(model, user_id)->quiet;
}

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

static bool write_subscribe(struct model *model, const struct model_call *call,
                            struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    const struct model_post *story = model_living_story(model, op->u.post.post_id, answer);
    struct model_stories *stories = &model->stories;

    if (story == NULL)
        return false;
    answer->changed = !subscribes(model, op->user_id, story->id);
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

static bool write_unsubscribe(struct model *model, const struct model_call *call,
                              struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
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

static bool write_preferences_set(struct model *model, const struct model_call *call,
                                  struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    struct model_reader *reader = model_reader(model, op->user_id);
    bool quiet = !op->u.preferences.story_updates;
    struct model_bucket bucket = model_follow_bucket(model, op);

    bucket.more = (int64_t)count_subscriptions(model, op->user_id) / 100;
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

static void read_subscriptions(struct model *model, const struct model_call *call,
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

static void read_subscribers(struct model *model, const struct model_call *call,
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

        if (it->story_id != story_id || !wants_to_know(model, it->user_id, story_id))
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

static void read_subscribers_among(struct model *model, const struct model_call *call,
                                   struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    uint64_t story_id = op->u.among.author_id;

    answer->user_ids = model_room(NULL, op->u.among.n_user_ids, sizeof *answer->user_ids);
    for (size_t i = 0; i < op->u.among.n_user_ids; i++) {
        uint64_t id = op->u.among.user_ids[i];

        if (wants_to_know(model, id, story_id) ||
            (op->u.among.delivered && was_told(model, id, story_id)))
            answer->user_ids[answer->n++] = id;
    }
}

static void read_preferences(struct model *model, const struct model_call *call,
                             struct model_answer *answer)
{
    answer->story.story_updates = !model_reader(model, call->op->user_id)->quiet;
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static const char *check_subscribe(const struct model *model, const struct model_call *call)
{
    return model_check_post(model, call) != NULL ? "story_id" : NULL;
}

static const char *check_among(const struct model *model, const struct model_call *call)
{
    (void)model;
    const struct tidings_op *op = call->op;
    const uint64_t *ids = op->u.among.user_ids;

    if (!model_id_ok(op->u.among.author_id))
        return "author_id";
    for (size_t i = 0; i < op->u.among.n_user_ids; i++) {
        if (!model_id_ok(ids[i]) || (i > 0 && ids[i] <= ids[i - 1]))
            return "user_ids";
    }
    return NULL;
}

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
        among_arguments(g, run, step);
        step->op.u.among.delivered = rng_percent(&g->rng, 40);
    }
    step->post = story_ref(g, run, some_story(g, &run->model));
    if (step->op.kind == TIDINGS_OP_SUBSCRIBERS)
        page_arguments(g, run, step);
}

static void preferences_arguments(struct generator *g, struct run *run, struct step *step)
{
    (void)run;
    step->op.u.preferences.story_updates = rng_percent(&g->rng, 65);
}

/* A change takes a token of the bucket of follows: to when one comes back. */
static void aim_preferences(struct generator *g, struct run *run, const struct step *step)
{
    const struct tidings_settings *s = &g->recording->settings;

    aim_at_token(g, model_user(&run->model, step->op.user_id)->full_at, s->follow_burst,
                 s->follow_refill_ms);
}

static void bad_among(struct generator *g, struct step *step)
{
    uint64_t *ids = recording_room(g->recording, 2 * sizeof *ids);

    if (rng_percent(&g->rng, 40)) {
        generate_bad_post(g, step);
        return;
    }
    /* Not ascending, or no id. */
    ids[0] = rng_percent(&g->rng, 50) ? 9 : 0;
    ids[1] = rng_percent(&g->rng, 50) ? 9 : TIDINGS_ID_MAX + 1;
    step->op.u.among.user_ids = ids;
    step->op.u.among.n_user_ids = 2;
}

static void subscribers_among_report(struct report *report, const struct step *step)
{
    story_report(report, step);
    among_report(report, step);
}

static void preferences_report(struct report *report, const struct step *step)
{
    report_add(report, " story_updates=%d", step->op.u.preferences.story_updates);
}

static bool resolve_subscribers_among(struct run *run, const struct step *step,
                                      struct tidings_op *op)
{
    op->u.among.author_id = run_ref_id(run, &step->post);
    return true;
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_subscription(struct diff *diff, const struct model_answer *want,
                              const struct tidings_answer *got)
{
    same_bool(diff, "changed", want->changed, got->u.subscription.changed);
    same_bool(diff, "subscribed", want->story.subscribed, got->u.subscription.subscribed);
}

static void same_subscriptions(struct diff *diff, const struct model_answer *want,
                               const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.subscriptions.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_subscription_row *a = &want->story.subscriptions[diff->row];
        const struct tidings_subscription_row *b = &got->u.subscriptions.rows[diff->row];

        same_u64(diff, "story_id", a->story_id, b->story_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "title", a->title, b->title);
        same_i64(diff, "since", a->since, b->since);
        same_bool(diff, "is_deleted", a->is_deleted, b->is_deleted);
    }
    same_end(diff, want->next, got->u.subscriptions.next);
}

static void same_preferences(struct diff *diff, const struct model_answer *want,
                             const struct tidings_answer *got)
{
    same_bool(diff, "story_updates", want->story.story_updates, got->u.preferences.story_updates);
}

static void hold_subscription(struct check *check, const struct tidings_answer *answer)
{
    require(check, answer->u.subscription.subscribed == (check->op->kind == TIDINGS_OP_SUBSCRIBE),
            "it is as asked for", 0);
}

static void hold_subscriptions(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_subscription_row *rows = answer->u.subscriptions.rows;

    require_page(check, &check->op->u.page, answer->u.subscriptions.n,
                 answer->u.subscriptions.next);
    for (size_t i = 0; i < answer->u.subscriptions.n; i++) {
        require_text(check, rows[i].title, "title is text", i);
        require(check, i == 0 || rows[i].since <= rows[i - 1].since, "newest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].story_id != rows[i].story_id, "no story twice", i);
    }
}

static int line_of_subscription(char *line, bool changed, bool subscribed)
{
    return snprintf(line, RENDER_MAX, "changed %d subscribed %d", changed, subscribed);
}

static int line_of_preferences(char *line, bool story_updates)
{
    return snprintf(line, RENDER_MAX, "story_updates %d", story_updates);
}

static int subscription_line(char *line, const struct tidings_answer *a)
{
    return line_of_subscription(line, a->u.subscription.changed, a->u.subscription.subscribed);
}

static int model_subscription_line(char *line, const struct model_answer *a)
{
    return line_of_subscription(line, a->changed, a->story.subscribed);
}

static int preferences_line(char *line, const struct tidings_answer *a)
{
    return line_of_preferences(line, a->u.preferences.story_updates);
}

static int model_preferences_line(char *line, const struct model_answer *a)
{
    return line_of_preferences(line, a->story.story_updates);
}

/* As many among all the users as there are on the list. */
static bool sweep_story(struct sweep *sweep, const struct model_post *story)
{
    struct tidings_op list =
        question(sweep, TIDINGS_OP_SUBSCRIBERS, sweep->run->recording->user_ids[0]);
    struct tidings_op among = list;
    uint64_t ids[MAX_USERS];
    uint64_t n;

    list.role = TIDINGS_ROLE_SERVICE;
    list.u.scenes.story_id = story->id;
    if (!sweep_list(sweep, list, &n))
        return false;
    among.kind = TIDINGS_OP_SUBSCRIBERS_AMONG;
    among.role = TIDINGS_ROLE_ADMIN;
    memset(&among.u, 0, sizeof among.u);
    among.u.among.author_id = story->id;
    among.u.among.user_ids = ids;
    among.u.among.n_user_ids = sweep_users(sweep, ids);
    if (!sweep_ask(sweep, &among))
        return false;
    if (sweep->run->answer.err == TIDINGS_OK && sweep->run->answer.u.among.n != n &&
        !story->deleted)
        return run_fail(sweep->run,
                        "story %" PRIu64 ": %" PRIu64 " subscribers on the list, %zu among all",
                        story->id, n, sweep->run->answer.u.among.n);
    return true;
}

static bool sweep_subscribers(struct sweep *sweep)
{
    const struct model *model = &sweep->run->model;

    for (size_t i = 0; i < model->n_posts; i++) {
        if (model->posts[i].kind == TIDINGS_STORY && !sweep_story(sweep, &model->posts[i]))
            return false;
    }
    return true;
}

static bool sweep_subscriptions(struct sweep *sweep, uint64_t viewer)
{
    uint64_t n;

    return sweep_list(sweep, question(sweep, TIDINGS_OP_SUBSCRIPTIONS, viewer), &n);
}

static bool sweep_preferences(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_PREFERENCES, viewer);

    return sweep_ask(sweep, &op);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_subscribe = {
    .weights = {[MOOD_MIXED] = 5, [MOOD_STORY] = 18, [MOOD_DEVICES] = 2},
    .arguments = subscribe_arguments,
    .mistake = generate_bad_post,
    .report = story_report,
    .resolve = resolve_post,
    .check = check_subscribe,
    .write = write_subscribe,
    .compare = same_subscription,
    .hold = hold_subscription,
    .line = subscription_line,
    .model_line = model_subscription_line,
};

const struct op_row row_unsubscribe = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_STORY] = 8},
    .arguments = subscribe_arguments,
    .mistake = generate_bad_post,
    .report = story_report,
    .resolve = resolve_post,
    .check = check_subscribe,
    .write = write_unsubscribe,
    .compare = same_subscription,
    .hold = hold_subscription,
    .line = subscription_line,
    .model_line = model_subscription_line,
};

const struct op_row row_subscriptions = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_STORY] = 4},
    .page = offsetof(struct tidings_op, u.page),
    .next = offsetof(struct tidings_answer, u.subscriptions.next),
    .arguments = page_arguments,
    .mistake = generate_bad_page,
    .report = page_report,
    .check = model_check_own_page,
    .read = read_subscriptions,
    .compare = same_subscriptions,
    .hold = hold_subscriptions,
    .sweep_user = sweep_subscriptions,
};

const struct op_row row_subscribers = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_STORY] = 4},
    .page = offsetof(struct tidings_op, u.scenes.page),
    .next = offsetof(struct tidings_answer, u.users.next),
    .arguments = subscribers_arguments,
    .mistake = generate_bad_story_page,
    .report = story_page_report,
    .resolve = resolve_story,
    .check = model_check_story_page,
    .read = read_subscribers,
    .compare = same_users,
    .hold = hold_users,
    .sweep = sweep_subscribers,
};

const struct op_row row_subscribers_among = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_STORY] = 3},
    .arguments = subscribers_arguments,
    .mistake = bad_among,
    .report = subscribers_among_report,
    .resolve = resolve_subscribers_among,
    .check = check_among,
    .read = read_subscribers_among,
    .compare = same_among,
};

const struct op_row row_preferences_set = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_STORY] = 8},
    .arguments = preferences_arguments,
    .aim = aim_preferences,
    .report = preferences_report,
    .write = write_preferences_set,
    .compare = same_preferences,
    .line = preferences_line,
    .model_line = model_preferences_line,
};

const struct op_row row_preferences = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_STORY] = 2},
    .read = read_preferences,
    .compare = same_preferences,
    .sweep_user = sweep_preferences,
};
