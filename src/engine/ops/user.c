/* SPDX-License-Identifier: MIT */
/* Profiles and counters. */
#include "engine/ops/halves.h"

/* What is wanted, if anything is, else what is stored; whether that is another. */
static bool choose(struct bytes *stored, struct tidings_text wanted)
{
    if (!wanted.p || bytes_same(*stored, bytes_of(wanted)))
        return false;
    *stored = bytes_of(wanted);
    return true;
}

enum tidings_err change_profile_set(struct view *view, struct reply *reply)
{
    uint64_t user = reply->op->user_id;
    struct profile_record profile = view->rows->get_profile(view, user);
    if (view_failed(view))
        return TIDINGS_OK;
    bool new_name = choose(&profile.name, reply->op->u.profile.name);
    bool new_avatar = choose(&profile.avatar, reply->op->u.profile.avatar);
    if (!new_name && !new_avatar)
        return TIDINGS_OK;
    view->rows->put_profile(view, user, &profile);
    view_event(view, TIDINGS_EVENT_PROFILE_CHANGED, user, user, 0, 0);
    return TIDINGS_OK;
}

static enum tidings_err answer_profile_of(struct view *view, struct reply *reply, uint64_t user)
{
    reply->answer->u.profile.user_id = user;
    view_profile(view, user, reply->arena, &reply->answer->u.profile.name,
                 &reply->answer->u.profile.avatar);
    return TIDINGS_OK;
}

enum tidings_err answer_profile_set(struct view *view, struct reply *reply)
{
    return answer_profile_of(view, reply, reply->op->user_id);
}

enum tidings_err answer_profile(struct view *view, struct reply *reply)
{
    return answer_profile_of(view, reply, reply->op->u.user.user_id);
}

enum tidings_err answer_counters(struct view *view, struct reply *reply)
{
    struct user_record user = view_user(view, reply->op->u.user.user_id);
    reply->answer->u.counters.following = user.following;
    reply->answer->u.counters.followers = user.followers;
    reply->answer->u.counters.posts = user.posts;
    reply->answer->u.counters.liked_posts = user.liked_posts;
    reply->answer->u.counters.faved_posts = user.faved_posts;
    reply->answer->u.counters.likes_received = user.likes_received;
    reply->answer->u.counters.favs_received = user.favs_received;
    return TIDINGS_OK;
}
