/* SPDX-License-Identifier: MIT */
/*
 * Restoring to a moment: a random run from whose data directory and backups, while it goes on and after its
 * end, others are made as of random moments. Then the same steps again: at each of these moments the run goes
 * on with the directory restored to it, which must hold what the model says, all of it and no more.
 */
#ifndef TIDINGS_TESTS_MOMENTS_H
#define TIDINGS_TESTS_MOMENTS_H

#include "replay.h"

enum { MOMENTS_MOST = 1000 };

/* The outcome is in the recording; false if it failed. */
bool moments_hold(struct replay *replay, size_t users, size_t ops, size_t moments);

#endif
