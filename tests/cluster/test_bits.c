/* SPDX-License-Identifier: MIT */
/* Bits of read maps that a server remembers: of that version, or not at all. */
#include "engine/cluster/rows/bits.h"
#include "unit/test.h"

static const struct bits_name name = {.user = 4, .version = 100, .author = 7, .chunk = 2};

static void what_was_put_is_found(void **state)
{
    (void)state;
    struct bits bits;
    uint64_t read = 0;
    bits_init(&bits, 1 << 16);
    assert_false(bits_get(&bits, name, &read));
    bits_put(&bits, name, 5);
    assert_true(bits_get(&bits, name, &read));
    assert_int_equal(read, 5);
    bits_release(&bits);
}

/* Every change of the user's makes another version: what was read before it says nothing any more. */
static void nothing_else_is_found(void **state)
{
    (void)state;
    struct bits_name others[] = {name, name, name, name};
    struct bits bits;
    uint64_t read = 0;
    others[0].version++;
    others[1].user++;
    others[2].author++;
    others[3].chunk++;
    bits_init(&bits, 48); /* one place: all of them meet there */
    bits_put(&bits, name, 5);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(bits_get(&bits, others[i], &read));
    bits_put(&bits, others[0], 6);
    assert_false(bits_get(&bits, name, &read));
    bits_release(&bits);
}

static void without_room_nothing_is_kept(void **state)
{
    (void)state;
    struct bits bits;
    uint64_t read = 0;
    bits_init(&bits, 0);
    bits_put(&bits, name, 5);
    assert_false(bits_get(&bits, name, &read));
    bits_release(&bits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_put_is_found),
        cmocka_unit_test(nothing_else_is_found),
        cmocka_unit_test(without_room_nothing_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
