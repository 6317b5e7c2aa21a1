/* SPDX-License-Identifier: MIT */
#include "followers.h"

#include "generate.h"
#include "run.h"
#include "support/engine.h"
#include "support/replica.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MOST = 4200, HEARD_MOST = 1 << 16 };

/* What somebody who watches has heard since the last look. */
struct ear {
    struct tidings_watcher watcher;
    pthread_mutex_t mutex;
    struct tidings_event *events;
    size_t n;
};

struct job {
    struct replay *replay;
    size_t users, ops, times;
    struct run run;
    char path[PATH_MOST], key[PATH_MOST], listen[REPLICA_ADDRESS_BYTES],
        address[REPLICA_ADDRESS_BYTES];
    struct tidings *follower;
    struct tidings_options options; /* the follower's */
    bool listening;                 /* an ear is at the followed one ... */
    uint64_t reopens;               /* ... since it was opened for that time */
    struct ear ears[2];             /* at the followed one, and at the follower */
    size_t done;
};

/* ---- Ears ------------------------------------------------------------------------------------- */

static void hear(struct tidings_watcher *watcher, const struct tidings_event *events, size_t n)
{
    struct ear *ear = (struct ear *)watcher;

    pthread_mutex_lock(&ear->mutex);
    for (size_t i = 0; i < n && ear->n < HEARD_MOST; i++)
        ear->events[ear->n++] = events[i];
    pthread_mutex_unlock(&ear->mutex);
}

static void forget_heard(struct job *job)
{
    for (int i = 0; i < 2; i++) {
        pthread_mutex_lock(&job->ears[i].mutex);
        job->ears[i].n = 0;
        pthread_mutex_unlock(&job->ears[i].mutex);
    }
}

static bool same_event(const struct tidings_event *a, const struct tidings_event *b)
{
    return a->event_id == b->event_id && a->type == b->type && a->happened_at == b->happened_at &&
           a->actor_user_id == b->actor_user_id && a->target_id == b->target_id &&
           a->author_id == b->author_id && a->delta == b->delta && a->post_id == b->post_id &&
           a->reaction == b->reaction;
}

static bool heard_the_same(struct job *job)
{
    struct ear *a = &job->ears[0], *b = &job->ears[1];
    bool same = a->n == b->n;

    for (size_t i = 0; same && i < a->n; i++)
        same = same_event(&a->events[i], &b->events[i]);
    if (!same)
        run_fail(&job->run, "%zu events were told, and %zu at the follower, or others", a->n, b->n);
    forget_heard(job);
    return same;
}

/* ---- The follower ----------------------------------------------------------------------------- */

static bool await(struct job *job)
{
    char why[256];

    return replica_await(job->run.engine, job->follower, why) ||
           run_fail(&job->run, "the follower: %s", why);
}

static bool open_follower(struct job *job)
{
    const char *message = NULL;
    enum tidings_err err;

    job->options = job->run.options;
    job->options.dir = job->path;
    job->options.follow = job->address;
    job->options.peer_key_file = job->key;
    job->options.peer_listen = "127.0.0.1:0";
    err = engine_open(&job->options, &job->follower, &message);
    if (err != TIDINGS_OK)
        return run_fail(&job->run, "follower: %s: %s", tidings_err_code(err), message);
    if (!await(job)) /* what was told before it watched is not heard */
        return false;
    tidings_watch(job->follower, &job->ears[1].watcher);
    forget_heard(job);
    return true;
}

static void close_follower(struct job *job)
{
    tidings_close(job->follower);
    job->follower = NULL;
}

/* Verified, then closed and opened again, or filled anew. */
static bool change_follower(struct job *job)
{
    struct tidings_verify verify = {.report = NULL};

    if (!await(job))
        return false;
    if (tidings_verify(job->follower, &verify) != TIDINGS_OK || verify.differences != 0)
        return run_fail(&job->run, "the follower has %" PRIu64 " differences", verify.differences);
    close_follower(job);
    if (job->done++ % 2)
        replay_remove(job->path);
    return open_follower(job);
}

static bool exports_are_equal(struct job *job)
{
    size_t n = 0, m = 0;
    char *a = replica_export(job->run.engine, &n), *b = replica_export(job->follower, &m);
    bool same = a && b && n == m && memcmp(a, b, n) == 0;

    free(a);
    free(b);
    return same || run_fail(&job->run, "exports of %zu and %zu bytes differ", n, m);
}

/* The engine that answers what only reads: the follower, once it has all. */
static struct tidings *choose(struct run *run, const struct tidings_op *op)
{
    struct job *job = run->choose_ctx;
    static const bool writes[] = {
#define X(name, lower, changes, args, answer) [TIDINGS_OP_##name] = (changes),
        TIDINGS_OPS(X)
#undef X
    };

