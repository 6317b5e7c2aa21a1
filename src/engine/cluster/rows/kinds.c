/* SPDX-License-Identifier: MIT */
#include "engine/cluster/rows/kinds.h"

const struct kind_form kind_forms[KINDS] = {
    [KIND_USER] = {"user",
                   {"user_id"},
                   {"version", "following", "liked_posts", "faved_posts", "follow_full_at",
                    "react_full_at", "comment_full_at", "publish_full_at", "history_cleared",
                    "subscriptions", "positions", "reading_cleared", "quiet"}},
    [KIND_AUTHOR] = {"author", {"author_id"}, {"posts", "deleted", "last_id", "remade"}},
    [KIND_STORY] = {"story", {"story_id"}, {"scenes", "deleted", "last_id", "remade"}},
    [KIND_POST] = {"post",
                   {"post_id"},
                   {"author_id", "number", "kind", "edited", "removed", "position"},
                   {{"title", TEXT_UTF8}, {"excerpt", TEXT_UTF8}, {"extra", TEXT_UTF8}}},
    [KIND_SCENE] = {"scene",
                    {"scene_id"},
                    {"story_id", "number", "messages", "edited", "removed", "position"},
                    {{"title", TEXT_UTF8}}},
    [KIND_COMMENT] = {"comment",
                      {"comment_id"},
                      {"post_id", "parent_id", "user_id", "status", "moderated", "likes", "downs",
                       "replies", "listed", "list_id", "heat"}},
    [KIND_STATS] = {"content_stats", {"post_id"}, {"kind", "likes", "favs", "comments", "heat"}},
    [KIND_COUNTER] = {"user_counter",
                      {"user_id"},
                      {"followers", "posts", "likes_received", "favs_received"}},
    [KIND_PROFILE] = {"profile",
                      {"user_id"},
                      {0},
                      {{"name", TEXT_UTF8}, {"avatar", TEXT_UTF8}, {"extra", TEXT_UTF8}}},
    [KIND_NAME] = {"profile_name", {"user_id"}, {0}, {{"folded", TEXT_BYTES}}},
    [KIND_BODY] = {"post_body", {"post_id"}, {0}, {{"body", TEXT_UTF8}}},
    [KIND_POST_KEY] = {"post_key", {"post_id"}, {0}, {{"name", TEXT_BYTES}}},
    [KIND_KEY] = {"imported_key",
                  {"kind", "hash_high", "hash_low"},
                  {"id"},
                  {{"name", TEXT_BYTES}}},
    [KIND_FOLLOWING] = {.table = "following",
                        .keys = {"from_user_id", "to_user_id"},
                        .numbers = {"rel_status", "rank_id"},
                        .texts = {{"pair", TEXT_BYTES}},
                        .range_keys = 1,
                        .has_range = true,
                        .range_only = "rel_status > 0"},
    [KIND_SUBSCRIPTION] = {.table = "subscription",
                           .keys = {"user_id", "story_id"},
                           .numbers = {"status", "rank_id"},
                           .texts = {{"pair", TEXT_BYTES}},
                           .range_keys = 1,
                           .has_range = true,
                           .range_only = "status > 0"},
    [KIND_FOLLOWER] = {"follower", {"to_user_id", "rank_id", "from_user_id"}},
    [KIND_SUBSCRIBER] = {"subscriber", {"story_id", "rank_id", "user_id"}},
    [KIND_DELETION] = {"post_deletion", {"author_id", "ordinal"}, {"number"}},
    [KIND_SCENE_DELETION] = {"scene_deletion", {"story_id", "ordinal"}, {"number"}},
    [KIND_READ_MAP] = {.table = "read_map",
                       .keys = {"user_id", "author_id", "chunk"},
                       .texts = {{"map", TEXT_BYTES}},
                       .range_keys = 2,
                       .has_range = true},
    [KIND_SCENE_READ_MAP] = {.table = "scene_read_map",
                             .keys = {"user_id", "story_id", "chunk"},
                             .texts = {{"map", TEXT_BYTES}},
                             .range_keys = 2,
                             .has_range = true},
    [KIND_HISTORY] = {"history", {"user_id", "stamp", "post_id"}},
    [KIND_HISTORY_CLEARED] = {"history_cleared", {"user_id"}},
    [KIND_STORY_CLOSED] = {"story_closed", {"story_id"}},
    [KIND_REACTION] = {"reaction", {"user_id", "target_id", "reaction"}, {"target_kind", "stamp"}},
    [KIND_COMMENT_BODY] = {"comment_body", {"comment_id"}, {0}, {{"body", TEXT_UTF8}}},
    [KIND_MESSAGES] = {"scene_messages", {"scene_id"}, {0}, {{"messages", TEXT_BYTES}}},
    [KIND_MESSAGE_ID] = {.table = "scene_message_id",
                         .keys = {"scene_id", "message_id"},
                         .range_keys = 1,
                         .has_range = true},
    [KIND_READING] = {"reading_position",
                      {"user_id", "story_id"},
                      {"read_at", "scene_id", "message_id", "entered_at", "erased_at",
                       "first_version", "changed_version", "shown_at"}},
    [KIND_WEBHOOK] = {.table = "webhook",
                      .keys = {"created"},
                      .texts = {{"name", TEXT_UTF8}, {"record", TEXT_BYTES}},
                      .has_range = true},
    [KIND_ONCE] = {"idempotency",
                   {"user_id", "key_high", "key_low"},
                   {"stamp"},
                   {{"record", TEXT_BYTES}}},
    [KIND_POSITION] = {"news_position", {"id"}, {"position"}},
    [KIND_EPOCH] = {"memory_epoch", {"id"}, {"epoch"}},
};

