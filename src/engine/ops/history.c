/* SPDX-License-Identifier: MIT */
/*
 * The reading history: an index, latest first, on the read maps. Clearing sets one mark, whatever
 * the length: entries up to it count as gone from that moment, and are removed in time.
 */
#include "domain/ids.h"
#include "engine/inbox/tie.h"
#include "engine/ops/halves.h"

enum tidings_err change_history_delete(struct view *view, struct reply *reply)
{
    uint64_t reader = reply->op->user_id, post_id = reply->op->u.post.post_id;
    struct post_record post;
    struct readmap map;
    struct tie tie;
    if (!view_post(view, post_id, &post))
        return TIDINGS_NOT_FOUND;
    tie_load(view, REALM_POSTS, reader, post.author, &tie);
    tie_readmap(view, &tie, post.seq, &map);
    unsigned i = post.seq % READMAP_POSTS;
    if (!readmap_has(map.history, i))
        return TIDINGS_OK;
    struct history_entry entry = {readmap_history_stamp(&map, i), post_id};
    view->rows->remove_history(view, reader, &entry, 1);
    readmap_leave_history(&map, i);
    tie_put_readmap(view, &tie, post.seq, &map, map.read);
    return TIDINGS_OK;
}

enum tidings_err change_history_clear(struct view *view, struct reply *reply)
{
    uint64_t reader = reply->op->user_id;
    struct user_record user = view_user(view, reader);
    user.history_cleared = view->stamp;
    view_put_user(view, reader, &user);
    view->rows->forget_history(view, reader);
    return TIDINGS_OK;
}

static void fill_row(struct view *view, struct reply *reply, const struct place *place)
{
    struct post_record post;
    if (!view_post(view, place->id, &post)) {
        view_corrupt(view);
        return;
    }
    reply->answer->u.history.rows[reply->answer->u.history.n++] = (struct tidings_history_row){
        .post_id = place->id,
        .author_id = post.author,
        .title = view_text(view, reply->arena, post.title),
        .read_at = view_time(view, place->at.a),
        .is_deleted = post.deleted,
    };
}

enum tidings_err answer_history(struct view *view, struct reply *reply)
{
    uint64_t reader = reply->op->user_id;
    struct list list = {
        .kind = LIST_HISTORY, .of = reader, .beyond = view_user(view, reader).history_cleared};
    struct place *places;
    size_t n = view_page(view, &list, &reply->op->u.page, &places, &reply->answer->u.history.next);
    reply->answer->u.history.rows =
        view_array(view, reply->arena, n, sizeof *reply->answer->u.history.rows);
    for (size_t i = 0; i < n && !view_failed(view); i++)
        fill_row(view, reply, &places[i]);
    return TIDINGS_OK;
}
