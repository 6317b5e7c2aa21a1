/* SPDX-License-Identifier: MIT */
/* Through the library: as many calls in flight as there may be, the next one when one is done. */
#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "tidings.h"

struct flight {
    struct tidings_call call;
    struct tidings_op op;
    struct tidings_answer answer;
    struct flights *all;
    struct flight *next;
    uint64_t post;
};

struct flights {
    pthread_mutex_t mutex;
    pthread_cond_t landed;
    struct flight *idle;
    unsigned out;
};

static void land(struct tidings_call *call)
{
    struct flight *flight = call->ctx;
    struct flights *all = flight->all;
    pthread_mutex_lock(&all->mutex);
    flight->next = all->idle;
    all->idle = flight;
    all->out--;
    pthread_cond_signal(&all->landed);
    pthread_mutex_unlock(&all->mutex);
}

/* All that have landed; waits for one. */
static struct flight *take_landed(struct flights *all)
{
    pthread_mutex_lock(&all->mutex);
    while (!all->idle)
        pthread_cond_wait(&all->landed, &all->mutex);
    struct flight *landed = all->idle;
    all->idle = NULL;
    pthread_mutex_unlock(&all->mutex);
    return landed;
}

static struct tidings_op op_of(enum work work, const struct step *step, const uint64_t *post)
{
    static const char title[] = "An ordinary title", body[] = "A body of ordinary length, or less.";
    struct tidings_op op = {.role = TIDINGS_ROLE_SERVICE, .user_id = step->user};
    switch (work) {
    case WORK_MARKS:
        op.kind = TIDINGS_OP_MARK_READ;
        op.u.mark.post_ids = post;
        op.u.mark.n_post_ids = 1;
        break;
    case WORK_FOLLOWS:
        op.kind = TIDINGS_OP_FOLLOW;
        op.u.relation.user_id = step->author;
        break;
    case WORK_LIKES:
    case WORK_ONE_POST:
        op.kind = TIDINGS_OP_REACT;
        op.u.react.reaction = TIDINGS_LIKE;
        op.u.react.target = TIDINGS_TARGET_POST;
        op.u.react.id = step->post;
        break;
    case WORK_PUBLISH:
        op.kind = TIDINGS_OP_PUBLISH;
        op.u.publish.kind = TIDINGS_NOTE;
        op.u.publish.title = (struct tidings_text){title, sizeof title - 1};
        op.u.publish.body = (struct tidings_text){body, sizeof body - 1};
        break;
    default:
        op.kind = TIDINGS_OP_BADGE;
    }
    return op;
}

static void submit(struct bench *bench, struct tidings *tidings, struct flight *flight)
{
    struct step step;
    if (!world_step(&bench->world, bench->work, atomic_fetch_add(&bench->next, 1), &step))
        bench_fail("the world", "it is used up: a larger one is needed");
    flight->post = step.post;
    flight->op = op_of(bench->work, &step, &flight->post);
    pthread_mutex_lock(&flight->all->mutex);
    flight->all->out++;
    pthread_mutex_unlock(&flight->all->mutex);
    tidings_submit(tidings, &flight->call);
}

static void finish(struct tidings *tidings, struct flight *flight)
{
    enum tidings_err err = tidings_finish(tidings, &flight->call);
    if (err)
        bench_fail("a call", tidings_err_text(err));
}

static void drain(struct flights *all, struct tidings *tidings)
{
    pthread_mutex_lock(&all->mutex);
    while (all->out)
        pthread_cond_wait(&all->landed, &all->mutex);
    struct flight *landed = all->idle;
    all->idle = NULL;
    pthread_mutex_unlock(&all->mutex);
    for (; landed; landed = landed->next)
        finish(tidings, landed);
}

static struct flight *make_flights(struct flights *all, unsigned n)
{
    struct flight *flights = calloc(n, sizeof *flights);
    if (!flights)
        bench_fail("calls", "no memory");
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->landed, NULL);
    for (unsigned i = 0; i < n; i++) {
        struct flight *flight = &flights[i];
        tidings_answer_init(&flight->answer);
        flight->all = all;
        flight->call = (struct tidings_call){
            .op = &flight->op, .answer = &flight->answer, .done = land, .ctx = flight};
    }
    return flights;
}

