/* SPDX-License-Identifier: MIT */
/*
 * Tickets are used once. Whoever gives one out keeps nothing of it; the user's last ones are in one row, which bounds what one
 * user can make us keep. The times of several servers differ by a little, so a ticket is remembered for longer than it is good.
 */
#include "engine/ops/halves.h"

/* Without those that are over everywhere; when the next one is, or 0. */
static int64_t forget_old(struct spent_record *spent, int64_t elapsed_ms)
{
    size_t n = 0;
    int64_t next = 0;
    for (size_t i = 0; i < spent->n; i++) {
        int64_t over = spent->at[i].until_ms + TIDINGS_TICKET_MS;
        if (over <= elapsed_ms)
            continue;
        next = !next || over < next ? over : next;
        spent->at[n++] = spent->at[i];
    }
    spent->n = n;
    return next;
}

static bool is_spent(const struct spent_record *spent, const uint8_t name[TIDINGS_TICKET_BYTES])
{
    for (size_t i = 0; i < spent->n; i++)
        if (!memcmp(spent->at[i].name, name, TIDINGS_TICKET_BYTES))
            return true;
    return false;
}

static void put_spent(struct view *view, uint64_t user, const struct spent_record *spent)
{
    static const uint8_t no_fingerprint[ONCE_BYTES];
    uint8_t bytes[SPENT_RECORD_MAX];
    /* An id of its own: this operation may itself be one that happens once. */
    struct once_record once = {
        .stamp = view->rows->next_id(view),
        .fingerprint = no_fingerprint,
        .answer = {bytes, spent_encode(spent, bytes)},
    };
    if (!view_failed(view))
        view->rows->put_once(view, user, once_tickets, &once);
}

enum tidings_err change_ticket_spend(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    int64_t left_ms = op->u.ticket.until_ms - view->elapsed_ms;
    struct spent_record spent = {0};
    struct once_record once;
    if (left_ms <= 0 || left_ms > TIDINGS_TICKET_MS)
        return TIDINGS_NOT_FOUND;
    if (view->rows->get_once(view, op->user_id, once_tickets, &once) &&
        !spent_decode(once.answer, &spent))
        view_corrupt(view);
    int64_t next = forget_old(&spent, view->elapsed_ms);
    if (is_spent(&spent, op->u.ticket.name))
        return TIDINGS_NOT_FOUND;
    if (spent.n == TIDINGS_TICKETS_MAX) {
        reply->answer->retry_after_ms = next - view->elapsed_ms;
        return TIDINGS_RATE_LIMITED;
    }
    struct spent_ticket *ticket = &spent.at[spent.n++];
    memcpy(ticket->name, op->u.ticket.name, TIDINGS_TICKET_BYTES);
    ticket->until_ms = op->u.ticket.until_ms;
    put_spent(view, op->user_id, &spent);
    return TIDINGS_OK;
}
