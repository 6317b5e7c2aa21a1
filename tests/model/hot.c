/* SPDX-License-Identifier: MIT */
/* Counts, heat and the hot lists. */
#include "ops.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* ---- The model ----------------------------------------------------------------------------------- */

struct tidings_counts model_post_counts(const struct model *model, const struct model_post *post)
{
    struct tidings_counts counts = {
        .like_count = model_count_reactions(&post->reactions, TIDINGS_LIKE),
        .fav_count = model_count_reactions(&post->reactions, TIDINGS_FAV),
    };

    for (size_t i = 0; i < post->n_comments; i++)
        counts.comment_count += model_comment_status(model, &model->comments[post->comments[i]]) ==
                                TIDINGS_COMMENT_VISIBLE;
    counts.hot_score = (int64_t)(counts.like_count * model->settings.hot_like +
                                 counts.fav_count * model->settings.hot_fav +
                                 counts.comment_count * model->settings.hot_comment);
    return counts;
}

static double half_life_ms(const struct model *model)
{
    return (double)model->settings.hot_half_life_hours * 3600000.0;
}

/* The score, halved every half-life. */
static double heat_now(const struct model *model, int64_t score, int64_t age_ms)
{
    if (model->settings.hot_half_life_hours == 0)
        return (double)score;
    return (double)score * exp2(-(double)age_ms / half_life_ms(model));
}

static void read_stats(struct model *model, const struct model_call *call,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    const struct model_comment *comment = NULL;
    const struct model_post *post;
    uint64_t post_id = op->u.react.id;

    if (op->u.react.target == TIDINGS_TARGET_COMMENT) {
        comment = model_comment(model, op->u.react.id);
        post_id = comment != NULL ? comment->post_id : 0;
    }
    post = model_post(model, post_id);
    if (post == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
        return;
    }
    /* What is deleted only admins may still look at. */
    if (op->role != TIDINGS_ROLE_ADMIN &&
        (post->deleted || (comment != NULL && comment->deleted))) {
        answer->err = TIDINGS_DELETED;
        answer->title = post->title;
        return;
    }
    if (comment != NULL) {
        answer->counts = model_comment_counts(model, comment);
        return;
    }
    answer->counts = model_post_counts(model, post);
    answer->age_ms = t - post->created_at;
    answer->heat = heat_now(model, answer->counts.hot_score, answer->age_ms);
}

/*
 * Of two posts with different scores and a half-life: heats that differ by less than a millionth are
 * too close to call. Heat is a logarithm to the base of two then, and this is that millionth in it.
 */
#define TOO_CLOSE (1e-6L / 0.693147180559945309L)

static int by_id(const struct model_hot *a, const struct model_hot *b)
{
    return a->row.post_id > b->row.post_id ? -1 : a->row.post_id < b->row.post_id;
}

static int model_hot_order(bool halves, const struct model_hot *a, const struct model_hot *b)
{
    if (a->has_heat != b->has_heat)
        return a->has_heat ? -1 : 1;
    /* With the same score the newer is the hotter, or as hot. */
    if (!a->has_heat || a->row.counts.hot_score == b->row.counts.hot_score)
        return by_id(a, b);
    if (halves && fabsl(a->heat - b->heat) < TOO_CLOSE)
        return 0;
    return a->heat > b->heat ? -1 : 1;
}

/* As far as the order is concerned. All posts cool at the same pace, so two of them are compared as
 * they were when they were new. */
static struct model_hot hot_of(const struct model *model, const struct model_post *post,
                               struct tidings_counts counts)
{
    struct model_hot hot = {.has_heat = counts.hot_score != 0};

    hot.row.post_id = post->id;
    hot.row.counts = counts;
    if (model->settings.hot_half_life_hours == 0)
        hot.heat = (long double)counts.hot_score;
    else if (hot.has_heat)
        hot.heat = log2l((long double)counts.hot_score) +
                   (long double)post->created_at / (long double)half_life_ms(model);
    return hot;
}

static struct tidings_cursor model_hot_place(const struct tidings_hot_row *row)
{
    return (struct tidings_cursor){(uint64_t)row->counts.hot_score + 1, row->post_id};
}

static void read_hot(struct model *model, const struct model_call *call,
                     struct model_answer *answer)
{
    int64_t t = call->t;
    struct model_hot after = {0};

