/* SPDX-License-Identifier: MIT */
/*
 * Power loss: runs the engine under a shim that records everything it does to its files, makes states
 * that the disk may be in if the power fails at some moment, and recovers each of them: everything
 * acknowledged before the moment is there, nothing is half-done, and the engine goes on rightly.
 *
 *   powerloss [--seed N] [--states N] [--second] [--lie] [--keep]
 *
 * So many states are chosen by chance, and some of every trace are aimed (aims.h).
 * Every other trace begins with an empty directory, the others with one that was closed in order; half of
 * them have long bodies, so that the log is rolled and base images are made.
 *
 * With --second the durability is that of each second: what was acknowledged when a sync of the log began
 * that is over must be there, the rest may be up to the end of some batch, and none may wait too long for a sync.
 *
 * With --lie the disk says that it has synced and has not, from the middle of the trace on: then the run
 * must find something, or it fails. Threads make every run a little different; what failed is left where
 * it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "aims.h"
#include "powerloss.h"
#include "promise.h"

enum {
    STATES_A_TRACE = 50,
    STEPS = 1200,
    USERS = 8,
    FAILURES_MAX = 3,
    FAT = 30000,
    BEGINNING = 100,
    BASE_RECORDS = 3, /* in the trace of an empty directory: it is there */
};

struct arguments {
    uint64_t seed;
    size_t states;
    bool each_second;
    bool lie;
    bool keep;
};

struct trace {
    const uint8_t *bytes;
    size_t size;
    uint64_t n;            /* records */
    uint64_t first;        /* the first mark: what is before was there at the beginning */
    uint64_t *interesting; /* records where something begins, ends or is named */
    size_t n_interesting;
    size_t segments; /* of the log, begun */
    size_t images;   /* base images, finished */
    size_t removed;  /* segments and images that nobody needed any more */
    struct aims aims;
    bool *seen; /* by number: a page of a map, seen together with those before and after it */
};

/* Everything about one trace. */
struct session {
    const struct arguments *arguments;
    bool fresh; /* the directory is not there to begin with */
    struct script script;
    struct run run;
    struct trace trace;
    struct disk *disk;
    struct promise promise; /* at the point that the disk stands at */
    struct promise in_all;  /* at the end of the trace */
    size_t advanced;        /* where the model stands */
    size_t loose;           /* states in which something acknowledged may be lost */
    size_t failures;
    char dir[SCRIPT_PATH];
    char trace_path[SCRIPT_PATH];
};

/* ---- The trace ---------------------------------------------------------------------------------- */

/* The record at *at, which moves on. */
static const struct trace_record *next_record(const struct trace *trace, size_t *at,
                                              const char **path, const uint8_t **data)
{
    static struct trace_record record;
    if (*at + sizeof record > trace->size)
        return NULL;
    memcpy(&record, trace->bytes + *at, sizeof record);
    *path = (const char *)trace->bytes + *at + sizeof record;
    *data = trace->bytes + *at + sizeof record + record.path_bytes;
    *at += sizeof record + record.path_bytes + record.data_bytes;
    return *at <= trace->size ? &record : NULL;
}

static void count_files(struct trace *trace, const struct trace_record *record, const char *path)
{
    static const char log[] = "data/log/", base[] = "data/snapshots/";
    trace->segments += record->kind == TRACE_CREATE && !strncmp(path, log, sizeof log - 1);
    trace->removed +=
        record->kind == TRACE_UNLINK && memmem(path, record->path_bytes, ".", 1) &&
        (!strncmp(path, log, sizeof log - 1) || !strncmp(path, base, sizeof base - 1));
    trace->images += record->kind == TRACE_RENAME && !strncmp(path, base, sizeof base - 1);
}

