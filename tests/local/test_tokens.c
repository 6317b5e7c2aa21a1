/* SPDX-License-Identifier: MIT */
/* The engine's tokens: the newest id there is, and what happens when there is none left. */
#include "contract/harness.h"
#include "domain/ids.h"
#include "support/local.h"

enum { ANN = 1, BOB = 2, CID = 3, DAN = 4 };

#define LAST_MS (ID_EPOCH_MS + (int64_t)(TIDINGS_ID_MAX >> ID_TIME_SHIFT))

/* ---- Reading -------------------------------------------------------------------------------- */

static void assert_no_token(struct tidings_moment up_to)
{
    const enum tidings_op_kind kinds[] = {TIDINGS_OP_MARK_READ, TIDINGS_OP_NOTIFICATIONS_MARK};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct tidings_op op = {.kind = kinds[i], .user_id = BOB, .u.mark.up_to = up_to};
        assert_int_equal(run(op), TIDINGS_INVALID);
        assert_string_equal(answer.field, "up_to");
    }
    assert_int_equal(badge(BOB), 1);
}

static void a_token_from_the_future_is_refused(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "1", "");
    struct tidings_moment now = as_of(BOB);
    assert_no_token(local_moment(local_newest(&now) + 1));
    assert_no_token(local_moment(local_newest(&now) + (UINT64_C(1) << 40)));
    assert_no_token(local_moment(TIDINGS_ID_MAX));
    assert_no_token(local_moment(UINT64_MAX));
    assert_int_equal(mark_up_to(BOB, 0, now), 1);
}

static void a_token_with_more_than_one_part_is_refused(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "1", "");
    struct tidings_moment now = as_of(BOB);
    for (size_t i = 1; i < TIDINGS_MOMENT_PARTS; i++) {
        struct tidings_moment other = now, alone = {{0}};
        other.part[i] = alone.part[i] = 1;
        assert_no_token(other);
        assert_no_token(alone);
    }
}

/* ---- Posts ---------------------------------------------------------------------------------- */

/* An operation that writes two events needs two ids: where one is left, nothing may happen. */
static void used_up_ids_refuse_and_never_begin_again(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "p", "");
    struct tidings_op clear = {.kind = TIDINGS_OP_HISTORY_CLEAR, .user_id = CID, .now_ms = LAST_MS};
    for (int i = 0; i < 255; i++)
        must(clear);
    struct tidings_op op = {.kind = TIDINGS_OP_UNFOLLOW,
                            .user_id = BOB,
                            .now_ms = LAST_MS,
                            .u.relation = {.user_id = ANN, .purge_inbox = true}};
    enum tidings_err err = run(op);
    struct tidings_moment newest = as_of(BOB);
    assert_true(local_newest(&newest) > id_floor(LAST_MS)); /* never back to the beginning */
    assert_int_equal(err, TIDINGS_NO_SPACE);
    assert_int_equal(badge(BOB), 1);
    if (!run(clear))
        assert_int_equal(run(clear), TIDINGS_NO_SPACE);
    reopen_engine();
    assert_int_equal(run(clear), TIDINGS_NO_SPACE);
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(a_token_from_the_future_is_refused),
        OPENED(a_token_with_more_than_one_part_is_refused),
        OPENED(used_up_ids_refuse_and_never_begin_again),
    };
#undef OPENED
    return RUN_TESTS(tests);
}
