/* SPDX-License-Identifier: MIT */
/* Directories that follow another one, in the same process. */
#ifndef TESTS_SUPPORT_REPLICA_H
#define TESTS_SUPPORT_REPLICA_H

#include "tidings.h"

enum { REPLICA_ADDRESS_BYTES = 64 };

/* Where the engine can be followed: tidings://127.0.0.1:PORT. */
void replica_address(struct tidings *engine, char address[REPLICA_ADDRESS_BYTES]);

/* Waits until the follower has all that the other one has; false, with why in `why`, if it disagrees, says that it does not go
 * on, or half a minute is over. */
bool replica_await(struct tidings *followed, struct tidings *follower, char why[256]);

/* All facts of an engine, from malloc; NULL if it failed. */
char *replica_export(struct tidings *engine, size_t *n);

#endif
