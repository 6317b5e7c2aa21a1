/* SPDX-License-Identifier: MIT */
/* Comments: writing, deleting and moderating them, folding, and their lists. */
#include "ops.h"

#include <inttypes.h>

/* ---- Arguments ----------------------------------------------------------------------------------- */

/* Somebody at random: it takes many to fold a comment. */
uint64_t any_user(struct generator *g)
{
    return g->recording->user_ids[rng_below(&g->rng, g->recording->n_users)];
}

/* A number of a comment, as if there were any. */
static struct ref no_comment(struct generator *g)
{
    return (struct ref){REF_COMMENT, 0, g->recording->n_comments + rng_below(&g->rng, 3)};
}

/* Where in the model a comment is that is looked at; mostly a late one. There must be one. */
static size_t pick_comment(struct generator *g, const struct model *model)
{
    size_t span = rng_percent(&g->rng, 70) && model->n_comments > 12 ? 12 : model->n_comments;

    return model->n_comments - 1 - rng_below(&g->rng, span);
}

struct ref some_comment(struct generator *g, const struct run *run)
{
    if (run->model.n_comments == 0 || rng_percent(&g->rng, 2))
        return no_comment(g);
    if (!g->has_focus_comment) {
        g->has_focus_comment = true;
        g->focus_comment = run->comment_of[pick_comment(g, &run->model)];
    }
    if (rng_percent(&g->rng, 60))
        return (struct ref){REF_COMMENT, 0, g->focus_comment};
    /* Next to an id there is most likely nothing, or not a comment. */
    return (struct ref){REF_COMMENT, rng_percent(&g->rng, 2) ? 1 : 0,
                        run->comment_of[pick_comment(g, &run->model)]};
}

/* One that was talked about, and then deleted; false if none is found. */
static bool some_deleted_topic(struct generator *g, const struct run *run, struct ref *ref)
{
    for (int tries = 0; tries < 40 && run->model.n_posts > 0; tries++) {
        size_t pick = rng_below(&g->rng, run->model.n_posts);
        const struct model_post *post = &run->model.posts[pick];

        *ref = (struct ref){REF_POST, 0, run->publish_of[pick]};
        if (post->deleted && (post->reactions.n > 0 || post->n_comments > 0))
            return true;
    }
    return false;
}

/* The post that is talked about, or another. */
struct ref some_topic(struct generator *g, struct run *run, uint64_t viewer)
{
    struct ref any = some_post(g, run, viewer, true);
    struct ref deleted;

    if (rng_percent(&g->rng, 12) && some_deleted_topic(g, run, &deleted))
        return deleted;
    if (!g->has_focus_post && any.delta == 0) {
        g->has_focus_post = true;
        g->focus_post = (uint32_t)any.value;
    }
    if (g->has_focus_post && rng_percent(&g->rng, 60))
        return (struct ref){REF_POST, 0, g->focus_post};
    return any;
}

const struct model_post *run_post(const struct run *run, const struct ref *ref)
{
    if (ref->kind != REF_POST || ref->value >= run->post_room || ref->delta != 0)
        return NULL;
    return model_post(&run->model, run->post_ids[ref->value]);
}

const struct model_comment *run_comment(const struct run *run, const struct ref *ref)
{
    if (ref->kind != REF_COMMENT || ref->value >= run->post_room || ref->delta != 0)
        return NULL;
    return model_comment(&run->model, run->comment_ids[ref->value]);
}

static struct ref comment_ref(const struct run *run, const struct model_comment *comment)
{
    return (struct ref){REF_COMMENT, 0, run->comment_of[comment - run->model.comments]};
}

/* Under which comment of the post: none, the newest, any; now and then one of another post. */
static struct ref some_parent(struct generator *g, const struct run *run, const struct ref *topic)
{
    const struct model_post *post = run_post(run, topic);
    size_t back;

    if (rng_percent(&g->rng, 3))
        return some_comment(g, run);
    if (post == NULL || post->n_comments == 0 || rng_percent(&g->rng, 35))
        return (struct ref){REF_NUMBER, 0, 0};
    back = rng_percent(&g->rng, 50) ? 0 : rng_below(&g->rng, post->n_comments);
    return comment_ref(run, &run->model.comments[post->comments[post->n_comments - 1 - back]]);
}

