/* SPDX-License-Identifier: MIT */
/* A user's own settings: whether to be told of new scenes. */
#include "engine/inbox/tie.h"
#include "engine/ops/halves.h"

/* A token is for the work of so many subscriptions, which all are turned: with 5,000 that holds up everybody's writing for
 * a while, and fills the log. */
enum { SUBSCRIPTIONS_A_TOKEN = 100 };

/* Work for each subscription of one user, of which there are few. */
static void turn_all(struct view *view, uint64_t user, bool quiet)
{
    struct tie *ties;
    size_t n = tie_settle_all(view, REALM_SCENES, user, &ties);
    for (size_t i = 0; i < n; i++) {
        struct pair *pair = &ties[i].pair;
        if (!pair_stands(pair))
            continue;
        if (quiet)
            pair_pause(pair, ties[i].head);
        else
            pair_open(pair, ties[i].head, pair->rank);
        tie_save(view, &ties[i]);
    }
}

enum tidings_err change_preferences_set(struct view *view, struct reply *reply)
{
    uint64_t user = reply->op->user_id;
    struct shelf_record shelf = view->rows->get_shelf(view, user);
    bool quiet = !reply->op->u.preferences.story_updates;
    if (quiet == !!shelf.quiet)
        return TIDINGS_OK;
    struct user_record record = view_user(view, user);
    uint64_t tokens = 1 + shelf.subscriptions / SUBSCRIPTIONS_A_TOKEN;
    enum tidings_err err = view_take_tokens(view, reply, BUCKET_FOLLOW, tokens, &record);
    if (err)
        return err;
    view_put_user(view, user, &record);
    turn_all(view, user, quiet);
    shelf.quiet = quiet;
    view->rows->put_shelf(view, user, &shelf);
    view_event(view, TIDINGS_EVENT_PREFERENCES_CHANGED, user, user, 0, 0);
    return TIDINGS_OK;
}

enum tidings_err answer_preferences(struct view *view, struct reply *reply)
{
    reply->answer->u.preferences.story_updates =
        !view->rows->get_shelf(view, reply->op->user_id).quiet;
    return TIDINGS_OK;
}
