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
#include "local/damage.h"

enum { ANN = 1, BOB = 2, LARGE = 60000, EDITS = 50 };

static const char *message;

static enum tidings_err open_with_message(void)
{
    return tidings_open(&options, &engine, &message);
}

static void data_path(char path[512], const char *name)
{
    char inside[256];
    snprintf(inside, sizeof inside, "data/%s", name);
    harness_path(path, inside);
}

/* ---- Other people's doings ------------------------------------------------------------------- */

/* Leaves the directory as a process that was killed would; with another boot, as a machine that went down. */
static void crash(bool machine)
{
    char path[512], text[512] = "";
    data_path(path, "state");
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t n = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    assert_true(n > 0);
    /* Closing in order writes the state last: take that back. */
    close_engine();
    file = fopen(path, "w");
    assert_non_null(file);
    char *boot = strstr(text, "boot ");
    assert_non_null(boot);
    if (machine)
        boot[5] = boot[5] == 'x' ? 'y' : 'x';
    fputs(text, file);
    fclose(file);
}

static void spoil(const char *name, off_t at)
{
    char path[512];
    uint8_t byte;
    data_path(path, name);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

struct names {
    size_t n;
    char at[64][64];
};

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void list(const char *name, struct names *names)
{
    char path[512];
    data_path(path, name);
    names->n = 0;
    DIR *stream = opendir(path);
    assert_non_null(stream);
    for (struct dirent *entry; (entry = readdir(stream));)
        if (entry->d_name[0] != '.' && names->n < 64)
            snprintf(names->at[names->n++], 64, "%.63s", entry->d_name);
    closedir(stream);
    qsort(names->at, names->n, 64, by_name);
}

static void publish_large(unsigned n)
{
    static char body[LARGE + 1];
    memset(body, 'x', LARGE);
    for (unsigned i = 0; i < n; i++)
        publish(ANN, "large", body);
}

/* Much log, and not much data. */
static void edit_large(uint64_t post, unsigned variant)
{
    static char body[LARGE + 1];
    memset(body, 'a' + (int)(variant % 26), LARGE);
    must((struct tidings_op){.kind = TIDINGS_OP_EDIT,
                             .user_id = ANN,
                             .u.edit = {.post_id = post, .body = text_of(body)}});
}

/* Until the keeper has made so many base images. */
static void await_bases(uint64_t n)
{
    struct tidings_stats stats;
    for (int tries = 0; tries < 600; tries++) {
        tidings_stats(engine, &stats);
        assert_int_equal(stats.snapshots_failed, 0);
        if (stats.snapshots >= n)
            return;
        usleep(50000);
    }
    fail_msg("no base image in 30 s");
}

#define MONTH_MS INT64_C(2592000000)

/* A month apart: when one is made, those before are old. */
static void make_bases(unsigned n)
{
    options.settings.snapshot_log_mb = 1;
    options.settings.log_segment_mb = 1;
    reopen_engine();
    for (unsigned i = 1; i <= n; i++) {
        atomic_fetch_add(&clock_ms, MONTH_MS);
        uint64_t post = publish(ANN, "edited", "");
        for (unsigned j = 0; j < EDITS; j++)
            edit_large(post, j);
        await_bases(i);
    }
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

static void recovery_takes_the_newest_base_image_that_is_whole(void **state)
{
    (void)state;
    struct names bases, segments;
    char name[128];
    follow(BOB, ANN);
    make_bases(3);
    publish(ANN, "last", "");
    uint64_t unread = badge(BOB);
    list("snapshots", &bases);
    assert_true(bases.n >= 2);
    crash(true);
    open_engine();
    assert_int_equal(badge(BOB), unread);
    crash(true);
    snprintf(name, sizeof name, "snapshots/%s", bases.at[bases.n - 1]);
    spoil(name, 5000);
    open_engine(); /* the log goes back to the one before */
    assert_int_equal(badge(BOB), unread);
    assert_verifies();
    list("log", &segments);
    assert_true(segments.n >= 2);
}

/* What is kept is bounded: the newest two, and one that is old enough. */
static void old_base_images_and_segments_are_removed(void **state)
{
    (void)state;
    struct names bases, segments;
    follow(BOB, ANN);
    make_bases(5);
    for (int tries = 0; tries < 100; tries++) {
        list("snapshots", &bases);
        list("log", &segments);
        if (bases.n <= 3 && strcmp(segments.at[0], "0000000000000001.log"))
            break;
        usleep(50000);
    }
    assert_in_range(bases.n, 2, 3);
    assert_string_not_equal(segments.at[0], "0000000000000001.log");
    crash(true);
    open_engine();
    assert_int_equal(badge(BOB), 5);
    assert_verifies();
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
static void a_log_that_lost_its_end_is_noticed(void **state)
{
    (void)state;
    char path[512];
    follow(BOB, ANN);
    publish(ANN, "title", "");
    close_engine();
    data_path(path, "log/0000000000000001.log");
    assert_int_equal(truncate(path, 64 + 40), 0);
    assert_int_equal(open_with_message(), TIDINGS_CORRUPT);
    assert_non_null(strstr(message, "the end of the log is missing"));
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

/* ---- Backup and restore ------------------------------------------------------------------------- */

static void a_backup_can_be_opened_and_restored(void **state)
{
    (void)state;
    char dest[512], restored[512];
    follow(BOB, ANN);
    make_bases(2);
    publish(ANN, "last", "");
    uint64_t unread = badge(BOB);
    harness_path(dest, "backup");
    struct told told;
    struct tidings_backup backup = {.dest = dest, .progress = progress_to(&told)};
    assert_int_equal(tidings_backup(engine, &backup, &message), TIDINGS_OK);
    assert_int_equal(backup.batch, 1 + 2 * (1 + EDITS) + 1);
    assert_true(told.times >= 2 && !told.fell);
    assert_true(told.total >= backup.bytes && told.done == told.total);
    assert_int_equal(tidings_backup(engine, &backup, &message), TIDINGS_INVALID);
    assert_string_equal(message, "the target directory is not empty");
    publish(ANN, "later", "");
    close_engine();
    harness_path(restored, "restored");
    struct tidings_restore restore = {.from = dest, .dir = restored};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    assert_int_equal(restore.batch, backup.batch);
    options.dir = restored;
    open_engine();
    assert_int_equal(badge(BOB), unread);
    assert_verifies();
    publish(ANN, "it goes on", "");
    crash(true); /* of the old directory, which is fine with it */
    options.dir = dest;
    open_engine();
    assert_int_equal(badge(BOB), unread);
    assert_verifies();
}

static void a_backup_of_a_directory_needs_no_engine_and_minds_none(void **state)
{
    (void)state;
    char dest[512];
    follow(BOB, ANN);
    harness_path(dest, "one");
    struct tidings_backup backup = {.dest = dest};
    assert_int_equal(tidings_backup_dir(harness_dir(), &backup, &message), TIDINGS_OK);
    close_engine();
    harness_path(dest, "two");
    assert_int_equal(tidings_backup_dir(harness_dir(), &backup, &message), TIDINGS_OK);
    assert_int_equal(backup.batch, 1);
    harness_path(dest, "three");
    assert_int_equal(tidings_backup_dir("/nonexistent", &backup, &message), TIDINGS_NOT_FOUND);
}

static void a_restore_is_exact_to_the_moment(void **state)
{
    (void)state;
    enum { POSTS = 12 };
    char dir[512];
    int64_t moments[POSTS];
    follow(BOB, ANN);
    for (int i = 0; i < POSTS; i++) {
        atomic_fetch_add(&clock_ms, 10);
        publish(ANN, "title", "");
        moments[i] = atomic_load(&clock_ms);
    }
    close_engine();
    for (int i = 0; i < POSTS; i++) {
        for (int later = -1; later <= 1; later++) {
            char name[32];
            snprintf(name, sizeof name, "at-%d-%d", i, later + 1);
            harness_path(dir, name);
            struct tidings_restore restore = {
                .from = harness_dir(), .dir = dir, .until_ms = moments[i] + later};
            assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
            const char *was = options.dir;
            options.dir = dir;
            open_engine();
            assert_int_equal(badge(BOB), i + (later >= 0));
            close_engine();
            options.dir = was;
        }
    }
}

static void a_moment_that_is_not_kept_is_refused(void **state)
{
    (void)state;
    char dir[512];
    int64_t early = atomic_load(&clock_ms);
    follow(BOB, ANN);
    atomic_fetch_add(&clock_ms, 1000);
    make_bases(5);
    struct names segments;
    for (int tries = 0; tries < 100; tries++) {
        list("log", &segments);
        if (strcmp(segments.at[0], "0000000000000001.log"))
            break;
        usleep(50000);
    }
    harness_path(dir, "restored");
    struct tidings_restore restore = {.from = harness_dir(), .dir = dir, .until_ms = early};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_NOT_FOUND);
    assert_non_null(strstr(message, "not kept any more"));
}

/* What was repaired can be had as it was: a repair has the time it was made at, not that of the change before. */
static void a_repair_has_its_own_moment(void **state)
{
    (void)state;
    char dest[512];
    follow(BOB, ANN);
    struct user_record user = user_get(BOB);
    user.following++;
    user_put(BOB, &user);
    atomic_fetch_add(&clock_ms, 3600000);
    open_engine();
    struct tidings_verify verify = {.repair = true};
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    assert_int_equal(verify.repaired, 1);
    harness_path(dest, "backup");
    struct tidings_backup backup = {.dest = dest};
    assert_int_equal(tidings_backup(engine, &backup, &message), TIDINGS_OK);
    assert_int_equal(backup.batch, 2);
    assert_int_equal(backup.time_ms, START_MS + 3600000);
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
        TEST(old_base_images_and_segments_are_removed),
        TEST(a_torn_end_of_the_log_is_no_reason_to_complain),
        TEST(a_damaged_record_keeps_it_from_opening_and_can_be_salvaged),
        TEST(a_missing_segment_keeps_it_from_opening),
        TEST(a_log_that_lost_its_end_is_noticed),
        TEST(logs_of_another_directory_or_format_are_refused),
        TEST(two_engines_on_one_directory_do_not_meet),
        TEST(a_backup_can_be_opened_and_restored),
        TEST(a_backup_of_a_directory_needs_no_engine_and_minds_none),
        TEST(a_restore_is_exact_to_the_moment),
        TEST(a_moment_that_is_not_kept_is_refused),
        TEST(a_repair_has_its_own_moment),
        TEST(the_log_can_be_read),
        TEST(what_is_synced_each_second_survives_the_process),
        TEST(the_data_file_grows_as_it_must),
        TEST(a_data_file_for_which_there_is_no_room_is_not_made_anew),
        TEST(a_map_that_cannot_grow_is_a_full_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