static void comment_arguments(struct generator *g, struct run *run, struct step *step)
{
    if (rng_percent(&g->rng, 30))
        step->op.role = TIDINGS_ROLE_SERVICE;
    step->post = some_topic(g, run, step->op.user_id);
    step->parent = some_parent(g, run, &step->post);
    step->op.u.comment.body = generate_comment(g);
    step->comment = g->recording->n_comments++;
}

/* One that was written under a comment which is deleted by now: at the end of such a chain, all of it
 * leaves the lists together. */
static const struct model_comment *some_orphan(struct generator *g, const struct model *model)
{
    for (int tries = 0; tries < 40; tries++) {
        const struct model_comment *comment =
            &model->comments[rng_below(&g->rng, model->n_comments)];

        if (!comment->deleted && comment->parent_id != 0 &&
            model_comment(model, comment->parent_id)->deleted)
            return comment;
    }
    return NULL;
}

/* Often one that has been replied to, or whose parent is gone already. */
static void comment_id_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model_comment *comment;

    step->post = some_comment(g, run);
    comment = run_comment(run, &step->post);
    if (comment != NULL && comment->parent_id != 0 && rng_percent(&g->rng, 50)) {
        comment = model_comment(&run->model, comment->parent_id);
        step->post = comment_ref(run, comment);
    }
    if (run->model.n_comments > 0 && rng_percent(&g->rng, 40)) {
        const struct model_comment *orphan = some_orphan(g, &run->model);

        if (orphan != NULL) {
            comment = orphan;
            step->post = comment_ref(run, orphan);
        }
    }
    if (step->op.kind != TIDINGS_OP_COMMENT_DELETE) {
        if (rng_percent(&g->rng, 90))
            step->op.role = TIDINGS_ROLE_ADMIN;
        return;
    }
    if (rng_percent(&g->rng, 15))
        step->op.role = TIDINGS_ROLE_ADMIN;
    else if (comment != NULL && rng_percent(&g->rng, 85))
        step->op.user_id = comment->user_id;
}

static void comments_arguments(struct generator *g, struct run *run, struct step *step)
{
    const struct model_post *post;

    if (rng_percent(&g->rng, 15))
        step->op.role = TIDINGS_ROLE_ADMIN;
    step->post = some_topic(g, run, step->op.user_id);
    post = run_post(run, &step->post);
    step->parent = some_parent(g, run, &step->post);
    /* A level that is not empty. */
    if (post != NULL && post->n_comments > 0 && rng_percent(&g->rng, 60)) {
        const struct model_comment *comment =
            &run->model.comments[post->comments[rng_below(&g->rng, post->n_comments)]];

        step->parent = (struct ref){REF_NUMBER, 0, 0};
        if (comment->parent_id != 0)
            step->parent = comment_ref(run, model_comment(&run->model, comment->parent_id));
    }
    step->op.u.comments.sort = (enum tidings_sort)rng_below(&g->rng, 3);
    if (rng_percent(&g->rng, 40))
        step->op.u.comments.sort = TIDINGS_HOT;
    step->op.u.comments.include_hidden = rng_percent(&g->rng, 40);
    page_arguments(g, run, step);
}

/* To when a token comes back. */
static void aim_comment(struct generator *g, struct run *run, const struct step *step)
{
    const struct tidings_settings *s = &g->recording->settings;

    aim_at_token(g, model_user(&run->model, step->op.user_id)->comment_full_at, s->comment_burst,
                 s->comment_refill_ms);
}

static void bad_comment(struct generator *g, struct step *step)
{
    struct tidings_text *body = &step->op.u.comment.body;

    switch (rng_below(&g->rng, 5)) {
    case 0:
        step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case 1:
        step->parent = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    case 2:
        *body = (struct tidings_text){rng_percent(&g->rng, 50) ? "" : NULL, 0};
        break;
    default:
        *body = generate_bad_text(g, g->recording->settings.comment_max);
        break;
    }
}

static void bad_comments(struct generator *g, struct step *step)
{
    switch (rng_below(&g->rng, 4)) {
    case 0:
        step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
        break;
    case 1:
        step->parent = (struct ref){REF_NUMBER, 0, generate_too_great(g)};
        break;
    case 2:
        step->op.u.comments.sort = (enum tidings_sort)(rng_percent(&g->rng, 50) ? 3 : 255);
        break;
    default:
        generate_bad_page(g, step);
        break;
    }
}

static void thread_report(struct report *report, const struct step *step)
{
    report_add(report, " post_id=");
    ref_report(report, &step->post);
    report_add(report, " parent_id=");
    ref_report(report, &step->parent);
}

