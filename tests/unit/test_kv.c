/* SPDX-License-Identifier: MIT */
/* The storage on its own: a map that grows, room taken ahead, and images made of a log. */
#include <ftw.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/local/image.h"
#include "engine/local/keys.h"
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

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(its_size_may_be_asked_for_while_the_map_grows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
