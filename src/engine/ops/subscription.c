/* SPDX-License-Identifier: MIT */
/*
 * Who wants to be told of a story's scenes. A subscription is a pair, as a follow is, in the realm
 * of scenes: its spans say which scenes were notified. A user who turns story updates off keeps all
 * subscriptions, but they are paused: their spans are closed, and opened again when updates are
 * turned on. The story's subscribers are an index on the pairs that are not paused, newest first.
 */
#include <string.h>

#include "domain/ids.h"
#include "engine/ops/ops.h"
#include "engine/ops/story.h"

enum { RESULT_CHANGED }; /* call->result; of a refused call the story that is deleted */

struct shelf_record view_shelf(struct view *view, uint64_t user)
{
    struct shelf_record shelf = {0};
    struct key key = key_row(user, ROW_SHELF);
    struct bytes value;
    if (kv_get(view->txn, TABLE_USER, &key, &value) && !shelf_decode(value, &shelf))
        view_corrupt(view);
    return shelf;
}

void view_put_shelf(struct view *view, uint64_t user, const struct shelf_record *shelf)
{
    uint8_t bytes[SHELF_RECORD_MAX];
    struct key key = key_row(user, ROW_SHELF);
    kv_put(view->txn, TABLE_USER, &key, bytes, shelf_encode(shelf, bytes));
}

static bool subscribes(const struct tie *tie)
{
    return tie->pair.following || tie->pair.paused;
}

/* ---- Changing ------------------------------------------------------------------------------- */

static void put_subscriber(struct view *view, const struct tie *tie)
{
    struct key key = key_follower(tie->author, tie->pair.rank);
    uint8_t value[ID_BYTES];
    put_id(value, tie->fan);
    kv_put(view->txn, TABLE_SUBSCRIBER, &key, value, sizeof value);
}

static void delete_subscriber(struct view *view, const struct tie *tie)
{
    struct key key = key_follower(tie->author, tie->pair.rank);
    kv_del(view->txn, TABLE_SUBSCRIBER, &key);
}

/* What is published from now on is not notified any more; the subscription stays. */
static void pause_subscription(struct view *view, struct tie *tie)
{
    uint64_t rank = tie->pair.rank;
    delete_subscriber(view, tie);
    tie_close(tie);
    tie->pair.paused = true;
    tie->pair.rank = rank;
}

static void start_subscription(struct view *view, struct tie *tie, uint64_t rank)
{
    tie_open(tie, rank);
    put_subscriber(view, tie);
}

enum tidings_err apply_subscribe(struct view *view, struct tidings_call *call)
{
    uint64_t user = call->op->user_id, id = call->op->u.post.post_id;
    struct shelf_record shelf = view_shelf(view, user);
    struct post_record story;
    struct tie tie;

    call->result[0] = id;
    enum tidings_err err = view_story(view, id, &story);
    if (err)
        return err;
    tie_load_in(view, &realm_scenes, user, id, &tie);
    bool changed = !subscribes(&tie);
    if (changed && shelf.subscriptions >= view->settings->subscriptions_max)
        return TIDINGS_SUBSCRIPTION_LIMIT;
    call->result[RESULT_CHANGED] = changed;
    if (!changed)
        return TIDINGS_OK;

    tie_settle(view, &tie);
    tie.pair.paused = shelf.quiet;
    tie.pair.rank = view->stamp;
    if (!shelf.quiet)
        start_subscription(view, &tie, view->stamp);
    tie_save(view, &tie);
    view_add(view, &shelf.subscriptions, +1);
    view_put_shelf(view, user, &shelf);
    view_event(view, TIDINGS_EVENT_SUBSCRIPTION_CREATED, user, id, story.author, +1);
    return TIDINGS_OK;
}

enum tidings_err apply_unsubscribe(struct view *view, struct tidings_call *call)
{
    uint64_t user = call->op->user_id, id = call->op->u.post.post_id;
    struct shelf_record shelf = view_shelf(view, user);
    struct post_record story;
    struct tie tie;

