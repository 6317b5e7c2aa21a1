/* SPDX-License-Identifier: MIT */
/* A shadow of a directory: what it takes of one that is in use, what it leaves there, and what its rows are called when they move. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/local/rows/keys.h"
#include "engine/local/rows/moved.h"
#include "local/damage.h"
#include "local/store_support.h"

static const char *message;

static struct tidings *open_shadow(void)
{
    static char path[512];
    struct tidings_options of = options;
    struct tidings *shadow;
    harness_path(path, "shadow");
    of.shadow = path;
    assert_int_equal(tidings_open(&of, &shadow, &message), TIDINGS_OK);
    return shadow;
}

static enum tidings_err ask(struct tidings *shadow, struct tidings_op op)
{
    struct tidings_answer own;
    tidings_answer_init(&own);
    enum tidings_err err = tidings_run(shadow, &op, &own);
    tidings_answer_release(&own);
    return err;
}

static enum tidings_err post_in(struct tidings *shadow, uint64_t id)
{
    return ask(shadow,
               (struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post.post_id = id});
}

/* The loss of power could take back what no later record calls durable; a cluster that has it already would keep it. */
static void only_what_is_known_to_be_durable_is_taken(void **state)
{
    (void)state;
    uint64_t first = publish(ANN, "first", ""), last = publish(ANN, "last", "");
    struct tidings *shadow = open_shadow();
    assert_int_equal(post_in(shadow, first), TIDINGS_OK);
    assert_int_equal(post_in(shadow, last), TIDINGS_NOT_FOUND);
    tidings_close(shadow);
    close_engine(); /* in order: `state` says how far the log goes */
    shadow = open_shadow();
    assert_int_equal(post_in(shadow, last), TIDINGS_OK);
    tidings_close(shadow);
    open_engine();
}

static void it_changes_nothing_and_leaves_nothing(void **state)
{
    (void)state;
    char path[512], lock[520];
    uint64_t post = publish(ANN, "a post", "");
    publish(ANN, "another", "");
    struct tidings *shadow = open_shadow();
    assert_int_equal(
        ask(shadow,
            (struct tidings_op){.kind = TIDINGS_OP_OPEN, .user_id = BOB, .u.post.post_id = post}),
        TIDINGS_UNSUPPORTED);
    harness_path(path, "shadow");
    snprintf(lock, sizeof lock, "%s-lock", path);
    assert_int_equal(access(path, F_OK), 0);
    tidings_close(shadow);
    assert_int_not_equal(access(path, F_OK), 0);
    assert_int_not_equal(access(lock, F_OK), 0);
    open_post(BOB, post); /* the engine has not noticed */
    reopen_engine();
    assert_verifies();
}

/* While it is open the keeper removes nothing; one that comes later finds the log where it ended. */
static void the_directory_is_taken_only_from_nobody(void **state)
{
    (void)state;
    publish(ANN, "a post", "");
    struct tidings *shadow = open_shadow();
    assert_int_equal(tidings_shadow_lock(shadow), TIDINGS_LOCKED);
    close_engine();
    assert_int_equal(tidings_shadow_lock(shadow), TIDINGS_OK);
    assert_int_equal(tidings_shadow_lock(shadow), TIDINGS_OK);
    assert_int_equal(try_open(), TIDINGS_LOCKED);
    tidings_close(shadow);
    open_engine();
}

static void there_must_be_a_directory(void **state)
{
    (void)state;
    char path[512], nothing[512];
    struct tidings_options of = options;
    struct tidings *shadow;
    harness_path(path, "shadow");
    harness_path(nothing, "nothing");
    of.shadow = path;
    of.dir = nothing;
    assert_int_equal(tidings_open(&of, &shadow, &message), TIDINGS_NOT_FOUND);
    assert_string_equal(message, "there is no data there");
    assert_int_not_equal(access(nothing, F_OK), 0);
}

/* It moves into a cluster, and only out of a shadow. */
static void a_move_needs_a_shadow_and_a_cluster(void **state)
{
    (void)state;
    struct tidings_move move = {0};
    publish(ANN, "a post", "");
    struct tidings *shadow = open_shadow();
    assert_int_equal(tidings_move(engine, shadow, &move, &message), TIDINGS_UNSUPPORTED);
    assert_int_equal(tidings_move(shadow, engine, &move, &message), TIDINGS_UNSUPPORTED);
    assert_int_equal(tidings_move_end(shadow, engine, &message), TIDINGS_UNSUPPORTED);
    assert_int_equal(tidings_shadow_lock(engine), TIDINGS_UNSUPPORTED);
    tidings_close(shadow);
}

