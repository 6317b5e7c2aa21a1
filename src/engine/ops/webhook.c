/* SPDX-License-Identifier: MIT */
/*
 * Webhooks: who is to be told of which events, and how far telling has come. Whoever delivers reads
 * the events and reports here; nothing of this file calls anybody.
 *
 * A report counts only for the generation that it was made for, so one that comes late never undoes
 * what an admin has changed meanwhile. An event that is removed before a webhook was
 * told of it is given up in the same step, so what is lost is counted exactly.
 */
#include <string.h>

#include "domain/events.h"
#include "domain/ids.h"
#include "domain/permit.h"
#include "engine/ops/halves.h"
#include "engine/ops/letters.h"

/* ---- By admins ------------------------------------------------------------------------------ */

/* How long calls are signed with the secret of before, too; and how far a change looks for what waits. */
#define OLD_SECRET_MS (INT64_C(24) * 60 * 60 * 1000)
enum { EVENTS_A_PAGE = 64, EVENTS_LOOKED_AT = 16384 };

/* By elapsed time; 0: it signs no more, or there is none. */
static int64_t old_secret_ms(const struct view *view, const struct webhook_record *record)
{
    int64_t left = (int64_t)record->rotated + OLD_SECRET_MS - view->elapsed_ms;
    return record->old_secret.n && left > 0 ? left : 0;
}

static void forget_old_secret(const struct view *view, struct webhook_record *record)
{
    if (old_secret_ms(view, record))
        return;
    record->old_secret = (struct bytes){NULL, 0};
    record->rotated = 0;
}

static void set_secret(const struct view *view, struct bytes secret, bool known,
                       struct webhook_record *record)
{
    bool same = secret.n == record->secret.n && !memcmp(secret.p, record->secret.p, secret.n);
    if (known && !same) {
        record->old_secret = record->secret;
        record->rotated = (uint64_t)view->elapsed_ms;
    }
    record->secret = secret;
}

/*
 * Whoever delivers goes past what is not wanted and says so now and then. Before other events are wanted the same is done
 * here, so that these are told from now on, not from wherever the position happened to stand.
 */
static void pass_by(struct view *view, struct webhook_record *record)
{
    struct tidings_event events[EVENTS_A_PAGE];
    size_t n = EVENTS_A_PAGE;
    for (size_t seen = 0; n == EVENTS_A_PAGE && seen < EVENTS_LOOKED_AT; seen += n) {
        n = view->rows->get_events(view, record->position, EVENTS_A_PAGE, events);
        for (size_t i = 0; i < n; i++) {
            if (tidings_webhook_wants(record->events, &events[i]))
                return;
            record->position = events[i].event_id;
        }
    }
}

/* A fresh start: the next event is tried at once and has all the time again. */
void webhook_start_anew(struct view *view, struct webhook_record *record)
{
    record->generation = view->stamp;
    record->attempts = 0;
    record->retry_at = 0;
    record->failing_since = 0;
}

void webhook_save(struct view *view, const struct tidings_op *op, struct tidings_text name,
                  struct webhook_record *record)
{
    forget_old_secret(view, record);
    view->rows->put_webhook(view, name, record);
    view_event(view, TIDINGS_EVENT_WEBHOOK_CHANGED, op->user_id, 0, 0, 0);
}

static bool is_consumer(struct bytes name)
{
    return name.n && *name.p == '.';
}

static size_t count_webhooks(struct view *view)
{
    struct webhook_row *rows;
    size_t all = view->rows->get_webhooks(view, &rows), n = 0;
    for (size_t i = 0; i < all; i++)
        n += !is_consumer(rows[i].name);
    return n;
}

