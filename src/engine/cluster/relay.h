/* SPDX-License-Identifier: MIT */
/*
 * Who tells Kafka: one server at a time, by a lease with a fence. relay.c tells; relay_rows.c has the lease, how far it has come,
 * and the dead letters.
 */
#ifndef CLUSTER_RELAY_H
#define CLUSTER_RELAY_H

#include "engine/cluster/cluster.h"

/* Of a lease that nobody renews another server takes it so long afterwards; it is renewed so often. */
enum { RELAY_LEASE_MS = 6000, RELAY_RENEW_MS = 1000 };

/* The lease is this server's, or becomes it; false: it is another's. Reads how far the telling has come. */
enum sql_outcome relay_take(struct relay *relay, bool *ours);
/* Still; with what is wrong with Kafka, for those who look. False also if somebody has moved the position. */
enum sql_outcome relay_keep(struct relay *relay, bool *kept);
/* Whoever wants it may have it at once. */
void relay_let_go(struct relay *relay);

/* The events behind the position, in order; or those dead letters that are to be told after all. */
enum sql_outcome relay_read(struct relay *relay);
enum sql_outcome relay_read_again(struct relay *relay);

/*
 * What was read is settled: told, or a dead letter. The position moves behind it, unless the fence is another's or somebody has
 * moved the position meanwhile: then nothing is changed, *moved is false, and whoever goes on takes the lease anew.
 */
enum sql_outcome relay_move(struct relay *relay, bool *moved);
enum sql_outcome relay_settle_again(struct relay *relay, bool *moved);

#endif
