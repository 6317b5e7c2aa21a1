/* SPDX-License-Identifier: MIT */
/* Webhooks: made, changed, rotated, removed and tried again by admins, and reported about by whoever delivers. */
#include "ops.h"

#include <inttypes.h>
#include <string.h>

/* ---- Arguments ----------------------------------------------------------------------------------- */

static const char *const names[] = {"a", "b", "B", "a-1", "a_", "0123456789012345678901234567zZ"};
static const char *const urls[] = {"https://a.example/", "http://127.0.0.1:1/x", "HTTP://u"};
static const char *const secrets[] = {"0123456789abcdef", "another secret, longer",
                                      "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"};

#define ONE(g, array) some_word((g), (array), sizeof(array) / sizeof(array)[0])

static struct tidings_text some_word(struct generator *g, const char *const *words, size_t n)
{
    const char *word = words[rng_below(&g->rng, n)];

    return (struct tidings_text){word, strlen(word)};
}

/* Mostly one that is there. */
static struct tidings_text some_name(struct generator *g, const struct run *run)
{
    const struct model *model = &run->model;

    if (model->n_webhooks > 0 && rng_percent(&g->rng, 75)) {
        const struct model_webhook *webhook =
            &model->webhooks[rng_below(&g->rng, model->n_webhooks)];

        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
            if (strcmp(names[i], webhook->name.p) == 0)
                return (struct tidings_text){names[i], strlen(names[i])};
        }
    }
    return ONE(g, names);
}

/* Long before any event is old: the clock may still be aimed somewhere, and what is to be made once may be asked for again. */
#define MARGIN_MS (INT64_C(400) * 86400000)

/* Whether there can be such a step; if not it is another. */
static bool begin_step(struct generator *g, const struct run *run, struct step *step)
{
    bool exact = g->recording->settings.event_days * UINT64_C(86400000) > MARGIN_MS &&
                 model_webhooks_exact(&run->model, g->now_ms + MARGIN_MS);

    if (exact && !g->no_webhooks) {
        if (rng_percent(&g->rng, 90))
            step->op.role = TIDINGS_ROLE_ADMIN;
        return true;
    }
    step->op = (struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = step->op.user_id};
    return false;
}

static void webhook_arguments(struct generator *g, struct run *run, struct step *step)
{
    if (begin_step(g, run, step))
        step->op.u.webhook.name = some_name(g, run);
}

static void webhooks_arguments(struct generator *g, struct run *run, struct step *step)
{
    begin_step(g, run, step);
}

static uint64_t some_events(struct generator *g)
{
    static const char *const types[] = {"PostPublished",  "FollowCreated",  "ReactionCreated",
                                        "CommentCreated", "ScenePublished", "ProfileChanged"};
    uint64_t bits = 0;

    if (rng_percent(&g->rng, 20))
        return 0;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (rng_percent(&g->rng, 40))
            bits |= tidings_event_bits(types[i], strlen(types[i]));
    }
    return bits;
}

static void set_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model_webhook *known;

    if (!begin_step(g, run, step))
        return;
    step->op.u.webhook.name = some_name(g, run);
    step->op.u.webhook.url = ONE(g, urls);
    known = model_webhook(&run->model, step->op.u.webhook.name);
    if (rng_percent(&g->rng, known != NULL ? 40 : 90))
        step->op.u.webhook.secret = ONE(g, secrets);
    step->op.u.webhook.disabled = rng_percent(&g->rng, 15);
    step->op.u.webhook.events =
        known != NULL && rng_percent(&g->rng, 50) ? known->events : some_events(g);
}

/* To when the secret of before signs no more. */
static void aim_webhooks(struct generator *g, struct run *run, const struct step *step)
{
    const struct model *model = &run->model;

    (void)step;
    if (model->n_webhooks > 0)
        aim_clock(g, model->webhooks[rng_below(&g->rng, model->n_webhooks)].rotated_at + 86400000);
}

/* What becomes of the next so many events: delivered, given up, or not yet. */
static void report_events(struct generator *g, const struct model *model, struct step *step,
                          const struct model_webhook *webhook)
{
    size_t to = webhook->place;
    uint64_t wanted = 0;

    for (uint64_t left = rng_below(&g->rng, 40); left > 0 && to < model->n_events; left--) {
        if (model->events[to].event_id == 0)
            break;
        wanted += model_webhook_wants(webhook, model->events[to++].type);
    }
    if (to == 0)
        return;
    step->post = (struct ref){REF_EVENT, 0, to - 1};
    step->op.u.webhook_report.dead =
        wanted > 0 && rng_percent(&g->rng, 30) ? rng_between(&g->rng, 1, wanted) : 0;
    step->op.u.webhook_report.delivered =
        rng_percent(&g->rng, 70) ? wanted - step->op.u.webhook_report.dead : 0;
    if (wanted == 0 && rng_percent(&g->rng, 20)) /* told again of what is behind it */
        step->op.u.webhook_report.dead = 1;
}