static void index_trace(struct trace *trace, bool from_the_beginning)
{
    const struct trace_record *record;
    const char *path;
    const uint8_t *data;
    bool begun = from_the_beginning;
    trace->first = BASE_RECORDS;
    for (size_t at = 0; (record = next_record(trace, &at, &path, &data)); trace->n++) {
        if (trace->n % 4096 == 0)
            trace->seen = realloc(trace->seen, trace->n + 4096);
        trace->seen[trace->n] = record->kind == TRACE_WRITE && record->length;
        count_files(trace, record, path);
        if (!begun && record->kind == TRACE_MARK) {
            begun = true;
            trace->first = trace->n;
        }
        if (begun)
            aims_feed(&trace->aims, trace->n, record, path, data);
        if (record->kind == TRACE_WRITE || record->kind == TRACE_MARK || !begun)
            continue;
        trace->interesting =
            realloc(trace->interesting, (trace->n_interesting + 1) * sizeof *trace->interesting);
        trace->interesting[trace->n_interesting++] = trace->n;
    }
}

static bool load_trace(struct trace *trace, const char *path, bool from_the_beginning)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &st) || !st.st_size)
        return false;
    trace->size = (size_t)st.st_size;
    trace->bytes = mmap(NULL, trace->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (trace->bytes == MAP_FAILED)
        return false;
    index_trace(trace, from_the_beginning);
    return trace->n_interesting > 0;
}

/* ---- Moments ------------------------------------------------------------------------------------ */

static int by_moment(const void *a, const void *b)
{
    const struct point *x = a, *y = b;
    return x->at < y->at ? -1 : x->at > y->at;
}

/* Half of them anywhere, half next to where something begins or ends; in a fresh directory many at once. */
static struct point choose_point(const struct session *session, struct rng *rng)
{
    const struct trace *trace = &session->trace;
    struct point point = {.at = rng_between(rng, trace->first, trace->n)};
    if (rng_percent(rng, 50))
        point.at = trace->interesting[rng_below(rng, trace->n_interesting)] + rng_below(rng, 2);
    if (session->fresh && rng_percent(rng, 20))
        point.at = rng_below(rng, BEGINNING);
    if (point.at < trace->first) /* the directory that it all lies in is there from the beginning */
        point.at = trace->first;
    point.style = (enum disk_style)rng_below(rng, DISK_STYLES);
    point.seed = rng_next(rng);
    /* The pages of a map in memory are of one moment. */
    while (point.style == DISK_ALL && point.at < trace->n && trace->seen[point.at])
        point.at++;
    return point;
}

/* So many, and those that are aimed at something; from malloc. */
static struct point *choose_points(const struct session *session, size_t *n)
{
    struct rng rng;
    struct point *points;
    rng_seed(&rng, session->script.recording->seed + 1);
    size_t all = aims_points(&session->trace.aims, &rng, &points) + *n;
    points = reallocarray(points, all, sizeof *points);
    if (!points)
        abort();
    for (size_t i = all - *n; i < all; i++)
        points[i] = choose_point(session, &rng);
    *n = all;
    qsort(points, all, sizeof *points, by_moment);
    return points;
}

/* ---- States ------------------------------------------------------------------------------------- */

static void report_failure(struct session *session, const struct point *point, const char *dir)
{
    printf("\nseed %" PRIu64 ", record %" PRIu64 " of %" PRIu64 ", %s reached the disk:\n%s",
           session->script.recording->seed, point->at, session->trace.n,
           disk_style_name(point->style), session->run.outcome->report.text);
    printf("%zu changes acknowledged, %zu of them synced, %zu submitted; trace %s, the disk before "
           "and after the "
           "recovery: "
           "%s %s.recovered\n",
           session->promise.acknowledged, session->promise.synced, session->promise.submitted,
           session->trace_path, dir, dir);
}

static void try_state(struct session *session, const struct point *point, size_t number)
{
    char dir[SCRIPT_PATH], data[SCRIPT_PATH], recovered[SCRIPT_PATH];
    struct rng rng;
    bool machine = point->style != DISK_ALL;
    struct expectation expectation = {
        .least = promise_least(&session->promise, machine),
        .most = session->promise.submitted,
        .model = session->advanced,
        .ends = session->in_all.ends,
        .same_boot = !machine,
    };
    session->loose += expectation.least < session->promise.acknowledged;
    rng_seed(&rng, point->seed);
    script_path(dir, "%s/state-%zu", session->script.dir, number);
    script_path(recovered, "%s.recovered", dir);
    disk_write(session->disk, point->style, &rng, dir);
    script_copy(dir, recovered);
    script_path(data, "%s/data", recovered);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        check(&session->script, &session->run, data, &expectation);
    if (!script_wait(pid, &session->run.outcome->report)) {
        session->failures++;
        if (!session->arguments->lie) {
            report_failure(session, point, dir);
            return;
        }
    }
    script_remove(dir);
    script_remove(recovered);
}

