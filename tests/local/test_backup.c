/* SPDX-License-Identifier: MIT */
/* Backup and restore, and what is refused because something of it is missing. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local/damage.h"
#include "local/store_support.h"

static const char *message;

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

/* It would be no worse than its source to begin with, and useless when that is gone. */
static void a_damaged_base_image_does_not_get_into_a_backup(void **state)
{
    (void)state;
    static const char needle[] = "written once, and never touched again";
    enum { PLACES = 8 };
    char dest[512], newest[128], name[32];
    struct names bases;
    off_t at[PLACES];
    follow(BOB, ANN);
    uint64_t post = publish(ANN, "kept", needle);
    make_bases(2);
    close_engine();
    list("snapshots", &bases);
    snprintf(newest, sizeof newest, "snapshots/%s", bases.at[bases.n - 1]);
    size_t n = find_text(newest, needle, at, PLACES);
    assert_true(n > 0);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "backup-%zu", i);
        harness_path(dest, name);
        spoil(newest, at[i]);
        struct tidings_backup backup = {.dest = dest};
        assert_int_equal(tidings_backup_dir(harness_dir(), &backup, &message), TIDINGS_OK);
        spoil(newest, at[i]);
        options.dir = dest;
        open_engine();
        must((struct tidings_op){
            .kind = TIDINGS_OP_POST, .user_id = BOB, .u.post = {.post_id = post}});
        assert_int_equal(answer.u.post.body.n, sizeof needle - 1);
        assert_memory_equal(answer.u.post.body.p, needle, sizeof needle - 1);
        assert_verifies();
        close_engine();
    }
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
    await_first_segment_gone();
    harness_path(dir, "restored");
    struct tidings_restore restore = {.from = harness_dir(), .dir = dir, .until_ms = early};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_NOT_FOUND);
    assert_non_null(strstr(message, "not kept any more"));
}

/* Up to which batch, and when, the oldest base image goes: by its name. */
static int64_t oldest_base(uint64_t *batch)
{
    struct names bases;
    char *end;
    list("snapshots", &bases);
    assert_true(bases.n > 0);
    *batch = strtoull(bases.at[0], &end, 10);
    return strtoll(end + 1, NULL, 10);
}

/* To the millisecond: all before it is gone, and for itself no log is needed. */
static void the_earliest_moment_is_that_of_the_oldest_base_image(void **state)
{
    (void)state;
    char dir[512], earliest[64];
    uint64_t batch;
    follow(BOB, ANN);
    make_bases(5);
    await_first_segment_gone();
    close_engine();
    int64_t time_ms = oldest_base(&batch);
    snprintf(earliest, sizeof earliest, "the earliest is %" PRId64, time_ms);
    const int64_t too_early[] = {1, time_ms - 1};
    harness_path(dir, "restored");
    for (size_t i = 0; i < COUNT_OF(too_early); i++) {
        struct tidings_restore restore = {
            .from = harness_dir(), .dir = dir, .until_ms = too_early[i]};
        assert_int_equal(tidings_restore(&restore, &message), TIDINGS_NOT_FOUND);
        assert_non_null(strstr(message, earliest));
        assert_int_equal(access(dir, F_OK), -1); /* and nothing was begun */
    }
    struct tidings_restore restore = {.from = harness_dir(), .dir = dir, .until_ms = time_ms};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    assert_int_equal(restore.batch, batch);
    assert_int_equal(restore.time_ms, time_ms);
    options.dir = dir;
    open_engine();
    assert_verifies();
}

static void get_id_of(const char *dir, char id[64])
{
    char path[600];
    snprintf(path, sizeof path, "%s/state", dir);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "tidings %*d id %63s", id), 1);
    fclose(file);
}

