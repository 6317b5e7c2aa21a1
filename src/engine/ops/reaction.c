/* SPDX-License-Identifier: MIT */
/*
 * Reactions. The truth is one record a user and target. Two lists stand beside it: who reacted, and what a user reacted
 * to. Downvotes have the first, so that they can be counted again, but nobody is shown them.
 */
#include "domain/ids.h"
#include "engine/ops/among.h"
#include "engine/ops/halves.h"
#include "engine/ops/post.h"
#include "engine/ops/target.h"

/* ---- Changing ------------------------------------------------------------------------------- */

/* One reaction comes (+1) or goes (-1). */
static void turn(struct view *view, uint64_t user, const struct target *target,
                 struct reaction_record *mine, enum tidings_reaction reaction, int delta)
{
    static const enum tidings_event_type types[2][2] = {
        {TIDINGS_EVENT_VOTE_DELETED, TIDINGS_EVENT_VOTE_CREATED},
        {TIDINGS_EVENT_REACTION_DELETED, TIDINGS_EVENT_REACTION_CREATED},
    };
    bool on_post = target->kind == TIDINGS_TARGET_POST;
    mine->stamp[reaction] = delta > 0 ? view->stamp : 0;
    view_tell(view, (struct tidings_event){
                        .type = types[on_post][delta > 0],
                        .actor_user_id = user,
                        .target_id = target->id,
                        .author_id = target->post.author,
                        .delta = delta,
                        .post_id = on_post ? 0 : target->post_id,
                        .reaction = reaction,
                    });
}

void reaction_count(struct view *view, const struct target *target, enum tidings_reaction reaction,
                    int delta, uint64_t user_id, struct user_record *user)
{
    bool like = reaction == TIDINGS_LIKE;
    struct counts_record old = view->rows->get_counts(view, target->id), now = old;
    view_add(view, like ? &now.likes : &now.favs, delta);
    view->rows->put_counts(view, target->id, &target->post, &old, &now);
    view_add(view, like ? &user->liked_posts : &user->faved_posts, delta);
    if (target->post.deleted)
        return; /* its reactions left the author's counts with it */
    if (target->post.author == user_id)
        view_add(view, like ? &user->likes_received : &user->favs_received, delta);
    else
        view->rows->count(view, target->post.author,
                          like ? COUNTER_LIKES_RECEIVED : COUNTER_FAVS_RECEIVED, delta);
}

/* Like and downvote exclude each other. Changes the user's reactions, and counts what changed on the comment. */
static void vote(struct view *view, uint64_t user, const struct target *target,
                 struct reaction_record *mine, enum tidings_reaction reaction, int delta)
{
    enum tidings_reaction other = reaction == TIDINGS_LIKE ? TIDINGS_DOWNVOTE : TIDINGS_LIKE;
    struct comment_record now = target->comment;
    bool had_other = mine->stamp[other];
    if (had_other)
        turn(view, user, target, mine, other, -1);
    turn(view, user, target, mine, reaction, delta);
    view_add(view, reaction == TIDINGS_LIKE ? &now.likes : &now.downs, delta);
    view_add(view, reaction == TIDINGS_LIKE ? &now.downs : &now.likes, had_other ? -1 : 0);
    comment_judge(view, user, target, &now);
}

static void change(struct view *view, const struct tidings_op *op, const struct target *target,
                   const struct reaction_record *old, struct user_record *user)
{
    enum tidings_reaction reaction = op->u.react.reaction;
    struct reaction_record now = *old;
    int delta = old->stamp[reaction] ? -1 : +1;
    now.target = target->kind;
    if (target->kind == TIDINGS_TARGET_POST) {
        turn(view, op->user_id, target, &now, reaction, delta);
        reaction_count(view, target, reaction, delta, op->user_id, user);
    } else {
        vote(view, op->user_id, target, &now, reaction, delta);
    }
    view->rows->put_reaction(view, op->user_id, target->id, old, &now);
}

