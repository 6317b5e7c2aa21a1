/* SPDX-License-Identifier: MIT */
/*
 * Goes through a server's events for the outside: one thread per target, each with a position of its own, in the order of the events,
 * each event at least once. Of several servers the one that makes changes does so (tidings_term). A target that fails waits, is told
 * of in the log and in its row, and holds up no other.
 *
 *     consumer.c       a target's thread: whose turn it is, reading, moving on
 *     consumer_row.c   its row: the position, reports, what is told of failures
 *     consumer_wish.c  what is wished of it: making it anew, comparing it, dead letters once more
 *     kafka_target.c   Kafka: docs/EVENTS.md
 *     redis_target.h   keys in Redis: docs/FORMAT.md
 *     tables_*.c       tables in MySQL: docs/operations/tables.md
 *     old_redis_target.c  the keys of an application that people come from: docs/MIGRATING.md
 *
 * It knows the engine by its operations alone: EVENTS to read, CONSUMER_SET and WEBHOOK_REPORT to write. The position is a row of the
 * engine's, so whoever makes changes next goes on there.
 */
#ifndef CONSUME_CONSUME_H
#define CONSUME_CONSUME_H

#include "tidings.h"

struct legacy_names;
struct redis_options;

struct consume_config {
    struct tidings *tidings;
    const char *mysql; /* URL of the shared log, by whose database the topic is named; NULL: none */
    uint32_t page;     /* events in one question */
    /*
     * Brokers, host:port with commas; NULL: no Kafka. With SASL ("plain", "scram-sha-256" or "scram-sha-512") also user and password;
     * NULL: none. With TLS the brokers are verified: by the CA certificates of a PEM file, or, NULL, by the system's.
     */
    const char *kafka, *kafka_sasl, *kafka_user, *kafka_password, *kafka_ca_file;
    bool kafka_tls;
    uint32_t kafka_partitions; /* of the topic, if it has to be made */
    const char *kafka_topic;   /* NULL: tidings.<database>.events, or tidings.events */
    /* mysql://…/database, where tables for others are kept; "log": where the log is; NULL: nowhere. The password may be NULL. */
    const char *tables, *tables_password;
    uint64_t tables_compare_hours; /* how often everything is compared; 0: never */
    /*
     * A Redis Cluster, some of its nodes, or a single Redis: host:port with commas; NULL: no Redis. User and password: NULL is none.
     * With TLS verified as Kafka is. It may be away or be emptied at any time.
     */
    const char *redis, *redis_user, *redis_password, *redis_ca;
    bool redis_tls;
    /* The Redis of an old application; NULL: none. The share is in millionths, schemes as in legacy/bridge.h. */
    const struct redis_options *old_redis;
    const struct legacy_names *old_names;
    uint32_t old_share;
    unsigned old_schemes;
    bool old_refill;
};

struct consume;

/* Starts the threads. What the config points to must outlive them. NULL: *message says what is wrong, until this is called again. */
struct consume *consume_start(const struct consume_config *config, const char **message);

/* Ends what is under way and the threads, and frees everything. Before the engine closes. NULL is fine. */
void consume_stop(struct consume *consume);

#endif
