/* SPDX-License-Identifier: MIT */
/* What is nobody's any more leaves the tables, and nobody notices. */
#include <unistd.h>

#include "cluster/sql_support.h"
#include "contract/harness.h"
#include "contract/stories.h"
#include "contract/webhooks.h"

enum { MANY = 1200 }; /* more than are removed at a time */

static struct sql *sql;

static int begin(void **state)
{
    if (harness_begin(state))
        return -1;
    sql = connect_to_data(harness_dir());
    return 0;
}

static int end(void **state)
{
    sql_close(sql);
    return harness_end(state);
}

static void pass(int64_t ms)
{
    atomic_fetch_add(&clock_ms, ms);
}

static void await_rows(const char *query, uint64_t n)
{
    for (int tries = 0; tries < 600; tries++) {
        if (asked(sql, query) == n)
            return;
        usleep(50000);
    }
    fail_msg("%s: not %llu in 30 s", query, (unsigned long long)n);
}

static void events_go_when_their_days_have_passed(void **state)
{
    (void)state;
    publish_many(ANN, MANY);
    pass(13 * DAY_MS);
    publish(ANN, "young", "");
    pass(DAY_MS + 1000); /* ids of one moment take some of the time behind it */
    await_rows("SELECT COUNT(*) FROM outbox_event", 1);
    must((struct tidings_op){
        .kind = TIDINGS_OP_EVENTS, .user_id = ADMIN, .role = TIDINGS_ROLE_SERVICE});
    assert_int_equal(answer.u.events.n, 1);
    publish(ANN, "next", "");
    assert_int_equal(asked(sql, "SELECT COUNT(*) FROM outbox_event"), 2);
    assert_verifies();
}

static void a_webhook_that_was_slow_counts_what_is_gone(void **state)
{
    (void)state;
    struct tidings_op op = webhook_set_op("slow");
    op.u.webhook.events = tidings_event_bits("PostPublished", strlen("PostPublished"));
    must(op);
    publish_many(ANN, MANY);
    pass(14 * DAY_MS + 1000);
    await_rows("SELECT COUNT(*) FROM outbox_event", 0);
    assert_int_equal(look_at_webhook("slow").dead, MANY);
}

static bool render_nothing(const struct tidings_once *once, const struct tidings_answer *of,
                           struct tidings_text *bytes)
{
    (void)once;
    (void)of;
    *bytes = (struct tidings_text){"x", 1};
    return true;
}

static void keys_go_when_their_hours_have_passed(void **state)
{
    (void)state;
    struct tidings_once once = {.key = "a", .render = render_nothing};
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .user_id = ANN,
                            .once = &once,
                            .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}, {NULL, 0}}};
    must(op);
    pass(DAY_MS / 2);
    once.key[0] = 'b';
    must(op);
    pass(DAY_MS / 2 + 1);
    await_rows("SELECT COUNT(*) FROM idempotency", 1);
    must(op); /* the younger one is remembered still */
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts, 2);
}

static void cleared_history_goes(void **state)
{
    (void)state;
    must(follow_op(BOB, ANN));
    for (int i = 0; i < MANY; i++)
        must((struct tidings_op){
            .kind = TIDINGS_OP_OPEN, .user_id = BOB, .u.post.post_id = publish(ANN, "t", "")});
    uint64_t later = publish(ANN, "later", "");
    assert_int_equal(asked(sql, "SELECT COUNT(*) FROM history"), MANY);
    must((struct tidings_op){.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = BOB});
    must((struct tidings_op){.kind = TIDINGS_OP_OPEN, .user_id = BOB, .u.post.post_id = later});
    await_rows("SELECT COUNT(*) FROM history_cleared", 0);
    assert_int_equal(asked(sql, "SELECT COUNT(*) FROM history"), 1);
    assert_verifies();
}

static void messages_of_a_deleted_story_go(void **state)
{
    (void)state;
    uint64_t gone = story(ANN, "gone"), stays = story(ANN, "stays");
    scene(ANN, gone, "1");
    scene(ANN, gone, "2");
    scene(ANN, stays, "1");
    must((struct tidings_op){.kind = TIDINGS_OP_DELETE, .user_id = ANN, .u.post.post_id = gone});
    await_rows("SELECT COUNT(*) FROM story_closed", 0);
    assert_int_equal(asked(sql, "SELECT COUNT(*) FROM scene_messages"), 1);
    assert_int_equal(asked(sql, "SELECT COUNT(DISTINCT scene_id) FROM scene_message_id"), 1);
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(events_go_when_their_days_have_passed),
        TEST(a_webhook_that_was_slow_counts_what_is_gone),
        TEST(keys_go_when_their_hours_have_passed),
        TEST(cleared_history_goes),
        TEST(messages_of_a_deleted_story_go),
    };
    return RUN_TESTS(tests);
}
