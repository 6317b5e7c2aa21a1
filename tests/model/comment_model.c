/* SPDX-License-Identifier: MIT */
/* Comments: writing, deleting and moderating them, folding, and their lists; see comment.c. */
#include "model.h"

#include <stdlib.h>

struct model_comment *model_comment(const struct model *model, uint64_t id)
{
    for (size_t i = 0; i < model->n_comments; i++) {
        if (model->comments[i].id == id)
            return &model->comments[i];
    }
    return NULL;
}

/* What follows from the rows. */

enum tidings_comment_status model_comment_status(const struct model *model,
                                                 const struct model_comment *comment)
{
    uint64_t likes = model_count_reactions(&comment->reactions, TIDINGS_LIKE);
    uint64_t downs = model_count_reactions(&comment->reactions, TIDINGS_DOWNVOTE);
    bool hidden = downs >= model->settings.fold_down &&
                  downs * 100 >= model->settings.fold_percent * (likes + 1);

    if (comment->deleted)
        return TIDINGS_COMMENT_DELETED;
    if (comment->moderated)
        hidden = comment->moderated_hidden;
    return hidden ? TIDINGS_COMMENT_HIDDEN : TIDINGS_COMMENT_VISIBLE;
}

struct tidings_counts model_comment_counts(const struct model *model,
                                           const struct model_comment *comment)
{
    const struct model_post *post = model_post(model, comment->post_id);
    struct tidings_counts counts = {
        .like_count = model_count_reactions(&comment->reactions, TIDINGS_LIKE),
        .down_count = model_count_reactions(&comment->reactions, TIDINGS_DOWNVOTE),
    };

    for (size_t i = 0; i < post->n_comments; i++) {
        const struct model_comment *reply = &model->comments[post->comments[i]];

        counts.reply_count += reply->parent_id == comment->id &&
                              model_comment_status(model, reply) == TIDINGS_COMMENT_VISIBLE;
    }
    counts.hot_score = (int64_t)(counts.like_count * model->settings.hot_comment_like +
                                 counts.reply_count * model->settings.hot_comment_reply) -
                       (int64_t)(counts.down_count * model->settings.hot_comment_down);
    return counts;
}

/* A deleted comment is listed only while something under it is. */
static bool is_listed(const struct model *model, const struct model_post *post,
                      const struct model_comment *comment)
{
    if (!comment->deleted)
        return true;
    for (size_t i = 0; i < post->n_comments; i++) {
        const struct model_comment *reply = &model->comments[post->comments[i]];

        if (reply->parent_id == comment->id && is_listed(model, post, reply))
            return true;
    }
    return false;
}

static struct tidings_comment show(struct model *model, const struct model_comment *comment,
                                   uint64_t viewer, bool include_hidden)
{
    enum tidings_comment_status status = model_comment_status(model, comment);
    bool body =
        status == TIDINGS_COMMENT_VISIBLE || (status == TIDINGS_COMMENT_HIDDEN && include_hidden);

    return (struct tidings_comment){
        .id = comment->id,
        .post_id = comment->post_id,
        .parent_id = comment->parent_id,
        .user_id = comment->user_id,
        .user_name = model_user(model, comment->user_id)->name,
        .body = body ? comment->body : (struct tidings_text){"", 0},
        .status = status,
        .moderated = comment->moderated,
        .created_at = comment->created_at,
        .counts = model_comment_counts(model, comment),
        .liked = model_has_reaction(&comment->reactions, viewer, TIDINGS_LIKE),
        .downvoted = model_has_reaction(&comment->reactions, viewer, TIDINGS_DOWNVOTE),
    };
}

/* ---- Writing ------------------------------------------------------------------------------------- */

static void comment_event(struct model *model, enum tidings_event_type type, int64_t t,
                          uint64_t actor, const struct model_comment *comment, int64_t delta)
{
    model_add_event(model, (struct tidings_event){
                               .type = type,
                               .happened_at = t,
                               .actor_user_id = actor,
                               .target_id = comment->id,
                               .author_id = model_post(model, comment->post_id)->author_id,
                               .delta = delta,
                               .post_id = comment->post_id,
                           });
}

/* May the parent be replied to? None, that is the post itself, may. */
static bool parent_ok(const struct model *model, const struct tidings_op *op,
                      const struct model_post *post, struct model_answer *answer)
{
    const struct model_comment *parent;

    if (op->u.comment.parent_id == 0)
        return true;
    parent = model_comment(model, op->u.comment.parent_id);
    if (parent == NULL || parent->post_id != post->id) {
        answer->err = TIDINGS_NOT_FOUND;
        return false;
    }
    if (parent->deleted) {
        answer->err = TIDINGS_DELETED;
        answer->title = post->title;
        return false;
    }
    return true;
}

