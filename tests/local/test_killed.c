/* SPDX-License-Identifier: MIT */
/*
 * Processes that are killed where it matters most: while they recover, make base images, back up and restore.
 * This process never opens an engine, and so may fork; what it knows of those that it kills lies in shared memory.
 */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "contract/harness.h"

enum { ANN = 1, BOB = 2, LARGE = 60000, MS = 1000 };

static struct shared {
    _Atomic uint64_t begun, acknowledged; /* posts */
    _Atomic bool done;                    /* with what the process was made for */
    char failure[512];
} * shared;

static unsigned random_state;

static unsigned random_below(unsigned n)
{
    return n ? (unsigned)rand_r(&random_state) % n : 0;
}

static int begin(void **state)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    random_state = (unsigned)time(NULL) ^ (unsigned)getpid();
    print_message("seed %u\n", random_state);
    int rc = harness_begin_closed(state);
    options.settings.snapshot_log_mb = 1;
    options.settings.log_segment_mb = 1;
    return rc;
}

static int end(void **state)
{
    munmap(shared, sizeof *shared);
    return harness_end(state);
}

/* ---- In the process that is killed ------------------------------------------------------------ */

static void give_up(const char *what, const char *why)
{
    snprintf(shared->failure, sizeof shared->failure, "%s: %s", what, why ? why : "");
    _exit(1);
}

static void do_or_give_up(const struct tidings_op *op)
{
    enum tidings_err err = tidings_run(engine, op, &answer);
    if (err)
        give_up("an operation", tidings_err_code(err));
}

static void open_or_give_up(const char *dir)
{
    const char *message = NULL;
    options.dir = dir;
    if (tidings_open(&options, &engine, &message))
        give_up("tidings_open", message);
}

/* Bob follows Ann: everything acknowledged is in his inbox, and not more than was begun. */
static void check_count(uint64_t least, uint64_t most)
{
    char text[128];
    do_or_give_up(&(struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = BOB});
    uint64_t found = answer.u.badge.total;
    snprintf(text, sizeof text, "%" PRIu64 " of %" PRIu64 " to %" PRIu64, found, least, most);
    if (found < least || found > most)
        give_up("posts", text);
}

static void check_verifies(void)
{
    struct tidings_verify verify = {.report = stderr};
    if (tidings_verify(engine, &verify) || verify.differences)
        give_up("tidings_verify", "differences");
}

static void publish_one(void)
{
    static char body[LARGE];
    uint64_t number = atomic_fetch_add(&shared->begun, 1);
    memset(body, 'a' + (int)(number % 26), sizeof body);
    do_or_give_up(&(struct tidings_op){.kind = TIDINGS_OP_PUBLISH,
                                       .role = TIDINGS_ROLE_SERVICE,
                                       .user_id = ANN,
                                       .u.publish = {.kind = TIDINGS_NOTE,
                                                     .title = text_of("title"),
                                                     .body = {body, sizeof body}}});
    atomic_fetch_add(&shared->acknowledged, 1);
}

static void write_on(const char *dir)
{
    uint64_t least = shared->acknowledged, most = shared->begun;
    open_or_give_up(dir);
    check_count(least, most);
    atomic_store(&shared->begun, answer.u.badge.total);
    atomic_store(&shared->acknowledged, answer.u.badge.total);
    for (;;)
        publish_one();
}

static void look(const char *dir)
{
    open_or_give_up(dir);
    check_count(shared->acknowledged, shared->begun);
    check_verifies();
    tidings_close(engine);
    _exit(0);
}

/* So many posts, and base images as they come. */
static void fill(const char *dir)
{
    open_or_give_up(dir);
    do_or_give_up(&(struct tidings_op){.kind = TIDINGS_OP_FOLLOW,
                                       .user_id = BOB,
                                       .role = TIDINGS_ROLE_SERVICE,
                                       .u.user = {.user_id = ANN}});
    for (int i = 0; i < 60; i++)
        publish_one();
    tidings_close(engine);
    _exit(0);
}

static char target[512];

static void back_up(const char *dir)
{
    const char *message = NULL;
    struct tidings_backup backup = {.dest = target};
    if (tidings_backup_dir(dir, &backup, &message))
        give_up("tidings_backup_dir", message);
    atomic_store(&shared->done, true);
    _exit(0);
}

static void restore_all(const char *dir)
{
    const char *message = NULL;
    struct tidings_restore restore = {.from = dir, .dir = target};
    if (tidings_restore(&restore, &message))
        give_up("tidings_restore", message);
    atomic_store(&shared->done, true);
    _exit(0);
}