    if (view_story(view, id, &story) == TIDINGS_NOT_FOUND)
        return TIDINGS_NOT_FOUND;
    tie_load_in(view, &realm_scenes, user, id, &tie);
    call->result[RESULT_CHANGED] = subscribes(&tie);
    if (!subscribes(&tie))
        return TIDINGS_OK;

    tie_settle(view, &tie);
    if (tie.pair.following)
        pause_subscription(view, &tie);
    tie.pair.paused = false;
    tie.pair.rank = 0;
    tie_save(view, &tie);
    view_add(view, &shelf.subscriptions, -1);
    view_put_shelf(view, user, &shelf);
    view_event(view, TIDINGS_EVENT_SUBSCRIPTION_DELETED, user, id, story.author, -1);
    return TIDINGS_OK;
}

/* Work for each subscription of one user, of which there are few. */
static void turn_all(struct view *view, uint64_t user, bool quiet)
{
    struct tie *ties;
    size_t n = tie_list_in(view, &realm_scenes, user, &ties);
    /* All of them settle before the first change: it moves the memory that they were read from. */
    for (size_t i = 0; i < n; i++)
        tie_settle(view, &ties[i]);
    for (size_t i = 0; i < n; i++) {
        if (!subscribes(&ties[i]))
            continue;
        if (quiet)
            pause_subscription(view, &ties[i]);
        else
            start_subscription(view, &ties[i], ties[i].pair.rank);
        tie_save(view, &ties[i]);
    }
}

enum tidings_err apply_preferences_set(struct view *view, struct tidings_call *call)
{
    uint64_t user = call->op->user_id;
    struct shelf_record shelf = view_shelf(view, user);
    bool quiet = !call->op->u.preferences.story_updates;
    if (quiet == !!shelf.quiet)
        return TIDINGS_OK;
    /* Work for every subscription: not as often as one likes. */
    struct user_record record = view_user(view, user);
    enum tidings_err err = view_take_follow_token(view, call, &record);
    if (err)
        return err;
    view_put_user(view, user, &record);
    turn_all(view, user, quiet);
    shelf.quiet = quiet;
    view_put_shelf(view, user, &shelf);
    view_event(view, TIDINGS_EVENT_PREFERENCES_CHANGED, user, user, 0, 0);
    return TIDINGS_OK;
}

/* ---- Answering ------------------------------------------------------------------------------ */

enum tidings_err answer_subscription(struct view *view, struct reply *reply)
{
    (void)view;
    reply->answer->u.subscription.changed = reply->call->result[RESULT_CHANGED];
    reply->answer->u.subscription.subscribed = reply->op->kind == TIDINGS_OP_SUBSCRIBE;
    return TIDINGS_OK;
}

enum tidings_err answer_preferences(struct view *view, struct reply *reply)
{
    reply->answer->u.preferences.story_updates = !view_shelf(view, reply->op->user_id).quiet;
    return TIDINGS_OK;
}

/* ---- Lists ---------------------------------------------------------------------------------- */

static void fill_subscription(struct view *view, struct reply *reply,
                              const struct tie_follow *subscription)
{
    struct post_record story;
    if (view_story(view, subscription->author, &story) == TIDINGS_NOT_FOUND) {
        view_corrupt(view);
        return;
    }
    reply->answer->u.subscriptions.rows[reply->answer->u.subscriptions.n++] =
        (struct tidings_subscription_row){
            .story_id = subscription->author,
            .author_id = story.author,
            .title = view_text(view, reply->arena, story.title),
            .since = id_time_ms(subscription->rank),
            .is_deleted = story.deleted,
        };
}

enum tidings_err answer_subscriptions(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.page;
    struct tie_follow *found;
    size_t limit = view_limit(view, page);
    size_t n =
        tie_follows(view, &realm_scenes, reply->op->user_id, page->after.a, limit + 1, &found);
    reply->answer->u.subscriptions.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.subscriptions.rows);
    for (size_t i = 0; i < n && i < limit && !view_failed(view); i++)
        fill_subscription(view, reply, &found[i]);
    if (n > limit)
        reply->answer->u.subscriptions.next.a = found[limit - 1].rank;
    return TIDINGS_OK;
}

