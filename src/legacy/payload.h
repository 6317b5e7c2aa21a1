/* SPDX-License-Identifier: MIT */
/* What an event of another system's outbox says: JSON that may be anything. */
#ifndef LEGACY_PAYLOAD_H
#define LEGACY_PAYLOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"

/*
 * Who follows whom: an object with from_user_id and to_user_id, or fromUserId and toUserId, as numbers or as digits in a text, which
 * is how ids are written for browsers. False, and nothing is set: it does not say so, or they cannot be users.
 */
bool payload_pair(struct bytes payload, uint64_t *from, uint64_t *to);

#endif
