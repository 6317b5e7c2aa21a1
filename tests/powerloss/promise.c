/* SPDX-License-Identifier: MIT */
#include "promise.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "powerloss.h"

/*
 * The log is synced when a second has passed since the last sync, at the end of a batch, or when there was
 * none for a second: two seconds at most. The rest is for machines that have other things to do.
 */
enum { WINDOW_MS = 4000 };

void promise_init(struct promise *promise, const struct script *script, bool each_second,
                  size_t from)
{
    *promise = (struct promise){
        .script = script,
        .each_second = each_second,
        .submitted = from,
        .acknowledged = from,
        .synced = from,
        .acknowledged_ms = calloc(script->n + 1, sizeof *promise->acknowledged_ms),
        .ends = calloc(script->n + 1, sizeof *promise->ends),
    };
    if (!promise->acknowledged_ms || !promise->ends)
        abort();
    promise->ends[from] = true;
}

void promise_release(struct promise *promise)
{
    free(promise->acknowledged_ms);
    free(promise->ends);
}

/* A clock has been looked at: for how long has the oldest change waited that no sync covers? */
static void note_time(struct promise *promise, int64_t now_ms)
{
    size_t oldest = promise->synced + 1;
    promise->now_ms = now_ms;
    while (oldest <= promise->acknowledged && !promise->acknowledged_ms[oldest])
        oldest++;
    if (oldest > promise->acknowledged)
        return;
    int64_t waited_ms = now_ms - promise->acknowledged_ms[oldest];
    if (waited_ms > promise->longest_ms)
        promise->longest_ms = waited_ms;
}

static void note_mark(struct promise *promise, const struct trace_record *mark)
{
    if (mark->length == MARK_TIME) {
        note_time(promise, (int64_t)mark->offset);
        return;
    }
    size_t after = (size_t)mark->offset + 1;
    const uint64_t *newest = promise->script->newest;
    if (mark->length == MARK_SUBMITTED && after > promise->submitted)
        promise->submitted = after;
    /* One that changed nothing may have been answered before others that came earlier. */
    bool changed = newest[after] != newest[after - 1];
    if (mark->length == MARK_ACKNOWLEDGED && changed && after > promise->acknowledged) {
        promise->acknowledged = after;
        promise->acknowledged_ms[after] = promise->now_ms;
    }
}

static bool is_segment(const char *path, size_t n)
{
    static const char log[] = "data/log/", unfinished[] = ".new";
    return n > sizeof log - 1 && !memcmp(path, log, sizeof log - 1) &&
           !memmem(path, n, unfinished, sizeof unfinished - 1);
}

void promise_feed(struct promise *promise, uint64_t number, const struct trace_record *record,
                  const char *path)
{
    bool ours = promise->log && record->ino == promise->log;
    if (record->kind == TRACE_MARK) {
        note_mark(promise, record);
    } else if (record->kind == TRACE_CREATE && is_segment(path, record->path_bytes)) {
        promise->log = record->ino;
    } else if (record->kind == TRACE_WRITE && ours) {
        promise->ends[promise->acknowledged] = true; /* all of the last batch, before the next */
    } else if (record->kind == TRACE_SYNC && ours) {
        promise->sync = number;
        promise->sync_covers = promise->acknowledged;
    } else if (record->kind == TRACE_SYNCED && ours && record->begin == promise->sync) {
        promise->synced = promise->sync_covers;
        promise->log_syncs++;
    }
}

size_t promise_least(const struct promise *promise, bool machine)
{
    return machine && promise->each_second ? promise->synced : promise->acknowledged;
}

bool promise_kept(const struct promise *promise)
{
    if (!promise->each_second || promise->longest_ms <= WINDOW_MS)
        return true;
    printf("a change was acknowledged and not synced for %" PRId64 " ms\n", promise->longest_ms);
    return false;
}
