/* SPDX-License-Identifier: MIT */
/* The reading history. */
#include "ops.h"

/* ---- The model ----------------------------------------------------------------------------------- */

void model_enter_history(struct model *model, struct model_cell *cell, int64_t t)
{
    cell->in_history = true;
    cell->history_at = t;
    cell->history_turn = model->turn;
}

static bool write_history_delete(struct model *model, const struct model_call *call,
                                 struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_post *post = model_post(model, op->u.post.post_id);

    if (post == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    model_cell(model, model_user(model, op->user_id), post)->in_history = false;
    return true;
}

static bool write_history_clear(struct model *model, const struct model_call *call,
                                struct model_answer *answer)
{
    (void)answer;
    const struct tidings_op *op = call->op;
    struct model_user *user = model_user(model, op->user_id);

    for (size_t i = 0; i < model->n_posts; i++)
        user->cells[i].in_history = false;
    return true;
}

/* Index of the newest post in the history that is older than `after`, or n_posts. */
static size_t history_older(const struct model *model, const struct model_user *viewer,
                            struct tidings_cursor after)
{
    size_t best = model->n_posts;

    for (size_t i = 0; i < model->n_posts; i++) {
        const struct model_cell *cell = &viewer->cells[i];

        if (!cell->in_history)
            continue;
        if (after.a != 0 && cell->history_turn > after.a)
            continue;
        if (after.a != 0 && cell->history_turn == after.a && model->posts[i].id >= after.b)
            continue;
        /* Posts stand in the order of their ids, so of the same turn the later one is higher. */
        if (best == model->n_posts || cell->history_turn >= viewer->cells[best].history_turn)
            best = i;
    }
    return best;
}

static void read_history(struct model *model, const struct model_call *call,
                         struct model_answer *answer)
{
    struct model_user *viewer = model_user(model, call->op->user_id);
    size_t limit = model_page_limit(model, &call->op->u.page);
    struct tidings_cursor at = call->after;
    size_t i;

    answer->history_rows = model_room(NULL, limit, sizeof *answer->history_rows);
    while ((i = history_older(model, viewer, at)) != model->n_posts) {
        const struct model_post *p = &model->posts[i];

        if (answer->n == limit) {
            answer->next = at;
            return;
        }
        answer->history_rows[answer->n++] = (struct tidings_history_row){
            p->id, p->author_id, p->title, viewer->cells[i].history_at, p->deleted};
        at = (struct tidings_cursor){viewer->cells[i].history_turn, p->id};
    }
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_history(struct diff *diff, const struct model_answer *want,
                         const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.history.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_history_row *a = &want->history_rows[diff->row];
        const struct tidings_history_row *b = &got->u.history.rows[diff->row];

        same_u64(diff, "post_id", a->post_id, b->post_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "title", a->title, b->title);
        same_i64(diff, "read_at", a->read_at, b->read_at);
        same_bool(diff, "is_deleted", a->is_deleted, b->is_deleted);
    }
    same_end(diff, want->next, got->u.history.next);
}

static void hold_history(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_history_row *rows = answer->u.history.rows;

    require_page(check, &check->op->u.page, answer->u.history.n, answer->u.history.next);
    for (size_t i = 0; i < answer->u.history.n; i++) {
        require_text(check, rows[i].title, "title is text", i);
        require(check, rows[i].read_at != 0, "it has a time", i);
        require(check, i == 0 || rows[i].read_at <= rows[i - 1].read_at, "latest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].post_id != rows[i].post_id, "no post twice", i);
    }
}

static bool sweep_history(struct sweep *sweep, uint64_t viewer)
{
    uint64_t n;

    return sweep_list(sweep, question(sweep, TIDINGS_OP_HISTORY, viewer), &n);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_history_delete = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_READ] = 3},
    .arguments = post_arguments,
    .mistake = generate_bad_post,
    .report = post_report,
    .resolve = resolve_post,
    .check = model_check_post,
    .write = write_history_delete,
};

const struct op_row row_history_clear = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_READ] = 1},
    .write = write_history_clear,
};

const struct op_row row_history = {
    .weights = {[MOOD_MIXED] = 5, [MOOD_READ] = 5, [MOOD_DELETE] = 4, [MOOD_LOOK] = 12},
    .page = offsetof(struct tidings_op, u.page),
    .next = offsetof(struct tidings_answer, u.history.next),
    .arguments = page_arguments,
    .mistake = generate_bad_page,
    .report = page_report,
    .check = model_check_own_page,
    .read = read_history,
    .compare = same_history,
    .hold = hold_history,
    .sweep_user = sweep_history,
};
