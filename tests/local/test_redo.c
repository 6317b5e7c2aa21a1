/* SPDX-License-Identifier: MIT */
/* The redo log: what comes back, what a crash may leave, and what it cannot have left. */
#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/crc32c.h"
#include "engine/local/storage/redo_bytes.h"
#include "unit/test.h"

static char dir[256];
static const uint8_t id[REDO_ID_BYTES] = "of this test";

static int begin(void **state)
{
    (void)state;
    const char *tmp = getenv("TMPDIR");
    snprintf(dir, sizeof dir, "%s/tidings-redo-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat;
    (void)type;
    (void)where;
    return remove(path);
}

/* Where a sync takes no time, if there is such a place. */
static int begin_in_memory(void **state)
{
    if (access("/dev/shm", W_OK | X_OK))
        return begin(state);
    strcpy(dir, "/dev/shm/tidings-redo-XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int end(void **state)
{
    (void)state;
    return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- Writing and reading -------------------------------------------------------------------- */

static struct redo *open_redo(uint64_t number, uint64_t segment_bytes, bool each_second)
{
    struct redo_options options = {dir, id, segment_bytes, each_second};
    struct redo *redo;
    assert_int_equal(redo_open(&options, number, &redo), TIDINGS_OK);
    return redo;
}

/* A record of n bytes, all of them its number's lowest. */
static void append(struct redo *redo, uint64_t number, size_t n)
{
    uint8_t *bytes = malloc(n);
    assert_non_null(bytes);
    memset(bytes, (int)(number & 0xff), n);
    struct redo_record record = {.number = number,
                                 .time_ms = (int64_t)number * 10,
                                 .sure = number / 2,
                                 .changes = {bytes, n}};
    memset(record.chain.bytes, (int)(number & 0x7f), CHAIN_BYTES);
    assert_int_equal(redo_append(redo, &record), TIDINGS_OK);
    free(bytes);
}

static void write_log(uint64_t first, uint64_t last, size_t n, uint64_t segment_bytes)
{
    struct redo *redo = open_redo(first - 1, segment_bytes, false);
    for (uint64_t i = first; i <= last; i++)
        append(redo, i, n);
    assert_int_equal(redo_close(redo), TIDINGS_OK);
}

struct seen {
    uint64_t first, last, count;
};

static bool note(void *ctx, const struct redo_record *record)
{
    struct seen *seen = ctx;
    if (!seen->count++)
        seen->first = record->number;
    seen->last = record->number;
    assert_int_equal(record->time_ms, (int64_t)record->number * 10);
    assert_int_equal(record->sure, record->number / 2);
    assert_true(record->is_chained);
    assert_int_equal(record->chain.bytes[CHAIN_BYTES - 1], record->number & 0x7f);
    for (size_t i = 0; i < record->changes.n; i++)
        assert_int_equal(record->changes.p[i], record->number & 0xff);
    return true;
}

static struct redo_scan scan_of(uint64_t after, struct seen *seen)
{
    *seen = (struct seen){0};
    return (struct redo_scan){.dir = dir, .id = id, .after = after, .visit = note, .ctx = seen};
}

static enum tidings_err read_log(uint64_t after, struct seen *seen, struct redo_end *where)
{
    struct redo_scan scan = scan_of(after, seen);
    enum tidings_err err = redo_scan(&scan);
    *where = scan.end;
    assert_true(err == TIDINGS_OK || scan.message[0]);
    return err;
}

static void path_of(uint64_t first, char path[PATH_BYTES])
{
    char name[SEGMENT_NAME_BYTES];
    segment_name(first, name);
    assert_true(path_join(path, dir, name));
}

static void change_byte(uint64_t segment, off_t at)
{
    char path[PATH_BYTES];
    uint8_t byte;
    path_of(segment, path);
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* ---- Tests ---------------------------------------------------------------------------------- */

static void the_checksum_is_crc32c(void **state)
{
    (void)state;
    uint8_t bytes[1000];
    assert_int_equal(crc32c(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c_table(0, "123456789", 9), 0xe3069283);
    assert_int_equal(crc32c(0, "", 0), 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(i * 7);
    for (size_t n = 0; n < sizeof bytes; n += 13) {
        assert_int_equal(crc32c(5, bytes, n), crc32c_table(5, bytes, n));
        assert_int_equal(crc32c(crc32c(5, bytes, n / 2), bytes + n / 2, n - n / 2),
                         crc32c(5, bytes, n));
    }
}

static void an_empty_log_has_no_end_to_speak_of(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
    assert_int_equal(seen.count, 0);
    assert_int_equal(where.number, 0);
    assert_int_equal(where.segment, 0);
}

static void what_is_appended_comes_back(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    write_log(1, 100, 33, 1 << 20);
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
    assert_int_equal(seen.count, 100);
    assert_int_equal(where.number, 100);
    assert_int_equal(where.time_ms, 1000);
    assert_false(where.torn);
    assert_int_equal(read_log(60, &seen, &where), TIDINGS_OK);
    assert_int_equal(seen.first, 61);
    assert_int_equal(seen.last, 100);
}

static void segments_end_when_they_are_long_and_follow_each_other(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    uint64_t *firsts;
    size_t n;
    write_log(1, 50, 1000, 10000);
    write_log(51, 60, 30000, 10000); /* each longer than a segment may be */
    assert_int_equal(redo_segments(dir, &firsts, &n), TIDINGS_OK);
    assert_int_equal(firsts[0], 1);
    assert_int_equal(n, 6 + 10);
    free(firsts);
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
    assert_int_equal(seen.count, 60);
    for (uint64_t after = 0; after <= 60; after++) {
        assert_int_equal(read_log(after, &seen, &where), TIDINGS_OK);
        assert_int_equal(seen.count, 60 - after);
        assert_int_equal(where.number, 60);
    }
}

/* Whatever the last write left of the last record, the ones before are there. */
static void a_torn_end_is_the_end(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    char path[PATH_BYTES];
    size_t record = record_bytes(50);
    write_log(1, 3, 50, 1 << 20);
    path_of(1, path);
    for (size_t cut = 1; cut < record; cut++) {
        size_t left = REDO_HEADER_BYTES + 3 * record - cut;
        assert_int_equal(truncate(path, (off_t)left), 0);
        assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
        bool padding_only = cut < record - RECORD_HEAD_BYTES - 50 + 1;
        assert_int_equal(seen.count, padding_only ? 3 : 2);
        bool zeros_only = record - cut < 4; /* of the length */
        assert_true(where.torn == (!padding_only && !zeros_only));
    }
    for (size_t at = 0; at < RECORD_HEAD_BYTES + 50; at++) {
        unlink(path);
        write_log(1, 3, 50, 1 << 20);
        change_byte(1, (off_t)(REDO_HEADER_BYTES + 2 * record + at));
        assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
        assert_int_equal(seen.count, 2);
        assert_true(where.torn);
    }
}

static void damage_before_the_end_is_told_from_a_torn_end(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    write_log(1, 10, 50, 1 << 20);
    change_byte(1, (off_t)(REDO_HEADER_BYTES + 4 * record_bytes(50) + 40));
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_CORRUPT);
    assert_int_equal(seen.count, 4); /* and what comes before was visited */
    assert_int_equal(where.number, 4);
}

/* Nobody but the very next one has seen the last record that was synced. */
static void the_next_record_vouches_for_the_one_before(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    write_log(1, 2, 50, 1 << 20);
    change_byte(1, (off_t)(REDO_HEADER_BYTES + 40));
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_CORRUPT);
    assert_int_equal(seen.count, 0);
}

/* Also while there is no pause in which it would be synced anyway. */
static void a_log_that_is_synced_each_second_is_synced_while_it_grows(void **state)
{
    (void)state;
    enum { PATIENCE = 500, STEP_US = 20000 };
    struct redo *redo = open_redo(0, 1 << 20, true);
    append(redo, 1, 50);
    assert_int_equal(redo_sync(redo, true), TIDINGS_OK);
    uint64_t number = 1;
    while (redo_synced(redo) == 1 && number < PATIENCE) {
        append(redo, ++number, 50);
        assert_int_equal(redo_sync(redo, false), TIDINGS_OK);
        usleep(STEP_US);
    }
    assert_int_equal(redo_synced(redo), number);
    assert_true(number > 2); /* but not each time */
    redo_close(redo);
}

/* Synced each second, a record may be whole though one before it is not. */
static void records_that_were_never_synced_may_be_lost_in_any_order(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    struct redo *redo = open_redo(0, 1 << 20, true);
    append(redo, 1, 50);
    assert_int_equal(redo_sync(redo, true), TIDINGS_OK);
    assert_int_equal(redo_synced(redo), 1);
    for (uint64_t i = 2; i <= 5; i++)
        append(redo, i, 50);
    assert_int_equal(redo_synced(redo), 1);
    change_byte(1, (off_t)(REDO_HEADER_BYTES + record_bytes(50) + 40));
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
    assert_int_equal(seen.count, 1);
    assert_true(where.torn);
    redo_close(redo);
}

static void damage_in_a_segment_that_is_followed_is_no_torn_end(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    write_log(1, 5, 50, 1 << 20);
    write_log(6, 9, 50, 1 << 20);
    change_byte(1, (off_t)(REDO_HEADER_BYTES + 4 * record_bytes(50) + 40));
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_CORRUPT);
    assert_int_equal(seen.count, 4);
}

static void a_missing_segment_is_noticed(void **state)
{
    (void)state;
    struct seen seen;
    char path[PATH_BYTES];
    write_log(1, 5, 50, 1 << 20);
    write_log(6, 9, 50, 1 << 20);
    write_log(10, 12, 50, 1 << 20);
    path_of(6, path);
    assert_int_equal(unlink(path), 0);
    struct redo_scan scan = scan_of(0, &seen);
    assert_int_equal(redo_scan(&scan), TIDINGS_CORRUPT);
    assert_string_equal(scan.message, "the log segment with the records 6 to 9 is missing");
    path_of(1, path);
    assert_int_equal(unlink(path), 0);
    scan = scan_of(0, &seen);
    assert_int_equal(redo_scan(&scan), TIDINGS_CORRUPT);
    scan = scan_of(11, &seen);
    assert_int_equal(redo_scan(&scan), TIDINGS_OK); /* which needs none of them */
}

static void segments_of_others_are_refused(void **state)
{
    (void)state;
    struct seen seen;
    static const uint8_t other[REDO_ID_BYTES] = "of another";
    write_log(1, 5, 50, 1 << 20);
    struct redo_scan scan = scan_of(0, &seen);
    scan.id = other;
    assert_int_equal(redo_scan(&scan), TIDINGS_CORRUPT);
    assert_non_null(strstr(scan.message, "another data directory"));
    change_byte(1, 11); /* the format */
    scan = scan_of(0, &seen);
    assert_int_equal(redo_scan(&scan), TIDINGS_VERSION);
}

static void a_segment_that_was_never_begun_is_no_damage(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    char path[PATH_BYTES];
    write_log(1, 5, 50, 1 << 20);
    path_of(6, path);
    for (off_t size = 0; size <= REDO_HEADER_BYTES; size += 16) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        assert_int_equal(ftruncate(fd, size), 0);
        close(fd);
        assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
        assert_int_equal(seen.count, 5);
        assert_int_equal(where.number, 5);
        assert_int_equal(where.segment, 1);
    }
    write_log(6, 7, 50, 1 << 20); /* of the same name */
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
    assert_int_equal(seen.count, 7);
}

static void rewriting_drops_the_torn_end(void **state)
{
    (void)state;
    struct seen seen;
    struct redo_end where;
    char path[PATH_BYTES];
    struct stat stat;
    write_log(1, 3, 50, 1 << 20);
    change_byte(1, (off_t)(REDO_HEADER_BYTES + 2 * record_bytes(50)));
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
    assert_int_equal(redo_rewrite(dir, &where), TIDINGS_OK);
    path_of(1, path);
    assert_int_equal(lstat(path, &stat), 0);
    assert_int_equal(stat.st_size, REDO_HEADER_BYTES + 2 * record_bytes(50));
    write_log(3, 4, 20, 1 << 20);
    assert_int_equal(read_log(0, &seen, &where), TIDINGS_OK);
    assert_int_equal(seen.count, 4);
}

static _Atomic bool enough;

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void *keep_appending(void *arg)
{
    static uint8_t bytes[16 << 10];
    struct redo *redo = arg;
    bool ok = true;
    memset(bytes, 'x', sizeof bytes);
    for (int64_t i = 1; ok && !atomic_load(&enough); i++)
        ok = !redo_append(redo, &(struct redo_record){.number = (uint64_t)i,
                                                      .time_ms = i,
                                                      .changes = {bytes, 5000 + (size_t)i % 7000}});
    return ok ? redo : NULL;
}

static bool count(void *ctx, const struct redo_record *record)
{
    struct seen *seen = ctx;
    if (!seen->count++)
        seen->first = record->number;
    return true;
}

/* A reader comes to the end of the log before the next record is written, and to what is behind it after that: it
 * saw a hole, and records that said that what belongs there was durable. */
static void a_log_can_be_read_while_it_is_written(void **state)
{
    (void)state;
    struct redo *redo = open_redo(0, 16 << 20, false);
    pthread_t writer;
    struct seen seen;
    uint64_t last = 0;
    atomic_store(&enough, false);
    assert_int_equal(pthread_create(&writer, NULL, keep_appending, redo), 0);
    for (int64_t until_ms = now_ms() + 700; now_ms() < until_ms;) {
        struct redo_scan scan = {.dir = dir, .id = id, .after = last, .visit = count, .ctx = &seen};
        uint64_t synced = redo_synced(redo);
        seen = (struct seen){.first = last + 1};
        enum tidings_err err = redo_scan(&scan);
        if (err)
            print_message("%s\n", scan.message);
        assert_int_equal(err, TIDINGS_OK);
        assert_int_equal(seen.first, last + 1);
        assert_int_equal(seen.count, scan.end.number - last);
        assert_true(scan.end.number >= synced);
        last = scan.end.number;
    }
    atomic_store(&enough, true);
    void *well;
    pthread_join(writer, &well);
    assert_non_null(well);
    assert_int_equal(redo_close(redo), TIDINGS_OK);
}

static void changes_survive_and_nonsense_does_not(void **state)
{
    (void)state;
    uint8_t bytes[1024];
    const uint8_t key[] = {1, 2, 3};
    struct change change = {TABLE_POST, true, {key, 3}, {(const uint8_t *)"value", 5}}, back;
    size_t n = change_encode(&change, bytes);
    memcpy(bytes + n, "value", 5);
    n += 5;
    struct change gone = {.table = TABLE_USER, .key = {key, 2}};
    size_t both = n + change_encode(&gone, bytes + n);
    struct decoder r = decoder_of(bytes, both);
    assert_true(change_decode(&r, &back));
    assert_int_equal(back.table, TABLE_POST);
    assert_true(back.is_put);
    assert_int_equal(back.key.n, 3);
    assert_memory_equal(back.key.p, key, 3);
    assert_memory_equal(back.value.p, "value", 5);
    assert_true(change_decode(&r, &back));
    assert_false(back.is_put);
    assert_int_equal(back.table, TABLE_USER);
    assert_false(change_decode(&r, &back));
    assert_false(r.bad);
    for (size_t cut = 1; cut < both; cut++) {
        if (cut == n)
            continue;
        r = decoder_of(bytes, cut);
        while (change_decode(&r, &back))
            ;
        assert_true(r.bad);
    }
    /* Only names have long keys. */
    uint8_t name[LONG_KEY_MAX] = {7};
    struct change named = {TABLE_NAME, true, {name, sizeof name}, {name, 0}};
    n = change_encode(&named, bytes);
    r = decoder_of(bytes, n);
    assert_true(change_decode(&r, &back));
    assert_int_equal(back.key.n, LONG_KEY_MAX);
    bytes[0] = TABLE_POST << 1 | 1;
    r = decoder_of(bytes, n);
    assert_false(change_decode(&r, &back));
    bytes[0] = 0xff; /* no such table */
    r = decoder_of(bytes, both);
    assert_false(change_decode(&r, &back));
    assert_true(r.bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_is_crc32c),
#define IN_DIR(name) cmocka_unit_test_setup_teardown(name, begin, end)
        IN_DIR(an_empty_log_has_no_end_to_speak_of),
        IN_DIR(what_is_appended_comes_back),
        IN_DIR(segments_end_when_they_are_long_and_follow_each_other),
        IN_DIR(a_torn_end_is_the_end),
        IN_DIR(damage_before_the_end_is_told_from_a_torn_end),
        IN_DIR(the_next_record_vouches_for_the_one_before),
        IN_DIR(a_log_that_is_synced_each_second_is_synced_while_it_grows),
        IN_DIR(records_that_were_never_synced_may_be_lost_in_any_order),
        IN_DIR(damage_in_a_segment_that_is_followed_is_no_torn_end),
        IN_DIR(a_missing_segment_is_noticed),
        IN_DIR(segments_of_others_are_refused),
        IN_DIR(a_segment_that_was_never_begun_is_no_damage),
        IN_DIR(rewriting_drops_the_torn_end),
        cmocka_unit_test_setup_teardown(a_log_can_be_read_while_it_is_written, begin_in_memory,
                                        end),
        cmocka_unit_test(changes_survive_and_nonsense_does_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
