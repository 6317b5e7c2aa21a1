/* SPDX-License-Identifier: MIT */
/*
 * Marks of random items of the community of `tidings bench-engine`, for bench/ahead: no two of one user are near each
 * other in time, and nothing else is asked for, so that with little memory almost every row is on the disk alone.
 *
 *     bench-marks list DIR USERS FOLLOWED N SEED     N items, as lines "user post", on standard output
 *     bench-marks run DIR READ_AHEAD IN_FLIGHT       marks the items of standard input
 *     bench-marks follow DIR READ_AHEAD URL KEY_FILE SECONDS    follows a log for so long, or until it has all of it
 *
 * The last two print the seconds that it took, without opening the directory, their CPU time, and the positions of the log before
 * and after it.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "tidings.h"

enum { PAGE = 100, PEOPLE_MAX = 1 << 24 };

struct marks_item {
    uint64_t user, post;
};

static _Noreturn void marks_fail(const char *what, enum tidings_err err)
{
    fprintf(stderr, "bench-marks: %s: %s\n", what, tidings_err_text(err));
    exit(1);
}

static struct tidings *marks_open(struct tidings_options *options)
{
    struct tidings *tidings;
    const char *message = "";
    enum tidings_err err = tidings_open(options, &tidings, &message);
    if (err)
        marks_fail(message, err);
    return tidings;
}

static double marks_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double marks_cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* ---- Which items ---------------------------------------------------------------------------- */

static uint64_t marks_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* Whom a user follows is bench-engine's formula. */
static void marks_list(struct tidings *tidings, uint64_t users, uint64_t followed, uint64_t n,
                       uint64_t random)
{
    struct tidings_answer answer;
    tidings_answer_init(&answer);
    for (uint64_t i = 0; i < n; i++) {
        uint64_t user = 1 + marks_random(&random) % users;
        uint64_t author =
            1 + (user * 7919 + (1 + marks_random(&random) % followed) * 104729) % users;
        struct tidings_op op = {.kind = TIDINGS_OP_AUTHOR_PAGE,
                                .user_id = user,
                                .u.feed = {.author_id = author, .page.limit = PAGE}};
        enum tidings_err err = tidings_run(tidings, &op, &answer);
        if (err)
            marks_fail("an author's page", err);
        if (answer.u.feed.n && user != author)
            printf("%" PRIu64 " %" PRIu64 "\n", user,
                   answer.u.feed.rows[marks_random(&random) % answer.u.feed.n].post_id);
    }
    tidings_answer_release(&answer);
}

/* ---- Marking -------------------------------------------------------------------------------- */

struct marks_flight {
    struct tidings_call call;
    struct tidings_op op;
    struct tidings_answer answer;
    struct marks_item item;
    struct marks_pool *pool;
    struct marks_flight *next;
};

struct marks_pool {
    pthread_mutex_t mutex;
    pthread_cond_t landed;
    struct marks_flight *idle;
    size_t out;
};

static void marks_land(struct tidings_call *call)
{
    struct marks_flight *flight = call->ctx;
    struct marks_pool *pool = flight->pool;
    if (call->err)
        marks_fail("a mark", call->err);
    pthread_mutex_lock(&pool->mutex);
    flight->next = pool->idle;
    pool->idle = flight;
    pool->out--;
    pthread_cond_signal(&pool->landed);
    pthread_mutex_unlock(&pool->mutex);
}

static void marks_submit(struct tidings *tidings, struct marks_pool *pool, struct marks_item item)
{
    pthread_mutex_lock(&pool->mutex);
    while (!pool->idle)
        pthread_cond_wait(&pool->landed, &pool->mutex);
    struct marks_flight *flight = pool->idle;
    pool->idle = flight->next;
    pool->out++;
    pthread_mutex_unlock(&pool->mutex);
    flight->item = item;
    flight->op = (struct tidings_op){.kind = TIDINGS_OP_MARK_READ,
                                     .user_id = item.user,
                                     .u.mark = {.post_ids = &flight->item.post, .n_post_ids = 1}};
    tidings_submit(tidings, &flight->call);
}

