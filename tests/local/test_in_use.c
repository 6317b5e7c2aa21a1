/* SPDX-License-Identifier: MIT */
/* Backups of, and restoring from, a directory that a process uses; and into one, which is refused. */
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contract/harness.h"

enum { ANN = 1, BOB = 2, LARGE = 60000, EDITS = 25 };

static const char *message;
static unsigned bases; /* made since the engine was opened */

static void await_base(void)
{
    struct tidings_stats stats;
    bases++;
    for (int tries = 0; tries < 600; tries++) {
        tidings_stats(engine, &stats);
        assert_int_equal(stats.snapshots_failed, 0);
        if (stats.snapshots >= bases)
            return;
        usleep(50000);
    }
    fail_msg("no base image in 30 s");
}

/* Much log, and not much data, until there is another base image. */
/* A month after the one before, which is old by that. */
static void make_base(void)
{
    static char body[LARGE + 1];
    atomic_fetch_add(&clock_ms, INT64_C(2592000000));
    uint64_t post = publish(ANN, "edited", "");
    for (unsigned i = 0; i < EDITS; i++) {
        memset(body, 'a' + (int)i, LARGE);
        must((struct tidings_op){.kind = TIDINGS_OP_EDIT,
                                 .user_id = ANN,
                                 .u.edit = {.post_id = post, .body = text_of(body)}});
    }
    await_base();
}

static void begin_with_a_base(void)
{
    options.settings.snapshot_log_mb = 1;
    options.settings.log_segment_mb = 1;
    reopen_engine();
    bases = 0;
    follow(BOB, ANN);
    make_base();
}

static bool is_there(const char *dir, const char *name)
{
    char path[1024];
    struct stat stat;
    snprintf(path, sizeof path, "%s/%s", dir, name);
    return !lstat(path, &stat);
}

static bool has_first_segment(void)
{
    return is_there(harness_dir(), "log/0000000000000001.log");
}

/* ---- From one ---------------------------------------------------------------------------------- */

/* The server goes on in the midst of it: for the first base image, and the log behind it, there are newer ones now. */
static void go_on(void *ctx, const char *part, uint64_t done, uint64_t total)
{
    bool *gone_on = ctx;
    (void)part;
    (void)done;
    (void)total;
    if (*gone_on)
        return;
    *gone_on = true;
    for (int i = 0; i < 3;
         i++) /* when the next is made, what the one before has made needless is gone */
        make_base();
    assert_true(has_first_segment());
}

/* The keeper takes away what is too old when nobody reads it any more. */
static void assert_removed_later(void)
{
    make_base();
    for (int tries = 0; tries < 200 && has_first_segment(); tries++)
        usleep(50000);
    assert_false(has_first_segment());
}

/* What goes on there is whole, and what was kept for it goes later. */
static void assert_made_meanwhile(const char *dest)
{
    assert_removed_later();
    uint64_t unread = badge(BOB);
    close_engine();
    options.dir = dest;
    open_engine();
    assert_in_range(badge(BOB), 1, unread);
    assert_verifies();
}

/* Only a backup by the process itself held the keeper back: one by the command failed when its files went. */
static void nothing_is_removed_under_a_backup(void **state)
{
    (void)state;
    char dest[512];
    bool gone_on = false;
    begin_with_a_base();
    harness_path(dest, "backup");
    struct tidings_backup backup = {.dest = dest, .progress = {go_on, &gone_on}};
    assert_int_equal(tidings_backup_dir(harness_dir(), &backup, &message), TIDINGS_OK);
    assert_true(gone_on);
    assert_made_meanwhile(dest);
}

static void nothing_is_removed_under_a_restore(void **state)
{
    (void)state;
    char dest[512];
    bool gone_on = false;
    begin_with_a_base();
    harness_path(dest, "restored");
    struct tidings_restore restore = {
        .from = harness_dir(), .dir = dest, .progress = {go_on, &gone_on}};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    assert_true(gone_on);
    assert_made_meanwhile(dest);
}

