/* SPDX-License-Identifier: MIT */
#include "api/replica.h"

#include <inttypes.h>
#include <string.h>

#include "api/exchange.h"
#include "api/metrics.h"

static const char *const roles[] = {
    [TIDINGS_WRITER] = "writer",
    [TIDINGS_FOLLOWER] = "follower",
    [TIDINGS_REPLACED] = "replaced",
};

/* Whether there is something to tell: others can follow it, or it follows. */
static bool look(struct tidings *tidings, struct tidings_replica *replica)
{
    return !tidings_replica_status(tidings, replica) &&
           (replica->role != TIDINGS_WRITER || replica->peer_port || replica->era ||
            replica->following[0]);
}

static void put_followers(struct json_out *out, const struct tidings_replica *replica)
{
    json_out_key(out, "followers");
    json_out_array(out);
    for (size_t i = 0; i < replica->n_followers; i++) {
        json_out_object(out);
        put_word(out, "address", replica->followers[i].address);
        put_u64(out, "position", replica->followers[i].position);
        json_out_end(out);
    }
    json_out_end(out);
}

static void put_following(struct json_out *out, const struct tidings_replica *replica)
{
    json_out_key(out, "following");
    if (replica->role != TIDINGS_FOLLOWER) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_word(out, "address", replica->following);
    put_bool(out, "connected", replica->connected);
    put_u64(out, "behind", replica->end - replica->position);
    json_out_key(out, "age_ms");
    if (replica->age_ms < 0)
        json_out_null(out);
    else
        json_out_u64(out, (uint64_t)replica->age_ms);
    put_bool(out, "broken", replica->broken);
    put_bool(out, "rejoin", replica->rejoin);
    put_word(out, "trouble", replica->trouble);
    json_out_end(out);
}

/* Of a log in MySQL. */
static void put_log(struct json_out *out, const struct tidings_replica *replica)
{
    const struct tidings_replica_log *log = &replica->log;
    json_out_key(out, "log");
    if (strcmp(replica->following, "mysql") != 0) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_u64(out, "records", log->records);
    put_u64(out, "bytes", log->bytes);
    json_out_key(out, "image");
    if (log->has_image) {
        json_out_object(out);
        put_u64(out, "position", log->image_position);
        put_u64(out, "bytes", log->image_bytes);
        put_u64(out, "at_ms", (uint64_t)log->image_at_ms);
        json_out_end(out);
    } else {
        json_out_null(out);
    }
    put_word(out, "warning", log->warning);
    json_out_end(out);
}

void put_replica(struct json_out *out, struct tidings *tidings)
{
    struct tidings_replica replica;
    json_out_key(out, "replica");
    if (!look(tidings, &replica)) {
        json_out_null(out);
        return;
    }
    json_out_object(out);
    put_word(out, "role", roles[replica.role]);
    put_u64(out, "position", replica.position);
    put_word(out, "chain", replica.chain);
    put_u64(out, "era", replica.era);
    put_followers(out, &replica);
    put_following(out, &replica);
    put_log(out, &replica);
    json_out_end(out);
}

const char *replica_trouble(struct tidings *tidings)
{
    struct tidings_replica replica;
    if (!look(tidings, &replica) || replica.role != TIDINGS_FOLLOWER)
        return NULL;
    if (replica.broken)
        return "This server follows another one and cannot go on; its status says why.";
    return replica.age_ms < 0 ? "This server follows another one and does not have all yet." : NULL;
}

/* Of a server on a log in MySQL. */
static void put_log_metrics(struct buf *to, const struct tidings_replica *replica)
{
    metrics_single(to, "replica_takeovers_total", "counter", "How often this server took over.",
                   replica->takeovers);
    metrics_single(to, "replica_reappended_total", "counter",
                   "Batches that MySQL had lost, appended to its log again.", replica->reappended);
    metrics_single(to, "replica_diverged", "gauge",
                   "1: what this server alone had is put aside, in diverged-*.", replica->diverged);
    metrics_single(to, "replica_log_records", "gauge", "Records of the log that MySQL keeps.",
                   replica->log.records);
    metrics_single(to, "replica_log_bytes", "gauge", "Bytes of the log that MySQL keeps.",
                   replica->log.bytes);
    metrics_single(to, "replica_image_position", "gauge",
                   "The newest batch in the image that MySQL keeps; 0: there is none.",
                   replica->log.image_position);
    metrics_single(to, "replica_image_bytes", "gauge", "Bytes of that image.",
                   replica->log.image_bytes);
    metrics_single(to, "replica_image_time_seconds", "gauge",
                   "When the newest batch in that image was made, since 1970.",
                   (uint64_t)replica->log.image_at_ms / 1000);
}

void replica_metrics(struct tidings *tidings, struct buf *to)
{
    struct tidings_replica replica;
    if (!look(tidings, &replica))
        return;
    bool follows = replica.role == TIDINGS_FOLLOWER;
    metrics_single(to, "replica_writer", "gauge", "1: this server makes changes.",
                   replica.role == TIDINGS_WRITER);
    metrics_single(to, "replica_position", "gauge", "The newest batch that this server has.",
                   replica.position);
    metrics_single(to, "replica_era", "gauge",
                   "How often a follower was promoted, or MySQL may have lost changes.",
                   replica.era);
    if (replica.on_mysql)
        put_log_metrics(to, &replica);
    metrics_single(to, "replica_followers", "gauge", "Servers that follow this one.",
                   replica.n_followers);
    if (!follows)
        return;
    metrics_single(to, "replica_connected", "gauge", "1: connected to the server it follows.",
                   replica.connected);
    metrics_single(to, "replica_broken", "gauge", "1: it cannot go on following by itself.",
                   replica.broken);
    metrics_single(to, "replica_lag_records", "gauge",
                   "Batches of the followed server that are not here yet, as far as is known.",
                   replica.end - replica.position);
    metrics_head(to, "replica_age_seconds", "gauge",
                 "How long ago all of the followed server's was here; -1: never yet.");
    buf_printf(to, "tidings_replica_age_seconds %.3f\n",
               replica.age_ms < 0 ? -1.0 : (double)replica.age_ms / 1000);
}
