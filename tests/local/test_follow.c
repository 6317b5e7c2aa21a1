/* SPDX-License-Identifier: MIT */
/*
 * A directory that follows another one: joining, being cut off, refusals, repairs, taking over. That every answer is the same
 * is model_test --followers' business.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/local/storage/files.h"
#include "local/damage.h"
#include "local/store_support.h"
#include "support/replica.h"

static struct tidings *follower;
static struct tidings_options follower_options;
static char follower_dir[512], key_file[512], address[REPLICA_ADDRESS_BYTES], listen[64];

static void write_key(char digit)
{
    FILE *file = fopen(key_file, "w");
    assert_non_null(file);
    for (int i = 0; i < 64; i++)
        fputc(digit, file);
    fclose(file);
}

/* The engine of the harness can be followed, at the same address from now on. */
static void begin_followed(void)
{
    harness_path(key_file, "test.key");
    harness_path(follower_dir, "follower");
    write_key('a');
    close_engine();
    options.peer_listen = "127.0.0.1:0";
    options.peer_key_file = key_file;
    open_engine();
    replica_address(engine, address);
    snprintf(listen, sizeof listen, "%s", address + strlen("tidings://"));
    options.peer_listen = listen;
}

static enum tidings_err try_follow(const char **message)
{
    follower_options = options;
    follower_options.dir = follower_dir;
    follower_options.follow = address;
    follower_options.peer_listen = "127.0.0.1:0";
    return tidings_open(&follower_options, &follower, message);
}

static void await_follower(void)
{
    char why[256] = "";
    if (!replica_await(engine, follower, why))
        fail_msg("%s", why);
}

static void open_follower(void)
{
    const char *message = "";
    if (try_follow(&message))
        fail_msg("%s", message);
    await_follower();
}

static void close_follower(void)
{
    tidings_close(follower);
    follower = NULL;
}

static void assert_same(void)
{
    size_t n = 0, m = 0;
    char *a = replica_export(engine, &n), *b = replica_export(follower, &m);
    struct tidings_verify verify = {.report = stderr};
    assert_true(a && b && n == m && !memcmp(a, b, n));
    assert_int_equal(tidings_verify(follower, &verify), TIDINGS_OK);
    assert_int_equal(verify.differences, 0);
    free(a);
    free(b);
}

static struct tidings_replica status_of_follower(void)
{
    struct tidings_replica status;
    assert_int_equal(tidings_replica_status(follower, &status), TIDINGS_OK);
    return status;
}

/* Until it says that it does not go on. */
static void await_broken(const char *why)
{
    struct tidings_replica status = status_of_follower();
    for (int i = 0; i < 3000 && !status.broken; i++, status = status_of_follower())
        usleep(10000);
    assert_true(status.broken);
    assert_non_null(strstr(status.trouble, why));
}

static enum tidings_err run_on(struct tidings *where, struct tidings_op op)
{
    return tidings_run(where, &op, &answer);
}

static const struct tidings_op bobs_follow = {.kind = TIDINGS_OP_FOLLOW,
                                              .user_id = BOB,
                                              .u.relation.user_id = 77,
                                              .role = TIDINGS_ROLE_SERVICE};

static int end(void **state)
{
    close_follower();
    return harness_end(state);
}

/* ---- Joining ----------------------------------------------------------------------------------- */

static void an_empty_directory_is_filled_and_goes_on(void **state)
{
    (void)state;
    begin_followed();
    open_follower(); /* of nothing */
    follow(BOB, ANN);
    publish_many(ANN, 70);
    await_follower();
    assert_same();
    close_follower();
    publish_many(ANN, 3); /* while it is away */
    open_follower();
    assert_same();
    reopen_engine(); /* the other one is away, and comes back */
    publish_many(ANN, 3);
    await_follower();
    assert_same();
    assert_int_equal(run_on(follower, bobs_follow), TIDINGS_STANDBY);
    struct tidings_verify repair = {.repair = true};
    assert_int_equal(tidings_verify(follower, &repair), TIDINGS_STANDBY);
    const char *message = NULL;
    struct tidings *both;
    follower_options.mysql = "mysql://root@localhost/none";
    assert_int_equal(tidings_open(&follower_options, &both, &message), TIDINGS_INVALID);
    assert_string_equal(message, "follow");
}

