/* SPDX-License-Identifier: MIT */
/* The cluster engine's life, and its table. */
#include "engine/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/wait.h"
#include "engine/cluster/schema.h"
#include "engine/ops/ops.h"

/* What a batch takes for itself while it is worked on. */
#define SHEET_MEMORY_MAX   ((size_t)1 << 30)
#define SCRATCH_MEMORY_MAX ((size_t)1 << 30)
#define TEXT_MAX           ((size_t)256 << 20)

/* Authors' rows that are remembered: some 700,000. */
#define CURRENT_BYTES ((size_t)32 << 20)
#define BITS_BYTES    ((size_t)8 << 20)

enum { BUSY_RETRY_MS = 1000 };

/* ---- Desks ---------------------------------------------------------------------------------- */

struct moment cluster_now(struct cluster *cluster, const struct tidings_op *op)
{
    int64_t elapsed_ms = atomic_load(&cluster->elapsed_ms);
    int64_t last_ms = elapsed_ms + atomic_load(&cluster->clock.lead_ms);
    return clock_at(&cluster->clock, op->now_ms, last_ms, elapsed_ms);
}

void desk_init(struct cluster *cluster, struct desk *desk, bool reads)
{
    *desk = (struct desk){.ids = &cluster->ids,
                          .clock = &cluster->clock,
                          .clocks_apart_ms = cluster->compares_clocks ? CLOCKS_APART_MS : 0,
                          .silent_ms = SQL_SILENT_MS,
                          .reads = reads};
    sheet_init(&desk->sheet, SHEET_MEMORY_MAX);
    desk->copies = &cluster->copies;
    desk->current = &cluster->memory.current;
    desk->bits = &cluster->memory.bits;
    desk->known = &cluster->known;
    known_join(desk->known, &desk->guest);
    arena_init(&desk->scratch, SCRATCH_MEMORY_MAX);
    buf_init(&desk->text, TEXT_MAX);
}

/* The session's settings. MariaDB and MySQL each have their own word for the longest statement, and pass over the other's. A server that stands
 * still, or whose machine is gone, may hold locks that everybody needs; MariaDB takes them away from it when its slot can be had, too. */
static void put_session(struct desk *desk)
{
    buf_clear(&desk->text);
    buf_printf(&desk->text,
               "SET SESSION TRANSACTION ISOLATION LEVEL %s"
               ";SET SESSION autocommit=1 /*M!100301 , idle_write_transaction_timeout=%d*/",
               desk->reads ? "REPEATABLE READ" : "READ COMMITTED", SERVER_SILENT_MS / 1000);
    if (desk->longest_ms)
        buf_printf(&desk->text,
                   ";SET SESSION autocommit=1 /*M!100101 , max_statement_time=%lld.%03lld*/ "
                   "/*!50708 , max_execution_time=%lld*/",
                   (long long)desk->longest_ms / 1000, (long long)desk->longest_ms % 1000,
                   (long long)desk->longest_ms);
}

/* Of the last connection that the thread could not have. */
static _Thread_local char why[512];

bool desk_connect(struct cluster *cluster, struct desk *desk, int64_t until_ms)
{
    if (desk->sql) {
        sql_until(desk->sql, until_ms);
        return true;
    }
    desk->sql =
        sql_open(&cluster->url, cluster->password, desk->silent_ms, until_ms, why, sizeof why);
    if (!desk->sql)
        return false;
    put_session(desk);
    bool fine = !sql_run(desk->sql, &desk->text);
    buf_clear(&desk->text);
    if (!fine) {
        snprintf(why, sizeof why, "%s", sql_message(desk->sql));
        desk_disconnect(desk);
    }
    return fine;
}

static enum tidings_err unreachable(const char **message)
{
    *message = why;
    return TIDINGS_UNREACHABLE;
}

void desk_disconnect(struct desk *desk)
{
    sql_close(desk->sql);
    desk->sql = NULL;
}

