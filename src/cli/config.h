/* SPDX-License-Identifier: MIT */
/*
 * Settings: flags win over the environment, that over the file, that over the defaults. A setting
 * follow_burst is --follow-burst, TIDINGS_FOLLOW_BURST, and `follow_burst = ...` in the file given
 * by --config. The options of `tidings serve` are the table of them all.
 */
#ifndef CLI_CONFIG_H
#define CLI_CONFIG_H

#include "cli/old.h"
#include "http/http.h"
#include "tidings.h"

/* name, default, least, most, what it is: those of the server itself */
#define SERVE_SETTINGS(X)                                                                      \
    X(threads, 0, 0, 256, "loop threads; 0 is one a core")                                     \
    X(jwt_leeway_s, 60, 0, 300, "seconds a token may be early or late")                        \
    X(access_log, 1, 0, 1, "1: a line of log for every request")                               \
    X(stream_backlog, 4096, 1, 1000000, "events that wait to be told to streams at most")      \
    X(stop_timeout_ms, 10000, 0, 600000, "time for requests under way when stopping")          \
    X(webhook_timeout_ms, 10000, 1, 600000, "time for a call to a webhook")                    \
    X(webhook_backoff_first_ms, 1000, 1, 86400000, "time until a failed call is made again")   \
    X(webhook_backoff_most_ms, 3600000, 1, 86400000, "doubling with every failure up to this") \
    X(kafka_tls, 0, 0, 1, "1: TLS to Kafka's brokers, which are verified")                     \
    X(kafka_partitions, 1, 1, 1000, "partitions of the topic, if it has to be made")           \
    X(tables_compare_hours, 24, 0, 8760, "hours in which all tables are compared; 0: never")   \
    X(webhook_give_up_hours, 72, 0, 87600,                                                     \
      "hours of failing until an event is given up; 0: at once")

#define KAFKA_NO_SASL "none"
#define KAFKA_SASL    KAFKA_NO_SASL "|plain|scram-sha-256|scram-sha-512"

struct config {
    char *copies[32]; /* texts from the file; see config_release */
    size_t n_copies;
    const char *config;
    const char *data, *mysql;
    const char *redis, *redis_user, *redis_tls, *redis_ca, *freshness;
    const char *listen;
    const char *follow, *peer_listen, *peer_key_file, *peer_address;
    bool take_back;
    const char *jwt_keys_file, *jwt_issuer, *jwt_audience, *jwks_url, *jwks_ca_file;
    const char *durability;
    const char *notice_language;
    const char *backup_dir;
    const char *cors_origins;
    const char *webhook_allow;
    const char *webhook_ca_file;
    const char *kafka, *kafka_topic, *kafka_sasl, *kafka_user, *kafka_ca_file;
    const char *tables;
    struct old_args old;
    bool old_refill;
    bool dev;
    struct tidings_settings engine;
    struct http_config http;
#define X(name, standard, least, most, text) uint64_t name;
    SERVE_SETTINGS(X)
#undef X
};

/* Fills in everything. OPTIONS_READ, or the code to exit with, after a message or the help. Texts stay
 * valid as long as argv and the environment do, and until config_release, which is called in either
 * case. */
int config_read(struct config *config, int argc, char **argv);
void config_release(struct config *config);

/* serve.c: what the command does. */
int serve_run(int argc, char **argv);

#endif
