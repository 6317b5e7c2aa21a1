/* SPDX-License-Identifier: MIT */
/* Webhooks in the engine: who may change them, what a report does, and what is counted as lost. */
#include <string.h>

#include "domain/ids.h"
#include "engine/damage.h"
#include "engine/harness.h"

enum { ADMIN = 9 };
#define DAY_MS (INT64_C(24) * 60 * 60 * 1000)

static const char url[] = "https://push.example.org/tidings";
static const char secret[] = "0123456789abcdef";

static struct tidings_op of(enum tidings_op_kind kind, const char *name)
{
    return (struct tidings_op){.kind = kind,
                               .user_id = ADMIN,
                               .role = TIDINGS_ROLE_ADMIN,
                               .u.webhook.name = text_of(name)};
}

static struct tidings_op set_op(const char *name)
{
    struct tidings_op op = of(TIDINGS_OP_WEBHOOK_SET, name);
    op.u.webhook.url = text_of(url);
    op.u.webhook.secret = text_of(secret);
    return op;
}

static struct tidings_webhook set(const char *name)
{
    must(set_op(name));
    return answer.u.webhook;
}

static struct tidings_webhook look(const char *name)
{
    must(of(TIDINGS_OP_WEBHOOK, name));
    return answer.u.webhook;
}

static void list(void)
{
    must((struct tidings_op){
        .kind = TIDINGS_OP_WEBHOOKS, .user_id = ADMIN, .role = TIDINGS_ROLE_SERVICE});
}

static struct tidings_op report_op(const char *name, uint64_t position)
{
    uint64_t generation = look(name).generation;
    return (struct tidings_op){.kind = TIDINGS_OP_WEBHOOK_REPORT,
                               .user_id = ADMIN,
                               .role = TIDINGS_ROLE_SERVICE,
                               .u.webhook_report = {.name = text_of(name),
                                                    .generation = generation,
                                                    .position = position}};
}

static struct tidings_webhook report_dead(const char *name, uint64_t position)
{
    struct tidings_op op = report_op(name, position);
    op.u.webhook_report.dead = 1;
    op.u.webhook_report.failing_since = START_MS;
    must(op);
    return look(name);
}

static bool same(struct tidings_text text, const char *expected)
{
    return text.n == strlen(expected) && !memcmp(text.p, expected, text.n) && !text.p[text.n];
}

/* ---- By admins ------------------------------------------------------------------------------ */

static void a_new_one_starts_at_the_newest_event(void **state)
{
    (void)state;
    uint64_t post = publish(1, "t", "");
    struct tidings_webhook made = set("gateway");
    assert_true(made.position > post);
    assert_true(same(made.name, "gateway") && same(made.url, url) && same(made.last_error, ""));
    assert_int_equal(made.state, TIDINGS_WEBHOOK_OK);
    assert_int_equal(made.created_at, START_MS);
    assert_int_equal(made.attempts + made.dead + made.delivered + made.failed, 0);
    assert_null(made.secret.p);
    assert_true(publish(1, "t", "") > made.position);
    reopen_engine();
    struct tidings_webhook again = look("gateway");
    assert_int_equal(again.position, made.position);
    assert_int_equal(again.generation, made.generation);
}

static void a_change_keeps_the_position_and_the_secret(void **state)
{
    (void)state;
    struct tidings_webhook made = set("gateway");
    publish(1, "t", "");
    struct tidings_op op = set_op("gateway");
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
    assert_true(same(answer.u.webhooks.rows[0].secret, secret));
}

static void the_first_time_needs_a_secret(void **state)
{
    (void)state;
    struct tidings_op op = set_op("gateway");
    op.u.webhook.secret = (struct tidings_text){NULL, 0};
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "secret");
    assert_int_equal(run(of(TIDINGS_OP_WEBHOOK, "gateway")), TIDINGS_NOT_FOUND);
}

