/* SPDX-License-Identifier: MIT */
/* What is told of a directory that others follow, or that follows another. */
#ifndef API_REPLICA_H
#define API_REPLICA_H

#include "base/buf.h"
#include "base/json_out.h"
#include "tidings.h"

/* A member of the status; null where there is nothing to tell. */
void put_replica(struct json_out *out, struct tidings *tidings);

/* NULL, or why a follower is not to be asked: it has never had all, or does not go on by itself. */
const char *replica_trouble(struct tidings *tidings);

void replica_metrics(struct tidings *tidings, struct buf *to);

#endif