static void marks_run(struct tidings *tidings, size_t in_flight)
{
    struct marks_pool pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, 0};
    struct marks_flight *flights = calloc(in_flight, sizeof *flights);
    struct marks_item item;
    if (!flights)
        marks_fail("calls", TIDINGS_NO_MEMORY);
    for (size_t i = 0; i < in_flight; i++) {
        struct marks_flight *flight = &flights[i];
        tidings_answer_init(&flight->answer);
        flight->pool = &pool;
        flight->call = (struct tidings_call){
            .op = &flight->op, .answer = &flight->answer, .done = marks_land, .ctx = flight};
        flight->next = pool.idle;
        pool.idle = flight;
    }
    while (scanf("%" SCNu64 " %" SCNu64, &item.user, &item.post) == 2)
        marks_submit(tidings, &pool, item);
    pthread_mutex_lock(&pool.mutex);
    while (pool.out)
        pthread_cond_wait(&pool.landed, &pool.mutex);
    pthread_mutex_unlock(&pool.mutex);
    for (size_t i = 0; i < in_flight; i++)
        tidings_answer_release(&flights[i].answer);
    free(flights);
}

/* ---- Following ------------------------------------------------------------------------------ */

static struct tidings_replica marks_status(struct tidings *tidings)
{
    struct tidings_replica status;
    enum tidings_err err = tidings_replica_status(tidings, &status);
    if (err)
        marks_fail("status", err);
    return status;
}

static void marks_follow(struct tidings *tidings, uint64_t seconds)
{
    double from = marks_now();
    struct tidings_replica status = marks_status(tidings);
    while (marks_now() - from < (double)seconds && (!status.end || status.position < status.end)) {
        nanosleep(&(struct timespec){0, 1000000}, NULL);
        status = marks_status(tidings);
    }
}

/* ---- What to do ------------------------------------------------------------------------------ */

static uint64_t marks_number(const char *text, uint64_t most)
{
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    if (!*text || *end || number > most) {
        fprintf(stderr, "bench-marks: not a number up to %" PRIu64 ": %s\n", most, text);
        exit(2);
    }
    return number;
}

int main(int argc, char **argv)
{
    struct tidings_options options;
    const char *what = argc > 2 ? argv[1] : "";
    bool lists = !strcmp(what, "list") && argc == 7, runs = !strcmp(what, "run") && argc == 5;
    bool follows = !strcmp(what, "follow") && argc == 7;
    if (!lists && !runs && !follows) {
        fprintf(stderr, "usage: bench-marks list|run|follow DIR ...: see marks.c\n");
        return 2;
    }
    tidings_options_init(&options);
    options.dir = argv[2];
    options.settings.snapshot_log_mb = 1048576;
    if (!lists)
        options.settings.read_ahead = marks_number(argv[3], 2);
    if (follows) {
        options.follow = argv[4];
        options.peer_key_file = argv[5];
    }
    struct tidings *tidings = marks_open(&options);
    double from = marks_now(), cpu = marks_cpu();
    uint64_t position = marks_status(tidings).position;
    if (lists)
        marks_list(tidings, marks_number(argv[3], PEOPLE_MAX), marks_number(argv[4], PEOPLE_MAX),
                   marks_number(argv[5], PEOPLE_MAX), marks_number(argv[6], PEOPLE_MAX));
    else if (runs)
        marks_run(tidings, marks_number(argv[4], 100000));
    else
        marks_follow(tidings, marks_number(argv[6], 3600));
    if (!lists)
        printf("%.3f %.3f %" PRIu64 " %" PRIu64 "\n", marks_now() - from, marks_cpu() - cpu,
               position, marks_status(tidings).position);
    tidings_close(tidings);
    return 0;
}
