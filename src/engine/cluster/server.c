/* SPDX-License-Identifier: MIT */
/*
 * A server's place among the others: a slot, which its ids carry. It is leased, as a range of the ids' time: ids beyond it are
 * not made, and whoever has the slot next begins behind it. So a server that slept cannot make an id twice.
 *
 * With the lease goes the time. All servers share how much has elapsed (engine/clock.h): the furthest of them says, and the
 * others follow. And each compares its clock with the database's; one that is off makes no ids.
 */
#include <stdlib.h>

#include "base/wait.h"
#include "domain/ids.h"
#include "engine/cluster/cluster.h"

/* Lanes wait while the lease is renewed, for so long at most. */
enum { LEASE_MS = 10000, SILENT_S = SERVER_SILENT_MS / 1000, RENEW_MS = 3000 };

static struct sql *connection(struct cluster *cluster, int64_t until_ms)
{
    char why[512];
    if (!cluster->lease_sql)
        cluster->lease_sql =
            sql_open(&cluster->url, cluster->password, SQL_SILENT_MS, until_ms, why, sizeof why);
    if (cluster->lease_sql)
        sql_until(cluster->lease_sql, until_ms);
    return cluster->lease_sql;
}

static void lose(struct cluster *cluster)
{
    sql_close(cluster->lease_sql);
    cluster->lease_sql = NULL;
}

/* Runs one statement; whether it changed a row. */
static enum sql_outcome change(struct cluster *cluster, const struct buf *text, bool *changed)
{
    enum sql_outcome outcome = sql_send(cluster->lease_sql, text);
    *changed = !outcome && sql_affected(cluster->lease_sql) > 0;
    return outcome;
}

/* ---- Taking a slot -------------------------------------------------------------------------- */

static enum sql_outcome claim(struct cluster *cluster, unsigned slot, bool *ours)
{
    struct buf text;
    buf_init(&text, 1 << 12);
    buf_printf(
        &text,
        "INSERT INTO server (slot, fence, until_id, seen_at) VALUES (%u, 0, 0, '1970-01-01') "
        "ON DUPLICATE KEY UPDATE slot=slot",
        slot);
    enum sql_outcome outcome = sql_run(cluster->lease_sql, &text);
    buf_clear(&text);
    buf_printf(&text,
               "UPDATE server SET fence=fence+1, seen_at=NOW(3) WHERE slot=%u AND "
               "seen_at < NOW(3) - INTERVAL %d SECOND",
               slot, SILENT_S);
    if (!outcome)
        outcome = change(cluster, &text, ours);
    buf_release(&text);
    return outcome;
}

static enum sql_outcome read_slot(struct cluster *cluster, uint64_t *until)
{
    struct buf text;
    buf_init(&text, 1 << 12);
    buf_printf(&text, "SELECT fence, until_id FROM server WHERE slot=%u", cluster->slot);
    enum sql_outcome outcome = sql_send(cluster->lease_sql, &text);
    if (!outcome && sql_row(cluster->lease_sql)) {
        cluster->fence = sql_u64(cluster->lease_sql, 0);
        *until = sql_u64(cluster->lease_sql, 1);
    }
    buf_release(&text);
    return outcome;
}

/* Whoever had the slot can commit nothing from now on: see lane.c. */
static enum sql_outcome fence_lanes(struct cluster *cluster)
{
    struct buf text;
    buf_init(&text, 1 << 12);
    buf_literal(&text, "INSERT INTO lane (slot, lane, fence, batch) VALUES ");
    for (unsigned i = 0; i < LANES; i++)
        buf_printf(&text, "%s(%u,%u,%llu,0)", i ? "," : "", cluster->slot, i,
                   (unsigned long long)cluster->fence);
    buf_literal(&text, " ON DUPLICATE KEY UPDATE fence=VALUES(fence), batch=0");
    enum sql_outcome outcome = sql_run(cluster->lease_sql, &text);
    buf_release(&text);
    return outcome;
}

/* ---- The time ------------------------------------------------------------------------------- */

/* What all servers know of it. */
struct shared_time {
    int64_t elapsed_ms; /* 0: nobody has been here yet */
    struct ages ages;
    int64_t database_ms; /* by the database's clock */
};

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t wall_ms(const struct cluster *cluster)
{
    return cluster->clock.wall(cluster->clock.ctx);
}

