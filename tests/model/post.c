/* SPDX-License-Identifier: MIT */
/* Posts: publishing, editing, deleting, opening, looking at one. */
#include "ops.h"

#include <inttypes.h>

/* ---- Arguments ----------------------------------------------------------------------------------- */

struct ref some_post(struct generator *g, struct run *run, uint64_t viewer, bool any)
{
    const struct model *model = &run->model;
    struct model_user *user = model_user(&run->model, viewer);
    size_t span = rng_percent(&g->rng, 60) ? 60 : model->n_posts;
    size_t pick = 0;

    if (model->n_posts == 0 || (any && rng_percent(&g->rng, 10)))
        return (struct ref){REF_POST, 0, g->recording->n_publishes + rng_below(&g->rng, 3)};
    if (span > model->n_posts)
        span = model->n_posts;
    for (int tries = 0; tries < 24; tries++) {
        pick = model->n_posts - 1 - rng_below(&g->rng, span);
        if (any || user->cells[pick].delivered)
            break;
    }
    /* Next to a post's id there is most likely none. */
    return (struct ref){REF_POST, any && rng_percent(&g->rng, 5) ? 1 : 0, run->publish_of[pick]};
}

/* A post that the viewer wrote, if they wrote any lately. */
static struct ref some_own_post(struct generator *g, struct run *run, uint64_t viewer)
{
    const struct model *model = &run->model;

    for (int tries = 0; tries < 24 && model->n_posts > 0; tries++) {
        size_t pick = rng_below(&g->rng, model->n_posts);

        if (model->posts[pick].author_id == viewer)
            return (struct ref){REF_POST, 0, run->publish_of[pick]};
    }
    return some_post(g, run, viewer, true);
}

static void publish_arguments(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_op *op = &step->op;

    (void)run;
    if (rng_percent(&g->rng, 90))
        op->user_id =
            g->mood == MOOD_PUBLISH && rng_percent(&g->rng, 80) ? g->focus_author : some_author(g);
    op->u.publish.kind = (enum tidings_post_kind)rng_between(&g->rng, 1, 3);
    op->u.publish.title = generate_title(g);
    op->u.publish.body = generate_any_body(g);
    op->u.publish.extra = generate_extra(g);
    step->publish = g->recording->n_publishes++;
}

static void edit_arguments(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_op *op = &step->op;

    if (rng_percent(&g->rng, 80))
        op->user_id = some_author(g);
    step->post = some_own_post(g, run, op->user_id);
    if (rng_percent(&g->rng, 60))
        op->u.edit.title = generate_title(g);
    if (rng_percent(&g->rng, 60) || op->u.edit.title.p == NULL)
        op->u.edit.body = generate_any_body(g);
    op->u.edit.extra = generate_extra(g);
    if (op->u.edit.title.p == NULL && op->u.edit.body.p == NULL && op->u.edit.extra.p == NULL)
        op->u.edit.body = (struct tidings_text){"", 0};
}

static void delete_arguments(struct generator *g, struct run *run, struct step *step)
{
    if (rng_percent(&g->rng, 70))
        step->op.user_id = some_author(g);
    if (rng_percent(&g->rng, 20))
        step->op.role = TIDINGS_ROLE_ADMIN;
    step->post = some_own_post(g, run, step->op.user_id);
}

void post_arguments(struct generator *g, struct run *run, struct step *step)
{
    step->post = some_post(g, run, step->op.user_id, rng_percent(&g->rng, 20));
}

/* To when a token comes back. */
static void aim_publish(struct generator *g, struct run *run, const struct step *step)
{
    const struct tidings_settings *s = &g->recording->settings;

    aim_at_token(g, model_user(&run->model, step->op.user_id)->publish_full_at, s->publish_burst,
                 s->publish_refill_ms);
}

