/* SPDX-License-Identifier: MIT */
/*
 * The model test: many users' random operations on an engine and on the reference model, every
 * answer and every error compared.
 *
 *   model_test [--seed N] [--ops N] [--users N] [--dir DIR] [--keep] [--shrink-seconds N]
 *              [--moments N] [--facts N] [--followers N] [--servers N]
 *
 * The seed decides everything, the engine's settings included. DIR is where data directories are
 * made (a new one under $TMPDIR, /dev/shm or /tmp if not given); --keep leaves the first run's
 * there. With --moments, directories restored to so many random moments of the run are compared as well. With --facts, the
 * world is exported and imported so many times. With --followers, a follower beside it answers all questions, and takes over;
 * with --servers, several servers share a log in MySQL.
 */
#include "facts.h"
#include "followers.h"
#include "moments.h"
#include "servers.h"
#include "support/engine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct arguments {
    uint64_t seed;
    size_t ops;
    size_t users;
    size_t moments;
    size_t facts;
    size_t followers;
    size_t servers;
    unsigned shrink_seconds;
    bool keep;
    char dir[4096];
    bool own_dir;
};

static int usage(void)
{
    fprintf(stderr, "usage: model_test [--seed N] [--ops N] [--users N] [--dir DIR] [--keep]\n"
                    "                  [--shrink-seconds N] [--moments N] [--facts N]\n"
                    "                  [--followers N] [--servers N]\n");
    return 2;
}

static bool parse_number(const char *text, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && *number >= least && *number <= most;
}

static bool parse_option(struct arguments *arguments, const char *name, const char *value)
{
    uint64_t number = 0;

    if (strcmp(name, "--dir") == 0) {
        snprintf(arguments->dir, sizeof arguments->dir, "%s", value);
    } else if (strcmp(name, "--seed") == 0) {
        return parse_number(value, 0, UINT64_MAX, &arguments->seed);
    } else if (strcmp(name, "--ops") == 0) {
        if (!parse_number(value, 1, 10000000, &number))
            return false;
        arguments->ops = (size_t)number;
    } else if (strcmp(name, "--users") == 0) {
        if (!parse_number(value, 2, MAX_USERS, &number))
            return false;
        arguments->users = (size_t)number;
    } else if (strcmp(name, "--moments") == 0) {
        if (!parse_number(value, 1, MOMENTS_MOST, &number))
            return false;
        arguments->moments = (size_t)number;
    } else if (strcmp(name, "--facts") == 0) {
        if (!parse_number(value, 1, 1000, &number))
            return false;
        arguments->facts = (size_t)number;
    } else if (strcmp(name, "--followers") == 0) {
        if (!parse_number(value, 1, 1000, &number))
            return false;
        arguments->followers = (size_t)number;
    } else if (strcmp(name, "--servers") == 0) {
        if (!parse_number(value, 1, 8, &number))
            return false;
        arguments->servers = (size_t)number;
    } else if (strcmp(name, "--shrink-seconds") == 0) {
        if (!parse_number(value, 0, 86400, &number))
            return false;
        arguments->shrink_seconds = (unsigned)number;
    } else {
        return false;
    }
    return true;
}

static bool parse(struct arguments *arguments, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--keep") == 0)
            arguments->keep = true;
        else if (i + 1 >= argc || !parse_option(arguments, argv[i], argv[i + 1]))
            return false;
        else
            i++;
    }
    return true;
}

static bool make_dir(struct arguments *arguments)
{
    const char *tmp = getenv("TMPDIR");

    if (arguments->dir[0] != '\0')
        return mkdir(arguments->dir, 0777) == 0 || errno == EEXIST;
    /* In memory, if there is a choice: a run waits for the disk at every write and proves nothing
     * by it. */
    if (tmp == NULL || tmp[0] == '\0')
        tmp = access("/dev/shm", W_OK | X_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(arguments->dir, sizeof arguments->dir, "%s/tidings-model-XXXXXX", tmp);
    arguments->own_dir = true;
    return mkdtemp(arguments->dir) != NULL;
}

/* Those that are not the default, since they often explain an answer. */
static void print_settings(const struct tidings_settings *settings)
{
    printf("settings:");
#define X(name, standard, least, most, text) \
    if (settings->name != (standard))        \
        printf(" %s=%" PRIu64, #name, settings->name);
    TIDINGS_SETTINGS(X)
#undef X
    printf("\n");
}

static void print_failure(const struct recording *recording)
{
    static struct report line;
    size_t at = recording->outcome.failed_step;

    print_settings(&recording->settings);
    printf("step %zu failed:\n", at);
    if (at < recording->n) {
        step_report(&line, at, &recording->steps[at]);
        printf("%s\n", line.text);
    }
    printf("%s", recording->outcome.report.text);
}

static void print_summary(const struct arguments *arguments, const struct outcome *outcome)
{
    printf("steps %" PRIu64 ", answers compared %" PRIu64 " (%" PRIu64 " errors), posts %" PRIu64
           ", comments %" PRIu64 ", reopened %" PRIu64 ", verified %" PRIu64 ", seed %" PRIu64 "\n",
           outcome->steps, outcome->answers, outcome->errors, outcome->posts, outcome->comments,
           outcome->reopens, outcome->verifies, arguments->seed);
}

/* How to do the same again. */
static void print_command(const char *program, const struct arguments *arguments)
{
    printf("%s --seed %" PRIu64 " --ops %zu --users %zu", program, arguments->seed, arguments->ops,
           arguments->users);
    if (arguments->moments > 0)
        printf(" --moments %zu", arguments->moments);
    if (arguments->facts > 0)
        printf(" --facts %zu", arguments->facts);
    if (arguments->followers > 0)
        printf(" --followers %zu", arguments->followers);
    if (arguments->servers > 0)
        printf(" --servers %zu", arguments->servers);
    printf("\n");
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.ops = 6000, .users = 30, .shrink_seconds = 60};
    struct replay replay = {0};
    bool failed;

    arguments.seed = (uint64_t)time(NULL) * 100000 + (uint64_t)getpid() % 100000;
    if (!parse(&arguments, argc, argv))
        return usage();
    engine_must_exist();
    if (!make_dir(&arguments) || !(replay.recording = recording_new(arguments.ops))) {
        perror(arguments.dir);
        return EXIT_FAILURE;
    }
    print_command(argv[0], &arguments);
    replay.recording->seed = arguments.seed;
    replay.dir = arguments.dir;
    replay.keep = arguments.keep;
    if (arguments.moments > 0)
        moments_hold(&replay, arguments.users, arguments.ops, arguments.moments);
    else if (arguments.facts > 0)
        facts_hold(&replay, arguments.users, arguments.ops, arguments.facts);
    else if (arguments.followers > 0)
        followers_hold(&replay, arguments.users, arguments.ops, arguments.followers);
    else if (arguments.servers > 0)
        servers_hold(&replay, arguments.users, arguments.ops, arguments.servers);
    else
        replay_new(&replay, arguments.users, arguments.ops);
    print_summary(&arguments, &replay.recording->outcome);
    failed = replay.recording->outcome.failed;
    if (failed) {
        print_failure(replay.recording);
        if (arguments.shrink_seconds > 0 && arguments.moments == 0 && arguments.facts == 0 &&
            arguments.followers == 0 && arguments.servers == 0)
            shrink(&replay, arguments.shrink_seconds);
        printf("to run it again: ");
        print_command(argv[0], &arguments);
    }
    if (arguments.own_dir && !arguments.keep)
        rmdir(arguments.dir);
    recording_free(replay.recording);
    printf("%d passed, %d failed\n", !failed, failed);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
