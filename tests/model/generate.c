/* SPDX-License-Identifier: MIT */
#include "generate.h"

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

static uint64_t some_author(struct generator *g)
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
static uint64_t some_target(struct generator *g, uint64_t viewer)
{
    uint64_t id = rng_percent(&g->rng, 75) ? some_author(g) : some_user(g);

    if (rng_percent(&g->rng, 1))
        return 500000 + rng_below(&g->rng, 3);
    if (id == viewer)
        id = g->recording->user_ids[rng_below(&g->rng, g->recording->n_users)];
    return id;
}

/* Somebody the viewer follows, if there is anybody. */
static uint64_t some_followed(struct generator *g, const struct model *model, uint64_t viewer)
{
    uint64_t found = 0;
    uint64_t n = 0;

    for (size_t i = 0; i < model->n_follows; i++) {
        if (model->follows[i].fan == viewer && rng_below(&g->rng, ++n) == 0)
            found = model->follows[i].author;
    }
    return n > 0 ? found : some_target(g, viewer);
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
static void aim_clock(struct generator *g, int64_t moment_ms)
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

struct ref some_post(struct generator *g, struct run *run, uint64_t viewer, bool any)
{
    const struct model *model = &run->model;
    struct model_user *user = model_user(&run->model, viewer);
    size_t span = rng_percent(&g->rng, 60) ? 60 : model->n_posts;
    size_t pick = 0;

    if (model->n_posts == 0 || (any && rng_percent(&g->rng, 10)))
        return (struct ref){REF_POST, 0, g->recording->n_publishes + rng_below(&g->rng, 3)};
    if (span > model->n_posts)
        span = model->n_posts;
    for (int tries = 0; tries < 24; tries++) {
        pick = model->n_posts - 1 - rng_below(&g->rng, span);
        if (any || user->cells[pick].delivered)
            break;
    }
    /* Next to a post's id there is most likely none. */
    return (struct ref){REF_POST, any && rng_percent(&g->rng, 5) ? 1 : 0, run->publish_of[pick]};
}

/* A post that the viewer wrote, if they wrote any lately. */
static struct ref some_own_post(struct generator *g, struct run *run, uint64_t viewer)
{
    const struct model *model = &run->model;

    for (int tries = 0; tries < 24 && model->n_posts > 0; tries++) {
        size_t pick = rng_below(&g->rng, model->n_posts);

        if (model->posts[pick].author_id == viewer)
            return (struct ref){REF_POST, 0, run->publish_of[pick]};
    }
    return some_post(g, run, viewer, true);
}

/* As much of the inbox as one operation may mark, in order. */
static void mark_inbox(struct generator *g, struct run *run, struct step *step)
{
    const struct model_user *user = model_user(&run->model, step->op.user_id);
    size_t most = (size_t)g->recording->settings.mark_max;
    bool read = step->op.kind == TIDINGS_OP_MARK_READ;
    bool only_new = rng_percent(&g->rng, 70); /* that this changes something */
    size_t n = 0;

    step->posts = recording_room(g->recording, most * sizeof *step->posts);
    for (size_t i = 0; i < run->model.n_posts && n < most; i++) {
        if (user->cells[i].delivered && !(only_new && user->cells[i].is_read == read))
            step->posts[n++] = (struct ref){REF_POST, 0, run->publish_of[i]};
    }
    step->op.u.mark.n_post_ids = n;
}

struct ref some_token(struct generator *g)
{
    return (struct ref){REF_AS_OF, 0,
                        rng_percent(&g->rng, 80) ? rng_between(&g->rng, 1, SLOTS - 1) : 0};
}

static void mark_arguments(struct generator *g, struct run *run, struct step *step)
{
    uint64_t most = g->recording->settings.mark_max;
    uint64_t n = rng_between(&g->rng, 1, rng_percent(&g->rng, 5) ? most : most < 12 ? most : 12);

    if (step->op.kind == TIDINGS_OP_MARK_READ && rng_percent(&g->rng, 35)) {
        if (rng_percent(&g->rng, 60))
            step->op.u.mark.author_id = some_target(g, step->op.user_id);
        step->up_to = some_token(g);
        return;
    }
    if (rng_percent(&g->rng, 4)) {
        mark_inbox(g, run, step);
        return;
    }
    step->op.u.mark.n_post_ids = n;
    step->posts = recording_room(g->recording, n * sizeof *step->posts);
    for (uint64_t i = 0; i < n; i++) {
        step->posts[i] = some_post(g, run, step->op.user_id, false);
        if (i > 0 && rng_percent(&g->rng, 15))
            step->posts[i] = step->posts[rng_below(&g->rng, i)];
    }
    /* One id that is not in the inbox spoils the whole list. */
    if (rng_percent(&g->rng, 8))
        step->posts[rng_below(&g->rng, n)] = some_post(g, run, step->op.user_id, true);
}

void page_arguments(struct generator *g, struct step *step)
{
    struct tidings_page *page = op_page(&step->op);
    uint64_t most = g->recording->settings.page_max;
    size_t slot = rng_below(&g->rng, LISTS);
    struct generator_list *list = &g->lists[slot];

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
    } else if (rng_percent(&g->rng, 5) && step->op.kind != TIDINGS_OP_EVENTS) {
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

static void event_arguments(struct generator *g, struct run *run, struct step *step)
{
    if (rng_percent(&g->rng, 85))
        step->op.role = TIDINGS_ROLE_SERVICE;
    if (rng_percent(&g->rng, 40))
        step->post = (struct ref){REF_EVENT, -(int64_t)rng_below(&g->rng, 2),
                                  rng_below(&g->rng, run->model.n_events + 1)};
    else if (rng_percent(&g->rng, 5))
        step->post = (struct ref){REF_NUMBER, 0, TIDINGS_ID_MAX};
}

static void feed_arguments(struct generator *g, struct step *step)
{
    bool inbox = step->op.kind == TIDINGS_OP_INBOX;

    step->op.u.feed.filter = (enum tidings_filter)rng_below(&g->rng, 3);
    if (!inbox || rng_percent(&g->rng, 40))
        step->op.u.feed.author_id = some_target(g, step->op.user_id);
    if (!inbox && rng_percent(&g->rng, 5))
        step->op.u.feed.author_id = step->op.user_id;
}

/* Any users, each once, in order. */
void among_arguments(struct generator *g, struct step *step)
{
    size_t n = g->recording->n_users;
    uint64_t *ids = recording_room(g->recording, n * sizeof *ids);
    uint64_t last = 0;

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

static void post_text_arguments(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_op *op = &step->op;

    if (op->kind == TIDINGS_OP_PUBLISH) {
        if (rng_percent(&g->rng, 90))
            op->user_id = g->mood == MOOD_PUBLISH && rng_percent(&g->rng, 80) ? g->focus_author
                                                                              : some_author(g);
        op->u.publish.kind = (enum tidings_post_kind)rng_between(&g->rng, 1, 3);
        op->u.publish.title = generate_title(g);
        op->u.publish.body = generate_any_body(g);
        step->publish = g->recording->n_publishes++;
        return;
    }
    if (rng_percent(&g->rng, 80))
        op->user_id = some_author(g);
    step->post = some_own_post(g, run, op->user_id);
    if (rng_percent(&g->rng, 60))
        op->u.edit.title = generate_title(g);
    if (rng_percent(&g->rng, 60) || op->u.edit.title.p == NULL)
        op->u.edit.body = generate_any_body(g);
    if (op->u.edit.title.p == NULL && op->u.edit.body.p == NULL)
        op->u.edit.body = (struct tidings_text){"", 0};
}

static void arguments(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_op *op = &step->op;

    switch (op->kind) {
    case TIDINGS_OP_FOLLOW:
    case TIDINGS_OP_UNFOLLOW:
    case TIDINGS_OP_STATUS:
        op->u.relation.user_id = some_target(g, op->user_id);
        if (op->kind == TIDINGS_OP_UNFOLLOW && rng_percent(&g->rng, 60))
            op->u.relation.user_id = some_followed(g, &run->model, op->user_id);
        op->u.relation.purge_inbox = op->kind == TIDINGS_OP_UNFOLLOW && rng_percent(&g->rng, 30);
        break;
    case TIDINGS_OP_FANS_AMONG:
        among_arguments(g, step);
        break;
    case TIDINGS_OP_COUNTERS:
    case TIDINGS_OP_PROFILE:
        op->u.user.user_id = some_target(g, 0);
        break;
    case TIDINGS_OP_PROFILE_SET:
        if (rng_percent(&g->rng, 70))
            op->u.profile.name = generate_name(g);
        if (rng_percent(&g->rng, 40) || op->u.profile.name.p == NULL)
            op->u.profile.avatar = generate_avatar(g);
        break;
    case TIDINGS_OP_PUBLISH:
    case TIDINGS_OP_EDIT:
        post_text_arguments(g, run, step);
        break;
    case TIDINGS_OP_DELETE:
        if (rng_percent(&g->rng, 70))
            op->user_id = some_author(g);
        if (rng_percent(&g->rng, 20))
            op->role = TIDINGS_ROLE_ADMIN;
        step->post = some_own_post(g, run, op->user_id);
        break;
    case TIDINGS_OP_OPEN:
    case TIDINGS_OP_HISTORY_DELETE:
    case TIDINGS_OP_POST:
        step->post = some_post(g, run, op->user_id, rng_percent(&g->rng, 20));
        break;
    case TIDINGS_OP_MARK_READ:
    case TIDINGS_OP_MARK_UNREAD:
        mark_arguments(g, run, step);
        break;
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        op->u.users.user_id = some_target(g, 0);
        page_arguments(g, step);
        break;
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        feed_arguments(g, step);
        page_arguments(g, step);
        break;
    case TIDINGS_OP_EVENTS:
        event_arguments(g, run, step);
        page_arguments(g, step);
        break;
    case TIDINGS_OP_HISTORY:
        page_arguments(g, step);
        break;
    case TIDINGS_OP_SCENE_PUBLISH:
    case TIDINGS_OP_SCENE_EDIT:
    case TIDINGS_OP_SCENE_DELETE:
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SCENE:
    case TIDINGS_OP_READING_SET:
    case TIDINGS_OP_READING_DELETE:
    case TIDINGS_OP_READING_CLEAR:
    case TIDINGS_OP_READING:
    case TIDINGS_OP_SUBSCRIBE:
    case TIDINGS_OP_UNSUBSCRIBE:
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_SUBSCRIBERS:
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
    case TIDINGS_OP_PREFERENCES:
    case TIDINGS_OP_PREFERENCES_SET:
    case TIDINGS_OP_NOTIFICATIONS:
    case TIDINGS_OP_NOTIFICATIONS_MARK:
        generate_story(g, run, step);
        break;
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
    case TIDINGS_OP_COMMENT:
    case TIDINGS_OP_COMMENT_DELETE:
    case TIDINGS_OP_COMMENT_HIDE:
    case TIDINGS_OP_COMMENT_RESTORE:
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
    case TIDINGS_OP_COMMENTS:
    case TIDINGS_OP_STATS:
    case TIDINGS_OP_HOT:
        generate_interaction(g, run, step);
        break;
    /* Not asked for here. */
    case TIDINGS_OP_WEBHOOK_SET:
    case TIDINGS_OP_WEBHOOK_DELETE:
    case TIDINGS_OP_WEBHOOK_RETRY:
    case TIDINGS_OP_WEBHOOK_REPORT:
    case TIDINGS_OP_WEBHOOKS:
    case TIDINGS_OP_WEBHOOK:
    case TIDINGS_OP_HISTORY_CLEAR:
    case TIDINGS_OP_BADGE:
    case TIDINGS_OP_UNREAD:
    case TIDINGS_OP_COUNT:
        break;
    }
}

/* ---- Steps --------------------------------------------------------------------------------- */

static enum tidings_role some_role(struct generator *g)
{
    unsigned percent = (unsigned)rng_below(&g->rng, 100);

    return percent < 90   ? TIDINGS_ROLE_USER
           : percent < 96 ? TIDINGS_ROLE_SERVICE
                          : TIDINGS_ROLE_ADMIN;
}

static bool gives_as_of(enum tidings_op_kind kind)
{
    return kind == TIDINGS_OP_AUTHOR_PAGE || kind == TIDINGS_OP_INBOX || kind == TIDINGS_OP_BADGE ||
           kind == TIDINGS_OP_UNREAD || kind == TIDINGS_OP_NOTIFICATIONS;
}

/* To when a token comes back. */
static void aim_at_token(struct generator *g, int64_t full_at, uint64_t burst, uint64_t refill_ms)
{
    aim_clock(g, full_at + (int64_t)refill_ms - (int64_t)(refill_ms * burst));
}

/* At a moment that matters to the operation: a token comes back, an event goes. */
static void aim(struct generator *g, struct run *run, const struct step *step)
{
    const struct tidings_settings *s = &g->recording->settings;
    const struct model *model = &run->model;
    const struct model_user *user = model_user(&run->model, step->op.user_id);

    if (!rng_percent(&g->rng, 15))
        return;
    if (step->op.kind == TIDINGS_OP_FOLLOW || step->op.kind == TIDINGS_OP_UNFOLLOW ||
        step->op.kind == TIDINGS_OP_PREFERENCES_SET)
        aim_at_token(g, user->full_at, s->follow_burst, s->follow_refill_ms);
    if (step->op.kind == TIDINGS_OP_REACT || step->op.kind == TIDINGS_OP_UNREACT)
        aim_at_token(g, user->react_full_at, s->react_burst, s->react_refill_ms);
    if (step->op.kind == TIDINGS_OP_COMMENT)
        aim_at_token(g, user->comment_full_at, s->comment_burst, s->comment_refill_ms);
    if (step->op.kind == TIDINGS_OP_EVENTS && model->n_events > 0)
        aim_clock(g, model->events[rng_below(&g->rng, model->n_events)].happened_at +
                         (int64_t)s->event_days * 86400000);
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
    step->op.kind = generate_kind(g);
    step->op.role = some_role(g);
    step->op.user_id = some_user(g);
    step->by_clock = rng_percent(&g->rng, 10);
    move_clock(g);
    arguments(g, run, step);
    aim(g, run, step);
    if (model_op_writes(step->op.kind) && rng_percent(&g->rng, 8))
        make_once(g, run, step);
    if (model_op_writes(step->op.kind))
        count_write(g);
    if (gives_as_of(step->op.kind) && rng_percent(&g->rng, 60))
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

struct step *generator_next(struct generator *g, struct run *run)
{
    struct step *step = new_step(g);
    unsigned way = (unsigned)rng_below(&g->rng, 1000);

    change_mood(g);
    if (g->until_sweep-- == 0)
        make_sweep(g, step);
    else if (way < 4)
        generate_reopening(g, run, step);
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
