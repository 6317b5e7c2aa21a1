/* SPDX-License-Identifier: MIT */
/*
 * The events, in the order of their positions, for any number of consumers, each with a position of its
 * own. An event is gone at the moment its time is over; it is removed some time later.
 */
#include <string.h>

#include "domain/events.h"
#include "domain/permit.h"
#include "engine/ops/halves.h"

uint64_t event_oldest_kept(const struct view *view)
{
    return view_oldest_id(view, (int64_t)view->settings->event_days * 24 * 60 * 60 * 1000);
}

/* What never changes, so it does not matter that it is read later than the event. */
static void fill_context(struct view *view, struct tidings_event *event)
{
    bool of_post = !strcmp(tidings_event_target(event->type), "post");
    uint64_t post_id = of_post ? event->target_id : event->post_id;
    struct post_record post;
    struct comment_record comment;
    event->post_kind = 0;
    event->parent_id = 0;
    if (post_id && view_post(view, post_id, &post))
        event->post_kind = post.kind;
    switch (event->type) {
    case TIDINGS_EVENT_COMMENT_CREATED:
    case TIDINGS_EVENT_COMMENT_HIDDEN:
    case TIDINGS_EVENT_COMMENT_RESTORED:
    case TIDINGS_EVENT_COMMENT_DELETED:
        if (view_comment(view, event->target_id, &comment))
            event->parent_id = comment.parent;
        break;
    default:
        break;
    }
}

enum tidings_err answer_events(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.page;
    if (!permits_service(reply->op))
        return TIDINGS_FORBIDDEN;
    size_t limit = view_limit(view, page);
    struct tidings_event *rows = view_array(view, reply->arena, limit, sizeof *rows);
    size_t n = rows ? view->rows->get_events(view, page->after.a, limit, rows) : 0;
    for (size_t i = 0; i < n && !view_failed(view); i++)
        fill_context(view, &rows[i]);
    reply->answer->u.events.rows = rows;
    reply->answer->u.events.n = n;
    reply->answer->u.events.next.a = n ? rows[n - 1].event_id : page->after.a;
    reply->answer->u.events.newest = view->rows->newest_position(view);
    return TIDINGS_OK;
}