static void a_base_image_is_fetched(void **state)
{
    (void)state;
    options.settings.snapshot_log_mb = 1;
    options.settings.log_segment_mb = 1;
    begin_followed();
    make_bases(3);
    open_follower();
    assert_same();
    publish_large(1);
    await_follower();
    assert_same();
    close_follower();
    const char *dir = options.dir;
    options.dir = follower_dir; /* as a directory of its own, with its own log and image */
    close_engine();
    options.remake = true;
    open_engine();
    options.remake = false;
    assert_verifies();
    options.dir = dir;
}

/* ---- Refusals ------------------------------------------------------------------------------------ */

static void whoever_has_another_key_is_refused(void **state)
{
    const char *message = NULL;
    (void)state;
    begin_followed();
    write_key('b');
    assert_int_equal(try_follow(&message), TIDINGS_INVALID);
    assert_non_null(strstr(message, "does not have the same key"));
    unlink(key_file);
    assert_int_equal(try_follow(&message), TIDINGS_INVALID);
    assert_non_null(strstr(message, "peer.key"));
}

static void a_directory_of_another_community_is_refused(void **state)
{
    (void)state;
    begin_followed();
    const char *dir = options.dir;
    options.dir = follower_dir;
    reopen_engine();
    publish_many(ANN, 1);
    options.dir = dir;
    reopen_engine();
    const char *message;
    assert_int_equal(try_follow(&message), TIDINGS_OK);
    await_broken("another community");
}

static void a_directory_that_is_ahead_is_refused(void **state)
{
    const char *message;
    (void)state;
    begin_followed();
    publish_many(ANN, 1);
    open_follower();
    close_follower();
    const char *dir = options.dir;
    options.dir = follower_dir; /* by itself, it makes a change that the other has not */
    options.peer_listen = NULL;
    reopen_engine();
    publish_many(BOB, 1);
    options.dir = dir;
    options.peer_listen = listen;
    reopen_engine();
    assert_int_equal(try_follow(&message), TIDINGS_OK);
    await_broken("does not have");
    close_follower();
    publish(ANN, "one", ""); /* one batch each: now the other history is longer */
    publish(ANN, "two", "");
    assert_int_equal(try_follow(&message), TIDINGS_OK);
    await_broken("disagrees");
    assert_int_equal(badge(BOB), 0);
}

static void a_log_that_does_not_go_back_far_enough_is_told(void **state)
{
    const char *message;
    (void)state;
    options.settings.snapshot_log_mb = 1;
    options.settings.log_segment_mb = 1;
    options.settings.log_days = 1;
    begin_followed();
    publish_many(ANN, 1);
    open_follower();
    close_follower();
    make_bases(2);
    atomic_store(&clock_ms, START_MS + INT64_C(10) * 24 * 3600 * 1000);
    make_bases(2);
    await_first_segment_gone();
    reopen_engine(); /* what is in memory is forgotten, too */
    assert_int_equal(try_follow(&message), TIDINGS_OK);
    await_broken("does not go back that far");
}

/* ---- What is in memory beside the rows -------------------------------------------------------------- */

/* Lists that were made anew are no additions: the follower's heads are loaded anew. */
static void a_repair_reaches_the_follower(void **state)
{
    (void)state;
    begin_followed();
    follow(BOB, ANN);
    publish_many(ANN, 70);
    uint64_t post = publish(ANN, "t", "b");
    open_follower();
    assert_int_equal(
        run_on(follower, (struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB}),
        TIDINGS_OK);
    row_delete(TABLE_AUTHOR, key_author(ANN, ROW_POSTS, 1));
    options.rebuild = true;
    open_engine();
    options.rebuild = false;
    delete_post(ANN, post);
    await_follower();
    assert_int_equal(
        run_on(follower, (struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB}),
        TIDINGS_OK);
    assert_int_equal(answer.u.badge.total, 70);
    assert_same();
}

