/* SPDX-License-Identifier: MIT */
#include "aims.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* How often a moment is tried in each style, how many moments at most, and how many syncs make the name durable: that
 * of the directory, and for a segment that of its header before. */
static const struct {
    unsigned syncs;
    size_t most;
    unsigned times[DISK_STYLES];
} plans[AIM_KINDS] = {
    [AIM_CLOSED] = {1, 3, {[DISK_SOME] = 3, [DISK_TORN] = 1, [DISK_BY_FILE] = 1}},
    [AIM_DATA] = {1, 3, {[DISK_NOTHING] = 1, [DISK_SOME] = 3, [DISK_BY_FILE] = 2}},
    [AIM_IMAGE] = {1, 4, {[DISK_NOTHING] = 1, [DISK_SOME] = 1}},
    [AIM_SEGMENT] = {2, 8, {[DISK_NOTHING] = 1, [DISK_BY_FILE] = 1}},
    [AIM_REMOVED] = {1, 4, {[DISK_NOTHING] = 1, [DISK_BY_FILE] = 1}},
};

/* ---- Finding them ------------------------------------------------------------------------------- */

static bool begins(const char *text, size_t n, const char *with)
{
    return n >= strlen(with) && !memcmp(text, with, strlen(with));
}

/* The path that a rename leads to. */
static bool is_renamed_to(const struct trace_record *record, const char *path, const char *to)
{
    size_t from = strnlen(path, record->path_bytes) + 1;
    return record->kind == TRACE_RENAME && from + strlen(to) <= record->path_bytes &&
           begins(path + from, record->path_bytes - from, to);
}

static bool is_segment(const struct trace_record *record, const char *path)
{
    return begins(path, record->path_bytes, "data/log/") &&
           !memmem(path, record->path_bytes, ".new", 4);
}

static void note_state(struct aims *aims, const struct trace_record *record, const uint8_t *data)
{
    static const char clean[] = "\nclean ";
    const char *text = (const char *)data;
    if (record->kind != TRACE_WRITE || !begins(text, record->data_bytes, "tidings "))
        return;
    const char *at = memmem(text, record->data_bytes, clean, sizeof clean - 1);
    aims->ends_in_order = at && isdigit((unsigned char)at[sizeof clean - 1]);
}

/* What gets its name with this record; AIM_KINDS if nothing does. */
static enum aim_kind kind_of(const struct aims *aims, const struct trace_record *record,
                             const char *path)
{
    if (is_renamed_to(record, path, "data/state"))
        return aims->ends_in_order ? AIM_CLOSED : AIM_KINDS;
    if (is_renamed_to(record, path, "data/data.mdb"))
        return AIM_DATA;
    if (is_renamed_to(record, path, "data/snapshots/"))
        return AIM_IMAGE;
    if (record->kind == TRACE_UNLINK && is_segment(record, path))
        return AIM_REMOVED;
    return record->kind == TRACE_CREATE && is_segment(record, path) ? AIM_SEGMENT : AIM_KINDS;
}

static void add(struct aims *aims, uint64_t at)
{
    aims->all = reallocarray(aims->all, aims->n + 1, sizeof *aims->all);
    if (!aims->all)
        abort();
    aims->all[aims->n++] = (struct aim){at, aims->next};
    aims->count[aims->next]++;
}

void aims_feed(struct aims *aims, uint64_t number, const struct trace_record *record,
               const char *path, const uint8_t *data)
{
    enum aim_kind kind = kind_of(aims, record, path);
    note_state(aims, record, data);
    if (kind != AIM_KINDS) {
        aims->next = kind;
        aims->syncs = plans[kind].syncs;
    } else if (record->kind == TRACE_SYNCED && aims->syncs && !--aims->syncs) {
        add(aims, number + 1);
    }
}

void aims_release(struct aims *aims)
{
    free(aims->all);
}

/* ---- Choosing ----------------------------------------------------------------------------------- */

/* The last ones, which have the most before them. */
static bool is_chosen(const struct aim *aim, size_t left)
{
    return left < plans[aim->kind].most;
}

static size_t times_of(enum aim_kind kind)
{
    size_t sum = 0;
    for (int style = 0; style < DISK_STYLES; style++)
        sum += plans[kind].times[style];
    return sum;
}

size_t aims_points(const struct aims *aims, struct rng *rng, struct point **points)
{
    size_t left[AIM_KINDS], n = 0, most = 0;
    memcpy(left, aims->count, sizeof left);
    for (int kind = 0; kind < AIM_KINDS; kind++)
        most += plans[kind].most * times_of((enum aim_kind)kind);
    *points = calloc(most, sizeof **points);
    if (!*points)
        abort();
    for (size_t i = 0; i < aims->n; i++) {
        const struct aim *aim = &aims->all[i];
        if (!is_chosen(aim, --left[aim->kind]))
            continue;
        for (int style = 0; style < DISK_STYLES; style++)
            for (unsigned j = 0; j < plans[aim->kind].times[style]; j++)
                (*points)[n++] = (struct point){aim->at, (enum disk_style)style, rng_next(rng)};
    }
    return n;
}
