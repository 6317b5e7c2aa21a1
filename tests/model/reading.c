/* SPDX-License-Identifier: MIT */
/*
 * Where readers stopped. All that was ever sent is kept, and what is shown is worked out from it. A device keeps a copy by
 * asking for what has changed.
 */
#include "ops.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- Arguments ----------------------------------------------------------------------------------- */

/* What the clocks of a reader's devices are off by. */
static const int64_t skews_ms[] = {0, 0, 0, -40, -5000, -3600000, -3 * 86400000, 1500, 7200000};

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

static int64_t some_device_time(struct generator *g, struct run *run, uint64_t user_id)
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
        ref = run_message_ref(run, scene->given[rng_below(&g->rng, scene->n_given)]);
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
    step->op.u.reading.modified_at = some_device_time(g, run, step->op.user_id);
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
static void readings_arguments(struct generator *g, struct run *run, struct step *step)
{
    (void)run;
    struct generator_client *client;

    if (rng_percent(&g->rng, 30)) {
        page_arguments(g, run, step);
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

static void bad_reading(struct generator *g, struct step *step)
{
    switch (rng_below(&g->rng, 5)) {
    case 0:
        generate_bad_post(g, step);
        break;
    case 1:
        step->op.u.reading.modified_at = rng_percent(&g->rng, 50) ? -1 : INT64_MIN;
        break;
    case 2:
        step->scene = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    case 3:
        step->message = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    default: /* a message without its scene */
        step->scene = (struct ref){0};
        step->message = (struct ref){REF_NUMBER, 0, 7};
        break;
    }
}

static void bad_readings(struct generator *g, struct step *step)
{
    step->client = 0;
    if (rng_percent(&g->rng, 50)) {
        step->op.u.readings.delta = rng_percent(&g->rng, 50);
        step->op.u.readings.since = step->op.u.readings.delta ? generate_too_great(g) : 1;
    } else {
        generate_bad_page(g, step);
    }
}

static bool resolve_reading(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.reading.story_id = run_ref_id(run, &step->post);
    op->u.reading.scene_id = run_ref_id(run, &step->scene);
    op->u.reading.message_id = run_ref_id(run, &step->message);
    return true;
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

static bool resolve_readings(struct run *run, const struct step *step, struct tidings_op *op)
{
    if (step->client != 0)
        op->u.readings.since = find_client(run, step)->version;
    return true;
}

static void reading_report(struct report *report, const struct step *step)
{
    if (step->op.kind != TIDINGS_OP_READING_CLEAR)
        named_report(report, "story_id", &step->post);
    if (step->op.kind == TIDINGS_OP_READING_SET) {
        named_report(report, "scene_id", &step->scene);
        named_report(report, "message_id", &step->message);
    }
    report_add(report, " modified_at=%" PRId64, step->op.u.reading.modified_at);
}

static void readings_report(struct report *report, const struct step *step)
{
    if (step->op.u.readings.delta)
        report_add(report, " delta, client %" PRIu32, step->client);
    page_report(report, step);
}

/* ---- Clients ------------------------------------------------------------------------------------- */

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

        if (changed_at(reader, id) <= client->turn)
            return run_fail(run, "the delta gives story %" PRIu64 ", which did not change", id);
    }
    for (size_t i = 0; i < answer->u.readings.n_deleted; i++) {
        uint64_t id = answer->u.readings.deleted[i];

        if (changed_at(reader, id) <= client->turn)
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

        shown += stopped_at(reader, reader->changes[i].story_id, &record);
    }
    if (client->n != shown)
        return run_fail(run, "the client of user %" PRIu64 " has %zu records, there are %zu",
                        client->user_id, client->n, shown);
    for (size_t i = 0; i < client->n; i++) {
        const struct tidings_reading *has = &client->rows[i];
        struct tidings_reading is;

        stopped_at(reader, has->story_id, &is);
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

static bool catch_up(struct run *run, struct client *client, int64_t now_ms, uint32_t limit)
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

static bool remember_readings(struct run *run, const struct step *step, const struct tidings_op *op)
{
    (void)op;
    return step->client == 0 || client_hears(run, find_client(run, step));
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_record(struct diff *diff, const struct tidings_reading *want,
                        const struct tidings_reading *got)
{
    same_u64(diff, "story_id", want->story_id, got->story_id);
    same_u64(diff, "scene_id", want->scene_id, got->scene_id);
    same_u64(diff, "message_id", want->message_id, got->message_id);
    same_i64(diff, "modified_at", want->modified_at, got->modified_at);
    if (want->story_id == 0)
        return;
    same_text(diff, "title", want->title, got->title);
    same_bool(diff, "is_deleted", want->is_deleted, got->is_deleted);
}

static void same_reading(struct diff *diff, const struct model_answer *want,
                         const struct tidings_answer *got)
{
    same_bool(diff, "changed", want->changed, got->u.reading.changed);
    same_record(diff, &want->story.reading, &got->u.reading.record);
}

static const struct tidings_reading *find_reading(const struct model_answer *want,
                                                  uint64_t story_id)
{
    for (size_t i = 0; i < want->n; i++) {
        if (want->story.readings[i].story_id == story_id)
            return &want->story.readings[i];
    }
    return NULL;
}

/* Whatever a delta says is true now. Whether it says enough, only a client can tell who had a
 * version before: see Clients. */
static void same_delta(struct diff *diff, const struct model_answer *want,
                       const struct tidings_answer *got)
{
    diff->list = "rows";
    for (diff->row = 0; diff->row < got->u.readings.n; diff->row++) {
        const struct tidings_reading *row = &got->u.readings.rows[diff->row];
        const struct tidings_reading *there = find_reading(want, row->story_id);

        if (there != NULL)
            same_record(diff, there, row);
        else if (differs(diff, "story_id"))
            report_add(diff->report, "%" PRIu64 " is not shown any more\n", row->story_id);
    }
    diff->list = "deleted";
    for (diff->row = 0; diff->row < got->u.readings.n_deleted; diff->row++) {
        uint64_t story_id = got->u.readings.deleted[diff->row];

        if (find_reading(want, story_id) != NULL && differs(diff, "story_id"))
            report_add(diff->report, "%" PRIu64 " is still shown\n", story_id);
    }
    diff->list = NULL;
}

static void same_list(struct diff *diff, const struct model_answer *want,
                      const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.readings.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_record(diff, &want->story.readings[diff->row], &got->u.readings.rows[diff->row]);
    same_end(diff, want->next, got->u.readings.next);
    same_u64(diff, "n_deleted", 0, got->u.readings.n_deleted);
}

static void same_readings(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    if (diff->op->u.readings.delta)
        same_delta(diff, want, got);
    else
        same_list(diff, want, got);
}

static void hold_record(struct check *check, const struct tidings_reading *record, size_t row)
{
    require_text(check, record->title, "title is text", row);
    require(check, record->modified_at > 0, "it has a time", row);
    require(check, record->scene_id != 0 || record->message_id == 0, "no message without its scene",
            row);
}

static void hold_reading(struct check *check, const struct tidings_answer *answer)
{
    if (answer->u.reading.record.story_id != 0)
        hold_record(check, &answer->u.reading.record, 0);
}

static void hold_readings(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_reading *rows = answer->u.readings.rows;
    const uint64_t *deleted = answer->u.readings.deleted;
    size_t n = answer->u.readings.n;
    bool delta = check->op->u.readings.delta;

    require(check, answer->u.readings.version <= TIDINGS_ID_MAX, "the version is usable", n);
    for (size_t i = 0; i < n; i++) {
        hold_record(check, &rows[i], i);
        require(check, delta || i == 0 || rows[i].modified_at <= rows[i - 1].modified_at,
                "latest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].story_id != rows[i].story_id, "no story twice", i);
        for (size_t j = 0; j < answer->u.readings.n_deleted; j++)
            require(check, rows[i].story_id != deleted[j], "there or gone, not both", i);
    }
    if (!delta) {
        require_page(check, &check->op->u.readings.page, n, answer->u.readings.next);
        require(check, !answer->u.readings.more, "only a delta has more", n);
        return;
    }
    /* What one clearing took away has one version and comes at once, however much it is. */
    require_page(check, &check->op->u.readings.page, n, (struct tidings_cursor){0, 0});
    require(check, answer->u.readings.version >= check->op->u.readings.since,
            "versions do not go back", n);
    require(check,
            !answer->u.readings.more || answer->u.readings.version > check->op->u.readings.since,
            "asking again gets somewhere", n);
}

static int line_of_reading(char *line, bool changed, const struct tidings_reading *reading)
{
    return snprintf(
        line, RENDER_MAX,
        "changed %d story %" PRIu64 " scene %" PRIu64 " message %" PRIu64 " at %" PRId64, changed,
        reading->story_id, reading->scene_id, reading->message_id, reading->modified_at);
}

static int reading_line(char *line, const struct tidings_answer *a)
{
    return line_of_reading(line, a->u.reading.changed, &a->u.reading.record);
}

static int model_reading_line(char *line, const struct model_answer *a)
{
    return line_of_reading(line, a->changed, &a->story.reading);
}

/* The list's version is of the same moment: nothing has changed since. */
static bool sweep_list_version(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_READING, viewer);
    const struct tidings_answer *answer = &sweep->run->answer;

    if (!sweep_ask(sweep, &op))
        return false;
    op.u.readings.delta = true;
    op.u.readings.since = answer->u.readings.version;
    if (!sweep_ask(sweep, &op))
        return false;
    if (answer->u.readings.n != 0 || answer->u.readings.n_deleted != 0 || answer->u.readings.more)
        return run_fail(sweep->run, "user %" PRIu64 ": a change after the list's own version",
                        viewer);
    return true;
}

/* Clients that were left behind at whatever version, and one that knows nothing. */
static bool sweep_clients(struct sweep *sweep, uint64_t viewer)
{
    struct client fresh = {.user_id = viewer};
    bool ok = catch_up(sweep->run, &fresh, sweep->now_ms, sweep->limit);

    free(fresh.rows);
    for (size_t i = 0; ok && i < CLIENTS; i++) {
        struct client *client = &sweep->run->story.clients[i];

        /* Some stay behind for longer. */
        if (client->user_id == viewer && client->number != 0 && i % 4 != 0)
            ok = catch_up(sweep->run, client, sweep->now_ms, sweep->limit);
    }
    return ok;
}

static bool sweep_readings(struct sweep *sweep, uint64_t viewer)
{
    uint64_t n;

    return sweep_list(sweep, question(sweep, TIDINGS_OP_READING, viewer), &n) &&
           sweep_list_version(sweep, viewer) && sweep_clients(sweep, viewer);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_reading_set = {
    .weights = {[MOOD_MIXED] = 6, [MOOD_STORY] = 4, [MOOD_DEVICES] = 60},
    .arguments = reading_arguments,
    .mistake = bad_reading,
    .report = reading_report,
    .resolve = resolve_reading,
    .check = check_reading,
    .write = write_reading_set,
    .compare = same_reading,
    .hold = hold_reading,
    .line = reading_line,
    .model_line = model_reading_line,
};

const struct op_row row_reading_delete = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_DEVICES] = 10},
    .arguments = reading_arguments,
    .mistake = bad_reading,
    .report = reading_report,
    .resolve = resolve_reading,
    .check = check_reading,
    .write = write_reading_delete,
};

const struct op_row row_reading_clear = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_DEVICES] = 4},
    .arguments = reading_arguments,
    .mistake = bad_reading,
    .report = reading_report,
    .check = check_reading,
    .write = write_reading_clear,
};

const struct op_row row_reading = {
    .weights = {[MOOD_MIXED] = 4, [MOOD_DEVICES] = 30},
    .page = offsetof(struct tidings_op, u.readings.page),
    .next = offsetof(struct tidings_answer, u.readings.next),
    .arguments = readings_arguments,
    .mistake = bad_readings,
    .report = readings_report,
    .resolve = resolve_readings,
    .check = check_readings,
    .read = read_readings,
    .remember = remember_readings,
    .compare = same_readings,
    .hold = hold_readings,
    .sweep_user = sweep_readings,
};
