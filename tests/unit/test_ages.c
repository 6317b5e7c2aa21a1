/* SPDX-License-Identifier: MIT */
/* Ages by elapsed time, led back to times in ids, while the clock does what it likes. */
#include "domain/ages.h"

#include <string.h>

#include "unit/test.h"

#define START_MS INT64_C(1750000000000)
#define HOUR_MS  INT64_C(3600000)
#define DAY_MS   (24 * HOUR_MS)
#define KEEP_MS  (14 * DAY_MS)

enum { IDS = 4000 };

/* A world: its two times, and when each id was given out by both. */
struct world {
    struct ages ages;
    int64_t elapsed_ms, wall_ms, newest_ms;
    struct {
        int64_t elapsed_ms, id_ms;
    } ids[IDS];
    size_t n;
};

static void begin(struct world *world)
{
    memset(world, 0, sizeof *world);
    ages_init(&world->ages);
    world->elapsed_ms = world->wall_ms = world->newest_ms = START_MS;
}

static void pass(struct world *world, int64_t ms)
{
    world->elapsed_ms += ms;
    world->wall_ms += ms;
}

static void give_id(struct world *world)
{
    if (world->wall_ms > world->newest_ms)
        world->newest_ms = world->wall_ms;
    ages_note(&world->ages, world->elapsed_ms, world->newest_ms, KEEP_MS);
    world->ids[world->n].elapsed_ms = world->elapsed_ms;
    world->ids[world->n++].id_ms = world->newest_ms;
}

static int64_t limit(const struct world *world, int64_t age_ms)
{
    return ages_limit(&world->ages, world->elapsed_ms, age_ms);
}

static void assert_none_too_young(const struct world *world, int64_t age_ms)
{
    int64_t limit_ms = limit(world, age_ms);
    for (size_t i = 0; i < world->n; i++)
        if (world->ids[i].id_ms <= limit_ms)
            assert_true(world->elapsed_ms - world->ids[i].elapsed_ms >= age_ms);
}

static void with_a_clock_left_alone_ages_are_exact(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    for (int i = 0; i < 100; i++) {
        give_id(&world);
        pass(&world, 7 * HOUR_MS);
        assert_int_equal(limit(&world, DAY_MS), world.wall_ms - DAY_MS);
        assert_int_equal(limit(&world, 1), world.wall_ms - 1);
    }
    assert_int_equal(world.ages.n, 1);
}

static void a_jump_ahead_makes_nothing_older(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    give_id(&world);
    pass(&world, HOUR_MS);
    world.wall_ms += 30 * DAY_MS;
    assert_true(limit(&world, KEEP_MS) < START_MS); /* before there is an id to mark it with, too */
    give_id(&world);
    assert_true(limit(&world, KEEP_MS) < START_MS);
    pass(&world, KEEP_MS - HOUR_MS - 1);
    assert_true(limit(&world, KEEP_MS) < START_MS);
    pass(&world, 1);
    assert_int_equal(limit(&world, KEEP_MS), START_MS);
    pass(&world, HOUR_MS - 1);
    assert_true(limit(&world, KEEP_MS) < world.newest_ms);
    pass(&world, 1);
    assert_int_equal(limit(&world, KEEP_MS), world.newest_ms);
}

/* After a jump ahead and back the time in ids stands still for as long: what is given out meanwhile gets old all the same. */
static void what_is_made_while_the_time_stands_still_gets_old(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    world.wall_ms += 365 * DAY_MS;
    give_id(&world);
    world.wall_ms -= 365 * DAY_MS;
    for (int day = 0; day < 100; day++) {
        world.newest_ms++; /* as it is with many ids in a millisecond */
        give_id(&world);
        pass(&world, DAY_MS + 1);
        assert_none_too_young(&world, KEEP_MS);
    }
    assert_true(limit(&world, KEEP_MS) > START_MS + 365 * DAY_MS + 70);
}

static void step(struct world *world, struct rng *rng)
{
    uint64_t way = rng_below(rng, 100);
    pass(world, (int64_t)rng_below(rng, 3 * HOUR_MS));
    if (way < 5)
        world->wall_ms += (int64_t)rng_below(rng, 40 * DAY_MS);
    else if (way < 10)
        world->wall_ms -= (int64_t)rng_below(rng, 40 * DAY_MS);
    else if (way < 15)
        world->wall_ms += (int64_t)rng_below(rng, 800);
    else
        give_id(world);
}

static void nothing_is_ever_taken_for_older_than_it_is(void **state)
{
    (void)state;
    struct rng rng = test_rng();
    static struct world world;
    for (int round = 0; round < 50; round++) {
        begin(&world);
        while (world.n < IDS / 20) {
            step(&world, &rng);
            assert_none_too_young(&world, KEEP_MS);
            assert_none_too_young(&world, DAY_MS);
            assert_none_too_young(&world, HOUR_MS);
        }
        assert_in_range(world.ages.n, 1, AGES_MARKS);
    }
}

/* More jumps than there are marks: conservative, but bounded, and forgotten in time. */
static void jumps_without_end_take_no_more_room(void **state)
{
    (void)state;
    static struct world world;
    begin(&world);
    for (int i = 0; i < 200; i++) {
        pass(&world, HOUR_MS);
        world.wall_ms += HOUR_MS;
        give_id(&world);
        assert_none_too_young(&world, KEEP_MS);
    }
    assert_int_equal(world.ages.n, AGES_MARKS);
    int64_t last_ms = world.newest_ms;
    pass(&world, 2 * KEEP_MS);
    assert_true(limit(&world, KEEP_MS) >= last_ms);
    world.wall_ms += HOUR_MS;
    give_id(&world);
    assert_in_range(world.ages.n, 1, 2);
}

static void only_what_is_sure_has_elapsed_while_the_machine_was_down(void **state)
{
    (void)state;
    /* up for a minute, a day later by the clock: a minute is sure */
    assert_int_equal(elapsed_after_boot(500, START_MS, START_MS + DAY_MS, 60000), 60500);
    /* on another machine, up for long: what the clock says */
    assert_int_equal(elapsed_after_boot(500, START_MS, START_MS + 2000, 90 * DAY_MS), 2500);
    /* the clock is behind: nothing is known */
    assert_int_equal(elapsed_after_boot(500, START_MS, START_MS - DAY_MS, 60000), 500);
}

/* The mark before the oldest that matters says what was made in between: without it nothing would ever be old. */
static void a_mark_is_kept_while_what_was_made_behind_it_is_young(void **state)
{
    (void)state;
    struct world world;
    begin(&world);
    give_id(&world);
    pass(&world, 10 * DAY_MS);
    world.wall_ms += 30 * DAY_MS;
    give_id(&world);
    pass(&world, 6 * DAY_MS);
    world.wall_ms += 30 * DAY_MS;
    give_id(&world);
    assert_int_equal(world.ages.n, 3);
    assert_int_equal(limit(&world, KEEP_MS), START_MS + 2 * DAY_MS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_clock_left_alone_ages_are_exact),
        cmocka_unit_test(a_jump_ahead_makes_nothing_older),
        cmocka_unit_test(a_mark_is_kept_while_what_was_made_behind_it_is_young),
        cmocka_unit_test(what_is_made_while_the_time_stands_still_gets_old),
        cmocka_unit_test(nothing_is_ever_taken_for_older_than_it_is),
        cmocka_unit_test(jumps_without_end_take_no_more_room),
        cmocka_unit_test(only_what_is_sure_has_elapsed_while_the_machine_was_down),
    };
    return RUN_TESTS(tests);
}
