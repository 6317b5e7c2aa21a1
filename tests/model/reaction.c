/* SPDX-License-Identifier: MIT */
/*
 * Reactions to posts and comments. Chance alone spreads votes thinly, so most go to the same few posts and comments for a
 * while, in waves of downvotes and of likes: comments fold and come back.
 */
#include "ops.h"

#include <inttypes.h>

/* ---- Arguments ----------------------------------------------------------------------------------- */

void aim_target(struct generator *g, struct run *run, struct step *step,
                enum tidings_target *target)
{
    *target = rng_percent(&g->rng, 30) ? TIDINGS_TARGET_POST : TIDINGS_TARGET_COMMENT;
    if (*target == TIDINGS_TARGET_POST)
        step->post = some_topic(g, run, step->op.user_id);
    else
        step->post = some_comment(g, run);
    /* A comment's id where a post's should be, and the other way about. */
    if (rng_percent(&g->rng, 1))
        *target = *target == TIDINGS_TARGET_POST ? TIDINGS_TARGET_COMMENT : TIDINGS_TARGET_POST;
}

/* In waves: for some time most vote a comment down, then most like it. */
static enum tidings_reaction some_reaction(struct generator *g, enum tidings_target target)
{
    bool down = g->recording->n / 24 % 2 == 0;

    if (target == TIDINGS_TARGET_POST)
        return rng_percent(&g->rng, 60) ? TIDINGS_LIKE : TIDINGS_FAV;
    return rng_percent(&g->rng, 85) == down ? TIDINGS_DOWNVOTE : TIDINGS_LIKE;
}

/* One that is there, so that removing it changes something. */
static void aim_at_reaction(struct generator *g, const struct run *run, struct step *step)
{
    const struct model_post *post = run_post(run, &step->post);
    const struct model_comment *comment = run_comment(run, &step->post);
    const struct model_reactions *reactions = post != NULL      ? &post->reactions
                                              : comment != NULL ? &comment->reactions
                                                                : NULL;
    const struct model_reaction *row;

    if (reactions == NULL || reactions->n == 0)
        return;
    row = &reactions->rows[rng_below(&g->rng, reactions->n)];
    step->op.user_id = row->user_id;
    step->op.u.react.reaction = row->reaction;
}

/* The same again, by the same user: changes nothing, and spends a token. Or the opposite. */
static void repeat_reaction(struct generator *g, struct step *step)
{
    step->op.u.react = g->last_reaction.op.u.react;
    step->op.user_id = g->last_reaction.op.user_id;
    step->op.role = g->last_reaction.op.role;
    step->post = g->last_reaction.post;
}

static void react_arguments(struct generator *g, struct run *run, struct step *step)
{
    if (g->last_reaction.op.user_id != 0 && rng_percent(&g->rng, 25)) {
        repeat_reaction(g, step);
        return;
    }
    if (rng_percent(&g->rng, 80))
        step->op.user_id = any_user(g);
    if (rng_percent(&g->rng, 20))
        step->op.role = TIDINGS_ROLE_SERVICE;
    aim_target(g, run, step, &step->op.u.react.target);
    step->op.u.react.reaction = some_reaction(g, step->op.u.react.target);
    if (step->op.kind == TIDINGS_OP_UNREACT && rng_percent(&g->rng, 75))
        aim_at_reaction(g, run, step);
    g->last_reaction = *step;
}

static void reactors_arguments(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_op *op = &step->op;

    aim_target(g, run, step, &op->u.reactors.target);
    op->u.reactors.reaction =
        op->u.reactors.target == TIDINGS_TARGET_POST && rng_percent(&g->rng, 40) ? TIDINGS_FAV
                                                                                 : TIDINGS_LIKE;
    page_arguments(g, run, step);
}

/* To when a token comes back. */
static void aim_react(struct generator *g, struct run *run, const struct step *step)
{
    const struct tidings_settings *s = &g->recording->settings;

    aim_at_token(g, model_user(&run->model, step->op.user_id)->react_full_at, s->react_burst,
                 s->react_refill_ms);
}

