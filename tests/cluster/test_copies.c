/* SPDX-License-Identifier: MIT */
/* Copies of users' pairs: they are of one version, follow a change from it, and what is too much goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "engine/cluster/rows/copies.h"

enum { FAN = 7, BYTES_MAX = 100000, AUTHORS_MAX = 64 };

static struct copies copies;
static struct arena arena;

static int begin(void **state)
{
    (void)state;
    copies_init(&copies, BYTES_MAX);
    arena_init(&arena, 1 << 20);
    return 0;
}

static int end(void **state)
{
    (void)state;
    copies_release(&copies);
    arena_release(&arena);
    return 0;
}

static struct bytes text(const char *value)
{
    return (struct bytes){(const uint8_t *)value, strlen(value)};
}

/* Pairs with these authors, of whom each has its own value; 0 is the end. */
static void put(uint64_t fan, uint64_t version, const uint64_t *authors)
{
    struct tie_stored pairs[AUTHORS_MAX];
    char values[AUTHORS_MAX][24];
    size_t n = 0;
    for (; authors[n]; n++) {
        snprintf(values[n], sizeof values[n], "%llu", (unsigned long long)authors[n]);
        pairs[n] = (struct tie_stored){.author = authors[n], .value = text(values[n])};
    }
    copies_put(&copies, REALM_POSTS, fan, version, pairs, n);
}

/* "author=value " for each; "none" if there is no copy of that version. */
static const char *shown(enum realm realm, uint64_t fan, uint64_t version)
{
    static char line[256];
    struct tie_stored *pairs;
    size_t n, len = 0;
    if (!copies_get(&copies, realm, fan, version, &arena, &pairs, &n))
        return "none";
    line[0] = '\0';
    for (size_t i = 0; i < n; i++)
        len += (size_t)snprintf(line + len, sizeof line - len, "%llu=%.*s ",
                                (unsigned long long)pairs[i].author, (int)pairs[i].value.n,
                                (const char *)pairs[i].value.p);
    return line;
}

#define AUTHORS(...)   \
    (const uint64_t[]) \
    {                  \
        __VA_ARGS__, 0 \
    }

static void a_copy_serves_its_version_alone(void **state)
{
    (void)state;
    put(FAN, 100, AUTHORS(2, 5));
    assert_string_equal(shown(REALM_POSTS, FAN, 100), "2=2 5=5 ");
    assert_string_equal(shown(REALM_POSTS, FAN, 101), "none");
    assert_string_equal(shown(REALM_POSTS, FAN, 0), "2=2 5=5 ");
    assert_string_equal(shown(REALM_SCENES, FAN, 100), "none");
    assert_string_equal(shown(REALM_POSTS, FAN + 1, 0), "none");
    put(FAN, 99, AUTHORS(3)); /* somebody whose snapshot is older */
    assert_string_equal(shown(REALM_POSTS, FAN, 100), "none");
    assert_string_equal(shown(REALM_POSTS, FAN, 99), "3=3 ");
}

static void a_user_without_a_version_has_none(void **state)
{
    (void)state;
    put(FAN, 0, AUTHORS(2));
    assert_string_equal(shown(REALM_POSTS, FAN, 0), "none");
}

static void a_change_leads_from_its_version_to_the_next(void **state)
{
    (void)state;
    const struct copies_change changes[] = {
        {1, text("new")}, {2, {NULL, 0}}, {3, text("three")}, {4, {NULL, 0}}, {9, text("last")}};
    put(FAN, 100, AUTHORS(2, 3, 5));
    copies_change(&copies, REALM_POSTS, FAN, 99, 101, changes, 5);
    assert_string_equal(shown(REALM_POSTS, FAN, 100), "2=2 3=3 5=5 ");
    copies_change(&copies, REALM_POSTS, FAN, 100, 101, changes, 5);
    assert_string_equal(shown(REALM_POSTS, FAN, 100), "none");
    assert_string_equal(shown(REALM_POSTS, FAN, 101), "1=new 3=three 5=5 9=last ");
    copies_change(&copies, REALM_POSTS, FAN, 101, 102, NULL, 0);
    assert_string_equal(shown(REALM_POSTS, FAN, 102), "1=new 3=three 5=5 9=last ");
    for (uint64_t version = 102; version < 5000; version++) { /* what is replaced does not add up */
        char value[16];
        snprintf(value, sizeof value, "%llu", (unsigned long long)version);
        copies_change(&copies, REALM_POSTS, FAN, version, version + 1,
                      &(struct copies_change){5, text(value)}, 1);
    }
    assert_string_equal(shown(REALM_POSTS, FAN, 5000), "1=new 3=three 5=4999 9=last ");
    assert_true(copies.bytes < 400);
}

static void what_is_looked_at_stays_and_the_rest_makes_room(void **state)
{
    (void)state;
    enum { MANY = 20000 };
    put(FAN, 100, AUTHORS(2, 3, 5));
    for (uint64_t i = 0; i < MANY; i++) {
        put(1000 + i, 100, AUTHORS(2, 3, 5));
        assert_true(copies.bytes <= BYTES_MAX);
        arena_clear(&arena);
        assert_string_equal(shown(REALM_POSTS, FAN, 100), "2=2 3=3 5=5 ");
    }
    assert_string_equal(shown(REALM_POSTS, 1000, 0), "none");
}

static void without_room_nothing_is_kept(void **state)
{
    (void)state;
    copies_release(&copies);
    copies_init(&copies, 0);
    put(FAN, 100, AUTHORS(2));
    copies_change(&copies, REALM_POSTS, FAN, 100, 101, NULL, 0);
    assert_string_equal(shown(REALM_POSTS, FAN, 0), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_copy_serves_its_version_alone, begin, end),
        cmocka_unit_test_setup_teardown(a_user_without_a_version_has_none, begin, end),
        cmocka_unit_test_setup_teardown(a_change_leads_from_its_version_to_the_next, begin, end),
        cmocka_unit_test_setup_teardown(what_is_looked_at_stays_and_the_rest_makes_room, begin,
                                        end),
        cmocka_unit_test_setup_teardown(without_room_nothing_is_kept, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
