/* SPDX-License-Identifier: MIT */
#include "engine/ops/target.h"

#include "domain/heat.h"
#include "domain/ids.h"
#include "domain/permit.h"
#include "engine/ops/post.h"

bool target_find(struct view *view, enum tidings_target kind, uint64_t id, struct target *target)
{
    target->kind = kind;
    target->id = target->post_id = id;
    if (kind == TIDINGS_TARGET_POST)
        return view_post(view, id, &target->post);
    if (!view_comment(view, id, &target->comment))
        return false;
    target->post_id = target->comment.post;
    if (view_post(view, target->post_id, &target->post))
        return true;
    view_corrupt(view);
    return false;
}

enum tidings_err target_look(struct view *view, struct reply *reply, enum tidings_target kind,
                             uint64_t id, struct target *target)
{
    if (!target_find(view, kind, id, target))
        return TIDINGS_NOT_FOUND;
    if (!target_is_gone(target) || permits_admin(reply->op))
        return TIDINGS_OK;
    return refuse_deleted(view, reply, target->post.title);
}

struct tidings_counts post_counts(const struct view *view, const struct counts_record *counts)
{
    struct tidings_counts out = {
        .like_count = counts->likes,
        .fav_count = counts->favs,
        .comment_count = counts->comments,
    };
    out.hot_score = heat_post_score(view->settings, &out);
    return out;
}

uint64_t post_heat(const struct view *view, uint64_t id, const struct counts_record *counts)
{
    return heat_post_key(view->settings, post_counts(view, counts).hot_score, id_time_ms(id));
}
