/* SPDX-License-Identifier: MIT */
/*
 * Targets of events as documents: what the admin API answers, and what `tidings cluster` makes of the same answers when it has
 * them over the servers' own connection. In the API a consumer is named by its word, a webhook as webhook:NAME.
 */
#ifndef API_TARGETS_H
#define API_TARGETS_H

#include "base/json_out.h"
#include "tidings.h"

enum { TARGET_NAME_BYTES = 40 };

/* The name of its row, out of that of the API; false: it is none. */
bool target_row_name(const char *name, size_t n, char row[TARGET_NAME_BYTES]);

void targets_put(struct json_out *out, const struct tidings_answer *answer);
void target_put(struct json_out *out, const struct tidings_answer *answer);
/* Metrics of all targets, of an answer to WEBHOOKS. */
struct buf;
void target_metrics(const struct tidings_answer *answer, struct buf *to);

void letters_put(struct json_out *out, const struct tidings_answer *answer);

#endif
