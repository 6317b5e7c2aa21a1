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
    /* The newest, and the one before, for the day that the newest is damaged. */
    for (size_t i = shelf->n - (shelf->n > 1 ? 2 : 1); i < shelf->n; i++)
        assert_true(keep[i]);
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

/* By what a segment is: those from its first record up to the next segment's. */
static void a_segment_goes_when_none_of_its_records_is_needed(void **state)
{
    (void)state;
    enum { SEGMENTS = 5, LONGEST = 4 };
    for (unsigned shape = 0; shape < 1u << 2 * (SEGMENTS - 1); shape++) {
        uint64_t firsts[SEGMENTS] = {1};
        for (unsigned i = 1; i < SEGMENTS; i++)
            firsts[i] = firsts[i - 1] + 1 + (shape >> 2 * (i - 1)) % LONGEST;
        for (uint64_t needed = 0; needed <= firsts[SEGMENTS - 1] + 1; needed++) {
            size_t spare = keeper_spare(firsts, SEGMENTS, needed);
            assert_true(spare < SEGMENTS); /* the last one is being written */
            for (size_t i = 0; i + 1 < SEGMENTS; i++)
                assert_int_equal(i < spare, firsts[i + 1] - 1 <= needed);
        }
    }
    assert_int_equal(keeper_spare(NULL, 0, 7), 0);
}

/* Also if all of them are old, as after a long stop. */
static void the_log_behind_every_image_that_is_kept_is_kept(void **state)
{
    (void)state;
    enum { MOST = 6, STEP_MS = 10 };
    struct base bases[MOST];
    for (size_t i = 0; i < MOST; i++)
        bases[i] = (struct base){.number = 100 * (i + 1), .time_ms = (int64_t)i * STEP_MS};
    for (size_t n = 1; n <= MOST; n++) {
        for (int64_t limit_ms = -1; limit_ms <= MOST * STEP_MS; limit_ms++) {
            bool keep[MOST] = {false};
            uint64_t needed = keeper_choose(bases, n, limit_ms, 3 * STEP_MS, keep);
            assert_true(keep[n - 1] && (n == 1 || keep[n - 2]));
            for (size_t i = 0; i < n; i++)
                assert_true(!keep[i] || bases[i].number >= needed);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_log_behind_every_image_that_is_kept_is_kept),
        cmocka_unit_test(the_log_does_not_grow_for_ever),
        cmocka_unit_test(a_segment_goes_when_none_of_its_records_is_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
