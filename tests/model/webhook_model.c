/* SPDX-License-Identifier: MIT */
/*
 * Webhooks in the model. Where one stands is how many of all events lie behind it; what is due is all that it wants of the others.
 * Events that grow old while they wait are given up whenever the engine comes to it, which the model cannot know: it goes
 * by webhooks only as long as no event is old (model_webhooks_exact).
 */
#include "ops.h"

#include <stdlib.h>
#include <string.h>

#define DAY_MS INT64_C(86400000)

enum { NAME_BYTES = 30, URL_BYTES = 2048, SECRET_LEAST = 16, SECRET_MOST = 256, ERROR_BYTES = 200 };
enum { PASSED_BY_MOST = 16384 };

bool model_webhooks_exact(const struct model *model, int64_t now_ms)
{
    int64_t t = now_ms < model->newest_write_ms ? model->newest_write_ms : now_ms;

    return model->n_events == 0 ||
           model->events[0].happened_at > t - (int64_t)model->settings.event_days * DAY_MS;
}

struct model_webhook *model_webhook(const struct model *model, struct tidings_text name)
{
    for (size_t i = 0; i < model->n_webhooks; i++) {
        if (model_same_text(model->webhooks[i].name, name))
            return &model->webhooks[i];
    }
    return NULL;
}

static void drop_webhook(struct model_webhook *webhook)
{
    model_drop(webhook->name);
    model_drop(webhook->url);
    model_drop(webhook->secret);
    model_drop(webhook->old_secret);
    model_drop(webhook->last_error);
}

void model_drop_webhooks(struct model *model)
{
    for (size_t i = 0; i < model->n_webhooks; i++)
        drop_webhook(&model->webhooks[i]);
    free(model->webhooks);
}

bool model_webhook_wants(const struct model_webhook *webhook, enum tidings_event_type type)
{
    if (webhook->events == 0)
        return type == TIDINGS_EVENT_SCENE_PUBLISHED;
    return webhook->events >> type & 1;
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static bool name_ok(struct tidings_text name)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";

    if (name.p == NULL || name.n == 0 || name.n > NAME_BYTES)
        return false;
    for (size_t i = 0; i < name.n; i++) {
        if (name.p[i] == '\0' || strchr(allowed, name.p[i]) == NULL)
            return false;
    }
    return true;
}

static bool text_ok(struct tidings_text text, long least, long characters, size_t bytes)
{
    long n = text.n <= bytes ? model_characters(text) : -1;

    return n >= least && n <= characters;
}

const char *check_webhook(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    struct tidings_text secret = op->u.webhook.secret;

    (void)model;
    if (!name_ok(op->u.webhook.name))
        return "name";
    if (op->kind != TIDINGS_OP_WEBHOOK_SET)
        return NULL;
    if (op->u.webhook.url.p == NULL || !text_ok(op->u.webhook.url, 1, URL_BYTES, URL_BYTES) ||
        !model_url_ok(op->u.webhook.url))
        return "url";
    if (secret.p != NULL && !text_ok(secret, SECRET_LEAST, SECRET_MOST, SECRET_MOST))
        return "secret";
    for (unsigned type = 0; type < 64; type++) {
        bool kept = type >= TIDINGS_EVENT_FOLLOW_CREATED && type < TIDINGS_EVENT_STORY_CLOSED;

        if (op->u.webhook.events >> type & 1 && !kept)
            return "events";
    }
    return NULL;
}

const char *check_webhook_report(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    struct tidings_text error = op->u.webhook_report.last_error;

    (void)model;
    if (!name_ok(op->u.webhook_report.name))
        return "name";
    if (op->u.webhook_report.position > TIDINGS_ID_MAX)
        return "position";
    if (op->u.webhook_report.retry_at < 0)
        return "retry_at";
    if (op->u.webhook_report.failing_since < 0)
        return "failing_since";
    if (op->u.webhook_report.waiting_since < 0)
        return "waiting_since";
    if (error.p != NULL && !text_ok(error, 0, ERROR_BYTES, ERROR_BYTES))
        return "last_error";
    return NULL;
}

/* ---- Showing ------------------------------------------------------------------------------------- */

static int64_t old_secret_ms(const struct model_webhook *webhook, int64_t t)
{
    int64_t left = webhook->rotated_at + DAY_MS - t;

    return webhook->old_secret.n > 0 && left > 0 ? left : 0;
}

