/* SPDX-License-Identifier: MIT */
/* The data directory: what is trusted after what, and how it ends when something is missing or damaged. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "contract/harness.h"
#include "local/store_support.h"

static const char *message;

static enum tidings_err open_with_message(void)
{
    return tidings_open(&options, &engine, &message);
}

/* ---- Trust ------------------------------------------------------------------------------------ */

static void what_was_done_is_there_after_every_kind_of_end(void **state)
{
    (void)state;
    follow(BOB, ANN);
    for (int i = 0; i < 6; i++) {
        publish(ANN, "title", "body");
        if (i % 3 == 0)
            reopen_engine();
        else
            crash(i % 3 == 2);
        if (!engine)
            open_engine();
        assert_int_equal(badge(BOB), i + 1);
        assert_adds_up(BOB);
        assert_verifies();
    }
}

/* After a crash of the machine nobody knows what data.mdb holds. */
static void a_data_file_that_is_nonsense_is_made_anew(void **state)
{
    (void)state;
    char path[512];
    follow(BOB, ANN);
    publish(ANN, "title", "body");
    crash(true);
    data_path(path, "data.mdb");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (int i = 0; i < 100000; i++)
        fputc(i * 7, file);
    fclose(file);
    open_engine();
    assert_int_equal(badge(BOB), 1);
    assert_verifies();
    crash(true);
    assert_int_equal(unlink(path), 0);
    open_engine();
    assert_int_equal(badge(BOB), 1);
}

/* A body that the log behind the base images says nothing of. */
static const char needle[] = "written once, and never touched again";

static void assert_body(uint64_t post)
{
    must((struct tidings_op){.kind = TIDINGS_OP_POST, .user_id = BOB, .u.post = {.post_id = post}});
    assert_int_equal(answer.u.post.body.n, sizeof needle - 1);
    assert_memory_equal(answer.u.post.body.p, needle, sizeof needle - 1);
}

/* Wherever the newest one is damaged, the one before and more of the log take its place. */
static void recovery_takes_the_newest_base_image_that_is_whole(void **state)
{
    (void)state;
    enum { PLACES = 8, PAGE = 4096 };
    struct names bases;
    char newest[128];
    off_t at[2 * PLACES];
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "kept", needle);
    make_bases(3);
    publish(ANN, "last", "");
    uint64_t unread = badge(BOB);
    list("snapshots", &bases);
    assert_true(bases.n >= 2);
    snprintf(newest, sizeof newest, "snapshots/%s", bases.at[bases.n - 1]);
    size_t n = find_text(newest, needle, at, PLACES);
    assert_true(n > 0);
    for (off_t page = 0; page < PLACES; page++) /* the first two are LMDB's own */
        at[n++] = page * PAGE + 40 + 16 * page;
    options.settings.snapshot_log_mb = 1024;
    for (size_t i = 0; i < n; i++) {
        crash(true);
        spoil(newest, at[i]);
        open_engine();
        assert_int_equal(badge(BOB), unread);
        assert_body(post);
        assert_verifies();
        spoil(newest, at[i]);
    }
}

/* The log does not go back to the beginning any more: without a base image it is not enough. */
static void a_data_file_that_is_gone_or_empty_is_made_of_the_base_image(void **state)
{
    (void)state;
    char path[512];
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "kept", needle);
    make_bases(4);
    uint64_t unread = badge(BOB);
    await_first_segment_gone();
    data_path(path, "data.mdb");
    for (int end = 0; end < 6; end++) {
        if (end % 3 == 0)
            close_engine();
        else
            crash(end % 3 == 2);
        assert_int_equal(end < 3 ? unlink(path) : truncate(path, 0), 0);
        open_engine();
        assert_int_equal(badge(BOB), unread);
        assert_body(post);
        assert_verifies();
    }
}

/* What is kept is bounded: the newest two, and one that is old enough. */
static void old_base_images_and_segments_are_removed(void **state)
{
    (void)state;
    struct names bases;
    follow(BOB, ANN);
    make_bases(5);
    await_first_segment_gone();
    list("snapshots", &bases);
    assert_in_range(bases.n, 2, 3);
    crash(true);
    open_engine();
    assert_int_equal(badge(BOB), 5);
    assert_verifies();
}

