/* SPDX-License-Identifier: MIT */
/*
 * The data file against base image and log: every bit that is flipped in a key or value is found, whether or not the row
 * still makes sense, and the file can be replaced. Bits are chosen among those of the rows that can be read, so none of
 * them lies in a free page or in the gap of a page, where nobody ever looks. Two values only say how far work at opening came, and
 * that work is done again where they say otherwise: a bit flipped there is not found, it is as if it had never been.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "local/community.h"
#include "model/random.h"

enum { FLIPS = 150, PAGE = 4096, ROWS_MAX = 1 << 16 };

/* Where the bytes of all rows lie in the file. */
struct places {
    size_t n;
    struct place {
        off_t at;
        size_t n;
    } all[ROWS_MAX];
};

static struct places places;      /* of what was acknowledged */
static struct places checkpoints; /* of the values that say how far work at opening came */
static char path[512];
static uint8_t *pristine; /* the file as it was closed */
static size_t pristine_n;
static unsigned told;

static void count_notice(void *ctx, const char *text)
{
    (void)ctx;
    (void)text;
    told++;
}

/* A page of the map begins with its number in the file. */
static void note_place(struct places *to, struct bytes bytes)
{
    uint64_t number;
    uintptr_t at = (uintptr_t)bytes.p;
    memcpy(&number, (const void *)(at / PAGE * PAGE), sizeof number);
    assert_true(to->n < ROWS_MAX);
    if (bytes.n)
        to->all[to->n++] = (struct place){(off_t)(number * PAGE + at % PAGE), bytes.n};
}

static bool is_checkpoint(enum table table, struct bytes key)
{
    return table == TABLE_META && key.n == 5 &&
           (!memcmp(key.p, "names", 5) || !memcmp(key.p, "rules", 5));
}

static void note_places(void)
{
    struct kv_options kv_options = {.path = path, .map_bytes = (size_t)1 << 30};
    const char *message;
    struct kv *kv;
    struct kv_txn txn;
    places.n = checkpoints.n = 0;
    assert_int_equal(kv_open(&kv_options, &kv, &message), TIDINGS_OK);
    assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
    for (enum table table = 0; table < TABLE_COUNT; table++) {
        struct key first = {.n = 1};
        struct bytes key, value;
        for (bool found = kv_seek(&txn, table, &first, &key, &value); found;
             found = kv_next(&txn, table, &key, &value)) {
            note_place(&places, key);
            note_place(is_checkpoint(table, key) ? &checkpoints : &places, value);
        }
    }
    kv_abort(&txn);
    kv_close(kv);
    assert_true(places.n > 1000);
    assert_int_equal(checkpoints.n, 2);
}

static void keep_pristine(void)
{
    struct stat stat;
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0 && !fstat(fd, &stat));
    pristine_n = (size_t)stat.st_size;
    pristine = malloc(pristine_n);
    assert_int_equal(read(fd, pristine, pristine_n), pristine_n);
    close(fd);
}

/* The file as it was but for these bits of one byte. */
static void write_spoilt(off_t at, uint8_t bits)
{
    int fd = open(path, O_WRONLY | O_TRUNC);
    assert_true(fd >= 0);
    pristine[at] ^= bits;
    assert_int_equal(write(fd, pristine, pristine_n), pristine_n);
    pristine[at] ^= bits;
    close(fd);
}

static int begin(void **state)
{
    int rc = community_begin(state);
    close_engine();
    snprintf(path, sizeof path, "%s/data.mdb", harness_dir());
    keep_pristine();
    note_places();
    write_spoilt(0, 0);
    options.fault = count_notice;
    told = 0;
    return rc;
}

static int end(void **state)
{
    free(pristine);
    return community_end(state);
}

/* ---- Tests -------------------------------------------------------------------------------------- */

static struct tidings_verify look(bool repair)
{
    struct tidings_verify verify = {.deep = true, .repair = repair};
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    return verify;
}

static void nothing_is_found_where_nothing_is_wrong(void **state)
{
    (void)state;
    struct told progress;
    struct tidings_verify verify = {.deep = true, .progress = progress_to(&progress)};
    open_engine();
    assert_int_equal(tidings_verify(engine, &verify), TIDINGS_OK);
    assert_int_equal(verify.spoiled, 0);
    assert_int_equal(verify.differences, 0);
    assert_true(progress.times > 0 && progress.done == progress.total);
    assert_int_equal(told, 0);
}

/* Found by the engine itself when it opens, or by looking. */
static void every_bit_of_every_row_counts(void **state)
{
    (void)state;
    struct rng rng;
    const char *given = getenv("SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : 1;
    print_message("seed %llu\n", (unsigned long long)seed);
    rng_seed(&rng, seed);
    for (int i = 0; i < FLIPS; i++) {
        const struct place *place = &places.all[rng_below(&rng, places.n)];
        off_t at = place->at + (off_t)rng_below(&rng, place->n);
        uint8_t bit = (uint8_t)(1u << rng_below(&rng, 8));
        told = 0;
        write_spoilt(at, bit);
        if (try_open())
            continue;
        struct tidings_verify verify = look(false);
        close_engine();
        if (!verify.spoiled && !told)
            fail_msg("bit %02x at %lld was not found", bit, (long long)at);
    }
}

static void work_at_opening_is_done_again_where_a_checkpoint_is_spoilt(void **state)
{
    (void)state;
    for (size_t i = 0; i < checkpoints.n; i++) {
        for (size_t bit = 0; bit < checkpoints.all[i].n * 8; bit++) {
            write_spoilt(checkpoints.all[i].at + (off_t)(bit / 8), (uint8_t)(1u << bit % 8));
            open_engine();
            struct tidings_verify verify = look(false);
            assert_int_equal(verify.spoiled + verify.differences, 0);
            char *after = all_answers();
            assert_string_equal(before, after);
            free(after);
            close_engine();
        }
    }
}

/* What is wrong in the file alone must not get into the log because somebody mends it. */
static void a_file_that_differs_is_replaced_and_not_mended(void **state)
{
    (void)state;
    struct user_record user;
    write_spoilt(0, 0);
    user = user_get(BOB);
    user.following += 3;
    user_put(BOB, &user);
    open_engine();
    struct tidings_verify verify = look(true);
    assert_int_equal(verify.spoiled, 2); /* in order, and looked up */
    assert_int_equal(verify.repaired, 0);
    close_engine();
    options.remake = true;
    open_engine();
    verify = look(true);
    assert_int_equal(verify.spoiled + verify.differences, 0);
    char *after = all_answers();
    assert_string_equal(before, after);
    free(after);
}

static void a_file_that_was_cut_off_is_made_anew(void **state)
{
    (void)state;
    off_t all = (off_t)pristine_n;
    const off_t lengths[] = {
        all - PAGE, all - 2 * PAGE, all - 5 * PAGE, all / 2 / PAGE * PAGE, all / 10, 3 * PAGE, 0};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        write_spoilt(0, 0);
        assert_int_equal(truncate(path, lengths[i]), 0);
        told = 0;
        open_engine();
        assert_int_equal(told,
                         lengths[i] != 0); /* without a file there is nothing to complain of */
        assert_int_equal(look(false).spoiled, 0);
        char *after = all_answers();
        assert_string_equal(before, after);
        free(after);
        close_engine();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(nothing_is_found_where_nothing_is_wrong),
        TEST(every_bit_of_every_row_counts),
        TEST(work_at_opening_is_done_again_where_a_checkpoint_is_spoilt),
        TEST(a_file_that_differs_is_replaced_and_not_mended),
        TEST(a_file_that_was_cut_off_is_made_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