void generate_bad_reaction(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;
    bool stats = op->kind == TIDINGS_OP_STATS;
    bool post = op->u.react.target == TIDINGS_TARGET_POST;
    static const int bad_targets[] = {0, 3, 255};
    static const int bad_reactions[] = {0, 4, 255};

    switch (rng_below(&g->rng, stats ? 2 : 4)) {
    case 0:
        step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case 1:
        op->u.react.target = (enum tidings_target)bad_targets[rng_below(&g->rng, 3)];
        break;
    case 2:
        op->u.react.reaction = (enum tidings_reaction)bad_reactions[rng_below(&g->rng, 3)];
        break;
    default: /* one that there is, but not on this */
        op->u.react.reaction = post ? TIDINGS_DOWNVOTE : TIDINGS_FAV;
        break;
    }
}

static void bad_reactors(struct generator *g, struct step *step)
{
    struct tidings_op *op = &step->op;

    switch (rng_below(&g->rng, 5)) {
    case 0:
        op->u.reactors.target = (enum tidings_target)(rng_percent(&g->rng, 50) ? 0 : 3);
        break;
    case 1:
        op->u.reactors.reaction = (enum tidings_reaction)(rng_percent(&g->rng, 50) ? 0 : 4);
        break;
    case 2: /* not on this, or not told to anybody */
        op->u.reactors.reaction =
            op->u.reactors.target == TIDINGS_TARGET_COMMENT && rng_percent(&g->rng, 50)
                ? TIDINGS_FAV
                : TIDINGS_DOWNVOTE;
        break;
    case 3:
        if (op->kind == TIDINGS_OP_REACTORS)
            step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    default:
        generate_bad_page(g, step);
        break;
    }
}

static const char *reaction_name(enum tidings_reaction reaction)
{
    return reaction == TIDINGS_LIKE       ? "like"
           : reaction == TIDINGS_FAV      ? "fav"
           : reaction == TIDINGS_DOWNVOTE ? "downvote"
                                          : "(no reaction)";
}

static void react_report(struct report *report, const struct step *step)
{
    report_add(report, " %s", reaction_name(step->op.u.react.reaction));
    target_report(report, step, step->op.u.react.target);
}

static void reactors_report(struct report *report, const struct step *step)
{
    report_add(report, " %s", reaction_name(step->op.u.reactors.reaction));
    target_report(report, step, step->op.u.reactors.target);
    page_report(report, step);
}

bool resolve_react(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.react.id = run_ref_id(run, &step->post);
    return true;
}

static bool resolve_reactors(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.reactors.id = run_ref_id(run, &step->post);
    return true;
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_react(struct diff *diff, const struct model_answer *want,
                       const struct tidings_answer *got)
{
    same_bool(diff, "changed", want->changed, got->u.reaction.changed);
    same_counts(diff, &want->counts, &got->u.reaction.counts);
}

static void same_reacted(struct diff *diff, const struct model_answer *want,
                         const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.reacted.n);

    for (diff->row = 0; diff->row < n; diff->row++) {
        const struct tidings_reacted_row *a = &want->reacted_rows[diff->row];
        const struct tidings_reacted_row *b = &got->u.reacted.rows[diff->row];

        same_u64(diff, "id", a->id, b->id);
        same_i64(diff, "at", a->at, b->at);
        same_u64(diff, "post_id", a->post_id, b->post_id);
        same_u64(diff, "author_id", a->author_id, b->author_id);
        same_text(diff, "text", a->text, b->text);
        same_bool(diff, "is_deleted", a->is_deleted, b->is_deleted);
    }
    same_end(diff, want->next, got->u.reacted.next);
}

static void hold_reacted(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_reacted_row *rows = answer->u.reacted.rows;

    require_page(check, &check->op->u.reactors.page, answer->u.reacted.n, answer->u.reacted.next);
    for (size_t i = 0; i < answer->u.reacted.n; i++) {
        require_text(check, rows[i].text, "text is text", i);
        require(check, i == 0 || rows[i].at <= rows[i - 1].at, "newest first", i);
        for (size_t j = 0; j < i; j++)
            require(check, rows[j].id != rows[i].id, "nothing twice", i);
    }
}

static int line_of_reaction(char *line, bool changed, const struct tidings_counts *counts)
{
    return snprintf(line, RENDER_MAX,
                    "changed %d likes %" PRIu64 " favs %" PRIu64 " downs %" PRIu64, changed,
                    counts->like_count, counts->fav_count, counts->down_count);
}

static int react_line(char *line, const struct tidings_answer *a)
{
    return line_of_reaction(line, a->u.reaction.changed, &a->u.reaction.counts);
}

static int model_react_line(char *line, const struct model_answer *a)
{
    return line_of_reaction(line, a->changed, &a->counts);
}

