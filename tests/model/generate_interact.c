/* SPDX-License-Identifier: MIT */
/*
 * Arguments of reactions and comments. Chance alone spreads votes thinly, so most go to the same few
 * posts and comments for a while, in waves of downvotes and of likes: comments fold and come back.
 * Replies often go to the newest comment: long chains.
 */
#include "generate.h"

/* Somebody at random: it takes many to fold a comment. */
static uint64_t any_user(struct generator *g)
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

static struct ref some_comment(struct generator *g, const struct run *run)
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
static struct ref some_topic(struct generator *g, struct run *run, uint64_t viewer)
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

static const struct model_post *post_of(const struct run *run, const struct ref *ref)
{
    if (ref->kind != REF_POST || ref->value >= run->post_room || ref->delta != 0)
        return NULL;
    return model_post(&run->model, run->post_ids[ref->value]);
}

static const struct model_comment *comment_of(const struct run *run, const struct ref *ref)
{
    if (ref->kind != REF_COMMENT || ref->value >= run->post_room || ref->delta != 0)
        return NULL;
    return model_comment(&run->model, run->comment_ids[ref->value]);
}

static struct ref ref_to(const struct run *run, const struct model_comment *comment)
{
    return (struct ref){REF_COMMENT, 0, run->comment_of[comment - run->model.comments]};
}

/* ---- Reactions ----------------------------------------------------------------------------- */

static void aim_target(struct generator *g, struct run *run, struct step *step,
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
    const struct model_post *post = post_of(run, &step->post);
    const struct model_comment *comment = comment_of(run, &step->post);
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

/* ---- Comments ------------------------------------------------------------------------------ */

/* Under which comment of the post: none, the newest, any; now and then one of another post. */
static struct ref some_parent(struct generator *g, const struct run *run, const struct ref *topic)
{
    const struct model_post *post = post_of(run, topic);
    size_t back;

    if (rng_percent(&g->rng, 3))
        return some_comment(g, run);
    if (post == NULL || post->n_comments == 0 || rng_percent(&g->rng, 35))
        return (struct ref){REF_NUMBER, 0, 0};
    back = rng_percent(&g->rng, 50) ? 0 : rng_below(&g->rng, post->n_comments);
    return ref_to(run, &run->model.comments[post->comments[post->n_comments - 1 - back]]);
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
    comment = comment_of(run, &step->post);
    if (comment != NULL && comment->parent_id != 0 && rng_percent(&g->rng, 50)) {
        comment = model_comment(&run->model, comment->parent_id);
        step->post = ref_to(run, comment);
    }
    if (run->model.n_comments > 0 && rng_percent(&g->rng, 40)) {
        const struct model_comment *orphan = some_orphan(g, &run->model);

        if (orphan != NULL) {
            comment = orphan;
            step->post = ref_to(run, orphan);
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
    post = post_of(run, &step->post);
    step->parent = some_parent(g, run, &step->post);
    /* A level that is not empty. */
    if (post != NULL && post->n_comments > 0 && rng_percent(&g->rng, 60)) {
        const struct model_comment *comment =
            &run->model.comments[post->comments[rng_below(&g->rng, post->n_comments)]];

        step->parent = (struct ref){REF_NUMBER, 0, 0};
        if (comment->parent_id != 0)
            step->parent = ref_to(run, model_comment(&run->model, comment->parent_id));
    }
    step->op.u.comments.sort = (enum tidings_sort)rng_below(&g->rng, 3);
    if (rng_percent(&g->rng, 40))
        step->op.u.comments.sort = TIDINGS_HOT;
    step->op.u.comments.include_hidden = rng_percent(&g->rng, 40);
}

void generate_reopening(struct generator *g, const struct run *run, struct step *step)
{
    struct tidings_settings *rules = recording_room(g->recording, sizeof *rules);
    size_t voted = 0;

    step->kind = STEP_REOPEN;
    for (size_t i = 0; i < run->model.n_comments; i++)
        voted += run->model.comments[i].reactions.n > 0;
    /* All that fold or come back do so in one millisecond, which has only so many ids. */
    if (voted > 200 || !rng_percent(&g->rng, 30))
        return;
    *rules = run->options.settings;
    generate_rules(g, rules);
    step->rules = rules;
}

void generate_interaction(struct generator *g, struct run *run, struct step *step)
{
    struct tidings_op *op = &step->op;

    switch (op->kind) {
    case TIDINGS_OP_REACT:
    case TIDINGS_OP_UNREACT:
        react_arguments(g, run, step);
        break;
    case TIDINGS_OP_STATS:
        aim_target(g, run, step, &op->u.react.target);
        break;
    case TIDINGS_OP_COMMENT:
        comment_arguments(g, run, step);
        break;
    case TIDINGS_OP_REACTORS:
    case TIDINGS_OP_REACTED:
        aim_target(g, run, step, &op->u.reactors.target);
        op->u.reactors.reaction =
            op->u.reactors.target == TIDINGS_TARGET_POST && rng_percent(&g->rng, 40) ? TIDINGS_FAV
                                                                                     : TIDINGS_LIKE;
        page_arguments(g, step);
        break;
    case TIDINGS_OP_COMMENTS:
        comments_arguments(g, run, step);
        page_arguments(g, step);
        break;
    case TIDINGS_OP_HOT:
        op->u.hot.kind = (enum tidings_post_kind)rng_between(&g->rng, 1, 3);
        page_arguments(g, step);
        break;
    default:
        comment_id_arguments(g, run, step);
        break;
    }
}
