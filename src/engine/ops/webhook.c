/* SPDX-License-Identifier: MIT */
/*
 * Webhooks: who is to be told of tagged events, and how far telling has come. Whoever delivers reads
 * the events and reports here; nothing of this file calls anybody.
 *
 * A report counts only for the generation that it was made for, so one that comes late never undoes
 * what an admin has changed meanwhile. An event that is removed from the log before a webhook was
 * told of it is given up in the same step, so what is lost is counted exactly.
 */
#include <string.h>

#include "domain/ids.h"
#include "engine/ops/ops.h"

static bool is_admin(const struct tidings_op *op)
{
    return op->role == TIDINGS_ROLE_ADMIN;
}

static struct bytes bytes_of(struct tidings_text text)
{
    return (struct bytes){(const uint8_t *)text.p, text.n};
}

/* Whether there is such a webhook. Its texts belong to the transaction. */
static bool find(struct view *view, struct tidings_text name, struct webhook_record *record)
{
    struct key key = key_webhook(name);
    struct bytes value;
    if (!kv_get(view->txn, TABLE_WEBHOOK, &key, &value))
        return false;
    if (webhook_decode(value, record))
        return true;
    view_corrupt(view);
    return false;
}

/* The record's texts may be the transaction's: they are copied before anything is written. */
static enum tidings_err save(struct view *view, const struct key *key,
                             const struct webhook_record *record)
{
    struct bytes value = webhook_encode(record, view->scratch);
    if (!value.p)
        return TIDINGS_NO_MEMORY;
    kv_put(view->txn, TABLE_WEBHOOK, key, value.p, value.n);
    return TIDINGS_OK;
}

static uint64_t count(struct view *view)
{
    struct key first = {.n = 1};
    struct bytes key, value;
    uint64_t n = 0;
    bool found = kv_seek(view->txn, TABLE_WEBHOOK, &first, &key, &value);
    for (; found; found = kv_next(view->txn, TABLE_WEBHOOK, &key, &value))
        n++;
    return n;
}

/* ---- By admins ------------------------------------------------------------------------------ */

/* A fresh start: the next event is tried at once and has all the time again. */
static void start_anew(struct view *view, struct webhook_record *record)
{
    record->generation = view->stamp;
    record->attempts = 0;
    record->retry_at = 0;
    record->failing_since = 0;
}

enum tidings_err apply_webhook_set(struct view *view, struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    struct key key = key_webhook(op->u.webhook.name);
    struct webhook_record record = {0};
    if (!is_admin(op))
        return TIDINGS_FORBIDDEN;
    bool known = find(view, op->u.webhook.name, &record);
    if (view_failed(view))
        return TIDINGS_OK;
    if (!known && !op->u.webhook.secret.p) {
        call->field = "secret";
        return TIDINGS_INVALID;
    }
    if (!known && count(view) >= view->settings->webhooks_max)
        return TIDINGS_WEBHOOK_LIMIT;
    if (!known)
        record.created = record.position = view->stamp;
    record.url = bytes_of(op->u.webhook.url);
    if (op->u.webhook.secret.p)
        record.secret = bytes_of(op->u.webhook.secret);
    record.disabled = op->u.webhook.disabled;
    start_anew(view, &record);
    return save(view, &key, &record);
}

enum tidings_err apply_webhook_delete(struct view *view, struct tidings_call *call)
{
    struct key key = key_webhook(call->op->u.webhook.name);
    struct bytes value;
    if (!is_admin(call->op))
        return TIDINGS_FORBIDDEN;
    if (!kv_get(view->txn, TABLE_WEBHOOK, &key, &value))
        return TIDINGS_NOT_FOUND;
    kv_del(view->txn, TABLE_WEBHOOK, &key);
    return TIDINGS_OK;
}

enum tidings_err apply_webhook_retry(struct view *view, struct tidings_call *call)
{
    struct key key = key_webhook(call->op->u.webhook.name);
    struct webhook_record record;
    if (!is_admin(call->op))
        return TIDINGS_FORBIDDEN;
    if (!find(view, call->op->u.webhook.name, &record))
        return TIDINGS_NOT_FOUND;
    /* Nothing succeeded since then: going back delivers nothing out of order. */
    if (record.dead_from)
        record.position = record.dead_from;
    record.dead_from = 0;
    start_anew(view, &record);
    return save(view, &key, &record);
}

/* ---- By whoever delivers -------------------------------------------------------------------- */

static void give_up(struct webhook_record *record, uint64_t n)
{
    if (n && !record->dead_from)
        record->dead_from = record->position;
    record->dead += n;
}

static bool is_tagged(struct bytes value)
{
    struct tidings_event event;
    char tag[TIDINGS_TAG_MAX];
    return event_decode(value, &event) && tidings_event_tag(&event, tag);
}

/*
 * Tagged events behind the position that are too old to be read and yet not removed: whoever
 * delivers went past them without seeing them. Only after a long stop are there any.
 */
