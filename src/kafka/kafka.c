/* SPDX-License-Identifier: MIT */
/* The only place that knows librdkafka. */
#include "kafka/kafka.h"

#include <librdkafka/rdkafka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct kafka {
    rd_kafka_t *producer;
    bool broken;
    char trouble[KAFKA_WHY_MAX];
};

/* ---- What it hears -------------------------------------------------------------------------- */

static void note(struct kafka *kafka, const char *text)
{
    snprintf(kafka->trouble, sizeof kafka->trouble, "%s", text);
}

/* Of the message itself: no broker takes it, however often it is sent. */
static bool is_final(rd_kafka_resp_err_t err)
{
    switch (err) {
    case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_RECORD_LIST_TOO_LARGE:
    case RD_KAFKA_RESP_ERR_INVALID_MSG:
    case RD_KAFKA_RESP_ERR_INVALID_MSG_SIZE:
    case RD_KAFKA_RESP_ERR_INVALID_RECORD:
        return true;
    default:
        return false;
    }
}

static void on_delivery(rd_kafka_t *producer, const rd_kafka_message_t *message, void *ctx)
{
    struct kafka *kafka = ctx;
    enum kafka_fate *fate = message->_private;
    (void)producer;
    if (!message->err) {
        *fate = KAFKA_TOLD;
        *kafka->trouble = '\0';
        return;
    }
    *fate = is_final(message->err) ? KAFKA_NEVER : KAFKA_FAILED;
    kafka->broken = true;
    note(kafka, rd_kafka_err2str(message->err));
}

static void on_error(rd_kafka_t *producer, int err, const char *reason, void *ctx)
{
    struct kafka *kafka = ctx;
    (void)producer;
    kafka->broken |= err == RD_KAFKA_RESP_ERR__FATAL;
    if (err != RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN) /* why was said before */
        note(kafka, reason);
}

/* What matters comes as an error, too. */
static void on_log(const rd_kafka_t *producer, int level, const char *facility, const char *text)
{
    (void)producer;
    (void)level;
    (void)facility;
    (void)text;
}

/* ---- Life ----------------------------------------------------------------------------------- */

/*
 * Messages never time out, since one that did would leave a gap that those behind it jump over; whoever has waited enough frees
 * the producer. One request at a time to a broker, and no gaps: when one is refused nothing behind it is under way.
 */
static const char *const fixed[][2] = {
    {"client.id", "tidings"},
    {"enable.idempotence", "true"},
    {"enable.gapless.guarantee", "true"},
    {"acks", "all"},
    {"max.in.flight.requests.per.connection", "1"},
    {"message.timeout.ms", "0"},
    {"request.timeout.ms", "10000"},
    {"socket.timeout.ms", "15000"},
    {"socket.connection.setup.timeout.ms", "10000"},
    {"reconnect.backoff.max.ms", "2000"},
    {"topic.metadata.refresh.interval.ms", "30000"},
    {"linger.ms", "1"},
    {"partitioner", "murmur2_random"}, /* as clients in Java have it */
    {"allow.auto.create.topics", "false"},
};

static bool set(rd_kafka_conf_t *conf, const char *name, const char *value, char *why)
{
    return !value || rd_kafka_conf_set(conf, name, value, why, KAFKA_WHY_MAX) == RD_KAFKA_CONF_OK;
}

static bool set_security(rd_kafka_conf_t *conf, const struct kafka_options *options, char *why)
{
    static const char *const protocols[2][2] = {{"plaintext", "ssl"},
                                                {"sasl_plaintext", "sasl_ssl"}};
    char mechanism[32] = "";
    for (size_t i = 0; options->sasl && options->sasl[i] && i < sizeof mechanism - 1; i++)
        mechanism[i] =
            (char)(options->sasl[i] >= 'a' ? options->sasl[i] - 'a' + 'A' : options->sasl[i]);
    if (!set(conf, "security.protocol", protocols[options->sasl != NULL][options->tls], why))
        return false;
    if (options->tls && !set(conf, "ssl.ca.location", options->ca_file, why))
        return false;
    if (!options->sasl)
        return true;
    if (!options->user || !options->password) {
        snprintf(why, KAFKA_WHY_MAX, "SASL wants a user and a password");
        return false;
    }
    if (set(conf, "sasl.mechanism", mechanism, why) &&
        set(conf, "sasl.username", options->user, why) &&
        set(conf, "sasl.password", options->password, why))
        return true;
    return false;
}

static rd_kafka_conf_t *configure(const struct kafka_options *options, void *ctx, char *why)
{
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    bool fine = set(conf, "bootstrap.servers", options->brokers, why);
    for (size_t i = 0; fine && i < sizeof fixed / sizeof *fixed; i++)
        fine = set(conf, fixed[i][0], fixed[i][1], why);
    if (!fine || !set_security(conf, options, why)) {
        rd_kafka_conf_destroy(conf);
        return NULL;
    }
    rd_kafka_conf_set_opaque(conf, ctx);
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_conf_set_error_cb(conf, on_error);
    rd_kafka_conf_set_log_cb(conf, on_log);
    return conf;
}

