/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

bool prepare_notifications(struct exchange *ex)
{
    ex->op.kind = TIDINGS_OP_NOTIFICATIONS;
    return query_page(ex, SEAL_NOTIFICATIONS, &ex->op.u.page);
}

void put_notification(struct json_out *out, const struct tidings_notification *notice)
{
    put_u64(out, "id", notice->id);
    json_out_key(out, "type");
    json_out_text(out, "scene");
    put_u64(out, "story_id", notice->story_id);
    put_u64(out, "scene_id", notice->id);
    put_u64(out, "author_id", notice->author_id);
    put_text(out, "story_title", notice->story_title);
    put_text(out, "scene_title", notice->scene_title);
    put_i64(out, "created_at", notice->created_at);
}

void render_notifications(const struct exchange *ex, const struct tidings_answer *answer,
                          struct json_out *out)
{
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.notifications.n; i++) {
        json_out_object(out);
        put_notification(out, &answer->u.notifications.rows[i]);
        put_bool(out, "is_read", answer->u.notifications.rows[i].is_read);
        json_out_end(out);
    }
    json_out_end(out);
    put_u64(out, "unread", answer->u.notifications.unread);
    put_as_of(ex, out, SEAL_NOTIFICATIONS_AS_OF, &answer->u.notifications.as_of);
    put_cursor(ex, out, SEAL_NOTIFICATIONS, answer->u.notifications.next);
    json_out_end(out);
}

bool prepare_notifications_mark(struct exchange *ex)
{
    static const char *const members[] = {"ids", "up_to", NULL};
    bool given;
    ex->op.kind = TIDINGS_OP_NOTIFICATIONS_MARK;
    return arg_body(ex, members) &&
           arg_ids(ex, "ids", &ex->op.u.mark.post_ids, &ex->op.u.mark.n_post_ids, &given) &&
           arg_up_to(ex, SEAL_NOTIFICATIONS_AS_OF, &ex->op.u.mark.up_to, &given);
}

void render_notifications_mark(const struct exchange *ex, const struct tidings_answer *answer,
                               struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    put_u64(out, "marked", answer->u.notifications_mark.marked);
    put_u64(out, "unread", answer->u.notifications_mark.unread);
    json_out_end(out);
}