static enum tidings_err set(struct view *view, struct reply *reply, bool wanted)
{
    const struct tidings_op *op = reply->op;
    struct user_record user = view_user(view, op->user_id);
    struct target target;
    enum tidings_err err = view_take_token(view, reply, BUCKET_REACT, &user);
    if (err)
        return err;
    if (!target_find(view, op->u.react.target, op->u.react.id, &target))
        return TIDINGS_NOT_FOUND;
    if (wanted && target_is_gone(&target))
        return refuse_deleted(view, reply, target.post.title);
    struct reaction_record mine = view->rows->get_reaction(view, op->user_id, target.id);
    bool changed = wanted == !mine.stamp[op->u.react.reaction];
    if (changed)
        change(view, op, &target, &mine, &user);
    if (changed || op->role == TIDINGS_ROLE_USER)
        view_put_user(view, op->user_id, &user);
    reply->answer->u.reaction.changed = changed;
    return TIDINGS_OK;
}

enum tidings_err change_react(struct view *view, struct reply *reply)
{
    return set(view, reply, true);
}

enum tidings_err change_unreact(struct view *view, struct reply *reply)
{
    return set(view, reply, false);
}

/* ---- Answering ------------------------------------------------------------------------------ */

enum tidings_err answer_react(struct view *view, struct reply *reply)
{
    struct target target;
    if (!target_find(view, reply->op->u.react.target, reply->op->u.react.id, &target)) {
        view_corrupt(view);
        return TIDINGS_OK;
    }
    struct counts_record counts = {0};
    if (target.kind == TIDINGS_TARGET_POST)
        counts = view->rows->get_counts(view, target.id);
    reply->answer->u.reaction.counts = target.kind == TIDINGS_TARGET_POST
                                           ? post_counts(view, &counts)
                                           : comment_counts(view, &target.comment);
    return TIDINGS_OK;
}

enum tidings_err answer_reactors(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct target target;
    enum tidings_err err =
        target_look(view, reply, op->u.reactors.target, op->u.reactors.id, &target);
    if (err)
        return err;
    struct list list = {
        .kind = LIST_REACTORS, .of = target.id, .reaction = op->u.reactors.reaction};
    answer_user_list(view, reply, &list, &op->u.reactors.page);
    return TIDINGS_OK;
}

/* A comment's body, as far as anyone may see it. */
static struct tidings_text open_body(struct view *view, struct reply *reply,
                                     const struct target *target)
{
    struct bytes body = {NULL, 0};
    bool shown = comment_is_visible(&target->comment) && !target->post.deleted;
    if (shown && !view->rows->get_comment_body(view, target->id, &body))
        view_corrupt(view);
    return view_text(view, reply->arena, body);
}

static void fill_reacted(struct view *view, struct reply *reply, const struct place *place,
                         struct tidings_reacted_row *row)
{
    struct target target;
    if (!target_find(view, reply->op->u.reactors.target, place->id, &target)) {
        view_corrupt(view);
        return;
    }
    bool on_post = target.kind == TIDINGS_TARGET_POST;
    *row = (struct tidings_reacted_row){
        .id = place->id,
        .at = view_time(view, place->at.a),
        .post_id = target.post_id,
        .author_id = on_post ? target.post.author : target.comment.user,
        .text = on_post ? view_text(view, reply->arena, target.post.title)
                        : open_body(view, reply, &target),
        .is_deleted = target_is_gone(&target),
    };
}

enum tidings_err answer_reacted(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    struct list list = {
        .kind = LIST_REACTED,
        .of = op->user_id,
        .reaction = op->u.reactors.reaction,
        .target = op->u.reactors.target,
    };
    struct place *places;
    size_t n =
        view_page(view, &list, &op->u.reactors.page, &places, &reply->answer->u.reacted.next);
    struct tidings_reacted_row *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; i < n && !view_failed(view); i++)
        fill_reacted(view, reply, &places[i], &rows[i]);
    reply->answer->u.reacted.rows = rows;
    reply->answer->u.reacted.n = n;
    return TIDINGS_OK;
}
