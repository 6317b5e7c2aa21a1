/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

static const char *const works[WORKS] = {
    [WORK_MARKS] = "marks",       [WORK_FOLLOWS] = "follows",     [WORK_LIKES] = "likes",
    [WORK_ONE_POST] = "one-post", [WORK_BADGE] = "badge",         [WORK_PAGE] = "page",
    [WORK_COUNTERS] = "counters", [WORK_FOLLOWING] = "following",
};

double bench_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The 14th and 15th field of its stat, in ticks; its name, the second, has no space in it. */
static double server_cpu(uint64_t pid)
{
    char path[64];
    unsigned long user = 0, kernel = 0;
    snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    FILE *stat = fopen(path, "r");
    if (stat && fscanf(stat, "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu %lu", &user,
                       &kernel) != 2)
        bench_fail(path, "it cannot be read");
    if (stat)
        fclose(stat);
    return (double)(user + kernel) / (double)sysconf(_SC_CLK_TCK);
}

double bench_cpu(const struct bench *bench)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (double)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) +
           (double)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1e6 +
           (bench->server ? server_cpu(bench->server) : 0);
}

_Noreturn void bench_fail(const char *what, const char *why)
{
    fprintf(stderr, "bench-database: %s: %s\n", what, why);
    exit(1);
}

static bool is_work(const char *name, enum work *work)
{
    for (unsigned i = 0; i < WORKS; i++)
        if (!strcmp(name, works[i])) {
            *work = i;
            return true;
        }
    return false;
}

/* Every option has a value; where it goes. */
static void read_options(struct bench *bench, uint64_t *next, char **arguments)
{
    uint64_t connections = bench->connections, ms = 3000;
    struct {
        const char *name;
        const char **text;
        uint64_t *number;
    } options[] = {
        {"--socket", &bench->socket, NULL},
        {"--database", &bench->database, NULL},
        {"--server", NULL, &bench->server},
        {"--connections", NULL, &connections},
        {"--ms", NULL, &ms},
        {"--from", NULL, next},
        {"--users", NULL, &bench->world.users},
        {"--authors", NULL, &bench->world.authors},
        {"--followed", NULL, &bench->world.followed},
        {"--posts", NULL, &bench->world.posts},
        {"--first-post", NULL, &bench->world.first_post},
    };
    for (; *arguments; arguments += 2) {
        size_t i = 0;
        while (i < sizeof options / sizeof *options && strcmp(options[i].name, *arguments))
            i++;
        if (i == sizeof options / sizeof *options || !arguments[1])
            bench_fail(*arguments, "no such option, or no value");
        if (options[i].text)
            *options[i].text = arguments[1];
        else
            *options[i].number = strtoull(arguments[1], NULL, 10);
    }
    bench->connections = (unsigned)connections;
    bench->seconds = (double)ms / 1e3;
}

/* Says on which step the next run has to begin, so that none is taken twice. */
int main(int argc, char **argv)
{
    struct bench bench = {.connections = 64,
                          .world = {.users = 1, .authors = 1, .followed = 1, .posts = 1}};
    uint64_t next = 0;
    if (argc < 2 || !is_work(argv[1], &bench.work))
        bench_fail("usage", "bench-database WORK [--option value]...");
    read_options(&bench, &next, argv + 2);
    if (!bench.world.users || !bench.world.authors || !bench.world.followed || !bench.connections)
        bench_fail("usage", "a number must not be 0");
    atomic_store(&bench.next, next);
    struct outcome outcome = bench_singly(&bench);
    printf("{\"steps\": %llu, \"seconds\": %.3f, \"per_second\": %.1f, \"cpu_us\": %.2f, "
           "\"next\": %llu}\n",
           (unsigned long long)outcome.steps, outcome.seconds,
           (double)outcome.steps / outcome.seconds, outcome.cpu_s * 1e6 / (double)outcome.steps,
           (unsigned long long)atomic_load(&bench.next));
    return 0;
}
