/* SPDX-License-Identifier: MIT */
/* Many at once: to the model, the same question asked once for each. */
#include "ops.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_MOST = 12 };

/* ---- The model ----------------------------------------------------------------------------------- */

static size_t n_asked(const struct tidings_op *op)
{
    bool posts = op->kind == TIDINGS_OP_POST_MANY || op->kind == TIDINGS_OP_STATS_MANY;

    return posts ? op->u.posts.n_post_ids : op->u.many.n_user_ids;
}

/* The question about one of them. */
static struct tidings_op single(const struct tidings_op *op, size_t i)
{
    struct tidings_op one = *op;

    memset(&one.u, 0, sizeof one.u);
    switch (op->kind) {
    case TIDINGS_OP_PROFILE_MANY:
        one.kind = TIDINGS_OP_PROFILE;
        one.u.user.user_id = op->u.many.user_ids[i];
        break;
    case TIDINGS_OP_STATUS_MANY:
        one.kind = TIDINGS_OP_STATUS;
        one.u.relation.user_id = op->u.many.user_ids[i];
        break;
    case TIDINGS_OP_COUNTERS_MANY:
        one.kind = TIDINGS_OP_COUNTERS;
        one.u.user.user_id = op->u.many.user_ids[i];
        break;
    case TIDINGS_OP_POST_MANY:
        one.kind = TIDINGS_OP_POST;
        one.u.post.post_id = op->u.posts.post_ids[i];
        break;
    default:
        one.kind = TIDINGS_OP_STATS;
        one.u.react.target = TIDINGS_TARGET_POST;
        one.u.react.id = op->u.posts.post_ids[i];
        break;
    }
    return one;
}

static void read_many(struct model *model, const struct model_call *call,
                      struct model_answer *answer)
{
    answer->n = n_asked(call->op);
    answer->many = model_room(NULL, answer->n, sizeof *answer->many);
    for (size_t i = 0; i < answer->n; i++) {
        struct tidings_op one = single(call->op, i);
        struct model_call single_call = *call;

        single_call.op = &one;
        model_answer_init(&answer->many[i]);
        op_row(one.kind)->read(model, &single_call, &answer->many[i]);
    }
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static size_t how_many(struct generator *g)
{
    uint64_t most = g->recording->settings.ids_max;
    uint64_t usual = most < USUAL_MOST ? most : USUAL_MOST;

    return (size_t)rng_between(&g->rng, 1, rng_percent(&g->rng, 5) ? most : usual);
}

static void users_arguments(struct generator *g, struct run *run, struct step *step)
{
    size_t n = how_many(g);
    uint64_t *ids = recording_room(g->recording, n * sizeof *ids);

    (void)run;
    for (size_t i = 0; i < n; i++)
        ids[i] = some_target(g, 0);
    step->op.u.many.user_ids = ids;
    step->op.u.many.n_user_ids = n;
}

static void posts_arguments(struct generator *g, struct run *run, struct step *step)
{
    size_t n = how_many(g);

    step->posts = recording_room(g->recording, n * sizeof *step->posts);
    for (size_t i = 0; i < n; i++)
        step->posts[i] = some_post(g, run, step->op.user_id, false);
    step->op.u.posts.n_post_ids = n;
}

static void bad_users(struct generator *g, struct step *step)
{
    size_t n = step->op.u.many.n_user_ids;
    uint64_t *ids = recording_room(g->recording, n * sizeof *ids);

    memcpy(ids, step->op.u.many.user_ids, n * sizeof *ids);
    ids[rng_below(&g->rng, n)] = generate_bad_id(g);
    step->op.u.many.user_ids = ids;
    step->op.u.many.n_user_ids = rng_percent(&g->rng, 70) ? n : 0;
}

static void bad_posts(struct generator *g, struct step *step)
{
    size_t n = step->op.u.posts.n_post_ids;

    step->posts[rng_below(&g->rng, n)] = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
    step->op.u.posts.n_post_ids = rng_percent(&g->rng, 70) ? n : 0;
}

static void users_report(struct report *report, const struct step *step)
{
    report_add(report, " user_ids=[");
    for (size_t i = 0; i < step->op.u.many.n_user_ids; i++)
        report_add(report, "%s%" PRIu64, i > 0 ? " " : "", step->op.u.many.user_ids[i]);
    report_add(report, "]");
}

static void posts_report(struct report *report, const struct step *step)
{
    report_add(report, " post_ids=[");
    for (size_t i = 0; i < step->op.u.posts.n_post_ids; i++) {
        if (i > 0)
            report_add(report, " ");
        ref_report(report, &step->posts[i]);
    }
    report_add(report, "]");
}

static bool resolve_posts(struct run *run, const struct step *step, struct tidings_op *op)
{
    run->ids = calloc(op->u.posts.n_post_ids + 1, sizeof *run->ids);
    for (size_t i = 0; i < op->u.posts.n_post_ids; i++)
        run->ids[i] = run_ref_id(run, &step->posts[i]);
    op->u.posts.post_ids = run->ids;
    return true;
}

static bool ids_ok(const struct model *model, const uint64_t *ids, size_t n)
{
    if (n == 0 || n > model->settings.ids_max)
        return false;
    for (size_t i = 0; i < n; i++) {
        if (!model_id_ok(ids[i]))
            return false;
    }
    return true;
}

static const char *check_users(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;

    return ids_ok(model, op->u.many.user_ids, op->u.many.n_user_ids) ? NULL : "user_ids";
}

static const char *check_posts(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;

    return ids_ok(model, op->u.posts.post_ids, op->u.posts.n_post_ids) ? NULL : "post_ids";
}

/* ---- Answers ------------------------------------------------------------------------------------- */

/* One of the engine's rows as the single operation would answer it; how many there are. */
static size_t row_of(enum tidings_op_kind kind, const struct tidings_answer *got, size_t i,
                     struct tidings_answer *one)
{
    const struct tidings_post_row *posts = got->u.post_many.rows;
    const struct tidings_stats_row *stats = got->u.stats_many.rows;

