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
    bool new_extra = choose(&profile.extra, reply->op->u.profile.extra);
    if (!new_name && !new_avatar && !new_extra)
        return TIDINGS_OK;
    view->rows->put_profile(view, user, &profile);
    view_event(view, TIDINGS_EVENT_PROFILE_CHANGED, user, user, 0, 0);
    return TIDINGS_OK;
}

static struct tidings_profile profile_of(struct view *view, struct reply *reply, uint64_t user)
{
    struct profile_record stored = view->rows->get_profile(view, user);
    return (struct tidings_profile){
        .user_id = user,
        .name = view_text(view, reply->arena, stored.name),
        .avatar = view_text(view, reply->arena, stored.avatar),
        .extra = view_text(view, reply->arena, stored.extra),
    };
}

enum tidings_err answer_profile_set(struct view *view, struct reply *reply)
{
    reply->answer->u.profile = profile_of(view, reply, reply->op->user_id);
    return TIDINGS_OK;
}

enum tidings_err answer_profile(struct view *view, struct reply *reply)
{
    reply->answer->u.profile = profile_of(view, reply, reply->op->u.user.user_id);
    return TIDINGS_OK;
}

enum tidings_err answer_profile_many(struct view *view, struct reply *reply)
{
    const uint64_t *users = reply->op->u.many.user_ids;
    size_t n = reply->op->u.many.n_user_ids;
    struct tidings_profile *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; rows && i < n; i++)
        rows[i] = profile_of(view, reply, users[i]);
    reply->answer->u.profile_many.rows = rows;
    reply->answer->u.profile_many.n = n;
    return TIDINGS_OK;
}

static struct tidings_counters counters_of(struct view *view, uint64_t id)
{
    struct user_record user = view_user(view, id);
    return (struct tidings_counters){
        .following = user.following,
        .followers = user.followers,
        .posts = user.posts,
        .liked_posts = user.liked_posts,
        .faved_posts = user.faved_posts,
        .likes_received = user.likes_received,
        .favs_received = user.favs_received,
    };
}

enum tidings_err answer_counters(struct view *view, struct reply *reply)
{
    reply->answer->u.counters = counters_of(view, reply->op->u.user.user_id);
    return TIDINGS_OK;
}

enum tidings_err answer_counters_many(struct view *view, struct reply *reply)
{
    const uint64_t *users = reply->op->u.many.user_ids;
    size_t n = reply->op->u.many.n_user_ids;
    struct tidings_counters *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; rows && i < n; i++)
        rows[i] = counters_of(view, users[i]);
    reply->answer->u.counters_many.rows = rows;
    reply->answer->u.counters_many.n = n;
    return TIDINGS_OK;
}
