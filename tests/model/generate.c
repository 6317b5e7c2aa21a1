/* SPDX-License-Identifier: MIT */
#include "generate.h"

#include "ops.h"

#include <string.h>

/* ---- The world ----------------------------------------------------------------------------- */

void generator_init(struct generator *g, struct recording *recording, uint64_t seed, size_t users)
{
    memset(g, 0, sizeof *g);
    rng_seed(&g->rng, seed);
    g->recording = recording;
    g->large_body_every = 300;
    recording->seed = seed;
    generate_settings(g);
    generate_users(g, users);
    /* Not before 2025, when the ids of posts begin to count. */
    g->now_ms = INT64_C(1760000000000) + (int64_t)rng_below(&g->rng, 1000000000);
    recording->start_ms = g->now_ms;
    g->until_sweep = 50;
}

uint64_t some_author(struct generator *g)
{
    if (rng_percent(&g->rng, 40))
        return g->focus_author;
    return g->recording->user_ids[rng_below(&g->rng, g->n_authors)];
}

uint64_t some_user(struct generator *g)
{
    if (rng_percent(&g->rng, 40))
        return g->focus_fan;
    return g->recording->user_ids[rng_below(&g->rng, g->recording->n_users)];
}

/* Somebody to follow, look at, ask about; now and then nobody has ever heard of them. */
uint64_t some_target(struct generator *g, uint64_t viewer)
{
    uint64_t id = rng_percent(&g->rng, 75) ? some_author(g) : some_user(g);

    if (rng_percent(&g->rng, 1))
        return 500000 + rng_below(&g->rng, 3);
    if (id == viewer)
        id = g->recording->user_ids[rng_below(&g->rng, g->recording->n_users)];
    return id;
}

static void change_mood(struct generator *g)
{
    if (g->mood_left-- > 0)
        return;
    /* Nothing happens before somebody follows somebody. */
    g->mood = g->recording->n == 0 ? MOOD_RELATE : (unsigned)rng_below(&g->rng, MOODS);
    g->mood_left = (unsigned)rng_between(&g->rng, 30, rng_percent(&g->rng, 10) ? 500 : 150);
    g->focus_author = g->recording->user_ids[rng_below(&g->rng, g->n_authors)];
    g->focus_fan = g->recording->user_ids[rng_below(&g->rng, g->recording->n_users)];
    g->standstill = rng_percent(&g->rng, 30);
    g->has_focus_post = g->has_focus_comment = false;
}

static void move_clock(struct generator *g)
{
    unsigned way = (unsigned)rng_below(&g->rng, 1000);

    if (g->standstill && way < 990)
        way = 0;
    if (way < 550)
        ;
    else if (way < 800)
        g->now_ms += (int64_t)rng_between(&g->rng, 1, 20);
    else if (way < 945)
        g->now_ms += (int64_t)rng_between(&g->rng, 1, 3000);
    else if (way < 980)
        g->now_ms += (int64_t)rng_between(&g->rng, 1, 600000);
    else if (way < 987)
        g->now_ms += (int64_t)rng_between(&g->rng, 1, 7200000);
    else if (way < 990)
        g->now_ms += (int64_t)rng_between(&g->rng, 1, 3 * 86400000);
    else
        g->now_ms -= (int64_t)rng_between(&g->rng, 1, 500);
}

/* To a moment when something is just about to change, or just has, if that is soon. */
void aim_clock(struct generator *g, int64_t moment_ms)
{
    int64_t soon_ms = rng_percent(&g->rng, 10) ? 15 * 86400000LL : 86400000LL;

    moment_ms += (int64_t)rng_below(&g->rng, 3) - 1;
    if (moment_ms >= g->now_ms && moment_ms < g->now_ms + soon_ms)
        g->now_ms = moment_ms;
}

/* Twenty writes in one millisecond at most, that of a clock that never goes back. */
static void count_write(struct generator *g)
{
    if (g->now_ms > g->latest_ms) {
        g->latest_ms = g->now_ms;
        g->writes_in_ms = 0;
    }
    if (++g->writes_in_ms > 20) {
        g->now_ms = ++g->latest_ms;
        g->writes_in_ms = 1;
    }
}

/* ---- Arguments ----------------------------------------------------------------------------- */

