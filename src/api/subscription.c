/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

static bool prepare_one(struct exchange *ex, enum tidings_op_kind kind)
{
    ex->op.kind = kind;
    ex->op.u.post.post_id = ex->ids[0];
    return true;
}

bool prepare_subscribe(struct exchange *ex)
{
    return prepare_one(ex, TIDINGS_OP_SUBSCRIBE);
}

bool prepare_unsubscribe(struct exchange *ex)
{
    return prepare_one(ex, TIDINGS_OP_UNSUBSCRIBE);
}

void render_subscription(const struct exchange *ex, const struct tidings_answer *answer,
                         struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_bool(out, "changed", answer->u.subscription.changed);
    put_bool(out, "subscribed", answer->u.subscription.subscribed);
    json_out_end(out);
}

bool prepare_subscriptions(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_SUBSCRIPTIONS;
    return query_page(ex, SEAL_SUBSCRIPTIONS, &ex->op.u.page);
}

void render_subscriptions(const struct exchange *ex, const struct tidings_answer *answer,
                          struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.subscriptions.n; i++) {
        const struct tidings_subscription_row *row = &answer->u.subscriptions.rows[i];
        json_out_object(out);
        put_u64(out, "story_id", row->story_id);
        put_u64(out, "author_id", row->author_id);
        put_text(out, "title", row->title);
        put_i64(out, "since", row->since);
        put_bool(out, "is_deleted", row->is_deleted);
        json_out_end(out);
    }
    json_out_end(out);
    put_cursor(ex, out, SEAL_SUBSCRIPTIONS, answer->u.subscriptions.next);
    json_out_end(out);
}

/* For push gateways: who is behind a tag. */
bool prepare_subscribers(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_SUBSCRIBERS;
    ex->op.u.scenes.story_id = ex->ids[0];
    return query_page(ex, SEAL_SUBSCRIBERS, &ex->op.u.scenes.page);
}

void render_subscribers(const struct exchange *ex, const struct tidings_answer *answer,
                        struct json_out *out)
{
    render_users(ex, answer, out, SEAL_SUBSCRIBERS);
}
