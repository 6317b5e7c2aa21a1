/* SPDX-License-Identifier: MIT */
/*
 * An event in the words of the documents that the tables follow (docs/EVENTS.md, "Other words"): REACTION_CREATED on a CONTENT,
 * FollowCreated of two users. The same payload is in yl_outbox_event and, as the member `yl`, in every event as JSON.
 */
#ifndef DOMAIN_EVENT_YL_H
#define DOMAIN_EVENT_YL_H

#include "base/json_out.h"
#include "tidings.h"

enum { EVENT_YL_TYPE_MAX = 16, EVENT_YL_PAYLOAD_MAX = 512 };

/* CONTENT, ACTIVITY and COMMENT; LIKE, FAV and DOWNVOTE; VISIBLE, HIDDEN and DELETED. Static; NULL: there is no such. */
const char *event_yl_content(enum tidings_post_kind kind);
const char *event_yl_reaction(enum tidings_reaction reaction);
const char *event_yl_status(enum tidings_comment_status status);
#define EVENT_YL_COMMENT "COMMENT"

/* "REACTION_CREATED"; static. NULL: these documents have no word for it, or the kind of its post is not known. */
const char *event_yl_type(const struct tidings_event *event);

/* The members of the payload, within an object that the caller has begun; only of an event that has a type. */
void event_yl_members(struct json_out *out, const struct tidings_event *event);

#endif