static void fill_subscriber(struct view *view, struct reply *reply, uint64_t user, uint64_t rank)
{
    struct tidings_user_row *row = &reply->answer->u.users.rows[reply->answer->u.users.n++];
    *row = (struct tidings_user_row){.user_id = user, .since = id_time_ms(rank)};
    view_profile(view, user, reply->arena, &row->name, &row->avatar);
}

enum tidings_err answer_subscribers(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.scenes.page;
    uint64_t id = reply->op->u.scenes.story_id, rank = 0;
    struct post_record story;
    if (reply->op->role == TIDINGS_ROLE_USER)
        return TIDINGS_FORBIDDEN;
    enum tidings_err err = view_story(view, id, &story);
    if (err == TIDINGS_DELETED)
        reply->answer->title = view_text(view, reply->arena, story.title);
    if (err)
        return err;

    size_t limit = view_limit(view, page);
    struct key prefix = key_id(id);
    struct key from = page->after.a ? key_follower(id, page->after.a - 1) : prefix;
    struct bytes key, value;
    reply->answer->u.users.rows =
        view_array(view, reply->arena, limit, sizeof *reply->answer->u.users.rows);
    bool found = kv_seek(view->txn, TABLE_SUBSCRIBER, &from, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_SUBSCRIBER, &key, &value)) {
        if (key.n != 2 * ID_BYTES || value.n != ID_BYTES) {
            view_corrupt(view);
            break;
        }
        if (reply->answer->u.users.n == limit) {
            reply->answer->u.users.next.a = rank;
            break;
        }
        rank = get_id_descending(key.p + ID_BYTES);
        fill_subscriber(view, reply, get_id(value.p), rank);
    }
    return TIDINGS_OK;
}

/* From the story's side, unless there are more subscribers than users to ask about. */
static bool mark_subscribers(struct view *view, const struct tidings_op *op, bool *is_one)
{
    struct key prefix = key_id(op->u.among.author_id);
    struct bytes key, value;
    size_t left = op->u.among.n_user_ids;
    bool found = kv_seek(view->txn, TABLE_SUBSCRIBER, &prefix, &key, &value);
    for (; found && key_has_prefix(key, &prefix);
         found = kv_next(view->txn, TABLE_SUBSCRIBER, &key, &value)) {
        if (value.n != ID_BYTES)
            view_corrupt(view);
        if (!left-- || view_failed(view))
            return false;
        among_mark(op, get_id(value.p), is_one);
    }
    return true;
}

/* From the user's side: looks at the one pair. */
static bool is_among(struct view *view, const struct tidings_op *op, uint64_t user)
{
    struct tie tie;
    tie_load_in(view, &realm_scenes, user, op->u.among.author_id, &tie);
    return op->u.among.delivered ? tie.pair.n_spans != 0 : tie.pair.following;
}

enum tidings_err answer_subscribers_among(struct view *view, struct reply *reply)
{
    const struct tidings_op *op = reply->op;
    size_t n = op->u.among.n_user_ids;
    bool *is_one = view_array(view, view->scratch, n, sizeof *is_one);
    uint64_t *users = view_array(view, reply->arena, n, sizeof *users);
    if (view_failed(view))
        return TIDINGS_OK;
    memset(is_one, 0, n * sizeof *is_one);
    if (op->u.among.delivered || !mark_subscribers(view, op, is_one))
        for (size_t i = 0; i < n; i++)
            is_one[i] = is_among(view, op, op->u.among.user_ids[i]);
    for (size_t i = 0; i < n; i++)
        if (is_one[i])
            users[reply->answer->u.among.n++] = op->u.among.user_ids[i];
    reply->answer->u.among.user_ids = users;
    return TIDINGS_OK;
}