static void report_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model_webhook *webhook;
    struct tidings_op *op = &step->op;

    if (!begin_step(g, run, step))
        return;
    if (op->role == TIDINGS_ROLE_ADMIN && rng_percent(&g->rng, 50))
        op->role = TIDINGS_ROLE_SERVICE;
    op->u.webhook_report.name = some_name(g, run);
    webhook = model_webhook(&run->model, op->u.webhook_report.name);
    if (webhook != NULL && rng_percent(&g->rng, 85))
        report_events(g, &run->model, step, webhook);
    else if (rng_percent(&g->rng, 40)) /* back, or beyond what there is */
        step->post = rng_percent(&g->rng, 50)
                         ? (struct ref){REF_NUMBER, 0, TIDINGS_ID_MAX}
                         : (struct ref){REF_EVENT, 0, rng_below(&g->rng, run->model.n_events + 1)};
    op->u.webhook_report.generation = rng_percent(&g->rng, 8); /* late: see resolve_report */
    if (rng_percent(&g->rng, 40)) {
        op->u.webhook_report.attempts = (uint32_t)rng_between(&g->rng, 1, 9);
        op->u.webhook_report.failed = rng_below(&g->rng, 3);
        op->u.webhook_report.retry_at = g->now_ms + (int64_t)rng_below(&g->rng, 100000);
        op->u.webhook_report.failing_since = g->now_ms - (int64_t)rng_below(&g->rng, 100000);
        op->u.webhook_report.last_error = generate_characters(g, rng_below(&g->rng, 20));
    }
    if (rng_percent(&g->rng, 30))
        op->u.webhook_report.waiting_since = g->now_ms - (int64_t)rng_below(&g->rng, 100000);
}

static void bad_webhook(struct generator *g, struct step *step)
{
    if (step->op.kind == TIDINGS_OP_WEBHOOK_SET && rng_percent(&g->rng, 60)) {
        switch (rng_below(&g->rng, 4)) {
        case 0:
            step->op.u.webhook.url = rng_percent(&g->rng, 50)   ? generate_bad_text(g, 2048)
                                     : rng_percent(&g->rng, 50) ? generate_bad_url(g)
                                                                : (struct tidings_text){NULL, 0};
            break;
        case 1:
            step->op.u.webhook.secret = (struct tidings_text){"fifteen bytes..", 15};
            break;
        case 2:
            step->op.u.webhook.secret = generate_bad_text(g, 256);
            break;
        default:
            step->op.u.webhook.events = UINT64_C(1) << rng_below(&g->rng, 64);
        }
        return;
    }
    step->op.u.webhook.name = rng_percent(&g->rng, 50) ? generate_bad_text(g, 30)
                                                       : (struct tidings_text){"with space", 10};
}

static void bad_report(struct generator *g, struct step *step)
{
    switch (rng_below(&g->rng, 5)) {
    case 0:
        step->op.u.webhook_report.name = generate_bad_text(g, 30);
        break;
    case 1:
        step->post = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    case 2:
        step->op.u.webhook_report.retry_at = -1;
        break;
    case 3:
        step->op.u.webhook_report.failing_since = INT64_MIN;
        break;
    default:
        step->op.u.webhook_report.last_error = generate_bad_text(g, 200);
    }
}

static void webhook_report(struct report *report, const struct step *step)
{
    two_texts_report(report, "name", step->op.u.webhook.name, "url", step->op.u.webhook.url);
}

static void set_report(struct report *report, const struct step *step)
{
    webhook_report(report, step);
    report_add(report, " events=%" PRIx64 "%s secret=", step->op.u.webhook.events,
               step->op.u.webhook.disabled ? " disabled" : "");
    report_text(report, step->op.u.webhook.secret);
}

static void report_report(struct report *report, const struct step *step)
{
    two_texts_report(report, "name", step->op.u.webhook_report.name, "last_error",
                     step->op.u.webhook_report.last_error);
    named_report(report, "position", &step->post);
    report_add(report, "%s delivered=%" PRIu64 " dead=%" PRIu64 " failed=%" PRIu64 " attempts=%u",
               step->op.u.webhook_report.generation != 0 ? " late" : "",
               step->op.u.webhook_report.delivered, step->op.u.webhook_report.dead,
               step->op.u.webhook_report.failed, step->op.u.webhook_report.attempts);
}

/* ---- Running ------------------------------------------------------------------------------------- */

