/* SPDX-License-Identifier: MIT */
/* Which base images are kept, and how much of the log, over years. */
#include <string.h>

#include "engine/local/storage/store.h"
#include "unit/test.h"

enum { BASES_MOST = 64 };

#define HOUR_MS INT64_C(3600000)
#define DAY_MS  (24 * HOUR_MS)
#define KEEP_MS (14 * DAY_MS)

struct shelf {
    struct base bases[BASES_MOST];
    size_t n, most;
    uint64_t log_from; /* records up to this one are gone */
};

/* A record an hour; a base image goes to the newest. */
static void make_one(struct shelf *shelf, uint64_t hour)
{
    bool keep[BASES_MOST];
    size_t kept = 0;
    assert_true(shelf->n < BASES_MOST);
    shelf->bases[shelf->n++] = (struct base){.number = hour, .time_ms = (int64_t)hour * HOUR_MS};
    uint64_t needed =
        keeper_choose(shelf->bases, shelf->n, (int64_t)hour * HOUR_MS - KEEP_MS, KEEP_MS, keep);
    for (size_t i = 0; i < shelf->n; i++)
        if (keep[i])
            shelf->bases[kept++] = shelf->bases[i];
    shelf->n = kept;
    shelf->most = kept > shelf->most ? kept : shelf->most;
    if (needed > shelf->log_from)
        shelf->log_from = needed;
}

/* Every moment of the days kept: a base image that is old enough, or the beginning, with the log behind it. */
static void assert_restorable(const struct shelf *shelf, uint64_t hour)
{
    for (uint64_t moment = hour > 14 * 24 ? hour - 14 * 24 : 1; moment <= hour; moment++) {
        uint64_t from = 0;
        for (size_t i = 0; i < shelf->n; i++)
            if (shelf->bases[i].number <= moment)
                from = shelf->bases[i].number;
        assert_true(from >= shelf->log_from);
    }
}

static void keep_for_years(uint64_t every_hours, size_t most_bases)
{
    struct shelf shelf = {.n = 0};
    uint64_t extra = every_hours > 42 ? every_hours : 42 + every_hours;
    for (uint64_t hour = 1; hour < 3 * 365 * 24; hour += every_hours) {
        make_one(&shelf, hour);
        assert_restorable(&shelf, hour);
        /* The one before is there, too, with all the log behind it. */
        if (shelf.n > 1)
            assert_true(shelf.bases[shelf.n - 2].number >= shelf.log_from);
        if (hour > 14 * 24 + 2 * extra)
            assert_true(hour - shelf.log_from <= 14 * 24 + 2 * extra);
    }
    assert_true(shelf.most <= most_bases);
}

/* The newest image that is too old was never replaced, since those that would have become it were removed while they
 * were young: the log grew for ever. */
static void the_log_does_not_grow_for_ever(void **state)
{
    (void)state;
    keep_for_years(1, 12);
    keep_for_years(5, 12);
    keep_for_years(50, 12);
    keep_for_years(24 * 10, 5);
    keep_for_years(24 * 40, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_does_not_grow_for_ever),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