/* Of what a restore or a backup left half-done, nobody must make a data directory. */
static void be_refused(const char *dir)
{
    const char *message = NULL;
    options.dir = dir;
    if (!tidings_open(&options, &engine, &message))
        give_up("tidings_open", "it opened what is not complete");
    _exit(0);
}

/* ---- In the one that kills -------------------------------------------------------------------- */

static pid_t start(void (*body)(const char *dir), const char *dir)
{
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        body(dir);
        _exit(1);
    }
    return pid;
}

/* Ended by itself, and well, or by us. */
static void finish(pid_t pid, bool killed)
{
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    bool by_us = killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (!by_us && status)
        fail_msg("status %d: %s", status, shared->failure);
}

static void run_in_child(void (*body)(const char *dir), const char *dir)
{
    finish(start(body, dir), false);
}

static void kill_after(void (*body)(const char *dir), const char *dir, unsigned microseconds)
{
    pid_t pid = start(body, dir);
    usleep(microseconds);
    kill(pid, SIGKILL);
    finish(pid, true);
}

static unsigned microseconds_of(void (*body)(const char *dir), const char *dir)
{
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    run_in_child(body, dir);
    clock_gettime(CLOCK_MONOTONIC, &to);
    return (unsigned)((to.tv_sec - from.tv_sec) * 1000000 + (to.tv_nsec - from.tv_nsec) / 1000);
}

/* The directory says that another run of the machine wrote it last. */
static void lose_power(void)
{
    char path[512], text[512] = "";
    harness_path(path, "data/state");
    FILE *file = fopen(path, "r+");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    char *boot = strstr(text, "boot "), *clean = strstr(text, "clean ");
    assert_non_null(boot);
    assert_non_null(clean);
    boot[5] = boot[5] == 'x' ? 'y' : 'x';
    strcpy(clean, "clean no\n");
    rewind(file);
    assert_int_equal(ftruncate(fileno(file), 0), 0);
    fputs(text, file);
    fclose(file);
}

/* ---- Tests ------------------------------------------------------------------------------------ */

static void killed_while_it_recovers(void **state)
{
    (void)state;
    enum { ROUNDS = 30 };
    run_in_child(fill, harness_dir());
    lose_power();
    unsigned whole = microseconds_of(look, harness_dir());
    for (int i = 0; i < ROUNDS; i++) {
        if (random_below(4))
            lose_power();
        kill_after(write_on, harness_dir(), random_below(whole * 3 / 2));
    }
    run_in_child(look, harness_dir());
    lose_power();
    run_in_child(look, harness_dir());
}

/* The keeper looks once a second, and finds enough to do each time. */
static void killed_while_base_images_are_made(void **state)
{
    (void)state;
    enum { ROUNDS = 4 };
    run_in_child(fill, harness_dir());
    for (int i = 0; i < ROUNDS; i++) {
        kill_after(write_on, harness_dir(), 1000 * MS + random_below(150 * MS));
        if (i % 2)
            lose_power();
        run_in_child(look, harness_dir());
    }
    lose_power();
    run_in_child(look, harness_dir());
}

static bool is_empty(const char *path)
{
    DIR *stream = opendir(path);
    size_t n = 0;
    while (stream && readdir(stream))
        n++;
    if (stream)
        closedir(stream);
    return n <= 2; /* itself and its parent */
}

static void kill_copies(void (*body)(const char *dir), const char *name)
{
    enum { ROUNDS = 20 };
    char file[600], log[600], bases[600];
    harness_path(target, name);
    unsigned whole = microseconds_of(body, harness_dir());
    for (int i = 0; i < ROUNDS; i++) {
        char inside[64];
        snprintf(inside, sizeof inside, "%s-%d", name, i);
        harness_path(target, inside);
        atomic_store(&shared->done, false);
        kill_after(body, harness_dir(), random_below(whole * 5 / 4));
        snprintf(file, sizeof file, "%s/state", target);
        bool complete = access(file, F_OK) == 0;
        assert_true(complete || !shared->done);
        if (complete)
            run_in_child(look, target);
        snprintf(log, sizeof log, "%s/log", target);
        snprintf(bases, sizeof bases, "%s/snapshots", target);
        if (!complete && (!is_empty(log) || !is_empty(bases)))
            run_in_child(be_refused, target);
    }
}

static void killed_while_it_backs_up(void **state)
{
    (void)state;
    run_in_child(fill, harness_dir());
    kill_copies(back_up, "backup");
    run_in_child(look, harness_dir());
}

static void killed_while_it_restores(void **state)
{
    (void)state;
    run_in_child(fill, harness_dir());
    kill_copies(restore_all, "restored");
    run_in_child(look, harness_dir());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(killed_while_it_recovers),
        TEST(killed_while_base_images_are_made),
        TEST(killed_while_it_backs_up),
        TEST(killed_while_it_restores),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
