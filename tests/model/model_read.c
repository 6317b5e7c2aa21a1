/* SPDX-License-Identifier: MIT */
/* The operations that only read; see model.h. */
#include "model.h"

#include <stdlib.h>

/* ---- Relations ----------------------------------------------------------------------------- */

static void status(struct model *model, const struct tidings_op *op, struct model_answer *answer)
{
    answer->following = model_follows(model, op->user_id, op->u.relation.user_id);
    answer->followed_by = model_follows(model, op->u.relation.user_id, op->user_id);
    answer->mutual = answer->following && answer->followed_by;
}

static void users(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    bool following = call->op->kind == TIDINGS_OP_FOLLOWING;
    uint64_t id = call->op->u.users.user_id;
    size_t limit = model_page_limit(model, &call->op->u.users.page);
    uint64_t last = 0;

    answer->user_rows = model_room(NULL, limit, sizeof *answer->user_rows);
    for (size_t i = model->n_follows; i-- > 0;) {
        const struct model_follow *follow = &model->follows[i];
        const struct model_user *other;

        if ((following ? follow->fan : follow->author) != id)
            continue;
        if (call->after.a != 0 && follow->turn >= call->after.a)
            continue;
        if (answer->n == limit) {
            answer->next.a = last;
            return;
        }
        other = model_user(model, following ? follow->author : follow->fan);
        answer->user_rows[answer->n++] =
            (struct tidings_user_row){other->id, other->name, other->avatar, follow->since};
        last = follow->turn;
    }
}

static void fans_among(struct model *model, const struct tidings_op *op,
                       struct model_answer *answer)
{
    answer->user_ids = model_room(NULL, op->u.among.n_user_ids, sizeof *answer->user_ids);
    for (size_t i = 0; i < op->u.among.n_user_ids; i++) {
        if (model_follows(model, op->u.among.user_ids[i], op->u.among.author_id))
            answer->user_ids[answer->n++] = op->u.among.user_ids[i];
    }
}

static void counters(struct model *model, const struct tidings_op *op, struct model_answer *answer)
{
    uint64_t id = op->u.user.user_id;

    for (size_t i = 0; i < model->n_follows; i++) {
        answer->count_following += model->follows[i].fan == id;
        answer->count_followers += model->follows[i].author == id;
    }
    for (size_t i = 0; i < model->n_posts; i++)
        answer->count_posts += model->posts[i].author_id == id && !model->posts[i].deleted;
    model_count_interactions(model, id, answer);
}

static void profile(struct model *model, const struct tidings_op *op, struct model_answer *answer)
{
    struct model_user *user = model_user(model, op->u.user.user_id);

    answer->profile_id = user->id;
    answer->name = user->name;
    answer->avatar = user->avatar;
}

/* ---- Posts --------------------------------------------------------------------------------- */

static void post(struct model *model, const struct tidings_op *op, struct model_answer *answer)
{
    struct model_post *found = model_post(model, op->u.post.post_id);

    if (found == NULL) {
        answer->err = TIDINGS_NOT_FOUND;
    } else if (found->deleted) {
        answer->err = TIDINGS_DELETED;
        answer->title = found->title;
    } else {
        model_show_post(model, found, op->user_id, &answer->post);
    }
}

static struct tidings_item show_item(struct model *model, const struct model_post *p,
                                     const struct model_cell *cell)
{
    return (struct tidings_item){
        .post_id = p->id,
        .author_id = p->author_id,
        .author_name = model_user(model, p->author_id)->name,
        .kind = p->kind,
        .title = p->title,
        .excerpt = p->excerpt,
        .created_at = p->created_at,
        .is_read = cell->is_read,
        .read_at = cell->is_read ? cell->read_at : 0,
        .is_deleted = p->deleted,
    };
}

/* Does the post belong to this list, wherever the page begins? */
static bool feed_has(const struct tidings_op *op, const struct model_post *p,
                     const struct model_cell *cell)
{
    bool inbox = op->kind == TIDINGS_OP_INBOX;

    if (op->u.feed.author_id != 0 && p->author_id != op->u.feed.author_id)
        return false;
    if (inbox && !cell->delivered)
        return false;
    if (!inbox && p->deleted)
        return false;
    if (op->u.feed.filter == TIDINGS_UNREAD)
        return !cell->is_read && !p->deleted;
    if (op->u.feed.filter == TIDINGS_READ)
        return cell->is_read;
    return true;
}

static void feed(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    size_t limit = model_page_limit(model, &call->op->u.feed.page);
    struct model_user *viewer = model_user(model, call->op->user_id);

    answer->items = model_room(NULL, limit, sizeof *answer->items);
    for (size_t i = model->n_posts; i-- > 0;) {
        const struct model_post *p = &model->posts[i];

        if (!feed_has(call->op, p, &viewer->cells[i]))
            continue;
        answer->total++;
        if (call->after.a != 0 && p->id >= call->after.a)
            continue;
        if (answer->n < limit)
            answer->items[answer->n++] = show_item(model, p, &viewer->cells[i]);
        else
            answer->next.a = answer->items[limit - 1].post_id;
    }
}

/* ---- What is unread, what was read --------------------------------------------------------- */

static bool unread_row_before(const struct tidings_unread_row *a,
                              const struct tidings_unread_row *b)
{
    if (a->unread != b->unread)
        return a->unread > b->unread;
    return a->user_id < b->user_id;
}