/* Ids of events are known when somebody has asked for them. Another run of the same steps may have asked earlier, and must do the
 * same; so up to this one they are asked for. */
static void learn_events_up_to(struct run *run, size_t place, int64_t now_ms)
{
    struct tidings_event *events = run->model.events;
    struct tidings_op op = {.kind = TIDINGS_OP_EVENTS,
                            .user_id = run->recording->user_ids[0],
                            .role = TIDINGS_ROLE_SERVICE,
                            .now_ms = now_ms};
    struct tidings_answer answer;
    size_t next = place + 1;

    while (next > 0 && events[next - 1].event_id == 0)
        next--;
    op.u.page.after.a = next > 0 ? events[next - 1].event_id : 0;
    tidings_answer_init(&answer);
    while (next <= place && tidings_run(run->engine, &op, &answer) == TIDINGS_OK &&
           answer.u.events.n > 0) {
        for (size_t i = 0; i < answer.u.events.n && next < run->model.n_events; i++)
            events[next++].event_id = answer.u.events.rows[i].event_id;
        op.u.page.after = answer.u.events.next;
    }
    tidings_answer_release(&answer);
}

/* The generation that the model knows, or another; the event's id, and how many events that covers. */
static bool resolve_report(struct run *run, const struct step *step, struct tidings_op *op)
{
    const struct model_webhook *webhook = model_webhook(&run->model, op->u.webhook_report.name);
    const struct ref *ref = &step->post;

    op->u.webhook_report.generation += webhook != NULL ? webhook->shown.generation : 0;
    run->reported = 0;
    if (ref->kind == REF_NUMBER) {
        op->u.webhook_report.position = ref->value;
        run->reported = ref->value == 0 ? 0 : UINT64_MAX;
        return true;
    }
    if (ref->value < run->model.n_events && !run->imported)
        learn_events_up_to(run, ref->value, op->now_ms);
    if (ref->value < run->model.n_events && run->model.events[ref->value].event_id != 0) {
        op->u.webhook_report.position = run->model.events[ref->value].event_id;
        run->reported = ref->value + 1;
    }
    return true;
}

static bool learn_generation(struct run *run, struct model_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t newest = run->model.newest_generation;
    uint64_t id = op->once != NULL ? render_id(run->answer.stored, "webhook ")
                                   : run->answer.u.webhook.generation;

    call->new_generation = id;
    if (run_is_repeat(op, id, id <= newest))
        return true;
    if (id <= newest)
        return run_fail(run, "generation %" PRIu64 " after %" PRIu64, id, newest);
    return run_check_new_id(run, id, "webhook");
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_webhook(struct diff *diff, const struct model_webhook_row *want,
                         const struct tidings_webhook *got)
{
    const struct tidings_webhook *row = &want->row;

    same_text(diff, "name", row->name, got->name);
    same_text(diff, "url", row->url, got->url);
    same_u64(diff, "events", row->events, got->events);
    same_u64(diff, "state", row->state, got->state);
    same_u64(diff, "generation", row->generation, got->generation);
    same_u64(diff, "attempts", row->attempts, got->attempts);
    same_i64(diff, "retry_at", row->retry_at, got->retry_at);
    same_i64(diff, "failing_since", row->failing_since, got->failing_since);
    same_i64(diff, "waiting_since", row->waiting_since, got->waiting_since);
    same_u64(diff, "delivered", row->delivered, got->delivered);
    same_u64(diff, "failed", row->failed, got->failed);
    same_u64(diff, "dead", row->dead, got->dead);
    same_text(diff, "last_error", row->last_error, got->last_error);
    same_i64(diff, "created_at", row->created_at, got->created_at);
    same_bool(diff, "the last event before it is passed", true,
              got->position >= want->position_least);
    same_bool(diff, "the next event is not passed", true,
              want->position_below == 0 || got->position < want->position_below);
}

static void same_one_webhook(struct diff *diff, const struct model_answer *want,
                             const struct tidings_answer *got)
{
    same_webhook(diff, &want->webhook_rows[0], &got->u.webhook);
    same_bool(diff, "secrets are kept", true,
              got->u.webhook.secret.p == NULL && got->u.webhook.old_secret.p == NULL);
}

static void same_webhooks(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.webhooks.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_webhook *row = &want->webhook_rows[diff->row].row;
        const struct tidings_webhook *has = &got->u.webhooks.rows[diff->row];

        same_webhook(diff, &want->webhook_rows[diff->row], has);
        same_text(diff, "secret", row->secret, has->secret);
        same_i64(diff, "old_secret_ms", row->old_secret_ms, has->old_secret_ms);
        if (row->old_secret_ms > 0)
            same_text(diff, "old_secret", row->old_secret, has->old_secret);
        else
            same_u64(diff, "old_secret", 0, has->old_secret.n);
    }
    diff->list = NULL;
}

