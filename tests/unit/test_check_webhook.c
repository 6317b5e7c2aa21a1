/* SPDX-License-Identifier: MIT */
/* The arguments of webhooks and of reports about them. */
#include "unit/check.h"

static void webhooks_are_checked(void **state)
{
    (void)state;
    struct tidings_op op = good(TIDINGS_OP_WEBHOOK_SET);
    const char *const bad_names[] = {"", "a b", "a/b", "a.b", "a\"", "\xc3\xa9", "a\n"};
    op.u.webhook.name = repeat("x", 30);
    assert_fine(op);
    op.u.webhook.name = repeat("x", 31);
    assert_refused(op, "name");
    for (size_t i = 0; i < COUNT_OF(bad_names); i++) {
        const enum tidings_op_kind kinds[] = {
            TIDINGS_OP_WEBHOOK_SET, TIDINGS_OP_WEBHOOK_DELETE, TIDINGS_OP_WEBHOOK_RETRY,
            TIDINGS_OP_WEBHOOK, TIDINGS_OP_WEBHOOK_REPORT}; /* the name is the first member */
        for (size_t k = 0; k < COUNT_OF(kinds); k++) {
            op = good(kinds[k]);
            op.u.webhook.name = text_of(bad_names[i]);
            assert_refused(op, "name");
        }
    }
    op = good(TIDINGS_OP_WEBHOOK_SET);
    op.u.webhook.secret = repeat("x", 256);
    assert_fine(op);
    op.u.webhook.secret = repeat("x", 257);
    assert_refused(op, "secret");
    op.u.webhook.secret = repeat("x", 15);
    assert_refused(op, "secret");
    op.u.webhook.secret = repeat("x", 16);
    assert_fine(op);
    op.u.webhook.events = UINT64_C(1) << TIDINGS_EVENT_PREFERENCES_CHANGED;
    assert_fine(op);
    op.u.webhook.events = UINT64_C(1) << TIDINGS_EVENT_WEBHOOK_CHANGED; /* never kept */
    assert_refused(op, "events");
    op.u.webhook.events = 1;
    assert_refused(op, "events");
    op.u.webhook.events = 0;
    op.u.webhook.url = repeat("x", 2049);
    assert_refused(op, "url");
    op.u.webhook.url = text_of("javascript:alert(1)");
    assert_refused(op, "url");
    op.u.webhook.url = (struct tidings_text){NULL, 0};
    assert_refused(op, "url");
}

static void reports_about_webhooks_are_checked(void **state)
{
    (void)state;
    const struct tidings_op fine = good(TIDINGS_OP_WEBHOOK_REPORT);
    struct tidings_op op = fine;
    op.u.webhook_report.position = TIDINGS_ID_MAX + 1;
    assert_refused(op, "position");
    op = fine;
    op.u.webhook_report.retry_at = -1;
    assert_refused(op, "retry_at");
    op = fine;
    op.u.webhook_report.failing_since = -1;
    assert_refused(op, "failing_since");
    op = fine;
    op.u.webhook_report.waiting_since = -1;
    assert_refused(op, "waiting_since");
    op = fine;
    op.u.webhook_report.last_error = repeat("x", 201);
    assert_refused(op, "last_error");
    op.u.webhook_report.last_error = repeat("x", 200);
    assert_fine(op);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(webhooks_are_checked, check_begin),
        cmocka_unit_test_setup(reports_about_webhooks_are_checked, check_begin),
    };
    return RUN_TESTS(tests);
}