static void try_states(struct session *session, const struct point *points, size_t n)
{
    const struct trace_record *record;
    const char *path;
    const uint8_t *data;
    size_t at = 0, number = 0, next = 0;
    while (next < n && session->failures < FAILURES_MAX) {
        if (points[next].at > number &&
            (record = next_record(&session->trace, &at, &path, &data))) {
            promise_feed(&session->promise, number, record, path);
            disk_feed(session->disk, number++, record, path, data);
            continue;
        }
        size_t least = promise_least(&session->promise, true);
        script_advance(&session->script, &session->run, session->advanced, least);
        session->advanced = least;
        try_state(session, &points[next], next);
        if (isatty(STDOUT_FILENO))
            printf("\rseed %" PRIu64 ": %zu states of %zu ", session->script.recording->seed,
                   ++next, n);
        else
            next++;
        fflush(stdout);
    }
}

/* ---- A session ---------------------------------------------------------------------------------- */

/* The first changes, made before the trace begins, in an engine that is closed in order. */
static bool prepare(struct session *session, size_t n)
{
    struct tidings_options options;
    struct tidings *engine;
    tidings_options_init(&options);
    options.dir = session->dir;
    options.settings = session->script.recording->settings;
    use_small_files(&options.settings);
    if (tidings_open(&options, &engine, NULL))
        return false;
    bool ok = script_play(&session->script, engine, n);
    tidings_close(engine);
    return ok;
}

static bool record_trace(struct session *session)
{
    size_t from = session->fresh ? 0 : session->script.n / 4;
    char root[SCRIPT_PATH];
    script_path(root, "%s/root", session->script.dir);
    script_path(session->dir, "%s/data", root);
    script_path(session->trace_path, "%s/trace", session->script.dir);
    script_make_dir(root);
    script_boot_id(&session->script);
    if (!session->fresh && !prepare(session, from))
        return false;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0)
        workload(&session->script, session->dir, session->trace_path, from,
                 session->arguments->each_second);
    promise_init(&session->promise, &session->script, session->arguments->each_second, from);
    promise_init(&session->in_all, &session->script, session->arguments->each_second, from);
    return script_wait(pid, &session->run.outcome->report) &&
           load_trace(&session->trace, session->trace_path, session->fresh);
}

/* The trace has seen everything, if the disk with all of it is as the directory is now. */
static bool trace_is_whole(struct session *session)
{
    char dir[SCRIPT_PATH], command[3 * SCRIPT_PATH];
    struct rng rng;
    rng_seed(&rng, 1);
    script_path(dir, "%s/whole", session->script.dir);
    disk_write(session->disk, DISK_ALL, &rng, dir);
    snprintf(command, sizeof command, "diff -r --exclude=lock.mdb %s/root %s", session->script.dir,
             dir);
    bool same = system(command) == 0;
    if (!same)
        printf("the trace does not tell all that happened to the files\n");
    script_remove(dir);
    return same;
}

static void feed_all(struct session *session)
{
    const struct trace_record *record;
    const char *path;
    const uint8_t *data;
    uint64_t number = 0;
    for (size_t at = 0; (record = next_record(&session->trace, &at, &path, &data));) {
        promise_feed(&session->in_all, number, record, path);
        disk_feed(session->disk, number++, record, path, data);
    }
    session->in_all.ends[session->in_all.acknowledged] = true;
}

