/* SPDX-License-Identifier: MIT */
/*
 * One target and how far it has been told. A page of events is told, then the position moves behind it; it is written down ten times
 * a second at most. So after a crash some events are told again, and none is left out.
 *
 * Who is told counts for nothing here: a server that has lost its turn without knowing tells some events again that the next one
 * tells, too; both tell without a gap from a position behind which all was told. Its report is refused, or moves the position
 * to where everything was told.
 */
#ifndef CONSUME_CONSUMER_H
#define CONSUME_CONSUMER_H

#include <pthread.h>
#include <stdatomic.h>

#include "tidings.h"

enum { CONSUMER_PAGE = 4000, CONSUMER_TROUBLE_MAX = 200 };

struct consumer;

/* Events to be told, in order. */
struct consumer_page {
    const struct tidings_event *events;
    size_t n;
    size_t done;      /* by the target: so many from the first on are settled */
    uint64_t refused; /* how many of these nobody will ever take */
};

/* What a kind of target does. All on the consumer's thread. */
struct consumer_target {
    const char *name; /* of its row: a dot and a word */
    /* Tells what it can. False: not all of it is settled, and consume_note() was told why, or it is time to stop. While it waits
     * it asks consume_goes_on(). */
    bool (*tell)(void *ctx, struct consumer *consumer, struct consumer_page *page);
    /* It is another server's turn, or it is time to stop: connections may go. */
    void (*rest)(void *ctx);
};

/* NULL if memory is short, or there can be no thread. */
struct consumer *consume_target_start(struct tidings *tidings, const struct consumer_target *target,
                                      void *ctx, uint32_t page);
void consume_target_stop(struct consumer *consumer);

/* For the target: whether to go on with the page. It has not if this server's turn is over, or somebody has sent it back. */
bool consume_goes_on(struct consumer *consumer);

/* For the target: why it does not get on; "": it does. */
void consume_note(struct consumer *consumer, const char *trouble);

/* For the target: an event was refused. */
void consume_refused(struct consumer *consumer, uint64_t event_id, const char *reason);

#endif