/* Locks the row until the end of the transaction, if there is one. */
static enum sql_outcome read_time(struct cluster *cluster, struct shared_time *time)
{
    struct buf text;
    buf_init(&text, 1 << 12);
    buf_literal(&text, "SELECT elapsed_ms, CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS UNSIGNED), ages "
                       "FROM clock WHERE id=1 FOR UPDATE");
    enum sql_outcome outcome = sql_send(cluster->lease_sql, &text);
    *time = (struct shared_time){0};
    ages_init(&time->ages);
    if (!outcome && sql_row(cluster->lease_sql)) {
        struct bytes ages = sql_bytes(cluster->lease_sql, 2);
        time->elapsed_ms = (int64_t)sql_u64(cluster->lease_sql, 0);
        time->database_ms = (int64_t)sql_u64(cluster->lease_sql, 1);
        ages_unpack(&time->ages, ages.p, ages.n);
    }
    buf_release(&text);
    return outcome;
}

static void put_time(struct cluster *cluster, struct buf *text, const struct shared_time *time)
{
    uint8_t ages[AGES_BYTES_MAX];
    const struct clock_row *row = &cluster->clock.row;
    size_t n = ages_pack(&time->ages, ages);
    buf_printf(text, "UPDATE clock SET elapsed_ms=%lld, ages=", (long long)time->elapsed_ms);
    sql_put_bytes(text, (struct bytes){ages, n});
    buf_printf(
        text,
        " WHERE id=1;REPLACE INTO server_clock (slot, offset_ms, lead_ms, boot) VALUES (%u,%lld,"
        "%lld,",
        cluster->slot, (long long)atomic_load(&cluster->clock.offset_ms),
        (long long)atomic_load(&cluster->clock.lead_ms));
    sql_put_bytes(text, (struct bytes){(const uint8_t *)row->boot, strlen(row->boot)});
    buf_literal(text, ")");
}

/* Where servers on this machine left the time, since it was started; false: there were none. */
static enum sql_outcome read_boot(struct cluster *cluster, struct clock_row *row)
{
    struct buf text;
    char boot[BOOT_BYTES];
    boot_name(boot);
    buf_init(&text, 1 << 12);
    buf_literal(&text, "SELECT offset_ms, lead_ms FROM server_clock WHERE boot=");
    sql_put_bytes(&text, (struct bytes){(const uint8_t *)boot, strlen(boot)});
    buf_literal(&text, " ORDER BY offset_ms DESC LIMIT 1");
    enum sql_outcome outcome = sql_send(cluster->lease_sql, &text);
    if (!outcome && sql_row(cluster->lease_sql)) {
        row->offset_ms = sql_i64(cluster->lease_sql, 0);
        row->lead_ms = sql_i64(cluster->lease_sql, 1);
        memcpy(row->boot, boot, sizeof boot);
    }
    buf_release(&text);
    return outcome;
}

static enum sql_outcome resume_time(struct cluster *cluster)
{
    struct shared_time time;
    struct clock_row row = {.boot = NO_BOOT};
    enum sql_outcome outcome = read_time(cluster, &time);
    if (!outcome)
        outcome = read_boot(cluster, &row);
    row.ages = time.ages;
    /* At a time that leads the time elapsed as much as ids did: no jump. */
    struct clock_left left = {.has_elapsed = time.elapsed_ms != 0,
                              .elapsed_ms = time.elapsed_ms,
                              .newest_ms = time.elapsed_ms + time.ages.at[time.ages.n - 1].lead_ms,
                              .row = time.elapsed_ms ? &row : NULL,
                              .shared = true};
    if (outcome)
        return outcome;
    clock_open(&cluster->clock, &left);
    atomic_store(&cluster->elapsed_ms, time.elapsed_ms);
    return SQL_DONE;
}

/* The database's clock was read at some time between then and now: what is sure of how far they are apart. */
static void compare_clocks(struct cluster *cluster, int64_t before_ms, int64_t database_ms)
{
    int64_t after_ms = wall_ms(cluster), off_ms = 0;
    if (before_ms > database_ms)
        off_ms = before_ms - database_ms;
    else if (after_ms < database_ms)
        off_ms = after_ms - database_ms;
    atomic_store(&cluster->off_ms, cluster->compares_clocks ? off_ms : 0);
    atomic_store(&cluster->ahead_ms, clock_ahead(&cluster->clock));
}

/* What was done to the clock since they were compared. */
static int64_t moved_ms(struct cluster *cluster)
{
    return clock_ahead(&cluster->clock) - atomic_load(&cluster->ahead_ms);
}

int64_t server_off_ms(struct cluster *cluster)
{
    return cluster->compares_clocks ? atomic_load(&cluster->off_ms) + moved_ms(cluster) : 0;
}

static bool is_off(struct cluster *cluster)
{
    return llabs(server_off_ms(cluster)) > CLOCKS_APART_MS || clock_read(&cluster->clock).stopped;
}

