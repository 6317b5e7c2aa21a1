/* SPDX-License-Identifier: MIT */
/* Opening, closing, submitting, and the words for it all. */
#include <sys/wait.h>
#include <unistd.h>

#include "contract/harness.h"
#include "support/engine.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

/* ---- The directory -------------------------------------------------------------------------- */

static void everything_is_there_after_a_restart(void **state)
{
    (void)state;
    open_engine();
    follow(BOB, ANN);
    uint64_t p1 = publish(ANN, "1", "body"), p2 = publish(ANN, "2", "");
    uint64_t p3 = publish(ANN, "3", "");
    open_post(BOB, p2);
    delete_post(ANN, p3);
    for (int i = 0; i < 3; i++) {
        reopen_engine();
        ASSERT_INBOX(BOB, TIDINGS_ALL, p3, p2, p1);
        ASSERT_INBOX(BOB, TIDINGS_UNREAD, p1);
        ASSERT_HISTORY(BOB, p2);
        must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = CID, .u.post.post_id = p1});
        assert_string_equal(answer.u.post.body.p, "body");
        assert_verifies();
    }
}

/* ---- Calls ---------------------------------------------------------------------------------- */

static void count_done(struct tidings_call *call)
{
    atomic_fetch_add((_Atomic unsigned *)call->ctx, 1);
}

static void closing_completes_what_was_submitted(void **state)
{
    (void)state;
    enum { CALLS = 500 };
    static struct tidings_call calls[CALLS];
    static struct tidings_answer answers[CALLS];
    _Atomic unsigned done = 0;
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = ANN,
                            .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    for (size_t i = 0; i < CALLS; i++) {
        tidings_answer_init(&answers[i]);
        calls[i] = (struct tidings_call){
            .op = &op, .answer = &answers[i], .done = count_done, .ctx = &done};
        tidings_submit(engine, &calls[i]);
    }
    close_engine();
    assert_int_equal(atomic_load(&done), CALLS);
    for (size_t i = 0; i < CALLS; i++) {
        assert_int_equal(calls[i].err, TIDINGS_OK);
        tidings_answer_release(&answers[i]);
    }
    open_engine();
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts, CALLS);
}

/* A publish in the child waited for ever for a thread that was not there. */
static void the_engine_is_closed_to_a_child(void **state)
{
    (void)state;
    enum { PATIENCE_S = 20 };
    int status;
    struct tidings_verify verify = {.report = NULL};
    struct tidings_stats stats;
    publish(ANN, "before", "");
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(PATIENCE_S);
        bool ok = run((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                                          .user_id = ANN,
                                          .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}}) ==
                  TIDINGS_CLOSED;
        ok = ok &&
             run((struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB}) == TIDINGS_CLOSED;
        tidings_stats(engine, &stats);
        ok = ok && stats.read_only && tidings_verify(engine, &verify) == TIDINGS_CLOSED;
        tidings_close(engine);
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    publish(ANN, "after", ""); /* the parent goes on, and alone */
    struct tidings *second;
    assert_int_equal(tidings_open(&options, &second, NULL), TIDINGS_LOCKED);
    assert_verifies();
}

static void who_shares_the_data_shares_a_secret(void **state)
{
    (void)state;
    static const uint8_t none[TIDINGS_SECRET_BYTES];
    uint8_t secret[TIDINGS_SECRET_BYTES] = {0}, again[TIDINGS_SECRET_BYTES] = {0};
    open_engine();
    enum tidings_err err = tidings_secret(engine, secret);
    if (!engine_shares()) {
        assert_int_equal(err, TIDINGS_UNSUPPORTED);
        assert_memory_equal(secret, none, sizeof none);
        return;
    }
    assert_int_equal(err, TIDINGS_OK);
    assert_memory_not_equal(secret, none, sizeof none);
    reopen_engine();
    assert_int_equal(tidings_secret(engine, again), TIDINGS_OK);
    assert_memory_equal(secret, again, sizeof secret);
}

static void a_bad_argument_is_named_and_costs_nothing(void **state)
{
    (void)state;
    assert_int_equal(run(follow_op(BOB, BOB)), TIDINGS_INVALID);
    assert_string_equal(answer.field, "user_id");
    assert_int_equal(run((struct tidings_op){.kind = (enum tidings_op_kind)999}), TIDINGS_INVALID);
    assert_string_equal(answer.field, "op");
    must((struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB});
    assert_null(answer.field);
    struct tidings_stats stats;
    tidings_stats(engine, &stats);
    assert_int_equal(stats.changes, 0);
}

static void one_reader_is_enough(void **state)
{
    (void)state;
    close_engine();
    options.settings.readers_max = 1;
    options.settings.batch_max = 1;
    open_engine();
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "t", "");
    open_post(BOB, post);
    open_post(BOB, post);
    assert_adds_up(BOB);
    assert_verifies();
}

static void words_exist_for_every_error_and_event(void **state)
{
    (void)state;
#define X(name, code, text)                                      \
    assert_string_equal(tidings_err_code(TIDINGS_##name), code); \
    assert_string_equal(tidings_err_text(TIDINGS_##name), text);
    TIDINGS_ERRORS(X)
#undef X
#define X(type, name, action, target)                                        \
    assert_string_equal(tidings_event_name(TIDINGS_EVENT_##type), name);     \
    assert_string_equal(tidings_event_action(TIDINGS_EVENT_##type), action); \
    assert_string_equal(tidings_event_target(TIDINGS_EVENT_##type), target);
    TIDINGS_EVENTS(X)
#undef X
    assert_non_null(tidings_err_code((enum tidings_err)999));
    assert_non_null(tidings_err_text((enum tidings_err) - 1));
    assert_null(tidings_event_name(TIDINGS_EVENT_NONE));
    assert_null(tidings_event_name((enum tidings_event_type)999));
    assert_null(tidings_event_action((enum tidings_event_type) - 1));
}

static void closing_nothing_is_fine(void **state)
{
    (void)state;
    tidings_close(NULL);
    tidings_answer_release(&answer);
    tidings_answer_release(&answer);
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
#define CLOSED(name) cmocka_unit_test_setup_teardown(name, harness_begin_closed, harness_end)
    const struct CMUnitTest tests[] = {
        CLOSED(everything_is_there_after_a_restart),
        OPENED(closing_completes_what_was_submitted),
        OPENED(the_engine_is_closed_to_a_child),
        CLOSED(who_shares_the_data_shares_a_secret),
        OPENED(a_bad_argument_is_named_and_costs_nothing),
        OPENED(one_reader_is_enough),
        CLOSED(words_exist_for_every_error_and_event),
        CLOSED(closing_nothing_is_fine),
    };
#undef OPENED
#undef CLOSED
    return RUN_TESTS(tests);
}
