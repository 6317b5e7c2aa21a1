/* SPDX-License-Identifier: MIT */
/* The storage on its own: a map that grows, room taken ahead, and images made of a log. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/local/rows/keys.h"
#include "engine/local/storage/image.h"
#include "unit/test.h"

static char dir[256];

static int begin(void **state)
{
    (void)state;
    const char *tmp = access("/dev/shm", W_OK | X_OK) ? "/tmp" : "/dev/shm";
    snprintf(dir, sizeof dir, "%s/tidings-kv-XXXXXX", tmp);
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *where)
{
    (void)stat;
    (void)type;
    (void)where;
    return remove(path);
}

static int end(void **state)
{
    (void)state;
    return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static struct kv *open_kv(const char *name, size_t map_bytes)
{
    char path[PATH_BYTES];
    const char *message;
    struct kv *kv;
    assert_true(path_join(path, dir, name));
    struct kv_options options = {.path = path, .map_bytes = map_bytes, .readers = 4};
    assert_int_equal(kv_open(&options, &kv, &message), TIDINGS_OK);
    return kv;
}

/* ---- The map ---------------------------------------------------------------------------------- */

struct asking {
    struct kv *kv;
    _Atomic bool enough;
};

static void *keep_asking(void *arg)
{
    struct asking *asking = arg;
    uint64_t sum = 0;
    while (!atomic_load(&asking->enough))
        sum += kv_used_bytes(asking->kv);
    return sum ? asking : NULL;
}

/* Statistics looked into the map, which is not there for a moment when it grows. */
static void its_size_may_be_asked_for_while_the_map_grows(void **state)
{
    (void)state;
    enum { ROUNDS = 30 };
    struct key key = key_meta("large");
    for (int i = 0; i < ROUNDS; i++) {
        char name[32];
        pthread_t thread;
        struct kv_txn txn;
        snprintf(name, sizeof name, "%d.mdb", i);
        struct asking asking = {.kv = open_kv(name, (size_t)1 << 36)};
        assert_int_equal(pthread_create(&thread, NULL, keep_asking, &asking), 0);
        /* A value without room is not looked at, but remembered: the next transaction has a larger map. */
        for (size_t n = (size_t)64 << 20; n < (size_t)1 << 35; n *= 2) {
            assert_int_equal(kv_begin(asking.kv, &txn), TIDINGS_OK);
            kv_put(&txn, TABLE_META, &key, dir, n);
            assert_int_equal(kv_can_grow(asking.kv), txn.err == TIDINGS_NO_SPACE);
            kv_abort(&txn);
            if (!txn.err)
                break;
        }
        atomic_store(&asking.enough, true);
        pthread_join(thread, NULL);
        kv_close(asking.kv);
    }
}

/* ---- Room ------------------------------------------------------------------------------------- */

static off_t taken; /* how far the file was given room */

/* Instead of the library's: what it was asked for is what can be written into the map on a full disk. */
int posix_fallocate(int fd, off_t from, off_t n)
{
    taken = from + n > taken ? from + n : taken;
    return fallocate(fd, 0, from, n) ? errno : 0;
}

static void put_many(struct kv_txn *txn, uint64_t rows, uint64_t every, uint64_t low)
{
    static const char value[100] = "one of many";
    for (uint64_t i = 0; i < rows; i += every) {
        struct key key = key_id(i << 8 | low);
        kv_put(txn, TABLE_BODY, &key, value, sizeof value);
    }
}

/* Rows that came in order lie on full pages. A batch with a new row for each of these copies all, and splits all. */
static void room_is_taken_for_pages_that_split(void **state)
{
    (void)state;
    enum { ROWS = 100000, ON_A_PAGE = 25 };
    struct kv_txn txn;
    struct kv *kv = open_kv("data", (size_t)1 << 30);
    assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
    put_many(&txn, ROWS, 1, 0);
    assert_int_equal(kv_commit(&txn), TIDINGS_OK);
    assert_true(kv_finish(kv));
    kv_close(kv);
    taken = 0;
    kv = open_kv("data", (size_t)1 << 30);
    assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
    put_many(&txn, ROWS, ON_A_PAGE, 1);
    assert_int_equal(kv_commit(&txn), TIDINGS_OK);
    assert_true(kv_used_bytes(kv) <= (uint64_t)taken);
    kv_close(kv);
}

/* ---- Replaying -------------------------------------------------------------------------------- */

static const uint8_t id[REDO_ID_BYTES] = "of this test";

static struct chainer *chainer;
static struct chain chain;

/* A record with so many rows of n bytes each. */
static void append(struct redo *redo, uint64_t number, size_t rows, size_t n)
{
    size_t used = 0;
    uint8_t *value = calloc(1, n), *bytes = malloc(rows * (n + CHANGE_HEAD_MAX));
    assert_non_null(value);
    assert_non_null(bytes);
    for (size_t i = 0; i < rows; i++) {
        struct key key = key_id(number << 20 | i);
        struct change change = {TABLE_BODY, true, key_bytes(&key), {value, n}};
        used += change_encode(&change, bytes + used);
        memcpy(bytes + used, value, n);
        used += n;
    }
    struct redo_record record = {
        .number = number, .time_ms = (int64_t)number, .changes = {bytes, used}};
    assert_true(chain_next(chainer, &chain, &record, &record.chain));
    assert_int_equal(redo_append(redo, &record), TIDINGS_OK);
    chain = record.chain;
    free(value);
    free(bytes);
}

