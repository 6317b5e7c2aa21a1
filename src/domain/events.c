/* SPDX-License-Identifier: MIT */
/* The words for events, and sets of them. */
#include "domain/events.h"

#include <inttypes.h>
#include <string.h>

static const struct {
    const char *name;
    const char *action;
    const char *target;
} words[] = {
#define X(type, name, action, target) [TIDINGS_EVENT_##type] = {name, action, target},
    TIDINGS_EVENTS(X) TIDINGS_NEWS(X)
#undef X
};

static bool is_known(enum tidings_event_type type)
{
    return (size_t)type < sizeof words / sizeof *words;
}

const char *tidings_event_name(enum tidings_event_type type)
{
    return is_known(type) ? words[type].name : NULL;
}

const char *tidings_event_action(enum tidings_event_type type)
{
    return is_known(type) ? words[type].action : NULL;
}

const char *tidings_event_target(enum tidings_event_type type)
{
    return is_known(type) ? words[type].target : NULL;
}

bool event_is_kept(enum tidings_event_type type, const struct tidings_settings *settings)
{
    static const bool only_told[] = {
#define X(type, name, action, target) [TIDINGS_EVENT_##type] = true,
        TIDINGS_NEWS(X)
#undef X
    };
    switch (type) {
    case TIDINGS_EVENT_POST_READ:
    case TIDINGS_EVENT_POST_UNREAD:
    case TIDINGS_EVENT_INBOX_READ:
        return settings->read_events;
    default:
        return !only_told[type];
    }
}

/* type, what the tag begins with, the event's field that the tag names */
#define TAGS(X) X(SCENE_PUBLISHED, "story", post_id)

bool tidings_event_tag(const struct tidings_event *event, char tag[TIDINGS_TAG_MAX])
{
#define X(of, kind, field)                                                 \
    if (event->type == TIDINGS_EVENT_##of) {                               \
        snprintf(tag, TIDINGS_TAG_MAX, "%s:%" PRIu64, kind, event->field); \
        return true;                                                       \
    }
    TAGS(X)
#undef X
    return false;
}

#define BIT(type) (UINT64_C(1) << TIDINGS_EVENT_##type)

#define X(type, name, action, target) | BIT(type)
const uint64_t event_bits_all = 0 TIDINGS_EVENTS(X);
#undef X

bool event_is_sound(const struct tidings_event *event)
{
    return (unsigned)event->type < 64 && event_bits_all >> event->type & 1 &&
           (unsigned)event->reaction <= TIDINGS_DOWNVOTE;
}

uint64_t tidings_event_bits(const char *name, size_t n)
{
    uint64_t bits = 0;
#define X(type, word, action, target)                   \
    if (n == sizeof word - 1 && !memcmp(name, word, n)) \
        bits |= BIT(type);
    TIDINGS_EVENTS(X)
#undef X
    return bits;
}

uint64_t tidings_webhook_bits(uint64_t events)
{
#define X(of, kind, field) | BIT(of)
    const uint64_t with_a_tag = 0 TAGS(X);
#undef X
    return events ? events : with_a_tag;
}

bool tidings_webhook_wants(uint64_t events, const struct tidings_event *event)
{
    return event_is_sound(event) && tidings_webhook_bits(events) >> event->type & 1;
}
