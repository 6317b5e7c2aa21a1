/* SPDX-License-Identifier: MIT */
/* A target that can be made anew: when that happens, what comes between the steps, and what ends it. */
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "consume/consumer.h"
#include "contract/harness.h"

enum { ADMIN = 9, STEPS = 3, WAIT_MS = 20000 };

/* What the target was asked for, and is to do next. */
static struct {
    pthread_mutex_t mutex;
    unsigned begun, done, steps, told, looks;
    unsigned told_at_end; /* how many events it had been told when it was last filled */
    bool fails, holds, wishes;
    uint64_t back; /* where to go back to; 0: nowhere */
    uint64_t first_told;
} target = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static bool target_tell(void *ctx, struct consumer *consumer, struct consumer_page *page)
{
    (void)ctx, (void)consumer;
    pthread_mutex_lock(&target.mutex);
    target.told += (unsigned)page->n;
    target.first_told = page->events[0].event_id;
    pthread_mutex_unlock(&target.mutex);
    page->done = page->n;
    return true;
}

static enum consumer_filled target_fill(void *ctx, struct consumer *consumer,
                                        struct consumer_fill *fill)
{
    (void)ctx;
    pthread_mutex_lock(&target.mutex);
    bool fails = target.fails, holds = target.holds;
    target.begun += !fails && !fill->step;
    target.steps += !fails;
    target.done += !fails && !holds && fill->step + 1 >= STEPS;
    pthread_mutex_unlock(&target.mutex);
    if (fails) {
        consume_note(consumer, "the target is away");
        return CONSUMER_FILL_FAILED;
    }
    if (holds)
        usleep(1000);
    fill->done = ++fill->step;
    return fill->step >= STEPS && !holds ? CONSUMER_FILL_DONE : CONSUMER_FILL_MORE;
}

static bool target_look(void *ctx, struct consumer *consumer, bool first)
{
    (void)ctx, (void)first;
    pthread_mutex_lock(&target.mutex);
    bool wishes = target.wishes;
    uint64_t back = target.back;
    target.wishes = false;
    target.back = 0;
    target.looks++;
    pthread_mutex_unlock(&target.mutex);
    return (!wishes || consume_rebuild(consumer, "a test")) &&
           (!back || consume_go_back(consumer, back, "a test"));
}

static void target_rest(void *ctx)
{
    (void)ctx;
}

static const struct consumer_target filled_target = {
    .name = ".test",
    .tell = target_tell,
    .fill = target_fill,
    .look = target_look,
    .rest = target_rest,
};

/* ---- What is seen of it ---------------------------------------------------------------------- */

static unsigned seen(const unsigned *number)
{
    pthread_mutex_lock(&target.mutex);
    unsigned n = *number;
    pthread_mutex_unlock(&target.mutex);
    return n;
}

static void set_flag(bool *flag, bool to)
{
    pthread_mutex_lock(&target.mutex);
    *flag = to;
    pthread_mutex_unlock(&target.mutex);
}

static void wait_for(const unsigned *number, unsigned least)
{
    for (unsigned ms = 0; seen(number) < least; ms++) {
        assert_true(ms < WAIT_MS);
        usleep(1000);
    }
}

static struct tidings_webhook row_with(bool rebuild)
{
    must((struct tidings_op){.kind = TIDINGS_OP_CONSUMER_SET,
                             .user_id = ADMIN,
                             .role = TIDINGS_ROLE_SERVICE,
                             .u.webhook_report = {.name = text_of(".test"),
                                                  .position = TIDINGS_ID_MAX,
                                                  .fills = true,
                                                  .rebuild = rebuild}});
    return answer.u.webhook;
}

/* The first time is over. */
static void wait_until_made(void)
{
    wait_for(&target.done, 1);
    for (unsigned ms = 0; row_with(false).rebuild; ms++) {
        assert_true(ms < WAIT_MS);
        usleep(1000);
    }
}

static struct consumer *start(void)
{
    memset((char *)&target + sizeof target.mutex, 0, sizeof target - sizeof target.mutex);
    struct consumer *consumer = consume_target_start(engine, &filled_target, NULL, 10);
    assert_non_null(consumer);
    return consumer;
}

/* ---- Tests ------------------------------------------------------------------------------------ */

static void a_new_one_is_filled_once_and_then_told(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 30; i++)
        follow(1 + i, 100);
    struct consumer *consumer = start();
    wait_until_made();
    assert_int_equal(seen(&target.told), 0); /* it is in what was filled */
    uint64_t post = publish(1, "t", "");
    wait_for(&target.told, 1);
    assert_int_equal(target.first_told, post);
    consume_target_stop(consumer);
    assert_int_equal(target.begun, 1);
    consumer = start();
    wait_for(&target.looks, 1);
    publish(1, "t", "");
    wait_for(&target.told, 1);
    consume_target_stop(consumer);
    assert_int_equal(target.begun, 0);
}

