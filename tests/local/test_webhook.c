/* SPDX-License-Identifier: MIT */
/* Webhooks and events that leave the log before they are delivered; and a damaged webhook. */
#include "contract/webhooks.h"
#include "local/damage.h"

/* ---- Given up ------------------------------------------------------------------------------- */

/* An event of that kind, as if it had been written now. */
static uint64_t put_event(enum tidings_event_type type)
{
    uint8_t bytes[EVENT_RECORD_MAX];
    struct tidings_event event = {.type = type, .actor_user_id = 1, .target_id = 2, .author_id = 1};
    uint64_t id = publish(1, "t", "");
    row_put(TABLE_EVENT, key_id(id), (struct bytes){bytes, event_encode(&event, bytes)});
    open_engine();
    return id;
}

static void wait_until_swept(uint64_t event)
{
    struct key key = key_id(event);
    for (int tries = 0; row_get(TABLE_EVENT, key).p; tries++) {
        assert_true(tries < 100);
        open_engine();
        publish(2, "the sweeper's turn", "");
    }
    open_engine();
}

static void what_leaves_the_log_unsent_is_given_up(void **state)
{
    (void)state;
    set_webhook("lagging");
    struct tidings_op disabled = webhook_set_op("off");
    disabled.u.webhook.disabled = true;
    must(disabled);
    struct tidings_op posts = webhook_set_op("posts");
    posts.u.webhook.events = tidings_event_bits("PostPublished", 13);
    must(posts);
    set_webhook("done");
    uint64_t first = put_event(TIDINGS_EVENT_SCENE_PUBLISHED);
    put_event(TIDINGS_EVENT_POST_PUBLISHED);
    uint64_t last = put_event(TIDINGS_EVENT_SCENE_PUBLISHED);
    must(webhook_report_op("done", last));
    uint64_t start = look_at_webhook("lagging").position;
    assert_true(start < first);

    atomic_fetch_add(&clock_ms, 15 * DAY_MS);
    wait_until_swept(last);
    struct tidings_webhook seen = look_at_webhook("lagging");
    assert_int_equal(seen.dead, 2);
    assert_int_equal(seen.state, TIDINGS_WEBHOOK_DEAD);
    assert_int_equal(seen.position, last);
    assert_int_equal(look_at_webhook("off").dead, 2);
    assert_int_equal(look_at_webhook("off").state, TIDINGS_WEBHOOK_DISABLED);
    assert_int_equal(look_at_webhook("done").dead, 0);
    assert_int_equal(look_at_webhook("posts").dead,
                     1); /* not of the scenes, that it did not want */
    assert_verifies();
}

/* Too old to be read, and not removed yet: a report that goes past it must not make it forgotten. */
static void what_is_too_old_to_be_read_is_given_up_by_the_report_that_passes_it(void **state)
{
    (void)state;
    set_webhook("lagging");
    uint64_t first = put_event(TIDINGS_EVENT_SCENE_PUBLISHED);
    put_event(TIDINGS_EVENT_SCENE_PUBLISHED);
    atomic_fetch_add(&clock_ms, 15 * DAY_MS);
    /* One batch: what is applied comes before what is swept. */
    must(webhook_report_op("lagging", first + 1));
    struct tidings_webhook seen = look_at_webhook("lagging");
    assert_int_equal(seen.dead, 2);
    assert_int_equal(seen.state, TIDINGS_WEBHOOK_DEAD);
}

/* ---- Damage --------------------------------------------------------------------------------- */

static void a_damaged_one_is_found_and_spoils_nothing_else(void **state)
{
    (void)state;
    struct tidings_verify result = {.repair = true};
    set_webhook("bad");
    set_webhook("good");
    uint64_t post = publish(1, "t", "");
    row_cut(TABLE_WEBHOOK, key_webhook(text_of("bad")), 9);
    open_engine();
    assert_int_equal(tidings_verify(engine, &result), TIDINGS_OK);
    assert_int_equal(result.differences, 1);
    assert_int_equal(run(webhook_op(TIDINGS_OP_WEBHOOK, "bad")), TIDINGS_CORRUPT);
    assert_int_equal(run(webhook_set_op("bad")), TIDINGS_CORRUPT);
    must(webhook_report_op("good", post));
    must(webhook_op(TIDINGS_OP_WEBHOOK_DELETE, "bad"));
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(what_leaves_the_log_unsent_is_given_up),
        TEST(what_is_too_old_to_be_read_is_given_up_by_the_report_that_passes_it),
        TEST(a_damaged_one_is_found_and_spoils_nothing_else),
    };
#undef TEST
    return RUN_TESTS(tests);
}