static struct tidings *open_engine(const struct bench *bench)
{
    struct tidings_options options;
    struct tidings *tidings;
    const char *message = "";
    tidings_options_init(&options);
    options.engine = "cluster";
    options.mysql = bench->mysql;
    options.redis = getenv("TIDINGS_TEST_REDIS");
    options.settings.follow_burst = options.settings.publish_burst = 1000000;
    options.settings.follow_refill_ms = options.settings.publish_refill_ms = 1;
    options.settings.queue_max = 1000000;
    options.settings.deadline_ms = 60000; /* the machine may be busy */
    enum tidings_err err = tidings_open(&options, &tidings, &message);
    if (err)
        bench_fail(message, tidings_err_text(err));
    return tidings;
}

static void fly(struct bench *bench, struct tidings *tidings, struct flight *flights,
                struct outcome *outcome)
{
    struct flights *all = flights[0].all;
    double from = bench_now(), cpu = bench_cpu(bench);
    for (unsigned i = 0; i < bench->in_flight; i++)
        submit(bench, tidings, &flights[i]);
    while (bench_now() - from < bench->seconds) {
        for (struct flight *flight = take_landed(all), *next; flight; flight = next) {
            next = flight->next;
            finish(tidings, flight);
            outcome->steps++;
            submit(bench, tidings, flight);
        }
    }
    drain(all, tidings);
    outcome->steps += bench->in_flight;
    outcome->seconds = bench_now() - from;
    outcome->cpu_s = bench_cpu(bench) - cpu;
}

struct outcome bench_calls(struct bench *bench)
{
    struct flights all = {.idle = NULL};
    struct flight *flights = make_flights(&all, bench->in_flight);
    struct tidings *tidings = open_engine(bench);
    struct outcome outcome = {0};
    struct tidings_stats before, after;
    if (bench->work == WORK_BADGE) { /* heads are warm when it is measured */
        struct outcome warm = {0};
        fly(bench, tidings, flights, &warm);
    }
    tidings_stats(tidings, &before);
    fly(bench, tidings, flights, &outcome);
    tidings_stats(tidings, &after);
    outcome.batches = after.batches - before.batches;
    tidings_close(tidings);
    for (unsigned i = 0; i < bench->in_flight; i++)
        tidings_answer_release(&flights[i].answer);
    free(flights);
    return outcome;
}

/* ---- Memory --------------------------------------------------------------------------------- */

/* Of the process, that is its own and in use: what was freed and not given back to the system is not counted. */
static double memory_bytes(void)
{
    char line[256];
    double kib = 0;
    malloc_trim(0);
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (!strncmp(line, "RssAnon:", 8))
            kib = strtod(line + 8, NULL);
    if (status)
        fclose(status);
    return kib * 1024;
}

/* Everybody's heads are needed for a page of an inbox; of one page for each reader there are several, at the same time. */
double bench_heads(struct bench *bench)
{
    enum { PAGES = 16 };
    struct flights all = {.idle = NULL};
    struct flight *flights = make_flights(&all, PAGES);
    struct tidings *tidings = open_engine(bench);
    double before = memory_bytes();
    for (unsigned i = 0; i < PAGES; i++) {
        flights[i].op =
            (struct tidings_op){.kind = TIDINGS_OP_INBOX, .user_id = 1, .u.feed.page.limit = 10};
        all.out++;
    }
    for (unsigned i = 0; i < PAGES; i++)
        tidings_submit(tidings, &flights[i].call);
    drain(&all, tidings);
    double after = memory_bytes();
    tidings_close(tidings);
    for (unsigned i = 0; i < PAGES; i++)
        tidings_answer_release(&flights[i].answer);
    free(flights);
    return (after - before) / (double)(bench->world.authors * bench->world.posts);
}
