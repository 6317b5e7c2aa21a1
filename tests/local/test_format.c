/* SPDX-License-Identifier: MIT */
/* Chains in the log: what they find, and how a directory of version 4, which has none, goes on with them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/local/storage/redo_bytes.h"
#include "local/old_directory.h"
#include "local/store_support.h"

static void live(unsigned n)
{
    follow(BOB, ANN);
    publish_many(ANN, n);
}

/* ---- The chain of a log ------------------------------------------------------------------------ */

struct seen {
    struct chainer *chainer;
    struct chain chain;
    uint64_t first_chained, n;
};

static bool look(void *ctx, const struct redo_record *record)
{
    struct seen *seen = ctx;
    struct chain expected;
    seen->n++;
    if (!record->is_chained) {
        assert_int_equal(seen->first_chained, 0);
        return true;
    }
    if (!seen->first_chained)
        seen->first_chained = record->number;
    assert_int_equal(record->sure, record->number);
    assert_true(chain_next(seen->chainer, &seen->chain, record, &expected));
    assert_true(chain_same(&expected, &record->chain));
    seen->chain = record->chain;
    return true;
}

/* Goes through the log; the chain begins with the directory's id. Returns the first record with a chain. */
static uint64_t check_chain(const char *dir)
{
    char log_dir[600];
    struct state state;
    bool found;
    struct seen seen = {.chainer = chainer_new()};
    snprintf(log_dir, sizeof log_dir, "%s/log", dir);
    assert_int_equal(state_read(dir, &state, &found), TIDINGS_OK);
    memcpy(seen.chain.bytes, state.id, CHAIN_BYTES);
    struct redo_scan scan = {.dir = log_dir, .id = state.id, .visit = look, .ctx = &seen};
    assert_int_equal(redo_scan(&scan), TIDINGS_OK);
    chainer_free(seen.chainer);
    return seen.first_chained;
}

static void each_record_has_the_chain_of_all_before(void **state)
{
    (void)state;
    live(20);
    reopen_engine();
    live(3);
    close_engine();
    assert_int_equal(check_chain(harness_dir()), 1);
    open_engine();
    assert_verifies();
}

/* ---- A record that is whole and of another history ----------------------------------------------- */

/* Changes a byte of the second record, and makes its checksum right. */
static void forge_record(const char *dir)
{
    char path[700], name[SEGMENT_NAME_BYTES];
    uint8_t *bytes;
    size_t n;
    segment_name(1, name);
    snprintf(path, sizeof path, "%s/log/%s", dir, name);
    assert_int_equal(file_read(path, 1 << 24, &bytes, &n), TIDINGS_OK);
    uint32_t salt = get_u32(bytes + 12);
    size_t at = REDO_HEADER_BYTES + record_bytes(get_u32(bytes + REDO_HEADER_BYTES));
    uint32_t changes = get_u32(bytes + at);
    struct decoder r = decoder_of(bytes + at + 8, RECORD_HEAD_BYTES - 8);
    struct redo_record record = {.number = read_u64(&r)};
    record.synced = read_u64(&r);
    record.time_ms = (int64_t)read_u64(&r) + 1;
    record.sure = read_u64(&r);
    memcpy(record.chain.bytes, read_bytes(&r, CHAIN_BYTES), CHAIN_BYTES);
    record.changes = (struct bytes){bytes + at + RECORD_HEAD_BYTES, changes};
    redo_head_encode(&record, salt, bytes + at);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, n, 1, file), 1);
    fclose(file);
    free(bytes);
}

static void a_record_of_another_history_is_refused(void **state)
{
    const char *message = NULL;
    (void)state;
    live(20);
    close_engine();
    forge_record(harness_dir());
    options.remake = true;
    assert_int_equal(tidings_open(&options, &engine, &message), TIDINGS_CORRUPT);
    assert_non_null(strstr(message, "record 2 of the log does not follow"));
    options.remake = false;
}

