/* SPDX-License-Identifier: MIT */
/* Posts' counts, their heat, and the hot lists; see model.h. */
#include "model.h"

#include <math.h>
#include <stdlib.h>

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

void model_stats(struct model *model, const struct tidings_op *op, int64_t t,
                 struct model_answer *answer)
{
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

/* ---- The lists ----------------------------------------------------------------------------- */

/*
 * Of two posts with different scores and a half-life: heats that differ by less than a millionth are
 * too close to call. Heat is a logarithm to the base of two then, and this is that millionth in it.
 */
#define TOO_CLOSE (1e-6L / 0.693147180559945309L)

static int by_id(const struct model_hot *a, const struct model_hot *b)
{
    return a->row.post_id > b->row.post_id ? -1 : a->row.post_id < b->row.post_id;
}

int model_hot_order(bool halves, const struct model_hot *a, const struct model_hot *b)
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

struct tidings_cursor model_hot_place(const struct tidings_hot_row *row)
{
    return (struct tidings_cursor){(uint64_t)row->counts.hot_score + 1, row->post_id};
}

void model_hot(struct model *model, const struct model_call *call, int64_t t,
               struct model_answer *answer)
{
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