static off_t newest_base_bytes(void)
{
    struct names bases;
    char name[128], path[512];
    struct stat stat;
    list("snapshots", &bases);
    while (bases.n && !strstr(bases.at[bases.n - 1], ".mdb"))
        bases.n--;
    assert_true(bases.n > 0);
    snprintf(name, sizeof name, "snapshots/%s", bases.at[bases.n - 1]);
    data_path(path, name);
    assert_int_equal(lstat(path, &stat), 0);
    return stat.st_size;
}

/* Makes a base image of large posts, and one after they were deleted. */
static void waste_a_base_image(void)
{
    enum { POSTS = 40 };
    uint64_t posts[POSTS];
    static char body[LARGE + 1];
    memset(body, 'x', LARGE);
    for (size_t i = 0; i < POSTS; i++)
        posts[i] = publish(ANN, "large", body);
    make_bases(1);
    assert_true(newest_base_bytes() > (off_t)POSTS * LARGE);
    for (size_t i = 0; i < POSTS; i++)
        delete_post(ANN, posts[i]);
    make_bases(1);
}

/* Every one is made of the one before: what had been free in one stayed in all that followed. */
static void a_base_image_is_no_larger_than_what_is_in_it(void **state)
{
    (void)state;
    uint64_t kept = publish(BOB, "kept", needle);
    waste_a_base_image();
    assert_true(newest_base_bytes() < 10 * LARGE);
    crash(true);
    open_engine();
    assert_body(kept);
    assert_verifies();
}

/* As without room on the disk for a second one. */
static void a_base_image_that_cannot_be_packed_is_taken_as_it_is(void **state)
{
    (void)state;
    char path[512];
    uint64_t kept = publish(BOB, "kept", needle);
    data_path(path, "snapshots/unfinished.new");
    assert_int_equal(mkdir(path, 0700), 0);
    waste_a_base_image();
    assert_true(newest_base_bytes() > 10 * LARGE);
    assert_int_equal(rmdir(path), 0);
    crash(true);
    open_engine();
    assert_body(kept);
    assert_verifies();
}

static void an_image_that_was_not_finished_is_removed(void **state)
{
    (void)state;
    static const char *const names[] = {"snapshots/unfinished", "snapshots/unfinished.new"};
    struct names bases;
    close_engine();
    for (size_t i = 0; i < 2; i++) {
        char path[512];
        data_path(path, names[i]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fclose(file), 0);
    }
    open_engine();
    list("snapshots", &bases);
    assert_int_equal(bases.n, 0);
}

/* ---- What is missing or damaged ---------------------------------------------------------------- */

static void a_torn_end_of_the_log_is_no_reason_to_complain(void **state)
{
    (void)state;
    char path[512];
    follow(BOB, ANN);
    publish(ANN, "title", "body");
    crash(true);
    data_path(path, "log/0000000000000001.log");
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fputs("half a record, as a crash leaves it, and no more of it", file);
    fclose(file);
    open_engine();
    assert_int_equal(badge(BOB), 1);
    publish(ANN, "another", "");
    crash(true);
    open_engine();
    assert_int_equal(badge(BOB), 2);
}

static void a_damaged_record_keeps_it_from_opening_and_can_be_salvaged(void **state)
{
    (void)state;
    char salvaged[512];
    follow(BOB, ANN);
    for (int i = 0; i < 10; i++)
        publish(ANN, "title", "body");
    crash(true);
    spoil("log/0000000000000001.log", 64 + 32 + 10 + 900);
    assert_int_equal(open_with_message(), TIDINGS_CORRUPT);
    assert_non_null(strstr(message, "0000000000000001.log: a record that was complete is damaged"));
    harness_path(salvaged, "salvaged");
    struct tidings_restore restore = {.from = harness_dir(), .dir = salvaged};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_CORRUPT);
    harness_path(salvaged, "salvaged2");
    restore.salvage = true;
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    assert_string_not_equal(restore.lost, "");
    assert_in_range(restore.batch, 1, 10);
    options.dir = salvaged;
    open_engine();
    assert_int_equal(badge(BOB), restore.batch - 1); /* the first batch is the follow */
    assert_verifies();
}

