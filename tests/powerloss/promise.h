/* SPDX-License-Identifier: MIT */
/*
 * What has been promised at a point of a trace: which changes were asked for, which were acknowledged, and
 * which of these must survive the loss of power. With `durability = commit` that is all that were
 * acknowledged; with `second` all that were when the last sync of the log began that has returned, and
 * no change may wait longer for one than the window.
 */
#ifndef TIDINGS_TESTS_PROMISE_H
#define TIDINGS_TESTS_PROMISE_H

#include "shim/shim.h"
#include "support/script.h"

struct promise {
    const struct script *script;
    bool each_second;
    size_t submitted;    /* so many of the script's changes */
    size_t acknowledged; /* likewise, and so on */
    size_t synced;       /* acknowledged when the last sync of the log began that is over */
    uint64_t log;        /* inode of the segment that is written */
    uint64_t sync;       /* the record in which the last sync of the log began ... */
    size_t sync_covers;  /* ... and what had been acknowledged */
    int64_t now_ms;
    int64_t longest_ms; /* that an acknowledged change has waited for a sync, as far as was seen */
    size_t log_syncs;
    int64_t *acknowledged_ms; /* by change; 0: not yet, or nothing was changed */
    bool *ends;               /* by number of changes: a batch ended there */
};

void promise_init(struct promise *promise, const struct script *script, bool each_second,
                  size_t from);
void promise_release(struct promise *promise);

void promise_feed(struct promise *promise, uint64_t number, const struct trace_record *record,
                  const char *path);

/* So many changes at least must be there, if the machine fails, or only the process. */
size_t promise_least(const struct promise *promise, bool machine);

/* Whether no change has waited too long; says so if one has. */
bool promise_kept(const struct promise *promise);

#endif
