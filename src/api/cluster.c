/* SPDX-License-Identifier: MIT */
/* What is told of a cluster, to operators and to Prometheus. The local engine has nothing to tell. */
#include "api/cluster.h"

#include <inttypes.h>
#include <string.h>

#include "api/exchange.h"
#include "api/metrics.h"

/* ---- The status ----------------------------------------------------------------------------- */

static void put_mysql(struct json_out *out, const struct tidings_cluster *cluster)
{
    json_out_key(out, "mysql");
    json_out_object(out);
    put_bool(out, "reachable", cluster->reachable);
    json_out_key(out, "version");
    json_out_text(out, cluster->version);
    put_u64(out, "round_trip_us", cluster->round_trip_us);
    json_out_key(out, "answered_ms_ago");
    if (cluster->answered_ms_ago < 0)
        json_out_null(out);
    else
        json_out_i64(out, cluster->answered_ms_ago);
    put_u64(out, "tables", cluster->tables);
    json_out_end(out);
}

static void put_servers(struct json_out *out, const struct tidings_cluster *cluster)
{
    json_out_key(out, "servers");
    json_out_array(out);
    for (size_t i = 0; i < cluster->n_servers; i++) {
        const struct tidings_cluster_server *server = &cluster->servers[i];
        json_out_object(out);
        put_u64(out, "slot", server->slot);
        put_i64(out, "seen_ms_ago", server->seen_ms_ago);
        put_bool(out, "running", server->is_running);
        put_bool(out, "own", server->is_this);
        json_out_end(out);
    }
    json_out_end(out);
}

/* What was told is known better than what there is, which is asked for now and then. */
static uint64_t lag_of(const struct tidings_cluster *cluster)
{
    return cluster->position > cluster->told ? cluster->position - cluster->told : 0;
}

static void put_news(struct json_out *out, const struct tidings_cluster *cluster)
{
    json_out_key(out, "news");
    json_out_object(out);
    put_u64(out, "position", cluster->position);
    put_u64(out, "told", cluster->told);
    put_bool(out, "complete", cluster->complete);
    put_u64(out, "lag", lag_of(cluster));
    put_i64(out, "lag_ms", cluster->lag_ms);
    json_out_end(out);
}

static void put_relay(struct json_out *out, const char *by,
                      const struct tidings_cluster_relay *relay)
{
    json_out_key(out, by);
    if (relay->held)
        json_out_u64(out, relay->slot);
    else
        json_out_null(out);
    put_u64(out, "position", relay->position);
    put_u64(out, "told", relay->told);
    put_u64(out, "waiting", relay->waiting);
    put_i64(out, "oldest_ms_ago", relay->oldest_ms_ago);
    json_out_key(out, "trouble");
    json_out_text(out, relay->trouble);
}

static void put_kafka(struct json_out *out, const struct tidings_cluster_relay *relay)
{
    json_out_key(out, "kafka");
    if (!relay->wanted) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_relay(out, "relayed_by", relay);
    put_u64(out, "dead", relay->dead);
    put_u64(out, "missed", relay->missed);
    json_out_end(out);
}

static void put_copies(struct json_out *out, const struct tidings_cluster *cluster)
{
    json_out_key(out, "copies");
    if (!cluster->copies.wanted) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_relay(out, "kept_by", &cluster->copies);
    json_out_key(out, "rebuild");
    json_out_object(out);
    put_bool(out, "under_way", cluster->rebuild.under_way);
    put_u64(out, "looked_at", cluster->rebuild.looked_at);
    put_u64(out, "removed", cluster->rebuild.removed);
    json_out_end(out);
    json_out_end(out);
}

void put_consumers(struct json_out *out, const struct tidings_cluster *cluster)
{
    put_kafka(out, &cluster->relay);
    put_copies(out, cluster);
}

static void put_round(struct json_out *out, const struct tidings_cluster_rounds *rounds)
{
    json_out_key(out, "round");
    if (!rounds->under_way) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    json_out_key(out, "part");
    json_out_text(out, rounds->part);
    put_u64(out, "done", rounds->done);
    put_u64(out, "total", rounds->total);
    put_i64(out, "began_ms_ago", rounds->began_ms_ago);
    json_out_end(out);
}

static void put_last_round(struct json_out *out, const struct tidings_cluster_rounds *rounds)
{
    json_out_key(out, "last");
    if (!rounds->any) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_i64(out, "ended_ms_ago", rounds->ended_ms_ago);
    put_i64(out, "took_ms", rounds->took_ms);
    put_u64(out, "rows", rounds->rows);
    put_u64(out, "found", rounds->found);
    put_u64(out, "mended", rounds->mended);
    json_out_end(out);
}