    memset(one, 0, sizeof *one);
    switch (kind) {
    case TIDINGS_OP_PROFILE_MANY:
        one->u.profile = got->u.profile_many.rows[i];
        return got->u.profile_many.n;
    case TIDINGS_OP_STATUS_MANY:
        one->u.status = got->u.status_many.rows[i];
        return got->u.status_many.n;
    case TIDINGS_OP_COUNTERS_MANY:
        one->u.counters = got->u.counters_many.rows[i];
        return got->u.counters_many.n;
    case TIDINGS_OP_POST_MANY:
        one->err = posts[i].err;
        one->u.post = posts[i].post;
        return got->u.post_many.n;
    default:
        one->err = stats[i].err;
        one->u.stats = stats[i].stats;
        return got->u.stats_many.n;
    }
}

static void same_many(struct diff *diff, const struct model_answer *want,
                      const struct tidings_answer *got)
{
    struct tidings_answer one;
    size_t n = same_length(diff, want->n, row_of(diff->op->kind, got, 0, &one));

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct model_answer *row = &want->many[diff->row];

        row_of(diff->op->kind, got, diff->row, &one);
        same_u64(diff, "err", row->err, one.err);
        if (row->err == TIDINGS_OK && one.err == TIDINGS_OK)
            op_row(single(diff->op, diff->row).kind)->compare(diff, row, &one);
    }
    diff->list = NULL;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

#define ROW_OF_USERS                                                                           \
    {                                                                                          \
        .weights = {[MOOD_MIXED] = 1, [MOOD_RELATE] = 2}, .arguments = users_arguments,        \
        .mistake = bad_users, .report = users_report, .check = check_users, .read = read_many, \
        .compare = same_many,                                                                  \
    }

#define ROW_OF_POSTS                                                                             \
    {                                                                                            \
        .weights = {[MOOD_MIXED] = 1, [MOOD_DELETE] = 3, [MOOD_VOTE] = 3},                       \
        .arguments = posts_arguments, .mistake = bad_posts, .report = posts_report,              \
        .resolve = resolve_posts, .check = check_posts, .read = read_many, .compare = same_many, \
    }

const struct op_row row_profile_many = ROW_OF_USERS;
const struct op_row row_status_many = ROW_OF_USERS;
const struct op_row row_counters_many = ROW_OF_USERS;
const struct op_row row_post_many = ROW_OF_POSTS;
const struct op_row row_stats_many = ROW_OF_POSTS;
