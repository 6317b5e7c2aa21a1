/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

bool prepare_profile_set(struct exchange *ex)
{
    static const char *const members[] = {"name", "avatar", "extra", NULL};
    bool given;
    ex->op.kind = TIDINGS_OP_PROFILE_SET;
    return arg_body(ex, members) && arg_text(ex, "name", &ex->op.u.profile.name, &given) &&
           arg_text(ex, "avatar", &ex->op.u.profile.avatar, &given) &&
           arg_object(ex, "extra", &ex->op.u.profile.extra);
}

bool prepare_profile(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_PROFILE;
    ex->op.u.user.user_id = ex->ids[0];
    return true;
}

/* Members of an open object. */
static void put_profile(struct json_out *out, const struct tidings_profile *profile)
{
    put_u64(out, "user_id", profile->user_id);
    put_text(out, "name", profile->name);
    put_text(out, "avatar", profile->avatar);
    put_json(out, "extra", profile->extra);
}

void render_profile(const struct exchange *ex, const struct tidings_answer *answer,
                    struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_profile(out, &answer->u.profile);
    json_out_end(out);
}

bool prepare_profile_many(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_PROFILE_MANY;
    return query_ids(ex, "ids", &ex->op.u.many.user_ids, &ex->op.u.many.n_user_ids);
}

/* Users need no sign-up: what may be missing is the profile. */
void render_profile_many(const struct exchange *ex, const struct tidings_answer *answer,
                         struct json_out *out)
{
    (void)ex;
    begin_items(out);
    for (size_t i = 0; i < answer->u.profile_many.n; i++) {
        const struct tidings_profile *profile = &answer->u.profile_many.rows[i];
        json_out_object(out);
        put_profile(out, profile);
        put_bool(out, "found", profile->name.n || profile->avatar.n || profile->extra.n);
        json_out_end(out);
    }
    end_items(out);
}

bool prepare_author_page(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_AUTHOR_PAGE;
    ex->op.u.feed.author_id = ex->ids[0];
    return query_filter(ex, "read_status") && query_page(ex, SEAL_AUTHOR_PAGE, &ex->op.u.feed.page);
}

void render_author_page(const struct exchange *ex, const struct tidings_answer *answer,
                        struct json_out *out)
{
    json_out_object(out);
    render_items(ex, answer, out);
    put_cursor(ex, out, SEAL_AUTHOR_PAGE, answer->u.feed.next);
    put_u64(out, "total", answer->u.feed.total);
    json_out_end(out);
}
