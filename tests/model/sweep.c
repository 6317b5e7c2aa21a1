/* SPDX-License-Identifier: MIT */
/*
 * The sweep: every question about every user, compared with the model as always, and beyond that
 * counted up, so that the answers are held against each other without the model's help.
 */
#include "sweep.h"

#include "ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct tidings_op question(const struct sweep *sweep, enum tidings_op_kind kind, uint64_t viewer)
{
    return (struct tidings_op){.kind = kind, .user_id = viewer, .now_ms = sweep->now_ms};
}

bool sweep_ask(struct sweep *sweep, const struct tidings_op *op)
{
    return run_op(sweep->run, op, (struct tidings_cursor){0, 0});
}

bool sweep_list(struct sweep *sweep, struct tidings_op op, uint64_t *n)
{
    struct tidings_page *page = op_page(&op);
    struct tidings_cursor model_after = {0, 0};
    bool more = true;

    page->limit = sweep->limit;
    for (*n = 0; more; *n += sweep->run->expected.n) {
        if (!run_op(sweep->run, &op, model_after))
            return false;
        page->after = answer_next(op.kind, &sweep->run->answer);
        model_after = run_model_next(sweep->run, &op);
        more = page->after.a != 0 || page->after.b != 0;
        if (op_row(op.kind)->endless) /* which always says where to ask again */
            more = sweep->run->expected.n == sweep->limit;
    }
    return true;
}

struct tidings_op admin_question(const struct sweep *sweep, enum tidings_op_kind kind)
{
    struct tidings_op op = question(sweep, kind, sweep->run->recording->user_ids[0]);

    op.role = TIDINGS_ROLE_ADMIN;
    return op;
}

bool sweep_same(struct sweep *sweep, uint64_t id, const char *what, uint64_t count, uint64_t rows)
{
    if (count == rows)
        return true;
    return run_fail(sweep->run, "%" PRIu64 ": %s %" PRIu64 ", but %" PRIu64 " rows", id, what,
                    count, rows);
}

int by_number(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

size_t sweep_users(const struct sweep *sweep, uint64_t ids[MAX_USERS])
{
    const struct recording *recording = sweep->run->recording;

    memcpy(ids, recording->user_ids, recording->n_users * sizeof ids[0]);
    qsort(ids, recording->n_users, sizeof ids[0], by_number);
    return recording->n_users;
}

static void find_authors(struct sweep *sweep)
{
    const struct model *model = &sweep->run->model;

    sweep->authors = calloc(model->n_users + 1, sizeof *sweep->authors);
    for (size_t i = 0; i < model->n_users; i++) {
        for (size_t j = 0; j < model->n_posts; j++) {
            if (model->posts[j].author_id == model->users[i]->id) {
                sweep->authors[sweep->n_authors++] = model->users[i]->id;
                break;
            }
        }
    }
}

/* What an import does not bring: see docs/FACTS.md. */
static bool is_imported(enum tidings_op_kind kind)
{
    return kind != TIDINGS_OP_EVENTS && kind != TIDINGS_OP_WEBHOOKS;
}

static bool sweep_all(struct sweep *sweep)
{
    for (int kind = 0; kind < TIDINGS_OP_COUNT; kind++) {
        const struct op_row *row = op_row((enum tidings_op_kind)kind);

        if (sweep->run->imported && !is_imported((enum tidings_op_kind)kind))
            continue;
        if (row->sweep != NULL && !row->sweep(sweep))
            return false;
    }
    return true;
}

static bool sweep_user(struct sweep *sweep, uint64_t viewer)
{
    for (int kind = 0; kind < TIDINGS_OP_COUNT; kind++) {
        const struct op_row *row = op_row((enum tidings_op_kind)kind);

        if (row->sweep_user != NULL && !row->sweep_user(sweep, viewer))
            return false;
    }
    return true;
}

bool run_sweep(struct run *run, int64_t now_ms, uint32_t limit)
{
    struct sweep sweep = {.run = run, .now_ms = now_ms, .limit = limit};
    bool ok;

    find_authors(&sweep);
    ok = sweep_all(&sweep);
    for (size_t i = 0; ok && i < run->recording->n_users; i++)
        ok = sweep_user(&sweep, run->recording->user_ids[i]);
    free(sweep.authors);
    return ok;
}