bool write_comment(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    int64_t t = call->t;
    const struct tidings_op *op = call->op;
    struct model_bucket bucket = {&model_user(model, op->user_id)->comment_full_at,
                                  (int64_t)model->settings.comment_burst,
                                  (int64_t)model->settings.comment_refill_ms, 0};
    struct model_post *post;
    struct model_comment *comment;

    if (!model_bucket_has(&bucket, op, t, answer))
        return false;
    post = model_living_post(model, op->u.comment.post_id, answer);
    if (post == NULL || !parent_ok(model, op, post, answer))
        return false;
    model_bucket_take(&bucket, op, t);
    model->comments = model_room(model->comments, model->n_comments + 1, sizeof *model->comments);
    post->comments = model_room(post->comments, post->n_comments + 1, sizeof *post->comments);
    post->comments[post->n_comments++] = model->n_comments;
    comment = &model->comments[model->n_comments++];
    *comment = (struct model_comment){
        .id = call->new_post_id,
        .post_id = post->id,
        .parent_id = op->u.comment.parent_id,
        .user_id = op->user_id,
        .body = model_copy(op->u.comment.body),
        .created_at = t,
    };
    if (comment->id > model->newest_id)
        model->newest_id = comment->id;
    comment_event(model, TIDINGS_EVENT_COMMENT_CREATED, t, op->user_id, comment, +1);
    answer->comment = show(model, comment, op->user_id, true);
    return true;
}

/* The comment, if it is there and neither it nor its post is deleted; else NULL and the error. */
static struct model_comment *living_comment(struct model *model, uint64_t id,
                                            struct model_answer *answer)
{
    struct model_comment *comment = model_comment(model, id);

    if (comment == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
        return NULL;
    }
    if (model_living_post(model, comment->post_id, answer) == NULL)
        return NULL;
    if (comment->deleted) {
        answer->err = TIDINGS_DELETED;
        answer->title = model_post(model, comment->post_id)->title;
        return NULL;
    }
    return comment;
}

bool write_comment_delete(struct model *model, const struct model_call *call,
                          struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    struct model_comment *comment = living_comment(model, op->u.comment_id.comment_id, answer);
    bool visible;

    if (comment == NULL)
        return false;
    if (comment->user_id != op->user_id && op->role != TIDINGS_ROLE_ADMIN) {
        answer->err = TIDINGS_FORBIDDEN;
        return false;
    }
    visible = model_comment_status(model, comment) == TIDINGS_COMMENT_VISIBLE;
    comment->deleted = true;
    model_drop(comment->body);
    comment->body = model_copy((struct tidings_text){"", 0});
    comment_event(model, TIDINGS_EVENT_COMMENT_DELETED, t, op->user_id, comment, visible ? -1 : 0);
    return true;
}

/* Hides or restores, for good. */
bool write_moderate(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    int64_t t = call->t;
    bool hide = op->kind == TIDINGS_OP_COMMENT_HIDE;
    enum tidings_comment_status before;
    struct model_comment *comment;

    if (op->role != TIDINGS_ROLE_ADMIN) {
        answer->err = TIDINGS_FORBIDDEN;
        return false;
    }
    comment = living_comment(model, op->u.comment_id.comment_id, answer);
    if (comment == NULL)
        return false;
    before = model_comment_status(model, comment);
    comment->moderated = true;
    comment->moderated_hidden = hide;
    if (model_comment_status(model, comment) != before)
        comment_event(model, hide ? TIDINGS_EVENT_COMMENT_HIDDEN : TIDINGS_EVENT_COMMENT_RESTORED,
                      t, op->user_id, comment, hide ? -1 : +1);
    answer->comment = show(model, comment, op->user_id, true);
    return true;
}

/* Comments that are folded or come back under other rules do so at once, by nobody's doing. */
void model_change_rules(struct model *model, const struct tidings_settings *settings,
                        int64_t now_ms)
{
    int64_t t = now_ms < model->newest_write_ms ? model->newest_write_ms : now_ms;
    struct tidings_settings before = model->settings;

    for (size_t i = 0; i < model->n_comments; i++) {
        const struct model_comment *comment = &model->comments[i];
        enum tidings_comment_status was;
        bool hidden;

        model->settings = before;
        was = model_comment_status(model, comment);
        model->settings = *settings;
        hidden = model_comment_status(model, comment) == TIDINGS_COMMENT_HIDDEN;
        if (was == model_comment_status(model, comment))
            continue;
        comment_event(model, hidden ? TIDINGS_EVENT_COMMENT_HIDDEN : TIDINGS_EVENT_COMMENT_RESTORED,
                      t, 0, comment, hidden ? -1 : +1);
        model->newest_write_ms = t;
    }
    model->settings = *settings;
}

