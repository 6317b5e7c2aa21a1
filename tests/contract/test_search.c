/* SPDX-License-Identifier: MIT */
/* Looking for people by the beginning of their names. */
#include <string.h>

#include "contract/harness.h"

static void names_are_found_without_case_and_in_order(void **state)
{
    (void)state;
    set_name(9, "ann");
    set_name(3, "ANN");
    set_name(5, "Anna");
    set_name(4, "An");
    set_name(2, "Bo");
    set_name(1, "Älva");
    set_name(6, "älg");
    set_name(7, "小林");
    set_name(8, "小明");
    set_name(10, "Яна");
    ASSERT_NAMED("a", 4, 3, 9, 5); /* the shorter first, the same by id */
    ASSERT_NAMED("AN", 4, 3, 9, 5);
    ASSERT_NAMED("ann", 3, 9, 5);
    ASSERT_NAMED("anna", 5);
    ASSERT_NAMED("ÄL", 6, 1);
    ASSERT_NAMED("小", 8, 7);
    ASSERT_NAMED("小林", 7);
    ASSERT_NAMED("яНА", 10);
    static struct ids none;
    list_named("annab", &none);
    assert_int_equal(none.n, 0);
    list_named("nn", &none); /* the beginning, and nothing else */
    assert_int_equal(none.n, 0);
    assert_verifies();
}

static void what_is_found_is_the_profile(void **state)
{
    (void)state;
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SET,
        .user_id = 7,
        .u.profile = {text_of("Ann"), text_of("https://a"), text_of("{\"a\":1}")}});
    must((struct tidings_op){.kind = TIDINGS_OP_PROFILE_SET,
                             .user_id = 8,
                             .u.profile.avatar = text_of("https://ann")}); /* has no name */
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SEARCH, .user_id = 1, .u.search.prefix = text_of("a")});
    assert_int_equal(answer.u.profile_search.n, 1);
    assert_int_equal(answer.u.profile_search.next.a, 0);
    const struct tidings_profile *row = &answer.u.profile_search.rows[0];
    assert_int_equal(row->user_id, 7);
    assert_string_equal(row->name.p, "Ann");
    assert_string_equal(row->avatar.p, "https://a");
    assert_string_equal(row->extra.p, "{\"a\":1}");
}

static void a_new_name_is_found_and_the_old_one_not(void **state)
{
    (void)state;
    static struct ids none;
    set_name(1, "Ann");
    set_name(2, "Ann");
    set_name(1, "Bea");
    ASSERT_NAMED("a", 2);
    ASSERT_NAMED("b", 1);
    set_name(1, "BEA"); /* the same without case */
    ASSERT_NAMED("bea", 1);
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SET, .user_id = 1, .u.profile.avatar = text_of("https://b")});
    ASSERT_NAMED("bea", 1);
    set_name(1, "");
    list_named("b", &none);
    assert_int_equal(none.n, 0);
    set_name(2, "");
    list_named("a", &none);
    assert_int_equal(none.n, 0);
    reopen_engine();
    set_name(2, "Cy");
    ASSERT_NAMED("c", 2);
    assert_verifies();
}

/* A page goes on behind the name it ended with, whoever has that one now. */
static void pages_go_on_though_somebody_is_renamed(void **state)
{
    (void)state;
    for (uint64_t user = 1; user <= 6; user++)
        set_name(user, "same");
    struct tidings_op op = {.kind = TIDINGS_OP_PROFILE_SEARCH,
                            .user_id = 1,
                            .u.search = {text_of("SA"), .page.limit = 2}};
    must(op);
    assert_int_equal(answer.u.profile_search.rows[1].user_id, 2);
    op.u.search.after_name = text_of("same");
    op.u.search.page.after = answer.u.profile_search.next;
    set_name(2, "aaa");
    set_name(1, "same later");
    must(op);
    assert_int_equal(answer.u.profile_search.n, 2);
    assert_int_equal(answer.u.profile_search.rows[0].user_id, 3);
    assert_int_equal(answer.u.profile_search.rows[1].user_id, 4);
    op.u.search.page.after = answer.u.profile_search.next;
    op.u.search.page.limit = 0;
    must(op);
    assert_int_equal(answer.u.profile_search.n, 3);
    assert_int_equal(answer.u.profile_search.rows[2].user_id, 1);
    assert_int_equal(answer.u.profile_search.next.a, 0);
}

/* The place may be any: before what is looked for, or behind all of it. */
static void a_place_elsewhere_is_a_place(void **state)
{
    (void)state;
    set_name(1, "mia");
    set_name(2, "mio");
    struct tidings_op op = {.kind = TIDINGS_OP_PROFILE_SEARCH,
                            .user_id = 1,
                            .u.search = {text_of("mi"), text_of("b"), {0, {5, 0}}}};
    must(op);
    assert_int_equal(answer.u.profile_search.n, 2);
    op.u.search.after_name = text_of("m");
    must(op);
    assert_int_equal(answer.u.profile_search.n, 2);
    op.u.search.after_name = text_of("mib");
    must(op);
    assert_int_equal(answer.u.profile_search.n, 1);
    op.u.search.after_name = text_of("mj");
    must(op);
    assert_int_equal(answer.u.profile_search.n, 0);
}

/* Names that are the same as far as they are compared are in the order of ids. */
static void the_longest_names_are_found(void **state)
{
    (void)state;
    char name[1025], prefix[257];
    close_engine();
    options.settings.name_max = 256;
    open_engine();
    for (uint64_t user = 4; user > 0; user--) {
        for (size_t i = 0; i < 256; i++)
            memcpy(name + 4 * i, i < 255 ? "😀" : (const char *[]){"🙈", "🙉", "🙊", "🙂"}[user - 1],
                   4);
        name[1024] = '\0';
        set_name(user, name);
    }
    memcpy(prefix, name, 256);
    prefix[256] = '\0';
    ASSERT_NAMED(prefix, 1, 2, 3, 4);
    memcpy(prefix + 240, "🙈", 4); /* which is not looked at any more */
    ASSERT_NAMED(prefix, 1, 2, 3, 4);
    ASSERT_NAMED("😀", 1, 2, 3, 4);
    set_name(2, "x");
    ASSERT_NAMED(prefix, 1, 3, 4);
    assert_verifies();
}

static void many_of_one_name_are_all_found(void **state)
{
    (void)state;
    enum { USERS = 700 };
    static struct tidings_op ops[USERS];
    static struct ids found;
    for (uint64_t i = 0; i < USERS; i++)
        ops[i] = (struct tidings_op){.kind = TIDINGS_OP_PROFILE_SET,
                                     .user_id = USERS - i,
                                     .u.profile.name = text_of(i % 2 ? "Kim" : "KIM")};
    must_all(ops, USERS);
    list_named("kim", &found);
    assert_int_equal(found.n, USERS);
    for (uint64_t i = 0; i < USERS; i++)
        assert_int_equal(found.at[i], i + 1);
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(names_are_found_without_case_and_in_order),
        TEST(what_is_found_is_the_profile),
        TEST(a_new_name_is_found_and_the_old_one_not),
        TEST(pages_go_on_though_somebody_is_renamed),
        TEST(a_place_elsewhere_is_a_place),
        TEST(the_longest_names_are_found),
        TEST(many_of_one_name_are_all_found),
    };
#undef TEST
    return RUN_TESTS(tests);
}
