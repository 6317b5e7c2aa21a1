/* SPDX-License-Identifier: MIT */
/*
 * How old things are, whatever was done to the clock. Two times run side by side: the time in ids, which follows the
 * clock and never goes back, and the time elapsed, which no clock can be set by. As long as the clock is left alone,
 * both advance alike. Where it jumped ahead, the time in ids has a step that nobody lived through: that is marked, and
 * so is, now and then, that the time in ids stands still. With the marks an age in elapsed time leads back to a time in ids.
 *
 * Whatever is not known exactly makes things younger than they are, never older.
 */
#ifndef DOMAIN_AGES_H
#define DOMAIN_AGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    AGES_MARKS = 32,          /* at most; then the last one takes in what comes */
    AGES_AHEAD_MS = 1000,     /* a step ahead that is worth a mark */
    AGES_STILL_MS = 86400000, /* standing still for so long is, too */
};

/* Ids that are given out from then on, until the next mark, have no earlier time, and none that is less than the time
 * elapsed at their making plus the least lead. */
struct age_mark {
    int64_t elapsed_ms;
    int64_t id_ms;
    int64_t lead_ms;
};

struct ages {
    size_t n; /* at least 1 */
    struct age_mark at[AGES_MARKS];
};

/* As they are stored: three numbers of eight bytes a mark. */
enum { AGE_MARK_BYTES = 24, AGES_BYTES_MAX = AGES_MARKS * AGE_MARK_BYTES };
size_t ages_pack(const struct ages *ages, uint8_t bytes[AGES_BYTES_MAX]);
/* False, and *ages as it was, if these are none. */
bool ages_unpack(struct ages *ages, const uint8_t *bytes, size_t n);

/* Both times are the same. */
void ages_init(struct ages *ages);

/* An id of that time is given out. Marks that are of use only for what is older than keep_ms go. Whether there is a new
 * one. */
bool ages_note(struct ages *ages, int64_t elapsed_ms, int64_t id_ms, int64_t keep_ms);

/* Ids of that time and before are at least that old. */
int64_t ages_limit(const struct ages *ages, int64_t elapsed_ms, int64_t age_ms);

/*
 * The time elapsed, when an engine opens: it was at last_elapsed_ms with the newest change, made at last_ms by the clock,
 * and the machine has been up for up_ms since. More than that is not sure, and if the clock says less, that is all.
 */
int64_t elapsed_after_boot(int64_t last_elapsed_ms, int64_t last_ms, int64_t now_ms, int64_t up_ms);

#endif
