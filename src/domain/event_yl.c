/* SPDX-License-Identifier: MIT */
#include "domain/event_yl.h"

/* type, event_type, action; NULL: the reaction is the action, or there is none */
#define YL_EVENTS(X)                                           \
    X(FOLLOW_CREATED, "FollowCreated", NULL)                   \
    X(FOLLOW_CANCELED, "FollowCanceled", NULL)                 \
    X(REACTION_CREATED, "REACTION_CREATED", NULL)              \
    X(REACTION_DELETED, "REACTION_DELETED", NULL)              \
    X(VOTE_CREATED, "REACTION_CREATED", NULL)                  \
    X(VOTE_DELETED, "REACTION_DELETED", NULL)                  \
    X(COMMENT_CREATED, "COMMENT_CREATED", "COMMENT_CREATE")    \
    X(COMMENT_HIDDEN, "COMMENT_HIDDEN", "COMMENT_HIDE")        \
    X(COMMENT_RESTORED, "COMMENT_RESTORED", "COMMENT_RESTORE") \
    X(COMMENT_DELETED, "COMMENT_DELETED", "COMMENT_DELETE")

static const struct {
    const char *type, *action;
} words[] = {
#define X(of, type, action) [TIDINGS_EVENT_##of] = {type, action},
    YL_EVENTS(X)
#undef X
};

const char *event_yl_content(enum tidings_post_kind kind)
{
    switch (kind) {
    case TIDINGS_NOTE:
    case TIDINGS_STORY:
        return "CONTENT";
    case TIDINGS_ACTIVITY:
        return "ACTIVITY";
    }
    return NULL;
}

const char *event_yl_reaction(enum tidings_reaction reaction)
{
    switch (reaction) {
    case TIDINGS_LIKE:
        return "LIKE";
    case TIDINGS_FAV:
        return "FAV";
    case TIDINGS_DOWNVOTE:
        return "DOWNVOTE";
    }
    return NULL;
}

const char *event_yl_status(enum tidings_comment_status status)
{
    switch (status) {
    case TIDINGS_COMMENT_VISIBLE:
        return "VISIBLE";
    case TIDINGS_COMMENT_HIDDEN:
        return "HIDDEN";
    case TIDINGS_COMMENT_DELETED:
        return "DELETED";
    }
    return NULL;
}

static bool is_follow(const struct tidings_event *event)
{
    return event->type == TIDINGS_EVENT_FOLLOW_CREATED ||
           event->type == TIDINGS_EVENT_FOLLOW_CANCELED;
}

static bool is_vote(const struct tidings_event *event)
{
    return event->type == TIDINGS_EVENT_VOTE_CREATED || event->type == TIDINGS_EVENT_VOTE_DELETED;
}

static const char *action_of(const struct tidings_event *event)
{
    const char *action = words[event->type].action;
    return action ? action : event_yl_reaction(event->reaction);
}

const char *event_yl_type(const struct tidings_event *event)
{
    const char *type =
        (size_t)event->type < sizeof words / sizeof *words ? words[event->type].type : NULL;
    if (!type || is_follow(event))
        return type;
    bool has_target = is_vote(event) || event_yl_content(event->post_kind);
    return has_target && action_of(event) ? type : NULL;
}

static void put_number(struct json_out *out, const char *key, uint64_t value)
{
    json_out_key(out, key);
    json_out_u64(out, value);
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

static void put_word(struct json_out *out, const char *key, const char *word)
{
    json_out_key(out, key);
    json_out_text(out, word);
}

/* A comment's event is about the count of its post, so the post is the target. */
static void put_target(struct json_out *out, const struct tidings_event *event)
{
    bool of_comment = words[event->type].action != NULL;
    put_word(out, "target_type",
             is_vote(event) ? EVENT_YL_COMMENT : event_yl_content(event->post_kind));
    put_number(out, "target_id", of_comment ? event->post_id : event->target_id);
    put_word(out, "action", action_of(event));
    if (!of_comment)
        return;
    put_number(out, "comment_id", event->target_id);
    put_id(out, "parent_id", event->parent_id);
}

void event_yl_members(struct json_out *out, const struct tidings_event *event)
{
    put_word(out, "event_type", words[event->type].type);
    put_number(out, "event_id", event->event_id);
    json_out_key(out, "happened_at");
    json_out_i64(out, event->happened_at);
    put_id(out, "actor_user_id", event->actor_user_id);
    if (is_follow(event)) {
        put_number(out, "from_user_id", event->actor_user_id);
        put_number(out, "to_user_id", event->target_id);
    } else {
        put_target(out, event);
    }
    json_out_key(out, "delta");
    json_out_i64(out, event->delta);
}