static int line_of_webhook(char *line, const struct tidings_webhook *row)
{
    return snprintf(line, RENDER_MAX, "webhook %" PRIu64 " state %d delivered %" PRIu64,
                    row->generation, (int)row->state, row->delivered);
}

static int webhook_line(char *line, const struct tidings_answer *answer)
{
    return line_of_webhook(line, &answer->u.webhook);
}

static int model_webhook_line(char *line, const struct model_answer *answer)
{
    return line_of_webhook(line, &answer->webhook_rows[0].row);
}

/* What is due: the events behind its position that it wants. */
static bool sweep_due(struct sweep *sweep, uint64_t position, uint64_t place, uint64_t events)
{
    struct run *run = sweep->run;
    struct tidings_op op = admin_question(sweep, TIDINGS_OP_EVENTS);
    const struct model_webhook wants = {.events = events};
    struct tidings_cursor after = {place, 0};

    op.u.page.limit = sweep->limit;
    op.u.page.after.a = position;
    do {
        if (!run_op(run, &op, after))
            return false;
        for (size_t i = 0; i < run->answer.u.events.n; i++) {
            const struct tidings_event *event = &run->answer.u.events.rows[i];

            if (tidings_webhook_wants(events, event) != model_webhook_wants(&wants, event->type))
                return run_fail(run, "whether a webhook with the events %" PRIx64 " wants %d",
                                events, (int)event->type);
        }
        op.u.page.after = run->answer.u.events.next;
        after = run->expected.next;
    } while (run->expected.n == sweep->limit);
    return true;
}

enum { SWEPT_MOST = 16 };

static bool sweep_webhooks(struct sweep *sweep)
{
    struct tidings_op op = admin_question(sweep, TIDINGS_OP_WEBHOOKS);
    struct run *run = sweep->run;
    uint64_t positions[SWEPT_MOST], places[SWEPT_MOST], events[SWEPT_MOST];
    size_t n;

    if (!model_webhooks_exact(&run->model, sweep->now_ms))
        return true;
    if (!sweep_ask(sweep, &op))
        return false;
    n = run->expected.n < SWEPT_MOST ? run->expected.n : SWEPT_MOST;
    for (size_t i = 0; i < n; i++) {
        positions[i] = run->answer.u.webhooks.rows[i].position;
        places[i] = run->expected.webhook_rows[i].place;
        events[i] = run->answer.u.webhooks.rows[i].events;
    }
    for (size_t i = 0; i < n; i++) {
        if (!sweep_due(sweep, positions[i], places[i], events[i]))
            return false;
    }
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_webhook_set = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_PUSH] = 15},
    .arguments = set_arguments,
    .mistake = bad_webhook,
    .aim = aim_webhooks,
    .report = set_report,
    .learn = learn_generation,
    .check = check_webhook,
    .write = write_webhook_set,
    .compare = same_one_webhook,
    .line = webhook_line,
    .model_line = model_webhook_line,
};

const struct op_row row_webhook_delete = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_PUSH] = 2},
    .arguments = webhook_arguments,
    .mistake = bad_webhook,
    .report = webhook_report,
    .check = check_webhook,
    .write = write_webhook_delete,
};

const struct op_row row_webhook_retry = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_PUSH] = 8},
    .arguments = webhook_arguments,
    .mistake = bad_webhook,
    .report = webhook_report,
    .learn = learn_generation,
    .check = check_webhook,
    .write = write_webhook_retry,
    .compare = same_one_webhook,
    .line = webhook_line,
    .model_line = model_webhook_line,
};

const struct op_row row_webhook_report = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_STORY] = 1, [MOOD_PUSH] = 25},
    .arguments = report_arguments,
    .mistake = bad_report,
    .report = report_report,
    .resolve = resolve_report,
    .check = check_webhook_report,
    .write = write_webhook_report,
};

/* Never made up: the model has no consumers. Their rows are tested in tests/contract. */
const struct op_row row_consumer_set = {.compare = same_one_webhook};

const struct op_row row_target_wish = {.compare = same_one_webhook};
const struct op_row row_letters = {0};
const struct op_row row_webhooks = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_PUSH] = 10},
    .arguments = webhooks_arguments,
    .aim = aim_webhooks,
    .check = model_check_own_page,
    .read = read_webhooks,
    .compare = same_webhooks,
    .sweep = sweep_webhooks,
};

const struct op_row row_webhook = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_PUSH] = 5},
    .arguments = webhook_arguments,
    .mistake = bad_webhook,
    .report = webhook_report,
    .check = check_webhook,
    .read = read_webhook,
    .compare = same_one_webhook,
};
