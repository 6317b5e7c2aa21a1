/* SPDX-License-Identifier: MIT */
/*
 * Keeps the old system's keys in step with Tidings, for a share of the users, so that the old application can go on reading them:
 * docs/decisions/0033-bridge.md.
 */
#ifndef LEGACY_BRIDGE_H
#define LEGACY_BRIDGE_H

#include "legacy/old.h"
#include "tidings.h"

/* Which of the old system's schemes are kept, as bits. */
enum { SCHEME_1 = 1, SCHEME_2 = 2 };

/* All of it is the caller's. */
struct bridge_options {
    struct tidings *tidings;
    const struct tidings_options *how; /* as it was opened */
    struct old *old;
    uint32_t share; /* in millionths */
    unsigned schemes;
    bool refill;         /* fill everybody's keys anew, whatever is there */
    const char *metrics; /* a file that is written once a second; NULL: none */
    bool (*stopped)(void);
    void (*say)(const char *line);
};

/* Until it is stopped; false, after it was said: memory is short, or the old Redis does not let it in from the beginning, or cannot be trusted. Other
 * failures of either side are said, waited for and tried again. */
bool bridge_run(const struct bridge_options *options);

#endif
