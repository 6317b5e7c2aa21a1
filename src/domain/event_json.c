/* SPDX-License-Identifier: MIT */
#include "domain/event_json.h"

#include "domain/event_yl.h"

static void put_number(struct json_out *out, const char *key, uint64_t value)
{
    json_out_key(out, key);
    json_out_u64(out, value);
}

static void put_signed(struct json_out *out, const char *key, int64_t value)
{
    json_out_key(out, key);
    json_out_i64(out, value);
}

/* null if it is 0. */
static void put_id(struct json_out *out, const char *key, uint64_t id)
{
    json_out_key(out, key);
    if (id)
        json_out_u64(out, id);
    else
        json_out_null(out);
}

/* null if it is NULL. */
static void put_word(struct json_out *out, const char *key, const char *word)
{
    json_out_key(out, key);
    if (word)
        json_out_text(out, word);
    else
        json_out_null(out);
}

void event_members(struct json_out *out, const struct tidings_event *event)
{
    static const char *const reactions[] = {
        [TIDINGS_LIKE] = "like", [TIDINGS_FAV] = "fav", [TIDINGS_DOWNVOTE] = "downvote"};
    put_number(out, "event_id", event->event_id);
    put_word(out, "type", tidings_event_name(event->type));
    put_signed(out, "happened_at", event->happened_at);
    put_id(out, "actor_user_id", event->actor_user_id);
    put_word(out, "target_type", tidings_event_target(event->type));
    put_number(out, "target_id", event->target_id);
    put_word(out, "action", tidings_event_action(event->type));
    put_signed(out, "delta", event->delta);
    put_id(out, "author_id", event->author_id);
    put_id(out, "post_id", event->post_id);
    put_word(out, "reaction", event->reaction ? reactions[event->reaction] : NULL);
    if (event_yl_type(event)) {
        json_out_key(out, "yl");
        json_out_object(out);
        event_yl_members(out, event);
        json_out_end(out);
    }
}
