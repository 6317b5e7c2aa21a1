/* SPDX-License-Identifier: MIT */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "unit/test.h"

static void pieces_are_aligned_and_apart(void **state)
{
    (void)state;
    struct arena arena;
    unsigned char *pieces[200];
    arena_init(&arena, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        pieces[i] = arena_alloc(&arena, i);
        assert_non_null(pieces[i]);
        assert_int_equal((uintptr_t)pieces[i] % alignof(max_align_t), 0);
        memset(pieces[i], (int)i, i);
    }
    for (size_t i = 0; i < COUNT_OF(pieces); i++)
        for (size_t k = 0; k < i; k++)
            assert_int_equal(pieces[i][k], i);
    arena_release(&arena);
}

static void nothing_is_held_before_the_first_piece(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 4096);
    assert_null(arena.blocks);
    arena_clear(&arena);
    arena_release(&arena);
    arena_release(&arena);
}

static void the_limit_is_kept_to_the_byte(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 8192);
    assert_null(arena_alloc(&arena, 8193));
    assert_non_null(arena_alloc(&arena, 8192));
    assert_true(arena.total <= arena.limit);
    assert_null(arena_alloc(&arena, 1));
    arena_release(&arena);
}

static void many_small_pieces_do_not_pass_the_limit(void **state)
{
    (void)state;
    struct arena arena;
    size_t held = 0;
    arena_init(&arena, 100000);
    while (arena_alloc(&arena, 64))
        held += 64;
    assert_true(arena.total <= arena.limit);
    assert_true(held > 90000 && held <= 100000);
    /* Refused is not broken. */
    arena_clear(&arena);
    assert_non_null(arena_alloc(&arena, 64));
    arena_release(&arena);
}

static void a_limit_of_0_gives_nothing(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 0);
    assert_null(arena_alloc(&arena, 1));
    arena_release(&arena);
}

static void sizes_that_overflow_are_refused(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    for (size_t less = 0; less < 64; less++)
        assert_null(arena_alloc(&arena, SIZE_MAX - less));
    assert_null(arena_array(&arena, SIZE_MAX / 2, 3));
    assert_null(arena_array(&arena, SIZE_MAX, SIZE_MAX));
    assert_null(arena_array(&arena, SIZE_MAX / 8 + 2, 8));
    assert_null(arena_text(&arena, "", SIZE_MAX));
    assert_non_null(arena_array(&arena, 0, 8));
    assert_non_null(arena_array(&arena, 8, 0));
    arena_release(&arena);
}

/* The block's own header must not wrap the size round to something small. */
static void without_a_limit_an_absurd_size_is_still_refused(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t less = 0; less < 256; less++)
        assert_null(arena_alloc(&arena, SIZE_MAX - less));
    arena_release(&arena);
}

static void clearing_keeps_one_block(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 24);
    for (int i = 0; i < 1000; i++)
        assert_non_null(arena_alloc(&arena, 1000));
    struct arena_block *kept = arena.blocks;
    size_t before = arena.total;
    arena_clear(&arena);
    assert_ptr_equal(arena.blocks, kept);
    assert_true(arena.total > 0 && arena.total < before);
    assert_int_equal(arena.used, 0);

    size_t held = arena.total;
    for (int round = 0; round < 100; round++) {
        assert_non_null(arena_alloc(&arena, held));
        arena_clear(&arena);
        assert_int_equal(arena.total, held); /* nothing new was needed */
    }
    arena_release(&arena);
    assert_int_equal(arena.total, 0);
}

static void a_large_piece_gets_a_block_of_its_own(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 26);
    char *small = arena_alloc(&arena, 16);
    char *large = arena_alloc(&arena, 10 << 20);
    assert_non_null(small);
    assert_non_null(large);
    memset(small, 1, 16);
    memset(large, 2, 10 << 20);
    assert_int_equal(small[15], 1);
    arena_release(&arena);
}

static void a_text_ends_in_nul(void **state)
{
    (void)state;
    struct arena arena;
    arena_init(&arena, 1 << 20);
    assert_string_equal(arena_text(&arena, "abcdef", 3), "abc");
    assert_string_equal(arena_text(&arena, NULL, 0), "");
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_are_aligned_and_apart),
        cmocka_unit_test(nothing_is_held_before_the_first_piece),
        cmocka_unit_test(the_limit_is_kept_to_the_byte),
        cmocka_unit_test(many_small_pieces_do_not_pass_the_limit),
        cmocka_unit_test(a_limit_of_0_gives_nothing),
        cmocka_unit_test(sizes_that_overflow_are_refused),
        cmocka_unit_test(without_a_limit_an_absurd_size_is_still_refused),
        cmocka_unit_test(clearing_keeps_one_block),
        cmocka_unit_test(a_large_piece_gets_a_block_of_its_own),
        cmocka_unit_test(a_text_ends_in_nul),
    };
    return RUN_TESTS(tests);
}
