/* SPDX-License-Identifier: MIT */
/*
 * The keeper: a thread that makes the next base image when enough of the log has piled up, and then
 * removes what nobody needs any more. It works from the base image before and the log, not from the
 * image in use: it holds up neither the writer nor the reuse of pages.
 *
 * Kept are: the newest base image and the one before; the newest of those that are older than
 * log_days, so that every moment since can be restored; some in between, of which one day one will be the
 * newest that is old enough; and the log behind the oldest of these.
 */
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/wait.h"
#include "engine/local/storage/store.h"

enum { LOOK_EVERY_S = 1 };

static const char unfinished[] = "unfinished", packed[] = "unfinished" IMAGE_PACKED;

/* ---- How much there is ---------------------------------------------------------------------- */

static uint64_t file_bytes(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    struct stat stat;
    return path_join(path, dir, name) && !lstat(path, &stat) ? (uint64_t)stat.st_size : 0;
}

/* Bytes of the segments that hold something behind this record. */
static uint64_t log_behind(const struct store *store, uint64_t number)
{
    uint64_t *firsts, sum = 0;
    size_t n;
    if (redo_segments(store->log_dir, &firsts, &n))
        return 0;
    for (size_t i = 0; i < n; i++) {
        char name[SEGMENT_NAME_BYTES];
        segment_name(firsts[i], name);
        if (i + 1 == n || firsts[i + 1] > number + 1)
            sum += file_bytes(store->log_dir, name);
    }
    free(firsts);
    return sum;
}

struct base keeper_newest(const struct store *store)
{
    struct base *bases, newest = {0};
    size_t n;
    if (!base_list(store->base_dir, &bases, &n) && n)
        newest = bases[n - 1];
    free(bases);
    return newest;
}

void store_stats(struct store *store, struct tidings_stats *stats)
{
    pthread_mutex_lock(&store->mutex);
    stats->log_bytes = store->log_before + redo_bytes(store->redo) - store->based_bytes;
    stats->snapshots = store->bases;
    stats->snapshots_failed = store->failures;
    pthread_mutex_unlock(&store->mutex);
    stats->read_only = stats->read_only || redo_failed(store->redo);
}

/* With much data, a base image costs much: it waits for as much log. */
static bool is_due(struct store *store)
{
    char name[BASE_NAME_BYTES];
    struct base newest = keeper_newest(store);
    base_name(&newest, name);
    uint64_t least = store->settings.snapshot_log_mb << 20;
    uint64_t size = file_bytes(store->base_dir, name);
    struct tidings_stats stats = {0};
    store_stats(store, &stats);
    pthread_mutex_lock(&store->mutex);
    bool wanted = store->base_wanted;
    pthread_mutex_unlock(&store->mutex);
    return wanted || stats.log_bytes >= (size > least ? size : least);
}

/* ---- Removing ------------------------------------------------------------------------------- */

static void remove_file(const char *dir, const char *name)
{
    char path[PATH_BYTES];
    if (path_join(path, dir, name))
        unlink(path);
}

uint64_t keeper_choose(const struct base *bases, size_t n, int64_t limit_ms, int64_t keep_ms,
                       bool *keep)
{
    enum { STEPS = 8 }; /* what is kept is at most an eighth older than it must be */
    size_t oldest = 0;
    for (size_t i = 0; i + 1 < n; i++)
        if (bases[i].time_ms <= limit_ms)
            oldest = i;
    for (size_t i = 0, last = oldest; i < n; i++) {
        bool far = i > oldest && bases[i].time_ms - bases[last].time_ms >= keep_ms / STEPS;
        keep[i] = i == oldest || far || i + 2 >= n;
        if (far)
            last = i;
    }
    return n > 1 && bases[oldest].time_ms <= limit_ms ? bases[oldest].number : 0;
}

/* Removes base images that are not to be kept; answers the record before which no log is needed. */
static uint64_t remove_bases(const struct store *store, int64_t limit_ms, int64_t keep_ms)
{
    struct base *bases;
    size_t n;
    uint64_t needed = 0;
    bool *keep = NULL;
    if (!base_list(store->base_dir, &bases, &n) && n)
        keep = calloc(n, sizeof *keep);
    if (keep)
        needed = keeper_choose(bases, n, limit_ms, keep_ms, keep);
    for (size_t i = 0; keep && i < n; i++) {
        char name[BASE_NAME_BYTES];
        base_name(&bases[i], name);
        if (!keep[i])
            remove_file(store->base_dir, name);
    }
    /* Before their log: no image may come back without it. */
    if (keep && dir_sync(store->base_dir))
        needed = 0;
    free(keep);
    free(bases);
    return needed;
}

/* A segment ends where the next one begins; where the last one ends nobody knows. */
size_t keeper_spare(const uint64_t *firsts, size_t n, uint64_t needed)
{
    size_t spare = 0;
    while (spare + 1 < n && firsts[spare + 1] <= needed + 1)
        spare++;
    return spare;
}