void desk_tell_refusal(struct cluster *cluster, const struct desk *desk, enum sql_outcome outcome)
{
    char text[512];
    if (outcome != SQL_REFUSED || !cluster->fault)
        return;
    snprintf(text, sizeof text, "the database refused a statement: %s", sql_message(desk->sql));
    cluster->fault(cluster->fault_ctx, text);
}

void desk_clear(struct desk *desk)
{
    sheet_clear(&desk->sheet);
    known_leave(desk->known, &desk->guest);
    desk->n_wanted_heads = desk->n_torn = 0;
    arena_clear(&desk->scratch);
    buf_clear(&desk->text);
    desk->questions = NULL;
    desk->n_events = 0;
    desk->n_positions = 0;
    desk->news.n = 0;
}

void desk_release(struct desk *desk)
{
    sheet_release(&desk->sheet);
    known_part(desk->known, &desk->guest);
    free(desk->wanted_heads);
    free(desk->torn);
    arena_release(&desk->scratch);
    buf_release(&desk->text);
    sql_close(desk->sql);
    free(desk->events);
    free(desk->news.events);
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

struct desk_view desk_view_of(struct cluster *cluster, struct desk *desk,
                              const struct tidings_op *op, size_t call)
{
    struct moment at = cluster_now(cluster, op);
    return (struct desk_view){
        .view = {.rows = &cluster_rows,
                 .settings = &cluster->settings,
                 .scratch = &desk->scratch,
                 .now_ms = later(at.wall_ms, ids_last_ms(&cluster->ids)),
                 .elapsed_ms = at.elapsed_ms},
        .desk = desk,
        .call = call,
        .actor = op->user_id,
        .n_events = desk->n_events,
        .n_positions = desk->n_positions,
    };
}

/* ---- Operations ----------------------------------------------------------------------------- */

static void count_refused(struct cluster *cluster)
{
    pthread_mutex_lock(&cluster->stats_mutex);
    cluster->stats.refused_busy++;
    pthread_mutex_unlock(&cluster->stats_mutex);
}

static void cluster_submit(struct engine *engine, struct tidings_call *call)
{
    struct cluster *cluster = (struct cluster *)engine;
    struct queue *queue = &cluster->reads;
    size_t most = cluster->settings.queue_max;
    bool closed = false, full = false;
    if (op_writes(call->op->kind)) {
        queue = &cluster->lanes[call->op->user_id % LANES].queue;
        full = queue_waiting(&cluster->reads) >= most; /* it will have to be answered there */
    }
    call->until_ms = wait_now_ms() + (int64_t)cluster->settings.deadline_ms - call->waited_ms;
    if (!full && queue_push(queue, call, most, &closed))
        return;
    call->err = closed ? TIDINGS_CLOSED : TIDINGS_BUSY;
    call->answer->retry_after_ms = closed ? 0 : BUSY_RETRY_MS;
    if (!closed && queue != &cluster->reads)
        count_refused(cluster);
    call->done(call);
}

/* All of it is there already. */
static enum tidings_err cluster_finish(struct engine *engine, struct tidings_call *call)
{
    (void)engine;
    return call->err;
}

static int64_t cluster_elapsed(struct engine *engine)
{
    return clock_read(&((struct cluster *)engine)->clock).elapsed_ms;
}

static void cluster_stats(struct engine *engine, struct tidings_stats *stats)
{
    struct cluster *cluster = (struct cluster *)engine;
    pthread_mutex_lock(&cluster->stats_mutex);
    *stats = cluster->stats;
    stats->read_only = cluster->trouble != SQL_DONE;
    pthread_mutex_unlock(&cluster->stats_mutex);
    stats->newest_id = ids_last(&cluster->ids);
    clock_stats(&cluster->clock, stats);
    stats->clock_off_ms = server_off_ms(cluster);
    stats->clock_stopped |= llabs(stats->clock_off_ms) > CLOCKS_APART_MS;
    for (unsigned i = 0; i < cluster->n_lanes; i++)
        stats->waiting += queue_waiting(&cluster->lanes[i].queue);
}

/* One that a lease has as well as a change. */
static bool is_of_all(enum sql_outcome outcome)
{
    return outcome == SQL_LOST || outcome == SQL_READ_ONLY;
}

void cluster_note_change(struct cluster *cluster, enum sql_outcome outcome)
{
    pthread_mutex_lock(&cluster->stats_mutex);
    if (outcome == SQL_DONE || outcome == SQL_FULL || is_of_all(outcome))
        cluster->trouble = outcome;
    pthread_mutex_unlock(&cluster->stats_mutex);
}

void cluster_note_lease(struct cluster *cluster, enum sql_outcome outcome)
{
    pthread_mutex_lock(&cluster->stats_mutex);
    if (is_of_all(outcome) || (outcome == SQL_DONE && is_of_all(cluster->trouble)))
        cluster->trouble = outcome;
    pthread_mutex_unlock(&cluster->stats_mutex);
}

static enum tidings_err cluster_secret(struct engine *engine, uint8_t secret[TIDINGS_SECRET_BYTES])
{
    struct cluster *cluster = (struct cluster *)engine;
    memcpy(secret, cluster->secret, TIDINGS_SECRET_BYTES);
    return TIDINGS_OK;
}

/* ---- Life ----------------------------------------------------------------------------------- */

static void release(struct cluster *cluster)
{
    server_leave(cluster);
    ids_release(&cluster->ids);
    for (unsigned i = 0; i < LANES; i++) {
        desk_release(&cluster->lanes[i].desk);
        queue_release(&cluster->lanes[i].queue);
    }
    for (unsigned i = 0; i < READERS; i++)
        desk_release(&cluster->readers[i].desk);
    desk_release(&cluster->news.desk);
    desk_release(&cluster->caretaker.desk);
    ticker_release(&cluster->news.ticker);
    ticker_release(&cluster->caretaker.ticker);
    clock_release(&cluster->clock);
    copies_release(&cluster->copies);
    kafka_relay_release(cluster);
    copier_release(cluster);
    known_release(&cluster->known);
    memory_close(cluster);
    current_release(&cluster->memory.current);
    bits_release(&cluster->memory.bits);
    sql_close(cluster->pulse.sql);
    ticker_release(&cluster->pulse.ticker);
    ticker_release(&cluster->reconciler);
    pthread_mutex_destroy(&cluster->pulse.mutex);
    queue_release(&cluster->reads);
    pthread_mutex_destroy(&cluster->lease_mutex);
    pthread_mutex_destroy(&cluster->tell);
    pthread_cond_destroy(&cluster->told);
    pthread_mutex_destroy(&cluster->stats_mutex);
    engine_release(&cluster->engine);
    free(cluster->password);
    free(cluster);
}

/* Lanes first: what they have changed is answered by readers. */
static void stop(struct cluster *cluster)
{
    news_stop(cluster);
    caretaker_stop(cluster);
    ticker_stop(&cluster->pulse.ticker);
    ticker_stop(&cluster->relay.consumer.ticker);
    ticker_stop(&cluster->copier.consumer.ticker);
    ticker_stop(&cluster->reconciler);
    for (unsigned i = 0; i < cluster->n_lanes; i++)
        queue_close(&cluster->lanes[i].queue);
    for (unsigned i = 0; i < cluster->n_lanes; i++)
        pthread_join(cluster->lanes[i].thread, NULL);
    queue_close(&cluster->reads);
    for (unsigned i = 0; i < cluster->n_readers; i++)
        pthread_join(cluster->readers[i].thread, NULL);
}

static void cluster_close(struct engine *engine)
{
    struct cluster *cluster = (struct cluster *)engine;
    stop(cluster);
    release(cluster);
}

static const struct tidings_settings *cluster_settings(struct engine *engine)
{
    return &((struct cluster *)engine)->settings;
}

static const struct engine_vtable cluster_vtable = {
    .submit = cluster_submit,
    .finish = cluster_finish,
    .elapsed = cluster_elapsed,
    .stats = cluster_stats,
    .verify = cluster_verify,
    .export = cluster_export,
    .import_look = cluster_import_look,
    .import_piece = cluster_import_piece,
    .import_end = cluster_import_end,
    .target = &cluster_target,
    .settings = cluster_settings,
    .secret = cluster_secret,
    .cluster_status = cluster_status,
    .close = cluster_close,
};

static enum tidings_err start_threads(struct cluster *cluster, const char **message)
{
    for (; cluster->n_lanes < LANES; cluster->n_lanes++) {
        struct lane *lane = &cluster->lanes[cluster->n_lanes];
        if (!desk_connect(cluster, &lane->desk, 0))
            return unreachable(message);
        if (pthread_create(&lane->thread, NULL, lane_main, lane))
            return TIDINGS_NO_MEMORY;
    }
    for (; cluster->n_readers < READERS; cluster->n_readers++) {
        struct reader *reader = &cluster->readers[cluster->n_readers];
        if (!desk_connect(cluster, &reader->desk, 0))
            return unreachable(message);
        if (pthread_create(&reader->thread, NULL, reader_main, reader))
            return TIDINGS_NO_MEMORY;
    }
    return TIDINGS_OK;
}

static enum tidings_err read_secret(struct cluster *cluster, const char **message)
{
    struct desk *desk = &cluster->readers[0].desk;
    buf_literal(&desk->text, "SELECT bytes FROM secret WHERE id = 1");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    struct bytes bytes = {NULL, 0};
    if (!outcome && sql_row(desk->sql))
        bytes = sql_bytes(desk->sql, 0);
    if (bytes.n == TIDINGS_SECRET_BYTES)
        memcpy(cluster->secret, bytes.p, bytes.n);
    buf_clear(&desk->text);
    if (outcome || bytes.n == TIDINGS_SECRET_BYTES)
        return sql_err(outcome);
    *message = "the secret that servers share is missing: run `tidings cluster init`";
    return TIDINGS_VERSION;
}

/* Tables of another version are not touched. */
static enum tidings_err check_tables(struct cluster *cluster, const char **message)
{
    struct desk *desk = &cluster->readers[0].desk;
    if (!desk_connect(cluster, desk, 0))
        return unreachable(message);
    enum tidings_err err = schema_check(desk->sql, message);
    return err ? err : read_secret(cluster, message);
}

static struct cluster *make(const struct tidings_options *options)
{
    struct cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster)
        return NULL;
    engine_init(&cluster->engine, &cluster_vtable);
    cluster->settings = options->settings;
    clock_init(&cluster->clock, options);
    cluster->compares_clocks = !options->clock;
    cluster->fault = options->fault;
    cluster->fault_ctx = options->fault_ctx;
    pthread_mutex_init(&cluster->lease_mutex, NULL);
    pthread_mutex_init(&cluster->tell, NULL);
    pthread_cond_init(&cluster->told, NULL);
    pthread_mutex_init(&cluster->stats_mutex, NULL);
    atomic_init(&cluster->others, true);
    copies_init(&cluster->copies, (size_t)cluster->settings.recent_mb << 20);
    known_init(&cluster->known, (size_t)cluster->settings.heads_mb << 20);
    current_init(&cluster->memory.current, options->redis ? CURRENT_BYTES : 0);
    bits_init(&cluster->memory.bits, options->redis ? BITS_BYTES : 0);
    ids_init(&cluster->ids);
    queue_init(&cluster->reads);
    for (unsigned i = 0; i < LANES; i++) {
        cluster->lanes[i].cluster = cluster;
        cluster->lanes[i].number = i;
        queue_init(&cluster->lanes[i].queue);
        desk_init(cluster, &cluster->lanes[i].desk, false);
    }
    for (unsigned i = 0; i < READERS; i++) {
        cluster->readers[i].cluster = cluster;
        desk_init(cluster, &cluster->readers[i].desk, true);
        cluster->readers[i].desk.longest_ms = (int64_t)cluster->settings.deadline_ms;
    }
    cluster->news.cluster = cluster;
    cluster->pulse.cluster = cluster;
    ticker_init(&cluster->pulse.ticker);
    ticker_init(&cluster->reconciler);
    pthread_mutex_init(&cluster->pulse.mutex, NULL);
    desk_init(cluster, &cluster->news.desk, true);
    ticker_init(&cluster->news.ticker);
    cluster->caretaker.cluster = cluster;
    desk_init(cluster, &cluster->caretaker.desk, false);
    ticker_init(&cluster->caretaker.ticker);
    kafka_relay_init(cluster, options);
    copier_init(cluster);
    cluster->password = strdup(options->mysql_password ? options->mysql_password : "");
    if (cluster->password)
        return cluster;
    release(cluster);
    return NULL;
}