struct kafka *kafka_new(const struct kafka_options *options, char why[KAFKA_WHY_MAX])
{
    struct kafka *kafka = calloc(1, sizeof *kafka);
    snprintf(why, KAFKA_WHY_MAX, "out of memory");
    rd_kafka_conf_t *conf = kafka ? configure(options, kafka, why) : NULL;
    if (conf)
        kafka->producer = rd_kafka_new(RD_KAFKA_PRODUCER, conf, why, KAFKA_WHY_MAX);
    if (conf && !kafka->producer)
        rd_kafka_conf_destroy(conf);
    if (kafka && kafka->producer)
        return kafka;
    free(kafka);
    return NULL;
}

void kafka_free(struct kafka *kafka)
{
    if (!kafka)
        return;
    rd_kafka_purge(kafka->producer, RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    rd_kafka_destroy(kafka->producer);
    free(kafka);
}

bool kafka_is_broken(const struct kafka *kafka)
{
    return kafka->broken;
}

const char *kafka_trouble(const struct kafka *kafka)
{
    return kafka->trouble;
}

/* ---- The topic ------------------------------------------------------------------------------ */

/* Whoever may not make topics may have been given one. */
static bool is_known(struct kafka *kafka, const char *topic, int timeout_ms)
{
    const struct rd_kafka_metadata *found = NULL;
    rd_kafka_topic_t *handle = rd_kafka_topic_new(kafka->producer, topic, NULL);
    bool known = handle && !rd_kafka_metadata(kafka->producer, 0, handle, &found, timeout_ms) &&
                 found->topic_cnt == 1 && !found->topics[0].err;
    if (found)
        rd_kafka_metadata_destroy(found);
    if (handle)
        rd_kafka_topic_destroy(handle);
    return known;
}

static bool was_made(struct kafka *kafka, rd_kafka_event_t *event)
{
    size_t n = 0;
    const rd_kafka_CreateTopics_result_t *result = rd_kafka_event_CreateTopics_result(event);
    const rd_kafka_topic_result_t **topics =
        result ? rd_kafka_CreateTopics_result_topics(result, &n) : NULL;
    rd_kafka_resp_err_t err =
        n == 1 ? rd_kafka_topic_result_error(topics[0]) : rd_kafka_event_error(event);
    if (n == 1 && (!err || err == RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS))
        return true;
    note(kafka, rd_kafka_err2str(err));
    return false;
}

static bool create(struct kafka *kafka, rd_kafka_NewTopic_t *topic, int timeout_ms)
{
    char why[KAFKA_WHY_MAX];
    rd_kafka_queue_t *queue = rd_kafka_queue_new(kafka->producer);
    rd_kafka_AdminOptions_t *options =
        rd_kafka_AdminOptions_new(kafka->producer, RD_KAFKA_ADMIN_OP_CREATETOPICS);
    rd_kafka_AdminOptions_set_request_timeout(options, timeout_ms, why, sizeof why);
    rd_kafka_CreateTopics(kafka->producer, &topic, 1, options, queue);
    rd_kafka_event_t *event = rd_kafka_queue_poll(queue, timeout_ms);
    bool there = event && was_made(kafka, event);
    if (event)
        rd_kafka_event_destroy(event);
    rd_kafka_AdminOptions_destroy(options);
    rd_kafka_queue_destroy(queue);
    return there;
}

bool kafka_make_topic(struct kafka *kafka, const char *topic, unsigned partitions,
                      int64_t retention_ms, int timeout_ms)
{
    char why[KAFKA_WHY_MAX], retention[24];
    if (is_known(kafka, topic, timeout_ms / 2)) {
        note(kafka, "");
        return true;
    }
    rd_kafka_NewTopic_t *made = /* as many copies as the brokers have it */
        rd_kafka_NewTopic_new(topic, (int)partitions, -1, why, sizeof why);
    if (!made) {
        note(kafka, why);
        return false;
    }
    snprintf(retention, sizeof retention, "%lld", (long long)retention_ms);
    rd_kafka_NewTopic_set_config(made, "retention.ms", retention);
    bool there = create(kafka, made, timeout_ms / 2);
    rd_kafka_NewTopic_destroy(made);
    rd_kafka_poll(kafka->producer,
                  0); /* what brokers said is better known than that they were silent */
    if (there)
        note(kafka, "");
    return there;
}

/* ---- Messages ------------------------------------------------------------------------------- */

void kafka_put(struct kafka *kafka, const char *topic, struct bytes key, struct bytes value,
               bool late, enum kafka_fate *fate)
{
    *fate = KAFKA_WAITS;
    rd_kafka_headers_t *headers = late ? rd_kafka_headers_new(1) : NULL;
    if (headers)
        rd_kafka_header_add(headers, "late", -1, "1", 1);
    rd_kafka_resp_err_t err =
        rd_kafka_producev(kafka->producer, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_KEY(key.p, key.n),
                          RD_KAFKA_V_VALUE((void *)(uintptr_t)value.p, value.n),
                          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_OPAQUE(fate),
                          RD_KAFKA_V_HEADERS(headers), RD_KAFKA_V_END);
    if (!err)
        return;
    if (headers)
        rd_kafka_headers_destroy(headers);
    *fate = is_final(err) ? KAFKA_NEVER : KAFKA_FAILED;
    kafka->broken |= !is_final(err);
    note(kafka, rd_kafka_err2str(err));
}

void kafka_poll(struct kafka *kafka, int timeout_ms)
{
    rd_kafka_poll(kafka->producer, timeout_ms);
}
