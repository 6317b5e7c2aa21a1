/* SPDX-License-Identifier: MIT */
/* Profiles and counters. */
#include <string.h>

#include "engine/ops/ops.h"

static bool differs(struct bytes stored, struct tidings_text wanted)
{
    return wanted.p && (stored.n != wanted.n || (wanted.n && memcmp(stored.p, wanted.p, wanted.n)));
}

static struct bytes chosen(struct bytes stored, struct tidings_text wanted)
{
    return wanted.p ? (struct bytes){(const uint8_t *)wanted.p, wanted.n} : stored;
}

enum tidings_err apply_profile_set(struct view *view, struct tidings_call *call)
{
    uint64_t user = call->op->user_id;
    struct tidings_text name = call->op->u.profile.name, avatar = call->op->u.profile.avatar;
    struct key key = key_id(user);
    struct profile_record profile = {0};
    struct bytes value;

    if (kv_get(view->txn, TABLE_PROFILE, &key, &value) && !profile_decode(value, &profile)) {
        view_corrupt(view);
        return TIDINGS_OK;
    }
    if (!differs(profile.name, name) && !differs(profile.avatar, avatar))
        return TIDINGS_OK;
    profile.name = chosen(profile.name, name);
    profile.avatar = chosen(profile.avatar, avatar);
    value = profile_encode(&profile, view->scratch);
    if (!value.p)
        return TIDINGS_NO_MEMORY;
    if (profile.name.n || profile.avatar.n)
        kv_put(view->txn, TABLE_PROFILE, &key, value.p, value.n);
    else
        kv_del(view->txn, TABLE_PROFILE, &key);
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
