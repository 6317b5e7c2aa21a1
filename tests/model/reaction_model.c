/* SPDX-License-Identifier: MIT */
/* Reactions: setting and removing them, who reacted, and to what; see reaction.c. */
#include "model.h"

uint64_t model_count_reactions(const struct model_reactions *reactions,
                               enum tidings_reaction reaction)
{
    uint64_t n = 0;

    for (size_t i = 0; i < reactions->n; i++)
        n += reactions->rows[i].reaction == reaction;
    return n;
}

bool model_has_reaction(const struct model_reactions *reactions, uint64_t user_id,
                        enum tidings_reaction reaction)
{
    for (size_t i = 0; i < reactions->n; i++) {
        if (reactions->rows[i].user_id == user_id && reactions->rows[i].reaction == reaction)
            return true;
    }
    return false;
}

void model_count_interactions(const struct model *model, uint64_t user_id,
                              struct model_answer *answer)
{
    for (size_t i = 0; i < model->n_posts; i++) {
        const struct model_post *post = &model->posts[i];

        answer->count_liked += model_has_reaction(&post->reactions, user_id, TIDINGS_LIKE);
        answer->count_faved += model_has_reaction(&post->reactions, user_id, TIDINGS_FAV);
        if (post->author_id != user_id || post->deleted)
            continue;
        answer->count_likes_received += model_count_reactions(&post->reactions, TIDINGS_LIKE);
        answer->count_favs_received += model_count_reactions(&post->reactions, TIDINGS_FAV);
    }
}

/* What the operation is about: a post, or a comment and its post. */
struct target {
    struct model_post *post;
    struct model_comment *comment; /* NULL: the post itself */
    struct model_reactions *reactions;
};

