/* SPDX-License-Identifier: MIT */
/* The events: their order, how long they are kept, and where to go on. */
#include "contract/harness.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

static struct tidings_op events_op(uint64_t after, uint32_t limit)
{
    return (struct tidings_op){.kind = TIDINGS_OP_EVENTS,
                               .role = TIDINGS_ROLE_SERVICE,
                               .user_id = DAN,
                               .u.page = {limit, {after, 0}}};
}

static void events_follow_the_changes_in_order(void **state)
{
    (void)state;
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "1", "");
    open_post(BOB, post); /* no event, by default */
    delete_post(ANN, post);
    unfollow(BOB, ANN, true);
    const enum tidings_event_type expected[] = {
        TIDINGS_EVENT_FOLLOW_CREATED, TIDINGS_EVENT_POST_PUBLISHED, TIDINGS_EVENT_POST_DELETED,
        TIDINGS_EVENT_FOLLOW_CANCELED, TIDINGS_EVENT_INBOX_PURGED};
    uint64_t after = 0;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        must(events_op(after, 1));
        assert_int_equal(answer.u.events.n, 1);
        assert_int_equal(answer.u.events.rows[0].type, expected[i]);
        assert_true(answer.u.events.rows[0].event_id > after);
        assert_int_equal(answer.u.events.rows[0].event_id, answer.u.events.next.a);
        assert_int_equal(answer.u.events.rows[0].happened_at, START_MS);
        after = answer.u.events.next.a;
    }
    must(events_op(after, 1));
    assert_int_equal(answer.u.events.n, 0);
    assert_int_equal(answer.u.events.next.a, after);
    struct tidings_op op = events_op(0, 0);
    op.role = TIDINGS_ROLE_USER;
    assert_int_equal(run(op), TIDINGS_FORBIDDEN);
}

static void events_are_kept_for_14_days(void **state)
{
    (void)state;
    const int64_t days_14 = INT64_C(14) * 24 * 60 * 60 * 1000;
    publish(ANN, "old", "");
    atomic_fetch_add(&clock_ms, 1);
    publish(ANN, "newer", "");
    atomic_store(&clock_ms, START_MS + days_14 - 1);
    must(events_op(0, 0));
    assert_int_equal(answer.u.events.n, 2);
    atomic_store(&clock_ms, START_MS + days_14);
    must(events_op(0, 0));
    assert_int_equal(answer.u.events.n, 1);
    publish(ANN, "newest", ""); /* sweeps */
    must(events_op(0, 0));
    assert_int_equal(answer.u.events.n, 2);
    assert_verifies();
}

static void there_is_always_a_place_to_ask_again(void **state)
{
    (void)state;
    must(events_op(0, 0));
    assert_int_equal(answer.u.events.n, 0);
    assert_int_equal(answer.u.events.next.a, 0); /* from the beginning again */
    publish(ANN, "p", "");
    must(events_op(0, 0));
    uint64_t at = answer.u.events.next.a;
    assert_int_equal(at, answer.u.events.rows[0].event_id);
    must(events_op(at, 0));
    assert_int_equal(answer.u.events.n, 0);
    assert_int_equal(answer.u.events.next.a, at);
}

static void the_newest_is_before_all_that_happens_later(void **state)
{
    (void)state;
    publish(ANN, "p", "");
    follow(BOB, ANN);
    must(events_op(0, 1)); /* a page that does not reach the end */
    uint64_t newest = answer.u.events.newest;
    must(events_op(0, 0));
    assert_true(answer.u.events.rows[1].event_id <= newest);
    publish(ANN, "later", "");
    must(events_op(newest, 0));
    assert_int_equal(answer.u.events.n, 1);
    assert_int_equal(answer.u.events.rows[0].type, TIDINGS_EVENT_POST_PUBLISHED);
}

static void reading_writes_events_if_asked_to(void **state)
{
    (void)state;
    close_engine();
    options.settings.read_events = 1;
    open_engine();
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", ""), p2 = publish(ANN, "2", "");
    const uint64_t both[] = {p1, p2};
    uint64_t after = events_end();
    mark(BOB, both, 2);
    unmark_one(BOB, p1);
    mark_up_to(BOB, ANN, as_of(BOB));
    must(events_op(after, 0));
    assert_int_equal(answer.u.events.n, 4);
    assert_int_equal(answer.u.events.rows[0].type, TIDINGS_EVENT_POST_READ);
    assert_int_equal(answer.u.events.rows[1].target_id, p2);
    assert_int_equal(answer.u.events.rows[2].type, TIDINGS_EVENT_POST_UNREAD);
    assert_int_equal(answer.u.events.rows[3].type, TIDINGS_EVENT_INBOX_READ);
    assert_int_equal(answer.u.events.rows[3].delta, 1);
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(events_follow_the_changes_in_order),
        OPENED(events_are_kept_for_14_days),
        OPENED(there_is_always_a_place_to_ask_again),
        OPENED(the_newest_is_before_all_that_happens_later),
        OPENED(reading_writes_events_if_asked_to),
    };
#undef OPENED
    return RUN_TESTS(tests);
}
