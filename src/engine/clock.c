/* SPDX-License-Identifier: MIT */
#include "engine/clock.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "domain/ids.h"

enum {
    TELL_MS = 60000,    /* a jump of more than this is told of */
    STOP_MS = 86400000, /* one ahead of more than this is not believed */
    STILL_MS = 1000,    /* a clock set back by less stands still for so long, and that is all */
    HOUR_MS = 3600000,
};

static int64_t milliseconds(clockid_t id)
{
    struct timespec now;
    clock_gettime(id, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int64_t system_clock(void *ctx)
{
    (void)ctx;
    return milliseconds(CLOCK_REALTIME);
}

/* Goes on while the machine sleeps. */
static int64_t system_since_boot(void *ctx)
{
    (void)ctx;
    return milliseconds(CLOCK_BOOTTIME);
}

static int64_t longest_kept(const struct tidings_settings *settings)
{
    uint64_t days =
        settings->event_days > settings->log_days ? settings->event_days : settings->log_days;
    uint64_t hours = days * 24 > settings->once_hours ? days * 24 : settings->once_hours;
    return (int64_t)hours * HOUR_MS;
}

void clock_init(struct clock *clock, const struct tidings_options *options)
{
    clock->wall = options->clock ? options->clock : system_clock;
    clock->since = options->clock ? options->elapsed : system_since_boot;
    clock->ctx = options->clock_ctx;
    clock->jumped = options->clock_jumped;
    clock->jumped_ctx = options->clock_jumped_ctx;
    clock->keep_ms = longest_kept(&options->settings);
    ages_init(&clock->row.ages);
    pthread_mutex_init(&clock->mutex, NULL);
}

void clock_release(struct clock *clock)
{
    pthread_mutex_destroy(&clock->mutex);
}

/* ---- Opening -------------------------------------------------------------------------------- */

static bool same_boot(const struct clock_row *row, const char *boot)
{
    return row && !strcmp(row->boot, boot) && strcmp(boot, NO_BOOT) != 0;
}

/* How much time has elapsed, as far as can be known. */
static int64_t resume(const struct clock_left *left, bool same_boot, int64_t wall_ms, int64_t up_ms)
{
    if (!left->has_elapsed)
        return wall_ms > left->newest_ms ? wall_ms : left->newest_ms;
    if (!same_boot && left->shared)
        return left->elapsed_ms;
    if (!same_boot)
        return elapsed_after_boot(left->elapsed_ms, left->newest_ms, wall_ms, up_ms);
    int64_t elapsed_ms = up_ms + left->row->offset_ms;
    return elapsed_ms > left->elapsed_ms ? elapsed_ms : left->elapsed_ms;
}

void clock_open(struct clock *clock, const struct clock_left *left)
{
    clock->record_ms = left->newest_ms;
    if (left->row)
        clock->row.ages = left->row->ages;
    if (left->has_elapsed) /* the row is not stored with every id */
        ages_note(&clock->row.ages, left->elapsed_ms, left->newest_ms, clock->keep_ms);
    if (!clock->since)
        return;
    char boot[BOOT_BYTES];
    int64_t wall_ms = clock->wall(clock->ctx), up_ms = clock->since(clock->ctx);
    boot_name(boot);
    bool same = same_boot(left->row, boot);
    int64_t elapsed_ms = resume(left, same, wall_ms, up_ms);
    int64_t running_ms = up_ms + atomic_load(&clock->offset_ms);
    if (clock->is_open && (running_ms > elapsed_ms || !left->has_elapsed))
        elapsed_ms = running_ms;
    clock->is_open = true;
    int64_t ahead_ms = wall_ms - elapsed_ms;
    int64_t behind_ms =
        left->newest_ms - wall_ms; /* all that is known of a jump while the machine was down */

    atomic_store(&clock->offset_ms, elapsed_ms - up_ms);
    clock->lead_ms = ahead_ms;
    clock->told_ms = left->has_elapsed && behind_ms > 0 ? ahead_ms + behind_ms : ahead_ms;
    snprintf(clock->row.boot, sizeof clock->row.boot, "%s", boot);
    clock->row.offset_ms = elapsed_ms - up_ms;
    clock->row.lead_ms = clock->lead_ms;
    clock->is_new = true;
    if (!same)
        return;
    clock->told_ms = clock->row.lead_ms = left->row->lead_ms;
    if (llabs(ahead_ms - clock->told_ms) <= TELL_MS)
        clock->lead_ms = clock->told_ms;
    clock->is_new = left->row->offset_ms != clock->row.offset_ms;
}

/* ---- Reading -------------------------------------------------------------------------------- */

/* A clock that is decades ahead must not use up all ids at once. */
static int64_t within_ids(int64_t wall_ms)
{
    return id_floor(wall_ms) < TIDINGS_ID_MAX ? wall_ms : 0;
}

/* And how far the clock is ahead of the time elapsed, believed or not. */
static struct moment read_both(const struct clock *clock, int64_t *ahead_ms)
{
    int64_t wall_ms = clock->wall(clock->ctx);
    struct moment at = {.wall_ms = within_ids(wall_ms)};
    at.elapsed_ms = at.wall_ms;
    *ahead_ms = 0;
    if (!clock->since)
        return at;
    int64_t lead_ms = atomic_load(&clock->lead_ms);
    at.elapsed_ms = clock->since(clock->ctx) + atomic_load(&clock->offset_ms);
    *ahead_ms = wall_ms - at.elapsed_ms;
    at.stopped = *ahead_ms - lead_ms > STOP_MS;
    if (at.stopped)
        at.wall_ms = within_ids(at.elapsed_ms + lead_ms);
    return at;
}

struct moment clock_read(const struct clock *clock)
{
    int64_t ahead_ms;
    return read_both(clock, &ahead_ms);
}

struct moment clock_at(const struct clock *clock, int64_t given_ms, int64_t last_ms,
                       int64_t last_elapsed_ms)
{
    struct moment at = {.wall_ms = given_ms, .elapsed_ms = given_ms};
    if (!given_ms)
        at = clock_read(clock);
    else if (last_elapsed_ms && llabs(last_ms - last_elapsed_ms) > STILL_MS)
        at.elapsed_ms = last_elapsed_ms + (given_ms - last_ms);
    if (at.elapsed_ms < last_elapsed_ms)
        at.elapsed_ms = last_elapsed_ms;
    return at;
}

int64_t clock_limit(struct clock *clock, int64_t elapsed_ms, int64_t age_ms)
{
    pthread_mutex_lock(&clock->mutex);
    int64_t limit_ms = ages_limit(&clock->row.ages, elapsed_ms, age_ms);
    pthread_mutex_unlock(&clock->mutex);
    return limit_ms;
}

int64_t clock_limit_now(void *ctx, int64_t age_ms)
{
    struct clock *clock = ctx;
    return clock_limit(clock, clock_read(clock).elapsed_ms, age_ms);
}

int64_t clock_ahead(const struct clock *clock)
{
    int64_t ahead_ms;
    read_both(clock, &ahead_ms);
    return ahead_ms;
}

void clock_raise(struct clock *clock, int64_t elapsed_ms)
{
    if (!clock->since)
        return;
    int64_t offset_ms = elapsed_ms - clock->since(clock->ctx);
    int64_t now_ms = atomic_load(&clock->offset_ms);
    while (now_ms < offset_ms &&
           !atomic_compare_exchange_weak(&clock->offset_ms, &now_ms, offset_ms))
        ;
}

void clock_share(struct clock *clock, const struct ages *ages)
{
    pthread_mutex_lock(&clock->mutex);
    clock->row.ages = *ages;
    pthread_mutex_unlock(&clock->mutex);
}

void clock_stats(struct clock *clock, struct tidings_stats *stats)
{
    pthread_mutex_lock(&clock->mutex);
    stats->clock_jumps = clock->jumps;
    stats->clock_jump_ms = clock->jump_ms;
    stats->clock_jump_at = clock->jump_at;
    stats->clock_stopped = clock->stopped;
    pthread_mutex_unlock(&clock->mutex);
}

/* ---- For the writer ------------------------------------------------------------------------- */

static void tell(struct clock *clock, int64_t by_ms, const struct moment *at)
{
    pthread_mutex_lock(&clock->mutex);
    clock->jumps++;
    clock->jump_ms = by_ms;
    clock->jump_at = at->wall_ms;
    clock->stopped = at->stopped;
    pthread_mutex_unlock(&clock->mutex);
    if (clock->jumped)
        clock->jumped(clock->jumped_ctx, by_ms, at->stopped);
}

struct moment clock_look(struct clock *clock)
{
    int64_t ahead_ms;
    struct moment at = read_both(clock, &ahead_ms);
    int64_t by_ms = ahead_ms - clock->told_ms;
    if (llabs(by_ms) <= TELL_MS)
        return at;
    clock->told_ms = ahead_ms;
    if (!at.stopped)
        atomic_store(&clock->lead_ms, ahead_ms);
    tell(clock, by_ms, &at);
    return at;
}

struct clock_change clock_next(const struct clock *clock, const struct moment *at, uint64_t last_id,
                               uint64_t id)
{
    int64_t id_ms = id_time_ms(id);
    struct clock_change change = {.row = clock->row, .record_ms = id_ms};
    bool marked =
        id != last_id && ages_note(&change.row.ages, at->elapsed_ms, id_ms, clock->keep_ms);
    if (clock->since && id_ms - at->wall_ms > STILL_MS)
        change.record_ms = at->wall_ms;
    if (clock->since)
        change.row.lead_ms = atomic_load(&clock->lead_ms);
    bool moved = change.row.lead_ms != clock->row.lead_ms;
    change.stores = marked || moved || clock->is_new;
    change.is_news = moved || change.record_ms + STILL_MS < clock->record_ms;
    return change;
}

void clock_commit(struct clock *clock, const struct clock_change *change)
{
    pthread_mutex_lock(&clock->mutex);
    clock->row = change->row;
    pthread_mutex_unlock(&clock->mutex);
    clock->record_ms = change->record_ms;
    clock->is_new = false;
}