    if ((size_t)op->kind >= sizeof writes / sizeof *writes || writes[op->kind] ||
        job->follower == NULL)
        return run->engine;
    return await(job) ? job->follower : NULL;
}

/* A world that was closed and opened again is not listened to any more. */
static bool listen_again(struct job *job)
{
    if (job->listening && job->reopens == job->run.outcome->reopens)
        return true;
    job->listening = true;
    job->reopens = job->run.outcome->reopens;
    if (job->follower != NULL && !await(job))
        return false;
    tidings_watch(job->run.engine, &job->ears[0].watcher);
    forget_heard(job);
    return true;
}

/* The follower is the world from now on; the one before refuses. */
static bool take_over(struct job *job)
{
    struct run *run = &job->run;
    struct tidings_replica status;
    struct tidings_options old = run->options;
    struct tidings_op op = {.kind = TIDINGS_OP_FOLLOW,
                            .user_id = run->recording->user_ids[0],
                            .u.relation.user_id = run->recording->user_ids[1]};
    struct tidings *refused = NULL;
    char address[REPLICA_ADDRESS_BYTES];
    const char *message = NULL;

    if (!await(job) || !exports_are_equal(job))
        return false;
    replica_address(job->follower, address);
    if (tidings_promote(address, job->key, &status, &message) != TIDINGS_OK)
        return run_fail(run, "promote: %s", message);
    if (status.era != 1 || tidings_run(run->engine, &op, &run->answer) != TIDINGS_STANDBY)
        return run_fail(run, "the one before goes on writing");
    tidings_close(run->engine);
    run->engine = job->follower;
    job->follower = NULL;
    run->options = job->options;
    run->options.follow = NULL;
    run->options.peer_listen = NULL;
    if (tidings_open(&old, &refused, &message) != TIDINGS_INVALID ||
        strstr(message, "replaced") == NULL)
        return run_fail(run, "a directory that was replaced is opened");
    return run_verify(run);
}

/* ---- The world --------------------------------------------------------------------------------- */

static bool run_all(struct job *job, struct generator *g)
{
    size_t over = job->ops * 2 / 3;

    for (size_t i = 0; i < job->ops; i++) {
        struct step *step = i + 1 < job->ops ? generator_next(g, &job->run) : generator_last(g);

        replay_begin_step(&job->run, i);
        if (!run_step(&job->run, step))
            return false;
        if (i <= over && !listen_again(job))
            return false;
        if (i < over && (!await(job) || !heard_the_same(job)))
            return false;
        if (i < over && (i + 1) * job->times >= over * (job->done + 1) && !change_follower(job))
            return false;
        if (i == over && !take_over(job))
            return false;
    }
    return true;
}

static bool begin(struct job *job, const char *dir)
{
    struct run *run = &job->run;
    const char *port;

    snprintf(job->path, sizeof job->path, "%s/follower", job->replay->dir);
    snprintf(job->key, sizeof job->key, "%s/model.key", job->replay->dir);
    FILE *key = fopen(job->key, "w");
    if (key == NULL)
        return false;
    for (int i = 0; i < 8; i++)
        fprintf(key, "0123abcd");
    fclose(key);
    run_init(run, job->replay->recording, dir);
    run->choose = choose;
    run->choose_ctx = job;
    run->options.peer_listen = "127.0.0.1:0";
    run->options.peer_key_file = job->key;
    if (!run_open_engine(run))
        return false;
    replica_address(run->engine, job->address);
    port = strrchr(job->address, ':');
    snprintf(job->listen, sizeof job->listen, "127.0.0.1%s", port);
    run->options.peer_listen = job->listen; /* where it is again when it is opened again */
    return listen_again(job) && open_follower(job);
}

static bool child(void *ctx, const char *dir)
{
    struct job *job = ctx;
    struct recording *recording = job->replay->recording;
    struct generator *g = calloc(1, sizeof *g);
    bool ok;

    for (int i = 0; i < 2; i++) {
        job->ears[i].watcher.tell = hear;
        job->ears[i].events = calloc(HEARD_MOST, sizeof *job->ears[i].events);
        pthread_mutex_init(&job->ears[i].mutex, NULL);
    }
    generator_init(g, recording, recording->seed, job->users);
    ok = begin(job, dir) && run_all(job, g);
    free(g);
    close_follower(job);
    if (ok)
        run_close(&job->run);
    for (int i = 0; i < 2; i++)
        free(job->ears[i].events);
    replay_remove(job->path);
    remove(job->key);
    return ok;
}

bool followers_hold(struct replay *replay, size_t users, size_t ops, size_t times)
{
    struct job *job = calloc(1, sizeof *job);
    bool ok;

    *job = (struct job){.replay = replay, .users = users, .ops = ops, .times = times};
    ok = replay_child(replay, child, job);
    free(job);
    return ok;
}
