/* SPDX-License-Identifier: MIT */
/*
 * A random world on several servers whose log is in MySQL, in one process: changes go to whoever is the writer, questions to any of
 * them, drawn at random, and each is answered as the model says. Servers are closed and opened again, so that another takes over.
 * Needs tests/support/with-mariadb.
 */
#ifndef TIDINGS_TESTS_SERVERS_H
#define TIDINGS_TESTS_SERVERS_H

#include "replay.h"

/* The outcome is in the recording; false if it failed. */
bool servers_hold(struct replay *replay, size_t users, size_t ops, size_t servers);

#endif