static enum tidings_webhook_state state_of(const struct model_webhook *webhook)
{
    if (webhook->disabled)
        return TIDINGS_WEBHOOK_DISABLED;
    if (webhook->is_dead)
        return TIDINGS_WEBHOOK_DEAD;
    return webhook->shown.failing_since != 0 ? TIDINGS_WEBHOOK_RETRYING : TIDINGS_WEBHOOK_OK;
}

static uint64_t event_id_at(const struct model *model, size_t place)
{
    return place < model->n_events ? model->events[place].event_id : 0;
}

static void show(const struct model *model, const struct model_webhook *webhook, int64_t t,
                 struct model_answer *answer)
{
    struct model_webhook_row *row = &answer->webhook_rows[answer->n++];

    *row = (struct model_webhook_row){.row = webhook->shown, .place = webhook->place};
    row->row.name = webhook->name;
    row->row.url = webhook->url;
    row->row.last_error = webhook->last_error;
    row->row.events = webhook->events;
    row->row.state = state_of(webhook);
    row->row.secret = webhook->secret;
    row->row.old_secret_ms = old_secret_ms(webhook, t);
    row->row.old_secret = webhook->old_secret;
    row->position_least = webhook->place > 0 ? event_id_at(model, webhook->place - 1) : 0;
    row->position_below = event_id_at(model, webhook->place);
}

static void show_one(const struct model *model, const struct model_webhook *webhook, int64_t t,
                     struct model_answer *answer)
{
    answer->webhook_rows = model_room(NULL, 1, sizeof *answer->webhook_rows);
    show(model, webhook, t, answer);
}

void read_webhook(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct model_webhook *webhook = model_webhook(model, call->op->u.webhook.name);

    if (call->op->role != TIDINGS_ROLE_ADMIN)
        answer->err = TIDINGS_FORBIDDEN;
    else if (webhook == NULL)
        answer->err = TIDINGS_NOT_FOUND;
    else
        show_one(model, webhook, call->t, answer);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct model_webhook_row *)a)->row.name.p,
                  ((const struct model_webhook_row *)b)->row.name.p);
}

void read_webhooks(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    if (call->op->role == TIDINGS_ROLE_USER) {
        answer->err = TIDINGS_FORBIDDEN;
        return;
    }
    answer->webhook_rows = model_room(NULL, model->n_webhooks, sizeof *answer->webhook_rows);
    for (size_t i = 0; i < model->n_webhooks; i++)
        show(model, &model->webhooks[i], call->t, answer);
    if (answer->n > 0)
        qsort(answer->webhook_rows, answer->n, sizeof *answer->webhook_rows, by_name);
}

/* ---- Changing ------------------------------------------------------------------------------------ */

static struct model_webhook *add_webhook(struct model *model, const struct model_call *call)
{
    struct tidings_text none = {"", 0};
    struct model_webhook *webhook;

    model->webhooks = model_room(model->webhooks, model->n_webhooks + 1, sizeof *model->webhooks);
    webhook = &model->webhooks[model->n_webhooks++];
    *webhook = (struct model_webhook){
        .name = model_copy(call->op->u.webhook.name),
        .url = model_copy(none),
        .secret = model_copy(none),
        .old_secret = model_copy(none),
        .last_error = model_copy(none),
        .place = model->n_events,
        .shown = {.created_at = call->t},
    };
    return webhook;
}

/* Before other events are wanted: what the old ones pass by is not looked at again. */
static void pass_by(const struct model *model, struct model_webhook *webhook)
{
    for (size_t n = 0; n < PASSED_BY_MOST && webhook->place < model->n_events; n++) {
        if (model_webhook_wants(webhook, model->events[webhook->place].type))
            return;
        webhook->place++;
    }
}

static void start_anew(struct model *model, const struct model_call *call,
                       struct model_webhook *webhook)
{
    model->newest_generation = call->new_generation;
    webhook->shown.generation = call->new_generation;
    webhook->shown.attempts = 0;
    webhook->shown.retry_at = 0;
    webhook->shown.failing_since = 0;
}

static void set_secret(struct model_webhook *webhook, struct tidings_text secret, bool known,
                       int64_t t)
{
    if (known && !model_same_text(webhook->secret, secret)) {
        model_set_text(&webhook->old_secret, webhook->secret);
        webhook->rotated_at = t;
    }
    model_set_text(&webhook->secret, secret);
}