static void comment_report(struct report *report, const struct step *step)
{
    report_add(report, " C%" PRIu32, step->comment);
    thread_report(report, step);
    report_add(report, " body=");
    report_text(report, step->op.u.comment.body);
}

static void comment_id_report(struct report *report, const struct step *step)
{
    target_report(report, step, TIDINGS_TARGET_COMMENT);
}

static void comments_report(struct report *report, const struct step *step)
{
    thread_report(report, step);
    report_add(report, " sort=%d%s", (int)step->op.u.comments.sort,
               step->op.u.comments.include_hidden ? " include_hidden" : "");
    page_report(report, step);
}

static bool resolve_comment(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.comment.post_id = run_ref_id(run, &step->post);
    op->u.comment.parent_id = run_ref_id(run, &step->parent);
    return true;
}

static bool resolve_comment_id(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.comment_id.comment_id = run_ref_id(run, &step->post);
    return true;
}

static bool resolve_comments(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.comments.post_id = run_ref_id(run, &step->post);
    op->u.comments.parent_id = run_ref_id(run, &step->parent);
    return true;
}

/* ---- Ids that the engine makes ------------------------------------------------------------------- */

static uint64_t made_id(const struct run *run, const struct tidings_op *op)
{
    return op->once != NULL ? render_id(run->answer.stored, "comment ") : run->answer.u.comment.id;
}

static bool learn_comment(struct run *run, struct model_call *call)
{
    call->new_post_id = made_id(run, call->op);
    return run_is_repeat(call->op, call->new_post_id,
                         model_comment(&run->model, call->new_post_id) != NULL) ||
           run_check_new_id(run, call->new_post_id, "comment");
}

