/* SPDX-License-Identifier: MIT */
#include "engine/ops/among.h"

#include "base/search.h"
#include "domain/ids.h"

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

/*
 * Who is told of something may have begun to follow after it happened: the question is asked a moment
 * later. A follow that is older than this is not one of those, and its pair is not looked at.
 */
enum { RECENT_MS = 60000 };

/* The post or scene that is asked about. */
struct item {
    bool asked;
    uint32_t number;
    uint64_t recent; /* follows of this rank and later are to be looked at */
};

/* False if there is no such item of that author or story. */
static bool find_item(struct view *view, const struct tidings_op *op, enum realm realm,
                      struct item *item)
{
    struct post_record post;
    struct scene_record scene;
    uint64_t id = op->u.among.item_id, of = op->u.among.author_id;
    *item = (struct item){.asked = id != 0};
    if (!id)
        return true;
    if (realm == REALM_SCENES) { /* a rank stays while updates are turned off and on */
        bool found = view_scene(view, id, &scene) && scene.story == of;
        item->number = found ? scene.seq : 0;
        return found;
    }
    bool found = view_post(view, id, &post) && post.author == of;
    item->number = found ? post.seq : 0;
    item->recent = id_floor(id_time_ms(id) - RECENT_MS);
    return found;
}

/* From the user's side: looks at the one pair. */
static bool is_among(struct view *view, const struct tidings_op *op, enum realm realm,
                     const struct item *item, uint64_t user)
{
    struct tie tie;
    tie_load(view, realm, user, op->u.among.author_id, &tie);
    if (op->u.among.delivered)
        return tie.pair.n_spans != 0;
    return tie.pair.following && (!item->asked || pair_has(&tie.pair, item->number));
}

/* Sets the flag at the user's place among those that the operation asks about, if it has one. */
static void flag(struct view *view, const struct tidings_op *op, enum realm realm,
                 const struct item *item, const struct place *place, bool *flags)
{
    size_t i = ids_below(op->u.among.user_ids, op->u.among.n_user_ids, place->id);
    if (i < op->u.among.n_user_ids && op->u.among.user_ids[i] == place->id)
        flags[i] = !item->asked || place->at.a < item->recent ||
                   is_among(view, op, realm, item, place->id);
}

/* From the author's side, unless there are more followers than users to ask about. */
static bool flag_followers(struct view *view, const struct tidings_op *op, enum realm realm,
                           enum list_kind followers, const struct item *item, bool *flags)
{
    struct list list = {.kind = followers, .of = op->u.among.author_id};
    size_t most = op->u.among.n_user_ids + 1;
    struct place *places = view_array(view, view->scratch, most, sizeof *places);
    if (!places)
        return true;
    size_t n = view->rows->get_list(view, &list, (struct tidings_cursor){0, 0}, most, places);
    for (size_t i = 0; i < n && n < most; i++)
        flag(view, op, realm, item, &places[i], flags);
    return n < most;
}

enum tidings_err answer_among(struct view *view, struct reply *reply, enum realm realm,
                              enum list_kind followers)
{
    const struct tidings_op *op = reply->op;
    struct item item;
    size_t n = op->u.among.n_user_ids;
    bool *flags = view_array(view, view->scratch, n, sizeof *flags);
    uint64_t *users = view_array(view, reply->arena, n, sizeof *users);
    if (view_failed(view))
        return TIDINGS_OK;
    memset(flags, 0, n * sizeof *flags);
    if (find_item(view, op, realm, &item) &&
        (op->u.among.delivered || !flag_followers(view, op, realm, followers, &item, flags)))
        for (size_t i = 0; i < n; i++)
            flags[i] = is_among(view, op, realm, &item, op->u.among.user_ids[i]);
    for (size_t i = 0; i < n; i++)
        if (flags[i])
            users[reply->answer->u.among.n++] = op->u.among.user_ids[i];
    reply->answer->u.among.user_ids = users;
    return TIDINGS_OK;
}
