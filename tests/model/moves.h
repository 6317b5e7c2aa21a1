/* SPDX-License-Identifier: MIT */
/*
 * Moving to a cluster: a random world on the local engine that goes on while it is moved, in so many rounds, some of which are interrupted and gone on with by
 * another shadow. At two thirds of the steps the engine is closed, the last round brings the rest, and the world goes on in the cluster: with its tokens, devices, events and
 * webhooks, and every answer as the model says.
 */
#ifndef TIDINGS_TESTS_MOVES_H
#define TIDINGS_TESTS_MOVES_H

#include "replay.h"

/* The outcome is in the recording; false if it failed. */
bool moves_hold(struct replay *replay, size_t users, size_t ops, size_t rounds);

#endif
