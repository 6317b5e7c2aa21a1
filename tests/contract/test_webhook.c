/* SPDX-License-Identifier: MIT */
/* Webhooks: who may change them, what a report does, and what is given up. */
#include <string.h>

#include "contract/webhooks.h"

static void list(void)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_WEBHOOKS, .user_id = ADMIN, .role = TIDINGS_ROLE_SERVICE});
}

static struct tidings_webhook report_dead(const char *name, uint64_t position)
{
    struct tidings_op op = webhook_report_op(name, position);
    op.u.webhook_report.dead = 1;
    op.u.webhook_report.failing_since = START_MS;
    must(op);
    return look_at_webhook(name);
}

/* Something happens; its place in the events. */
static uint64_t event(void)
{
    publish(1, "t", "");
    return events_end();
}

static bool same(struct tidings_text text, const char *expected)
{
    return text.n == strlen(expected) && !memcmp(text.p, expected, text.n) && !text.p[text.n];
}

/* ---- By admins ------------------------------------------------------------------------------ */

static void a_new_one_starts_at_the_newest_event(void **state)
{
    (void)state;
    uint64_t before = event();
    struct tidings_webhook made = set_webhook("gateway");
    assert_true(made.position >= before);
    assert_true(same(made.name, "gateway") && same(made.url, webhook_url) &&
                same(made.last_error, ""));
    assert_int_equal(made.state, TIDINGS_WEBHOOK_OK);
    assert_int_equal(made.created_at, START_MS);
    assert_int_equal(made.attempts + made.dead + made.delivered + made.failed, 0);
    assert_null(made.secret.p);
    assert_true(event() > made.position);
    reopen_engine();
    struct tidings_webhook again = look_at_webhook("gateway");
    assert_int_equal(again.position, made.position);
    assert_int_equal(again.generation, made.generation);
}

static void a_change_keeps_the_position_and_the_secret(void **state)
{
    (void)state;
    struct tidings_webhook made = set_webhook("gateway");
    publish(1, "t", "");
    struct tidings_op op = webhook_set_op("gateway");
    op.u.webhook.url = text_of("https://other.example.org/");
    op.u.webhook.secret = (struct tidings_text){NULL, 0};
    op.u.webhook.disabled = true;
    must(op);
    assert_true(same(answer.u.webhook.url, "https://other.example.org/"));
    assert_int_equal(answer.u.webhook.state, TIDINGS_WEBHOOK_DISABLED);
    assert_int_equal(answer.u.webhook.position, made.position);
    assert_true(answer.u.webhook.generation > made.generation);
    list();
    assert_int_equal(answer.u.webhooks.n, 1);
    assert_true(same(answer.u.webhooks.rows[0].secret, webhook_secret));
}

static void the_first_time_needs_a_secret(void **state)
{
    (void)state;
    struct tidings_op op = webhook_set_op("gateway");
    op.u.webhook.secret = (struct tidings_text){NULL, 0};
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "secret");
    assert_int_equal(run(webhook_op(TIDINGS_OP_WEBHOOK, "gateway")), TIDINGS_NOT_FOUND);
}

static void they_are_listed_by_name_and_there_is_a_limit(void **state)
{
    (void)state;
    close_engine();
    options.settings.webhooks_max = 3;
    open_engine();
    set_webhook("b");
    set_webhook("c-1_X");
    set_webhook("a");
    assert_int_equal(run(webhook_set_op("d")), TIDINGS_WEBHOOK_LIMIT);
    set_webhook("b"); /* is there already */
    list();
    assert_int_equal(answer.u.webhooks.n, 3);
    assert_true(same(answer.u.webhooks.rows[0].name, "a"));
    assert_true(same(answer.u.webhooks.rows[1].name, "b"));
    assert_true(same(answer.u.webhooks.rows[2].name, "c-1_X"));
    must(webhook_op(TIDINGS_OP_WEBHOOK_DELETE, "b"));
    assert_int_equal(run(webhook_op(TIDINGS_OP_WEBHOOK_DELETE, "b")), TIDINGS_NOT_FOUND);
    assert_int_equal(run(webhook_op(TIDINGS_OP_WEBHOOK_RETRY, "b")), TIDINGS_NOT_FOUND);
    set_webhook("d");
}

