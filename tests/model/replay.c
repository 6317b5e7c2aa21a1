/* SPDX-License-Identifier: MIT */
#include "replay.h"

#include "generate.h"
#include "run.h"

#include <ftw.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* A step that takes longer hangs. Far more than the slowest sweep under a sanitizer needs. */
#define STEP_SECONDS_MAX 300

/* ---- In the child -------------------------------------------------------------------------- */

void replay_begin_step(struct run *run, size_t number)
{
    run->outcome->failed_step = number;
    alarm(STEP_SECONDS_MAX);
}

/* What the two kinds of run are made of. */
struct task {
    struct recording *recording;
    size_t users, ops;
    const size_t *kept;
    size_t n, sweep_from, sweep_every;
};

static bool child_new(void *ctx, const char *dir)
{
    const struct task *task = ctx;
    struct generator *g = calloc(1, sizeof *g);
    struct run run;

    generator_init(g, task->recording, task->recording->seed, task->users);
    if (!run_open(&run, task->recording, dir))
        return false;
    for (size_t i = 0; i < task->ops; i++) {
        struct step *step = i + 1 < task->ops ? generator_next(g, &run) : generator_last(g);

        replay_begin_step(&run, i);
        if (!run_step(&run, step))
            return false;
    }
    free(g);
    run_close(&run);
    return true;
}

static bool child_replay(void *ctx, const char *dir)
{
    const struct task *task = ctx;
    uint32_t limit = (uint32_t)(task->recording->settings.page_max + 1) / 2;
    struct run run;

    if (!run_open(&run, task->recording, dir))
        return false;
    for (size_t i = 0; i < task->n; i++) {
        const struct step *step = &task->recording->steps[task->kept[i]];

        replay_begin_step(&run, i);
        if (!run_step(&run, step))
            return false;
        if (i + 1 < task->n &&
            (i < task->sweep_from || (i - task->sweep_from) % task->sweep_every != 0))
            continue;
        if (!run_sweep(&run, step->now_ms, limit))
            return false;
    }
    run_close(&run);
    return true;
}

/* ---- In the parent ------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

void replay_remove(const char *path)
{
    nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static char *new_dir(struct replay *replay)
{
    char *dir = NULL;

    if (asprintf(&dir, "%s/run-%u", replay->dir, replay->runs++) < 0)
        abort();
    return dir;
}

/* Waits for the child; what it could not say itself is added to the outcome. */
static void wait_for(struct replay *replay, pid_t pid, char *dir)
{
    struct outcome *outcome = &replay->recording->outcome;
    int status = 0;

    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("fork");
        abort();
    }
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
        report_add(&outcome->report, "no answer in %d seconds\n", STEP_SECONDS_MAX);
    else if (WIFSIGNALED(status))
        report_add(&outcome->report, "crashed: %s\n", strsignal(WTERMSIG(status)));
    else if (!outcome->failed && WEXITSTATUS(status) != 0)
        report_add(&outcome->report, "all steps passed, but the process ended with status %d\n",
                   WEXITSTATUS(status));
    else if (outcome->failed && outcome->report.n == 0)
        report_add(&outcome->report, "the process ended with status %d\n", WEXITSTATUS(status));
    if (status != 0)
        outcome->failed = true;
    if (replay->keep)
        printf("data: %s\n", dir);
    else
        replay_remove(dir);
    free(dir);
}

/* Ends the child. One that found a difference leaves the engine as it stands. */
static void end_child(struct outcome *outcome, bool ok)
{
    if (!ok)
        _exit(EXIT_FAILURE);
    outcome->failed = false;
    alarm(0);
    exit(EXIT_SUCCESS);
}

bool replay_child(struct replay *replay, bool (*body)(void *ctx, const char *dir), void *ctx)
{
    struct outcome *outcome = &replay->recording->outcome;
    char *dir = new_dir(replay);
    pid_t pid;

    memset(outcome, 0, sizeof *outcome);
    outcome->failed = true;
    fflush(NULL);
    pid = fork();
    if (pid == 0)
        end_child(outcome, body(ctx, dir));
    wait_for(replay, pid, dir);
    return !outcome->failed;
}

void replay_new(struct replay *replay, size_t users, size_t ops)
{
    struct task task = {.recording = replay->recording, .users = users, .ops = ops};

    replay_child(replay, child_new, &task);
}

bool replay_fails(struct replay *replay, const size_t *kept, size_t n, size_t sweep_from,
                  size_t sweep_every)
{
    struct task task = {.recording = replay->recording,
                        .kept = kept,
                        .n = n,
                        .sweep_from = sweep_from,
                        .sweep_every = sweep_every};

    return !replay_child(replay, child_replay, &task);
}