/* ---- Names ----------------------------------------------------------------------------------- */

static struct moved name_of(enum table table, struct key key, bool walking)
{
    static const uint8_t value[4] = {0, 0, 0, 3};
    struct moved moved;
    if (!moved_name(table, key_bytes(&key), (struct bytes){value, sizeof value}, walking, &moved))
        return (struct moved){.kind = (enum moved_kind) - 1};
    return moved;
}

static void assert_named(struct moved moved, enum moved_kind kind, uint64_t a, uint64_t b,
                         uint64_t c)
{
    assert_int_equal(moved.kind, kind);
    assert_int_equal(moved.a, a);
    assert_int_equal(moved.b, b);
    assert_int_equal(moved.c, c);
}

static void rows_have_the_names_of_what_they_are(void **state)
{
    (void)state;
    static const uint8_t once[ONCE_BYTES] = {0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 6};
    const enum moved_kind none = (enum moved_kind) - 1;
    assert_named(name_of(TABLE_USER, key_pair(4, ROW_INBOX, 7), true), MOVED_PAIR, 4, 7, 0);
    assert_named(name_of(TABLE_USER, key_pair(4, ROW_OUTSIDE, 7), true), MOVED_PAIR, 4, 7, 0);
    assert_named(name_of(TABLE_USER, key_readmap(4, 7, 2), true), MOVED_READ_MAP, 4, 7, 2);
    assert_named(name_of(TABLE_USER, key_vote(4, 9), true), MOVED_REACTION, 4, 9, 0);
    assert_named(name_of(TABLE_USER, key_row(4, ROW_SHELF), true), MOVED_USER, 4, 0, 0);
    assert_named(name_of(TABLE_AUTHOR, key_author(7, ROW_DELETED, 2), true), MOVED_POST_DELETIONS,
                 7, 128, 64);
    assert_named(name_of(TABLE_AUTHOR, key_author(7, ROW_POSTS, 2), true), MOVED_AUTHOR, 7, 0, 0);
    assert_named(name_of(TABLE_ONCE, key_once(4, once), true), MOVED_ONCE, 4, 5, 6);
    assert_named(name_of(TABLE_SCENE, key_given(8, 32), true), MOVED_GIVEN, 8, 32, 3);
    assert_named(name_of(TABLE_KEY, key_id(9), true), MOVED_POST_KEY, 9, 0, 0);
    /* What follows from others has none; what comes with another in a walk, only among changes. */
    assert_int_equal(name_of(TABLE_USER, key_history(4, 5, 6), false).kind, none);
    assert_int_equal(name_of(TABLE_FOLLOWER, key_follower(4, 5), false).kind, none);
    assert_int_equal(name_of(TABLE_META, key_meta("newest"), false).kind, none);
    assert_int_equal(name_of(TABLE_META, key_meta("rules"), false).kind, MOVED_RULES);
    assert_int_equal(name_of(TABLE_HOT, key_hot(TIDINGS_NOTE, 3, 9), false).kind, none);
    assert_int_equal(name_of(TABLE_TARGET, key_row(9, ROW_COUNTS), true).kind, none);
    assert_named(name_of(TABLE_TARGET, key_row(9, ROW_COUNTS), false), MOVED_POST, 9, 0, 0);
}

/* A key of seven bytes in all is as long as an id. */
static void keys_of_posts_are_not_taken_for_ids(void **state)
{
    (void)state;
    struct key key = {.n = ID_BYTES, .bytes = {KEY_POST, 'a', 'b', 'c', 'd', 'e', 'f'}};
    assert_int_equal(name_of(TABLE_KEY, key, true).kind, (enum moved_kind) - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_what_is_known_to_be_durable_is_taken, harness_begin,
                                        harness_end),
        cmocka_unit_test_setup_teardown(it_changes_nothing_and_leaves_nothing, harness_begin,
                                        harness_end),
        cmocka_unit_test_setup_teardown(the_directory_is_taken_only_from_nobody, harness_begin,
                                        harness_end),
        cmocka_unit_test_setup_teardown(there_must_be_a_directory, harness_begin, harness_end),
        cmocka_unit_test_setup_teardown(a_move_needs_a_shadow_and_a_cluster, harness_begin,
                                        harness_end),
        cmocka_unit_test(rows_have_the_names_of_what_they_are),
        cmocka_unit_test(keys_of_posts_are_not_taken_for_ids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
