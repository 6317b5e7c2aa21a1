/* SPDX-License-Identifier: MIT */
#include "api/handlers.h"
#include "domain/event_json.h"

/* Positions are event ids as they are: a consumer keeps them, for years maybe. */
bool prepare_events(struct exchange *ex)
{
    struct http_text after = http_query_get(&ex->query, "after");
    ex->op.kind = TIDINGS_OP_EVENTS;
    if (after.p && !parse_id(after, &ex->op.u.page.after.a)) {
        exchange_invalid(ex, "after", "the id of an event, or 0");
        return false;
    }
    struct tidings_page page = {0};
    if (!query_page(ex, 0, &page))
        return false;
    ex->op.u.page.limit = page.limit;
    return true;
}

void render_events(const struct exchange *ex, const struct tidings_answer *answer,
                   struct json_out *out)
{
    (void)ex;
    json_out_object(out);
    json_out_key(out, "items");
    json_out_array(out);
    for (size_t i = 0; i < answer->u.events.n; i++) {
        json_out_object(out);
        event_members(out, &answer->u.events.rows[i]);
        json_out_end(out);
    }
    json_out_end(out);
    put_u64(out, "next_after", answer->u.events.next.a);
    json_out_end(out);
}
