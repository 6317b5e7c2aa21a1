/* SPDX-License-Identifier: MIT */
/*
 * Measures the engine without a network: fills a directory with users who each follow some authors,
 * then times operations one by one. Prints numbers; judges nothing.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/bench.h"
#include "cli/cli.h"
#include "tidings.h"

/* ---- Tools ---------------------------------------------------------------------------------- */

uint64_t bench_random(struct bench *bench)
{
    uint64_t z = bench->random += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t bench_big(const struct bench *bench)
{
    uint64_t most = bench->users > bench->authors ? bench->users : bench->authors;
    return most + bench->fans + 1;
}

uint64_t bench_user(struct bench *bench)
{
    return 1 + bench_random(bench) % bench->users;
}

static uint64_t nanoseconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

_Noreturn void bench_fail(const char *what, enum tidings_err err)
{
    fprintf(stderr, "tidings: bench: %s: %s\n", what, tidings_err_text(err));
    exit(EXIT_BROKEN);
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void print_times(const char *what, uint64_t *times, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += times[i];
    qsort(times, n, sizeof *times, ascending);
    printf("%-34s %8.2f us mean %8.2f median %8.2f p99\n", what, (double)sum / (double)n / 1e3,
           (double)times[n / 2] / 1e3, (double)times[n * 99 / 100] / 1e3);
    fflush(stdout);
}

/* ---- Many changes in flight ----------------------------------------------------------------- */

struct flight {
    struct tidings_call call;
    struct tidings_op op;
    struct tidings_answer answer;
    struct pool *pool;
    struct flight *next;
    uint64_t id;
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t landed;
    struct flight *flights, *idle;
    size_t n, out;
};

static void land(struct tidings_call *call)
{
    struct flight *flight = call->ctx;
    struct pool *pool = flight->pool;
    if (call->err)
        bench_fail("a change", call->err);
    pthread_mutex_lock(&pool->mutex);
    flight->next = pool->idle;
    pool->idle = flight;
    pool->out--;
    pthread_cond_signal(&pool->landed);
    pthread_mutex_unlock(&pool->mutex);
}

static struct flight *take_flight(struct pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (!pool->idle)
        pthread_cond_wait(&pool->landed, &pool->mutex);
    struct flight *flight = pool->idle;
    pool->idle = flight->next;
    pool->out++;
    pthread_mutex_unlock(&pool->mutex);
    return flight;
}

struct pool *pool_new(const struct bench *bench)
{
    struct pool *pool = calloc(1, sizeof *pool);
    struct flight *flights = calloc(bench->in_flight, sizeof *flights);
    if (!pool || !flights)
        bench_fail("pool", TIDINGS_NO_MEMORY);
    pthread_mutex_init(&pool->mutex, NULL);
    pthread_cond_init(&pool->landed, NULL);
    pool->flights = flights;
    pool->n = bench->in_flight;
    for (size_t i = 0; i < pool->n; i++) {
        struct flight *flight = &flights[i];
        tidings_answer_init(&flight->answer);
        flight->pool = pool;
        flight->call = (struct tidings_call){
            .op = &flight->op, .answer = &flight->answer, .done = land, .ctx = flight};
        flight->next = pool->idle;
        pool->idle = flight;
    }
    return pool;
}

void pool_drain(struct pool *pool)
{
    pthread_mutex_lock(&pool->mutex);
    while (pool->out)
        pthread_cond_wait(&pool->landed, &pool->mutex);
    pthread_mutex_unlock(&pool->mutex);
}

void pool_free(struct pool *pool)
{
    pool_drain(pool);
    for (size_t i = 0; i < pool->n; i++)
        tidings_answer_release(&pool->flights[i].answer);
    free(pool->flights);
    free(pool);
}

struct usage bench_usage(void)
{
    struct rusage r;
    getrusage(RUSAGE_SELF, &r);
    return (struct usage){
        nanoseconds(CLOCK_MONOTONIC),
        (uint64_t)r.ru_utime.tv_sec * 1000000000 + (uint64_t)r.ru_utime.tv_usec * 1000,
        (uint64_t)r.ru_stime.tv_sec * 1000000000 + (uint64_t)r.ru_stime.tv_usec * 1000,
    };
}

void bench_print_usage(const char *what, struct usage from, uint64_t n)
{
    struct usage to = bench_usage();
    double count = (double)(n ? n : 1) * 1e3;
    printf("%-34s %8.2f us wall %8.2f user   %8.2f sys   (%" PRIu64 " times)\n", what,
           (double)(to.wall - from.wall) / count, (double)(to.user - from.user) / count,
           (double)(to.sys - from.sys) / count, n);
    fflush(stdout);
}

/* ---- Filling -------------------------------------------------------------------------------- */

void bench_submit(struct bench *bench, struct pool *pool, struct tidings_op op)
{
    struct flight *flight = take_flight(pool);
    flight->op = op;
    tidings_submit(bench->tidings, &flight->call);
}

static void progress(const char *what, uint64_t done, uint64_t all)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s %3.0f%% ", what, 100.0 * (double)done / (double)all);
}

/* Distinct authors: a step that shares no factor with their number visits each once. */
static uint64_t author_of(const struct bench *bench, uint64_t user, uint64_t i)
{
    return 1 + (user * 7919 + (i + 1) * 104729) % bench->authors;
}

static void fill_follows(struct bench *bench)
{
    struct pool *pool = pool_new(bench);
    struct usage from = bench_usage();
    uint64_t n = 0;
    for (uint64_t user = 1; user <= bench->users; user++) {
        progress("follow", user, bench->users);
        for (uint64_t i = 0; i < bench->followed; i++) {
            uint64_t author = author_of(bench, user, i);
            if (author == user)
                continue;
            bench_submit(bench, pool,
                         (struct tidings_op){.kind = TIDINGS_OP_FOLLOW,
                                             .role = TIDINGS_ROLE_SERVICE,
                                             .user_id = user,
                                             .u.relation.user_id = author});
            n++;
        }
    }
    pool_free(pool);
    bench_print_usage("follow, in large batches", from, n);
}

static void fill_fans(struct bench *bench)
{
    struct pool *pool = pool_new(bench);
    struct usage from = bench_usage();
    uint64_t big = bench_big(bench);
    for (uint64_t i = 0; i < bench->fans; i++) {
        progress("fans", i, bench->fans);
        bench_submit(bench, pool,
                     (struct tidings_op){.kind = TIDINGS_OP_FOLLOW,
                                         .role = TIDINGS_ROLE_SERVICE,
                                         .user_id = big - bench->fans + i,
                                         .u.relation.user_id = big});
    }
    pool_free(pool);
    bench_print_usage("follow the big author", from, bench->fans);
}

static void fill_names(struct bench *bench)
{
    struct pool *pool = pool_new(bench);
    for (uint64_t user = 1; user <= bench->authors; user++)
        bench_submit(bench, pool,
                     (struct tidings_op){.kind = TIDINGS_OP_PROFILE_SET,
                                         .user_id = user,
                                         .u.profile.name = {"An ordinary name", 16}});
    pool_free(pool);
}

struct tidings_op bench_publish(uint64_t author)
{
    static const char body[] =
        "A body of ordinary length, as people write it: a hundred characters or so, "
        "and then some more of them to make it look real.";
    return (struct tidings_op){
        .kind = TIDINGS_OP_PUBLISH,
        .role = TIDINGS_ROLE_SERVICE,
        .user_id = author,
        .u.publish = {TIDINGS_NOTE, {"An ordinary title", 17}, {body, sizeof body - 1}},
    };
}

static void fill_posts(struct bench *bench)
{
    struct pool *pool = pool_new(bench);
    struct usage from = bench_usage();
    uint64_t n = bench->authors * bench->posts;
    for (uint64_t i = 0; i < n; i++) {
        progress("publish", i, n);
        bench_submit(bench, pool, bench_publish(1 + (i * 104729) % bench->authors));
    }
    pool_free(pool);
    bench_print_usage("publish, in large batches", from, n);
}

/* The file itself is longer, with holes, while it is open. */
static uint64_t file_bytes(const struct bench *bench)
{
    struct tidings_stats stats;
    tidings_stats(bench->tidings, &stats);
    return stats.data_bytes;
}

static void fill(struct bench *bench)
{
    fill_follows(bench);
    printf("%-34s %8.1f bytes on disk a pair\n", "size",
           (double)file_bytes(bench) / (double)(bench->users * bench->followed));
    fill_names(bench);
    fill_fans(bench);
    fill_posts(bench);
}

/* ---- Single operations ---------------------------------------------------------------------- */

bool bench_wants(const struct bench *bench, const char *what)
{
    return !bench->only || strstr(what, bench->only);
}

void bench_time(struct bench *bench, const char *what, make_op *make)
{
    if (!bench_wants(bench, what))
        return;
    struct tidings_answer answer;
    uint64_t *times = malloc(bench->samples * sizeof *times);
    if (!times)
        bench_fail(what, TIDINGS_NO_MEMORY);
    tidings_answer_init(&answer);
    for (uint64_t i = 0; i < bench->samples; i++) {
        struct tidings_op op = make(bench, &answer);
        uint64_t from = nanoseconds(CLOCK_MONOTONIC);
        enum tidings_err err = tidings_run(bench->tidings, &op, &answer);
        times[i] = nanoseconds(CLOCK_MONOTONIC) - from;
        if (err)
            bench_fail(what, err);
    }
    print_times(what, times, bench->samples);
    tidings_answer_release(&answer);
    free(times);
}

static struct tidings_op make_badge(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return (struct tidings_op){.kind = TIDINGS_OP_BADGE, .user_id = bench_user(bench)};
}

static struct tidings_op make_unread(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return (struct tidings_op){.kind = TIDINGS_OP_UNREAD, .user_id = bench_user(bench)};
}

static struct tidings_op page_op(struct bench *bench, enum tidings_filter filter, uint64_t after)
{
    return (struct tidings_op){.kind = TIDINGS_OP_INBOX,
                               .user_id = bench_user(bench),
                               .u.feed = {.filter = filter, .page = {PAGE, {after, 0}}}};
}

static struct tidings_op make_first(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return page_op(bench, TIDINGS_ALL, 0);
}

static struct tidings_op make_first_unread(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return page_op(bench, TIDINGS_UNREAD, 0);
}

static struct tidings_op make_first_read(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return page_op(bench, TIDINGS_READ, 0);
}

/* Somewhere in the middle of all posts ever published. */
static uint64_t old_id(struct bench *bench)
{
    static uint64_t oldest, newest;
    struct tidings_answer answer;
    if (!newest) {
        tidings_answer_init(&answer);
        struct tidings_op op = {.kind = TIDINGS_OP_AUTHOR_PAGE,
                                .user_id = 1,
                                .u.feed = {.author_id = 1, .page.limit = 100}};
        tidings_run(bench->tidings, &op, &answer);
        if (answer.u.feed.n) {
            newest = answer.u.feed.rows[0].post_id;
            oldest = answer.u.feed.rows[answer.u.feed.n - 1].post_id;
        }
        tidings_answer_release(&answer);
    }
    return oldest + bench_random(bench) % (newest - oldest + 1);
}

static struct tidings_op make_older(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return page_op(bench, TIDINGS_ALL, old_id(bench));
}

static struct tidings_op make_older_unread(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return page_op(bench, TIDINGS_UNREAD, old_id(bench));
}

static struct tidings_op make_one_author(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    struct tidings_op op = page_op(bench, TIDINGS_ALL, 0);
    op.u.feed.author_id = author_of(bench, op.user_id, bench_random(bench) % bench->followed);
    return op;
}

static struct tidings_op make_publish_big(struct bench *bench, struct tidings_answer *answer)
{
    (void)answer;
    return bench_publish(bench_big(bench));
}

/* Marks of random items, many in flight, so that the sync is shared and the CPU's part shows. */
static void time_marks(struct bench *bench)
{
    struct tidings_answer answer;
    struct pool *pool = pool_new(bench);
    uint64_t n = bench->samples, *ids = malloc(n * sizeof *ids), *users = malloc(n * sizeof *users);
    if (!ids || !users)
        bench_fail("mark", TIDINGS_NO_MEMORY);
    tidings_answer_init(&answer);
    for (uint64_t i = 0; i < n; i++) {
        struct tidings_op op = page_op(bench, TIDINGS_UNREAD, old_id(bench));
        if (tidings_run(bench->tidings, &op, &answer) || !answer.u.feed.n)
            op = page_op(bench, TIDINGS_ALL, 0), tidings_run(bench->tidings, &op, &answer);
        users[i] = op.user_id;
        ids[i] = answer.u.feed.n ? answer.u.feed.rows[0].post_id : 0;
    }
    struct usage from = bench_usage();
    for (uint64_t i = 0; i < n; i++)
        if (ids[i])
            bench_submit(bench, pool,
                         (struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                                             .user_id = users[i],
                                             .u.mark = {.post_ids = &ids[i], .n_post_ids = 1}});
    pool_drain(pool);
    bench_print_usage("mark-read, in large batches", from, n);
    pool_free(pool);
    tidings_answer_release(&answer);
    free(ids);
    free(users);
}

static void time_publishing(struct bench *bench)
{
    struct pool *pool = pool_new(bench);
    struct usage from = bench_usage();
    for (uint64_t i = 0; i < bench->samples; i++)
        bench_submit(bench, pool, make_publish_big(bench, NULL));
    pool_drain(pool);
    bench_print_usage("publish to the big author, batches", from, bench->samples);
    pool_free(pool);
}

/* Every user once, so that no later measurement pays for mapping the file. */
static void warm_up(struct bench *bench)
{
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    for (uint64_t user = 1; user <= bench->users; user++) {
        struct tidings_op op = {
            .kind = TIDINGS_OP_INBOX, .user_id = user, .u.feed.page.limit = PAGE};
        if (tidings_run(bench->tidings, &op, &answer))
            bench_fail("warm-up", answer.err);
    }
    tidings_answer_release(&answer);
}

static void measure(struct bench *bench)
{
    warm_up(bench);
    bench_time(bench, "badge", make_badge);
    bench_time(bench, "unread by author", make_unread);
    bench_time(bench, "inbox, first page of 10", make_first);
    bench_time(bench, "inbox, older page of 10", make_older);
    bench_time(bench, "inbox, first unread page of 10", make_first_unread);
    bench_time(bench, "inbox, older unread page of 10", make_older_unread);
    bench_time(bench, "inbox, one author's page of 10", make_one_author);
    if (bench_wants(bench, "mark-read"))
        time_marks(bench);
    bench_time(bench, "badge, after marking", make_badge);
    bench_time(bench, "inbox, first page, after marking", make_first);
    bench_time(bench, "inbox, first read page", make_first_read);
    if (bench_wants(bench, "publish"))
        time_publishing(bench);
    bench_interactions(bench);
    bench->samples = bench->samples > 500 ? 500 : bench->samples;
    bench_time(bench, "publish to the big author, synced", make_publish_big);
}

/* ---- The command ---------------------------------------------------------------------------- */

static bool is_filled(struct bench *bench)
{
    struct tidings_answer answer;
    struct tidings_op op = {.kind = TIDINGS_OP_COUNTERS, .user_id = 1, .u.user.user_id = 1};
    tidings_answer_init(&answer);
    enum tidings_err err = tidings_run(bench->tidings, &op, &answer);
    bool filled = !err && answer.u.counters.posts >= bench->posts;
    tidings_answer_release(&answer);
    return filled;
}

static int fill_and_measure(struct bench *bench)
{
    struct tidings_options options;
    const char *message;
    tidings_options_init(&options);
    options.dir = bench->dir;
    options.settings.map_mb = 32768; /* small enough for valgrind */
    options.settings.queue_max = options.settings.batch_max = bench->in_flight;
    options.settings.snapshot_log_mb = 1048576; /* a base image would count as their CPU */
    uint64_t from = nanoseconds(CLOCK_MONOTONIC);
    if (tidings_open(&options, &bench->tidings, &message)) {
        fprintf(stderr, "tidings: %s: %s\n", bench->dir, message);
        return EXIT_BROKEN;
    }
    printf("%-34s %8.1f ms\n", "open", (double)(nanoseconds(CLOCK_MONOTONIC) - from) / 1e6);
    if (!is_filled(bench))
        fill(bench);
    if (!bench->fill_only)
        measure(bench);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("%-34s %8.1f MB on disk, %.1f MB resident at most (mapped pages too)\n", "in all",
           (double)file_bytes(bench) / 1e6, (double)usage.ru_maxrss / 1e3);
    tidings_close(bench->tidings);
    return EXIT_FINE;
}

enum { IN_FLIGHT_MAX = 100000 };

#define NUMBER(name, standard, least, most, help)                                              \
    {                                                                                          \
#name, OPTION_NUMBER, "N", offsetof(struct bench, name), false, standard, least, most, \
            NULL, NULL, NULL, help                                                             \
    }
static const struct cli_option options[] = {
    {"data", OPTION_TEXT, "DIR", offsetof(struct bench, dir), .required = true,
     .help = "where to put the data"},
    NUMBER(users, 100000, 1, UINT32_MAX, "users"),
    NUMBER(authors, 0, 0, UINT32_MAX, "users who publish and are followed, from 1 on; 0: all"),
    NUMBER(followed, 200, 1, UINT32_MAX, "authors each of them follows"),
    NUMBER(posts, 10, 1, UINT32_MAX, "posts each author publishes"),
    NUMBER(fans, 1000000, 0, UINT32_MAX, "followers of the one big author"),
    NUMBER(comments, 100000, 1, UINT32_MAX, "comments on one post"),
    NUMBER(samples, 20000, 1, UINT32_MAX, "operations timed of each kind"),
    NUMBER(in_flight, 20000, 1, IN_FLIGHT_MAX, "changes at the same time, where it says batches"),
    {"only", OPTION_TEXT, "TEXT", offsetof(struct bench, only),
     .help = "only measurements whose name contains TEXT"},
    {"fill_only", OPTION_FLAG, NULL, offsetof(struct bench, fill_only),
     .help = "fill DIR, measure nothing"},
};
#undef NUMBER

static int run(int argc, char **argv)
{
    struct bench bench = {0};
    int code = options_start(&command_bench_engine, &bench, argc, argv);
    if (code != OPTIONS_READ)
        return code;
    bench.authors = bench.authors ? bench.authors : bench.users;
    if (bench.authors < bench.followed)
        return options_wrong(&command_bench_engine, "there are fewer authors than are followed");
    return fill_and_measure(&bench);
}

const struct cli_command command_bench_engine = {
    .name = "bench-engine",
    .summary = "measure the engine on this machine",
    .usage = "--data DIR [OPTIONS]",
    .about = "Fills DIR, which must be new or from an earlier run with the same numbers, and times "
             "single "
             "operations on one thread.",
    .examples = "tidings bench-engine --data /tmp/bench",
    .exits = "0 done; 2 usage; 3 failed.",
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .run = run,
};