static void limits_of_the_followed_one_hold(void **state)
{
    struct tidings_settings settings;
    (void)state;
    begin_followed();
    publish_many(ANN, 1);
    open_follower();
    options.settings.page_max = 7;
    options.settings.page_default = 7;
    reopen_engine();
    publish_many(ANN, 1);
    await_follower();
    assert_int_equal(tidings_settings_of(follower, &settings), TIDINGS_OK);
    assert_int_equal(settings.page_max, 7);
}

/* ---- Taking over ---------------------------------------------------------------------------------------- */

static void promote(void)
{
    char where[REPLICA_ADDRESS_BYTES];
    struct tidings_replica status;
    const char *message = "";
    replica_address(follower, where);
    if (tidings_promote(where, key_file, &status, &message))
        fail_msg("%s", message);
    assert_int_equal(status.era, 1);
    assert_int_equal(run_on(follower, bobs_follow), TIDINGS_OK);
}

/* The one before hands over, is not opened again, joins, or is taken back. */
static void who_was_replaced_does_not_go_on(void **state)
{
    const char *message;
    (void)state;
    begin_followed();
    publish_many(ANN, 5);
    open_follower();
    promote();
    assert_int_equal(run_on(engine, bobs_follow), TIDINGS_STANDBY);
    assert_int_equal(run_on(engine, (struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB}),
                     TIDINGS_OK); /* which it may answer */
    close_engine();
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_INVALID);
    assert_non_null(strstr(message, "was replaced by"));
    struct tidings_options joins = options;
    joins.follow = address;
    replica_address(follower, address);
    struct tidings *joined;
    assert_int_equal(tidings_open(&joins, &joined, &message), TIDINGS_OK);
    char why[256] = "";
    assert_true(replica_await(follower, joined, why));
    tidings_close(joined);
    message = "";
    if (tidings_open(&options, &engine, &message)) /* that is over */
        fail_msg("%s", message);
    close_engine();
}

/* While it was away another was promoted: who followed it is asked. */
static void who_was_away_is_told_that_it_was_replaced(void **state)
{
    const char *message;
    (void)state;
    begin_followed();
    publish_many(ANN, 5);
    open_follower();
    close_engine();
    promote();
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_INVALID);
    assert_non_null(strstr(message, "was replaced by"));
    options.take_back = true;
    open_engine();
    options.take_back = false;
    publish_many(ANN, 1);
}

static void who_follows_nobody_cannot_be_promoted(void **state)
{
    struct tidings_replica status;
    const char *message = "";
    (void)state;
    begin_followed();
    assert_int_equal(tidings_promote(address, key_file, &status, &message), TIDINGS_INVALID);
    assert_non_null(strstr(message, "follows nobody"));
    write_key('c');
    assert_int_equal(tidings_promote(address, key_file, &status, &message), TIDINGS_INVALID);
    write_key('a');
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, end)
    const struct CMUnitTest tests[] = {
        TEST(an_empty_directory_is_filled_and_goes_on),
        TEST(a_base_image_is_fetched),
        TEST(whoever_has_another_key_is_refused),
        TEST(a_directory_of_another_community_is_refused),
        TEST(a_directory_that_is_ahead_is_refused),
        TEST(a_log_that_does_not_go_back_far_enough_is_told),
        TEST(a_repair_reaches_the_follower),
        TEST(limits_of_the_followed_one_hold),
        TEST(who_was_replaced_does_not_go_on),
        TEST(who_was_away_is_told_that_it_was_replaced),
        TEST(who_follows_nobody_cannot_be_promoted),
    };
#undef TEST
    return RUN_TESTS(tests);
}
