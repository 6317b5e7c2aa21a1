/* SPDX-License-Identifier: MIT */
#include "consume/consume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consume/kafka_target.h"
#include "consume/old_redis_target.h"
#include "consume/redis_target.h"
#include "consume/tables_target.h"
#include "sql/url.h"

struct consume {
    struct kafka_target *kafka;
    struct consumer *kafka_consumer;
    struct redis_target *redis;
    struct consumer *redis_consumer;
    struct tables *tables;
    struct consumer *tables_consumer;
    struct old_redis_target *old_redis;
    struct consumer *old_redis_consumer;
};

/* As it always was called where there is a database. */
static void name_topic(const struct consume_config *config, char topic[KAFKA_TOPIC_MAX + 1])
{
    struct sql_url url;
    const char *wrong;
    if (config->kafka_topic)
        snprintf(topic, KAFKA_TOPIC_MAX + 1, "%s", config->kafka_topic);
    else if (config->mysql && sql_url_parse(config->mysql, &url, &wrong))
        snprintf(topic, KAFKA_TOPIC_MAX + 1, "tidings.%s.events", url.database);
    else
        snprintf(topic, KAFKA_TOPIC_MAX + 1, "tidings.events");
}

static bool start_kafka(struct consume *consume, const struct consume_config *config,
                        char why[KAFKA_WHY_MAX])
{
    char topic[KAFKA_TOPIC_MAX + 1];
    struct kafka_options options = {
        .brokers = config->kafka,
        .sasl = config->kafka_sasl,
        .user = config->kafka_user,
        .password = config->kafka_password,
        .ca_file = config->kafka_ca_file,
        .tls = config->kafka_tls,
    };
    if (!config->kafka)
        return true;
    name_topic(config, topic);
    consume->kafka = kafka_target_new(&options, topic, config->kafka_partitions, why);
    if (!consume->kafka)
        return false;
    snprintf(why, KAFKA_WHY_MAX, "out of memory");
    consume->kafka_consumer =
        consume_target_start(config->tidings, &kafka_target, consume->kafka, config->page);
    return consume->kafka_consumer != NULL;
}

static bool start_redis(struct consume *consume, const struct consume_config *config,
                        char why[KAFKA_WHY_MAX])
{
    struct redis_options options = {
        .nodes = config->redis,
        .user = config->redis_user,
        .password = config->redis_password,
        .tls = config->redis_tls,
        .ca_file = config->redis_ca,
    };
    const char *message;
    if (!config->redis)
        return true;
    consume->redis = redis_target_new(config->tidings, &options, config->page, &message);
    if (!consume->redis) {
        snprintf(why, KAFKA_WHY_MAX, "redis: %s", message);
        return false;
    }
    snprintf(why, KAFKA_WHY_MAX, "out of memory");
    consume->redis_consumer =
        consume_target_start(config->tidings, &redis_target, consume->redis, config->page);
    return consume->redis_consumer != NULL;
}

static bool start_tables(struct consume *consume, const struct consume_config *config,
                         char why[KAFKA_WHY_MAX])
{
    const char *url = config->tables, *wrong = "there is no log in MySQL";
    if (!url)
        return true;
    if (!strcmp(url, "log"))
        url = config->mysql;
    consume->tables = url ? tables_new(config->tidings, url, config->tables_password,
                                       config->tables_compare_hours, &wrong)
                          : NULL;
    snprintf(why, KAFKA_WHY_MAX, "tables: %s", consume->tables ? "out of memory" : wrong);
    if (!consume->tables)
        return false;
    consume->tables_consumer =
        consume_target_start(config->tidings, &tables_target, consume->tables, config->page);
    return consume->tables_consumer != NULL;
}

static bool start_old_redis(struct consume *consume, const struct consume_config *config,
                            char why[KAFKA_WHY_MAX])
{
    const char *message;
    if (!config->old_redis)
        return true;
    consume->old_redis = old_redis_target_new(config, &message);
    if (!consume->old_redis) {
        snprintf(why, KAFKA_WHY_MAX, "old_redis: %s", message);
        return false;
    }
    snprintf(why, KAFKA_WHY_MAX, "out of memory");
    consume->old_redis_consumer =
        consume_target_start(config->tidings, &old_redis_target, consume->old_redis, config->page);
    return consume->old_redis_consumer != NULL;
}

struct consume *consume_start(const struct consume_config *config, const char **message)
{
    static char why[KAFKA_WHY_MAX];
    struct consume *consume = calloc(1, sizeof *consume);
    *message = "out of memory";
    if (!consume)
        return NULL;
    if (start_kafka(consume, config, why) && start_redis(consume, config, why) &&
        start_tables(consume, config, why) && start_old_redis(consume, config, why))
        return consume;
    *message = why;
    consume_stop(consume);
    return NULL;
}

void consume_stop(struct consume *consume)
{
    if (!consume)
        return;
    consume_target_stop(consume->kafka_consumer);
    consume_target_stop(consume->redis_consumer);
    consume_target_stop(consume->tables_consumer);
    kafka_target_free(consume->kafka);
    redis_target_free(consume->redis);
    tables_free(consume->tables);
    consume_target_stop(consume->old_redis_consumer);
    old_redis_target_free(consume->old_redis);
    free(consume);
}