void put_rounds(struct json_out *out, const struct tidings_cluster_rounds *rounds)
{
    json_out_key(out, "reconciliation");
    json_out_object(out);
    put_round(out, rounds);
    put_last_round(out, rounds);
    json_out_key(out, "drift");
    json_out_array(out);
    for (size_t i = 0; i < rounds->n_kinds; i++) {
        json_out_object(out);
        json_out_key(out, "kind");
        json_out_text(out, rounds->kinds[i].kind);
        put_u64(out, "found", rounds->kinds[i].found);
        put_u64(out, "mended", rounds->kinds[i].mended);
        json_out_end(out);
    }
    json_out_end(out);
    json_out_end(out);
}

static void put_queues(struct json_out *out, const struct tidings_cluster *cluster)
{
    json_out_key(out, "queues");
    json_out_object(out);
    json_out_key(out, "lanes");
    json_out_array(out);
    for (size_t i = 0; i < cluster->n_lanes; i++)
        json_out_u64(out, cluster->lanes_waiting[i]);
    json_out_end(out);
    put_u64(out, "readers", cluster->reads_waiting);
    json_out_end(out);
}

/* null without one. */
static void put_redis(struct json_out *out, const struct tidings_cluster *cluster)
{
    json_out_key(out, "redis");
    if (!cluster->redis.configured) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_bool(out, "remembers", cluster->redis.remembers);
    put_u64(out, "recalled", cluster->redis.recalled);
    put_u64(out, "looked_up", cluster->redis.looked_up);
    put_u64(out, "masters", cluster->redis.masters);
    put_u64(out, "away", cluster->redis.away);
    json_out_key(out, "trouble");
    json_out_text(out, cluster->redis.trouble);
    put_u64(out, "filled", cluster->redis.filled);
    put_u64(out, "renewed", cluster->redis.renewed);
    put_u64(out, "dropped", cluster->redis.dropped);
    json_out_end(out);
}

void put_cluster(struct json_out *out, struct tidings *tidings)
{
    struct tidings_cluster cluster;
    bool is_one = !tidings_cluster_status(tidings, &cluster);
    json_out_key(out, "engine");
    json_out_text(out, is_one ? "cluster" : "local");
    json_out_key(out, "cluster");
    if (!is_one) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_mysql(out, &cluster);
    put_servers(out, &cluster);
    put_news(out, &cluster);
    put_queues(out, &cluster);
    put_redis(out, &cluster);
    put_consumers(out, &cluster);
    put_rounds(out, &cluster.rounds);
    json_out_end(out);
}

bool cluster_is_usable(struct tidings *tidings)
{
    struct tidings_cluster cluster;
    enum tidings_err err = tidings_cluster_status(tidings, &cluster);
    return err == TIDINGS_UNSUPPORTED || (!err && cluster.reachable);
}

/* ---- Metrics -------------------------------------------------------------------------------- */

static void print_queues(struct buf *to, const struct tidings_cluster *cluster)
{
    metrics_head(to, "cluster_queue", "gauge",
                 "Calls that wait: for a lane, which changes, or for readers.");
    for (size_t i = 0; i < cluster->n_lanes; i++)
        buf_printf(to, "tidings_cluster_queue{queue=\"lane-%zu\"} %" PRIu64 "\n", i,
                   cluster->lanes_waiting[i]);
    buf_printf(to, "tidings_cluster_queue{queue=\"readers\"} %" PRIu64 "\n",
               cluster->reads_waiting);
}

static void print_seconds(struct buf *to, const char *name, const char *help, double seconds)
{
    metrics_head(to, name, "gauge", help);
    buf_printf(to, "tidings_%s %.6f\n", name, seconds);
}

static void print_redis(struct buf *to, const struct tidings_cluster *cluster)
{
    if (!cluster->redis.configured)
        return;
    metrics_single(to, "cluster_redis_remembers", "gauge",
                   "1: badges are answered with what is remembered in Redis.",
                   cluster->redis.remembers);
    metrics_single(to, "cluster_redis_masters", "gauge", "Masters of the Redis Cluster.",
                   cluster->redis.masters);
    metrics_single(to, "cluster_redis_masters_away", "gauge", "Those that did not answer lately.",
                   cluster->redis.away);
    metrics_single(to, "cluster_badges_recalled_total", "counter",
                   "Badges that were answered without the database.", cluster->redis.recalled);
    metrics_single(to, "cluster_badges_looked_up_total", "counter",
                   "Badges that might have been, and had to be looked up.",
                   cluster->redis.looked_up);
    metrics_single(to, "cluster_copies_filled_total", "counter",
                   "Keys for others that this server has filled.", cluster->redis.filled);
    metrics_single(to, "cluster_copies_renewed_total", "counter",
                   "Counts in keys for others that this server has renewed.",
                   cluster->redis.renewed);
    metrics_single(to, "cluster_copies_dropped_total", "counter",
                   "Questions by which no key was filled, since too many others waited.",
                   cluster->redis.dropped);
}