static void only_admins_may_and_services_deliver(void **state)
{
    (void)state;
    set_webhook("gateway");
    const struct {
        enum tidings_op_kind kind;
        enum tidings_err user, service;
    } rows[] = {
        {TIDINGS_OP_WEBHOOK_SET, TIDINGS_FORBIDDEN, TIDINGS_FORBIDDEN},
        {TIDINGS_OP_WEBHOOK_DELETE, TIDINGS_FORBIDDEN, TIDINGS_FORBIDDEN},
        {TIDINGS_OP_WEBHOOK_RETRY, TIDINGS_FORBIDDEN, TIDINGS_FORBIDDEN},
        {TIDINGS_OP_WEBHOOK, TIDINGS_FORBIDDEN, TIDINGS_FORBIDDEN},
        {TIDINGS_OP_WEBHOOKS, TIDINGS_FORBIDDEN, TIDINGS_OK},
        {TIDINGS_OP_WEBHOOK_REPORT, TIDINGS_FORBIDDEN, TIDINGS_OK},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        struct tidings_op op = webhook_set_op("gateway");
        if (rows[i].kind == TIDINGS_OP_WEBHOOKS)
            op.u.page = (struct tidings_page){0};
        if (rows[i].kind == TIDINGS_OP_WEBHOOK_REPORT)
            op = webhook_report_op("gateway", 0);
        op.kind = rows[i].kind;
        op.role = TIDINGS_ROLE_USER;
        assert_int_equal(run(op), rows[i].user);
        op.role = TIDINGS_ROLE_SERVICE;
        assert_int_equal(run(op), rows[i].service);
    }
    assert_true(same(look_at_webhook("gateway").url, webhook_url));
}

/* ---- Which events --------------------------------------------------------------------------- */

static uint64_t bits(const char *name)
{
    return tidings_event_bits(name, strlen(name));
}

static struct tidings_webhook set_events(const char *name, uint64_t events)
{
    struct tidings_op op = webhook_set_op(name);
    op.u.webhook.events = events;
    must(op);
    return answer.u.webhook;
}

static void a_name_has_the_bits_of_all_its_types(void **state)
{
    (void)state;
    struct tidings_event event = {.type = TIDINGS_EVENT_VOTE_CREATED};
    assert_true(tidings_webhook_wants(bits("ReactionCreated"), &event));
    event.type = TIDINGS_EVENT_REACTION_CREATED;
    assert_true(tidings_webhook_wants(bits("ReactionCreated"), &event));
    assert_false(tidings_webhook_wants(bits("ReactionDeleted"), &event));
    assert_false(tidings_webhook_wants(0, &event));
    event.type = TIDINGS_EVENT_SCENE_PUBLISHED;
    assert_true(tidings_webhook_wants(0, &event));
    assert_int_equal(tidings_webhook_bits(0), bits("ScenePublished"));
    /* Never kept, and so never told. */
    assert_int_equal(bits("WebhookChanged") | bits("StoryClosed"), 0);
    assert_int_equal(bits("") | bits("PostPublishe") | bits("postpublished"), 0);
}

static void events_are_kept_and_set_anew_each_time(void **state)
{
    (void)state;
    uint64_t events = bits("PostPublished") | bits("FollowCreated");
    assert_int_equal(set_events("all", events).events, events);
    reopen_engine();
    assert_int_equal(look_at_webhook("all").events, events);
    list();
    assert_int_equal(answer.u.webhooks.rows[0].events, events);
    must(webhook_op(TIDINGS_OP_WEBHOOK_RETRY, "all"));
    assert_int_equal(answer.u.webhook.events, events);
    assert_int_equal(set_webhook("all").events, 0);
}

