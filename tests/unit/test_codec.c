/* SPDX-License-Identifier: MIT */
/*
 * Operations and answers as bytes: what is decoded is what was encoded, field by field, for every operation that changes
 * something; bytes that are no operation and no answer are refused.
 */
#include "engine/ops/codec.h"

#include <string.h>

#include "unit/codec_fields.h"

enum { ROUNDS = 100, MEMORY = 1 << 22, BYTES_MAX = 1 << 20 };

struct world {
    struct rng rng;
    struct arena arena, decoded; /* what was drawn, what was decoded */
    struct buf bytes, again;
    struct walk draw, compare;
};

static struct world world;

static int set_up(void **state)
{
    (void)state;
    world.rng = test_rng();
    arena_init(&world.arena, MEMORY);
    arena_init(&world.decoded, MEMORY);
    buf_init(&world.bytes, BYTES_MAX);
    buf_init(&world.again, BYTES_MAX);
    world.draw = (struct walk){&world.rng, &world.arena, true};
    world.compare = (struct walk){&world.rng, &world.arena, false};
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_release(&world.arena);
    arena_release(&world.decoded);
    buf_release(&world.bytes);
    buf_release(&world.again);
    return 0;
}

static void forget(void)
{
    arena_clear(&world.arena);
    arena_clear(&world.decoded);
    buf_clear(&world.bytes);
    buf_clear(&world.again);
}

/* Of bytes in memory of their own, so that a sanitizer sees what is read behind them. */
static bool decode_op(const void *bytes, size_t n, struct tidings_op *op, struct tidings_once *once,
                      void **copy)
{
    *copy = malloc(n ? n : 1);
    memcpy(*copy, bytes, n);
    struct decoder r = decoder_of(*copy, n);
    return op_decode(&r, &world.decoded, op, once);
}

static bool decode_answer(enum tidings_op_kind kind, const void *bytes, size_t n,
                          struct tidings_answer *answer)
{
    void *copy = malloc(n ? n : 1);
    memcpy(copy, bytes, n);
    struct decoder r = decoder_of(copy, n);
    *answer = (struct tidings_answer){.err = TIDINGS_OK};
    bool ok = answer_decode(kind, &r, &world.decoded, answer);
    free(copy); /* nothing of the answer points into it */
    return ok;
}

static void operations_come_back_as_they_were(void **state)
{
    (void)state;
    for (int kind = 0; kind < TIDINGS_OP_COUNT; kind++)
        for (int i = 0; i < ROUNDS && is_change(kind); i++) {
            struct tidings_op op, back;
            struct tidings_once once = {.render = NULL}, once_back;
            void *copy;
            forget();
            draw_op(&world.draw, (enum tidings_op_kind)kind, &once, &op);
            op_encode(&op, &world.bytes);
            assert_true(decode_op(world.bytes.data, world.bytes.len, &back, &once_back, &copy));
            op_encode(&back, &world.again);
            assert_int_equal(world.bytes.len, world.again.len);
            assert_memory_equal(world.bytes.data, world.again.data, world.bytes.len);
            compare_ops(&world.compare, &op, &back);
            free(copy);
        }
}

static void answers_come_back_as_they_were(void **state)
{
    (void)state;
    for (int kind = 0; kind < TIDINGS_OP_COUNT; kind++)
        for (int i = 0; i < ROUNDS && is_change(kind); i++) {
            struct tidings_answer answer, back;
            forget();
            draw_answer(&world.draw, (enum tidings_op_kind)kind, &answer);
            answer_encode((enum tidings_op_kind)kind, &answer, &world.bytes);
            assert_true(decode_answer((enum tidings_op_kind)kind, world.bytes.data, world.bytes.len,
                                      &back));
            answer_encode((enum tidings_op_kind)kind, &back, &world.again);
            assert_int_equal(world.bytes.len, world.again.len);
            assert_memory_equal(world.bytes.data, world.again.data, world.bytes.len);
            compare_answers(&world.compare, (enum tidings_op_kind)kind, &answer, &back);
        }
}

