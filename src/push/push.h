/* SPDX-License-Identifier: MIT */
/*
 * Tells webhooks of tagged events, on a thread of its own: one signed call an event and webhook, in
 * the order of the events, at least once. Of several servers, the one that makes changes calls.
 *
 *     rules.c      where webhooks may lead            address.c   which addresses are public
 *     message.c    body, signature, backoff           call.c      one call, with libcurl
 *     endpoint.c   one webhook: which event is next, what became of it, the report to the engine
 *     push.c       the thread: which webhooks there are, and libcurl's loop
 *
 * It knows the engine by its operations alone: EVENTS and WEBHOOKS to read, WEBHOOK_REPORT to write.
 */
#ifndef PUSH_PUSH_H
#define PUSH_PUSH_H

#include "push/rules.h"
#include "tidings.h"

struct push_config {
    struct tidings *tidings;
    const struct push_rules *rules;
    const char *ca_file; /* certificates to trust instead of the system's; NULL: none */
    uint32_t page;       /* events read in one go */
    uint64_t timeout_ms; /* of a whole call */
    uint64_t backoff_first_ms;
    uint64_t backoff_most_ms;
    uint64_t give_up_ms; /* an event that failed for so long is given up, ... */
    uint64_t kept_ms;    /* ... and one that is older than the log keeps */
};

struct push;

/* Starts the thread. What the config points to must outlive it. NULL if that cannot be done. */
struct push *push_start(const struct push_config *config);

/* Ends calls under way and the thread, and frees everything. Before the engine closes. NULL is fine. */
void push_stop(struct push *push);

#endif
