/* SPDX-License-Identifier: MIT */
/* Who tells Kafka: one server at a time (consumer.h). relay.c tells; relay_rows.c has the dead letters. */
#ifndef CLUSTER_RELAY_H
#define CLUSTER_RELAY_H

#include "engine/cluster/cluster.h"

/* The consumer of a relay. */
struct relay *relay_of(struct consumer *consumer);

/* Those dead letters that are to be told after all. */
enum sql_outcome relay_read_again(struct relay *relay);

/* What was read is settled: told, or a dead letter. For consumer_settle. */
enum sql_outcome relay_move(struct consumer *consumer, bool *moved);
enum sql_outcome relay_settle_again(struct consumer *consumer, bool *moved);

#endif
