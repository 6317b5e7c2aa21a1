/* SPDX-License-Identifier: MIT */
/* Tickets, which are used once. */
#include "ops.h"

#include <inttypes.h>
#include <string.h>

/* ---- The model ----------------------------------------------------------------------------------- */

static bool write_ticket_spend(struct model *model, const struct model_call *call,
                               struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t until = op->u.ticket.until_ms, first = INT64_MAX;
    size_t n = 0;

    answer->err = TIDINGS_NOT_FOUND;
    if (until <= call->t || until > call->t + TIDINGS_TICKET_MS)
        return false;
    for (size_t i = 0; i < model->n_spent; i++) {
        const struct model_spent *it = &model->spent[i];
        int64_t over = it->until_ms + TIDINGS_TICKET_MS;

        if (it->user_id != op->user_id || over <= call->t)
            continue;
        if (memcmp(it->name, op->u.ticket.name, sizeof it->name) == 0)
            return false;
        first = over < first ? over : first;
        n++;
    }
    if (n == TIDINGS_TICKETS_MAX) {
        answer->err = TIDINGS_RATE_LIMITED;
        answer->retry_after_ms = first - call->t;
        return false;
    }
    answer->err = TIDINGS_OK;
    model->spent = model_room(model->spent, model->n_spent + 1, sizeof *model->spent);
    model->spent[model->n_spent] = (struct model_spent){.user_id = op->user_id, .until_ms = until};
    memcpy(model->spent[model->n_spent++].name, op->u.ticket.name, TIDINGS_TICKET_BYTES);
    return true;
}

static const char *check_ticket(const struct model *model, const struct model_call *call)
{
    (void)model;
    return call->op->u.ticket.until_ms > 0 ? NULL : "until_ms";
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

/* One that was used lately, by this user or another; or one of the few names there are, mostly within its time. */
static void ticket_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model *model = &run->model;
    size_t lately = model->n_spent < 8 ? model->n_spent : 8;

    step->op.u.ticket.until_ms = g->now_ms + (int64_t)rng_below(&g->rng, 62000) - 500;
    step->op.u.ticket.name[0] = (uint8_t)rng_below(&g->rng, 250);
    if (lately > 0 && rng_percent(&g->rng, 40)) {
        const struct model_spent *it =
            &model->spent[model->n_spent - 1 - (size_t)rng_below(&g->rng, lately)];

        memcpy(step->op.u.ticket.name, it->name, sizeof it->name);
        if (rng_percent(&g->rng, 80))
            step->op.user_id = it->user_id;
        if (rng_percent(&g->rng, 80))
            step->op.u.ticket.until_ms = it->until_ms;
    }
}

/* When it is over, or when one that was used is forgotten. */
static void aim_ticket(struct generator *g, struct run *run, const struct step *step)
{
    const struct model *model = &run->model;

    if (model->n_spent > 0 && rng_percent(&g->rng, 50))
        aim_clock(g, model->spent[model->n_spent - 1].until_ms + TIDINGS_TICKET_MS);
    else
        aim_clock(g, step->op.u.ticket.until_ms);
}

static void bad_ticket(struct generator *g, struct step *step)
{
    step->op.u.ticket.until_ms = -(int64_t)rng_below(&g->rng, 2);
}

static void ticket_report(struct report *report, const struct step *step)
{
    report_add(report, " ticket %d until %" PRId64, step->op.u.ticket.name[0],
               step->op.u.ticket.until_ms);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_ticket_spend = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_STORY] = 1, [MOOD_PUSH] = 4},
    .arguments = ticket_arguments,
    .mistake = bad_ticket,
    .aim = aim_ticket,
    .report = ticket_report,
    .check = check_ticket,
    .write = write_ticket_spend,
};
