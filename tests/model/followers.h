/* SPDX-License-Identifier: MIT */
/*
 * A follower beside a random world: every question is asked of the follower, as of the same position, and answered as the model
 * says; whoever watches hears the same there, in the same order. Now and then it is closed and opened again, or filled anew. At
 * two thirds of the steps it is promoted, and the world goes on there.
 */
#ifndef TIDINGS_TESTS_FOLLOWERS_H
#define TIDINGS_TESTS_FOLLOWERS_H

#include "replay.h"

/* The follower is closed or filled anew so many times. The outcome is in the recording; false if it failed. */
bool followers_hold(struct replay *replay, size_t users, size_t ops, size_t times);

#endif
