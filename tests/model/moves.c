/* SPDX-License-Identifier: MIT */
#include "moves.h"

#include "generate.h"
#include "run.h"
#include "support/engine.h"

#include <stdlib.h>
#include <string.h>

enum { PATH_MOST = 4200 };

struct job {
    struct replay *replay;
    size_t users, ops, rounds;
    struct run run;
    char shadow_path[PATH_MOST], cluster_path[PATH_MOST];
    struct tidings *shadow, *cluster;
    size_t done;    /* rounds */
    size_t pieces;  /* asked whether to stop, in the round under way */
    size_t stop_at; /* interrupted then; 0: not at all */
};

/* ---- The two sides --------------------------------------------------------------------------- */

static bool open_shadow(struct job *job)
{
    struct tidings_options options = job->run.options;
    const char *message = NULL;
    enum tidings_err err;

    options.shadow = job->shadow_path;
    err = tidings_open(&options, &job->shadow, &message);
    return err == TIDINGS_OK ||
           run_fail(&job->run, "shadow: %s: %s", tidings_err_code(err), message);
}

static bool open_cluster(struct job *job, bool importing, struct tidings **engine)
{
    struct tidings_options options = job->run.options;
    const char *message = NULL;
    enum tidings_err err;

    options.dir = job->cluster_path;
    options.importing = importing;
    setenv("TIDINGS_TEST_ENGINE", "cluster", 1);
    err = engine_open(&options, engine, &message);
    if (importing) /* the world is not there yet */
        setenv("TIDINGS_TEST_ENGINE", "local", 1);
    return err == TIDINGS_OK ||
           run_fail(&job->run, "cluster: %s: %s", tidings_err_code(err), message);
}

static void close_both(struct job *job)
{
    tidings_close(job->shadow);
    tidings_close(job->cluster);
    job->shadow = job->cluster = NULL;
}

/* ---- Rounds ---------------------------------------------------------------------------------- */

static bool is_to_stop(void *ctx)
{
    struct job *job = ctx;

    return ++job->pieces == job->stop_at;
}

static bool step_once(struct job *job, bool *stopped)
{
    struct tidings_move move = {.stop = is_to_stop, .ctx = job};
    const char *message = NULL;
    enum tidings_err err;

    job->pieces = 0;
    err = tidings_move(job->shadow, job->cluster, &move, &message);
    *stopped = move.stopped;
    return err == TIDINGS_OK || run_fail(&job->run, "move: %s: %s", tidings_err_code(err), message);
}

/* Every third one is interrupted, in its first piece or a later one, and another shadow goes on. */
static bool one_round(struct job *job)
{
    bool stopped = false, ok = true;

    if (job->shadow == NULL)
        ok = open_shadow(job) && open_cluster(job, true, &job->cluster);
    job->stop_at = job->done % 3 == 1 ? 1 + job->done % 4 : 0;
    ok = ok && step_once(job, &stopped);
    job->done++;
    if (stopped)
        close_both(job);
    return ok;
}

/* The world is in the cluster from now on. */
static bool move_over(struct job *job)
{
    struct run *run = &job->run;
    const char *message = NULL;
    bool stopped, ok;

    job->stop_at = 0;
    ok = job->shadow != NULL || (open_shadow(job) && open_cluster(job, true, &job->cluster));
    if (ok && tidings_shadow_lock(job->shadow) != TIDINGS_LOCKED)
        return run_fail(run, "the directory is open, and a shadow could lock it");
    tidings_close(run->engine);
    run->engine = NULL;
    ok = ok && (tidings_shadow_lock(job->shadow) == TIDINGS_OK || run_fail(run, "lock"));
    ok = ok && step_once(job, &stopped);
    ok = ok && (tidings_move_end(job->shadow, job->cluster, &message) == TIDINGS_OK ||
                run_fail(run, "move_end: %s", message));
    close_both(job);
    run->options.dir = job->cluster_path;
    return ok && open_cluster(job, false, &run->engine) && run_verify(run) &&
           run_sweep(run, atomic_load(&run->clock_ms), (uint32_t)run->options.settings.page_max);
}

/* ---- The world ------------------------------------------------------------------------------- */

static bool run_all(struct job *job, struct generator *g)
{
    size_t over = job->ops * 2 / 3;

    for (size_t i = 0; i < job->ops; i++) {
        struct step *step = i + 1 < job->ops ? generator_next(g, &job->run) : generator_last(g);

        replay_begin_step(&job->run, i);
        if (!run_step(&job->run, step))
            return false;
        if (i < over && (i + 1) * job->rounds >= over * (job->done + 1) && !one_round(job))
            return false;
        if (i == over && !move_over(job))
            return false;
    }
    return true;
}

static bool child(void *ctx, const char *dir)
{
    struct job *job = ctx;
    struct recording *recording = job->replay->recording;
    struct generator *g = calloc(1, sizeof *g);
    bool ok;

    setenv("TIDINGS_TEST_ENGINE", "local", 1);
    snprintf(job->shadow_path, sizeof job->shadow_path, "%s/shadow", job->replay->dir);
    snprintf(job->cluster_path, sizeof job->cluster_path, "%s/moved", job->replay->dir);
    generator_init(g, recording, recording->seed, job->users);
    ok = run_open(&job->run, recording, dir) && run_all(job, g);
    free(g);
    close_both(job);
    if (ok)
        run_close(&job->run);
    return ok;
}

bool moves_hold(struct replay *replay, size_t users, size_t ops, size_t rounds)
{
    struct job *job = calloc(1, sizeof *job);
    bool ok;

    *job = (struct job){.replay = replay, .users = users, .ops = ops, .rounds = rounds};
    ok = replay_child(replay, child, job);
    free(job);
    return ok;
}