/* Whoever delivers has gone past these without a report: nobody waits for them. */
static void other_events_are_wanted_from_now_on(void **state)
{
    (void)state;
    set_webhook("gateway");
    for (int i = 0; i < 200; i++)
        event();
    uint64_t before = events_end();
    assert_int_equal(set_events("gateway", bits("PostPublished")).position, before);
    uint64_t waiting = event();
    /* That one is wanted, and not told: the position stays before it. */
    struct tidings_webhook seen = set_events("gateway", bits("FollowCreated"));
    assert_true(seen.position < waiting);
}

/* ---- Two secrets ---------------------------------------------------------------------------- */

static struct tidings_webhook rotate(const char *secret)
{
    struct tidings_op op = webhook_set_op("gateway");
    op.u.webhook.secret = text_of(secret);
    must(op);
    list();
    return answer.u.webhooks.rows[0];
}

static void the_old_secret_signs_for_a_day(void **state)
{
    (void)state;
    static const char next[] = "the next secret, long enough", last[] = "the last one, also long";
    set_webhook("gateway");
    list();
    assert_int_equal(answer.u.webhooks.rows[0].old_secret.n, 0);
    struct tidings_webhook seen = rotate(next);
    assert_true(same(seen.secret, next) && same(seen.old_secret, webhook_secret));
    assert_int_equal(seen.old_secret_ms, DAY_MS);
    assert_null(look_at_webhook("gateway").old_secret.p);
    /* The same again is no rotation, nor is a change of something else. */
    atomic_fetch_add(&clock_ms, DAY_MS / 2);
    seen = rotate(next);
    assert_true(same(seen.old_secret, webhook_secret));
    assert_int_equal(seen.old_secret_ms, DAY_MS / 2);
    must(webhook_op(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    reopen_engine();
    atomic_fetch_add(&clock_ms, DAY_MS / 2 - 1);
    list();
    assert_int_equal(answer.u.webhooks.rows[0].old_secret_ms, 1);
    atomic_fetch_add(&clock_ms, 1);
    list();
    assert_int_equal(answer.u.webhooks.rows[0].old_secret_ms, 0);
    assert_int_equal(answer.u.webhooks.rows[0].old_secret.n, 0);
    /* Of several rotations the last one counts. */
    rotate(last);
    seen = rotate(webhook_secret);
    assert_true(same(seen.secret, webhook_secret) && same(seen.old_secret, last));
}

/* ---- Reports -------------------------------------------------------------------------------- */

static void a_report_is_kept_and_adds_up(void **state)
{
    (void)state;
    set_webhook("gateway");
    uint64_t at = event();
    struct tidings_op op = webhook_report_op("gateway", at);
    op.u.webhook_report.attempts = 3;
    op.u.webhook_report.retry_at = START_MS + 5000;
    op.u.webhook_report.failing_since = START_MS - 5000;
    op.u.webhook_report.waiting_since = START_MS - 6000;
    op.u.webhook_report.failed = 2;
    op.u.webhook_report.delivered = 4;
    op.u.webhook_report.last_error = text_of("status 500");
    must(op);
    op.u.webhook_report.last_error = (struct tidings_text){NULL, 0};
    must(op);
    reopen_engine();
    struct tidings_webhook seen = look_at_webhook("gateway");
    assert_int_equal(seen.position, at);
    assert_int_equal(seen.state, TIDINGS_WEBHOOK_RETRYING);
    assert_int_equal(seen.attempts, 3);
    assert_int_equal(seen.retry_at, START_MS + 5000);
    assert_int_equal(seen.failing_since, START_MS - 5000);
    assert_int_equal(seen.waiting_since, START_MS - 6000);
    assert_int_equal(seen.failed, 4);
    assert_int_equal(seen.delivered, 8);
    assert_true(same(seen.last_error, "status 500"));
    must(webhook_op(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    assert_int_equal(answer.u.webhook.state, TIDINGS_WEBHOOK_OK);
    assert_int_equal(answer.u.webhook.retry_at + answer.u.webhook.attempts, 0);
    assert_int_equal(answer.u.webhook.position, at);
}

static void a_late_report_undoes_nothing(void **state)
{
    (void)state;
    set_webhook("gateway");
    uint64_t at = event();
    struct tidings_op late = webhook_report_op("gateway", at);
    set_webhook("gateway");
    assert_int_equal(run(late), TIDINGS_NOT_FOUND);
    late = webhook_report_op("gateway", at);
    must(webhook_op(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    assert_int_equal(run(late), TIDINGS_NOT_FOUND);
    late = webhook_report_op("gateway", at);
    must(webhook_op(TIDINGS_OP_WEBHOOK_DELETE, "gateway"));
    set_webhook("gateway"); /* another one of that name */
    assert_int_equal(run(late), TIDINGS_NOT_FOUND);
    assert_true(look_at_webhook("gateway").position >= at);
}

static void a_position_is_never_ahead_and_never_goes_back(void **state)
{
    (void)state;
    struct tidings_webhook made = set_webhook("gateway");
    uint64_t at = event();
    struct tidings_op op = webhook_report_op("gateway", at + 100);
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "position");
    must(webhook_report_op("gateway", at));
    must(webhook_report_op("gateway", made.position));
    assert_int_equal(look_at_webhook("gateway").position, at);
}

/* ---- Given up ------------------------------------------------------------------------------- */

static void a_dead_one_goes_back_to_where_it_died(void **state)
{
    (void)state;
    uint64_t start = set_webhook("gateway").position;
    uint64_t first = event(), second = event();
    assert_int_equal(report_dead("gateway", first).state, TIDINGS_WEBHOOK_DEAD);
    struct tidings_webhook seen = report_dead("gateway", second);
    assert_int_equal(seen.dead, 2);
    assert_int_equal(report_dead("gateway", second).dead, 2); /* the same again */
    must(webhook_op(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    assert_int_equal(answer.u.webhook.position, start);
    assert_int_equal(answer.u.webhook.state, TIDINGS_WEBHOOK_OK);
    assert_int_equal(answer.u.webhook.dead, 2);
}

static void a_success_ends_being_dead(void **state)
{
    (void)state;
    set_webhook("gateway");
    uint64_t first = event(), second = event();
    report_dead("gateway", first);
    struct tidings_op op = webhook_report_op("gateway", second);
    op.u.webhook_report.delivered = 1;
    must(op);
    struct tidings_webhook seen = look_at_webhook("gateway");
    assert_int_equal(seen.state, TIDINGS_WEBHOOK_OK);
    assert_int_equal(seen.dead, 1);
    must(webhook_op(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    assert_int_equal(answer.u.webhook.position, second);
}

/* ---- Consumers ------------------------------------------------------------------------------ */

static struct tidings_webhook set_consumer(uint64_t position)
{
    must(
        (struct tidings_op){.kind = TIDINGS_OP_CONSUMER_SET,
                            .user_id = ADMIN,
                            .role = TIDINGS_ROLE_SERVICE,
                            .u.webhook_report = {.name = text_of(".kafka"), .position = position}});
    return answer.u.webhook;
}

static void a_consumer_begins_with_the_first_event_and_may_be_sent_back(void **state)
{
    (void)state;
    uint64_t first = event(), second = event();
    struct tidings_webhook made = set_consumer(TIDINGS_ID_MAX);
    assert_true(made.position < first);
    assert_int_equal(made.url.n, 0);
    struct tidings_op op = {.kind = TIDINGS_OP_WEBHOOK_REPORT,
                            .user_id = ADMIN,
                            .role = TIDINGS_ROLE_SERVICE,
                            .u.webhook_report = {.name = text_of(".kafka"),
                                                 .generation = made.generation,
                                                 .position = second,
                                                 .delivered = 2}};
    must(op);
    struct tidings_webhook seen = set_consumer(TIDINGS_ID_MAX);
    assert_int_equal(seen.position, second);
    assert_int_equal(seen.generation, made.generation); /* looking changes nothing */
    assert_int_equal(seen.delivered, 2);
    seen = set_consumer(first);
    assert_int_equal(seen.position, first);
    assert_true(seen.generation > made.generation);
    assert_int_equal(run(op), TIDINGS_NOT_FOUND); /* who was under way reads the row again */
}

static struct tidings_op rebuild_op(const char *name, bool fills, bool rebuild)
{
    return (struct tidings_op){
        .kind = TIDINGS_OP_CONSUMER_SET,
        .user_id = ADMIN,
        .role = TIDINGS_ROLE_SERVICE,
        .u.webhook_report = {
            .name = text_of(name), .position = TIDINGS_ID_MAX, .fills = fills, .rebuild = rebuild}};
}

static struct tidings_op rebuilt_op(const struct tidings_webhook *row, uint64_t rebuilt)
{
    return (struct tidings_op){.kind = TIDINGS_OP_WEBHOOK_REPORT,
                               .user_id = ADMIN,
                               .role = TIDINGS_ROLE_SERVICE,
                               .u.webhook_report = {.name = text_of(".keys"),
                                                    .generation = row->generation,
                                                    .position = row->position,
                                                    .rebuilt = rebuilt}};
}

static void a_consumer_that_fills_is_made_anew_on_demand(void **state)
{
    (void)state;
    event();
    must(rebuild_op(".keys", true, false));
    struct tidings_webhook made = answer.u.webhook;
    assert_true(made.fills);
    assert_true(made.rebuild != 0); /* a new one has nothing */
    uint64_t newest = event();
    must(rebuild_op(".keys", false, true)); /* by an operator, who need not know that it fills */
    struct tidings_webhook wished = answer.u.webhook;
    assert_true(wished.position >= newest);
    assert_true(wished.rebuild != made.rebuild && wished.generation != made.generation);
    assert_int_equal(run(rebuilt_op(&made, made.rebuild)), TIDINGS_NOT_FOUND);
    must(rebuilt_op(&wished, made.rebuild)); /* another wish than the one that stands */
    must(rebuild_op(".keys", true, false));
    assert_int_equal(answer.u.webhook.rebuild, wished.rebuild);
    must(rebuilt_op(&wished, wished.rebuild));
    must(rebuild_op(".keys", true, false));
    assert_int_equal(answer.u.webhook.rebuild, 0);
    assert_int_equal(answer.u.webhook.generation, wished.generation);
}

static void only_what_fills_can_be_made_anew(void **state)
{
    (void)state;
    uint64_t first = event();
    assert_int_equal(run(rebuild_op(".kafka", false, true)), TIDINGS_NOT_FOUND);
    struct tidings_webhook made = set_consumer(TIDINGS_ID_MAX);
    assert_false(made.fills);
    assert_int_equal(made.rebuild, 0);
    assert_int_equal(run(rebuild_op(".kafka", false, true)), TIDINGS_INVALID);
    assert_true(set_consumer(TIDINGS_ID_MAX).position < first); /* it has skipped nothing */
    must(rebuild_op(".kafka", true, false));                    /* from now on it can */
    assert_true(answer.u.webhook.fills && answer.u.webhook.rebuild);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(a_new_one_starts_at_the_newest_event),
        TEST(a_change_keeps_the_position_and_the_secret),
        TEST(the_first_time_needs_a_secret),
        TEST(they_are_listed_by_name_and_there_is_a_limit),
        TEST(only_admins_may_and_services_deliver),
        TEST(a_name_has_the_bits_of_all_its_types),
        TEST(events_are_kept_and_set_anew_each_time),
        TEST(other_events_are_wanted_from_now_on),
        TEST(the_old_secret_signs_for_a_day),
        TEST(a_report_is_kept_and_adds_up),
        TEST(a_late_report_undoes_nothing),
        TEST(a_position_is_never_ahead_and_never_goes_back),
        TEST(a_dead_one_goes_back_to_where_it_died),
        TEST(a_success_ends_being_dead),
        TEST(a_consumer_begins_with_the_first_event_and_may_be_sent_back),
        TEST(a_consumer_that_fills_is_made_anew_on_demand),
        TEST(only_what_fills_can_be_made_anew),
    };
#undef TEST
    return RUN_TESTS(tests);
}