/* For an import alone: no threads, and no calls. What is half there is not judged anew by other rules: servers do that with what is whole. */
static enum tidings_err open_to_import(struct cluster *cluster, const char **message)
{
    bool unfinished = false;
    for (unsigned i = 0; i < LANES; i++)
        queue_close(&cluster->lanes[i].queue);
    queue_close(&cluster->reads);
    enum tidings_err err = server_visit(cluster, message);
    if (!err)
        err = import_find(cluster, &unfinished);
    return err ? err : cluster_reheat(cluster, unfinished);
}

/* An import looks for servers behind having said that it begins, and these for an import behind having joined: one of them sees the
 * other. */
static enum tidings_err open_to_serve(struct cluster *cluster,
                                      const struct tidings_options *options, const char **message)
{
    enum tidings_err err = memory_open(cluster, options, message);
    if (!err)
        err = server_join(cluster, message);
    if (!err)
        err = import_refuse_unfinished(cluster, message);
    if (!err)
        err = cluster_reheat(cluster, options->as_stored);
    if (!err)
        err = start_threads(cluster, message);
    if (!err)
        err = news_start(cluster);
    if (!err)
        err = caretaker_start(cluster);
    if (!err)
        err = pulse_start(cluster);
    if (!err)
        err = kafka_relay_start(cluster, message);
    if (!err)
        err = copier_start(cluster);
    if (!err && !options->as_stored)
        err = reconcile_start(cluster);
    return err;
}

