/* SPDX-License-Identifier: MIT */
/* A user's own settings: whether to be told of new scenes. */
#include "engine/inbox/tie.h"
#include "engine/ops/halves.h"

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
    /* Work for every subscription: not as often as one likes. */
    struct user_record record = view_user(view, user);
    enum tidings_err err = view_take_token(view, reply, BUCKET_FOLLOW, &record);
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
