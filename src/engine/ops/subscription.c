/* SPDX-License-Identifier: MIT */
/*
 * Who wants to be told of a story's scenes. A subscription is a pair, as a follow is, in the realm
 * of scenes: its spans say which scenes were notified. A user who turns story updates off keeps all
 * subscriptions, but they are paused: their spans are closed, and opened again when updates are
 * turned on. The story's subscribers are an index on the pairs that are not paused, newest first.
 */
#include "domain/ids.h"
#include "domain/permit.h"
#include "engine/ops/among.h"
#include "engine/ops/halves.h"
#include "engine/ops/story.h"

/* ---- Changing ------------------------------------------------------------------------------- */

static void count_subscription(struct view *view, uint64_t user, struct shelf_record *shelf,
                               int delta)
{
    view_add(view, &shelf->subscriptions, delta);
    view->rows->put_shelf(view, user, shelf);
}

enum tidings_err change_subscribe(struct view *view, struct reply *reply)
{
    uint64_t user = reply->op->user_id, id = reply->op->u.post.post_id;
    struct shelf_record shelf = view->rows->get_shelf(view, user);
    struct post_record story;
    struct tie tie;

    enum tidings_err err = story_find(view, reply, id, &story);
    if (err)
        return err;
    tie_load(view, REALM_SCENES, user, id, &tie);
    bool changed = !pair_stands(&tie.pair);
    if (changed && shelf.subscriptions >= view->settings->subscriptions_max)
        return TIDINGS_SUBSCRIPTION_LIMIT;
    reply->answer->u.subscription.changed = changed;
    reply->answer->u.subscription.subscribed = true;
    if (!changed)
        return TIDINGS_OK;

    tie_settle(view, &tie);
    tie.pair.paused = shelf.quiet;
    tie.pair.rank = view->stamp;
    if (!shelf.quiet)
        pair_open(&tie.pair, tie.head, view->stamp);
    tie_save(view, &tie);
    count_subscription(view, user, &shelf, +1);
    view_event(view, TIDINGS_EVENT_SUBSCRIPTION_CREATED, user, id, story.author, +1);
    return TIDINGS_OK;
}

enum tidings_err change_unsubscribe(struct view *view, struct reply *reply)
{
    uint64_t user = reply->op->user_id, id = reply->op->u.post.post_id;
    struct shelf_record shelf = view->rows->get_shelf(view, user);
    struct post_record story;
    struct tie tie;

    if (!story_exists(view, id, &story))
        return TIDINGS_NOT_FOUND;
    tie_load(view, REALM_SCENES, user, id, &tie);
    reply->answer->u.subscription.changed = pair_stands(&tie.pair);
    if (!pair_stands(&tie.pair))
        return TIDINGS_OK;

    tie_settle(view, &tie);
    if (tie.pair.following)
        pair_close(&tie.pair, tie.head);
    tie.pair.paused = false;
    tie.pair.rank = 0;
    tie_save(view, &tie);
    count_subscription(view, user, &shelf, -1);
    view_event(view, TIDINGS_EVENT_SUBSCRIPTION_DELETED, user, id, story.author, -1);
    return TIDINGS_OK;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

static void fill_subscription(struct view *view, struct reply *reply,
                              const struct tie_follow *subscription)
{
    struct post_record story;
    if (!story_exists(view, subscription->author, &story)) {
        view_corrupt(view);
        return;
    }
    reply->answer->u.subscriptions.rows[reply->answer->u.subscriptions.n++] =
        (struct tidings_subscription_row){
            .story_id = subscription->author,
            .author_id = story.author,
            .title = view_text(view, reply->arena, story.title),
            .since = view_time(view, subscription->rank),
            .is_deleted = story.deleted,
        };
}

enum tidings_err answer_subscriptions(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.page;
    struct tie_follow *found;
    size_t limit = view_limit(view, page);
    size_t n =
        tie_follows(view, REALM_SCENES, reply->op->user_id, page->after.a, limit + 1, &found);
    reply->answer->u.subscriptions.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.subscriptions.rows);
    for (size_t i = 0; i < n && i < limit && !view_failed(view); i++)
        fill_subscription(view, reply, &found[i]);
    if (n > limit)
        reply->answer->u.subscriptions.next.a = found[limit - 1].rank;
    return TIDINGS_OK;
}

enum tidings_err answer_subscribers(struct view *view, struct reply *reply)
{
    struct list list = {.kind = LIST_SUBSCRIBERS, .of = reply->op->u.scenes.story_id};
    struct post_record story;
    if (!permits_service(reply->op))
        return TIDINGS_FORBIDDEN;
    enum tidings_err err = story_find(view, reply, list.of, &story);
    if (err)
        return err;
    answer_user_list(view, reply, &list, &reply->op->u.scenes.page);
    return TIDINGS_OK;
}

enum tidings_err answer_subscribers_among(struct view *view, struct reply *reply)
{
    return answer_among(view, reply, REALM_SCENES, LIST_SUBSCRIBERS);
}