    answer->halves = model->settings.hot_half_life_hours != 0;
    if (call->after.a != 0)
        after = hot_of(model, model_post(model, call->after.b),
                       (struct tidings_counts){.hot_score = (int64_t)call->after.a - 1});
    answer->hot_rows = model_room(NULL, model->n_posts, sizeof *answer->hot_rows);
    for (size_t i = 0; i < model->n_posts; i++) {
        const struct model_post *post = &model->posts[i];
        struct model_hot hot;

        if (post->kind != call->op->u.hot.kind || post->deleted)
            continue;
        hot = hot_of(model, post, model_post_counts(model, post));
        hot.place = call->after.a != 0 ? model_hot_order(answer->halves, &hot, &after) : 1;
        if (hot.place == 0 && post->id == call->after.b)
            hot.place = -1; /* it is the very post that the page begins after */
        hot.row.author_id = post->author_id;
        hot.row.author_name = model_user(model, post->author_id)->name;
        hot.row.title = post->title;
        hot.row.excerpt = post->excerpt;
        hot.row.created_at = post->created_at;
        hot.row.heat = heat_now(model, hot.row.counts.hot_score, t - post->created_at);
        answer->hot_rows[answer->n++] = hot;
    }
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static const char *check_hot(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    enum tidings_post_kind kind = op->u.hot.kind;

    if (kind != TIDINGS_NOTE && kind != TIDINGS_ACTIVITY && kind != TIDINGS_STORY)
        return "kind";
    return model_check_page(model, &op->u.hot.page);
}

static void stats_arguments(struct generator *g, struct run *run, struct step *step)
{
    aim_target(g, run, step, &step->op.u.react.target);
}

static void hot_arguments(struct generator *g, struct run *run, struct step *step)
{
    step->op.u.hot.kind = (enum tidings_post_kind)rng_between(&g->rng, 1, 3);
    page_arguments(g, run, step);
}

static void bad_hot(struct generator *g, struct step *step)
{
    if (rng_percent(&g->rng, 50))
        step->op.u.hot.kind = (enum tidings_post_kind)(rng_percent(&g->rng, 50) ? 0 : 4);
    else
        generate_bad_page(g, step);
}

static void stats_report(struct report *report, const struct step *step)
{
    target_report(report, step, step->op.u.react.target);
}

static void hot_report(struct report *report, const struct step *step)
{
    report_add(report, " kind=%d", (int)step->op.u.hot.kind);
    page_report(report, step);
}

/* The model leaves it to the engine where a page of hot posts ends exactly. */
static struct tidings_cursor next_hot(const struct run *run)
{
    struct tidings_cursor next = run->answer.u.hot.next;

    if (next.a == 0 && next.b == 0)
        return run->expected.next;
    return model_hot_place(&run->answer.u.hot.rows[run->answer.u.hot.n - 1]);
}

/* ---- Answers ------------------------------------------------------------------------------------- */

/* Within a millionth; both may have got lost below the smallest number that is kept in full. */
static void same_heat(struct diff *diff, double want, double got)
{
    if (fabs(want - got) > 1e-6 * fabs(want) + 1e-300 && differs(diff, "heat"))
        report_add(diff->report, "expected %.17g, got %.17g\n", want, got);
}

static void same_stats(struct diff *diff, const struct model_answer *want,
                       const struct tidings_answer *got)
{
    same_counts(diff, &want->counts, &got->u.stats.counts);
    same_heat(diff, want->heat, got->u.stats.heat);
    same_i64(diff, "age_ms", want->age_ms, got->u.stats.age_ms);
}

static void same_hot_row(struct diff *diff, const struct tidings_hot_row *want,
                         const struct tidings_hot_row *got)
{
    same_u64(diff, "author_id", want->author_id, got->author_id);
    same_text(diff, "author_name", want->author_name, got->author_name);
    same_text(diff, "title", want->title, got->title);
    same_text(diff, "excerpt", want->excerpt, got->excerpt);
    same_i64(diff, "created_at", want->created_at, got->created_at);
    same_counts(diff, &want->counts, &got->counts);
    same_heat(diff, want->heat, got->heat);
}

static const struct model_hot *find_hot(const struct model_answer *want, uint64_t post_id)
{
    for (size_t i = 0; i < want->n; i++) {
        if (want->hot_rows[i].row.post_id == post_id)
            return &want->hot_rows[i];
    }
    return NULL;
}

/* The rows are of this list, right in themselves, behind the page's beginning, and in order.
 * False if there is no comparing further. */
static bool hot_rows_are_right(struct diff *diff, const struct model_answer *want,
                               const struct tidings_answer *got)
{
    const struct model_hot *before = NULL;

    diff->list = "rows";
    for (diff->row = 0; diff->row < got->u.hot.n; diff->row++) {
        const struct tidings_hot_row *row = &got->u.hot.rows[diff->row];
        const struct model_hot *hot = find_hot(want, row->post_id);

        same_bool(diff, "in the list", true, hot != NULL);
        if (hot == NULL)
            return false;
        same_hot_row(diff, &hot->row, row);
        same_bool(diff, "after the page before", true, hot->place >= 0);
        if (before != NULL)
            same_bool(diff, "after the row before", true,
                      hot != before && model_hot_order(want->halves, before, hot) <= 0);
        before = hot;
    }
    diff->list = NULL;
    return true;
}

static bool on_page(const struct tidings_answer *got, uint64_t post_id)
{
    for (size_t i = 0; i < got->u.hot.n; i++) {
        if (got->u.hot.rows[i].post_id == post_id)
            return true;
    }
    return false;
}

/*
 * Whatever is not on the page belongs to an earlier one, or to a later one. Without a half-life this
 * is exact. With one, a post that is too close to call against the page's edge may be on either side
 * of it; that none gets lost that way is seen when a whole list is paged through at one moment.
 */
static void same_hot(struct diff *diff, const struct model_answer *want,
                     const struct tidings_answer *got)
{
    size_t n = got->u.hot.n;
    const struct model_hot *last = n > 0 ? find_hot(want, got->u.hot.rows[n - 1].post_id) : NULL;
    bool ends = got->u.hot.next.a == 0 && got->u.hot.next.b == 0;
    bool must_go_on = false;
    bool may_go_on = false;

    if (!hot_rows_are_right(diff, want, got))
        return;
    for (size_t i = 0; i < want->n; i++) {
        const struct model_hot *hot = &want->hot_rows[i];
        int order = last != NULL ? model_hot_order(want->halves, last, hot) : 1;

        if (hot->place < 0 || on_page(got, hot->row.post_id))
            continue;
        if (hot->place > 0 && order > 0 && differs(diff, "rows"))
            report_add(diff->report, "post %" PRIu64 " is missing\n", hot->row.post_id);
        must_go_on = must_go_on || (hot->place > 0 && order < 0);
        may_go_on = may_go_on || order <= 0;
    }
    if (must_go_on || !may_go_on)
        same_bool(diff, "the list goes on", must_go_on, !ends);
}

static void hold_hot(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_hot_row *rows = answer->u.hot.rows;
    bool halves = check->settings->hot_half_life_hours != 0;

    require_page(check, &check->op->u.hot.page, answer->u.hot.n, answer->u.hot.next);
    for (size_t i = 0; i < answer->u.hot.n; i++) {
        require_text(check, rows[i].author_name, "author_name is text", i);
        require_text(check, rows[i].title, "title is text", i);
        require_text(check, rows[i].excerpt, "excerpt is text", i);
        hold_post_counts(check, &rows[i].counts, i);
        require(check, halves || rows[i].heat == (double)rows[i].counts.hot_score,
                "without a half-life the heat is the score", i);
        if (i == 0)
            continue;
        require(check, rows[i].heat <= rows[i - 1].heat * (halves ? 1 + 1e-6 : 1), "hottest first",
                i);
        if (rows[i].counts.hot_score == rows[i - 1].counts.hot_score)
            require(check, rows[i].post_id < rows[i - 1].post_id, "then newest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].post_id != rows[i].post_id, "no post twice", i);
    }
}

/* A hot list has every post of its kind exactly once. */
static bool sweep_kind(struct sweep *sweep, enum tidings_post_kind kind)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_HOT, sweep->run->recording->user_ids[0]);
    const struct model *model = &sweep->run->model;
    uint64_t *ids = calloc(2 * model->n_posts + 2 * (size_t)sweep->limit, sizeof *ids);
    struct tidings_cursor model_after = {0, 0};
    size_t living = 0;
    size_t n = 0;
    bool ok;