static void bad_publish(struct generator *g, struct step *step)
{
    const struct tidings_settings *settings = &g->recording->settings;
    struct tidings_op *op = &step->op;

    if (rng_percent(&g->rng, 30))
        op->u.publish.kind = (enum tidings_post_kind)(rng_percent(&g->rng, 50) ? 0 : 4);
    else if (rng_percent(&g->rng, 20))
        op->u.publish.extra = generate_bad_extra(g);
    else
        generate_bad_texts(g, &op->u.publish.title, settings->title_max, &op->u.publish.body,
                           settings->body_max);
}

static void bad_edit(struct generator *g, struct step *step)
{
    const struct tidings_settings *settings = &g->recording->settings;

    if (rng_percent(&g->rng, 30))
        generate_bad_post(g, step);
    else if (rng_percent(&g->rng, 20))
        step->op.u.edit.extra = generate_bad_extra(g);
    else
        generate_bad_texts(g, &step->op.u.edit.title, settings->title_max, &step->op.u.edit.body,
                           settings->body_max);
}

void generate_bad_post(struct generator *g, struct step *step)
{
    step->post = (struct ref){REF_NUMBER, 0, generate_bad_id(g)};
}

static void publish_report(struct report *report, const struct step *step)
{
    const struct tidings_op *op = &step->op;

    report_add(report, " P%" PRIu32 " kind=%d", step->publish, (int)op->u.publish.kind);
    two_texts_report(report, "title", op->u.publish.title, "body", op->u.publish.body);
    extra_report(report, op->u.publish.extra);
}

static void edit_report(struct report *report, const struct step *step)
{
    post_report(report, step);
    two_texts_report(report, "title", step->op.u.edit.title, "body", step->op.u.edit.body);
    extra_report(report, step->op.u.edit.extra);
}

void post_report(struct report *report, const struct step *step)
{
    named_report(report, "post_id", &step->post);
}

static bool resolve_edit(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.edit.post_id = run_ref_id(run, &step->post);
    return true;
}

bool resolve_post(struct run *run, const struct step *step, struct tidings_op *op)
{
    op->u.post.post_id = run_ref_id(run, &step->post);
    return true;
}

/* ---- Ids that the engine makes ------------------------------------------------------------------- */

static uint64_t made_id(const struct run *run, const struct tidings_op *op)
{
    return op->once != NULL ? render_id(run->answer.stored, "post ") : run->answer.u.post.id;
}

static bool learn_publish(struct run *run, struct model_call *call)
{
    call->new_post_id = made_id(run, call->op);
    return run_is_repeat(call->op, call->new_post_id,
                         model_post(&run->model, call->new_post_id) != NULL) ||
           run_check_new_id(run, call->new_post_id, "post");
}

static bool remember_publish(struct run *run, const struct step *step, const struct tidings_op *op)
{
    if (run->post_ids[step->publish] != 0)
        return true;
    run->post_ids[step->publish] = made_id(run, op);
    run->publish_of[run->model.n_posts - 1] = step->publish;
    run->outcome->posts++;
    return true;
}

/* ---- Answers ------------------------------------------------------------------------------------- */

static void same_one_post(struct diff *diff, const struct tidings_post *want,
                          const struct tidings_post *got)
{
    same_u64(diff, "post.id", want->id, got->id);
    same_u64(diff, "post.author_id", want->author_id, got->author_id);
    same_text(diff, "post.author_name", want->author_name, got->author_name);
    same_u64(diff, "post.kind", want->kind, got->kind);
    same_text(diff, "post.title", want->title, got->title);
    same_text(diff, "post.body", want->body, got->body);
    same_text(diff, "post.extra", want->extra, got->extra);
    same_i64(diff, "post.created_at", want->created_at, got->created_at);
    same_i64(diff, "post.edited_at", want->edited_at, got->edited_at);
    same_counts(diff, &want->counts, &got->counts);
    same_bool(diff, "post.liked", want->liked, got->liked);
    same_bool(diff, "post.faved", want->faved, got->faved);
}

static void same_post(struct diff *diff, const struct model_answer *want,
                      const struct tidings_answer *got)
{
    same_one_post(diff, &want->post, &got->u.post);
}

