/* SPDX-License-Identifier: MIT */
/* What is delivered, what is unread, and what a mark changes; see inbox.c. */
#include "invariants.h"
#include "model.h"

struct model_cell *model_cell(const struct model *model, const struct model_user *user,
                              const struct model_post *post)
{
    return &user->cells[post - model->posts];
}

uint64_t model_unread(const struct model *model, const struct model_user *user, uint64_t author_id)
{
    uint64_t n = 0;

    for (size_t i = 0; i < model->n_posts; i++) {
        if (author_id != 0 && model->posts[i].author_id != author_id)
            continue;
        if (user->cells[i].delivered && !user->cells[i].is_read && !model->posts[i].deleted)
            n++;
    }
    return n;
}

static bool mark_post(struct model *model, struct model_user *user, uint64_t id, bool read,
                      int64_t t)
{
    struct model_post *post = model_post(model, id);
    struct model_cell *cell = model_cell(model, user, post);

    if (post->deleted || cell->is_read == read)
        return false;
    cell->is_read = read;
    if (read) {
        cell->read_at = t;
        model_enter_history(model, cell, t);
    } else {
        cell->read_at = 0;
        cell->in_history = false;
    }
    if (model->settings.read_events)
        model_event(model, read ? TIDINGS_EVENT_POST_READ : TIDINGS_EVENT_POST_UNREAD, t, user->id,
                    id, post->author_id, read ? +1 : -1);
    return true;
}

static bool mark_ids(struct model *model, const struct tidings_op *op, bool read, int64_t t,
                     struct model_answer *answer)
{
    struct model_user *user = model_user(model, op->user_id);

    for (size_t i = 0; i < op->u.mark.n_post_ids; i++) {
        struct model_post *post = model_post(model, op->u.mark.post_ids[i]);

        if (post == NULL || !model_cell(model, user, post)->delivered) {
            answer->err = TIDINGS_NOT_FOUND;
            return false;
        }
    }
    for (size_t i = 0; i < op->u.mark.n_post_ids; i++)
        answer->marked += mark_post(model, user, op->u.mark.post_ids[i], read, t);
    answer->total = model_unread(model, user, 0);
    return true;
}

static bool mark_up_to(struct model *model, const struct model_call *call, int64_t t,
                       struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
    struct model_user *user = model_user(model, op->user_id);
    uint64_t author_id = op->u.mark.author_id;

    for (size_t i = 0; i < call->up_to.posts; i++) {
        const struct model_post *post = &model->posts[i];
        struct model_cell *cell = &user->cells[i];

        if (author_id != 0 && post->author_id != author_id)
            continue;
        if (!cell->delivered || cell->is_read || post->deleted)
            continue;
        cell->is_read = true;
        cell->read_at = t;
        answer->marked++;
    }
    if (answer->marked > 0 && model->settings.read_events)
        model_event(model, TIDINGS_EVENT_INBOX_READ, t, user->id,
                    author_id != 0 ? author_id : user->id, 0, (int64_t)answer->marked);
    answer->total = model_unread(model, user, 0);
    return true;
}

bool write_mark_read(struct model *model, const struct model_call *call,
                     struct model_answer *answer)
{
    if (call->op->u.mark.post_ids == NULL)
        return mark_up_to(model, call, call->t, answer);
    return mark_ids(model, call->op, true, call->t, answer);
}

bool write_mark_unread(struct model *model, const struct model_call *call,
                       struct model_answer *answer)
{
    return mark_ids(model, call->op, false, call->t, answer);
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

void read_feed(struct model *model, const struct model_call *call, struct model_answer *answer)
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

void read_badge(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    answer->total = model_unread(model, model_user(model, call->op->user_id), 0);
}

static bool unread_row_before(const struct tidings_unread_row *a,
                              const struct tidings_unread_row *b)
{
    if (a->unread != b->unread)
        return a->unread > b->unread;
    return a->user_id < b->user_id;
}

void read_unread(struct model *model, const struct model_call *call, struct model_answer *answer)
{
    const struct tidings_op *op = call->op;
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

/* ---- Arguments ----------------------------------------------------------------------------------- */

const char *check_feed(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t author_id = op->u.feed.author_id;

    if (op->kind == TIDINGS_OP_AUTHOR_PAGE && author_id == 0)
        return "author_id";
    if (author_id > TIDINGS_ID_MAX)
        return "author_id";
    if (op->u.feed.filter != TIDINGS_ALL && op->u.feed.filter != TIDINGS_UNREAD &&
        op->u.feed.filter != TIDINGS_READ)
        return "filter";
    return model_check_page(model, &op->u.feed.page);
}

static const char *check_post_ids(const struct model *model, const struct tidings_op *op)
{
    if (op->u.mark.n_post_ids == 0 || op->u.mark.n_post_ids > model->settings.mark_max)
        return "post_ids";
    for (size_t i = 0; i < op->u.mark.n_post_ids; i++) {
        if (!model_id_ok(op->u.mark.post_ids[i]))
            return "post_ids";
    }
    return NULL;
}

const char *check_mark(const struct model *model, const struct model_call *call)
{
    const struct tidings_op *op = call->op;
    uint64_t author_id = op->u.mark.author_id;
    bool up_to = moment_is_given(&op->u.mark.up_to);
    const char *field;

    if (op->kind == TIDINGS_OP_MARK_UNREAD)
        return check_post_ids(model, op);
    if (op->u.mark.post_ids != NULL) {
        field = check_post_ids(model, op);
        if (field != NULL)
            return field;
        if (author_id != 0)
            return "author_id";
        return up_to ? "up_to" : NULL;
    }
    if (author_id == 0 && !up_to)
        return "post_ids";
    if (author_id > TIDINGS_ID_MAX)
        return "author_id";
    return up_to && call->up_to.given ? NULL : "up_to";
}