enum tidings_err change_webhook_set(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct webhook_record record = {0};
    if (!permits_admin(op))
        return TIDINGS_FORBIDDEN;
    bool known = view->rows->get_webhook(view, op->u.webhook.name, &record);
    if (view_failed(view))
        return TIDINGS_OK;
    if (!known && !op->u.webhook.secret.p) {
        reply->answer->field = "secret";
        return TIDINGS_INVALID;
    }
    if (!known && count_webhooks(view) >= view->settings->webhooks_max)
        return TIDINGS_WEBHOOK_LIMIT;
    if (!known) {
        record.created = view->stamp;
        record.position = view->rows->newest_position(view);
    } else if (record.events != op->u.webhook.events) {
        pass_by(view, &record);
    }
    if (view_failed(view))
        return TIDINGS_OK;
    record.url = bytes_of(op->u.webhook.url);
    if (op->u.webhook.secret.p)
        set_secret(view, bytes_of(op->u.webhook.secret), known, &record);
    record.disabled = op->u.webhook.disabled;
    record.events = op->u.webhook.events;
    webhook_start_anew(view, &record);
    webhook_save(view, op, op->u.webhook.name, &record);
    return TIDINGS_OK;
}

enum tidings_err change_webhook_delete(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    if (!permits_admin(op))
        return TIDINGS_FORBIDDEN;
    struct webhook_record record = {0};
    if (!view->rows->remove_webhook(view, op->u.webhook.name, &record.created))
        return TIDINGS_NOT_FOUND;
    if (record.created) {
        letters_remove(view, &record, 0);
        view->rows->put_letter(view, record.created, 0, (struct bytes){NULL, 0});
    }
    view_event(view, TIDINGS_EVENT_WEBHOOK_CHANGED, op->user_id, 0, 0, 0);
    return TIDINGS_OK;
}

enum tidings_err change_webhook_retry(struct view *view, struct reply *reply)
{
    struct webhook_record record;
    if (!permits_admin(reply->op))
        return TIDINGS_FORBIDDEN;
    if (!view->rows->get_webhook(view, reply->op->u.webhook.name, &record))
        return TIDINGS_NOT_FOUND;
    webhook_retry(view, &record);
    webhook_start_anew(view, &record);
    webhook_save(view, reply->op, reply->op->u.webhook.name, &record);
    return TIDINGS_OK;
}

/* ---- Consumers ------------------------------------------------------------------------------ */

