/* SPDX-License-Identifier: MIT */
/* Heads that all threads of a server share: what was handed out stays, what is too much goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engine/cluster/rows/known.h"

enum { MANY = 5000, PIECE = 64, BYTES_MAX = 200000 };

static struct known known;
static struct known_guest ann, bob;

static int begin(void **state)
{
    (void)state;
    known_init(&known, BYTES_MAX);
    known_join(&known, &ann);
    known_join(&known, &bob);
    return 0;
}

static int end(void **state)
{
    (void)state;
    known_part(&known, &ann);
    known_part(&known, &bob);
    known_release(&known);
    return 0;
}

static struct known_key author(uint64_t id)
{
    return (struct known_key){REALM_POSTS, id, 0};
}

/* What the post of that number has. */
static uint64_t id_of(uint64_t of, uint32_t number)
{
    return of * 1000003 + number;
}

static void add(uint64_t of, uint32_t first, size_t n)
{
    uint64_t ids[PIECE], positions[PIECE];
    assert_true(n <= PIECE);
    for (size_t i = 0; i < n; i++) {
        ids[i] = id_of(of, first + (uint32_t)i);
        positions[i] = ids[i] * 2;
    }
    assert_true(known_add_posts(&known, author(of), first, ids, positions, n));
}

static void add_up_to(uint64_t of, uint32_t n)
{
    for (uint32_t i = 0; i < n; i += PIECE)
        add(of, i, n - i < PIECE ? n - i : PIECE);
}

static void assert_posts(const struct known_found *found, uint64_t of)
{
    for (uint32_t i = 0; i < found->n_ids; i++) {
        assert_true(found->ids[i] == id_of(of, i));
        assert_true(found->positions[i] == 2 * id_of(of, i));
    }
}

static void what_several_have_loaded_is_there_once(void **state)
{
    (void)state;
    add(1, 0, 10);
    add(1, 5, 10);
    add(1, 0, 3);
    struct known_found found = known_find(&known, &ann, author(1));
    assert_int_equal(found.n_ids, 15);
    assert_posts(&found, 1);
    add(1, 20, 5); /* behind a gap: it is not known where they belong */
    assert_int_equal(known_find(&known, &ann, author(1)).n_ids, 15);
    assert_int_equal(known_find(&known, &ann, (struct known_key){REALM_SCENES, 1, 0}).n_ids, 0);
}

static void what_was_handed_out_stays_as_it_was(void **state)
{
    (void)state;
    const uint32_t late[] = {9, 3}, more[] = {1, 7, 5};
    add(1, 0, 10);
    assert_true(known_add_deletions(&known, author(1), 0, late, 2));
    struct known_found before = known_find(&known, &ann, author(1));
    add_up_to(1, MANY);
    assert_true(known_add_deletions(&known, author(1), 2, more, 3));
    struct known_found after = known_find(&known, &bob, author(1));
    known_leave(&known, &bob);

    assert_int_equal(before.n_ids, 10);
    assert_posts(&before, 1);
    assert_int_equal(before.n_deleted, 2);
    assert_int_equal(before.sorted[0], 3);
    assert_int_equal(before.sorted[1], 9);
    assert_int_equal(after.n_ids, MANY);
    assert_int_equal(after.n_deleted, 5);
    after = known_find(&known, &ann, author(1));
    for (uint32_t i = 0; i < 5; i++)
        assert_int_equal(after.sorted[i], 2 * i + 1);
}

static void what_is_too_much_goes_the_longest_unused_first(void **state)
{
    (void)state;
    add_up_to(1, 100);
    add_up_to(2, 100);
    struct known_found used = known_find(&known, &ann, author(1));
    for (uint64_t i = 3; i < 100; i++) {
        add_up_to(i, 1000);
        known_find(&known, &bob, author(i));
        known_leave(&known, &bob);
    }
    assert_posts(&used, 1); /* it is in use */
    assert_int_equal(known_find(&known, &ann, author(2)).n_ids, 0);
    assert_int_equal(known_find(&known, &bob, author(99)).n_ids, 1000);
    known_leave(&known, &ann);
    known_leave(&known, &bob);
    assert_true(known.bytes <= BYTES_MAX);
}

/* A hundred million of them are to fit into two gigabytes. */
static void a_post_takes_less_than_twenty_bytes(void **state)
{
    (void)state;
    known.bytes_max = SIZE_MAX;
    for (uint64_t i = 1; i <= 100; i++)
        add_up_to(i, 1000);
    known_leave(&known, &ann);
    assert_null(known.outgrown);
    assert_true(known.bytes < 20 * 100 * 1000);
    assert_true(known.bytes > 16 * 100 * 1000);
}

/* ---- Many at once --------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 3000, AUTHORS = 50 };

static void *use(void *arg)
{
    struct known_guest guest;
    unsigned seed = (unsigned)(uintptr_t)arg;
    known_join(&known, &guest);
    for (int i = 0; i < ROUNDS; i++) {
        struct known_found found[4];
        uint64_t of[4];
        for (int k = 0; k < 4; k++) {
            seed = seed * 1103515245 + 12345;
            of[k] = 1 + (seed >> 16) % AUTHORS;
            found[k] = known_find(&known, &guest, author(of[k]));
            if (found[k].n_ids < 500)
                add(of[k], found[k].n_ids, 1 + (seed >> 8) % PIECE);
        }
        for (int k = 0; k < 4; k++)
            assert_posts(&found[k], of[k]);
        known_leave(&known, &guest);
    }
    known_part(&known, &guest);
    return NULL;
}

static void threads_share_them(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, use, (void *)(i + 1)), 0);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    known_leave(&known, &ann);
    assert_true(known.bytes <= BYTES_MAX);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(what_several_have_loaded_is_there_once),
        TEST(what_was_handed_out_stays_as_it_was),
        TEST(what_is_too_much_goes_the_longest_unused_first),
        TEST(a_post_takes_less_than_twenty_bytes),
        TEST(threads_share_them),
    };
#undef TEST
    return cmocka_run_group_tests(tests, NULL, NULL);
}
