/* SPDX-License-Identifier: MIT */
/* Tickets, which are used once, within their time. */
#include <pthread.h>
#include <string.h>

#include "contract/clocks.h"

static struct tidings_op spend(uint64_t user, uint8_t name, int64_t until_ms)
{
    return (struct tidings_op){.kind = TIDINGS_OP_TICKET_SPEND,
                               .user_id = user,
                               .u.ticket = {.name = {name}, .until_ms = until_ms}};
}

static void a_ticket_is_used_once(void **state)
{
    (void)state;
    int64_t until = tidings_elapsed(engine) + 30 * SECOND_MS;
    must(spend(ANN, 1, until));
    for (int round = 0; round < 2; round++) {
        assert_int_equal(run(spend(ANN, 1, until)), TIDINGS_NOT_FOUND);
        assert_int_equal(run(spend(ANN, 1, until + 1)), TIDINGS_NOT_FOUND);
        reopen_engine();
    }
    must(spend(ANN, 2, until));
    must(spend(BOB, 1, until)); /* one of his own */
    assert_int_equal(run(spend(BOB, 2, 0)), TIDINGS_INVALID);
    assert_string_equal(answer.field, "until_ms");
    assert_verifies();
}

static void a_ticket_has_its_time_whatever_the_clock_says(void **state)
{
    (void)state;
    int64_t until = tidings_elapsed(engine) + 30 * SECOND_MS;
    jump(HOUR_MS);
    must(spend(ANN, 1, until));
    jump(-2 * HOUR_MS);
    assert_int_equal(run(spend(ANN, 1, until)), TIDINGS_NOT_FOUND);
    pass(30 * SECOND_MS - 1);
    must(spend(ANN, 2, until));
    pass(1);
    assert_int_equal(run(spend(ANN, 3, until)), TIDINGS_NOT_FOUND);
    assert_verifies();
}

static void nobody_chooses_how_long_it_is_remembered(void **state)
{
    (void)state;
    int64_t now = tidings_elapsed(engine);
    assert_int_equal(run(spend(ANN, 1, now + TIDINGS_TICKET_MS + 1)), TIDINGS_NOT_FOUND);
    assert_int_equal(run(spend(ANN, 1, INT64_MAX)), TIDINGS_NOT_FOUND);
    must(spend(ANN, 1, now + TIDINGS_TICKET_MS));
}

/* However many are given out, what is kept of a user is bounded; and room comes back by itself. */
static void a_user_uses_so_many_in_a_while(void **state)
{
    (void)state;
    int64_t until = atomic_load(&clock_ms) + 30 * SECOND_MS;
    for (uint8_t i = 0; i < TIDINGS_TICKETS_MAX; i++)
        must(spend(ANN, i, until));
    assert_int_equal(run(spend(ANN, 200, until)), TIDINGS_RATE_LIMITED);
    assert_int_equal(answer.retry_after_ms, 30 * SECOND_MS + TIDINGS_TICKET_MS);
    must(spend(BOB, 200, until));
    assert_verifies();
    atomic_fetch_add(&clock_ms, 30 * SECOND_MS + TIDINGS_TICKET_MS - 1);
    until = atomic_load(&clock_ms) + 30 * SECOND_MS;
    assert_int_equal(run(spend(ANN, 200, until)), TIDINGS_RATE_LIMITED);
    atomic_fetch_add(&clock_ms, 1);
    for (uint8_t i = 0; i < TIDINGS_TICKETS_MAX; i++)
        must(spend(ANN, i, until));
    assert_verifies();
}

static bool render_nothing(const struct tidings_once *once, const struct tidings_answer *of,
                           struct tidings_text *bytes)
{
    (void)once;
    (void)of;
    *bytes = text_of("done");
    return true;
}

/* Tickets lie where answers do: neither is taken for the other. */
static void a_key_cannot_be_that_of_tickets(void **state)
{
    (void)state;
    struct tidings_once once = {.key = "key", .render = render_nothing};
    struct tidings_op op = spend(ANN, 1, tidings_elapsed(engine) + 30 * SECOND_MS);
    op.once = &once;
    must(op);
    must(op); /* it has happened */
    assert_string_equal(answer.stored.p, "done");
    op.once = NULL;
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    assert_verifies();
    memset(once.key, 255, sizeof once.key);
    op.once = &once;
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "once");
}

enum { THREADS = 16, TICKETS = 40 };

struct spender {
    pthread_t thread;
    pthread_barrier_t *together;
    int64_t until_ms;
    unsigned used, refused;
};

static void *spend_all(void *arg)
{
    struct spender *spender = arg;
    struct tidings_answer own;
    tidings_answer_init(&own);
    for (uint8_t i = 0; i < TICKETS; i++) {
        struct tidings_op op = spend(ANN, i, spender->until_ms);
        pthread_barrier_wait(spender->together);
        enum tidings_err err = tidings_run(engine, &op, &own);
        spender->used += err == TIDINGS_OK;
        spender->refused += err == TIDINGS_NOT_FOUND;
    }
    tidings_answer_release(&own);
    return NULL;
}

static void of_many_at_once_one_has_it(void **state)
{
    (void)state;
    pthread_barrier_t together;
    struct spender spenders[THREADS] = {0};
    unsigned used = 0, refused = 0;
    pthread_barrier_init(&together, NULL, THREADS);
    for (size_t i = 0; i < THREADS; i++) {
        spenders[i].together = &together;
        spenders[i].until_ms = tidings_elapsed(engine) + 30 * SECOND_MS;
        assert_int_equal(pthread_create(&spenders[i].thread, NULL, spend_all, &spenders[i]), 0);
    }
    for (size_t i = 0; i < THREADS; i++) {
        pthread_join(spenders[i].thread, NULL);
        used += spenders[i].used;
        refused += spenders[i].refused;
    }
    pthread_barrier_destroy(&together);
    assert_int_equal(used, TICKETS);
    assert_int_equal(refused, (THREADS - 1) * TICKETS);
    assert_verifies();
}

int main(void)
{
#define OPENED(name)  cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
#define JUMPING(name) cmocka_unit_test_setup_teardown(name, clocks_begin, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(a_ticket_is_used_once),
        JUMPING(a_ticket_has_its_time_whatever_the_clock_says),
        OPENED(nobody_chooses_how_long_it_is_remembered),
        OPENED(a_user_uses_so_many_in_a_while),
        OPENED(a_key_cannot_be_that_of_tickets),
        OPENED(of_many_at_once_one_has_it),
    };
#undef OPENED
#undef JUMPING
    return RUN_TESTS(tests);
}
