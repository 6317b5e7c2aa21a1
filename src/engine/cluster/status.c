/* SPDX-License-Identifier: MIT */
/*
 * How the cluster is doing. A thread asks the database again and again, on a connection of its own, and keeps what it said: so
 * whoever wants to know waits for nobody, and hears at once of a database that is silent.
 */
#include <stdio.h>

#include "base/thread.h"
#include "base/wait.h"
#include "engine/cluster/cluster.h"
#include "engine/cluster/schema.h"

/* Without an answer for so long, the database cannot be used. A slow one gives some every second. */
enum { EVERY_MS = 500, SILENT_MS = 3000 };

/* ---- Asking --------------------------------------------------------------------------------- */

/* Who has left in order was last seen in 1970. */
static const char question[] =
    "SELECT VERSION();"
    "SELECT MAX(version) FROM schema_version;"
    "SELECT position FROM news_position WHERE id=1;"
    "SELECT slot, TIMESTAMPDIFF(MICROSECOND, seen_at, NOW(3)) DIV 1000 FROM server "
    "WHERE seen_at > '1971-01-01' ORDER BY slot LIMIT 16;"
    "SELECT id, position, told, missed, slot, held_until > NOW(3), wanted_at > NOW(3) - INTERVAL 1 "
    "DAY, (SELECT COUNT(*) FROM dead_letter WHERE relay.id=1), trouble, "
    "(SELECT CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED) - happened_at FROM outbox_event e "
    "WHERE e.position > relay.position ORDER BY e.position LIMIT 1) FROM relay;"
    "SELECT wanted, done, looked_at, removed FROM rebuild WHERE id=1;"
    "SELECT under_way, stage, done, total, TIMESTAMPDIFF(MICROSECOND, began_at, NOW(3)) DIV 1000, "
    "last_ended_at > '1971-01-01', TIMESTAMPDIFF(MICROSECOND, last_ended_at, NOW(3)) DIV 1000, "
    "last_took_ms, last_rows, last_found, last_mended FROM reconciliation WHERE id=1;"
    "SELECT kind, found, mended FROM drift";

static void take_text(struct sql *sql, unsigned field, char *to, size_t size)
{
    struct bytes text = sql_bytes(sql, field);
    size_t n = text.n < size ? text.n : size - 1;
    memcpy(to, text.p, n);
    to[n] = '\0';
}

static void take_version(struct sql *sql, struct tidings_cluster *status)
{
    take_text(sql, 0, status->version, sizeof status->version);
}

static void take_tables(struct sql *sql, struct tidings_cluster *status)
{
    status->tables = (unsigned)sql_u64(sql, 0);
}

static void take_position(struct sql *sql, struct tidings_cluster *status)
{
    status->position = sql_u64(sql, 0);
}

static void take_server(struct sql *sql, struct tidings_cluster *status)
{
    int64_t ago_ms = (int64_t)sql_u64(sql, 1);
    if (status->n_servers == TIDINGS_CLUSTER_SERVERS_MAX)
        return;
    status->servers[status->n_servers++] = (struct tidings_cluster_server){
        .slot = (unsigned)sql_u64(sql, 0),
        .seen_ms_ago = ago_ms,
        .is_running = ago_ms < SERVER_SILENT_MS,
    };
}

/* And of the first event that waits, if one does. */
static void take_relay(struct sql *sql, struct tidings_cluster *status)
{
    bool of_kafka = sql_u64(sql, 0) == TIDINGS_CONSUMER_KAFKA;
    struct tidings_cluster_relay *relay = of_kafka ? &status->relay : &status->copies;
    *relay = (struct tidings_cluster_relay){
        .position = sql_u64(sql, 1),
        .told = sql_u64(sql, 2),
        .missed = sql_u64(sql, 3),
        .slot = (unsigned)sql_u64(sql, 4),
        .held = sql_u64(sql, 5),
        .wanted = sql_u64(sql, 6),
        .dead = sql_u64(sql, 7),
    };
    take_text(sql, 8, relay->trouble, sizeof relay->trouble);
    if (sql_is_null(sql, 9))
        return;
    int64_t ago_ms = sql_i64(sql, 9);
    relay->waiting = status->position > relay->position ? status->position - relay->position : 1;
    relay->oldest_ms_ago = ago_ms > 0 ? ago_ms : 0;
}