static void events_are_told_between_the_steps(void **state)
{
    (void)state;
    struct consumer *consumer = start();
    set_flag(&target.holds, true);
    wait_for(&target.begun, 1);
    publish(1, "t", "");
    wait_for(&target.told, 1);
    assert_int_equal(seen(&target.done), 0);
    set_flag(&target.holds, false);
    wait_until_made();
    consume_target_stop(consumer);
}

static void a_step_that_fails_is_tried_again_and_told(void **state)
{
    (void)state;
    struct consumer *consumer = start();
    set_flag(&target.fails, true);
    row_with(true); /* it may have been made by now */
    for (unsigned ms = 0; !row_with(false).failing_since; ms++) {
        assert_true(ms < WAIT_MS);
        usleep(1000);
    }
    set_flag(&target.fails, false);
    wait_until_made();
    for (unsigned ms = 0; row_with(false).failing_since; ms++) {
        assert_true(ms < WAIT_MS);
        usleep(1000);
    }
    consume_target_stop(consumer);
}

static void it_is_made_anew_when_somebody_wishes(void **state)
{
    (void)state;
    struct consumer *consumer = start();
    wait_until_made();
    row_with(true);
    wait_for(&target.done, 2);
    wait_until_made();
    set_flag(&target.wishes, true); /* the target itself */
    wait_for(&target.done, 3);
    wait_until_made();
    consume_target_stop(consumer);
}

/* Whoever wishes it while it goes on is not told that it was done before. */
static void a_wish_while_it_goes_on_begins_it_again(void **state)
{
    (void)state;
    struct consumer *consumer = start();
    set_flag(&target.holds, true);
    wait_for(&target.begun, 1);
    row_with(true);
    wait_for(&target.begun, 2);
    assert_int_equal(seen(&target.done), 0);
    set_flag(&target.holds, false);
    wait_until_made();
    consume_target_stop(consumer);
    assert_int_equal(target.done, 1);
}

static void who_is_stopped_on_the_way_begins_from_the_start(void **state)
{
    (void)state;
    struct consumer *consumer = start();
    set_flag(&target.holds, true);
    wait_for(&target.steps, STEPS + 2);
    consume_target_stop(consumer);
    assert_true(row_with(false).rebuild != 0);
    consumer = start();
    wait_until_made();
    consume_target_stop(consumer);
    assert_int_equal(target.begun, 1);
    assert_int_equal(target.steps, STEPS);
}

static void a_target_that_has_lost_something_is_told_it_again(void **state)
{
    (void)state;
    struct consumer *consumer = start();
    wait_until_made();
    uint64_t first = publish(1, "t", "");
    publish(1, "t", "");
    wait_for(&target.told, 2);
    pthread_mutex_lock(&target.mutex);
    target.back = first - 1;
    target.told = 0;
    pthread_mutex_unlock(&target.mutex);
    wait_for(&target.told, 2);
    consume_target_stop(consumer);
    assert_int_equal(target.begun, 1); /* and nothing was filled */
}

/* A position that cannot be reached any more is a rebuild, not a silence. */
static void events_that_are_gone_make_it_anew(void **state)
{
    (void)state;
    struct consumer *consumer = start();
    wait_until_made();
    consume_target_stop(consumer);
    publish(1, "t", "");
    atomic_fetch_add(&clock_ms, INT64_C(15) * 24 * 60 * 60 * 1000);
    for (unsigned tries = 0; !row_with(false).rebuild; tries++) {
        assert_true(tries < 100);
        open_engine(); /* the sweeper has a turn */
        publish(2, "t", "");
    }
    assert_true(row_with(false).dead > 0);
    consumer = start();
    wait_until_made();
    consume_target_stop(consumer);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(a_new_one_is_filled_once_and_then_told),
        TEST(events_are_told_between_the_steps),
        TEST(a_step_that_fails_is_tried_again_and_told),
        TEST(it_is_made_anew_when_somebody_wishes),
        TEST(a_wish_while_it_goes_on_begins_it_again),
        TEST(who_is_stopped_on_the_way_begins_from_the_start),
        TEST(a_target_that_has_lost_something_is_told_it_again),
        TEST(events_that_are_gone_make_it_anew),
    };
#undef TEST
    return RUN_TESTS(tests);
}