static void same_open(struct diff *diff, const struct model_answer *want,
                      const struct tidings_answer *got)
{
    same_one_post(diff, &want->post, &got->u.open.post);
    same_u64(diff, "unread_total", want->total, got->u.open.unread_total);
    same_u64(diff, "unread_author", want->unread_author, got->u.open.unread_author);
}

void same_deleted(struct diff *diff, const struct model_answer *want,
                  const struct tidings_answer *got)
{
    same_u64(diff, "author_id", want->deleted_author_id, got->u.deleted.author_id);
    same_u64(diff, "story_id", want->deleted_story_id, got->u.deleted.story_id);
}

/* Terms of a post's score. */
void hold_post_counts(struct check *check, const struct tidings_counts *counts, size_t i)
{
    const struct tidings_settings *s = check->settings;

    require(check,
            counts->hot_score ==
                (int64_t)(counts->like_count * s->hot_like + counts->fav_count * s->hot_fav +
                          counts->comment_count * s->hot_comment),
            "hot_score is the sum of its terms", i);
    require(check, counts->down_count == 0 && counts->reply_count == 0,
            "a post has no downvotes and replies", i);
}

static void hold_one_post(struct check *check, const struct tidings_post *post)
{
    require_text(check, post->author_name, "author_name is text", 0);
    require_text(check, post->title, "title is text", 0);
    require_text(check, post->body, "body is text", 0);
    require_text(check, post->extra, "extra is text", 0);
    require(check, post->id >= 1 && post->id <= TIDINGS_ID_MAX, "post ids are below 2^53", 0);
    hold_post_counts(check, &post->counts, 0);
    require(check, post->liked <= post->counts.like_count && post->faved <= post->counts.fav_count,
            "one's own reaction is counted", 0);
}

static void hold_post(struct check *check, const struct tidings_answer *answer)
{
    hold_one_post(check, &answer->u.post);
}

static void hold_open(struct check *check, const struct tidings_answer *answer)
{
    hold_one_post(check, &answer->u.open.post);
    require(check, answer->u.open.unread_author <= answer->u.open.unread_total,
            "an author's unread are among all unread", 0);
}

static int line_of_post(char *line, const struct tidings_post *post, uint64_t total,
                        uint64_t author)
{
    return snprintf(line, RENDER_MAX,
                    "post %" PRIu64 " by %" PRIu64 " at %" PRId64 " edited %" PRId64
                    " title %zu body %zu unread %" PRIu64 " of author %" PRIu64 " score %" PRId64
                    " liked %d faved %d",
                    post->id, post->author_id, post->created_at, post->edited_at, post->title.n,
                    post->body.n, total, author, post->counts.hot_score, post->liked, post->faved);
}

static int post_line(char *line, const struct tidings_answer *a)
{
    return line_of_post(line, &a->u.post, 0, 0);
}

static int model_post_line(char *line, const struct model_answer *a)
{
    return line_of_post(line, &a->post, 0, 0);
}

static int open_line(char *line, const struct tidings_answer *a)
{
    return line_of_post(line, &a->u.open.post, a->u.open.unread_total, a->u.open.unread_author);
}

static int model_open_line(char *line, const struct model_answer *a)
{
    return line_of_post(line, &a->post, a->total, a->unread_author);
}

static bool sweep_posts(struct sweep *sweep)
{
    struct tidings_op op = question(sweep, TIDINGS_OP_POST, sweep->run->recording->user_ids[0]);

    for (size_t i = 0; i < sweep->run->model.n_posts; i++) {
        op.u.post.post_id = sweep->run->model.posts[i].id;
        if (!sweep_ask(sweep, &op))
            return false;
    }
    return true;
}

/* ---- Rows ---------------------------------------------------------------------------------------- */

