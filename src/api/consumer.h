/* SPDX-License-Identifier: MIT */
/* What is told of those who go through the events for the outside (src/consume). */
#ifndef API_CONSUMER_H
#define API_CONSUMER_H

#include "base/buf.h"
#include "base/json_out.h"
#include "tidings.h"

/* Of an answer to WEBHOOKS: a member of the status; null if they could not be asked for. */
void put_consumers_status(struct json_out *out, const struct tidings_answer *answer);

void consumer_metrics(const struct tidings_answer *answer, struct buf *to);

#endif