/* ---- Into one ---------------------------------------------------------------------------------- */

static enum tidings_err backup_to(const char *dest)
{
    struct tidings_backup backup = {.dest = dest};
    message = NULL;
    return tidings_backup_dir(harness_dir(), &backup, &message);
}

static enum tidings_err restore_to(const char *dest)
{
    struct tidings_restore restore = {.from = harness_dir(), .dir = dest};
    message = NULL;
    return tidings_restore(&restore, &message);
}

static enum tidings_err (*const ways[])(const char *dest) = {backup_to, restore_to};

static void a_directory_in_use_is_no_target(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "title", "");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ways[i](harness_dir()), TIDINGS_LOCKED);
        assert_string_equal(message, "another process uses the target directory");
    }
    publish(ANN, "title", "");
    reopen_engine();
    assert_int_equal(badge(BOB), 2);
    assert_verifies();
    close_engine();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ways[i](harness_dir()), TIDINGS_INVALID);
        assert_string_equal(message, "the target directory is not empty");
    }
}

/* A server that is just starting, or another backup. */
static void an_empty_directory_that_is_taken_is_no_target(void **state)
{
    (void)state;
    char dest[512], lock[600];
    follow(BOB, ANN);
    for (int i = 0; i < 2; i++) {
        harness_path(dest, i ? "restored" : "backup");
        assert_int_equal(mkdir(dest, 0700), 0);
        snprintf(lock, sizeof lock, "%s/lock", dest);
        int fd = open(lock, O_RDWR | O_CREAT, 0600);
        assert_int_equal(flock(fd, LOCK_EX), 0);
        assert_int_equal(ways[i](dest), TIDINGS_LOCKED);
        assert_string_equal(message, "another process uses the target directory");
        assert_false(is_there(dest, "log"));
        close(fd);
        assert_int_equal(ways[i](dest), TIDINGS_OK); /* the file that is left means nothing */
    }
}

/* While it is being filled nobody else may have it, and then anybody. */
static void take_target(void *ctx, const char *part, uint64_t done, uint64_t total)
{
    struct tidings_options other = options;
    struct tidings *second;
    (void)part;
    (void)done;
    (void)total;
    other.dir = ctx;
    assert_int_equal(tidings_open(&other, &second, NULL), TIDINGS_LOCKED);
    assert_int_equal(backup_to(ctx), TIDINGS_LOCKED);
}

static void a_target_is_taken_until_it_is_filled(void **state)
{
    (void)state;
    char dest[512];
    begin_with_a_base();
    harness_path(dest, "backup");
    struct tidings_backup backup = {.dest = dest, .progress = {take_target, dest}};
    assert_int_equal(tidings_backup_dir(harness_dir(), &backup, &message), TIDINGS_OK);
    harness_path(dest, "restored");
    struct tidings_restore restore = {
        .from = harness_dir(), .dir = dest, .progress = {take_target, dest}};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    close_engine();
    options.dir = dest;
    open_engine();
    assert_verifies();
}

static void a_directory_of_somebody_else_is_left_as_it_is(void **state)
{
    (void)state;
    char dest[512], path[600];
    follow(BOB, ANN);
    harness_path(dest, "theirs");
    snprintf(path, sizeof path, "%s/a-file", dest);
    assert_int_equal(mkdir(dest, 0700), 0);
    assert_int_equal(close(open(path, O_RDWR | O_CREAT, 0600)), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ways[i](dest), TIDINGS_INVALID);
        assert_string_equal(message, "the target directory is not empty");
        assert_false(is_there(dest, "lock"));
        assert_false(is_there(dest, "log"));
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(nothing_is_removed_under_a_backup),
        TEST(nothing_is_removed_under_a_restore),
        TEST(a_directory_in_use_is_no_target),
        TEST(an_empty_directory_that_is_taken_is_no_target),
        TEST(a_target_is_taken_until_it_is_filled),
        TEST(a_directory_of_somebody_else_is_left_as_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