const struct op_row row_publish = {
    .delivers = true,
    .weights = {[MOOD_PUSH] = 10,
                [MOOD_MIXED] = 16,
                [MOOD_PUBLISH] = 80,
                [MOOD_READ] = 6,
                [MOOD_RELATE] = 15,
                [MOOD_DELETE] = 20,
                [MOOD_LOOK] = 8,
                [MOOD_TALK] = 2,
                [MOOD_STORY] = 5,
                [MOOD_DEVICES] = 3},
    .arguments = publish_arguments,
    .aim = aim_publish,
    .mistake = bad_publish,
    .report = publish_report,
    .check = check_publish,
    .write = write_publish,
    .learn = learn_publish,
    .remember = remember_publish,
    .compare = same_post,
    .hold = hold_post,
    .line = post_line,
    .model_line = model_post_line,
};

const struct op_row row_edit = {
    .weights = {[MOOD_MIXED] = 4, [MOOD_PUBLISH] = 2, [MOOD_DELETE] = 8},
    .arguments = edit_arguments,
    .mistake = bad_edit,
    .report = edit_report,
    .resolve = resolve_edit,
    .check = check_edit,
    .write = write_edit,
    .compare = same_post,
    .hold = hold_post,
    .line = post_line,
    .model_line = model_post_line,
};

const struct op_row row_delete = {
    .weights = {[MOOD_MIXED] = 4,
                [MOOD_PUBLISH] = 4,
                [MOOD_READ] = 1,
                [MOOD_DELETE] = 25,
                [MOOD_LOOK] = 2,
                [MOOD_VOTE] = 1,
                [MOOD_TALK] = 1,
                [MOOD_STORY] = 1,
                [MOOD_DEVICES] = 1},
    .arguments = delete_arguments,
    .mistake = generate_bad_post,
    .report = post_report,
    .resolve = resolve_post,
    .check = model_check_post,
    .write = write_delete,
    .compare = same_deleted,
};

const struct op_row row_open = {
    .weights = {[MOOD_MIXED] = 12,
                [MOOD_PUBLISH] = 3,
                [MOOD_READ] = 45,
                [MOOD_DELETE] = 12,
                [MOOD_LOOK] = 5,
                [MOOD_TALK] = 3},
    .arguments = post_arguments,
    .mistake = generate_bad_post,
    .report = post_report,
    .resolve = resolve_post,
    .check = model_check_post,
    .write = write_open,
    .compare = same_open,
    .hold = hold_open,
    .line = open_line,
    .model_line = model_open_line,
};

/* ---- By key: nothing that operations make has one ---------------------------------------------- */

static void key_arguments(struct generator *g, struct run *run, struct step *step)
{
    (void)run;
    step->op.u.key.key = rng_percent(&g->rng, 50) ? (struct tidings_text){"blog:77", 7}
                                                  : (struct tidings_text){"k", 1};
}

static void bad_key(struct generator *g, struct step *step)
{
    static const char invalid[] = "\xff";

    step->op.u.key.key =
        rng_percent(&g->rng, 50) ? (struct tidings_text){invalid, 1} : (struct tidings_text){"", 0};
}

static void key_report(struct report *report, const struct step *step)
{
    report_add(report, " key=");
    report_text(report, step->op.u.key.key);
}

static const char *check_key(const struct model *model, const struct model_call *call)
{
    (void)model;
    return model_characters(call->op->u.key.key) < 1 ? "key" : NULL;
}

static void read_by_key(struct model *model, const struct model_call *call,
                        struct model_answer *answer)
{
    (void)model;
    (void)call;
    answer->err = TIDINGS_NOT_FOUND;
}

const struct op_row row_post_by_key = {
    .weights = {[MOOD_MIXED] = 1},
    .arguments = key_arguments,
    .mistake = bad_key,
    .report = key_report,
    .check = check_key,
    .read = read_by_key,
};

const struct op_row row_post = {
    .weights = {[MOOD_MIXED] = 3, [MOOD_DELETE] = 4, [MOOD_TALK] = 3},
    .arguments = post_arguments,
    .mistake = generate_bad_post,
    .report = post_report,
    .resolve = resolve_post,
    .check = model_check_post,
    .read = read_post,
    .compare = same_post,
    .hold = hold_post,
    .sweep = sweep_posts,
};