static void they_are_listed_by_name_and_there_is_a_limit(void **state)
{
    (void)state;
    close_engine();
    options.settings.webhooks_max = 3;
    open_engine();
    set("b");
    set("c-1_X");
    set("a");
    assert_int_equal(run(set_op("d")), TIDINGS_WEBHOOK_LIMIT);
    set("b"); /* is there already */
    list();
    assert_int_equal(answer.u.webhooks.n, 3);
    assert_true(same(answer.u.webhooks.rows[0].name, "a"));
    assert_true(same(answer.u.webhooks.rows[1].name, "b"));
    assert_true(same(answer.u.webhooks.rows[2].name, "c-1_X"));
    must(of(TIDINGS_OP_WEBHOOK_DELETE, "b"));
    assert_int_equal(run(of(TIDINGS_OP_WEBHOOK_DELETE, "b")), TIDINGS_NOT_FOUND);
    assert_int_equal(run(of(TIDINGS_OP_WEBHOOK_RETRY, "b")), TIDINGS_NOT_FOUND);
    set("d");
}

static void only_admins_may_and_services_deliver(void **state)
{
    (void)state;
    set("gateway");
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
        struct tidings_op op = set_op("gateway");
        if (rows[i].kind == TIDINGS_OP_WEBHOOKS)
            op.u.page = (struct tidings_page){0};
        if (rows[i].kind == TIDINGS_OP_WEBHOOK_REPORT)
            op = report_op("gateway", 0);
        op.kind = rows[i].kind;
        op.role = TIDINGS_ROLE_USER;
        assert_int_equal(run(op), rows[i].user);
        op.role = TIDINGS_ROLE_SERVICE;
        assert_int_equal(run(op), rows[i].service);
    }
    assert_true(same(look("gateway").url, url));
}

/* ---- Reports -------------------------------------------------------------------------------- */