bool write_webhook_set(struct model *model, const struct model_call *call,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_webhook *webhook = model_webhook(model, op->u.webhook.name);
    bool known = webhook != NULL;

    if (op->role != TIDINGS_ROLE_ADMIN) {
        answer->err = TIDINGS_FORBIDDEN;
        return false;
    }
    if (!known && op->u.webhook.secret.p == NULL) {
        answer->err = TIDINGS_INVALID;
        answer->field = "secret";
        return false;
    }
    if (!known && model->n_webhooks >= model->settings.webhooks_max) {
        answer->err = TIDINGS_WEBHOOK_LIMIT;
        return false;
    }
    if (!known)
        webhook = add_webhook(model, call);
    else if (webhook->events != op->u.webhook.events)
        pass_by(model, webhook);
    model_set_text(&webhook->url, op->u.webhook.url);
    if (op->u.webhook.secret.p != NULL)
        set_secret(webhook, op->u.webhook.secret, known, call->t);
    webhook->disabled = op->u.webhook.disabled;
    webhook->events = op->u.webhook.events;
    start_anew(model, call, webhook);
    show_one(model, webhook, call->t, answer);
    return true;
}

bool write_webhook_delete(struct model *model, const struct model_call *call,
                          struct model_answer *answer)
{
    struct model_webhook *webhook = model_webhook(model, call->op->u.webhook.name);

    if (call->op->role != TIDINGS_ROLE_ADMIN)
        answer->err = TIDINGS_FORBIDDEN;
    else if (webhook == NULL)
        answer->err = TIDINGS_NOT_FOUND;
    if (answer->err != TIDINGS_OK)
        return false;
    drop_webhook(webhook);
    *webhook = model->webhooks[--model->n_webhooks];
    return true;
}

bool write_webhook_retry(struct model *model, const struct model_call *call,
                         struct model_answer *answer)
{
    struct model_webhook *webhook = model_webhook(model, call->op->u.webhook.name);

    if (call->op->role != TIDINGS_ROLE_ADMIN)
        answer->err = TIDINGS_FORBIDDEN;
    else if (webhook == NULL)
        answer->err = TIDINGS_NOT_FOUND;
    if (answer->err != TIDINGS_OK)
        return false;
    if (webhook->is_dead)
        webhook->place = webhook->dead_from;
    webhook->is_dead = false;
    start_anew(model, call, webhook);
    show_one(model, webhook, call->t, answer);
    return true;
}

static void take_report(const struct tidings_op *op, uint64_t reported,
                        struct model_webhook *webhook)
{
    if (reported > webhook->place) {
        if (op->u.webhook_report.dead > 0 && !webhook->is_dead) {
            webhook->is_dead = true;
            webhook->dead_from = webhook->place;
        }
        webhook->shown.dead += op->u.webhook_report.dead;
        webhook->place = reported;
    }
    if (op->u.webhook_report.delivered > 0)
        webhook->is_dead = false;
    webhook->shown.delivered += op->u.webhook_report.delivered;
    webhook->shown.failed += op->u.webhook_report.failed;
    webhook->shown.attempts = op->u.webhook_report.attempts;
    webhook->shown.retry_at = op->u.webhook_report.retry_at;
    webhook->shown.failing_since = op->u.webhook_report.failing_since;
    webhook->shown.waiting_since = op->u.webhook_report.waiting_since;
    if (op->u.webhook_report.last_error.p != NULL)
        model_set_text(&webhook->last_error, op->u.webhook_report.last_error);
}

bool write_webhook_report(struct model *model, const struct model_call *call,
                          struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_webhook *webhook = model_webhook(model, op->u.webhook_report.name);

    if (op->role == TIDINGS_ROLE_USER)
        answer->err = TIDINGS_FORBIDDEN;
    else if (webhook == NULL || webhook->shown.generation != op->u.webhook_report.generation)
        answer->err = TIDINGS_NOT_FOUND;
    if (answer->err != TIDINGS_OK)
        return false;
    if (call->reported > model->n_events) {
        answer->err = TIDINGS_INVALID;
        answer->field = "position";
        return false;
    }
    take_report(op, call->reported, webhook);
    return true;
}