/* Segments of the one must not be taken for the other's. */
static void what_was_restored_has_an_id_of_its_own(void **state)
{
    (void)state;
    char dir[512], old[64], restored[64];
    follow(BOB, ANN);
    close_engine();
    harness_path(dir, "restored");
    struct tidings_restore restore = {.from = harness_dir(), .dir = dir};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    get_id_of(harness_dir(), old);
    get_id_of(dir, restored);
    assert_string_not_equal(old, restored);
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

/* ---- What lost something ------------------------------------------------------------------------- */

enum { POSTS = 100 };

/* A backup of a directory with so many posts, which is closed; the records of each are in the one segment. */
static void make_backup(char dest[512])
{
    follow(BOB, ANN);
    for (int i = 0; i < POSTS; i++)
        publish(ANN, "title", "body");
    harness_path(dest, "backup");
    struct tidings_backup backup = {.dest = dest};
    assert_int_equal(tidings_backup(engine, &backup, &message), TIDINGS_OK);
    assert_int_equal(backup.batch, POSTS + 1);
    close_engine();
}

static off_t size_of(const char *path)
{
    struct stat stat;
    assert_int_equal(lstat(path, &stat), 0);
    return stat.st_size;
}

static void cut(const char *dir, const char *name, off_t bytes)
{
    char path[600];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(truncate(path, size_of(path) - bytes), 0);
}

static void expect_refused(const char *dir, const char *complaint)
{
    static unsigned times;
    char name[32], to[512];
    snprintf(name, sizeof name, "not-restored-%u", times++);
    harness_path(to, name);
    struct tidings_restore restore = {.from = dir, .dir = to};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_CORRUPT);
    assert_non_null(strstr(message, complaint));
    options.dir = dir;
    for (int i = 0; i < 2; i++) { /* to be refused once does not make it better */
        assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_CORRUPT);
        assert_non_null(strstr(message, complaint));
    }
}

/* What there is can be had, and is not called everything; answers how many posts. */
static uint64_t salvage(const char *dir, const char *complaint)
{
    char to[512];
    harness_path(to, "salvaged");
    struct tidings_restore restore = {.from = dir, .dir = to, .salvage = true};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    assert_non_null(strstr(restore.lost, complaint));
    options.dir = to;
    open_engine();
    assert_verifies();
    assert_int_equal(badge(BOB) + 1, restore.batch);
    return badge(BOB);
}

static const char segment[] = "log/0000000000000001.log";

static void a_backup_whose_log_was_cut_in_half_is_refused(void **state)
{
    (void)state;
    char dest[512], path[600];
    make_backup(dest);
    snprintf(path, sizeof path, "%s/%s", dest, segment);
    cut(dest, segment, size_of(path) / 2);
    expect_refused(dest, "log/0000000000000001.log of the backup has ");
    assert_in_range(salvage(dest, "the end of the log is missing: records "), 1, POSTS - 1);
}

static void a_backup_that_lost_its_last_record_is_refused(void **state)
{
    (void)state;
    char dest[512];
    make_backup(dest);
    cut(dest, segment, 8);
    expect_refused(dest, "of the backup has ");
    assert_int_equal(salvage(dest, "the end of the log is missing: records 101 to 101"), POSTS - 1);
}

static void a_backup_that_lacks_a_file_is_refused(void **state)
{
    (void)state;
    char dest[512], path[600];
    make_backup(dest);
    snprintf(path, sizeof path, "%s/%s", dest, segment);
    assert_int_equal(unlink(path), 0);
    expect_refused(dest, "the backup lacks log/0000000000000001.log");
}

/* Also where nothing reads it before a cursor comes back. */
static void a_backup_with_a_damaged_seal_key_is_refused(void **state)
{
    (void)state;
    char dest[512], path[600];
    data_path(path, "seal.key");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("32 bytes that look like a secret", file);
    fclose(file);
    make_backup(dest);
    snprintf(path, sizeof path, "%s/seal.key", dest);
    file = fopen(path, "r+");
    assert_non_null(file);
    fputs("33", file);
    fclose(file);
    expect_refused(dest, "seal.key of the backup is damaged");
    assert_int_equal(salvage(dest, "seal.key of the backup is damaged"), POSTS);
}

static void a_backup_whose_list_of_files_is_damaged_is_refused(void **state)
{
    (void)state;
    char dest[512];
    make_backup(dest);
    cut(dest, "backup", 14);
    expect_refused(dest, "the file `backup` is damaged");
    assert_int_equal(salvage(dest, "the file `backup` is damaged"), POSTS);
}

