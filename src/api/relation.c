/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

static bool prepare_change(struct exchange *ex, enum tidings_op_kind kind,
                           const char *const *members)
{
    ex->op.kind = kind;
    return arg_body(ex, members) && arg_id(ex, "user_id", &ex->op.u.relation.user_id, NULL);
}

bool prepare_follow(struct exchange *ex)
{
    static const char *const members[] = {"user_id", NULL};
    return prepare_change(ex, TIDINGS_OP_FOLLOW, members);
}

bool prepare_unfollow(struct exchange *ex)
{
    static const char *const members[] = {"user_id", "purge_inbox", NULL};
    bool given;
    return prepare_change(ex, TIDINGS_OP_UNFOLLOW, members) &&
           arg_bool(ex, "purge_inbox", &ex->op.u.relation.purge_inbox, &given);
}

void render_follow(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_bool(out, "changed", answer->u.relation.changed);
    put_bool(out, "following", answer->u.relation.following);
    put_bool(out, "mutual", answer->u.relation.mutual);
    json_out_end(out);
}

void render_unfollow(const struct exchange *ex, const struct tidings_answer *answer,
                     struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_bool(out, "changed", answer->u.relation.changed);
    put_bool(out, "following", answer->u.relation.following);
    put_u64(out, "purged", answer->u.relation.purged);
    json_out_end(out);
}

bool prepare_status(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_STATUS;
    return query_id(ex, "user_id", &ex->op.u.relation.user_id, NULL);
}

void render_status(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_bool(out, "following", answer->u.status.following);
    put_bool(out, "followed_by", answer->u.status.followed_by);
    put_bool(out, "mutual", answer->u.status.mutual);
    json_out_end(out);
}

/* Of oneself, unless somebody else is named. */
static bool query_whom(struct exchange *ex, uint64_t *user)
{
    bool given;
    *user = ex->user_id;
    return query_id(ex, "user_id", user, &given);
}

static bool prepare_users(struct exchange *ex, enum tidings_op_kind kind, uint8_t purpose)
{
    ex->op.kind = kind;
    return query_whom(ex, &ex->op.u.users.user_id) && query_page(ex, purpose, &ex->op.u.users.page);
}

bool prepare_following(struct exchange *ex)
{
    return prepare_users(ex, TIDINGS_OP_FOLLOWING, SEAL_FOLLOWING);
}

bool prepare_followers(struct exchange *ex)
{
    return prepare_users(ex, TIDINGS_OP_FOLLOWERS, SEAL_FOLLOWERS);
}

void render_users(const struct exchange *ex, const struct tidings_answer *answer,
                  struct json_out *out, uint8_t purpose)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.users.n; i++) {
        const struct tidings_user_row *row = &answer->u.users.rows[i];
        json_out_object(out);
        put_u64(out, "user_id", row->user_id);
        put_text(out, "name", row->name);
        put_text(out, "avatar", row->avatar);
        put_i64(out, "since", row->since);
        json_out_end(out);
    }
    json_out_end(out);
    put_cursor(ex, out, purpose, answer->u.users.next);
    json_out_end(out);
}

void render_following(const struct exchange *ex, const struct tidings_answer *answer,
                      struct json_out *out)
{
    render_users(ex, answer, out, SEAL_FOLLOWING);
}

void render_followers(const struct exchange *ex, const struct tidings_answer *answer,
                      struct json_out *out)
{
    render_users(ex, answer, out, SEAL_FOLLOWERS);
}

bool prepare_counters(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_COUNTERS;
    return query_whom(ex, &ex->op.u.user.user_id);
}

void render_counters(const struct exchange *ex, const struct tidings_answer *answer,
                     struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_u64(out, "following", answer->u.counters.following);
    put_u64(out, "followers", answer->u.counters.followers);
    put_u64(out, "posts", answer->u.counters.posts);
    put_u64(out, "liked_posts", answer->u.counters.liked_posts);
    put_u64(out, "faved_posts", answer->u.counters.faved_posts);
    put_u64(out, "likes_received", answer->u.counters.likes_received);
    put_u64(out, "favs_received", answer->u.counters.favs_received);
    json_out_end(out);
}