static bool find_target(struct model *model, enum tidings_target kind, uint64_t id,
                        struct target *target, struct model_answer *answer)
{
    target->comment = NULL;
    if (kind == TIDINGS_TARGET_COMMENT) {
        target->comment = model_comment(model, id);
        id = target->comment != NULL ? target->comment->post_id : 0;
    }
    target->post = model_post(model, id);
    if (target->post == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    target->reactions =
        target->comment != NULL ? &target->comment->reactions : &target->post->reactions;
    return true;
}

/* Refuses what is about a deleted thing. */
static bool is_living(const struct target *target, struct model_answer *answer)
{
    if (!target->post->deleted && (target->comment == NULL || !target->comment->deleted))
        return true;
    answer->err = TIDINGS_DELETED;
    answer->title = target->post->title;
    return false;
}

static void vote_event(struct model *model, const struct tidings_op *op,
                       const struct target *target, enum tidings_reaction reaction, bool created,
                       int64_t t)
{
    bool on_post = target->comment == NULL;

    model_add_event(model, (struct tidings_event){
                               .type = on_post ? (created ? TIDINGS_EVENT_REACTION_CREATED
                                                          : TIDINGS_EVENT_REACTION_DELETED)
                                               : (created ? TIDINGS_EVENT_VOTE_CREATED
                                                          : TIDINGS_EVENT_VOTE_DELETED),
                               .happened_at = t,
                               .actor_user_id = op->user_id,
                               .target_id = op->u.react.id,
                               .author_id = target->post->author_id,
                               .delta = created ? +1 : -1,
                               .post_id = on_post ? 0 : target->post->id,
                               .reaction = reaction,
                           });
}

static bool remove_reaction(struct model *model, const struct tidings_op *op,
                            const struct target *target, enum tidings_reaction reaction, int64_t t)
{
    struct model_reactions *reactions = target->reactions;

    for (size_t i = 0; i < reactions->n; i++) {
        if (reactions->rows[i].user_id != op->user_id || reactions->rows[i].reaction != reaction)
            continue;
        for (size_t j = i + 1; j < reactions->n; j++)
            reactions->rows[j - 1] = reactions->rows[j];
        reactions->n--;
        vote_event(model, op, target, reaction, false, t);
        return true;
    }
    return false;
}

static bool set_reaction(struct model *model, const struct tidings_op *op,
                         const struct target *target, int64_t t)
{
    struct model_reactions *reactions = target->reactions;
    enum tidings_reaction reaction = op->u.react.reaction;

    if (model_has_reaction(reactions, op->user_id, reaction))
        return false;
    if (target->comment != NULL)
        remove_reaction(model, op, target,
                        reaction == TIDINGS_LIKE ? TIDINGS_DOWNVOTE : TIDINGS_LIKE, t);
    reactions->rows = model_room(reactions->rows, reactions->n + 1, sizeof *reactions->rows);
    reactions->rows[reactions->n++] =
        (struct model_reaction){op->user_id, reaction, t, model->turn};
    vote_event(model, op, target, reaction, true, t);
    return true;
}

/* The comment folds or unfolds by the vote; the voter did it. */
static void tell_folding(struct model *model, const struct tidings_op *op,
                         const struct target *target, enum tidings_comment_status before, int64_t t)
{
    enum tidings_comment_status after = model_comment_status(model, target->comment);
    bool hidden = after == TIDINGS_COMMENT_HIDDEN;

    if (before == after)
        return;
    model_add_event(
        model, (struct tidings_event){
                   .type = hidden ? TIDINGS_EVENT_COMMENT_HIDDEN : TIDINGS_EVENT_COMMENT_RESTORED,
                   .happened_at = t,
                   .actor_user_id = op->user_id,
                   .target_id = target->comment->id,
                   .author_id = target->post->author_id,
                   .delta = hidden ? -1 : +1,
                   .post_id = target->post->id,
               });
}

bool write_react(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    struct model_bucket bucket = {&model_user(model, op->user_id)->react_full_at,
                                  (int64_t)model->settings.react_burst,
                                  (int64_t)model->settings.react_refill_ms, 0};
    enum tidings_comment_status before = TIDINGS_COMMENT_VISIBLE;
    struct target target;

    if (!model_bucket_has(&bucket, op, t, answer) ||
        !find_target(model, op->u.react.target, op->u.react.id, &target, answer))
        return false;
    if (op->kind == TIDINGS_OP_REACT && !is_living(&target, answer))
        return false;
    model_bucket_take(&bucket, op, t);
    if (target.comment != NULL)
        before = model_comment_status(model, target.comment);
    if (op->kind == TIDINGS_OP_REACT)
        answer->changed = set_reaction(model, op, &target, t);
    else
        answer->changed = remove_reaction(model, op, &target, op->u.react.reaction, t);
    if (target.comment != NULL)
        tell_folding(model, op, &target, before, t);
    answer->counts = target.comment != NULL ? model_comment_counts(model, target.comment)
                                            : model_post_counts(model, target.post);
    return true;
}

/* What is deleted only admins may still look at. */
void read_reactors(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    size_t limit = model_page_limit(model, &op->u.reactors.page);
    struct target target;
    uint64_t last = 0;

    if (!find_target(model, op->u.reactors.target, op->u.reactors.id, &target, answer) ||
        (op->role != TIDINGS_ROLE_ADMIN && !is_living(&target, answer)))
        return;
    answer->user_rows = model_room(NULL, limit, sizeof *answer->user_rows);
    for (size_t i = target.reactions->n; i-- > 0;) {
        const struct model_reaction *row = &target.reactions->rows[i];
        const struct model_user *user;

        if (row->reaction != op->u.reactors.reaction)
            continue;
        if (call->after.a != 0 && row->turn >= call->after.a)
            continue;
        if (answer->n == limit) {
            answer->next.a = last;
            return;
        }
        user = model_user(model, row->user_id);
        answer->user_rows[answer->n++] =
            (struct tidings_user_row){user->id, user->name, user->avatar, row->at};
        last = row->turn;
    }
}

/* The viewer's newest reaction before the turn `after` (0: the very newest), if newer than `best`. */
static const struct model_reaction *newer(const struct model_reactions *reactions,
                                          const struct tidings_op *op, uint64_t after,
                                          const struct model_reaction *best)
{
    for (size_t i = 0; i < reactions->n; i++) {
        const struct model_reaction *row = &reactions->rows[i];

        if (row->user_id != op->user_id || row->reaction != op->u.reactors.reaction)
            continue;
        if ((after == 0 || row->turn < after) && (best == NULL || row->turn > best->turn))
            best = row;
    }
    return best;
}

static const struct model_reaction *reacted_post(const struct model *model,
                                                 const struct tidings_op *op, uint64_t after,
                                                 struct tidings_reacted_row *row)
{
    const struct model_reaction *best = NULL;