static void a_report_is_kept_and_adds_up(void **state)
{
    (void)state;
    set("gateway");
    uint64_t post = publish(1, "t", "");
    struct tidings_op op = report_op("gateway", post);
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
    struct tidings_webhook seen = look("gateway");
    assert_int_equal(seen.position, post);
    assert_int_equal(seen.state, TIDINGS_WEBHOOK_RETRYING);
    assert_int_equal(seen.attempts, 3);
    assert_int_equal(seen.retry_at, START_MS + 5000);
    assert_int_equal(seen.failing_since, START_MS - 5000);
    assert_int_equal(seen.waiting_since, START_MS - 6000);
    assert_int_equal(seen.failed, 4);
    assert_int_equal(seen.delivered, 8);
    assert_true(same(seen.last_error, "status 500"));
    must(of(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    assert_int_equal(answer.u.webhook.state, TIDINGS_WEBHOOK_OK);
    assert_int_equal(answer.u.webhook.retry_at + answer.u.webhook.attempts, 0);
    assert_int_equal(answer.u.webhook.position, post);
}

static void a_late_report_undoes_nothing(void **state)
{
    (void)state;
    set("gateway");
    uint64_t post = publish(1, "t", "");
    struct tidings_op late = report_op("gateway", post);
    set("gateway");
    assert_int_equal(run(late), TIDINGS_NOT_FOUND);
    late = report_op("gateway", post);
    must(of(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    assert_int_equal(run(late), TIDINGS_NOT_FOUND);
    late = report_op("gateway", post);
    must(of(TIDINGS_OP_WEBHOOK_DELETE, "gateway"));
    set("gateway"); /* another one of that name */
    assert_int_equal(run(late), TIDINGS_NOT_FOUND);
    assert_true(look("gateway").position > post);
}

static void a_position_is_never_ahead_and_never_goes_back(void **state)
{
    (void)state;
    struct tidings_webhook made = set("gateway");
    uint64_t post = publish(1, "t", "");
    struct tidings_op op = report_op("gateway", post + 100);
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "position");
    must(report_op("gateway", post));
    must(report_op("gateway", made.position));
    assert_int_equal(look("gateway").position, post);
}

/* ---- Given up ------------------------------------------------------------------------------- */

static void a_dead_one_goes_back_to_where_it_died(void **state)
{
    (void)state;
    uint64_t start = set("gateway").position;
    uint64_t first = publish(1, "t", ""), second = publish(1, "t", "");
    assert_int_equal(report_dead("gateway", first).state, TIDINGS_WEBHOOK_DEAD);
    struct tidings_webhook seen = report_dead("gateway", second);
    assert_int_equal(seen.dead, 2);
    assert_int_equal(report_dead("gateway", second).dead, 2); /* the same again */
    must(of(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    assert_int_equal(answer.u.webhook.position, start);
    assert_int_equal(answer.u.webhook.state, TIDINGS_WEBHOOK_OK);
    assert_int_equal(answer.u.webhook.dead, 2);
}

static void a_success_ends_being_dead(void **state)
{
    (void)state;
    set("gateway");
    uint64_t first = publish(1, "t", ""), second = publish(1, "t", "");
    report_dead("gateway", first);
    struct tidings_op op = report_op("gateway", second);
    op.u.webhook_report.delivered = 1;
    must(op);
    struct tidings_webhook seen = look("gateway");
    assert_int_equal(seen.state, TIDINGS_WEBHOOK_OK);
    assert_int_equal(seen.dead, 1);
    must(of(TIDINGS_OP_WEBHOOK_RETRY, "gateway"));
    assert_int_equal(answer.u.webhook.position, second);
}

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
    set("lagging");
    struct tidings_op disabled = set_op("off");
    disabled.u.webhook.disabled = true;
    must(disabled);
    set("done");
    uint64_t first = put_event(TIDINGS_EVENT_SCENE_PUBLISHED);
    put_event(TIDINGS_EVENT_POST_PUBLISHED);
    uint64_t last = put_event(TIDINGS_EVENT_SCENE_PUBLISHED);
    must(report_op("done", last));
    uint64_t start = look("lagging").position;
    assert_true(start < first);

    atomic_fetch_add(&clock_ms, 15 * DAY_MS);
    wait_until_swept(last);
    struct tidings_webhook seen = look("lagging");
    assert_int_equal(seen.dead, 2);
    assert_int_equal(seen.state, TIDINGS_WEBHOOK_DEAD);
    assert_int_equal(seen.position, last);
    assert_int_equal(look("off").dead, 2);
    assert_int_equal(look("off").state, TIDINGS_WEBHOOK_DISABLED);
    assert_int_equal(look("done").dead, 0);
    assert_verifies();
}

/* Too old to be read, and not removed yet: a report that goes past it must not make it forgotten. */
static void what_is_too_old_to_be_read_is_given_up_by_the_report_that_passes_it(void **state)
{
    (void)state;
    set("lagging");
    uint64_t first = put_event(TIDINGS_EVENT_SCENE_PUBLISHED);
    put_event(TIDINGS_EVENT_SCENE_PUBLISHED);
    atomic_fetch_add(&clock_ms, 15 * DAY_MS);
    /* One batch: what is applied comes before what is swept. */
    must(report_op("lagging", first + 1));
    struct tidings_webhook seen = look("lagging");
    assert_int_equal(seen.dead, 2);
    assert_int_equal(seen.state, TIDINGS_WEBHOOK_DEAD);
}

/* ---- Damage --------------------------------------------------------------------------------- */

static void a_damaged_one_is_found_and_spoils_nothing_else(void **state)
{
    (void)state;
    struct tidings_verify result = {.repair = true};
    set("bad");
    set("good");
    uint64_t post = publish(1, "t", "");
    row_cut(TABLE_WEBHOOK, key_webhook(text_of("bad")), 9);
    open_engine();
    assert_int_equal(tidings_verify(engine, &result), TIDINGS_OK);
    assert_int_equal(result.differences, 1);
    assert_int_equal(run(of(TIDINGS_OP_WEBHOOK, "bad")), TIDINGS_CORRUPT);
    assert_int_equal(run(set_op("bad")), TIDINGS_CORRUPT);
    must(report_op("good", post));
    must(of(TIDINGS_OP_WEBHOOK_DELETE, "bad"));
    assert_verifies();
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
        TEST(a_report_is_kept_and_adds_up),
        TEST(a_late_report_undoes_nothing),
        TEST(a_position_is_never_ahead_and_never_goes_back),
        TEST(a_dead_one_goes_back_to_where_it_died),
        TEST(a_success_ends_being_dead),
        TEST(what_leaves_the_log_unsent_is_given_up),
        TEST(what_is_too_old_to_be_read_is_given_up_by_the_report_that_passes_it),
        TEST(a_damaged_one_is_found_and_spoils_nothing_else),
    };
#undef TEST
    return RUN_TESTS(tests);
}