static void a_missing_segment_keeps_it_from_opening(void **state)
{
    (void)state;
    char path[512];
    follow(BOB, ANN);
    reopen_engine();
    publish(ANN, "title", "");
    reopen_engine();
    publish(ANN, "title", "");
    crash(true);
    data_path(path, "log/0000000000000002.log");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(open_with_message(), TIDINGS_CORRUPT);
    assert_string_equal(message, "the log segment with the records 2 to 2 is missing");
}

/* The image is ahead of the log: what it holds could not be recovered, so nobody may rely on it. */
static void expect_lost_end(void)
{
    char path[512];
    data_path(path, "log/0000000000000001.log");
    assert_int_equal(truncate(path, 64 + 40), 0);
    assert_int_equal(open_with_message(), TIDINGS_CORRUPT);
    assert_non_null(strstr(message, "the end of the log is missing"));
}

static void a_log_that_lost_its_end_is_noticed(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "title", "");
    close_engine();
    expect_lost_end();
}

/* Then `state` does not know where it ended. */
static void a_log_that_lost_its_end_after_a_crash_is_noticed(void **state)
{
    (void)state;
    follow(BOB, ANN);
    publish(ANN, "title", "");
    crash(false);
    expect_lost_end();
}

static void logs_of_another_directory_or_format_are_refused(void **state)
{
    (void)state;
    follow(BOB, ANN);
    crash(true);
    spoil("log/0000000000000001.log", 30); /* the directory's id, and so the header's checksum */
    assert_int_equal(open_with_message(), TIDINGS_CORRUPT);
    spoil("log/0000000000000001.log", 30);
    spoil("log/0000000000000001.log", 11);
    assert_int_equal(open_with_message(), TIDINGS_VERSION);
    assert_non_null(strstr(message, "another version"));
    spoil("log/0000000000000001.log", 11);
    open_engine();
}

static void two_engines_on_one_directory_do_not_meet(void **state)
{
    (void)state;
    struct tidings *second;
    assert_int_equal(tidings_open(&options, &second, &message), TIDINGS_LOCKED);
    assert_string_equal(message, "another process uses this data directory");
}

static void the_log_can_be_read(void **state)
{
    (void)state;
    char *text;
    size_t n;
    follow(BOB, ANN);
    publish(ANN, "title", "body");
    FILE *to = open_memstream(&text, &n);
    assert_int_equal(tidings_print_log(harness_dir(), 0, true, to, &message), TIDINGS_OK);
    fclose(to);
    assert_non_null(strstr(text, "1 2025-06-15T15:06:40.000Z "));
    assert_non_null(strstr(text, "FollowCreated by 2: user 1"));
    assert_non_null(strstr(text, "PostPublished by 1: post "));
    assert_non_null(strstr(text, "put user 2 p 00000000000001 ("));
    free(text);
    to = open_memstream(&text, &n);
    assert_int_equal(tidings_print_log(harness_dir(), 1, false, to, &message), TIDINGS_OK);
    fclose(to);
    assert_null(strstr(text, "FollowCreated"));
    assert_null(strstr(text, "put "));
    free(text);
    assert_int_equal(tidings_print_log("/nonexistent", 0, false, stdout, &message),
                     TIDINGS_NOT_FOUND);
}

/* ---- Each second ---------------------------------------------------------------------------------- */

static void what_is_synced_each_second_survives_the_process(void **state)
{
    (void)state;
    options.durability = TIDINGS_DURABLE_SECOND;
    reopen_engine();
    follow(BOB, ANN);
    for (int i = 0; i < 50; i++)
        publish(ANN, "title", "");
    crash(false);
    open_engine();
    assert_int_equal(badge(BOB), 50);
    crash(true); /* closed in order before, so nothing was lost */
    open_engine();
    assert_int_equal(badge(BOB), 50);
    assert_verifies();
}

/* The file grows with what is in it, while others read. */
static void the_data_file_grows_as_it_must(void **state)
{
    (void)state;
    struct stat before, after;
    char path[512];
    data_path(path, "data.mdb");
    follow(BOB, ANN);
    assert_int_equal(lstat(path, &before), 0);
    publish_large(1200);
    assert_int_equal(lstat(path, &after), 0);
    assert_true(after.st_size > before.st_size);
    assert_int_equal(badge(BOB), 1200);
    close_engine();
    assert_int_equal(lstat(path, &after), 0);
    assert_true(after.st_size < 1200 * 2 * LARGE);
    open_engine();
    assert_verifies();
}