    for (size_t i = 0; i < model->n_posts; i++)
        living += model->posts[i].kind == kind && !model->posts[i].deleted;
    op.u.hot.kind = kind;
    op.u.hot.page.limit = sweep->limit;
    do {
        ok = run_op(sweep->run, &op, model_after);
        for (size_t i = 0; ok && i < sweep->run->answer.u.hot.n; i++)
            ids[n++] = sweep->run->answer.u.hot.rows[i].post_id;
        op.u.hot.page.after = answer_next(op.kind, &sweep->run->answer);
        model_after = run_model_next(sweep->run, &op);
    } while (ok && n <= living && (op.u.hot.page.after.a != 0 || op.u.hot.page.after.b != 0));
    qsort(ids, n, sizeof *ids, by_number);
    ok = ok && sweep_same(sweep, (uint64_t)kind, "posts of the kind", living, n);
    for (size_t i = 1; ok && i < n; i++) {
        if (ids[i] == ids[i - 1])
            ok = run_fail(sweep->run, "post %" PRIu64 " is twice in a hot list", ids[i]);
    }
    free(ids);
    return ok;
}

static bool sweep_hot(struct sweep *sweep)
{
    return sweep_kind(sweep, TIDINGS_NOTE) && sweep_kind(sweep, TIDINGS_ACTIVITY) &&
           sweep_kind(sweep, TIDINGS_STORY);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

/* The counts are swept with the comments. */

const struct op_row row_stats = {
    .weights = {[MOOD_MIXED] = 2, [MOOD_LOOK] = 3, [MOOD_VOTE] = 4, [MOOD_TALK] = 3},
    .arguments = stats_arguments,
    .mistake = generate_bad_reaction,
    .report = stats_report,
    .resolve = resolve_react,
    .check = model_check_react,
    .read = read_stats,
    .compare = same_stats,
};

const struct op_row row_hot = {
    .weights =
        {[MOOD_MIXED] = 4, [MOOD_DELETE] = 4, [MOOD_LOOK] = 15, [MOOD_VOTE] = 6, [MOOD_TALK] = 3},
    .page = offsetof(struct tidings_op, u.hot.page),
    .next = offsetof(struct tidings_answer, u.hot.next),
    .arguments = hot_arguments,
    .mistake = bad_hot,
    .report = hot_report,
    .model_next = next_hot,
    .check = check_hot,
    .read = read_hot,
    .compare = same_hot,
    .hold = hold_hot,
    .sweep = sweep_hot,
};
