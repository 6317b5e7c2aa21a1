/* SPDX-License-Identifier: MIT */
/* A small lively community for `serve --dev`. */
#ifndef CLI_DEMO_H
#define CLI_DEMO_H

#include "tidings.h"

enum { DEMO_READER = 1 };

/* Fills an empty engine; does nothing if user DEMO_READER is known, or if another server of the log makes changes: that one
 * fills. False, with a line of log, if it failed. */
bool demo_fill(struct tidings *tidings);

#endif