static uint64_t count_unseen(struct view *view, uint64_t after, uint64_t up_to)
{
    struct key from = key_id(after + 1);
    uint64_t limit = event_oldest_kept(view), n = 0;
    struct bytes key, value;
    if (after >= limit)
        return 0;
    bool found = kv_seek(view->txn, TABLE_EVENT, &from, &key, &value);
    for (; found && key.n == ID_BYTES && get_id(key.p) < limit && get_id(key.p) <= up_to;
         found = kv_next(view->txn, TABLE_EVENT, &key, &value))
        n += is_tagged(value);
    return n;
}

/* What the report says, into the record. */
static void take_report(struct view *view, const struct tidings_op *op,
                        struct webhook_record *record)
{
    uint64_t position = op->u.webhook_report.position;
    if (position > record->position) {
        uint64_t unseen = count_unseen(view, record->position, position);
        uint64_t told = op->u.webhook_report.delivered + op->u.webhook_report.dead;
        /* One of them may be the event that the report is about. */
        give_up(record, op->u.webhook_report.dead + (unseen > told ? unseen - told : 0));
        record->position = position;
    }
    if (op->u.webhook_report.delivered)
        record->dead_from = 0;
    record->delivered += op->u.webhook_report.delivered;
    record->failed += op->u.webhook_report.failed;
    record->attempts = op->u.webhook_report.attempts;
    record->retry_at = (uint64_t)op->u.webhook_report.retry_at;
    record->failing_since = (uint64_t)op->u.webhook_report.failing_since;
    record->waiting_since = (uint64_t)op->u.webhook_report.waiting_since;
    if (op->u.webhook_report.last_error.p)
        record->last_error = bytes_of(op->u.webhook_report.last_error);
}

enum tidings_err apply_webhook_report(struct view *view, struct tidings_call *call)
{
    const struct tidings_op *op = call->op;
    struct key key = key_webhook(op->u.webhook_report.name);
    struct webhook_record record;
    if (op->role == TIDINGS_ROLE_USER)
        return TIDINGS_FORBIDDEN;
    if (!find(view, op->u.webhook_report.name, &record) ||
        record.generation != op->u.webhook_report.generation)
        return TIDINGS_NOT_FOUND;
    if (op->u.webhook_report.position > view->before) {
        call->field = "position";
        return TIDINGS_INVALID;
    }
    take_report(view, op, &record);
    return save(view, &key, &record);
}

/* A scan and changes of the same table take turns: each row is found again by its name. */
void webhook_forget_event(struct view *view, uint64_t id, struct bytes event)
{
    struct key at = {.n = 1};
    struct bytes key, value;
    if (!is_tagged(event))
        return;
    while (kv_seek(view->txn, TABLE_WEBHOOK, &at, &key, &value)) {
        struct webhook_record record;
        if (key.n >= KEY_MAX || !webhook_decode(value, &record)) {
            view_corrupt(view);
            return;
        }
        at.n = (uint8_t)key.n;
        memcpy(at.bytes, key.p, key.n);
        if (record.position < id) {
            give_up(&record, 1);
            record.position = id;
            record.waiting_since = 0;
            if (save(view, &at, &record))
                kv_fail(view->txn, TIDINGS_NO_MEMORY);
        }
        at.bytes[at.n++] = 0;
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
        .created_at = id_time_ms(record->created),
    };
}

/* After a change, too: another may have removed it between the two steps. */
enum tidings_err answer_webhook_set(struct view *view, struct reply *reply)
{
    struct tidings_text name = reply->op->u.webhook.name;
    struct webhook_record record;
    if (!find(view, name, &record))
        return view_failed(view) ? TIDINGS_CORRUPT : TIDINGS_NOT_FOUND;
    fill(view, reply->arena, bytes_of(name), &record, &reply->answer->u.webhook);
    return TIDINGS_OK;
}

enum tidings_err answer_webhook(struct view *view, struct reply *reply)
{
    return is_admin(reply->op) ? answer_webhook_set(view, reply) : TIDINGS_FORBIDDEN;
}

enum tidings_err answer_webhooks(struct view *view, struct reply *reply)
{
    if (reply->op->role == TIDINGS_ROLE_USER)
        return TIDINGS_FORBIDDEN;
    size_t room = count(view), n = 0;
    struct tidings_webhook *rows = view_array(view, reply->arena, room, sizeof *rows);
    struct key first = {.n = 1};
    struct bytes key, value;
    bool found = rows && kv_seek(view->txn, TABLE_WEBHOOK, &first, &key, &value);
    for (; found && n < room; found = kv_next(view->txn, TABLE_WEBHOOK, &key, &value)) {
        struct webhook_record record;
        if (!webhook_decode(value, &record)) {
            view_corrupt(view);
            break;
        }
        fill(view, reply->arena, key, &record, &rows[n]);
        rows[n++].secret = view_text(view, reply->arena, record.secret);
    }
    reply->answer->u.webhooks.rows = rows;
    reply->answer->u.webhooks.n = n;
    return TIDINGS_OK;
}