/* ---- Joining -------------------------------------------------------------------------------- */

/* *ours is false if all slots are taken. */
static enum sql_outcome take_slot(struct cluster *cluster, bool *ours)
{
    enum sql_outcome outcome = SQL_DONE;
    uint64_t until = 0;
    unsigned slot = 0;
    *ours = false;
    while (!outcome && !*ours && slot < ID_SLOTS)
        outcome = claim(cluster, slot++, ours);
    if (outcome || !*ours)
        return outcome;
    cluster->slot = slot - 1;
    outcome = read_slot(cluster, &until);
    if (!outcome)
        outcome = fence_lanes(cluster);
    if (!outcome)
        ids_begin(&cluster->ids, cluster->slot, until);
    cluster->lease_until_ms = 0;
    return outcome;
}

enum tidings_err server_join(struct cluster *cluster, const char **message)
{
    bool ours;
    if (!connection(cluster, 0)) {
        *message = "the database cannot be reached";
        return TIDINGS_UNREACHABLE;
    }
    enum sql_outcome outcome = take_slot(cluster, &ours);
    if (!outcome && ours)
        outcome = resume_time(cluster);
    if (!outcome && ours)
        return TIDINGS_OK;
    *message = outcome ? "the database refused a statement" : "16 servers are running already";
    return outcome ? sql_err(outcome) : TIDINGS_BUSY;
}

enum tidings_err server_visit(struct cluster *cluster, const char **message)
{
    if (!connection(cluster, 0)) {
        *message = "the database cannot be reached";
        return TIDINGS_UNREACHABLE;
    }
    enum sql_outcome outcome = resume_time(cluster);
    lose(cluster);
    return sql_err(outcome);
}

/* ---- Keeping it ----------------------------------------------------------------------------- */

/* Tells the others that it is here, and until when it may make ids; *kept is false if its slot is another's. */
static enum sql_outcome renew_slot(struct cluster *cluster, int64_t until_ms, bool *kept)
{
    struct buf text;
    buf_init(&text, 1 << 12);
    buf_printf(
        &text, "UPDATE server SET until_id=%llu, seen_at=NOW(3) WHERE slot=%u AND fence=%llu",
        (unsigned long long)id_floor(until_ms), cluster->slot, (unsigned long long)cluster->fence);
    enum sql_outcome outcome = change(cluster, &text, kept);
    buf_release(&text);
    return outcome;
}

static enum sql_outcome write_time(struct cluster *cluster, const struct shared_time *time)
{
    struct buf text;
    buf_init(&text, 1 << 13);
    put_time(cluster, &text, time);
    buf_literal(&text, ";COMMIT");
    enum sql_outcome outcome = sql_run(cluster->lease_sql, &text);
    buf_release(&text);
    return outcome;
}

/* The time goes on by what this server knows; the marks by the clock that all share. */
static void advance(struct cluster *cluster, struct shared_time *time, const struct moment *at)
{
    clock_raise(&cluster->clock, time->elapsed_ms);
    struct moment now = clock_look(&cluster->clock);
    time->elapsed_ms = later(time->elapsed_ms, atomic_load(&cluster->elapsed_ms));
    if (is_off(cluster) || !cluster->clock.since) /* a clock that is both times never jumps */
        return;
    time->elapsed_ms = later(time->elapsed_ms, later(at->elapsed_ms, now.elapsed_ms));
    ages_note(&time->ages, time->elapsed_ms, at->wall_ms - atomic_load(&cluster->off_ms),
              cluster->clock.keep_ms);
    clock_share(&cluster->clock, &time->ages);
}

/* The lease and the time, in one transaction. Ids beyond the lease that stands are made only if they may be. */
static enum sql_outcome renew(struct cluster *cluster, const struct moment *at, bool *kept)
{
    struct shared_time time;
    int64_t before_ms = wall_ms(cluster);
    enum sql_outcome outcome = sql_run_text(cluster->lease_sql, "BEGIN");
    if (!outcome)
        outcome = read_time(cluster, &time);
    if (outcome)
        return outcome;
    compare_clocks(cluster, before_ms, time.database_ms);
    advance(cluster, &time, at);
    int64_t until_ms = is_off(cluster) ? cluster->lease_until_ms
                                       : later(at->wall_ms + LEASE_MS, cluster->lease_until_ms);
    outcome = renew_slot(cluster, until_ms, kept);
    if (!outcome && *kept)
        outcome = write_time(cluster, &time);
    if (outcome || !*kept)
        return outcome;
    cluster->lease_until_ms = until_ms;
    ids_extend(&cluster->ids, id_floor(until_ms));
    return SQL_DONE;
}