enum tidings_err engine_cluster_open(const struct tidings_options *options, struct engine **engine,
                                     const char **message)
{
    struct cluster *cluster = make(options);
    if (!cluster)
        return TIDINGS_NO_MEMORY;
    enum tidings_err err = TIDINGS_INVALID;
    if (sql_url_parse(options->mysql, &cluster->url, message))
        err = check_tables(cluster, message);
    if (!err)
        err = options->importing ? open_to_import(cluster, message)
                                 : open_to_serve(cluster, options, message);
    if (err) {
        stop(cluster);
        release(cluster);
        return err;
    }
    *engine = &cluster->engine;
    return TIDINGS_OK;
}

/* ---- The tables ----------------------------------------------------------------------------- */

/* The database may not be there yet: its name is one that may stand in a statement. */
static enum sql_outcome make_database(struct sql *sql, const char *database)
{
    struct buf text;
    buf_init(&text, 1 << 10);
    buf_printf(&text, "CREATE DATABASE IF NOT EXISTS `%s` CHARACTER SET utf8mb4; USE `%s`",
               database, database);
    enum sql_outcome outcome = sql_run(sql, &text);
    buf_release(&text);
    return outcome;
}

enum tidings_err engine_cluster_init(const struct tidings_options *options,
                                     void (*said)(void *ctx, const char *line), void *ctx,
                                     const char **message)
{
    struct sql_url url, server;
    bool newer = false;
    if (!sql_url_parse(options->mysql, &url, message))
        return TIDINGS_INVALID;
    server = url;
    *server.database = '\0';
    struct sql *sql = sql_open(&server, options->mysql_password, SQL_SILENT_MS, 0, why, sizeof why);
    if (!sql)
        return unreachable(message);
    enum sql_outcome outcome = make_database(sql, url.database);
    if (!outcome)
        outcome = schema_upgrade(sql, said, ctx, &newer);
    if (outcome) {
        snprintf(why, sizeof why, "%s", sql_message(sql));
        *message = why;
    }
    sql_close(sql);
    if (outcome || !newer)
        return sql_err(outcome);
    *message = schema_is_newer;
    return TIDINGS_VERSION;
}
