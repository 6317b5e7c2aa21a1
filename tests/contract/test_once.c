/* SPDX-License-Identifier: MIT */
/* What must happen once though it be asked for again. */
#include "contract/harness.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

static bool render_post(const struct tidings_once *once, const struct tidings_answer *of,
                        struct tidings_text *bytes)
{
    char *to = once->ctx;
    int n = snprintf(to, 32, "post %" PRIu64, of->u.post.id);
    *bytes = (struct tidings_text){to, (size_t)n};
    return true;
}

static void a_key_makes_it_happen_once(void **state)
{
    (void)state;
    char first[64], buffer[32];
    struct tidings_once once = {
        .key = "key", .fingerprint = "this", .render = render_post, .ctx = buffer};
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .user_id = ANN,
                            .once = &once,
                            .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
    must(op);
    snprintf(first, sizeof first, "%s", answer.stored.p);
    assert_memory_equal(first, "post ", 5);
    for (int round = 0; round < 2; round++) {
        must(op);
        assert_string_equal(answer.stored.p, first);
        once.fingerprint[0] = 'T';
        assert_int_equal(run(op), TIDINGS_KEY_REUSED);
        once.fingerprint[0] = 't';
        reopen_engine();
    }
    op.user_id = BOB; /* a key of his own */
    must(op);
    assert_string_not_equal(answer.stored.p, first);
    must((struct tidings_op){.kind = TIDINGS_OP_COUNTERS, .user_id = ANN, .u.user.user_id = ANN});
    assert_int_equal(answer.u.counters.posts, 1);
    op.kind = TIDINGS_OP_BADGE;
    assert_int_equal(run(op), TIDINGS_INVALID);
    assert_string_equal(answer.field, "once");
    assert_verifies();
}

static void what_fails_is_not_remembered(void **state)
{
    (void)state;
    char buffer[32];
    struct tidings_once once = {.key = "key", .render = render_post, .ctx = buffer};
    struct tidings_op op = {
        .kind = TIDINGS_OP_OPEN, .user_id = BOB, .once = &once, .u.post.post_id = 16};
    assert_int_equal(run(op), TIDINGS_NOT_FOUND);
    op.u.post.post_id = publish(ANN, "t", "");
    must(op);
    assert_verifies();
}

static int64_t ticking_clock(void *ctx)
{
    (void)ctx;
    return atomic_fetch_add(&clock_ms, 1);
}

/* The moment at which a key is forgotten may pass between the change and its answer. */
static void a_key_is_whole_until_the_moment_it_is_forgotten(void **state)
{
    (void)state;
    const int64_t day = 24 * 60 * 60 * 1000;
    close_engine();
    options.clock = ticking_clock;
    open_engine();
    for (int64_t early = 6; early >= 0; early--) {
        char buffer[32];
        struct tidings_once once = {.key = {(uint8_t)early}, .render = render_post, .ctx = buffer};
        struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                                .user_id = ANN,
                                .once = &once,
                                .u.publish = {TIDINGS_NOTE, text_of("t"), {NULL, 0}}};
        int64_t at = atomic_load(&clock_ms);
        must(op);
        atomic_store(&clock_ms, at + day - early);
        must(op);
        assert_memory_equal(answer.stored.p, "post ", 5);
    }
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(a_key_makes_it_happen_once),
        OPENED(what_fails_is_not_remembered),
        OPENED(a_key_is_whole_until_the_moment_it_is_forgotten),
    };
#undef OPENED
    return RUN_TESTS(tests);
}