static void unread(struct model *model, const struct tidings_op *op, struct model_answer *answer)
{
    struct model_user *viewer = model_user(model, op->user_id);

    answer->unread_rows = model_room(NULL, model->n_users, sizeof *answer->unread_rows);
    for (size_t i = 0; i < model->n_users; i++) {
        const struct model_user *author = model->users[i];
        struct tidings_unread_row row = {author->id, author->name,
                                         model_unread(model, viewer, author->id),
                                         model_follows(model, viewer->id, author->id)};
        size_t at = answer->n;

        if (!row.following && row.unread == 0)
            continue;
        for (; at > 0 && unread_row_before(&row, &answer->unread_rows[at - 1]); at--)
            answer->unread_rows[at] = answer->unread_rows[at - 1];
        answer->unread_rows[at] = row;
        answer->n++;
        answer->total += row.unread;
    }
}

/* Index of the newest post in the history that is older than `after`, or n_posts. */
static size_t history_older(const struct model *model, const struct model_user *viewer,
                            struct tidings_cursor after)
{
    size_t best = model->n_posts;

    for (size_t i = 0; i < model->n_posts; i++) {
        const struct model_cell *cell = &viewer->cells[i];

        if (!cell->in_history)
            continue;
        if (after.a != 0 && cell->history_turn > after.a)
            continue;
        if (after.a != 0 && cell->history_turn == after.a && model->posts[i].id >= after.b)
            continue;
        /* Posts stand in the order of their ids, so of the same turn the later one is higher. */
        if (best == model->n_posts || cell->history_turn >= viewer->cells[best].history_turn)
            best = i;
    }
    return best;
}

static void history(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    struct model_user *viewer = model_user(model, call->op->user_id);
    size_t limit = model_page_limit(model, &call->op->u.page);
    struct tidings_cursor at = call->after;
    size_t i;

    answer->history_rows = model_room(NULL, limit, sizeof *answer->history_rows);
    while ((i = history_older(model, viewer, at)) != model->n_posts) {
        const struct model_post *p = &model->posts[i];

        if (answer->n == limit) {
            answer->next = at;
            return;
        }
        answer->history_rows[answer->n++] = (struct tidings_history_row){
            p->id, p->author_id, p->title, viewer->cells[i].history_at, p->deleted};
        at = (struct tidings_cursor){viewer->cells[i].history_turn, p->id};
    }
}

static void events(struct model *model, const struct model_call *call, int64_t t,
                   struct model_answer *answer)
{
    size_t limit = model_page_limit(model, &call->op->u.page);
    int64_t gone = t - (int64_t)model->settings.event_days * 86400000;

    if (call->op->role == TIDINGS_ROLE_USER) {
        answer->err = TIDINGS_FORBIDDEN;
        return;
    }
    answer->event_rows = model_room(NULL, limit, sizeof *answer->event_rows);
    answer->event_places = model_room(NULL, limit, sizeof *answer->event_places);
    answer->next = call->after;
    for (size_t i = call->after.a; i < model->n_events && answer->n < limit; i++) {
        if (model->events[i].happened_at <= gone)
            continue;
        answer->event_places[answer->n] = i;
        answer->event_rows[answer->n++] = model->events[i];
        answer->next.a = i + 1;
    }
}

void model_read(struct model *model, const struct model_call *call, int64_t t,
                struct model_answer *answer)
{
    const struct tidings_op *op = call->op;

    switch (op->kind) {
    case TIDINGS_OP_STATUS:
        status(model, op, answer);
        return;
    case TIDINGS_OP_FOLLOWING:
    case TIDINGS_OP_FOLLOWERS:
        users(model, call, answer);
        return;
    case TIDINGS_OP_FANS_AMONG:
        fans_among(model, op, answer);
        return;
    case TIDINGS_OP_COUNTERS:
        counters(model, op, answer);
        return;
    case TIDINGS_OP_PROFILE:
        profile(model, op, answer);
        return;
    case TIDINGS_OP_POST:
        post(model, op, answer);
        return;
    case TIDINGS_OP_AUTHOR_PAGE:
    case TIDINGS_OP_INBOX:
        feed(model, call, answer);
        return;
    case TIDINGS_OP_BADGE:
        answer->total = model_unread(model, model_user(model, op->user_id), 0);
        return;
    case TIDINGS_OP_UNREAD:
        unread(model, op, answer);
        return;
    case TIDINGS_OP_HISTORY:
        history(model, call, answer);
        return;
    case TIDINGS_OP_EVENTS:
        events(model, call, t, answer);
        return;
    case TIDINGS_OP_REACTORS:
        model_reactors(model, call, answer);
        return;
    case TIDINGS_OP_REACTED:
        model_reacted(model, call, answer);
        return;
    case TIDINGS_OP_COMMENTS:
        model_comments(model, call, answer);
        return;
    case TIDINGS_OP_STATS:
        model_stats(model, op, t, answer);
        return;
    case TIDINGS_OP_HOT:
        model_hot(model, call, t, answer);
        return;
    case TIDINGS_OP_SCENES:
    case TIDINGS_OP_SCENE:
    case TIDINGS_OP_READING:
    case TIDINGS_OP_SUBSCRIPTIONS:
    case TIDINGS_OP_SUBSCRIBERS:
    case TIDINGS_OP_SUBSCRIBERS_AMONG:
    case TIDINGS_OP_PREFERENCES:
    case TIDINGS_OP_NOTIFICATIONS:
        model_story_read(model, call, answer);
        return;
    default:
        abort();
    }
}
