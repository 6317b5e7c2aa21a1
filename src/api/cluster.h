/* SPDX-License-Identifier: MIT */
/* What is told of a cluster. On the local engine: that it is that. */
#ifndef API_CLUSTER_H
#define API_CLUSTER_H

#include "base/buf.h"
#include "base/json_out.h"
#include "tidings.h"

/* Members of the status. */
void put_cluster(struct json_out *out, struct tidings *tidings);

/* Of those, who goes through events, as the command tells it, too. */
void put_consumers(struct json_out *out, const struct tidings_cluster *cluster);

/* What servers recount by themselves: a member of it, and of what the command tells. */
void put_rounds(struct json_out *out, const struct tidings_cluster_rounds *rounds);

/* Whether what holds the data can be used. */
bool cluster_is_usable(struct tidings *tidings);

void cluster_metrics(struct tidings *tidings, struct buf *to);

#endif
