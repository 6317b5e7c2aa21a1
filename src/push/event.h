/* SPDX-License-Identifier: MIT */
/* An event as JSON, the same for receivers and for those who read the log. */
#ifndef PUSH_EVENT_H
#define PUSH_EVENT_H

#include "base/json_out.h"
#include "tidings.h"

/* Its members, within an object that the caller has begun. */
void event_members(struct json_out *out, const struct tidings_event *event);

#endif
