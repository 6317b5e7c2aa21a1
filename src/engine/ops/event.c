/* SPDX-License-Identifier: MIT */
/*
 * The events, in the order of their positions, for any number of consumers, each with a position of its
 * own. An event is gone at the moment its time is over; it is removed some time later.
 */
#include "domain/permit.h"
#include "engine/ops/halves.h"

uint64_t event_oldest_kept(const struct view *view)
{
    return view_oldest_id(view, (int64_t)view->settings->event_days * 24 * 60 * 60 * 1000);
}

enum tidings_err answer_events(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.page;
    if (!permits_service(reply->op))
        return TIDINGS_FORBIDDEN;
    size_t limit = view_limit(view, page);
    struct tidings_event *rows = view_array(view, reply->arena, limit, sizeof *rows);
    size_t n = rows ? view->rows->get_events(view, page->after.a, limit, rows) : 0;
    reply->answer->u.events.rows = rows;
    reply->answer->u.events.n = n;
    reply->answer->u.events.next.a = n ? rows[n - 1].event_id : page->after.a;
    return TIDINGS_OK;
}
