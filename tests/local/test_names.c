/* SPDX-License-Identifier: MIT */
/*
 * The index of names: what verify makes of damage to it, and how a directory from before there was one gets it. Such a directory
 * is made here of a new one, by leaving out of its log what the former version did not write.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/local/rows/rows.h"
#include "engine/local/storage/image.h"
#include "engine/local/storage/store.h"
#include "local/damage.h"
#include "local/old_directory.h"
#include "local/store_support.h"

enum { CID = 3, DAN, EVE };

/* ---- Damage ------------------------------------------------------------------------------------- */

static struct name_key key_of(uint64_t user, const char *name)
{
    struct name_key key;
    name_key_of((struct bytes){(const uint8_t *)name, strlen(name)}, user, &key);
    return key;
}

static void change_name(struct name_key key, bool put)
{
    row_change_long(TABLE_NAME, name_key_bytes(&key), put);
}

static void assert_names_mended(uint64_t differences)
{
    open_engine();
    struct tidings_verify look = {0}, repair = {.repair = true};
    assert_int_equal(tidings_verify(engine, &look), TIDINGS_OK);
    assert_int_equal(look.differences, differences);
    assert_int_equal(tidings_verify(engine, &repair), TIDINGS_OK);
    assert_verifies();
    ASSERT_NAMED("a", ANN, CID);
    ASSERT_NAMED("b", BOB);
}

static void name_some(void)
{
    set_name(ANN, "Ann");
    set_name(BOB, "Bob");
    set_name(CID, "Anna");
    must((struct tidings_op){
        .kind = TIDINGS_OP_PROFILE_SET, .user_id = DAN, .u.profile.avatar = text_of("https://d")});
}

static void damage_is_found_and_mended(void **state)
{
    (void)state;
    name_some();
    change_name(key_of(ANN, "ann"), false);
    assert_names_mended(1);
    change_name(key_of(BOB, "anton"), true); /* not the name */
    assert_names_mended(1);
    change_name(key_of(DAN, "dan"), true); /* has none */
    assert_names_mended(1);
    change_name(key_of(77, "b"), true); /* has no profile */
    assert_names_mended(1);
    struct name_key half = {3, "bob"};
    change_name(half, true);
    assert_names_mended(1);
    change_name(key_of(CID, "Anna"), false);
    change_name(key_of(CID, "annb"), true);
    assert_names_mended(2);
}

/* ---- From before ----------------------------------------------------------------------------------- */

static bool was_written(const struct change *change)
{
    struct key place = key_meta("names");
    return change->table != TABLE_NAME &&
           !(change->table == TABLE_META && bytes_same(change->key, key_bytes(&place)));
}

/* A directory of version 3, with what is in the engine's. */
static void make_old(const char *dir, bool trusted, bool base)
{
    struct old_directory old = {dir, 3, was_written, trusted, base};
    old_directory_make(&old);
}

static void assert_all_named(void)
{
    ASSERT_NAMED("a", ANN, CID);
    ASSERT_NAMED("b", BOB);
    assert_verifies();
}

static void assert_deep(void)
{
    struct tidings_verify deep = {.deep = true, .report = stderr};
    assert_int_equal(tidings_verify(engine, &deep), TIDINGS_OK);
    assert_int_equal(deep.differences, 0);
}

/* The names of before and of since are there, also when all is made anew from base image and log. */
static void use_old(const char *dir)
{
    options.dir = dir;
    open_engine();
    assert_int_equal(old_directory_format(dir), STORE_FORMAT);
    assert_all_named();
    assert_deep();
    set_name(EVE, "Eve");
    reopen_engine();
    ASSERT_NAMED("e", EVE);
    assert_all_named();
    options.remake = true;
    reopen_engine();
    options.remake = false;
    ASSERT_NAMED("e", EVE);
    assert_all_named();
    close_engine();
}

static void a_directory_from_before_gets_its_names(void **state)
{
    (void)state;
    char dir[512];
    name_some();
    publish_many(ANN, 5);
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "old-%d", i);
        harness_path(dir, name);
        const char *new_dir = options.dir;
        make_old(dir, i & 1, i & 2);
        use_old(dir);
        options.dir = new_dir;
    }
}

/* Whoever was killed while the former version wrote, or while the names were made. */
static void names_are_made_after_a_crash(void **state)
{
    (void)state;
    char dir[512];
    struct key place = key_meta("names");
    uint8_t bob[ID_BYTES];
    name_some();
    harness_path(dir, "old");
    make_old(dir, true, false);
    struct state was;
    bool found;
    assert_int_equal(state_read(dir, &was, &found), TIDINGS_OK);
    was.is_clean = false;
    boot_name(was.boot);
    assert_int_equal(state_write(dir, &was), TIDINGS_OK);
    old_directory_set_format(dir, 3);
    const char *new_dir = options.dir;
    use_old(dir);
    options.dir = new_dir;
    /* Somewhere in between: the ones behind are missing. */
    open_engine();
    put_id(bob, BOB);
    row_put(TABLE_META, place, (struct bytes){bob, sizeof bob});
    change_name(key_of(CID, "Anna"), false);
    open_engine();
    assert_all_named();
}

/* To a moment before there were names in the log. */
static void a_restore_to_a_moment_before_gets_its_names(void **state)
{
    (void)state;
    char dir[512], restored[512];
    const char *message;
    name_some();
    harness_path(dir, "old");
    make_old(dir, true, true);
    int64_t moment = atomic_fetch_add(&clock_ms, 1000);
    options.dir = dir;
    open_engine();
    set_name(EVE, "Eve");
    close_engine();
    harness_path(restored, "restored");
    struct tidings_restore restore = {.from = dir, .dir = restored, .until_ms = moment};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    options.dir = restored;
    open_engine();
    assert_all_named();
    assert_deep();
    static struct ids none;
    list_named("e", &none);
    assert_int_equal(none.n, 0);
}

/* More than go into one transaction. */
static void many_names_are_made_in_pieces(void **state)
{
    (void)state;
    enum { USERS = 9001 };
    static struct tidings_op ops[USERS];
    static char names[USERS][16];
    static struct ids found;
    char dir[512];
    for (uint64_t i = 0; i < USERS; i++) {
        snprintf(names[i], sizeof names[i], "%c%05d", 'A' + (char)(i % 26), (int)i);
        ops[i] = (struct tidings_op){
            .kind = TIDINGS_OP_PROFILE_SET, .user_id = i + 1, .u.profile.name = text_of(names[i])};
    }
    must_all(ops, USERS);
    harness_path(dir, "old");
    make_old(dir, true, false);
    options.dir = dir;
    open_engine();
    assert_verifies();
    list_named("z", &found);
    assert_int_equal(found.n, USERS / 26);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(damage_is_found_and_mended),    TEST(a_directory_from_before_gets_its_names),
        TEST(names_are_made_after_a_crash),  TEST(a_restore_to_a_moment_before_gets_its_names),
        TEST(many_names_are_made_in_pieces),
    };
#undef TEST
    return RUN_TESTS(tests);
}
