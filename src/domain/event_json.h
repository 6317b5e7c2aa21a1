/* SPDX-License-Identifier: MIT */
/* An event as JSON, the same for receivers, for those who read the log and for those who read the topic. */
#ifndef DOMAIN_EVENT_JSON_H
#define DOMAIN_EVENT_JSON_H

#include "base/json_out.h"
#include "tidings.h"

/* Its members, within an object that the caller has begun. */
void event_members(struct json_out *out, const struct tidings_event *event);

#endif
