/* SPDX-License-Identifier: MIT */
/*
 * What the machine and the storage library can do at best, to hold the measurements against.
 *
 *   floors append DIR BYTES SECONDS               appends of BYTES, each made durable: how many a second
 *   floors lmdb DIR USERS FOLLOWED BATCH SECONDS  marks as Tidings stores them, committed by LMDB itself
 *   floors memory MEGABYTES SECONDS               dependent reads of random cache lines
 *
 * Prints one number: a second for the first two, nanoseconds a read for the last.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE = 64, SEGMENT = 64 << 20, ID = 7, FILL_BATCH = 100000 };

static uint64_t random_state = 1;

static uint64_t next_random(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(3);
}

/* ---- The disk ------------------------------------------------------------------------------- */

static double append(const char *dir, size_t bytes, double time)
{
    char path[4096], *block = calloc(1, bytes);
    snprintf(path, sizeof path, "%s/append", dir);
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    /* Preallocated, as the redo log is: otherwise every sync has to write the file's size, too. */
    check(block && fd >= 0 && !posix_fallocate(fd, 0, SEGMENT), path);
    for (size_t at = 0; at + bytes <= SEGMENT; at += bytes)
        check(pwrite(fd, block, bytes, (off_t)at) == (ssize_t)bytes, path);
    check(!fsync(fd), path);
    uint64_t n = 0;
    size_t at = 0;
    double from = seconds(), now = from;
    for (; now - from < time; now = seconds(), n++) {
        at = at + bytes <= SEGMENT ? at : 0;
        memset(block, (int)n, bytes);
        check(pwrite(fd, block, bytes, (off_t)at) == (ssize_t)bytes && !fdatasync(fd), path);
        at += bytes;
    }
    close(fd);
    unlink(path);
    free(block);
    return (double)n / (now - from);
}

/* ---- LMDB ----------------------------------------------------------------------------------- */

struct row {
    uint8_t key[ID + 1 + ID + ID];
    size_t n;
};

static void add_id(struct row *row, uint64_t id)
{
    for (int i = ID - 1; i >= 0; i--)
        row->key[row->n++] = (uint8_t)(id >> (8 * i));
}

static struct row row_of(uint64_t user, char kind, uint64_t a, uint64_t b)
{
    struct row row = {.n = 0};
    add_id(&row, user);
    row.key[row.n++] = (uint8_t)kind;
    add_id(&row, a);
    if (b)
        add_id(&row, b);
    return row;
}

static void put(MDB_txn *txn, MDB_dbi dbi, struct row row, size_t size)
{
    static uint8_t value[256];
    value[0]++;
    MDB_val key = {row.n, row.key}, data = {size, value};
    check(!mdb_put(txn, dbi, &key, &data, 0), "mdb_put");
}

static MDB_env *open_lmdb(const char *dir, MDB_dbi *dbi)
{
    MDB_env *env;
    MDB_txn *txn;
    check(!mdb_env_create(&env) && !mdb_env_set_mapsize(env, (size_t)32 << 30) &&
              !mdb_env_open(env, dir, 0, 0600) && !mdb_txn_begin(env, NULL, 0, &txn) &&
              !mdb_dbi_open(txn, NULL, 0, dbi) && !mdb_txn_commit(txn),
          "lmdb");
    return env;
}

static void fill_lmdb(MDB_env *env, MDB_dbi dbi, uint64_t users, uint64_t followed)
{
    MDB_txn *txn = NULL;
    uint64_t n = 0;
    for (uint64_t user = 1; user <= users; user++)
        for (uint64_t i = 0; i < followed; i++) {
            if (n++ % FILL_BATCH == 0) {
                check(!txn || !mdb_txn_commit(txn), "fill");
                check(!mdb_txn_begin(env, NULL, 0, &txn), "fill");
            }
            put(txn, dbi, row_of(user, 'p', i, 0), 12);
        }
    check(!txn || !mdb_txn_commit(txn), "fill");
}

/* A mark: the pair, the chunk of the read map, the history, of which the newest row gets longer until it is full. */
static void mark(MDB_txn *txn, MDB_dbi dbi, uint64_t users, uint64_t followed, uint32_t *marks)
{
    enum { ENTRY = 7, ENTRIES = 18 };
    uint64_t user = 1 + next_random() % users, author = next_random() % followed;
    uint32_t n = marks[user - 1]++;
    put(txn, dbi, row_of(user, 'p', author, 0), 18);
    put(txn, dbi, row_of(user, 'r', author, 0), 30);
    put(txn, dbi, row_of(user, 'h', ~(uint64_t)(n / ENTRIES), 1), 2 + ENTRY * (n % ENTRIES));
}

static double lmdb_marks(const char *dir, uint64_t users, uint64_t followed, uint64_t batch,
                         double time)
{
    MDB_dbi dbi;
    MDB_env *env = open_lmdb(dir, &dbi);
    uint32_t *marks = calloc(users, sizeof *marks);
    check(marks, "marks");
    fill_lmdb(env, dbi, users, followed);
    uint64_t n = 0;
    double from = seconds(), now = from;
    for (; now - from < time; now = seconds()) {
        MDB_txn *txn;
        check(!mdb_txn_begin(env, NULL, 0, &txn), "mdb_txn_begin");
        for (uint64_t i = 0; i < batch; i++, n++)
            mark(txn, dbi, users, followed, marks);
        check(!mdb_txn_commit(txn), "mdb_txn_commit");
    }
    mdb_env_close(env);
    free(marks);
    return (double)n / (now - from);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static double memory(size_t megabytes, double time)
{
    size_t n = (megabytes << 20) / LINE;
    uint64_t(*lines)[LINE / 8] = calloc(n, LINE);
    check(lines && n, "memory");
    /* One cycle through all of them (Sattolo), so that each read waits for the one before. */
    for (size_t i = 0; i < n; i++)
        lines[i][0] = i;
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = next_random() % i;
        uint64_t held = lines[i][0];
        lines[i][0] = lines[j][0];
        lines[j][0] = held;
    }
    uint64_t reads = 0, at = 0;
    double from = seconds(), now = from;
    for (; now - from < time; now = seconds(), reads += 100000)
        for (int i = 0; i < 100000; i++)
            at = lines[at][0];
    double ns = (now - from) * 1e9 / (double)reads;
    free(lines);
    return at == UINT64_MAX ? 0 : ns;
}

int main(int argc, char **argv)
{
    uint64_t numbers[8] = {0};
    for (int i = 2; i < argc && i < 8; i++)
        numbers[i] = strtoull(argv[i], NULL, 10);
    double time = argc > 1 ? strtod(argv[argc - 1], NULL) : 0;
    if (argc == 5 && !strcmp(argv[1], "append") && numbers[3] && numbers[3] <= SEGMENT)
        printf("%.1f\n", append(argv[2], numbers[3], time));
    else if (argc == 7 && !strcmp(argv[1], "lmdb") && numbers[3] && numbers[4])
        printf("%.1f\n", lmdb_marks(argv[2], numbers[3], numbers[4], numbers[5], time));
    else if (argc == 4 && !strcmp(argv[1], "memory") && numbers[2])
        printf("%.1f\n", memory(numbers[2], time));
    else
        return 2;
    return 0;
}
