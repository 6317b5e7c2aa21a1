/* SPDX-License-Identifier: MIT */
/* Kafka, as a target: docs/EVENTS.md says what a message is. */
#ifndef CONSUME_KAFKA_TARGET_H
#define CONSUME_KAFKA_TARGET_H

#include "consume/consumer.h"
#include "kafka/kafka.h"

enum { KAFKA_TOPIC_MAX = 249 };

struct kafka_target;

extern const struct consumer_target kafka_target;

/* What the options point to must outlive it. NULL: `why` says what is wrong. Nobody is connected to yet. */
struct kafka_target *kafka_target_new(const struct kafka_options *options, const char *topic,
                                      unsigned partitions, char why[KAFKA_WHY_MAX]);
void kafka_target_free(struct kafka_target *target);

#endif
