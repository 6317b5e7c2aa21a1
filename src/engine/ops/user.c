/* SPDX-License-Identifier: MIT */
/* Profiles and counters. */
#include "domain/name.h"
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

/* Whether the place is among the names that begin so; *behind: it is not, and comes after them. */
static bool is_within(const struct name_place *place, struct bytes prefix, bool *behind)
{
    size_t n = place->folded.n < prefix.n ? place->folded.n : prefix.n;
    int order = memcmp(place->folded.p, prefix.p, n);
    *behind = order > 0;
    return !order && n == prefix.n;
}

/* Those found, one more than the page holds if there are more. */
static size_t find_users(struct view *view, const struct tidings_op *op, size_t most,
                         uint64_t *users)
{
    uint8_t prefix[NAME_FOLDED_MAX], name[NAME_FOLDED_MAX];
    struct bytes wanted = {prefix, name_fold(bytes_of(op->u.search.prefix), prefix)};
    struct name_place after = {{name, name_fold(bytes_of(op->u.search.after_name), name)},
                               op->u.search.page.after.a};
    bool behind;
    if (!is_within(&after, wanted, &behind))
        after.user = 0;
    return behind ? 0 : view->rows->find_names(view, wanted, &after, most, users);
}

enum tidings_err answer_profile_search(struct view *view, struct reply *reply)
{
    size_t limit = view_limit(view, &reply->op->u.search.page);
    uint64_t *users = view_array(view, view->scratch, limit + 1, sizeof *users);
    size_t found = users ? find_users(view, reply->op, limit + 1, users) : 0;
    size_t n = found < limit ? found : limit;
    struct tidings_profile *rows = view_array(view, reply->arena, n, sizeof *rows);
    for (size_t i = 0; rows && i < n; i++)
        rows[i] = profile_of(view, reply, users[i]);
    reply->answer->u.profile_search.rows = rows;
    reply->answer->u.profile_search.n = n;
    if (found > limit)
        reply->answer->u.profile_search.next.a = users[limit - 1];
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
