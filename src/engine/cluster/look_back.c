/* SPDX-License-Identifier: MIT */
/*
 * A commit whose connection was lost while it was under way. The lane's row says which batch was committed last; to read it for a
 * change waits for a commit that is at it. One that is not there may still be on its way to the server: before it is done again
 * the row gets the next number, and the server refuses those that are less.
 */
#include <time.h>

#include "base/wait.h"
#include "engine/cluster/cluster.h"

enum { LOOK_AGAIN_MS = 50 };

/* Reads the lane's row; *found is false if it is another server's by now. */
static enum sql_outcome read_batch(struct lane *lane, bool *found, uint64_t *batch)
{
    struct desk *desk = &lane->desk;
    enum sql_outcome outcome = sql_run_text(desk->sql, "SET innodb_lock_wait_timeout=1;BEGIN");
    lane->session_lock_s = LOCK_LEAST_S;
    buf_clear(&desk->text);
    buf_printf(&desk->text,
               "SELECT batch FROM lane WHERE slot=%u AND lane=%u AND fence=%llu FOR UPDATE",
               lane->standing.slot, lane->number, (unsigned long long)lane->standing.fence);
    if (!outcome)
        outcome = sql_send(desk->sql, &desk->text);
    *found = !outcome && sql_row(desk->sql);
    *batch = *found ? sql_u64(desk->sql, 0) : 0;
    buf_clear(&desk->text);
    return outcome;
}

/* The lane's number is the next one by now. May be done again, if nobody knows whether it was. */
static enum sql_outcome rule_out(struct lane *lane)
{
    struct desk *desk = &lane->desk;
    buf_printf(&desk->text, "UPDATE lane SET batch=%llu WHERE slot=%u AND lane=%u;COMMIT",
               (unsigned long long)lane->batch, lane->standing.slot, lane->number);
    enum sql_outcome outcome = sql_run(desk->sql, &desk->text);
    buf_clear(&desk->text);
    return outcome;
}

/* True if it is known what became of the batch: *outcome is DONE, or AGAIN if nothing has happened and will, or LOST if nobody will
 * ever know. */
static bool ask_lane(struct lane *lane, uint64_t tried, enum sql_outcome *outcome)
{
    bool found;
    uint64_t batch;
    if (!desk_connect(lane->cluster, &lane->desk, late_enough(lane->until_ms)) ||
        read_batch(lane, &found, &batch))
        return false;
    *outcome = SQL_LOST;
    if (found)
        *outcome = batch == tried ? SQL_DONE : SQL_AGAIN;
    return *outcome == SQL_AGAIN ? !rule_out(lane) : !sql_run_text(lane->desk.sql, "ROLLBACK");
}

enum sql_outcome lane_look_back(struct lane *lane)
{
    int64_t until_ms = late_enough(lane->until_ms);
    uint64_t tried = lane->batch++;
    enum sql_outcome outcome;
    desk_disconnect(&lane->desk);
    while (wait_now_ms() < until_ms) {
        if (ask_lane(lane, tried, &outcome))
            return outcome;
        desk_disconnect(&lane->desk);
        nanosleep(&(struct timespec){0, LOOK_AGAIN_MS * 1000000L}, NULL);
    }
    return SQL_LOST;
}
