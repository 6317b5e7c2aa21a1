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

/* Ends a child that found a difference; the engine is left as it stands. */
static void give_up(void)
{
    _exit(EXIT_FAILURE);
}

static void begin_step(struct run *run, size_t number)
{
    run->outcome->failed_step = number;
    alarm(STEP_SECONDS_MAX);
}

static void finish(struct run *run)
{
    run_close(run);
    run->outcome->failed = false;
    alarm(0);
    exit(EXIT_SUCCESS);
}

static void child_new(struct recording *recording, const char *dir, size_t users, size_t ops)
{
    struct generator *g = calloc(1, sizeof *g);
    struct run run;

    generator_init(g, recording, recording->seed, users);
    if (!run_open(&run, recording, dir))
        give_up();
    for (size_t i = 0; i < ops; i++) {
        struct step *step = i + 1 < ops ? generator_next(g, &run) : generator_last(g);

        begin_step(&run, i);
        if (!run_step(&run, step))
            give_up();
    }
    free(g);
    finish(&run);
}

static void child_replay(struct recording *recording, const char *dir, const size_t *kept, size_t n,
                         size_t sweep_from, size_t sweep_every)
{
    uint32_t limit = (uint32_t)(recording->settings.page_max + 1) / 2;
    struct run run;

    if (!run_open(&run, recording, dir))
        give_up();
    for (size_t i = 0; i < n; i++) {
        const struct step *step = &recording->steps[kept[i]];

        begin_step(&run, i);
        if (!run_step(&run, step))
            give_up();
        if (i + 1 < n && (i < sweep_from || (i - sweep_from) % sweep_every != 0))
            continue;
        if (!run_sweep(&run, step->now_ms, limit))
            give_up();
    }
    finish(&run);
}

/* ---- In the parent ------------------------------------------------------------------------- */

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
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
        nftw(dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(dir);
}

static pid_t begin(struct replay *replay)
{
    memset(&replay->recording->outcome, 0, sizeof replay->recording->outcome);
    replay->recording->outcome.failed = true;
    fflush(NULL);
    return fork();
}

void replay_new(struct replay *replay, size_t users, size_t ops)
{
    char *dir = new_dir(replay);
    pid_t pid = begin(replay);

    if (pid == 0)
        child_new(replay->recording, dir, users, ops);
    wait_for(replay, pid, dir);
}

bool replay_fails(struct replay *replay, const size_t *kept, size_t n, size_t sweep_from,
                  size_t sweep_every)
{
    char *dir = new_dir(replay);
    pid_t pid = begin(replay);

    if (pid == 0)
        child_replay(replay->recording, dir, kept, n, sweep_from, sweep_every);
    wait_for(replay, pid, dir);
    return replay->recording->outcome.failed;
}