/* Another server has the slot, since this one was silent for too long. It may have made ids up to the lease's end in it, and goes
 * on behind these in another. */
static enum sql_outcome join_again(struct cluster *cluster, const struct moment *at)
{
    bool ours = false, kept = false;
    enum sql_outcome outcome = sql_run_text(cluster->lease_sql, "ROLLBACK");
    if (!outcome)
        outcome = take_slot(cluster, &ours);
    if (!outcome && !ours)
        return SQL_READ_ONLY; /* 16 others run: nothing can be written here */
    return outcome ? outcome : renew(cluster, at, &kept);
}

static enum sql_outcome keep(struct cluster *cluster, const struct moment *at)
{
    int64_t until_ms = wait_now_ms() + RENEW_MS;
    enum sql_outcome outcome = SQL_LOST;
    bool kept = false;
    for (int i = 0; i < 2 && outcome == SQL_LOST; i++) { /* the connection may be a dead one */
        if (!connection(cluster, until_ms))
            return SQL_LOST;
        outcome = renew(cluster, at, &kept);
        if (!outcome && !kept)
            outcome = join_again(cluster, at);
        if (outcome)
            lose(cluster);
    }
    return outcome;
}

static bool is_due(struct cluster *cluster, int64_t time_ms)
{
    return time_ms + LEASE_MS / 2 > cluster->lease_until_ms || is_off(cluster) ||
           llabs(moved_ms(cluster)) > CLOCKS_APART_MS;
}

enum sql_outcome server_extend(struct cluster *cluster, const struct moment *at,
                               struct standing *standing)
{
    struct moment until = *at;
    enum sql_outcome outcome = SQL_DONE;
    until.wall_ms = later(at->wall_ms, ids_last_ms(&cluster->ids));
    pthread_mutex_lock(&cluster->lease_mutex);
    if (is_due(cluster, until.wall_ms))
        outcome = keep(cluster, &until);
    if (!outcome)
        *standing = (struct standing){cluster->slot, cluster->fence, is_off(cluster)};
    pthread_mutex_unlock(&cluster->lease_mutex);
    return outcome;
}

void server_is_fenced(struct cluster *cluster, const struct standing *standing)
{
    pthread_mutex_lock(&cluster->lease_mutex);
    if (cluster->slot == standing->slot && cluster->fence == standing->fence)
        cluster->lease_until_ms = 0;
    pthread_mutex_unlock(&cluster->lease_mutex);
}

void server_beat(struct cluster *cluster)
{
    struct moment now = clock_read(&cluster->clock);
    now.wall_ms = later(now.wall_ms, ids_last_ms(&cluster->ids));
    pthread_mutex_lock(&cluster->lease_mutex);
    enum sql_outcome outcome = keep(cluster, &now);
    pthread_mutex_unlock(&cluster->lease_mutex);
    cluster_note_lease(cluster, outcome);
}

bool server_is_first(struct cluster *cluster)
{
    struct buf text;
    bool first = false;
    buf_init(&text, 1 << 12);
    buf_printf(&text,
               "SELECT MIN(slot), COUNT(*) FROM server WHERE seen_at > NOW(3) - INTERVAL %d SECOND",
               SILENT_S);
    pthread_mutex_lock(&cluster->lease_mutex);
    if (connection(cluster, wait_now_ms() + RENEW_MS)) {
        enum sql_outcome outcome = sql_send(cluster->lease_sql, &text);
        if (outcome) {
            lose(cluster);
        } else if (sql_row(cluster->lease_sql)) {
            first = sql_u64(cluster->lease_sql, 0) == cluster->slot;
            atomic_store(&cluster->others, sql_u64(cluster->lease_sql, 1) > 1);
        }
    }
    pthread_mutex_unlock(&cluster->lease_mutex);
    buf_release(&text);
    return first;
}

/* The next one need not wait, and begins where this one ended. */
void server_leave(struct cluster *cluster)
{
    struct buf text;
    if (!cluster->lease_sql)
        return;
    sql_until(cluster->lease_sql, wait_now_ms() + RENEW_MS);
    buf_init(&text, 1 << 12);
    buf_printf(&text,
               "UPDATE clock SET elapsed_ms=GREATEST(elapsed_ms,%lld) WHERE id=1;"
               "UPDATE server SET until_id=%llu, seen_at='1970-01-01' WHERE slot=%u AND fence=%llu",
               (long long)atomic_load(&cluster->elapsed_ms),
               (unsigned long long)ids_last(&cluster->ids), cluster->slot,
               (unsigned long long)cluster->fence);
    sql_run(cluster->lease_sql, &text);
    buf_release(&text);
    lose(cluster);
}