/* What did not fit in must not be left out: the next changes would be made to the rest. */
static void a_data_file_that_cannot_hold_the_log_is_refused(void **state)
{
    (void)state;
    enum { MANY = 500, TOO_SMALL = 16 };
    uint64_t large_enough = options.settings.map_mb;
    char path[512];
    options.settings.snapshot_log_mb = 1024;
    options.durability = TIDINGS_DURABLE_SECOND;
    reopen_engine();
    follow(BOB, ANN);
    publish_large(MANY);
    data_path(path, "data.mdb");
    crash(true);
    assert_int_equal(unlink(path), 0);
    options.settings.map_mb = TOO_SMALL;
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_NO_SPACE);
    options.settings.map_mb = large_enough;
    open_engine();
    assert_int_equal(badge(BOB), MANY);
    assert_verifies();
}

/* To make it anew takes more room, and time; and there would be no data.mdb to go back to. */
static void a_data_file_for_which_there_is_no_room_is_not_made_anew(void **state)
{
    (void)state;
    struct stat before, after;
    char path[512];
    data_path(path, "data.mdb");
    follow(BOB, ANN);
    publish_large(400);
    close_engine();
    assert_int_equal(lstat(path, &before), 0);
    options.settings.map_mb = 16;
    assert_int_equal(open_with_message(), TIDINGS_NO_SPACE);
    options.settings.map_mb = 1024;
    open_engine();
    assert_int_equal(lstat(path, &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(badge(BOB), 400);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* LMDB would be left without a map at all, and the next reader with a signal. */
static void a_map_that_cannot_grow_is_a_full_one(void **state)
{
    (void)state;
    static char body[LARGE];
    struct tidings_op op = {.kind = TIDINGS_OP_PUBLISH,
                            .role = TIDINGS_ROLE_SERVICE,
                            .user_id = ANN,
                            .u.publish = {TIDINGS_NOTE, text_of("large"), {body, sizeof body}}};
    uint64_t n = 0;
    enum tidings_err err;
    memset(body, 'x', sizeof body);
    follow(BOB, ANN);
    signal(SIGXFSZ, SIG_IGN);
    limit_files((rlim_t)200 << 20);
    while (n < 3000 && !(err = run(op)))
        n++;
    assert_int_equal(err, TIDINGS_NO_SPACE);
    assert_in_range(n, 800, 2900); /* all of the map it has was used */
    assert_int_equal(badge(BOB), n);
    assert_int_equal(run(op), TIDINGS_NO_SPACE);
    limit_files(RLIM_INFINITY);
    assert_int_equal(run(op), TIDINGS_OK);
    assert_int_equal(badge(BOB), n + 1);
    assert_verifies();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
        TEST(what_was_done_is_there_after_every_kind_of_end),
        TEST(a_data_file_that_is_nonsense_is_made_anew),
        TEST(recovery_takes_the_newest_base_image_that_is_whole),
        TEST(a_data_file_that_is_gone_or_empty_is_made_of_the_base_image),
        TEST(old_base_images_and_segments_are_removed),
        TEST(a_base_image_is_no_larger_than_what_is_in_it),
        TEST(a_base_image_that_cannot_be_packed_is_taken_as_it_is),
        TEST(an_image_that_was_not_finished_is_removed),
        TEST(a_torn_end_of_the_log_is_no_reason_to_complain),
        TEST(a_damaged_record_keeps_it_from_opening_and_can_be_salvaged),
        TEST(a_missing_segment_keeps_it_from_opening),
        TEST(a_log_that_lost_its_end_is_noticed),
        TEST(a_log_that_lost_its_end_after_a_crash_is_noticed),
        TEST(logs_of_another_directory_or_format_are_refused),
        TEST(two_engines_on_one_directory_do_not_meet),
        TEST(the_log_can_be_read),
        TEST(what_is_synced_each_second_survives_the_process),
        TEST(the_data_file_grows_as_it_must),
        TEST(a_data_file_that_cannot_hold_the_log_is_refused),
        TEST(a_data_file_for_which_there_is_no_room_is_not_made_anew),
        TEST(a_map_that_cannot_grow_is_a_full_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
