/* SPDX-License-Identifier: MIT */
/*
 * Export and import: a random world, exported now and then and imported into an engine of its own. That one must answer every
 * question as the model does, be in order, and export the same, byte for byte. TIDINGS_TEST_INTO names the
 * engine to import into; without it is the one that the world is in.
 */
#ifndef TIDINGS_TESTS_FACTS_H
#define TIDINGS_TESTS_FACTS_H

#include "replay.h"

/* The outcome is in the recording; false if it failed. */
bool facts_hold(struct replay *replay, size_t users, size_t ops, size_t times);

#endif
