/* SPDX-License-Identifier: MIT */
/* Targets of events as operators see them: what they have refused, and what is to become of them. */
#include <string.h>

#include "domain/ids.h"
#include "domain/permit.h"
#include "engine/ops/halves.h"
#include "engine/ops/letters.h"

enum { LETTERS_A_STEP = 128 };

/* ---- Letters -------------------------------------------------------------------------------- */

struct letters_record letters_load(struct view *view, const struct webhook_record *target)
{
    struct letters_record letters = {0};
    struct bytes value;
    if (view->rows->get_letter(view, target->created, 0, &value) &&
        !letters_decode(value, &letters)) {
        view_corrupt(view);
        letters = (struct letters_record){0};
    }
    return letters;
}

static void letters_save(struct view *view, const struct webhook_record *target,
                         const struct letters_record *letters)
{
    view->rows->put_letter(view, target->created, 0, letters_encode(letters, view->scratch));
}

static bool letter_load(struct view *view, const struct webhook_record *target, uint64_t event,
                        struct letter_record *letter)
{
    struct bytes value;
    if (!view->rows->get_letter(view, target->created, event, &value))
        return false;
    if (letter_decode(value, letter))
        return true;
    view_corrupt(view);
    return false;
}

static void letter_remove(struct view *view, const struct webhook_record *target, uint64_t event,
                          const struct letter_record *letter, struct letters_record *letters)
{
    view->rows->put_letter(view, target->created, event, (struct bytes){NULL, 0});
    letters->kept -= letters->kept > 0;
    letters->again -= letter->again && letters->again > 0;
}

/* Makes room for one more. */
static void letters_drop_oldest(struct view *view, const struct webhook_record *target,
                                struct letters_record *letters)
{
    struct letter_row oldest;
    if (letters->kept < TIDINGS_LETTERS_MAX ||
        !view->rows->get_letters(view, target->created, 0, 1, &oldest))
        return;
    letter_remove(view, target, oldest.event, &oldest.record, letters);
    letters->lost++;
}

void letter_note(struct view *view, const struct webhook_record *target, uint64_t event,
                 struct bytes reason)
{
    struct letters_record letters = letters_load(view, target);
    struct letter_record known, letter = {.noted = view->stamp, .reason = reason};
    if (letter_load(view, target, event, &known))
        letter_remove(view, target, event, &known, &letters);
    letters_drop_oldest(view, target, &letters);
    letters.kept++;
    view->rows->put_letter(view, target->created, event, letter_encode(&letter, view->scratch));
    letters_save(view, target, &letters);
}

void letter_settle(struct view *view, const struct webhook_record *target, uint64_t event)
{
    struct letters_record letters = letters_load(view, target);
    struct letter_record letter;
    if (!letter_load(view, target, event, &letter))
        return;
    letter_remove(view, target, event, &letter, &letters);
    letters_save(view, target, &letters);
}

void letters_remove(struct view *view, const struct webhook_record *target, uint64_t after)
{
    struct letters_record letters = letters_load(view, target);
    struct letter_row rows[LETTERS_A_STEP];
    size_t n = LETTERS_A_STEP;
    if (!letters.kept)
        return;
    while (n == LETTERS_A_STEP) {
        n = view->rows->get_letters(view, target->created, after, LETTERS_A_STEP, rows);
        for (size_t i = 0; i < n; i++)
            letter_remove(view, target, rows[i].event, &rows[i].record, &letters);
    }
    letters_save(view, target, &letters);
}

void letters_tell_again(struct view *view, const struct webhook_record *target)
{
    struct letters_record letters = letters_load(view, target);
    struct letter_row rows[LETTERS_A_STEP];
    size_t n = letters.kept ? LETTERS_A_STEP : 0;
    uint64_t after = 0;
    if (!letters.kept)
        return;
    while (n == LETTERS_A_STEP) {
        n = view->rows->get_letters(view, target->created, after, LETTERS_A_STEP, rows);
        for (size_t i = 0; i < n; i++) {
            rows[i].record.again = true;
            after = rows[i].event;
            view->rows->put_letter(view, target->created, after,
                                   letter_encode(&rows[i].record, view->scratch));
        }
    }
    letters.again = letters.kept;
    letters_save(view, target, &letters);
}

void letters_set_reconciles(struct view *view, const struct webhook_record *target)
{
    struct letters_record letters = letters_load(view, target);
    if (letters.reconciles)
        return;
    letters.reconciles = true;
    letters_save(view, target, &letters);
}

void letters_end_reconcile(struct view *view, const struct webhook_record *target, uint64_t wish)
{
    struct letters_record letters = letters_load(view, target);
    if (!wish || letters.reconcile != wish)
        return;
    letters.reconcile = 0;
    letters_save(view, target, &letters);
}

/* ---- Wishes --------------------------------------------------------------------------------- */