static void remove_segments(const struct store *store, uint64_t needed)
{
    uint64_t *firsts;
    size_t n;
    if (redo_segments(store->log_dir, &firsts, &n))
        return;
    size_t spare = keeper_spare(firsts, n, needed);
    bool gone = true;
    /* One after the other, each for good: if the first came back without the second, the log would seem to go back to the
     * beginning. */
    for (size_t i = 0; i < spare && gone; i++) {
        char name[SEGMENT_NAME_BYTES];
        segment_name(firsts[i], name);
        remove_file(store->log_dir, name);
        gone = !dir_sync(store->log_dir);
    }
    free(firsts);
}

static void remove_old(struct store *store)
{
    int64_t keep_ms = (int64_t)store->settings.log_days * 24 * 60 * 60 * 1000;
    int alone = store_hold_alone(store->log_dir);
    if (alone >= 0) /* otherwise somebody reads it: after the next image */
        remove_segments(store,
                        remove_bases(store, store->limit_ms(store->clock, keep_ms), keep_ms));
    store_unlock(&alone);
}

/* ---- Making a base image -------------------------------------------------------------------- */

/* No image may hold what could be taken back. */
static uint64_t decided(const struct store *store)
{
    uint64_t synced = redo_synced(store->redo), sure = redo_sure(store->redo);
    return synced < sure ? synced : sure;
}

static bool make_base(struct store *store)
{
    char path[PATH_BYTES], name[BASE_NAME_BYTES], final[PATH_BYTES];
    uint64_t bytes = redo_bytes(store->redo);
    if (!path_join(path, store->base_dir, unfinished))
        return false;
    struct image_job job = {
        .log_dir = store->log_dir,
        .base_dir = store->base_dir,
        .id = store->id,
        .path = path,
        .map_bytes = (size_t)store->settings.map_mb << 20,
        .number = decided(store),
        .for_good = true,
        .cancel = &store->stopping,
    };
    if (image_make(&job))
        return false;
    base_name(&job.made, name);
    if (!path_join(final, store->base_dir, name) || rename(path, final) ||
        dir_sync(store->base_dir))
        return false;
    pthread_mutex_lock(&store->mutex);
    store->based_bytes = bytes;
    store->log_before = 0;
    store->base_wanted = false;
    store->bases++;
    pthread_mutex_unlock(&store->mutex);
    return true;
}

/* ---- The thread ----------------------------------------------------------------------------- */

/* False when it is time to stop. */
static bool wait_a_moment(struct store *store, unsigned seconds)
{
    struct timespec until = wait_until(seconds);
    pthread_mutex_lock(&store->mutex);
    int rc = 0;
    while (!store->stopping && !rc)
        rc = pthread_cond_timedwait(&store->wanted, &store->mutex, &until);
    bool go_on = !store->stopping;
    pthread_mutex_unlock(&store->mutex);
    return go_on;
}

static void *keeper_main(void *arg)
{
    enum { PATIENCE_S = 60 };
    struct store *store = arg;
    unsigned seconds = LOOK_EVERY_S;
    thread_name("keeper");
    while (wait_a_moment(store, seconds)) {
        seconds = LOOK_EVERY_S;
        if (!is_due(store))
            continue;
        if (make_base(store)) {
            remove_old(store);
            continue;
        }
        if (atomic_load(&store->stopping))
            break;
        seconds = PATIENCE_S; /* a full disk, most likely: the log goes on being all there is */
        pthread_mutex_lock(&store->mutex);
        store->failures++;
        pthread_mutex_unlock(&store->mutex);
    }
    return NULL;
}

bool keeper_start(struct store *store)
{
    pthread_mutex_init(&store->mutex, NULL);
    wait_init(&store->wanted);
    if (store->read_only)
        return true;
    remove_file(store->base_dir, unfinished);
    remove_file(store->base_dir, packed);
    /* The last segment would count whole, whatever of it is new. */
    uint64_t based = keeper_newest(store).number;
    store->log_before = based == redo_synced(store->redo) ? 0 : log_behind(store, based);
    store->keeping = !pthread_create(&store->keeper, NULL, keeper_main, store);
    return store->keeping;
}

void keeper_want(struct store *store)
{
    pthread_mutex_lock(&store->mutex);
    store->base_wanted = true;
    pthread_mutex_unlock(&store->mutex);
}

void keeper_stop(struct store *store)
{
    if (!store->keeping)
        return;
    pthread_mutex_lock(&store->mutex);
    store->stopping = true;
    pthread_cond_signal(&store->wanted);
    pthread_mutex_unlock(&store->mutex);
    pthread_join(store->keeper, NULL);
    pthread_cond_destroy(&store->wanted);
    pthread_mutex_destroy(&store->mutex);
}