/* Takes the lines away that once were not written. */
static void make_as_of_before(const char *dir)
{
    char path[600], text[512] = "";
    snprintf(path, sizeof path, "%s/backup", dir);
    unlink(path);
    snprintf(path, sizeof path, "%s/state", dir);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    char *line = strstr(text, "log ");
    assert_non_null(line);
    *line = '\0';
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void what_was_made_without_saying_where_it_ends_still_opens(void **state)
{
    (void)state;
    char dest[512], restored[512];
    make_backup(dest);
    make_as_of_before(dest);
    harness_path(restored, "restored");
    struct tidings_restore restore = {.from = dest, .dir = restored};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    make_as_of_before(harness_dir());
    make_as_of_before(restored);
    const char *dirs[] = {dest, restored, harness_dir()};
    for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
        options.dir = dirs[i];
        open_engine();
        assert_int_equal(badge(BOB), POSTS);
        close_engine();
    }
}

/* It grows, and what is too old goes: what it was made of does not matter any more. */
static void a_backup_that_was_opened_is_a_directory_like_others(void **state)
{
    (void)state;
    char dest[512], path[600];
    make_backup(dest);
    options.dir = dest;
    make_bases(2);
    snprintf(path, sizeof path, "%s/backup", dest);
    assert_int_not_equal(access(path, F_OK), 0);
    reopen_engine();
    assert_int_equal(badge(BOB), POSTS + 2);
}

static void a_directory_closed_in_order_that_lost_its_end_is_refused(void **state)
{
    (void)state;
    char dest[512], path[600];
    make_backup(dest);
    cut(harness_dir(), segment, 8);
    data_path(path, "data.mdb");
    assert_int_equal(unlink(path), 0);
    expect_refused(harness_dir(), "the end of the log is missing: records 101 to 101");
    harness_path(path, "second");
    struct tidings_backup backup = {.dest = path};
    assert_int_equal(tidings_backup_dir(harness_dir(), &backup, &message), TIDINGS_CORRUPT);
    assert_non_null(strstr(message, "the end of the log is missing"));
    FILE *to = fopen("/dev/null", "w");
    assert_int_equal(tidings_print_log(harness_dir(), 0, false, to, &message), TIDINGS_CORRUPT);
    fclose(to);
    assert_int_equal(salvage(harness_dir(), "the end of the log is missing"), POSTS - 1);
}

/* It has no log yet, and looked like a new one. */
static void a_restored_directory_that_lost_its_base_image_is_not_empty(void **state)
{
    (void)state;
    char dest[512], restored[512];
    struct names bases;
    make_backup(dest);
    data_path(restored, "restored");
    struct tidings_restore restore = {.from = dest, .dir = restored};
    assert_int_equal(tidings_restore(&restore, &message), TIDINGS_OK);
    list("restored/snapshots", &bases);
    assert_int_equal(bases.n, 1);
    char inside[128];
    snprintf(inside, sizeof inside, "restored/snapshots/%s", bases.at[0]);
    spoil(inside, 2 * 4096);
    expect_refused(restored, "the end of the log is missing: records 1 to 101");
    make_as_of_before(restored); /* its name says how far it went */
    expect_refused(restored, "the end of the log is missing: records 1 to 101");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
        TEST(a_backup_can_be_opened_and_restored),
        TEST(a_damaged_base_image_does_not_get_into_a_backup),
        TEST(a_backup_of_a_directory_needs_no_engine_and_minds_none),
        TEST(a_restore_is_exact_to_the_moment),
        TEST(a_moment_that_is_not_kept_is_refused),
        TEST(the_earliest_moment_is_that_of_the_oldest_base_image),
        TEST(what_was_restored_has_an_id_of_its_own),
        TEST(a_repair_has_its_own_moment),
        TEST(a_backup_whose_log_was_cut_in_half_is_refused),
        TEST(a_backup_that_lost_its_last_record_is_refused),
        TEST(a_backup_that_lacks_a_file_is_refused),
        TEST(a_backup_with_a_damaged_seal_key_is_refused),
        TEST(a_backup_whose_list_of_files_is_damaged_is_refused),
        TEST(what_was_made_without_saying_where_it_ends_still_opens),
        TEST(a_backup_that_was_opened_is_a_directory_like_others),
        TEST(a_directory_closed_in_order_that_lost_its_end_is_refused),
        TEST(a_restored_directory_that_lost_its_base_image_is_not_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
