/* SPDX-License-Identifier: MIT */
#include "domain/ages.h"

#include <string.h>

#include "base/bytes.h"

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void ages_init(struct ages *ages)
{
    *ages = (struct ages){.n = 1};
}

size_t ages_pack(const struct ages *ages, uint8_t bytes[AGES_BYTES_MAX])
{
    for (size_t i = 0; i < ages->n; i++, bytes += AGE_MARK_BYTES) {
        put_u64(bytes, (uint64_t)ages->at[i].elapsed_ms);
        put_u64(bytes + 8, (uint64_t)ages->at[i].id_ms);
        put_u64(bytes + 16, (uint64_t)ages->at[i].lead_ms);
    }
    return ages->n * AGE_MARK_BYTES;
}

/* Sums and differences of a few of them can be told. */
static bool is_possible(int64_t ms)
{
    return ms > -INT64_MAX / 8 && ms < INT64_MAX / 8;
}

bool ages_unpack(struct ages *ages, const uint8_t *bytes, size_t n)
{
    if (!n || n > AGES_BYTES_MAX || n % AGE_MARK_BYTES)
        return false;
    struct decoder from = decoder_of(bytes, n);
    struct ages read = {.n = n / AGE_MARK_BYTES};
    for (size_t i = 0; i < read.n; i++) {
        struct age_mark *mark = &read.at[i];
        mark->elapsed_ms = (int64_t)read_u64(&from);
        mark->id_ms = (int64_t)read_u64(&from);
        mark->lead_ms = (int64_t)read_u64(&from);
        if (!is_possible(mark->elapsed_ms) || !is_possible(mark->id_ms) ||
            !is_possible(mark->lead_ms))
            return false;
    }
    *ages = read;
    return true;
}

/* A mark is of use for what happened between it and the next one. */
static void forget(struct ages *ages, int64_t oldest_ms)
{
    size_t gone = 0;
    while (gone + 1 < ages->n && ages->at[gone + 1].elapsed_ms < oldest_ms)
        gone++;
    ages->n -= gone;
    memmove(ages->at, ages->at + gone, ages->n * sizeof *ages->at);
}

bool ages_note(struct ages *ages, int64_t elapsed_ms, int64_t id_ms, int64_t keep_ms)
{
    struct age_mark *last = &ages->at[ages->n - 1];
    int64_t lead_ms = id_ms - elapsed_ms;
    bool ahead = lead_ms - last->lead_ms > AGES_AHEAD_MS;
    last->lead_ms = least(last->lead_ms, lead_ms);
    bool still = (last->id_ms - last->elapsed_ms) - lead_ms >= AGES_STILL_MS;
    if (!ahead && !still)
        return false;
    forget(ages, elapsed_ms - keep_ms);
    if (ages->n ==
        AGES_MARKS) { /* what was made since the last mark counts as made since the one before */
        last = &ages->at[--ages->n];
        last[-1].lead_ms = least(last[-1].lead_ms, last->lead_ms);
    }
    ages->at[ages->n++] = (struct age_mark){elapsed_ms, id_ms, lead_ms};
    return true;
}

int64_t ages_limit(const struct ages *ages, int64_t elapsed_ms, int64_t age_ms)
{
    int64_t then_ms = elapsed_ms - age_ms;
    for (size_t i = ages->n; i--;) {
        const struct age_mark *mark = &ages->at[i];
        if (mark->elapsed_ms <= then_ms)
            return most(mark->id_ms - 1, then_ms + mark->lead_ms);
    }
    return 0;
}

int64_t elapsed_after_boot(int64_t last_elapsed_ms, int64_t last_ms, int64_t now_ms, int64_t up_ms)
{
    return last_elapsed_ms + most(0, least(now_ms - last_ms, up_ms));
}
