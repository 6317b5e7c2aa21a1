/* SPDX-License-Identifier: MIT */
/* The inside of a target's thread. All on that thread, but what the mutex guards and `changed`. */
#ifndef CONSUME_CONSUMER_INTERNAL_H
#define CONSUME_CONSUMER_INTERNAL_H

#include "consume/consumer.h"

enum {
    CONSUMER_ACTING_USER = 1 /* an operation has somebody acting; here it does not matter who */
};

struct consumer {
    struct tidings_watcher watcher;
    struct tidings *tidings;
    const struct consumer_target *target;
    void *ctx;
    uint32_t limit;
    pthread_t thread;

    pthread_mutex_t mutex; /* guards these two */
    pthread_cond_t woken;
    bool happened;
    bool stopping;
    _Atomic bool changed; /* the row may be another than it was: somebody has sent it back */

    uint64_t term;       /* in which the row was read; 0: it is not this server's turn */
    uint64_t generation; /* of the row, and where it is */
    uint64_t stored;
    uint64_t position;      /* told up to here */
    uint64_t told, refused; /* since the last report */
    uint64_t missed;        /* events, in all, that were removed before they were told */
    bool has_missed;        /* that was read once */
    int64_t reported_ms;

    uint64_t wish;                   /* as the row has it: the target is to be made anew; 0: no */
    uint64_t filling;                /* the wish that is being fulfilled; 0: none */
    uint64_t reconcile, reconciling; /* the same of comparing */
    struct consumer_fill comparison;
    bool has_letters_again; /* some dead letters are to be told again */
    struct consumer_fill fill;
    int64_t fill_told_ms;
    int64_t looked_ms;
    bool has_looked; /* in this term */

    char trouble[CONSUMER_TROUBLE_MAX + 1];
    char told_trouble[CONSUMER_TROUBLE_MAX + 1]; /* as the row has it */
    int64_t failing_since;                       /* by the clock; 0: it gets on */
    int64_t told_trouble_ms;
    int64_t waiting_since; /* of the first event of the page */
    bool stored_waiting;   /* whether the row has a time of that */
    int backoff_ms;

    size_t n;
    struct tidings_event events[CONSUMER_PAGE];
};

/* What a report says besides where the consumer is. */
struct consumer_report {
    uint64_t rebuilt, reconciled; /* wishes that are fulfilled */
    uint64_t dead_event, settled; /* dead letters */
    const char *reason;
};

/* Whether it is time to stop. */
bool consumer_is_stopping(struct consumer *consumer);

/* ---- consumer_row.c: the row, reports, and what targets say of themselves ----------------------- */

/* The name of the row. */
struct tidings_text consumer_row_name(const struct consumer *consumer);

/* The row with the position, and with the wish that the target be made anew; no position goes forward. False if the row cannot be known now. */
bool consumer_row_set(struct consumer *consumer, uint64_t term, uint64_t position, bool rebuild);

/* Where it is; the row is made if there is none. */
bool consumer_row_read(struct consumer *consumer, uint64_t term);

/* What has become of it is written down. False if it could not be, or counts no more: then the row is read again. */
bool consumer_row_tell(struct consumer *consumer, const struct consumer_report *extra);
bool consumer_row_tell_position(struct consumer *consumer);

/* ---- consumer_wish.c: making it anew, comparing, dead letters ----------------------------------- */

/* Whether all is well so far: there is nothing to be done, or a step was done. */
bool consumer_fill_step(struct consumer *consumer);
bool consumer_compare_step(struct consumer *consumer);

/* Tells all that are to be told again, in the order of their events. False: the target does not get on. */
bool consumer_letters_tell(struct consumer *consumer);

#endif