/* The counts are the lengths of the lists. */
bool sweep_target(struct sweep *sweep, enum tidings_target target, uint64_t id,
                  struct tidings_counts *counts)
{
    struct tidings_op stats = admin_question(sweep, TIDINGS_OP_STATS);
    struct tidings_op reactors = admin_question(sweep, TIDINGS_OP_REACTORS);
    uint64_t n;

    stats.u.react.target = target;
    stats.u.react.id = id;
    if (!sweep_ask(sweep, &stats))
        return false;
    *counts = sweep->run->answer.u.stats.counts;
    reactors.u.reactors.target = target;
    reactors.u.reactors.id = id;
    reactors.u.reactors.reaction = TIDINGS_LIKE;
    if (!sweep_list(sweep, reactors, &n) || !sweep_same(sweep, id, "likes", counts->like_count, n))
        return false;
    if (target == TIDINGS_TARGET_COMMENT)
        return true;
    reactors.u.reactors.reaction = TIDINGS_FAV;
    return sweep_list(sweep, reactors, &n) && sweep_same(sweep, id, "favs", counts->fav_count, n);
}

static bool sweep_reacted(struct sweep *sweep, uint64_t viewer)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_REACTED, viewer);
    struct tidings_op counters = question(sweep, TIDINGS_OP_COUNTERS, viewer);
    uint64_t liked;
    uint64_t faved;
    uint64_t n;

    counters.u.user.user_id = viewer;
    op.u.reactors.target = TIDINGS_TARGET_POST;
    op.u.reactors.reaction = TIDINGS_LIKE;
    if (!sweep_list(sweep, op, &liked))
        return false;
    op.u.reactors.reaction = TIDINGS_FAV;
    if (!sweep_list(sweep, op, &faved))
        return false;
    op.u.reactors.target = TIDINGS_TARGET_COMMENT;
    op.u.reactors.reaction = TIDINGS_LIKE;
    if (!sweep_list(sweep, op, &n) || !sweep_ask(sweep, &counters))
        return false;
    return sweep_same(sweep, viewer, "liked_posts", sweep->run->answer.u.counters.liked_posts,
                      liked) &&
           sweep_same(sweep, viewer, "faved_posts", sweep->run->answer.u.counters.faved_posts,
                      faved);
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

/* Who reacted to what is swept with the comments. */

const struct op_row row_react = {
    .weights = {[MOOD_MIXED] = 12,
                [MOOD_DELETE] = 20,
                [MOOD_LOOK] = 12,
                [MOOD_VOTE] = 70,
                [MOOD_TALK] = 15},
    .arguments = react_arguments,
    .mistake = generate_bad_reaction,
    .aim = aim_react,
    .report = react_report,
    .resolve = resolve_react,
    .check = model_check_react,
    .write = write_react,
    .compare = same_react,
    .line = react_line,
    .model_line = model_react_line,
};

const struct op_row row_unreact = {
    .weights = {[MOOD_MIXED] = 4, [MOOD_DELETE] = 6, [MOOD_LOOK] = 3, [MOOD_VOTE] = 20},
    .arguments = react_arguments,
    .mistake = generate_bad_reaction,
    .aim = aim_react,
    .report = react_report,
    .resolve = resolve_react,
    .check = model_check_react,
    .write = write_react,
    .compare = same_react,
    .line = react_line,
    .model_line = model_react_line,
};

const struct op_row row_reactors = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_LOOK] = 8, [MOOD_VOTE] = 4},
    .page = offsetof(struct tidings_op, u.reactors.page),
    .next = offsetof(struct tidings_answer, u.users.next),
    .arguments = reactors_arguments,
    .mistake = bad_reactors,
    .report = reactors_report,
    .resolve = resolve_reactors,
    .check = check_reactors,
    .read = read_reactors,
    .compare = same_users,
    .hold = hold_users,
};

const struct op_row row_reacted = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_DELETE] = 3, [MOOD_LOOK] = 8},
    .page = offsetof(struct tidings_op, u.reactors.page),
    .next = offsetof(struct tidings_answer, u.reacted.next),
    .arguments = reactors_arguments,
    .mistake = bad_reactors,
    .report = reactors_report,
    .check = check_reactors,
    .read = read_reacted,
    .compare = same_reacted,
    .hold = hold_reacted,
    .sweep_user = sweep_reacted,
};
