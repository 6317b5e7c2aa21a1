/* SPDX-License-Identifier: MIT */
/*
 * A change that was refused leaves no trace in memory either. Once, the pairs of somebody who was here lately kept what a
 * failed batch had made of them, and were believed as soon as another batch took its place: a badge said 2 instead of 3.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "contract/harness.h"
#include "shim/shim.h"

enum { FAN = 1, OTHER = 2, FIRST = 10, AUTHORS = 4, EACH = 3 };

static uint64_t posts[AUTHORS][EACH];

/* The shim knows the files that are opened from now on. */
static int begin(void **state)
{
    static const struct shim_fault nothing = {.class = SHIM_CLASSES};
    int rc = harness_begin_closed(state);
    shim_fail(harness_dir(), &nothing);
    open_engine();
    return rc;
}

static void prepare(void)
{
    for (int i = 0; i < AUTHORS; i++) {
        follow(FAN, FIRST + i);
        for (int j = 0; j < EACH; j++)
            posts[i][j] = publish(FIRST + i, "title", "body");
    }
    assert_int_equal(badge(FAN), AUTHORS * EACH);
    assert_adds_up(FAN); /* and has the pairs in memory */
}

static void refuse(struct tidings_op op)
{
    struct shim_fault fault = {SHIM_WRITE, shim_calls(SHIM_WRITE) + 1, 1, ENOSPC, false};
    op.user_id = FAN;
    shim_fail(harness_dir(), &fault);
    assert_int_equal(run(op), TIDINGS_NO_SPACE);
    shim_heal();
}

static void expect_nothing_happened(void)
{
    publish(OTHER, "somebody else's", "");
    assert_int_equal(badge(FAN), AUTHORS * EACH);
    assert_adds_up(FAN);
    for (int i = 0; i < AUTHORS; i++) /* and once more, when the pairs are looked at one by one */
        publish(FIRST + i, "title", "");
    assert_int_equal(badge(FAN), AUTHORS * (EACH + 1));
    assert_adds_up(FAN);
    assert_verifies();
}

/* Nor does the log have anything of it: the data are made of that alone. */
static void expect_nothing_in_the_log(void)
{
    char path[512];
    close_engine();
    harness_path(path, "data/data.mdb");
    assert_int_equal(unlink(path), 0);
    open_engine();
    assert_int_equal(badge(FAN), AUTHORS * (EACH + 1));
    assert_adds_up(FAN);
    assert_verifies();
}

static void opening_a_post(void **state)
{
    (void)state;
    prepare();
    refuse((struct tidings_op){.kind = TIDINGS_OP_OPEN, .u.post = {.post_id = posts[1][1]}});
    expect_nothing_happened();
    expect_nothing_in_the_log();
}

static void marking_an_authors_posts(void **state)
{
    (void)state;
    prepare();
    refuse((struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                               .u.mark = {.post_ids = posts[0], .n_post_ids = EACH}});
    expect_nothing_happened();
    expect_nothing_in_the_log();
}

static void unfollowing(void **state)
{
    (void)state;
    prepare();
    refuse((struct tidings_op){.kind = TIDINGS_OP_UNFOLLOW, .u.relation = {.user_id = FIRST + 2}});
    expect_nothing_happened();
    expect_nothing_in_the_log();
}

static void following(void **state)
{
    (void)state;
    prepare();
    refuse((struct tidings_op){.kind = TIDINGS_OP_FOLLOW, .u.relation = {.user_id = OTHER}});
    expect_nothing_happened();
    expect_nothing_in_the_log();
}

/* What could not be synced at the end may be lost, while data.mdb has it. */
static void an_end_at_which_the_log_cannot_be_synced_is_not_in_order(void **state)
{
    (void)state;
    char path[512], text[512] = "";
    close_engine();
    options.durability = TIDINGS_DURABLE_SECOND;
    open_engine();
    publish(FIRST, "synced at once", "");
    struct shim_fault fault = {SHIM_SYNC, shim_calls(SHIM_SYNC) + 1, 1, EIO, false};
    uint64_t failed = shim_failed();
    shim_fail(harness_dir(), &fault);
    run((struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                            .user_id = FIRST,
                            .u.publish = {TIDINGS_NOTE, text_of("not synced yet"), {NULL, 0}}});
    close_engine();
    assert_int_equal(shim_failed(), failed + 1);
    assert_non_null(strstr(shim_failed_path(), "log/"));
    shim_heal();
    harness_path(path, "data/state");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    assert_non_null(strstr(text, "clean no"));
    open_engine();
    assert_verifies();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, harness_end)
        TEST(opening_a_post),
        TEST(marking_an_authors_posts),
        TEST(unfollowing),
        TEST(following),
        TEST(an_end_at_which_the_log_cannot_be_synced_is_not_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
