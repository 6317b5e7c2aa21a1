/* SPDX-License-Identifier: MIT */
/* The one writer: it can be held up in a `done`, so that what comes meanwhile must wait, and one can see what becomes of it. */
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

#include "contract/harness.h"

enum { ANN = 1, BOB = 2 };

static void count_done(struct tidings_call *call)
{
    atomic_fetch_add((_Atomic unsigned *)call->ctx, 1);
}

struct gate {
    sem_t reached, opened;
};

static void wait_at_gate(struct tidings_call *call)
{
    struct gate *gate = call->ctx;
    sem_post(&gate->reached);
    sem_wait(&gate->opened);
}

static void a_full_queue_is_busy_and_says_so_at_once(void **state)
{
    (void)state;
    struct tidings_op op = {.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = ANN};
    struct tidings_call held, calls[3];
    struct tidings_answer answers[4];
    struct gate gate;
    _Atomic unsigned done = 0;
    close_engine();
    options.settings.queue_max = 2;
    open_engine();
    sem_init(&gate.reached, 0, 0);
    sem_init(&gate.opened, 0, 0);
    for (size_t i = 0; i < 4; i++)
        tidings_answer_init(&answers[i]);
    held =
        (struct tidings_call){.op = &op, .answer = &answers[3], .done = wait_at_gate, .ctx = &gate};
    tidings_submit(engine, &held);
    sem_wait(&gate.reached);
    for (size_t i = 0; i < 3; i++) {
        calls[i] = (struct tidings_call){
            .op = &op, .answer = &answers[i], .done = count_done, .ctx = &done};
        tidings_submit(engine, &calls[i]);
    }
    assert_int_equal(atomic_load(&done), 1); /* the third, refused at once */
    assert_int_equal(tidings_finish(engine, &calls[2]), TIDINGS_BUSY);
    assert_true(answers[2].retry_after_ms > 0);
    assert_int_equal(badge(BOB), 0); /* reading does not wait */
    sem_post(&gate.opened);
    close_engine();
    assert_int_equal(atomic_load(&done), 3);
    assert_int_equal(calls[0].err, TIDINGS_OK);
    assert_int_equal(calls[1].err, TIDINGS_OK);
    for (size_t i = 0; i < 4; i++)
        tidings_answer_release(&answers[i]);
    sem_destroy(&gate.reached);
    sem_destroy(&gate.opened);
}

static void *close_it(void *arg)
{
    tidings_close(arg);
    return NULL;
}

/* The writer is held up again. Closing waits for it; whoever still comes is refused, and whoever came before is served. */
static void closing_while_calls_are_under_way(void **state)
{
    (void)state;
    enum { CALLS = 20, TRIES = 3000 }; /* fewer than the queue takes */
    struct tidings_op op = {
        .kind = TIDINGS_OP_PUBLISH,
        .user_id = ANN,
        .role = TIDINGS_ROLE_SERVICE, /* for whom there is no bucket: it may take long to close */
        .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    static struct tidings_call calls[CALLS + TRIES];
    struct tidings_call held;
    struct gate gate;
    _Atomic unsigned done = 0;
    unsigned submitted = 0, refused = 0;
    pthread_t closer;
    sem_init(&gate.reached, 0, 0);
    sem_init(&gate.opened, 0, 0);
    held = (struct tidings_call){.op = &op, .answer = &answer, .done = wait_at_gate, .ctx = &gate};
    tidings_submit(engine, &held);
    sem_wait(&gate.reached);
    for (bool closing = false; !refused && submitted < CALLS + TRIES; submitted++) {
        struct tidings_call *call = &calls[submitted];
        *call =
            (struct tidings_call){.op = &op, .answer = &answer, .done = count_done, .ctx = &done};
        tidings_submit(engine, call);
        refused += call->err == TIDINGS_CLOSED;
        if (submitted >= CALLS && !closing) {
            closing = !pthread_create(&closer, NULL, close_it, engine);
            assert_true(closing);
        }
        if (submitted >= CALLS)
            usleep(1000);
    }
    assert_int_equal(refused, 1);
    assert_int_equal(atomic_load(&done), 1); /* the one that was refused */
    sem_post(&gate.opened);
    pthread_join(closer, NULL);
    engine = NULL;
    assert_int_equal(atomic_load(&done), submitted);
    for (unsigned i = 0; i + 1 < submitted; i++)
        assert_int_equal(calls[i].err, TIDINGS_OK);
    open_engine();
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts,
                     submitted); /* the held one, and not the refused one */
    sem_destroy(&gate.reached);
    sem_destroy(&gate.opened);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(a_full_queue_is_busy_and_says_so_at_once),
        TEST(closing_while_calls_are_under_way),
    };
#undef TEST
    return RUN_TESTS(tests);
}
