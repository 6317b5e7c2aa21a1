/* SPDX-License-Identifier: MIT */
/*
 * What verify looks at and mends, by itself: the first of the servers that run looks at a page now and then, so that a round of all
 * pages is over in reconcile_hours, and then begins another. How far it is stands in a row, so that it goes on there after a
 * restart, or on another server. Two that look at the same page do no harm: one of them moves on.
 */
#include <stdio.h>

#include "base/thread.h"
#include "base/wait.h"
#include "engine/cluster/verify.h"

/* A page that took so long is followed by RESTS times as long without one, however late the round is: 5 % at most of what one connection can
 * do. */
enum { IDLE_MS = 2000, RESTS = 19, LINES_MAX = 20, SILENT_MS = 3 * SQL_SILENT_MS, HEADS_MB = 64 };

struct round {
    uint64_t step;
    bool under_way;
    struct place_in_round place;
    uint64_t done, total, found, mended;
    int64_t began_ms_ago;
};

/* ---- Its row -------------------------------------------------------------------------------- */

static void take_round(struct sql *sql, struct round *round)
{
    *round = (struct round){
        .step = sql_u64(sql, 0),
        .under_way = sql_u64(sql, 1),
        .place = {.stage = (unsigned)sql_u64(sql, 2),
                  .walk = (unsigned)sql_u64(sql, 3),
                  .key = {sql_u64(sql, 4), sql_u64(sql, 5), sql_u64(sql, 6)},
                  .again = (unsigned)sql_u64(sql, 7),
                  .mended = sql_u64(sql, 8)},
        .done = sql_u64(sql, 9),
        .total = sql_u64(sql, 10),
        .found = sql_u64(sql, 11),
        .mended = sql_u64(sql, 12),
        .began_ms_ago = sql_i64(sql, 13),
    };
    if (!check_walk(round->place.stage, round->place.walk)) /* another version's */
        round->under_way = false;
}

static enum sql_outcome read_round(struct desk *desk, struct round *round)
{
    buf_literal(&desk->text,
                "SELECT step, under_way, stage, walk, key_a, key_b, key_c, again, again_wanted, "
                "done, total, found, mended, TIMESTAMPDIFF(MICROSECOND, began_at, NOW(3)) DIV 1000 "
                "FROM reconciliation WHERE id=1");
    enum sql_outcome outcome = sql_send(desk->sql, &desk->text);
    *round = (struct round){0};
    if (!outcome && sql_row(desk->sql))
        take_round(desk->sql, round);
    buf_clear(&desk->text);
    return outcome;
}

/* Unless another server has moved on meanwhile. */
static enum sql_outcome write_round(struct desk *desk, const struct round *round, bool begins,
                                    bool over)
{
    const struct place_in_round *place = &round->place;
    buf_printf(
        &desk->text,
        "UPDATE reconciliation SET step=step+1, under_way=%d, stage=%u, walk=%u, key_a=%llu, "
        "key_b=%llu, key_c=%llu, again=%u, again_wanted=%d, done=%llu, total=%llu, "
        "found=%llu, mended=%llu",
        !over, over ? 0 : place->stage, over ? 0 : place->walk, (unsigned long long)place->key[0],
        (unsigned long long)place->key[1], (unsigned long long)place->key[2], place->again,
        place->mended, (unsigned long long)round->done, (unsigned long long)round->total,
        (unsigned long long)round->found, (unsigned long long)round->mended);
    if (begins)
        buf_literal(&desk->text, ", began_at=NOW(3)");
    if (over)
        buf_literal(&desk->text, ", last_ended_at=NOW(3), last_took_ms=TIMESTAMPDIFF(MICROSECOND, "
                                 "began_at, NOW(3)) DIV 1000, last_rows=done, last_found=found, "
                                 "last_mended=mended");
    buf_printf(&desk->text, " WHERE id=1 AND step=%llu", (unsigned long long)round->step);
    enum sql_outcome outcome = sql_run(desk->sql, &desk->text);
    buf_clear(&desk->text);
    return outcome;
}

/* ---- A page --------------------------------------------------------------------------------- */

/* Numbers and the program's own words. A table that is all wrong does not fill the log. */
static void log_drift(struct check *check, const char *difference)
{
    char text[512];
    struct cluster *cluster = check->cluster;
    if (!cluster->fault || check->out->differences > LINES_MAX)
        return;
    snprintf(text, sizeof text, "drift: %s%s", difference,
             check->out->differences == LINES_MAX ? "; and more of it on this page" : "");
    cluster->fault(cluster->fault_ctx, text);
}

static int64_t due_in_ms(const struct cluster *cluster, const struct round *round)
{
    double length_ms = (double)cluster->settings.reconcile_hours * 3600 * 1000;
    double part = round->total ? (double)round->done / (double)round->total : 0;
    return (int64_t)(length_ms * (round->under_way ? part : 1)) - round->began_ms_ago;
}

static enum sql_outcome do_page(struct check *check, struct round *round)
{
    bool over, begins = !round->under_way;
    struct tidings_verify *out = check->out;
    if (begins)
        *round = (struct round){.step = round->step};
    *out = (struct tidings_verify){.repair = true};
    check->done = round->done;
    check->total = round->total;
    enum sql_outcome outcome = check_step(check, &round->place, &over);
    if (outcome)
        return outcome;
    round->done = check->done;
    round->total = check->total;
    round->found += out->differences;
    round->mended += out->repaired;
    return write_round(&check->mender, round, begins, over);
}

/* Until when nothing is to be done. */
static int64_t look(struct check *check)
{
    struct cluster *cluster = check->cluster;
    struct desk *desk = &check->mender;
    struct round round;
    if (!atomic_load(&cluster->is_first) || !check_connect(check, desk))
        return IDLE_MS;
    enum sql_outcome outcome = read_round(desk, &round);
    int64_t due_ms = due_in_ms(cluster, &round), began_ms = wait_now_ms();
    if (!outcome && (due_ms > 0 || !cluster_rules_are_own(cluster, desk)))
        return due_ms > 0 && due_ms < IDLE_MS ? due_ms : IDLE_MS;
    if (!outcome)
        outcome = do_page(check, &round);
    if (!outcome)
        return (wait_now_ms() - began_ms) * RESTS + 1;
    desk_disconnect(desk);
    return IDLE_MS;
}

/* ---- Its thread ----------------------------------------------------------------------------- */

static void *reconcile_main(void *arg)
{
    struct cluster *cluster = arg;
    struct tidings_verify out = {0};
    struct check check;
    thread_name("reconcile");
    uint64_t heads_mb = cluster->settings.heads_mb;
    check_start(&check, cluster, &out, (heads_mb < HEADS_MB ? heads_mb : HEADS_MB) << 20);
    check.tell = log_drift;
    check.desk.silent_ms = check.mender.silent_ms = SILENT_MS;
    int64_t wait_ms = IDLE_MS;
    while (ticker_wait(&cluster->reconciler, (int)wait_ms))
        wait_ms = look(&check);
    check_end(&check);
    return NULL;
}

enum tidings_err reconcile_start(struct cluster *cluster)
{
    if (!cluster->settings.reconcile_hours)
        return TIDINGS_OK;
    return ticker_start(&cluster->reconciler, reconcile_main, cluster) ? TIDINGS_OK
                                                                       : TIDINGS_NO_MEMORY;
}