/* The encoding says its length by itself: no beginning of it is one, and nothing may follow. */
static void bytes_that_lack_something_or_have_more_are_refused(void **state)
{
    (void)state;
    for (int kind = 0; kind < TIDINGS_OP_COUNT; kind++)
        for (int i = 0; i < ROUNDS / 10 && is_change(kind); i++) {
            struct tidings_op op, back;
            struct tidings_once once = {.render = NULL}, once_back;
            struct tidings_answer answer, answer_back;
            void *copy;
            forget();
            draw_op(&world.draw, (enum tidings_op_kind)kind, &once, &op);
            draw_answer(&world.draw, (enum tidings_op_kind)kind, &answer);
            op_encode(&op, &world.bytes);
            answer_encode((enum tidings_op_kind)kind, &answer, &world.again);
            size_t n_op = world.bytes.len, n_answer = world.again.len;
            buf_append(&world.bytes, "", 1);
            buf_append(&world.again, "", 1);
            for (size_t n = 0; n <= n_op + 1; n++) {
                assert_int_equal(decode_op(world.bytes.data, n, &back, &once_back, &copy),
                                 n == n_op);
                free(copy);
            }
            for (size_t n = 0; n <= n_answer + 1; n++)
                assert_int_equal(
                    decode_answer((enum tidings_op_kind)kind, world.again.data, n, &answer_back),
                    n == n_answer);
        }
}

/* Whatever is taken for an operation can be encoded; then it is the same operation. */
static void scribbled_bytes_are_refused_or_an_operation(void **state)
{
    size_t taken = 0;
    (void)state;
    for (int kind = 0; kind < TIDINGS_OP_COUNT; kind++)
        for (int i = 0; i < 10 * ROUNDS && is_change(kind); i++) {
            struct tidings_op op, back, third;
            struct tidings_once once = {.render = NULL}, once_back, once_third;
            struct tidings_answer answer;
            void *copy, *copy_third;
            forget();
            draw_op(&world.draw, (enum tidings_op_kind)kind, &once, &op);
            op_encode(&op, &world.bytes);
            for (uint64_t n = 1 + rng_below(&world.rng, 3); n; n--)
                world.bytes.data[rng_below(&world.rng, world.bytes.len)] =
                    (char)rng_next(&world.rng);
            decode_answer((enum tidings_op_kind)kind, world.bytes.data, world.bytes.len, &answer);
            bool ok = decode_op(world.bytes.data, world.bytes.len, &back, &once_back, &copy);
            if (ok) {
                taken++;
                op_encode(&back, &world.again);
                assert_true(
                    decode_op(world.again.data, world.again.len, &third, &once_third, &copy_third));
                compare_ops(&world.compare, &back, &third);
                free(copy_third);
            }
            free(copy);
        }
    assert_true(taken > 0);
}

static void what_only_reads_is_no_operation(void **state)
{
    (void)state;
    for (uint64_t kind = 0; kind < TIDINGS_OP_COUNT + 3; kind++) {
        struct tidings_op op;
        struct tidings_once once;
        void *copy;
        forget();
        if (kind < TIDINGS_OP_COUNT && is_change((int)kind))
            continue;
        buf_varint(&world.bytes, kind);
        buf_append(&world.bytes, "\0\0\0\0\0\0\0\0", 8);
        for (size_t n = 1; n <= world.bytes.len; n++) {
            assert_false(decode_op(world.bytes.data, n, &op, &once, &copy));
            free(copy);
        }
    }
}

/* A list is as long as its bytes allow, and not longer than memory does. */
static void lists_that_lie_about_their_length_are_refused(void **state)
{
    static const uint64_t lengths[] = {2, 100, 100000, UINT32_MAX, UINT64_MAX - 1, UINT64_MAX};
    (void)state;
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        struct tidings_op op;
        struct tidings_once once;
        void *copy;
        forget();
        buf_varint(&world.bytes, TIDINGS_OP_MARK_READ);
        buf_append(&world.bytes, "\0\1\0\0", 4); /* role, user, time, no key */
        buf_varint(&world.bytes, lengths[i]);
        assert_false(decode_op(world.bytes.data, world.bytes.len, &op, &once, &copy));
        assert_true(world.decoded.total < 100000); /* nor is memory taken for it */
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(operations_come_back_as_they_were, set_up, tear_down),
        cmocka_unit_test_setup_teardown(answers_come_back_as_they_were, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bytes_that_lack_something_or_have_more_are_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(scribbled_bytes_are_refused_or_an_operation, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(what_only_reads_is_no_operation, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lists_that_lie_about_their_length_are_refused, set_up,
                                        tear_down),
    };
    return RUN_TESTS(tests);
}