/* Behind that event, or before the first that happened then; never further than it is, nor before what is kept. */
static uint64_t replay_position(struct view *view, const struct tidings_op *op)
{
    uint64_t wanted = op->u.wish.since_ms ? id_floor(op->u.wish.since_ms) - 1 : op->u.wish.after;
    uint64_t oldest = event_oldest_kept(view) - 1;
    wanted = wanted > oldest ? wanted : oldest;
    return wanted > 1 ? wanted : 1; /* nothing happened before that */
}

static bool wish_replay(struct view *view, const struct tidings_op *op,
                        struct webhook_record *record)
{
    uint64_t position = replay_position(view, op);
    if (position >= record->position)
        return false;
    record->position = position;
    record->dead_from = 0;
    letters_remove(view, record, position);
    return true;
}

/* Nothing succeeded since dead_from: going back there delivers nothing out of order. A consumer's events are gone there. */
void webhook_retry(struct view *view, struct webhook_record *record)
{
    if (record->dead_from && record->url.n) {
        record->position = record->dead_from;
        letters_remove(view, record, record->dead_from);
    }
    record->dead_from = 0;
    letters_tell_again(view, record);
}

static enum tidings_err wish_rebuild_target(struct view *view, struct webhook_record *record)
{
    uint64_t newest = view->rows->newest_position(view);
    if (!record->fills)
        return TIDINGS_UNSUPPORTED;
    record->position = newest > record->position ? newest : record->position;
    record->rebuild = view->stamp;
    return TIDINGS_OK;
}

static enum tidings_err wish_reconcile(struct view *view, const struct webhook_record *record)
{
    struct letters_record letters = letters_load(view, record);
    if (!letters.reconciles)
        return TIDINGS_UNSUPPORTED;
    letters.reconcile = view->stamp;
    letters_save(view, record, &letters);
    return TIDINGS_OK;
}

enum tidings_err change_target_wish(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct webhook_record record;
    enum tidings_err err = TIDINGS_OK;
    bool changed = true;
    if (!permits_admin(op))
        return TIDINGS_FORBIDDEN;
    if (!view->rows->get_webhook(view, op->u.wish.name, &record))
        return view_failed(view) ? TIDINGS_OK : TIDINGS_NOT_FOUND;
    switch (op->u.wish.wish) {
    case TIDINGS_WISH_REPLAY:
        changed = wish_replay(view, op, &record);
        break;
    case TIDINGS_WISH_RETRY:
        webhook_retry(view, &record);
        break;
    case TIDINGS_WISH_REBUILD:
        err = wish_rebuild_target(view, &record);
        break;
    case TIDINGS_WISH_RECONCILE:
        err = wish_reconcile(view, &record);
        break;
    }
    if (err || !changed)
        return err;
    webhook_start_anew(view, &record);
    webhook_save(view, op, op->u.wish.name, &record);
    return TIDINGS_OK;
}

/* ---- Looking -------------------------------------------------------------------------------- */

/* The next letters behind *after, into the answer's memory; those that are not wanted are passed over. */
static size_t letters_answer(struct view *view, struct reply *reply,
                             const struct webhook_record *record, size_t limit,
                             struct tidings_letter *to)
{
    const struct tidings_op *op = reply->op;
    uint64_t after = op->u.letters.after;
    struct letter_row row;
    size_t n = 0;
    while (n < limit && view->rows->get_letters(view, record->created, after, 1, &row)) {
        after = row.event;
        if (op->u.letters.again && !row.record.again)
            continue;
        to[n++] = (struct tidings_letter){
            .event_id = row.event,
            .happened_at = id_time_ms(row.event),
            .noted_at = view_time(view, row.record.noted),
            .again = row.record.again,
            .reason = view_text(view, reply->arena, row.record.reason),
        };
    }
    return n;
}

enum tidings_err answer_letters(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    const struct tidings_page page = {.limit = op->u.letters.limit};
    struct webhook_record record;
    if (!permits_service(op))
        return TIDINGS_FORBIDDEN;
    if (!view->rows->get_webhook(view, op->u.letters.name, &record))
        return view_failed(view) ? TIDINGS_CORRUPT : TIDINGS_NOT_FOUND;
    size_t limit = view_limit(view, &page);
    struct tidings_letter *rows = view_array(view, reply->arena, limit, sizeof *rows);
    struct letters_record letters = letters_load(view, &record);
    size_t n = rows ? letters_answer(view, reply, &record, limit, rows) : 0;
    reply->answer->u.letters.rows = rows;
    reply->answer->u.letters.n = n;
    reply->answer->u.letters.all = letters.kept;
    reply->answer->u.letters.lost = letters.lost;
    if (n == limit)
        reply->answer->u.letters.next.a = rows[n - 1].event_id;
    return TIDINGS_OK;
}
