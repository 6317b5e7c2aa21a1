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

/* A target that is made anew. The mechanism clears it when that begins, and keeps it while the steps go on. */
struct consumer_fill {
    uint64_t after; /* by the target: where the next step goes on; 0: the beginning */
    uint64_t step;  /* by the target: what else it has to know */
    uint64_t done;  /* by the target: users so far, for the log */
};

enum consumer_filled {
    CONSUMER_FILL_FAILED, /* consume_note() was told why, or it is time to stop; the step is tried again */
    CONSUMER_FILL_MORE, /* events are told, if there are any; then comes the next step */
    CONSUMER_FILL_DONE,
};

/* What a step of a target that reads the events by itself has come to. */
struct consumer_work {
    uint64_t generation; /* in: of the row; another one than before: begin anew */
    uint64_t position;   /* out: all events up to it are settled */
    uint64_t told;       /* out: events that were settled in this step */
    int64_t
        waiting_since; /* out: of the first event that is not settled, or of what else is to be done; 0: nothing is */
    bool more; /* out: there is more to be done now */
};

/* What a kind of target does. All on the consumer's thread. */
struct consumer_target {
    const char *name; /* of its row: a dot and a word */
    /*
     * Makes the target anew out of what the engine answers, a step at a time; each takes no longer than a second or so. NULL: the target has nothing but
     * what it is told. Called when the row is new, when events were removed before they were told, and when somebody wishes it
     * (consume_rebuild, or CONSUMER_SET with `rebuild`). Before the first step the position is moved to the newest event, so
     * what the engine answers in a step is never older than consume_position(). Between steps events behind it are told: what
     * they say may be in what was filled already. After a crash, or on another server, it begins from the start.
     */
    enum consumer_filled (*fill)(void *ctx, struct consumer *consumer, struct consumer_fill *fill);
    /*
     * Compares what stands at the target with what the engine answers, and mends it, a step at a time, as `fill`; `done`
     * of struct consumer_fill is users or rows looked at. NULL: it cannot. Called when somebody wishes it (TARGET_WISH), and not while
     * the target is made anew.
     */
    enum consumer_filled (*reconcile)(void *ctx, struct consumer *consumer,
                                      struct consumer_fill *fill);
    /* Looks whether the target still has what it was told, once a second at most and before anything else of a term; NULL: it does not. It may
     * call consume_rebuild or consume_go_back. False: it failed, and consume_note() was told why. */
    bool (*look)(void *ctx, struct consumer *consumer, bool first);
    /* NULL, or in place of tell(): the target keeps its position where it writes, and the row has a copy for those who look. False: as for
     * tell(). Called once a second at least while it is this server's turn. */
    bool (*step)(void *ctx, struct consumer *consumer, struct consumer_work *work);
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

/* For the target: up to which event it was told. */
uint64_t consume_position(const struct consumer *consumer);

/* For the target: whether it is being made anew, or is to be. */
bool consume_is_filling(const struct consumer *consumer);

/* For the target: what it has is not to be trusted, or everything behind that position is lost. `why` is for the log. False: it could not
 * be written down; try again. */
bool consume_rebuild(struct consumer *consumer, const char *why);
bool consume_go_back(struct consumer *consumer, uint64_t position, const char *why);

/* For the target: nobody will ever take an event. It becomes a dead letter, at once and before the target goes past it. False: that could not
 * be written down: the target must stop before the event. */
bool consume_refused(struct consumer *consumer, uint64_t event_id, const char *reason);

#endif
