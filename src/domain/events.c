/* SPDX-License-Identifier: MIT */
/* The words for events. */
#include <inttypes.h>

#include "tidings.h"

static const struct {
    const char *name;
    const char *action;
    const char *target;
} words[] = {
#define X(type, name, action, target) [TIDINGS_EVENT_##type] = {name, action, target},
    TIDINGS_EVENTS(X)
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