static void take_rebuild(struct sql *sql, struct tidings_cluster *status)
{
    struct tidings_cluster_rebuild *rebuild = &status->rebuild;
    rebuild->asked = sql_u64(sql, 0);
    rebuild->done = sql_u64(sql, 1);
    rebuild->looked_at = sql_u64(sql, 2);
    rebuild->removed = sql_u64(sql, 3);
    rebuild->under_way = rebuild->asked > rebuild->done;
}

static void take_rounds(struct sql *sql, struct tidings_cluster *status)
{
    const char *part = check_kind((unsigned)sql_u64(sql, 1));
    status->rounds = (struct tidings_cluster_rounds){
        .under_way = sql_u64(sql, 0),
        .part = part ? part : "",
        .done = sql_u64(sql, 2),
        .total = sql_u64(sql, 3),
        .began_ms_ago = sql_i64(sql, 4),
        .any = sql_u64(sql, 5),
        .ended_ms_ago = sql_i64(sql, 6),
        .took_ms = sql_i64(sql, 7),
        .rows = sql_u64(sql, 8),
        .found = sql_u64(sql, 9),
        .mended = sql_u64(sql, 10),
    };
    for (size_t *n = &status->rounds.n_kinds; check_kind((unsigned)*n); ++*n)
        status->rounds.kinds[*n].kind = check_kind((unsigned)*n);
}

static void take_drift(struct sql *sql, struct tidings_cluster *status)
{
    struct bytes name = sql_bytes(sql, 0);
    for (size_t i = 0; i < status->rounds.n_kinds; i++) {
        struct tidings_cluster_drift *drift = &status->rounds.kinds[i];
        if (!bytes_same(name, (struct bytes){(const uint8_t *)drift->kind, strlen(drift->kind)}))
            continue;
        drift->found = sql_u64(sql, 1);
        drift->mended = sql_u64(sql, 2);
    }
}

/* In the order of the statements. */
static enum sql_outcome ask(struct sql *sql, struct tidings_cluster *status)
{
    static void (*const takes[])(struct sql *, struct tidings_cluster *) = {
        take_version, take_tables,  take_position, take_server,
        take_relay,   take_rebuild, take_rounds,   take_drift};
    struct buf text;
    bool more = true;
    *status = (struct tidings_cluster){.reachable = true};
    buf_init(&text, sizeof question);
    buf_text(&text, question);
    uint64_t began_us = wait_now_us();
    enum sql_outcome outcome = sql_send(sql, &text);
    status->round_trip_us = wait_now_us() - began_us;
    buf_release(&text);
    for (size_t i = 0; !outcome && more && i < sizeof takes / sizeof *takes; i++) {
        while (sql_row(sql))
            takes[i](sql, status);
        outcome = sql_next(sql, &more);
    }
    return outcome;
}

/* ---- Of a server ---------------------------------------------------------------------------- */

static void look(struct pulse *pulse)
{
    struct tidings_cluster status;
    char why[512];
    struct cluster *cluster = pulse->cluster;
    if (!pulse->sql)
        pulse->sql = sql_open(&cluster->url, cluster->password, SQL_SILENT_MS, 0, why, sizeof why);
    if (!pulse->sql)
        return;
    if (ask(pulse->sql, &status)) {
        sql_close(pulse->sql);
        pulse->sql = NULL;
        return;
    }
    uint64_t told = atomic_load(&cluster->news.position);
    pthread_mutex_lock(&pulse->mutex);
    pulse->status = status;
    pulse->answered_us = wait_now_us();
    if (told >= pulse->known) { /* what was known is told; what is known now is not yet */
        pulse->known = status.position;
        pulse->known_us = pulse->answered_us;
    }
    pthread_mutex_unlock(&pulse->mutex);
}

static void *pulse_main(void *arg)
{
    struct pulse *pulse = arg;
    thread_name("pulse");
    do
        look(pulse);
    while (ticker_wait(&pulse->ticker, EVERY_MS));
    return NULL;
}

enum tidings_err pulse_start(struct cluster *cluster)
{
    struct pulse *pulse = &cluster->pulse;
    look(pulse);
    return ticker_start(&pulse->ticker, pulse_main, pulse) ? TIDINGS_OK : TIDINGS_NO_MEMORY;
}