unsigned kind_keys(enum kind kind)
{
    unsigned n = 0;
    while (n < ROW_KEYS && kind_forms[kind].keys[n])
        n++;
    return n;
}

unsigned kind_numbers(enum kind kind)
{
    unsigned n = 0;
    while (n < ROW_NUMBERS && kind_forms[kind].numbers[n])
        n++;
    return n;
}

unsigned kind_texts(enum kind kind)
{
    unsigned n = 0;
    while (n < ROW_TEXTS && kind_forms[kind].texts[n].name)
        n++;
    return n;
}

void kind_put_columns(struct buf *text, enum kind kind)
{
    const struct kind_form *form = &kind_forms[kind];
    const char *comma = "";
    for (unsigned i = 0; i < kind_keys(kind); i++, comma = ",")
        buf_printf(text, "%s%s", comma, form->keys[i]);
    for (unsigned i = 0; i < kind_numbers(kind); i++, comma = ",")
        buf_printf(text, "%s%s", comma, form->numbers[i]);
    for (unsigned i = 0; i < kind_texts(kind); i++, comma = ",")
        buf_printf(text, "%s%s", comma, form->texts[i].name);
}

static bool is_made(enum kind kind)
{
    switch (kind) {
    case KIND_USER:
    case KIND_AUTHOR:
    case KIND_STORY:
    case KIND_STATS:
    case KIND_COUNTER:
        return true;
    default:
        return false;
    }
}

void kind_put_lock(struct buf *text, enum kind kind, uint64_t key)
{
    const struct kind_form *form = &kind_forms[kind];
    if (!is_made(kind)) {
        buf_printf(text, "SELECT %s FROM %s WHERE %s=%llu FOR UPDATE", form->keys[0], form->table,
                   form->keys[0], (unsigned long long)key);
        return;
    }
    buf_printf(text, "INSERT INTO %s (", form->table);
    kind_put_columns(text, kind);
    buf_printf(text, ") VALUES (%llu", (unsigned long long)key);
    for (unsigned i = 0; i < kind_numbers(kind); i++)
        buf_literal(text, ",0");
    buf_printf(text, ") ON DUPLICATE KEY UPDATE %s=%s", form->keys[0], form->keys[0]);
}