struct ref some_token(struct generator *g, struct run *run, uint64_t viewer,
                      bool (*is_edge)(struct run *run, uint64_t viewer,
                                      const struct model_moment *covers))
{
    uint64_t slot = 0;

    if (rng_percent(&g->rng, 20))
        return (struct ref){REF_AS_OF, 0, 0};
    for (int tries = 0; tries < 24; tries++) {
        slot = rng_between(&g->rng, 1, SLOTS - 1);
        if (run->slots[slot].covers.given && is_edge(run, viewer, &run->slots[slot].covers))
            break;
    }
    return (struct ref){REF_AS_OF, 0, slot};
}

void page_arguments(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_page *page = op_page(&step->op);
    uint64_t most = g->recording->settings.page_max;
    size_t slot = rng_below(&g->rng, LISTS);
    struct generator_list *list = &g->lists[slot];

    (void)run;
    if (rng_percent(&g->rng, 70)) {
        /* Another page of a list, or the first one of the next list in its place. */
        if (list->number != 0 && rng_percent(&g->rng, 85)) {
            step->op = list->op;
            step->post = list->post;
            step->parent = list->parent;
        } else {
            list->number += list->number == 0 && slot != 0 ? (uint32_t)slot : LISTS;
            list->op = step->op;
            list->post = step->post;
            list->parent = step->parent;
            step->list_begins = true;
        }
        step->list = list->number;
    } else if (rng_percent(&g->rng, 5) && !op_row(step->op.kind)->endless) {
        step->wild_cursor = true;
        page->after = (struct tidings_cursor){1 + (rng_next(&g->rng) & TIDINGS_ID_MAX) / 2,
                                              (rng_next(&g->rng) & TIDINGS_ID_MAX) / 2};
    }
    page = op_page(&step->op);
    page->limit = 0;
    if (rng_percent(&g->rng, 80))
        page->limit =
            (uint32_t)rng_between(&g->rng, 1, rng_percent(&g->rng, 70) && most > 6 ? 6 : most);
}

