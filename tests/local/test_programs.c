/* SPDX-License-Identifier: MIT */
/* The programs as a user runs them: what they print, and how they exit. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "contract/harness.h"
#include "local/damage.h"

static char out[65536], err[65536];

static void slurp(const char *path, char *to, size_t room)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    to[fread(to, 1, room - 1, file)] = '\0';
    fclose(file);
}

/* Runs the program named by the environment variable; its exit code, or -1 if it had none. */
static int run_program(const char *variable, const char *const *args)
{
    char out_path[512], err_path[512];
    const char *argv[16] = {getenv(variable)};
    int status;
    assert_non_null(argv[0]);
    for (size_t i = 0; args[i]; i++)
        argv[i + 1] = args[i];
    harness_path(out_path, "out");
    harness_path(err_path, "err");
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int to_out = open(out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        int to_err = open(err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (dup2(to_out, STDOUT_FILENO) < 0 || dup2(to_err, STDERR_FILENO) < 0)
            _exit(126);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    slurp(out_path, out, sizeof out);
    slurp(err_path, err, sizeof err);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#define TIDINGS(...) run_program("TIDINGS_PROGRAM", (const char *const[]){__VA_ARGS__, NULL})
#define EMBED(...)   run_program("EMBED_PROGRAM", (const char *const[]){__VA_ARGS__, NULL})

static void verify_of_a_sound_directory_exits_0(void **state)
{
    (void)state;
    follow(2, 1);
    publish(1, "t", "body");
    close_engine();
    assert_int_equal(TIDINGS("verify", "--data", harness_dir()), 0);
    assert_non_null(strstr(out, " 0 differences"));
    assert_string_equal(err, "");
}

static void verify_of_a_damaged_directory_exits_1_until_repaired(void **state)
{
    (void)state;
    follow(2, 1);
    struct user_record user = user_get(1);
    user.followers = 9;
    user_put(1, &user);
    assert_int_equal(TIDINGS("verify", "--data", harness_dir()), 1);
    assert_non_null(strstr(out, "followers is 9, counted 1"));
    assert_int_equal(TIDINGS("verify", "--data", harness_dir()), 1); /* looking mends nothing */
    assert_int_equal(TIDINGS("verify", "--data", harness_dir(), "--repair"), 0);
    assert_non_null(strstr(out, "1 rows mended"));
    assert_int_equal(TIDINGS("verify", "--data", harness_dir()), 0);
}

static void verify_exits_1_if_not_all_could_be_mended(void **state)
{
    (void)state;
    uint64_t post = publish(1, "t", "");
    row_cut(TABLE_POST, key_id(post), 3);
    assert_int_equal(TIDINGS("verify", "--data", harness_dir(), "--repair"), 1);
}

static void wrong_usage_exits_2_and_says_how(void **state)
{
    (void)state;
    close_engine();
    assert_int_equal(TIDINGS("verify"), 2);
    assert_non_null(strstr(err, "usage: tidings verify"));
    assert_string_equal(out, "");
    assert_int_equal(TIDINGS("verify", "--data"), 2);
    assert_int_equal(TIDINGS("verify", "--data", harness_dir(), "--mend"), 2);
    assert_int_equal(TIDINGS("verify", "--data", harness_dir(), "more"), 2);
    assert_int_equal(TIDINGS("no-such-command"), 2);
    assert_non_null(strstr(err, "usage: tidings COMMAND"));
    assert_int_equal(run_program("TIDINGS_PROGRAM", (const char *const[]){NULL}), 2);
}

static void what_cannot_be_looked_at_exits_3(void **state)
{
    (void)state;
    char missing[512];
    harness_path(missing, "missing");
    assert_int_equal(TIDINGS("verify", "--data", harness_dir()), 3); /* this process has it */
    assert_non_null(strstr(err, "another process"));
    assert_int_equal(TIDINGS("verify", "--data", missing), 3);
    assert_int_not_equal(access(missing, F_OK), 0); /* and it is not made */
    close_engine();
    assert_int_equal(TIDINGS("verify", "--data", "/dev/null"), 3);
    char path[512];
    harness_path(path, "data/state");
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("tidings 99\n", file);
    fclose(file);
    assert_int_equal(TIDINGS("verify", "--data", harness_dir()), 3);
    assert_non_null(strstr(err, "format"));
}

/* A typing error in the path must not leave a new, empty and perfectly sound data file there. */
static void verify_makes_no_data_where_there_is_none(void **state)
{
    (void)state;
    char empty[512], data[512];
    close_engine();
    harness_path(empty, "empty");
    harness_path(data, "empty/data.mdb");
    assert_int_equal(mkdir(empty, 0700), 0);
    assert_int_equal(TIDINGS("verify", "--data", empty), 3);
    assert_int_not_equal(access(data, F_OK), 0);
}

static void help_is_no_error(void **state)
{
    (void)state;
    assert_int_equal(TIDINGS("--help"), 0);
    assert_non_null(strstr(out, "verify"));
    assert_string_equal(err, "");
    assert_int_equal(TIDINGS("verify", "--help"), 0);
    assert_non_null(strstr(out, "--repair"));
    assert_non_null(strstr(out, "Exit: 0"));
    assert_string_equal(err, "");
}

static void the_example_says_what_its_text_promises(void **state)
{
    (void)state;
    assert_int_equal(EMBED(harness_dir()), 0);
    assert_string_equal(out, "Bob has 1 unread\n"
                             "Bob reads \"Hello\": First post!\n"
                             "Bob has 0 unread\n");
    assert_string_equal(err, "");
    assert_int_equal(EMBED("/dev/null"), 1);
    assert_non_null(strstr(err, "cannot open /dev/null"));
}

/* It crashed when a call came to need an answer of its own. */
static void the_bench_fills_and_measures(void **state)
{
    (void)state;
    char dir[512];
    harness_path(dir, "bench");
#define SMALL "--users=9", "--followed=3", "--posts=2", "--fans=5", "--comments=4", "--samples=2"
    assert_int_equal(TIDINGS("bench-engine", "--data", dir, SMALL), 0);
#undef SMALL
    assert_non_null(strstr(out, "mark-read, in large batches"));
    assert_non_null(strstr(out, "in all"));
}

int main(void)
{
#define OPENED(name) cmocka_unit_test_setup_teardown(name, harness_begin, harness_end)
#define CLOSED(name) cmocka_unit_test_setup_teardown(name, harness_begin_closed, harness_end)
    const struct CMUnitTest tests[] = {
        OPENED(verify_of_a_sound_directory_exits_0),
        OPENED(verify_of_a_damaged_directory_exits_1_until_repaired),
        OPENED(verify_exits_1_if_not_all_could_be_mended),
        OPENED(wrong_usage_exits_2_and_says_how),
        OPENED(what_cannot_be_looked_at_exits_3),
        OPENED(verify_makes_no_data_where_there_is_none),
        CLOSED(help_is_no_error),
        CLOSED(the_example_says_what_its_text_promises),
        CLOSED(the_bench_fills_and_measures),
    };
#undef OPENED
#undef CLOSED
    return RUN_TESTS(tests);
}
