/* SPDX-License-Identifier: MIT */
/* Events, which nobody but services and admins may read. */
#include "ops.h"

#include <inttypes.h>

#include "support/engine.h"

/* ---- The model ----------------------------------------------------------------------------------- */

void model_add_event(struct model *model, struct tidings_event event)
{
    if (model->n_events == model->events_room) {
        model->events_room = model->events_room * 2 + 64;
        model->events = model_room(model->events, model->events_room, sizeof *model->events);
    }
    model->events[model->n_events++] = event;
}

void model_event(struct model *model, enum tidings_event_type type, int64_t t, uint64_t actor,
                 uint64_t target, uint64_t author, int64_t delta)
{
    model_add_event(model, (struct tidings_event){
                               .type = type,
                               .happened_at = t,
                               .actor_user_id = actor,
                               .target_id = target,
                               .author_id = author,
                               .delta = delta,
                           });
}

static void read_events(struct model *model, const struct model_call *call,
                        struct model_answer *answer)
{
    int64_t t = call->t;
    size_t limit = model_page_limit(model, &call->op->u.page);
    int64_t gone = t - (int64_t)model->settings.event_days * 86400000;

    if (call->op->role == TIDINGS_ROLE_USER) {
        answer->err = TIDINGS_FORBIDDEN;
        return;
    }
    answer->event_rows = model_room(NULL, limit, sizeof *answer->event_rows);
    answer->event_places = model_room(NULL, limit, sizeof *answer->event_places);
    answer->next = call->after;
    for (size_t i = call->after.a; i < model->n_events && answer->n < limit; i++) {
        if (model->events[i].happened_at <= gone)
            continue;
        answer->event_places[answer->n] = i;
        answer->event_rows[answer->n++] = model->events[i];
        answer->next.a = i + 1;
    }
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static void event_arguments(struct generator *g, struct run *run, struct step *step)
{
    if (rng_percent(&g->rng, 85))
        step->op.role = TIDINGS_ROLE_SERVICE;
    if (rng_percent(&g->rng, 40))
        step->post = (struct ref){REF_EVENT, -(int64_t)rng_below(&g->rng, 2),
                                  rng_below(&g->rng, run->model.n_events + 1)};
    else if (rng_percent(&g->rng, 5))
        step->post = (struct ref){REF_NUMBER, 0, TIDINGS_ID_MAX};
    page_arguments(g, run, step);
}

/* To when an event goes. */
static void aim_events(struct generator *g, struct run *run, const struct step *step)
{
    const struct model *model = &run->model;

    (void)step;
    if (model->n_events > 0)
        aim_clock(g, model->events[rng_below(&g->rng, model->n_events)].happened_at +
                         (int64_t)g->recording->settings.event_days * 86400000);
}

static void events_report(struct report *report, const struct step *step)
{
    named_report(report, "after", &step->post);
    page_report(report, step);
}

/* Where EVENTS goes on, for the engine and, as the number of events to pass over, for the model. */
static struct place begin_events(const struct run *run, const struct step *step)
{
    const struct ref *ref = &step->post;
    struct place at = {.engine = {ref->value, 0}};

    if (ref->kind == REF_NUMBER) {
        at.model.a = ref->value == 0 ? 0 : UINT64_MAX; /* beyond all that will ever be */
        return at;
    }
    at.engine.a = 0;
    if (ref->value < run->model.n_events && run->model.events[ref->value].event_id != 0) {
        at.engine.a = run->model.events[ref->value].event_id + (uint64_t)ref->delta;
        at.model.a = ref->value + (ref->delta == 0);
    }
    return at;
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_events(struct diff *diff, const struct model_answer *want,
                        const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.events.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_event *a = &want->event_rows[diff->row];
        const struct tidings_event *b = &got->u.events.rows[diff->row];

        same_u64(diff, "type", a->type, b->type);
        same_i64(diff, "happened_at", a->happened_at, b->happened_at);
        same_u64(diff, "actor_user_id", a->actor_user_id, b->actor_user_id);
        same_u64(diff, "target_id", a->target_id, b->target_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_i64(diff, "delta", a->delta, b->delta);
        same_u64(diff, "post_id", a->post_id, b->post_id);
        same_u64(diff, "reaction", a->reaction, b->reaction);
    }
    diff->list = NULL;
}

static void hold_events(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_event *rows = answer->u.events.rows;
    uint64_t last = check->op->u.page.after.a;

    require_page(check, &check->op->u.page, answer->u.events.n, answer->u.events.next);
    for (size_t i = 0; i < answer->u.events.n; i++) {
        require(check, rows[i].event_id > last, "event ids increase", i);
        require(check, rows[i].event_id <= TIDINGS_ID_MAX, "event ids are below 2^53", i);
        bool later = i == 0 || rows[i].happened_at >= rows[i - 1].happened_at;
        require(check, later, "times too", i);
        last = rows[i].event_id;
    }
    require(check, answer->u.events.next.a == last, "next is the last event", answer->u.events.n);
}

/* Event ids increase all the way, not only on one page; one that was given before is given again.
 */
static bool learn_event_ids(struct run *run)
{
    for (size_t i = 0; i < run->expected.n; i++) {
        uint64_t id = run->answer.u.events.rows[i].event_id;
        struct tidings_event *event = &run->model.events[run->expected.event_places[i]];
        size_t j = run->expected.event_places[i];

        if (event->event_id != 0 && event->event_id != id)
            return run_fail(run, "event %" PRIu64 " now has the id %" PRIu64, event->event_id, id);
        event->event_id = id;
        while (j > 0 && run->model.events[j - 1].event_id == 0)
            j--;
        if (j > 0 && run->model.events[j - 1].event_id >= id)
            return run_fail(run, "event id %" PRIu64 " after %" PRIu64, id,
                            run->model.events[j - 1].event_id);
    }
    return true;
}

static bool sweep_events(struct sweep *sweep)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_EVENTS, sweep->run->recording->user_ids[0]);
    uint64_t n;

    op.role = TIDINGS_ROLE_SERVICE;
    return sweep_list(sweep, op, &n);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_events = {
    .weights =
        {[MOOD_MIXED] = 4, [MOOD_LOOK] = 8, [MOOD_VOTE] = 3, [MOOD_STORY] = 2, [MOOD_PUSH] = 10},
    .page = offsetof(struct tidings_op, u.page),
    .next = offsetof(struct tidings_answer, u.events.next),
    .endless = true,
    .arguments = event_arguments,
    .mistake = generate_bad_page,
    .aim = aim_events,
    .report = events_report,
    .begin = begin_events,
    .check = model_check_own_page,
    .read = read_events,
    .compare = same_events,
    .hold = hold_events,
    .heard = learn_event_ids,
    .sweep = sweep_events,
};
