/* SPDX-License-Identifier: MIT */
/*
 * The concurrency test: many threads on one engine, and in every answer what must hold there.
 *
 *   concurrency_test [--seconds N] [--seed N] [--dir DIR]
 *
 * The seed decides what each thread does, but not how the threads interleave.
 */
#include "scenes.h"
#include "support/engine.h"
#include "world.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

unsigned test_seconds = 2;

/* ---- A busy world -------------------------------------------------------------------------- */

enum { THREADS = WRITERS + READERS + KEEPERS + 1 };

static void run_threads(struct world *world, struct seat *tail_seat)
{
    struct seat *seats = calloc(THREADS, sizeof *seats);
    pthread_t threads[THREADS];
    unsigned n = 0;

    world->end_ns = monotonic_ns() + (int64_t)test_seconds * 1000000000;
    for (unsigned i = 0; i < THREADS; i++) {
        unsigned kind = i < WRITERS ? 1 : i < WRITERS + READERS ? 2 : 3;
        unsigned first = kind == 1 ? 0 : kind == 2 ? WRITERS : WRITERS + READERS;

        seat_init(&seats[i], world, kind, i - first);
    }
    for (; n < WRITERS; n++)
        pthread_create(&threads[n], NULL, writer, &seats[n]);
    for (; n < WRITERS + READERS; n++)
        pthread_create(&threads[n], NULL, reader, &seats[n]);
    for (; n < WRITERS + READERS + KEEPERS; n++)
        pthread_create(&threads[n], NULL, keeper, &seats[n]);
    pthread_create(&threads[n++], NULL, tail, tail_seat);
    for (unsigned i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    for (unsigned i = 0; i < THREADS; i++)
        seat_release(&seats[i]);
    free(seats);
}

static struct tidings_settings busy_settings(uint64_t seed)
{
    struct tidings_options options;

    tidings_options_init(&options);
    options.settings.map_mb = 4096;
    options.settings.log_segment_mb = 1; /* so that base images are made meanwhile */
    options.settings.snapshot_log_mb = 1;
    options.settings.follow_burst = options.settings.publish_burst = 1000000;
    options.settings.follow_refill_ms = 1;
    options.settings.read_events = seed % 2;
    return options.settings;
}

static bool busy_world(const char *dir, uint64_t seed)
{
    struct tidings_settings settings = busy_settings(seed);
    struct world world;
    struct seat seat;
    struct seat tail_seat;
    bool ok;

    if (!world_open(&world, dir, seed, &settings))
        return false;
    seat_init(&seat, &world, 0, 0);
    seat_init(&tail_seat, &world, 4, 0);
    ok = world_begin(&seat);
    if (ok)
        run_threads(&world, &tail_seat);
    /* Verify also says, where a thread has failed, whether the data or only an answer is wrong. */
    ok = world_verify(&world) && ok && tail_missed_nothing(&tail_seat) && world_adds_up(&seat) &&
         world_reopen(&world) && world_adds_up(&seat) && world_verify(&world);
    printf("    %" PRIu64 " answers, %" PRIu64 " events\n", (uint64_t)atomic_load(&world.answers),
           tail_seat.events);
    seat_release(&seat);
    seat_release(&tail_seat);
    world_close(&world);
    return ok;
}

/* ---- The program --------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool (*run)(const char *dir, uint64_t seed);
} tests[] = {
    {"a_busy_world_keeps_its_invariants", busy_world},
    {"total_and_as_of_are_of_one_moment", total_and_as_of_are_of_one_moment},
    {"votes_fold_comments_and_bring_them_back", votes_fold_and_unfold},
    {"notifications_are_counted_right", notifications_are_counted_right},
    {"many_calls_in_flight_from_one_thread", submit_many},
    {"a_full_queue_is_busy_and_loses_nothing", submit_to_a_full_queue},
    {"more_readers_than_there_may_be", read_with_few_readers},
    {"a_directory_is_one_engines_alone", open_twice},
};

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static bool run_test(size_t i, const char *parent, uint64_t seed)
{
    char dir[5000];
    bool ok;

    snprintf(dir, sizeof dir, "%s/%zu", parent, i);
    printf("%s\n", tests[i].name);
    fflush(stdout);
    ok = tests[i].run(dir, seed);
    printf("  %s\n", ok ? "passed" : "FAILED");
    nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return ok;
}

static bool parse_number(const char *text, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0';
}

static bool parse(int argc, char **argv, uint64_t *seed, char *dir, size_t dir_size)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        uint64_t number = 0;

        if (strcmp(argv[i], "--dir") == 0)
            snprintf(dir, dir_size, "%s", argv[i + 1]);
        else if (!parse_number(argv[i + 1], &number))
            return false;
        else if (strcmp(argv[i], "--seed") == 0)
            *seed = number;
        else if (strcmp(argv[i], "--seconds") == 0 && number <= 86400)
            test_seconds = (unsigned)number;
        else
            return false;
    }
    return argc % 2 == 1;
}

/* The directory given, or a new one. */
static bool make_dir(char *dir, size_t dir_size)
{
    const char *tmp = getenv("TMPDIR");

    if (dir[0] != '\0')
        return mkdir(dir, 0777) == 0 || errno == EEXIST;
    snprintf(dir, dir_size, "%s/tidings-concurrency-XXXXXX",
             tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    return mkdtemp(dir) != NULL;
}

int main(int argc, char **argv)
{
    uint64_t seed = (uint64_t)time(NULL) * 100000 + (uint64_t)getpid() % 100000;
    size_t n = sizeof tests / sizeof tests[0];
    char dir[4096] = "";
    size_t asked = 0;
    size_t passed = 0;

    if (!parse(argc, argv, &seed, dir, sizeof dir)) {
        fprintf(stderr, "usage: concurrency_test [--seconds N] [--seed N] [--dir DIR]\n");
        return 2;
    }
    if (!make_dir(dir, sizeof dir)) {
        perror(dir);
        return EXIT_FAILURE;
    }
    printf("%s --seed %" PRIu64 " --seconds %u\n", argv[0], seed, test_seconds);
    for (size_t i = 0; i < n; i++) {
        asked++;
        passed += run_test(i, dir, seed);
    }
    rmdir(dir);
    printf("%zu passed, %zu failed\n", passed, asked - passed);
    return passed == asked ? EXIT_SUCCESS : EXIT_FAILURE;
}