/* What one transaction replays may need a larger map than there is: then there is a larger one, as in the writer. */
static void replaying_makes_the_map_as_large_as_it_must(void **state)
{
    (void)state;
    char path[PATH_BYTES];
    struct redo_options options = {dir, id, 1 << 20, true};
    struct redo *redo;
    chainer = chainer_new();
    assert_non_null(chainer);
    assert_int_equal(redo_open(&options, 0, &redo), TIDINGS_OK);
    append(redo, 1, 100, 1000);
    append(redo, 2, 8, 8 << 20);
    append(redo, 3, 3000, 10);
    assert_int_equal(redo_close(redo), TIDINGS_OK);
    chainer_free(chainer);
    assert_true(path_join(path, dir, "image"));
    struct image_job job = {.log_dir = dir,
                            .base_dir = dir,
                            .id = id,
                            .path = path,
                            .map_bytes = (size_t)1 << 30,
                            .number = UINT64_MAX};
    assert_int_equal(image_make(&job), TIDINGS_OK);
    assert_int_equal(job.made.number, 3);
    assert_int_equal(job.made.time_ms, 3);
    struct kv *kv = open_kv("image", (size_t)1 << 30);
    assert_int_equal(kv_applied(kv), 3);
    struct kv_txn txn;
    assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
    for (uint64_t number = 1; number <= 3; number++) {
        struct key key = key_id(number << 20 | 7);
        struct bytes value;
        assert_true(kv_get(&txn, TABLE_BODY, &key, &value));
    }
    kv_abort(&txn);
    kv_close(kv);
    job.map_bytes = (size_t)16 << 20; /* there is an end to it */
    assert_int_equal(image_make(&job), TIDINGS_NO_SPACE);
    assert_int_equal(access(path, F_OK), -1);
}

/* ---- Rows ------------------------------------------------------------------------------------- */

enum { NAMES = 3000, LONGEST = 400 };

/* What each row should have: its length, filled with one letter; -1 for no row. */
struct shadow {
    int length;
    uint8_t letter;
};

static void assert_row(const struct shadow *shadow, struct bytes value)
{
    assert_int_equal(value.n, shadow->length);
    for (size_t i = 0; i < value.n; i++)
        assert_int_equal(value.p[i], shadow->letter);
}

/* The first row from there on, by whichever cursor. */
static void assert_next(const struct shadow *shadow, uint64_t from, bool found, struct bytes key,
                        struct bytes value)
{
    while (from < NAMES && shadow[from].length < 0)
        from++;
    assert_int_equal(found, from < NAMES);
    if (!found)
        return;
    assert_int_equal(key.n, ID_BYTES);
    assert_int_equal(get_id(key.p), from);
    assert_row(&shadow[from], value);
}

static void one_step(struct kv_txn *txn, struct rng *rng, struct shadow *shadow, uint64_t name)
{
    struct key row = key_id(name);
    struct bytes key, value;
    uint8_t bytes[LONGEST];
    switch (rng_below(rng, 6)) {
    case 0:
    case 1:
        shadow[name].length = (int)rng_below(rng, LONGEST);
        shadow[name].letter = (uint8_t)rng_next(rng);
        memset(bytes, shadow[name].letter, sizeof bytes);
        kv_put(txn, TABLE_USER, &row, bytes, (size_t)shadow[name].length);
        break;
    case 2:
        kv_del(txn, TABLE_USER, &row);
        shadow[name].length = -1;
        break;
    case 3:
        assert_int_equal(kv_get(txn, TABLE_USER, &row, &value), shadow[name].length >= 0);
        if (shadow[name].length >= 0)
            assert_row(&shadow[name], value);
        break;
    case 4:
        assert_next(shadow, name, kv_find(txn, TABLE_USER, &row, &key, &value), key, value);
        break;
    default:
        assert_next(shadow, name, kv_seek(txn, TABLE_USER, &row, &key, &value), key, value);
    }
    assert_int_equal(txn->err, TIDINGS_OK);
}

/* Puts, deletions and searches share cursors that stay: each must know what the others did to their pages. */
static void rows_are_found_whatever_was_done_between(void **state)
{
    (void)state;
    static struct shadow shadow[NAMES];
    struct rng rng = test_rng();
    struct kv *kv = open_kv("data.mdb", (size_t)1 << 30);
    for (size_t i = 0; i < NAMES; i++)
        shadow[i].length = -1;
    for (int round = 0; round < 60; round++) {
        struct kv_txn txn;
        assert_int_equal(kv_begin(kv, &txn), TIDINGS_OK);
        uint64_t near = rng_below(&rng, NAMES);
        for (int i = 0; i < 2000; i++) {
            if (rng_percent(&rng, 5))
                near = rng_below(&rng, NAMES);
            one_step(&txn, &rng, shadow, (near + rng_below(&rng, 20)) % NAMES);
        }
        /* A part of it goes at once, so that pages become empty. */
        for (uint64_t i = 0, from = rng_below(&rng, NAMES); round % 4 == 0 && i < 500; i++) {
            struct key row = key_id((from + i) % NAMES);
            kv_del(&txn, TABLE_USER, &row);
            shadow[(from + i) % NAMES].length = -1;
            one_step(&txn, &rng, shadow, rng_below(&rng, NAMES));
        }
        assert_int_equal(kv_commit(&txn), TIDINGS_OK);
    }
    kv_close(kv);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(its_size_may_be_asked_for_while_the_map_grows),
        TEST(room_is_taken_for_pages_that_split),
        TEST(replaying_makes_the_map_as_large_as_it_must),
        TEST(rows_are_found_whatever_was_done_between),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
