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

/* Whether many users are asked about, and not one. */
static bool asks_for_many(const struct exchange *ex)
{
    return http_query_get(&ex->query, "user_ids").p != NULL;
}

static bool prepare_many(struct exchange *ex, enum tidings_op_kind kind)
{
    ex->op.kind = kind;
    if (http_query_get(&ex->query, "user_id").p) {
        exchange_invalid(ex, "user_id", "not together with user_ids");
        return false;
    }
    return query_ids(ex, "user_ids", &ex->op.u.many.user_ids, &ex->op.u.many.n_user_ids);
}

bool prepare_status(struct exchange *ex)
{
    if (asks_for_many(ex))
        return prepare_many(ex, TIDINGS_OP_STATUS_MANY);
    ex->op.kind = TIDINGS_OP_STATUS;
    return query_id(ex, "user_id", &ex->op.u.relation.user_id, NULL);
}

/* Members of an open object. */
static void put_status(struct json_out *out, const struct tidings_status *status)
{
    put_bool(out, "following", status->following);
    put_bool(out, "followed_by", status->followed_by);
    put_bool(out, "mutual", status->mutual);
}

static void render_status_many(const struct exchange *ex, const struct tidings_answer *answer,
                               struct json_out *out)
{
    begin_items(out);
    for (size_t i = 0; i < answer->u.status_many.n; i++) {
        json_out_object(out);
        put_u64(out, "user_id", ex->op.u.many.user_ids[i]);
        put_status(out, &answer->u.status_many.rows[i]);
        json_out_end(out);
    }
    end_items(out);
}

void render_status(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    if (ex->op.kind == TIDINGS_OP_STATUS_MANY) {
        render_status_many(ex, answer, out);
        return;
    }
    json_out_object(out);
    put_status(out, &answer->u.status);
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
    if (asks_for_many(ex))
        return prepare_many(ex, TIDINGS_OP_COUNTERS_MANY);
    ex->op.kind = TIDINGS_OP_COUNTERS;
    return query_whom(ex, &ex->op.u.user.user_id);
}

/* Members of an open object. */
static void put_counters(struct json_out *out, const struct tidings_counters *counters)
{
    put_u64(out, "following", counters->following);
    put_u64(out, "followers", counters->followers);
    put_u64(out, "posts", counters->posts);
    put_u64(out, "liked_posts", counters->liked_posts);
    put_u64(out, "faved_posts", counters->faved_posts);
    put_u64(out, "likes_received", counters->likes_received);
    put_u64(out, "favs_received", counters->favs_received);
}

static void render_counters_many(const struct exchange *ex, const struct tidings_answer *answer,
                                 struct json_out *out)
{
    begin_items(out);
    for (size_t i = 0; i < answer->u.counters_many.n; i++) {
        json_out_object(out);
        put_u64(out, "user_id", ex->op.u.many.user_ids[i]);
        put_counters(out, &answer->u.counters_many.rows[i]);
        json_out_end(out);
    }
    end_items(out);
}

void render_counters(const struct exchange *ex, const struct tidings_answer *answer,
                     struct json_out *out)
{
    if (ex->op.kind == TIDINGS_OP_COUNTERS_MANY) {
        render_counters_many(ex, answer, out);
        return;
    }
    json_out_object(out);
    put_counters(out, &answer->u.counters);
    json_out_end(out);
}
