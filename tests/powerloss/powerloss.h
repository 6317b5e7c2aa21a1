/* SPDX-License-Identifier: MIT */
#ifndef TIDINGS_TESTS_POWERLOSS_H
#define TIDINGS_TESTS_POWERLOSS_H

#include "shim/shim.h"
#include "support/script.h"

/* Marks in the trace: which change (the first number), and what became of it (the second); or the time, in
 * milliseconds by a clock that nobody sets. */
enum { MARK_SUBMITTED, MARK_ACKNOWLEDGED, MARK_TIME };

/* Makes the script's changes from `from` on, under the shim; ends the process. With `each_second` it is
 * durability = second, and part of it takes long enough for the log to be synced by the clock. */
_Noreturn void workload(const struct script *script, const char *dir, const char *trace,
                        size_t from, bool each_second);

/* What must be there, and what may be. Newest ids. */
struct expectation {
    size_t least;     /* so many of the script's changes at least ... */
    size_t most;      /* ... and at most */
    size_t model;     /* where the model stands: not behind `least` */
    const bool *ends; /* by number of changes: a batch ended there */
    bool same_boot;
};

/*
 * Opens the data in `dir` as after a restart of the machine, and holds all of it against the model. Goes on with the script for a while. Ends the process: 0 if all was well,
 * otherwise the recording's outcome says what was not.
 */
_Noreturn void check(const struct script *script, struct run *run, const char *dir,
                     const struct expectation *expectation);

/* The settings of the script, with files so small that logs are rolled and images are made. */
void use_small_files(struct tidings_settings *settings);

#endif