static void tell(const struct session *session, size_t states, size_t failures)
{
    const struct trace *trace = &session->trace;
    const struct promise *promise = &session->in_all;
    printf("%sseed %" PRIu64 ": %zu changes, %" PRIu64 " records, %zu segments, %zu images, "
           "%zu removed, ",
           isatty(STDOUT_FILENO) ? "\r" : "", session->script.recording->seed, session->script.n,
           trace->n, trace->segments, trace->images, trace->removed);
    if (promise->each_second)
        printf("%zu syncs of the log, at most %" PRId64
               " ms late, %zu states with changes unsynced, ",
               promise->log_syncs, promise->longest_ms, session->loose);
    printf("%zu states, %zu failures\n", states, failures);
}

static size_t run_session(const struct arguments *arguments, uint64_t seed, size_t states,
                          const char *parent)
{
    struct session *session = calloc(1, sizeof *session);
    session->arguments = arguments;
    if (!script_make(&session->script, seed, USERS, STEPS, parent))
        return 1;
    session->fresh = seed % 2;
    if (seed % 4 == 0 || seed % 4 == 3)
        script_fatten(&session->script, FAT);
    run_init(&session->run, session->script.recording, session->dir);
    session->run.outcome->report.n = 0;
    if (!record_trace(session)) {
        printf("seed %" PRIu64 ": the trace could not be recorded: %s\n", seed,
               session->run.outcome->report.text);
        return 1;
    }
    session->disk = disk_new(UINT64_MAX);
    feed_all(session);
    bool sound = promise_kept(&session->in_all) && trace_is_whole(session);
    disk_free(session->disk);
    struct point *points = choose_points(session, &states);
    session->disk = disk_new(arguments->lie ? session->trace.n / 2 : UINT64_MAX);
    if (sound)
        try_states(session, points, states);
    disk_free(session->disk);
    free(points);
    size_t failures = session->failures + !sound;
    tell(session, states, failures);
    munmap((void *)(uintptr_t)session->trace.bytes, session->trace.size);
    free(session->trace.interesting);
    free(session->trace.seen);
    aims_release(&session->trace.aims);
    promise_release(&session->promise);
    promise_release(&session->in_all);
    run_close(&session->run);
    if (!arguments->keep && (!failures || arguments->lie))
        script_free(&session->script);
    free(session);
    return failures;
}

static bool parse(struct arguments *arguments, int argc, char **argv)
{
    static const struct option flags[] = {
        {"seed", required_argument, NULL, 's'}, {"states", required_argument, NULL, 'n'},
        {"second", no_argument, NULL, '1'},     {"lie", no_argument, NULL, 'l'},
        {"keep", no_argument, NULL, 'k'},       {0},
    };
    for (int flag; (flag = getopt_long(argc, argv, "", flags, NULL)) != -1;) {
        if (flag == 's')
            arguments->seed = strtoull(optarg, NULL, 10);
        else if (flag == 'n')
            arguments->states = strtoull(optarg, NULL, 10);
        else if (flag == '1')
            arguments->each_second = true;
        else if (flag == 'l')
            arguments->lie = true;
        else if (flag == 'k')
            arguments->keep = true;
        else
            return false;
    }
    return optind == argc;
}

int main(int argc, char **argv)
{
    struct arguments arguments = {.states = 100};
    char parent[SCRIPT_PATH];
    size_t failures = 0;
    /* The first trace has long bodies: see run_session. */
    arguments.seed = ((uint64_t)time(NULL) * 1000 + (uint64_t)getpid() % 1000) / 4 * 4;
    if (!parse(&arguments, argc, argv)) {
        fprintf(stderr, "usage: powerloss [--seed N] [--states N] [--second] [--lie] [--keep]\n");
        return 2;
    }
    script_temporary(parent, "powerloss");
    uint64_t seed = arguments.seed;
    for (size_t left = arguments.states; left && !(failures && !arguments.lie); seed++) {
        size_t states = left < STATES_A_TRACE ? left : STATES_A_TRACE;
        failures += run_session(&arguments, seed, states, parent);
        left -= states;
    }
    rmdir(parent);
    if (arguments.lie) {
        printf("a disk that lies was %s\n", failures ? "found out" : "NOT found out");
        return failures ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    printf("power loss, synced %s: %zu states, %zu failures\n",
           arguments.each_second ? "each second" : "before each answer", arguments.states,
           failures);
    return failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
