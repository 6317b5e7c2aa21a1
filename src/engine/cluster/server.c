/* SPDX-License-Identifier: MIT */
/*
 * A server's place among the others: a slot, which its ids carry. It is leased, as a range of the ids' time: ids beyond it are
 * not made, and whoever has the slot next begins behind it. So a server that slept cannot make an id twice.
 */
#include "domain/ids.h"
#include "engine/cluster/cluster.h"

enum { LEASE_MS = 10000, SILENT_S = 10 };

static struct sql *connection(struct cluster *cluster)
{
    char why[512];
    if (!cluster->lease_sql)
        cluster->lease_sql =
            sql_open(&cluster->url, cluster->password, SQL_TIMEOUT_S, why, sizeof why);
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

enum tidings_err server_join(struct cluster *cluster, const char **message)
{
    enum sql_outcome outcome = SQL_DONE;
    bool ours = false;
    uint64_t until = 0;
    if (!connection(cluster)) {
        *message = "the database cannot be reached";
        return TIDINGS_UNREACHABLE;
    }
    for (cluster->slot = 0; !outcome && !ours && cluster->slot < ID_SLOTS; cluster->slot++)
        outcome = claim(cluster, cluster->slot, &ours);
    cluster->slot--;
    if (!outcome && ours)
        outcome = read_slot(cluster, &until);
    if (!outcome && ours)
        outcome = fence_lanes(cluster);
    if (outcome || !ours) {
        *message = outcome ? "the database refused a statement" : "16 servers are running already";
        return outcome ? sql_err(outcome) : TIDINGS_BUSY;
    }
    ids_begin(&cluster->ids, cluster->slot, until);
    cluster->lease_until_ms = 0;
    return TIDINGS_OK;
}

/* ---- Keeping it ----------------------------------------------------------------------------- */

static bool renew(struct cluster *cluster, uint64_t until)
{
    struct buf text;
    bool kept = false;
    if (!connection(cluster))
        return false;
    buf_init(&text, 1 << 12);
    buf_printf(&text,
               "UPDATE server SET until_id=%llu, seen_at=NOW(3) WHERE slot=%u AND fence=%llu",
               (unsigned long long)until, cluster->slot, (unsigned long long)cluster->fence);
    if (change(cluster, &text, &kept))
        lose(cluster);
    buf_release(&text);
    return kept;
}

bool server_extend(struct cluster *cluster, int64_t time_ms)
{
    bool fine = true;
    int64_t last_ms = ids_last_ms(&cluster->ids);
    time_ms = last_ms > time_ms ? last_ms : time_ms;
    pthread_mutex_lock(&cluster->lease_mutex);
    if (time_ms + LEASE_MS / 2 > cluster->lease_until_ms) {
        uint64_t until = id_floor(time_ms + LEASE_MS);
        fine = renew(cluster, until);
        if (fine) {
            ids_extend(&cluster->ids, until);
            cluster->lease_until_ms = time_ms + LEASE_MS;
        }
    }
    pthread_mutex_unlock(&cluster->lease_mutex);
    return fine;
}

/* The next one need not wait, and begins where this one ended. */
void server_leave(struct cluster *cluster)
{
    struct buf text;
    bool changed;
    if (!cluster->lease_sql)
        return;
    buf_init(&text, 1 << 12);
    buf_printf(&text,
               "UPDATE server SET until_id=%llu, seen_at='1970-01-01' WHERE slot=%u AND fence=%llu",
               (unsigned long long)ids_last(&cluster->ids), cluster->slot,
               (unsigned long long)cluster->fence);
    change(cluster, &text, &changed);
    buf_release(&text);
    lose(cluster);
}