static void print_relay(struct buf *to, const struct tidings_cluster_relay *relay)
{
    if (!relay->wanted)
        return;
    metrics_single(to, "cluster_kafka_relays", "gauge", "1: a server tells Kafka.", relay->held);
    metrics_single(to, "cluster_kafka_trouble", "gauge", "1: Kafka cannot be told.",
                   *relay->trouble != '\0');
    metrics_single(to, "cluster_kafka_position", "gauge", "Last event that Kafka was told of.",
                   relay->position);
    metrics_single(to, "cluster_kafka_told_total", "counter", "Events that Kafka was told of.",
                   relay->told);
    metrics_single(to, "cluster_kafka_waiting", "gauge",
                   "Positions that Kafka has not been told of.", relay->waiting);
    print_seconds(to, "cluster_kafka_oldest_seconds", "Age of the oldest event that waits.",
                  (double)relay->oldest_ms_ago / 1e3);
    metrics_single(to, "cluster_kafka_dead", "gauge", "Events that Kafka could not be told.",
                   relay->dead);
    metrics_single(to, "cluster_kafka_missed_total", "counter",
                   "Events that were removed before Kafka could be told.", relay->missed);
}

static void print_copies(struct buf *to, const struct tidings_cluster *cluster)
{
    const struct tidings_cluster_relay *copies = &cluster->copies;
    metrics_single(to, "cluster_copies_keepers", "gauge", "1: a server keeps keys for others.",
                   copies->held);
    metrics_single(to, "cluster_copies_trouble", "gauge", "1: they cannot be kept.",
                   *copies->trouble != '\0');
    metrics_single(to, "cluster_copies_position", "gauge", "Event up to which they were renewed.",
                   copies->position);
    metrics_single(to, "cluster_copies_waiting", "gauge",
                   "Positions by which they have not been renewed.", copies->waiting);
    print_seconds(to, "cluster_copies_oldest_seconds", "Age of the oldest event that waits.",
                  (double)copies->oldest_ms_ago / 1e3);
    metrics_single(to, "cluster_copies_rebuilds", "gauge", "1: they are being made anew.",
                   cluster->rebuild.under_way);
}

static void print_drift(struct buf *to, const struct tidings_cluster_rounds *rounds)
{
    metrics_head(to, "cluster_drift_found_total", "counter",
                 "Stored counts and lists that did not agree with what they follow from.");
    for (size_t i = 0; i < rounds->n_kinds; i++)
        buf_printf(to, "tidings_cluster_drift_found_total{kind=\"%s\"} %" PRIu64 "\n",
                   rounds->kinds[i].kind, rounds->kinds[i].found);
    metrics_head(to, "cluster_drift_mended_total", "counter", "Rows that were mended for that.");
    for (size_t i = 0; i < rounds->n_kinds; i++)
        buf_printf(to, "tidings_cluster_drift_mended_total{kind=\"%s\"} %" PRIu64 "\n",
                   rounds->kinds[i].kind, rounds->kinds[i].mended);
}

static void print_rounds(struct buf *to, const struct tidings_cluster_rounds *rounds)
{
    metrics_head(to, "cluster_reconcile_done_ratio", "gauge",
                 "How much of the round under way was looked at; 1: none is.");
    buf_printf(to, "tidings_cluster_reconcile_done_ratio %.4f\n",
               !rounds->under_way ? 1
               : rounds->total    ? (double)rounds->done / (double)rounds->total
                                  : 0);
    int64_t ago_ms = rounds->any         ? rounds->ended_ms_ago
                     : rounds->under_way ? rounds->began_ms_ago
                                         : 0;
    print_seconds(to, "cluster_reconcile_age_seconds",
                  "Time since the last round was completed, or the first was begun.",
                  (double)ago_ms / 1e3);
    print_drift(to, rounds);
}

void cluster_metrics(struct tidings *tidings, struct buf *to)
{
    struct tidings_cluster cluster;
    uint64_t running = 0;
    if (tidings_cluster_status(tidings, &cluster))
        return;
    for (size_t i = 0; i < cluster.n_servers; i++)
        running += cluster.servers[i].is_running;
    metrics_single(to, "cluster_mysql_up", "gauge", "1: the database has answered lately.",
                   cluster.reachable);
    print_seconds(to, "cluster_mysql_round_trip_seconds", "Time that its last answer took.",
                  (double)cluster.round_trip_us / 1e6);
    metrics_single(to, "cluster_servers", "gauge", "Servers that use the database.", running);
    metrics_single(to, "cluster_news_position", "gauge", "Position of the newest event or post.",
                   cluster.position);
    metrics_single(to, "cluster_news_lag", "gauge",
                   "Positions that this server's streams have not been told of.", lag_of(&cluster));
    print_seconds(to, "cluster_news_lag_seconds", "For how long something has waited to be told.",
                  (double)cluster.lag_ms / 1e3);
    print_queues(to, &cluster);
    print_redis(to, &cluster);
    print_relay(to, &cluster.relay);
    print_copies(to, &cluster);
    print_rounds(to, &cluster.rounds);
}
