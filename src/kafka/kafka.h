/* SPDX-License-Identifier: MIT */
/*
 * A producer of Kafka, for one thread at a time, that keeps messages in order: what is put is written to its partition in the order
 * of putting, without a gap, or not at all. After one message was refused nothing behind it is written, and the producer is
 * broken: whoever wants to go on makes another. Nothing here waits longer than it is told to.
 */
#ifndef KAFKA_KAFKA_H
#define KAFKA_KAFKA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

struct kafka;

struct kafka_options {
    const char *brokers; /* host:port, with commas */
    const char *sasl;    /* "plain", "scram-sha-256", "scram-sha-512"; NULL: no SASL */
    const char *user, *password;
    bool tls;            /* and the broker's certificate and name are verified */
    const char *ca_file; /* PEM of who may have signed it; NULL: whom the system trusts */
};

/* What became of a message. */
enum kafka_fate {
    KAFKA_WAITS,  /* nothing yet */
    KAFKA_TOLD,   /* all brokers that must have it do */
    KAFKA_FAILED, /* it is not known whether it was written; another producer may tell it */
    KAFKA_NEVER,  /* the broker will not take such a message, today or tomorrow */
};

enum { KAFKA_WHY_MAX = 256 };

/* NULL: `why` says what is wrong, without the password. Nobody has been connected to yet. */
struct kafka *kafka_new(const struct kafka_options *options, char why[KAFKA_WHY_MAX]);
/* What waits is forgotten, or on its way. */
void kafka_free(struct kafka *kafka);

/* The topic is there afterwards. It is made with so many partitions if it is missing. */
bool kafka_make_topic(struct kafka *kafka, const char *topic, unsigned partitions,
                      int64_t retention_ms, int timeout_ms);

/* Copies the message. `late` becomes a header: it comes behind messages that it belongs before. *fate is WAITS, or NEVER, at once, and follows what becomes of it in kafka_poll, until kafka_free. */
void kafka_put(struct kafka *kafka, const char *topic, struct bytes key, struct bytes value,
               bool late, enum kafka_fate *fate);
/* Waits for something to happen to messages. */
void kafka_poll(struct kafka *kafka, int timeout_ms);
bool kafka_is_broken(const struct kafka *kafka);

/* The last trouble; "": there was none since a message was written. */
const char *kafka_trouble(const struct kafka *kafka);

#endif
