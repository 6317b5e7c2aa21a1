/* SPDX-License-Identifier: MIT */
/*
 * The events, in the order of their ids, for any number of consumers, each with a position of its
 * own. An event is gone at the moment its time is over; its row is removed some time later.
 */
#include "domain/ids.h"
#include "engine/ops/ops.h"

uint64_t event_oldest_kept(const struct view *view)
{
    return view_oldest_id(view, (int64_t)view->settings->event_days * 24 * 60 * 60 * 1000);
}

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

enum tidings_err answer_events(struct view *view, struct reply *reply)
{
    const struct tidings_page *page = &reply->op->u.page;
    if (reply->op->role == TIDINGS_ROLE_USER)
        return TIDINGS_FORBIDDEN;

    size_t limit = view_limit(view, page), n = 0;
    struct tidings_event *rows = view_array(view, reply->arena, limit, sizeof *rows);
    struct key from = key_id(later(page->after.a + 1, event_oldest_kept(view)));
    struct bytes key, value;
    uint64_t last = page->after.a;

    bool found = rows && kv_seek(view->txn, TABLE_EVENT, &from, &key, &value);
    for (; found && n < limit; found = kv_next(view->txn, TABLE_EVENT, &key, &value)) {
        if (key.n != ID_BYTES || !event_decode(value, &rows[n])) {
            view_corrupt(view);
            break;
        }
        last = get_id(key.p);
        rows[n].event_id = last;
        rows[n++].happened_at = id_time_ms(last);
    }
    reply->answer->u.events.rows = rows;
    reply->answer->u.events.n = n;
    reply->answer->u.events.next.a = last;
    return TIDINGS_OK;
}

void event_sweep(struct view *view, size_t most)
{
    uint64_t limit = event_oldest_kept(view);
    struct key first = key_id(0);
    struct bytes key, value;
    while (most-- && kv_seek(view->txn, TABLE_EVENT, &first, &key, &value)) {
        if (key.n != ID_BYTES) {
            view_corrupt(view);
            return;
        }
        uint64_t id = get_id(key.p);
        if (id >= limit)
            return;
        webhook_forget_event(view, id, value);
        struct key gone = key_id(id);
        kv_del(view->txn, TABLE_EVENT, &gone);
    }
}
