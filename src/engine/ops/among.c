/* SPDX-License-Identifier: MIT */
#include "engine/ops/among.h"

#include "base/search.h"

void answer_user_list(struct view *view, struct reply *reply, const struct list *list,
                      const struct tidings_page *page)
{
    struct place *places;
    size_t n = view_page(view, list, page, &places, &reply->answer->u.users.next);
    reply->answer->u.users.rows =
        view_array(view, reply->arena, n, sizeof *reply->answer->u.users.rows);
    for (size_t i = 0; i < n && !view_failed(view); i++)
        view_user_row(view, reply, places[i].id, places[i].at.a);
}

/* Sets the flag at the user's place among those that the operation asks about, if it has one. */
static void flag(const struct tidings_op *op, uint64_t user, bool *flags)
{
    size_t i = ids_below(op->u.among.user_ids, op->u.among.n_user_ids, user);
    if (i < op->u.among.n_user_ids && op->u.among.user_ids[i] == user)
        flags[i] = true;
}

/* From the author's side, unless there are more followers than users to ask about. */
static bool flag_followers(struct view *view, const struct tidings_op *op, enum list_kind followers,
                           bool *flags)
{
    struct list list = {.kind = followers, .of = op->u.among.author_id};
    size_t most = op->u.among.n_user_ids + 1;
    struct place *places = view_array(view, view->scratch, most, sizeof *places);
    if (!places)
        return true;
    size_t n = view->rows->get_list(view, &list, (struct tidings_cursor){0, 0}, most, places);
    for (size_t i = 0; i < n && n < most; i++)
        flag(op, places[i].id, flags);
    return n < most;
}

/* From the user's side: looks at the one pair. */
static bool is_among(struct view *view, const struct tidings_op *op, enum realm realm,
                     uint64_t user)
{
    struct tie tie;
    tie_load(view, realm, user, op->u.among.author_id, &tie);
    return op->u.among.delivered ? tie.pair.n_spans != 0 : tie.pair.following;
}

enum tidings_err answer_among(struct view *view, struct reply *reply, enum realm realm,
                              enum list_kind followers)
{
    const struct tidings_op *op = reply->op;
    size_t n = op->u.among.n_user_ids;
    bool *flags = view_array(view, view->scratch, n, sizeof *flags);
    uint64_t *users = view_array(view, reply->arena, n, sizeof *users);
    if (view_failed(view))
        return TIDINGS_OK;
    memset(flags, 0, n * sizeof *flags);
    if (op->u.among.delivered || !flag_followers(view, op, followers, flags))
        for (size_t i = 0; i < n; i++)
            flags[i] = is_among(view, op, realm, op->u.among.user_ids[i]);
    for (size_t i = 0; i < n; i++)
        if (flags[i])
            users[reply->answer->u.among.n++] = op->u.among.user_ids[i];
    reply->answer->u.among.user_ids = users;
    return TIDINGS_OK;
}