bool pulse_is_silent(struct pulse *pulse)
{
    pthread_mutex_lock(&pulse->mutex);
    uint64_t answered_us = pulse->answered_us;
    pthread_mutex_unlock(&pulse->mutex);
    return !answered_us || wait_now_us() - answered_us >= SILENT_MS * UINT64_C(1000);
}

static uint64_t waiting_in(struct queue *queue)
{
    pthread_mutex_lock(&queue->mutex);
    uint64_t waiting = queue->waiting;
    pthread_mutex_unlock(&queue->mutex);
    return waiting;
}

enum tidings_err cluster_status(struct engine *engine, struct tidings_cluster *status)
{
    struct cluster *cluster = (struct cluster *)engine;
    struct pulse *pulse = &cluster->pulse;
    uint64_t at_us = wait_now_us();
    pthread_mutex_lock(&pulse->mutex);
    *status = pulse->status;
    uint64_t answered_us = pulse->answered_us, known_us = pulse->known_us;
    uint64_t known = pulse->known;
    pthread_mutex_unlock(&pulse->mutex);
    status->answered_ms_ago = answered_us ? (int64_t)(at_us - answered_us) / 1000 : -1;
    status->reachable = answered_us && status->answered_ms_ago < SILENT_MS;
    status->told = atomic_load(&cluster->news.position);
    status->complete = atomic_load(&cluster->news.settled);
    status->lag_ms = status->told < known ? (int64_t)(at_us - known_us) / 1000 : 0;
    for (size_t i = 0; i < status->n_servers; i++) {
        struct tidings_cluster_server *server = &status->servers[i];
        server->seen_ms_ago += status->answered_ms_ago;
        server->is_running = server->seen_ms_ago < SERVER_SILENT_MS;
        server->is_this = server->slot == cluster->slot;
    }
    status->n_lanes = LANES;
    for (unsigned i = 0; i < LANES; i++)
        status->lanes_waiting[i] = waiting_in(&cluster->lanes[i].queue);
    status->reads_waiting = waiting_in(&cluster->reads);
    memory_status(cluster, status);
    copier_status(cluster, status);
    return TIDINGS_OK;
}

/* ---- From outside --------------------------------------------------------------------------- */

struct sql *cluster_connect(const struct tidings_options *options, enum tidings_err *err,
                            const char **message)
{
    static _Thread_local char why[512];
    struct sql_url url;
    *err = TIDINGS_INVALID;
    if (!sql_url_parse(options->mysql, &url, message))
        return NULL;
    struct sql *sql = sql_open(&url, options->mysql_password, SQL_SILENT_MS, 0, why, sizeof why);
    *err = TIDINGS_UNREACHABLE;
    *message = why;
    if (sql)
        *err = schema_check(sql, message);
    if (*err) {
        sql_close(sql);
        return NULL;
    }
    *message = NULL;
    return sql;
}

enum tidings_err cluster_refused(struct sql *sql, enum sql_outcome outcome, const char **message)
{
    static _Thread_local char why[512];
    if (outcome) {
        snprintf(why, sizeof why, "%s", sql_message(sql));
        *message = why;
    }
    return sql_err(outcome);
}

enum tidings_err engine_cluster_look(const struct tidings_options *options,
                                     struct tidings_cluster *status, const char **message)
{
    enum tidings_err err;
    struct tidings_cluster seen;
    struct sql *sql = cluster_connect(options, &err, message);
    if (!sql)
        return err;
    err = cluster_refused(sql, ask(sql, &seen), message);
    sql_close(sql);
    if (!err)
        *status = seen;
    return err;
}

enum tidings_err engine_cluster_users(const struct tidings_options *options, uint64_t after,
                                      size_t most, uint64_t *user_ids, size_t *n,
                                      const char **message)
{
    enum tidings_err err;
    struct buf text;
    struct sql *sql = cluster_connect(options, &err, message);
    if (!sql)
        return err;
    buf_init(&text, 1 << 10);
    buf_printf(&text, "SELECT user_id FROM user WHERE user_id > %llu ORDER BY user_id LIMIT %llu",
               (unsigned long long)after, (unsigned long long)most);
    enum sql_outcome outcome = sql_send(sql, &text);
    *n = 0;
    while (!outcome && *n < most && sql_row(sql))
        user_ids[(*n)++] = sql_u64(sql, 0);
    buf_release(&text);
    err = cluster_refused(sql, outcome, message);
    sql_close(sql);
    return err;
}