/* ---- Lists --------------------------------------------------------------------------------------- */

/* A comment's place in a list; what is greater comes first. Scores may be negative. */
static struct tidings_cursor place_of(const struct model *model, enum tidings_sort sort,
                                      const struct model_comment *comment)
{
    switch (sort) {
    case TIDINGS_HOT:
        return (struct tidings_cursor){
            (uint64_t)(model_comment_counts(model, comment).hot_score + INT64_C(1000000000000)),
            comment->id};
    case TIDINGS_NEW:
        return (struct tidings_cursor){1, comment->id};
    case TIDINGS_OLD:
        return (struct tidings_cursor){1, TIDINGS_ID_MAX - comment->id};
    }
    abort();
}

static bool comes_before(struct tidings_cursor x, struct tidings_cursor y)
{
    return x.a != y.a ? x.a > y.a : x.b > y.b;
}

/* A comment of the list, and where it stands. */
struct listed {
    const struct model_comment *comment;
    struct tidings_cursor place;
};

/* All with that parent. The caller frees. */
static struct listed *list_all(const struct model *model, const struct model_post *post,
                               const struct tidings_op *op, size_t *n)
{
    struct listed *all = model_room(NULL, post->n_comments, sizeof *all);

    *n = 0;
    for (size_t i = 0; i < post->n_comments; i++) {
        const struct model_comment *comment = &model->comments[post->comments[i]];

        if (comment->parent_id == op->u.comments.parent_id && is_listed(model, post, comment))
            all[(*n)++] = (struct listed){comment, place_of(model, op->u.comments.sort, comment)};
    }
    return all;
}

/* The first one behind the place `after`, or NULL. */
static const struct listed *next_listed(const struct listed *all, size_t n,
                                        struct tidings_cursor after)
{
    const struct listed *best = NULL;

    for (size_t i = 0; i < n; i++) {
        if (after.a != 0 && !comes_before(after, all[i].place))
            continue;
        if (best == NULL || comes_before(all[i].place, best->place))
            best = &all[i];
    }
    return best;
}

static void fill_page(struct model *model, const struct model_call *call,
                      const struct model_post *post, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    size_t limit = model_page_limit(model, &op->u.comments.page);
    struct tidings_cursor after = call->after;
    const struct listed *next;
    size_t n;
    struct listed *all = list_all(model, post, op, &n);

    answer->comment_rows = model_room(NULL, limit, sizeof *answer->comment_rows);
    while ((next = next_listed(all, n, after)) != NULL && answer->n < limit) {
        answer->comment_rows[answer->n++] =
            show(model, next->comment, op->user_id, op->u.comments.include_hidden);
        after = next->place;
    }
    if (next != NULL)
        answer->next = after;
    free(all);
}

void read_comments(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_post *post = model_post(model, op->u.comments.post_id);
    const struct model_comment *parent = model_comment(model, op->u.comments.parent_id);

    /* The comments of a deleted post are for admins only. */
    if (op->role != TIDINGS_ROLE_ADMIN)
        post = model_living_post(model, op->u.comments.post_id, answer);
    else if (post == NULL)
        answer->err = TIDINGS_NOT_FOUND;
    if (post == NULL)
        return;
    if (op->u.comments.parent_id != 0 && (parent == NULL || parent->post_id != post->id)) {
        answer->err = TIDINGS_NOT_FOUND;
        return;
    }
    fill_page(model, call, post, answer);
}

/* ---- Arguments ----------------------------------------------------------------------------------- */

const char *check_comment(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    long n = op->u.comment.body.p != NULL ? model_characters(op->u.comment.body) : 0;

    if (!model_id_ok(op->u.comment.post_id))
        return "post_id";
    if (op->u.comment.parent_id > TIDINGS_ID_MAX)
        return "parent_id";
    return n < 1 || (uint64_t)n > model->settings.comment_max ? "body" : NULL;
}

const char *check_comments(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    enum tidings_sort sort = op->u.comments.sort;

    if (!model_id_ok(op->u.comments.post_id))
        return "post_id";
    if (op->u.comments.parent_id > TIDINGS_ID_MAX)
        return "parent_id";
    if (sort != TIDINGS_HOT && sort != TIDINGS_NEW && sort != TIDINGS_OLD)
        return "sort";
    return model_check_page(model, &op->u.comments.page);
}

const char *check_comment_id(const struct model *model, const struct model_call *call)
{
    (void)model;
    return !model_id_ok(call->op->u.comment_id.comment_id) ? "comment_id" : NULL;
}