/* Any users, each once, in order. */
void among_arguments(struct generator *g, struct run *run, struct step *step)
{
    size_t n = g->recording->n_users;
    uint64_t *ids = recording_room(g->recording, n * sizeof *ids);
    uint64_t last = 0;

    (void)run;
    step->op.u.among.author_id = some_target(g, 0);
    step->op.u.among.user_ids = ids;
    for (;;) {
        uint64_t next = UINT64_MAX;

        for (size_t i = 0; i < n; i++) {
            uint64_t id = g->recording->user_ids[i];

            if (id > last && id < next)
                next = id;
        }
        if (next == UINT64_MAX)
            return;
        last = next;
        if (rng_percent(&g->rng, 40))
            ids[step->op.u.among.n_user_ids++] = next;
    }
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* The next operation, by the mood. */
static enum tidings_op_kind some_kind(struct generator *g)
{
    unsigned sum = 0;
    unsigned at;

    for (int i = 0; i < TIDINGS_OP_COUNT; i++)
        sum += op_row((enum tidings_op_kind)i)->weights[g->mood];
    at = (unsigned)rng_below(&g->rng, sum);
    for (int i = 0; i < TIDINGS_OP_COUNT; i++) {
        unsigned weight = op_row((enum tidings_op_kind)i)->weights[g->mood];

        if (at < weight)
            return (enum tidings_op_kind)i;
        at -= weight;
    }
    return TIDINGS_OP_BADGE;
}

static enum tidings_role some_role(struct generator *g)
{
    unsigned percent = (unsigned)rng_below(&g->rng, 100);

    return percent < 90   ? TIDINGS_ROLE_USER
           : percent < 96 ? TIDINGS_ROLE_SERVICE
                          : TIDINGS_ROLE_ADMIN;
}

/* To when a token comes back. */
void aim_at_token(struct generator *g, int64_t full_at, uint64_t burst, uint64_t refill_ms)
{
    aim_clock(g, full_at + (int64_t)refill_ms - (int64_t)(refill_ms * burst));
}

/* When the last answer that was remembered for the user is forgotten. */
static void aim_at_once(struct generator *g, const struct model *model, uint64_t user_id)
{
    for (size_t i = model->n_onces; i-- > 0;) {
        if (model->onces[i].user_id == user_id) {
            aim_clock(g, model->onces[i].at + (int64_t)g->recording->settings.once_hours * 3600000);
            return;
        }
    }
}

/* An operation that is to be made once: for the first time, or again, or with the key of another.
 */
static void make_once(struct generator *g, struct run *run, struct step *step)
{
    const struct recording *recording = g->recording;

    for (int tries = 0; tries < 60 && recording->n > 0 && rng_percent(&g->rng, 97); tries++) {
        size_t back = rng_below(&g->rng, recording->n < 400 ? recording->n : 400);
        const struct step *before = &recording->steps[recording->n - 1 - back];

        if (before->once == 0)
            continue;
        if (rng_percent(&g->rng, 70)) {
            *step = *before;
        } else {
            step->once = before->once;
            step->once_print = before->once_print;
            if (rng_percent(&g->rng, 70))
                step->op.user_id = before->op.user_id;
        }
        if (rng_percent(&g->rng, 15))
            step->once_print++;
        if (rng_percent(&g->rng, 15))
            aim_at_once(g, &run->model, step->op.user_id);
        return;
    }
    step->once = ++g->n_onces;
    step->once_print = step->once;
}

static void make_op(struct generator *g, struct run *run, struct step *step)
{
    const struct op_row *row;

    step->op.kind = some_kind(g);
    step->op.role = some_role(g);
    step->op.user_id = some_user(g);
    step->by_clock = rng_percent(&g->rng, 10);
    move_clock(g);
    row = op_row(step->op.kind);
    if (row->arguments != NULL)
        row->arguments(g, run, step);
    /* At a moment that matters to the operation. */
    if (rng_percent(&g->rng, 15) && op_row(step->op.kind)->aim != NULL)
        op_row(step->op.kind)->aim(g, run, step);
    if (model_op_writes(step->op.kind) && rng_percent(&g->rng, 8))
        make_once(g, run, step);
    if (model_op_writes(step->op.kind))
        count_write(g);
    /* Tokens that answers give, and of the moment just before something new. */
    row = op_row(step->op.kind);
    if ((row->as_of != 0 && rng_percent(&g->rng, 60)) ||
        (row->delivers && rng_percent(&g->rng, 50)))
        step->keep_as_of = (uint32_t)rng_between(&g->rng, 1, SLOTS - 1);
    if (rng_percent(&g->rng, 4)) {
        generate_mistake(g, step);
        if (rng_percent(&g->rng, 30))
            generate_mistake(g, step);
    }
}

static struct step *new_step(struct generator *g)
{
    struct step *step = &g->recording->steps[g->recording->n];

    memset(step, 0, sizeof *step);
    return step;
}

static void make_sweep(struct generator *g, struct step *step)
{
    uint64_t most = g->recording->settings.page_max;

    step->kind = STEP_SWEEP;
    step->op.u.page.limit = (uint32_t)rng_between(&g->rng, (most + 1) / 2, most);
    if (rng_percent(&g->rng, 10))
        step->op.u.page.limit = (uint32_t)rng_between(&g->rng, 1, most);
    g->until_sweep = (unsigned)rng_between(&g->rng, 200, 1200);
}

/* Closing and opening; now and then with other rules. */
static void make_reopening(struct generator *g, const struct run *run, struct step *step)
{
    struct tidings_settings *rules = recording_room(g->recording, sizeof *rules);
    size_t voted = 0;

    step->kind = STEP_REOPEN;
    for (size_t i = 0; i < run->model.n_comments; i++)
        voted += run->model.comments[i].reactions.n > 0;
    /* All that fold or come back do so in one millisecond, which has only so many ids. */
    if (voted > 200 || !rng_percent(&g->rng, 30))
        return;
    *rules = run->options.settings;
    generate_rules(g, rules);
    step->rules = rules;
}

struct step *generator_next(struct generator *g, struct run *run)
{
    struct step *step = new_step(g);
    unsigned way = (unsigned)rng_below(&g->rng, 1000);

    change_mood(g);
    if (g->until_sweep-- == 0)
        make_sweep(g, step);
    else if (way < 4)
        make_reopening(g, run, step);
    else if (way < 6)
        step->kind = STEP_VERIFY;
    else
        make_op(g, run, step);
    step->now_ms = g->now_ms;
    g->recording->n++;
    return step;
}

struct step *generator_last(struct generator *g)
{
    struct step *step = new_step(g);

    make_sweep(g, step);
    step->now_ms = g->now_ms;
    g->recording->n++;
    return step;
}
