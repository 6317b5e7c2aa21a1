/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"

/* Positions are event ids as they are: a consumer keeps them, for years maybe. */
bool prepare_events(struct exchange *ex)
{
    struct http_text after = http_query_get(&ex->query, "after");
    ex->op.kind = TIDINGS_OP_EVENTS;
    if (after.p && !parse_id(after, &ex->op.u.page.after.a)) {
        exchange_invalid(ex, "after", "It must be the id of an event, or 0.");
        return false;
    }
    struct tidings_page page = {0};
    if (!query_page(ex, 0, &page))
        return false;
    ex->op.u.page.limit = page.limit;
    return true;
}

static void put_reaction(struct json_out *out, enum tidings_reaction reaction)
{
    static const char *const names[] = {
        [TIDINGS_LIKE] = "like", [TIDINGS_FAV] = "fav", [TIDINGS_DOWNVOTE] = "downvote"};
    json_out_key(out, "reaction");
    if (reaction)
        json_out_text(out, names[reaction]);
    else
        json_out_null(out);
}

void render_events(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.events.n; i++) {
        const struct tidings_event *event = &answer->u.events.rows[i];
        json_out_object(out);
        put_u64(out, "event_id", event->event_id);
        json_out_key(out, "type");
        json_out_text(out, tidings_event_name(event->type));
        put_i64(out, "happened_at", event->happened_at);
        put_id(out, "actor_user_id", event->actor_user_id);
        json_out_key(out, "target_type");
        json_out_text(out, tidings_event_target(event->type));
        put_u64(out, "target_id", event->target_id);
        json_out_key(out, "action");
        json_out_text(out, tidings_event_action(event->type));
        put_i64(out, "delta", event->delta);
        put_id(out, "author_id", event->author_id);
        put_id(out, "post_id", event->post_id);
        put_reaction(out, event->reaction);
        json_out_end(out);
    }
    json_out_end(out);
    put_u64(out, "next_after", answer->u.events.next.a);
    json_out_end(out);
}