/* ---- From before ---------------------------------------------------------------------------------- */

static void use_old(const char *dir, uint64_t posts)
{
    options.dir = dir;
    open_engine();
    assert_int_equal(old_directory_format(dir), STORE_FORMAT);
    assert_verifies();
    assert_int_equal(badge(BOB), posts);
    publish_many(ANN, 2);
    options.remake = true;
    reopen_engine();
    options.remake = false;
    assert_int_equal(badge(BOB), posts + 2);
    struct tidings_verify deep = {.deep = true, .report = stderr};
    assert_int_equal(tidings_verify(engine, &deep), TIDINGS_OK);
    assert_int_equal(deep.differences, 0);
    close_engine();
    assert_true(check_chain(dir) > 1);
}

static void a_directory_without_chains_goes_on_with_them(void **state)
{
    (void)state;
    char dir[512];
    live(20);
    for (int i = 0; i < 4; i++) {
        char name[16];
        snprintf(name, sizeof name, "old-%d", i);
        harness_path(dir, name);
        const char *new_dir = options.dir;
        struct old_directory old = {dir, 4, NULL, i & 1, i & 2};
        old_directory_make(&old);
        use_old(dir, 20);
        options.dir = new_dir;
    }
}

/* Restores to the moment, and goes on there. */
static void restore_to(const char *from, int64_t until_ms, const char *name, uint64_t posts)
{
    const char *message = NULL;
    char to[512];
    harness_path(to, name);
    struct tidings_restore restoring = {.from = from, .dir = to, .until_ms = until_ms};
    assert_int_equal(tidings_restore(&restoring, &message), TIDINGS_OK);
    options.dir = to;
    open_engine();
    assert_int_equal(badge(BOB), posts);
    assert_verifies();
    publish_many(ANN, 1);
    reopen_engine();
    assert_int_equal(badge(BOB), posts + 1);
    close_engine();
}

static void moments_before_and_behind_the_first_chain_can_be_restored(void **state)
{
    (void)state;
    char dir[512];
    live(20);
    harness_path(dir, "old");
    struct old_directory old = {dir, 4, NULL, false, true};
    old_directory_make(&old);
    const char *new_dir = options.dir;
    atomic_store(&clock_ms, START_MS + 60000);
    use_old(dir, 20);
    restore_to(dir, START_MS + 30000, "before", 20);
    restore_to(dir, 0, "behind", 22);
    options.dir = new_dir;
}

/* ---- Limits ----------------------------------------------------------------------------------------- */

static uint64_t title_max_in_force(uint64_t given, bool as_stored)
{
    struct tidings_settings settings;
    options.settings.title_max = given;
    options.as_stored = as_stored;
    reopen_engine();
    options.as_stored = false;
    assert_int_equal(tidings_settings_of(engine, &settings), TIDINGS_OK);
    return settings.title_max;
}

/* A tool that only looks goes by what the last writer went by. Nothing is written before there is something to write. */
static void limits_are_those_of_the_last_writer(void **state)
{
    (void)state;
    assert_int_equal(title_max_in_force(77, false), 77);
    live(1);
    assert_int_equal(title_max_in_force(55, true), 77);
    assert_int_equal(title_max_in_force(55, false), 55);
    assert_int_equal(title_max_in_force(66, true), 77);
    assert_int_equal(title_max_in_force(55, false), 55);
    publish_many(ANN, 1);
    assert_int_equal(title_max_in_force(66, true), 55);
    assert_verifies();
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
    const struct CMUnitTest tests[] = {
        TEST(each_record_has_the_chain_of_all_before),
        TEST(a_record_of_another_history_is_refused),
        TEST(a_directory_without_chains_goes_on_with_them),
        TEST(limits_are_those_of_the_last_writer),
        TEST(moments_before_and_behind_the_first_chain_can_be_restored),
    };
#undef TEST
    return RUN_TESTS(tests);
}