static uint64_t greater(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Whoever tells the target what happened has missed some of it, or somebody does not trust what it has. */
static void wish_rebuild(struct view *view, struct webhook_record *record)
{
    if (record->fills)
        record->rebuild = view->stamp;
}

/* What there is now, all that is filled after this has; so everything behind it is to be told. */
static enum tidings_err consumer_rebuild(struct view *view, struct reply *reply,
                                         struct webhook_record *record)
{
    record->fills |= reply->op->u.webhook_report.fills;
    if (!record->fills) {
        reply->answer->field = "rebuild";
        return TIDINGS_INVALID;
    }
    record->position = greater(record->position, view->rows->newest_position(view));
    wish_rebuild(view, record);
    return TIDINGS_OK;
}

static void consumer_make(struct view *view, const struct tidings_op *op,
                          struct webhook_record *record)
{
    record->created = view->stamp;
    record->position = greater(event_oldest_kept(view) - 1, 1); /* nothing happened before 1 */
    record->fills = op->u.webhook_report.fills;
    wish_rebuild(view, record);
}

enum tidings_err change_consumer_set(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct tidings_text name = op->u.webhook_report.name;
    struct webhook_record record = {.events = event_bits_all};
    bool fills = op->u.webhook_report.fills, rebuild = op->u.webhook_report.rebuild;
    if (!permits_service(op))
        return TIDINGS_FORBIDDEN;
    bool known = view->rows->get_webhook(view, name, &record);
    if (view_failed(view))
        return TIDINGS_OK;
    if (known && op->u.webhook_report.reconciles)
        letters_set_reconciles(view, &record);
    if (known && !rebuild && op->u.webhook_report.position >= record.position &&
        (record.fills || !fills))
        return TIDINGS_OK;
    if (!known && rebuild && !fills)
        return TIDINGS_NOT_FOUND;
    if (!known)
        consumer_make(view, op, &record);
    else if (op->u.webhook_report.position < record.position)
        record.position = greater(op->u.webhook_report.position, 1);
    if (known && fills && !record.fills) {
        record.fills = true;
        wish_rebuild(view, &record);
    }
    enum tidings_err err = rebuild ? consumer_rebuild(view, reply, &record) : TIDINGS_OK;
    if (err)
        return err;
    if (!known && op->u.webhook_report.reconciles)
        letters_set_reconciles(view, &record);
    if (known) /* they are told again with all that is behind its position, or are filled */
        letters_remove(view, &record, record.position);
    record.dead_from = 0;
    webhook_start_anew(view, &record);
    webhook_save(view, op, name, &record);
    return TIDINGS_OK;
}

/* ---- By whoever delivers -------------------------------------------------------------------- */

static void give_up(struct view *view, struct webhook_record *record, uint64_t n)
{
    if (!n)
        return;
    if (!record->dead_from)
        record->dead_from = record->position;
    record->dead += n;
    wish_rebuild(view, record);
}

/* What the report says of single events, and of what stands at the target. */
static void take_letters(struct view *view, const struct tidings_op *op,
                         const struct webhook_record *record)
{
    struct tidings_text reason = op->u.webhook_report.dead_reason;
    if (!reason.p)
        reason = op->u.webhook_report.last_error;
    if (op->u.webhook_report.dead_event)
        letter_note(view, record, op->u.webhook_report.dead_event, bytes_of(reason));
    if (op->u.webhook_report.settled)
        letter_settle(view, record, op->u.webhook_report.settled);
    letters_end_reconcile(view, record, op->u.webhook_report.reconciled);
}

/* What the report says, into the record. */
static void take_report(struct view *view, const struct tidings_op *op,
                        struct webhook_record *record)
{
    uint64_t position = op->u.webhook_report.position;
    if (position > record->position) {
        /* Whoever delivers went past these without seeing them. Only after a long stop are there any. */
        uint64_t unseen =
            view->rows->count_old_events(view, record->position, position, record->events);
        uint64_t told = op->u.webhook_report.delivered + op->u.webhook_report.dead;
        /* One of them may be the event that the report is about. */
        give_up(view, record, op->u.webhook_report.dead + (unseen > told ? unseen - told : 0));
        record->position = position;
    }
    take_letters(view, op, record);
    if (op->u.webhook_report.delivered)
        record->dead_from = 0;
    if (op->u.webhook_report.rebuilt == record->rebuild)
        record->rebuild = 0;
    record->delivered += op->u.webhook_report.delivered;
    record->failed += op->u.webhook_report.failed;
    record->attempts = op->u.webhook_report.attempts;
    record->retry_at = (uint64_t)op->u.webhook_report.retry_at;
    record->failing_since = (uint64_t)op->u.webhook_report.failing_since;
    record->waiting_since = (uint64_t)op->u.webhook_report.waiting_since;
    if (op->u.webhook_report.last_error.p)
        record->last_error = bytes_of(op->u.webhook_report.last_error);
}

enum tidings_err change_webhook_report(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct webhook_record record;
    if (!permits_service(op))
        return TIDINGS_FORBIDDEN;
    if (!view->rows->get_webhook(view, op->u.webhook_report.name, &record) ||
        record.generation != op->u.webhook_report.generation)
        return TIDINGS_NOT_FOUND;
    if (!view->rows->has_position(view, op->u.webhook_report.position)) {
        reply->answer->field = "position";
        return TIDINGS_INVALID;
    }
    take_report(view, op, &record);
    forget_old_secret(view, &record);
    view->rows->put_webhook(view, op->u.webhook_report.name, &record);
    return TIDINGS_OK;
}

void webhook_forget_event(struct view *view, uint64_t position, const struct tidings_event *event)
{
    struct webhook_row *rows;
    size_t n = view->rows->get_webhooks(view, &rows);
    for (size_t i = 0; i < n; i++) {
        struct webhook_record *record = &rows[i].record;
        struct tidings_text name = {(const char *)rows[i].name.p, rows[i].name.n};
        if (record->position >= position || !tidings_webhook_wants(record->events, event))
            continue;
        give_up(view, record, 1);
        record->position = position;
        record->waiting_since = 0;
        view->rows->put_webhook(view, name, record);
    }
    arena_clear(view->scratch);
}

/* ---- Looking -------------------------------------------------------------------------------- */

static enum tidings_webhook_state state_of(const struct webhook_record *record)
{
    if (record->disabled)
        return TIDINGS_WEBHOOK_DISABLED;
    if (record->dead_from)
        return TIDINGS_WEBHOOK_DEAD;
    return record->failing_since ? TIDINGS_WEBHOOK_RETRYING : TIDINGS_WEBHOOK_OK;
}

static void fill(struct view *view, struct arena *arena, struct bytes name,
                 const struct webhook_record *record, struct tidings_webhook *to)
{
    struct letters_record letters = letters_load(view, record);
    *to = (struct tidings_webhook){
        .name = view_text(view, arena, name),
        .url = view_text(view, arena, record->url),
        .state = state_of(record),
        .generation = record->generation,
        .position = record->position,
        .attempts = (uint32_t)record->attempts,
        .retry_at = (int64_t)record->retry_at,
        .failing_since = (int64_t)record->failing_since,
        .waiting_since = (int64_t)record->waiting_since,
        .delivered = record->delivered,
        .failed = record->failed,
        .dead = record->dead,
        .last_error = view_text(view, arena, record->last_error),
        .events = record->events,
        .created_at = view_time(view, record->created),
        .fills = record->fills,
        .rebuild = record->rebuild,
        .reconciles = letters.reconciles,
        .reconcile = letters.reconcile,
        .letters = letters.kept,
        .letters_again = letters.again,
        .letters_lost = letters.lost,
    };
}

/* After a change, too: another may have removed it between the two steps. */
static enum tidings_err answer_row(struct view *view, struct reply *reply, struct tidings_text name)
{
    struct webhook_record record;
    if (!view->rows->get_webhook(view, name, &record))
        return view_failed(view) ? TIDINGS_CORRUPT : TIDINGS_NOT_FOUND;
    fill(view, reply->arena, bytes_of(name), &record, &reply->answer->u.webhook);
    return TIDINGS_OK;
}

enum tidings_err answer_webhook_set(struct view *view, struct reply *reply)
{
    return answer_row(view, reply, reply->op->u.webhook.name);
}

enum tidings_err answer_target_wish(struct view *view, struct reply *reply)
{
    return answer_row(view, reply, reply->op->u.wish.name);
}

enum tidings_err answer_consumer_set(struct view *view, struct reply *reply)
{
    return answer_row(view, reply, reply->op->u.webhook_report.name);
}

enum tidings_err answer_webhook(struct view *view, struct reply *reply)
{
    return permits_admin(reply->op) ? answer_webhook_set(view, reply) : TIDINGS_FORBIDDEN;
}

enum tidings_err answer_webhooks(struct view *view, struct reply *reply)
{
    if (!permits_service(reply->op))
        return TIDINGS_FORBIDDEN;
    struct webhook_row *found;
    size_t n = view->rows->get_webhooks(view, &found);
    struct tidings_webhook *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; rows && i < n; i++) {
        fill(view, reply->arena, found[i].name, &found[i].record, &rows[i]);
        rows[i].secret = view_text(view, reply->arena, found[i].record.secret);
        rows[i].old_secret_ms = old_secret_ms(view, &found[i].record);
        if (rows[i].old_secret_ms)
            rows[i].old_secret = view_text(view, reply->arena, found[i].record.old_secret);
    }
    reply->answer->u.webhooks.rows = rows;
    reply->answer->u.webhooks.n = n;
    reply->answer->u.webhooks.newest = view->rows->newest_event(view);
    return TIDINGS_OK;
}