    for (size_t i = 0; i < model->n_posts; i++) {
        const struct model_post *post = &model->posts[i];
        const struct model_reaction *found = newer(&post->reactions, op, after, best);

        if (found == best)
            continue;
        best = found;
        *row = (struct tidings_reacted_row){.id = post->id,
                                            .at = best->at,
                                            .post_id = post->id,
                                            .author_id = post->author_id,
                                            .text = post->title,
                                            .is_deleted = post->deleted};
    }
    return best;
}

static const struct model_reaction *reacted_comment(const struct model *model,
                                                    const struct tidings_op *op, uint64_t after,
                                                    struct tidings_reacted_row *row)
{
    const struct model_reaction *best = NULL;

    for (size_t i = 0; i < model->n_comments; i++) {
        const struct model_comment *comment = &model->comments[i];
        const struct model_reaction *found = newer(&comment->reactions, op, after, best);
        bool gone;
        bool shown;

        if (found == best)
            continue;
        best = found;
        gone = comment->deleted || model_post(model, comment->post_id)->deleted;
        shown = !gone && model_comment_status(model, comment) == TIDINGS_COMMENT_VISIBLE;
        *row = (struct tidings_reacted_row){.id = comment->id,
                                            .at = best->at,
                                            .post_id = comment->post_id,
                                            .author_id = comment->user_id,
                                            .text = shown ? comment->body
                                                          : (struct tidings_text){"", 0},
                                            .is_deleted = gone};
    }
    return best;
}

void read_reacted(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    size_t limit = model_page_limit(model, &op->u.reactors.page);
    bool posts = op->u.reactors.target == TIDINGS_TARGET_POST;
    uint64_t after = call->after.a;

    answer->reacted_rows = model_room(NULL, limit, sizeof *answer->reacted_rows);
    for (;;) {
        struct tidings_reacted_row row;
        const struct model_reaction *found =
            posts ? reacted_post(model, op, after, &row) : reacted_comment(model, op, after, &row);

        if (found == NULL)
            return;
        if (answer->n == limit) {
            answer->next.a = after;
            return;
        }
        answer->reacted_rows[answer->n++] = row;
        after = found->turn;
    }
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

static const char *check_reaction(enum tidings_target target, enum tidings_reaction reaction)
{
    if (target == TIDINGS_TARGET_POST)
        return reaction == TIDINGS_LIKE || reaction == TIDINGS_FAV ? NULL : "reaction";
    if (target == TIDINGS_TARGET_COMMENT)
        return reaction == TIDINGS_LIKE || reaction == TIDINGS_DOWNVOTE ? NULL : "reaction";
    return "target";
}

const char *model_check_react(const struct model *model, const struct model_call *call)
{
    (void)model;
    const struct tidings_op *op = call->op;
    bool stats = op->kind == TIDINGS_OP_STATS; /* of whatever reactions there are */
    const char *field =
        check_reaction(op->u.react.target, stats ? TIDINGS_LIKE : op->u.react.reaction);

    if (field != NULL)
        return field;
    return !model_id_ok(op->u.react.id) ? "id" : NULL;
}

const char *check_reactors(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    const char *field = check_reaction(op->u.reactors.target, op->u.reactors.reaction);

    if (field != NULL)
        return field;
    if (op->u.reactors.reaction == TIDINGS_DOWNVOTE) /* nobody is told who did */
        return "reaction";
    if (op->kind == TIDINGS_OP_REACTORS && !model_id_ok(op->u.reactors.id))
        return "id";
    return model_check_page(model, &op->u.reactors.page);
}