/* Unless it was the repeat of something else. */
static bool remember_comment(struct run *run, const struct step *step, const struct tidings_op *op)
{
    const struct model *model = &run->model;

    if (run->comment_ids[step->comment] != 0 || model->n_comments == 0 ||
        model->comments[model->n_comments - 1].id != made_id(run, op))
        return true;
    run->comment_ids[step->comment] = made_id(run, op);
    run->comment_of[model->n_comments - 1] = step->comment;
    run->outcome->comments++;
    return true;
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_one_comment(struct diff *diff, const struct tidings_comment *want,
                             const struct tidings_comment *got)
{
    same_u64(diff, "id", want->id, got->id);
    same_u64(diff, "post_id", want->post_id, got->post_id);
    same_u64(diff, "parent_id", want->parent_id, got->parent_id);
    same_u64(diff, "user_id", want->user_id, got->user_id);
    same_text(diff, "user_name", want->user_name, got->user_name);
    same_text(diff, "body", want->body, got->body);
    same_u64(diff, "status", want->status, got->status);
    same_bool(diff, "moderated", want->moderated, got->moderated);
    same_i64(diff, "created_at", want->created_at, got->created_at);
    same_counts(diff, &want->counts, &got->counts);
    same_bool(diff, "liked", want->liked, got->liked);
    same_bool(diff, "downvoted", want->downvoted, got->downvoted);
}

static void same_comment(struct diff *diff, const struct model_answer *want,
                         const struct tidings_answer *got)
{
    same_one_comment(diff, &want->comment, &got->u.comment);
}

static void same_comments(struct diff *diff, const struct model_answer *want,
                          const struct tidings_answer *got)
{
    size_t n = same_length(diff, want->n, got->u.comments.n);

    for (diff->row = 0; diff->row < n; diff->row++)
        same_one_comment(diff, &want->comment_rows[diff->row], &got->u.comments.rows[diff->row]);
    same_end(diff, want->next, got->u.comments.next);
}

static void hold_one_comment(struct check *check, const struct tidings_comment *comment, size_t i)
{
    const struct tidings_settings *s = check->settings;
    const struct tidings_counts *counts = &comment->counts;
    bool folds = counts->down_count >= s->fold_down &&
                 counts->down_count * 100 >= s->fold_percent * (counts->like_count + 1);

    require_text(check, comment->user_name, "user_name is text", i);
    require_text(check, comment->body, "body is text", i);
    require(check, comment->id >= 1 && comment->id <= TIDINGS_ID_MAX, "ids are below 2^53", i);
    require(check, comment->id > comment->parent_id, "a reply is newer than its parent", i);
    require(check, !(comment->liked && comment->downvoted), "like and downvote exclude each other",
            i);
    require(check, comment->liked <= counts->like_count && comment->downvoted <= counts->down_count,
            "one's own vote is counted", i);
    require(check,
            counts->hot_score == (int64_t)(counts->like_count * s->hot_comment_like) +
                                     (int64_t)(counts->reply_count * s->hot_comment_reply) -
                                     (int64_t)(counts->down_count * s->hot_comment_down),
            "hot_score is the sum of its terms", i);
    require(check, counts->fav_count == 0 && counts->comment_count == 0,
            "a comment has no favs and comments", i);
    if (comment->status == TIDINGS_COMMENT_DELETED)
        require(check, comment->body.n == 0, "a deleted comment has no body", i);
    else if (!comment->moderated)
        require(check, (comment->status == TIDINGS_COMMENT_HIDDEN) == folds,
                "votes decide what is folded", i);
    if (comment->status == TIDINGS_COMMENT_VISIBLE)
        require(check, comment->body.n > 0, "a visible comment has a body", i);
}

static void hold_comment(struct check *check, const struct tidings_answer *answer)
{
    hold_one_comment(check, &answer->u.comment, 0);
}

/* Is b in its place behind a? */
static bool comments_in_order(enum tidings_sort sort, const struct tidings_comment *a,
                              const struct tidings_comment *b)
{
    if (sort == TIDINGS_OLD)
        return a->id < b->id;
    if (sort == TIDINGS_HOT && a->counts.hot_score != b->counts.hot_score)
        return a->counts.hot_score > b->counts.hot_score;
    return a->id > b->id;
}

static void hold_comments(struct check *check, const struct tidings_answer *answer)
{
    const struct tidings_comment *rows = answer->u.comments.rows;
    const struct tidings_op *op = check->op;

    require_page(check, &op->u.comments.page, answer->u.comments.n, answer->u.comments.next);
    for (size_t i = 0; i < answer->u.comments.n; i++) {
        hold_one_comment(check, &rows[i], i);
        require(check,
                rows[i].post_id == op->u.comments.post_id &&
                    rows[i].parent_id == op->u.comments.parent_id,
                "of this post and this parent", i);
        require(check, i == 0 || comments_in_order(op->u.comments.sort, &rows[i - 1], &rows[i]),
                "in order", i);
        if (rows[i].status == TIDINGS_COMMENT_HIDDEN)
            require(check, (rows[i].body.n > 0) == op->u.comments.include_hidden,
                    "a hidden comment's body is shown if asked for", i);
    }
}

static int line_of_comment(char *line, const struct tidings_comment *comment)
{
    return snprintf(line, RENDER_MAX,
                    "comment %" PRIu64 " on %" PRIu64 " under %" PRIu64 " by %" PRIu64
                    " at %" PRId64 " body %zu status %d%s",
                    comment->id, comment->post_id, comment->parent_id, comment->user_id,
                    comment->created_at, comment->body.n, (int)comment->status,
                    comment->moderated ? " moderated" : "");
}

static int comment_line(char *line, const struct tidings_answer *a)
{
    return line_of_comment(line, &a->u.comment);
}

static int model_comment_line(char *line, const struct model_answer *a)
{
    return line_of_comment(line, &a->comment);
}

/* Pages through the comments of one parent and counts those that are visible. */
static bool count_visible(struct sweep *sweep, struct tidings_op op, uint64_t *rows,
                          uint64_t *visible)
{
    struct tidings_page *page = &op.u.comments.page;
    struct tidings_cursor model_after = {0, 0};

    page->limit = sweep->limit;
    *rows = *visible = 0;
    do {
        if (!run_op(sweep->run, &op, model_after))
            return false;
        *rows += sweep->run->answer.u.comments.n;
        for (size_t i = 0; i < sweep->run->answer.u.comments.n; i++)
            *visible += sweep->run->answer.u.comments.rows[i].status == TIDINGS_COMMENT_VISIBLE;
        page->after = answer_next(op.kind, &sweep->run->answer);
        model_after = run_model_next(sweep->run, &op);
    } while (page->after.a != 0 || page->after.b != 0);
    return true;
}

/* The comments under one parent in every order; as many in each. */
static bool sweep_level(struct sweep *sweep, uint64_t post_id, uint64_t parent_id,
                        uint64_t *visible)
{
    struct tidings_op op = admin_question(sweep, TIDINGS_OP_COMMENTS);
    uint64_t hot;
    uint64_t rows;

    op.u.comments.post_id = post_id;
    op.u.comments.parent_id = parent_id;
    op.u.comments.sort = TIDINGS_HOT;
    if (!count_visible(sweep, op, &hot, visible))
        return false;
    op.u.comments.include_hidden = true;
    op.u.comments.sort = TIDINGS_NEW;
    if (!sweep_list(sweep, op, &rows) || !sweep_same(sweep, post_id, "hot, new", hot, rows))
        return false;
    op.u.comments.sort = TIDINGS_OLD;
    return sweep_list(sweep, op, &rows) && sweep_same(sweep, post_id, "hot, old", hot, rows);
}

/* comment_count is the number of visible comments at every depth, reply_count of those below. */
static bool sweep_post(struct sweep *sweep, const struct model_post *post)
{
    struct tidings_counts counts;
    struct tidings_counts comment_counts;
    uint64_t visible;
    uint64_t all_visible;

    if (!sweep_target(sweep, TIDINGS_TARGET_POST, post->id, &counts) ||
        !sweep_level(sweep, post->id, 0, &all_visible))
        return false;
    for (size_t i = 0; i < post->n_comments; i++) {
        uint64_t id = sweep->run->model.comments[post->comments[i]].id;

        if (!sweep_target(sweep, TIDINGS_TARGET_COMMENT, id, &comment_counts) ||
            !sweep_level(sweep, post->id, id, &visible) ||
            !sweep_same(sweep, id, "replies", comment_counts.reply_count, visible))
            return false;
        all_visible += visible;
    }
    return sweep_same(sweep, post->id, "comments", counts.comment_count, all_visible);
}

static bool sweep_comments(struct sweep *sweep)
{
    for (size_t i = 0; i < sweep->run->model.n_posts; i++) {
        if (!sweep_post(sweep, &sweep->run->model.posts[i]))
            return false;
    }
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_comment = {
    .weights =
        {[MOOD_MIXED] = 8, [MOOD_DELETE] = 8, [MOOD_LOOK] = 5, [MOOD_VOTE] = 4, [MOOD_TALK] = 60},
    .arguments = comment_arguments,
    .mistake = bad_comment,
    .aim = aim_comment,
    .report = comment_report,
    .resolve = resolve_comment,
    .check = check_comment,
    .write = write_comment,
    .learn = learn_comment,
    .remember = remember_comment,
    .compare = same_comment,
    .hold = hold_comment,
    .line = comment_line,
    .model_line = model_comment_line,
};

const struct op_row row_comment_delete = {
    .weights =
        {[MOOD_PUSH] = 5, [MOOD_MIXED] = 2, [MOOD_DELETE] = 4, [MOOD_VOTE] = 1, [MOOD_TALK] = 15},
    .arguments = comment_id_arguments,
    .mistake = generate_bad_post,
    .report = comment_id_report,
    .resolve = resolve_comment_id,
    .check = check_comment_id,
    .write = write_comment_delete,
};

const struct op_row row_comment_hide = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_VOTE] = 1, [MOOD_TALK] = 3},
    .arguments = comment_id_arguments,
    .mistake = generate_bad_post,
    .report = comment_id_report,
    .resolve = resolve_comment_id,
    .check = check_comment_id,
    .write = write_moderate,
    .compare = same_comment,
    .hold = hold_comment,
    .line = comment_line,
    .model_line = model_comment_line,
};

const struct op_row row_comment_restore = {
    .weights = {[MOOD_MIXED] = 1, [MOOD_VOTE] = 1, [MOOD_TALK] = 3},
    .arguments = comment_id_arguments,
    .mistake = generate_bad_post,
    .report = comment_id_report,
    .resolve = resolve_comment_id,
    .check = check_comment_id,
    .write = write_moderate,
    .compare = same_comment,
    .hold = hold_comment,
    .line = comment_line,
    .model_line = model_comment_line,
};

const struct op_row row_comments = {
    .weights =
        {[MOOD_MIXED] = 6, [MOOD_DELETE] = 3, [MOOD_LOOK] = 18, [MOOD_VOTE] = 18, [MOOD_TALK] = 20},
    .page = offsetof(struct tidings_op, u.comments.page),
    .next = offsetof(struct tidings_answer, u.comments.next),
    .arguments = comments_arguments,
    .mistake = bad_comments,
    .report = comments_report,
    .resolve = resolve_comments,
    .check = check_comments,
    .read = read_comments,
    .compare = same_comments,
    .hold = hold_comments,
    .sweep = sweep_comments,
};
