/* SPDX-License-Identifier: MIT */
#include "api/messages.h"

#include <string.h>

#include "api/handlers.h"

/* "event: name\nid: id\ndata: " and an open object. */
static struct json_out begin(struct buf *to, const char *name, uint64_t id)
{
    struct json_out out;
    buf_printf(to, "event: %s\n", name);
    if (id)
        buf_printf(to, "id: %llu\n", (unsigned long long)id);
    buf_literal(to, "data: ");
    json_out_init(&out, to);
    json_out_object(&out);
    return out;
}

static void end(struct buf *to, struct json_out *out)
{
    json_out_end(out);
    buf_literal(to, "\n\n");
}

void message_badge(struct buf *to, uint64_t total, uint64_t id)
{
    struct json_out out = begin(to, "badge", id);
    put_u64(&out, "total", total);
    end(to, &out);
}

void message_post(struct buf *to, const struct message_post *post)
{
    struct json_out out = begin(to, "post", post->id);
    put_u64(&out, "post_id", post->id);
    json_out_key(&out, "kind");
    json_out_text(&out, post_kind_name(post->kind));
    put_u64(&out, "author_id", post->author_id);
    put_text(&out, "author_name", post->author_name);
    put_text(&out, "title", post->title);
    put_i64(&out, "created_at", post->created_at);
    end(to, &out);
}

void message_notification(struct buf *to, const struct tidings_notification *notification,
                          uint64_t unread)
{
    struct json_out out = begin(to, "notification", 0);
    put_notification(&out, notification);
    put_u64(&out, "unread", unread);
    end(to, &out);
}

void message_activity(struct buf *to, const struct tidings_event *event, uint64_t post,
                      const struct tidings_counts *counts)
{
    struct json_out out = begin(to, "activity", 0);
    const char *type = tidings_event_name(event->type);
    put_u64(&out, "post_id", post);
    put_text(&out, "type", (struct tidings_text){type, strlen(type)});
    put_id(&out, "comment_id", event->target_id == post ? 0 : event->target_id);
    if (counts) {
        put_stats(&out, TIDINGS_TARGET_POST, counts);
    } else {
        json_out_key(&out, "stats");
        json_out_null(&out);
    }
    end(to, &out);
}

void message_changed(struct buf *to, const struct tidings_event *event)
{
    struct json_out out = begin(to, "changed", 0);
    const char *type = event ? tidings_event_name(event->type) : "";
    put_id(&out, "post_id", event ? event->target_id : 0);
    put_shown(&out, "type", (struct tidings_text){type, strlen(type)});
    end(to, &out);
}

void message_missed(struct buf *to)
{
    struct json_out out = begin(to, "missed", 0);
    end(to, &out);
}

void message_unread(struct buf *to, uint64_t unread)
{
    struct json_out out = begin(to, "unread", 0);
    put_u64(&out, "notifications", unread);
    end(to, &out);
}
