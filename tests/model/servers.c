/* SPDX-License-Identifier: MIT */
#include "servers.h"

#include "generate.h"
#include "random.h"
#include "run.h"
#include "support/engine.h"
#include "support/replica.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { PATH_MOST = 4200, SERVERS_MOST = 8, WRITER_MS = 20000, CLOSE_EVERY = 400 };

struct job {
    struct replay *replay;
    size_t users, ops, servers;
    struct run run;
    char url[PATH_MOST], paths[SERVERS_MOST][PATH_MOST];
    struct tidings *engines[SERVERS_MOST]; /* the first is the run's own */
    uint64_t random;
    uint64_t takeovers;
    int writer;
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static uint64_t draw(struct job *job, uint64_t below)
{
    job->random = job->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (job->random >> 33) % below;
}

/* ---- Servers ------------------------------------------------------------------------------------ */

static bool open_server(struct job *job, size_t i)
{
    struct tidings_options options = job->run.options;
    const char *message = NULL;
    options.dir = job->paths[i];
    enum tidings_err err = engine_open(&options, &job->engines[i], &message);

    return err == TIDINGS_OK ||
           run_fail(&job->run, "server %zu: %s: %s", i, tidings_err_code(err), message);
}

static struct tidings *engine_of(struct job *job, size_t i)
{
    return i == 0 ? job->run.engine : job->engines[i];
}

/* Who makes changes; waits until somebody does. */
static struct tidings *find_writer(struct job *job)
{
    struct tidings_replica status = {0};

    for (int64_t until_ms = now_ms() + WRITER_MS; now_ms() < until_ms; usleep(1000)) {
        for (size_t i = 0; i < job->servers; i++) {
            tidings_replica_status(engine_of(job, i), &status);
            if (status.role != TIDINGS_WRITER)
                continue;
            job->takeovers += job->writer != (int)i;
            job->writer = (int)i;
            return engine_of(job, i);
        }
    }
    run_fail(&job->run, "nobody makes changes: %s", status.trouble);
    return NULL;
}

static struct tidings *choose(struct run *run, const struct tidings_op *op)
{
    struct job *job = run->choose_ctx;

    (void)op;
    return engine_of(job, draw(job, job->servers));
}

/* All have the same, and nothing is wrong with any of it. */
static bool all_agree(struct job *job)
{
    struct tidings *writer = find_writer(job);
    size_t n = 0, m = 0;
    char *wanted = writer ? replica_export(writer, &n) : NULL;
    bool ok = wanted != NULL;

    for (size_t i = 0; ok && i < job->servers; i++) {
        struct tidings_verify verify = {.report = NULL};
        char why[256] = "";

        ok = replica_await(writer, engine_of(job, i), why) || run_fail(&job->run, "%s", why);
        char *found = ok ? replica_export(engine_of(job, i), &m) : NULL;
        ok = ok && ((found && n == m && memcmp(found, wanted, n) == 0) ||
                    run_fail(&job->run, "server %zu has other facts", i));
        ok = ok && ((tidings_verify(engine_of(job, i), &verify) == TIDINGS_OK &&
                     verify.differences == 0) ||
                    run_fail(&job->run, "server %zu: verify finds differences", i));
        free(found);
    }
    free(wanted);
    return ok;
}

/* ---- The world ----------------------------------------------------------------------------------- */

static bool run_all(struct job *job, struct generator *g)
{
    for (size_t i = 0; i < job->ops; i++) {
        struct step *step = i + 1 < job->ops ? generator_next(g, &job->run) : generator_last(g);

        replay_begin_step(&job->run, i);
        if (!run_step(&job->run, step))
            return false;
        if (i % CLOSE_EVERY == CLOSE_EVERY - 1 && job->servers > 1) {
            size_t server = 1 + draw(job, job->servers - 1);

            if (!all_agree(job))
                return false;
            tidings_close(job->engines[server]);
            job->engines[server] = NULL;
            if (draw(job, 3) == 0) /* and has nothing any more */
                replay_remove(job->paths[server]);
            if (!open_server(job, server))
                return false;
        }
    }
    return all_agree(job);
}

/* A database of its own. */
static bool make_database(struct job *job)
{
    const char *server = getenv("TIDINGS_TEST_MYSQL");
    const char *socket = server ? strstr(server, "socket=") : NULL;
    char command[PATH_MOST];
    int before = server ? (int)strcspn(server, "?") : 0;

    if (!socket)
        return run_fail(&job->run, "run this under tests/support/with-mariadb");
    snprintf(job->url, sizeof job->url, "%.*smodel_%d%s", before, server, (int)getpid(),
             server + before);
    snprintf(command, sizeof command,
             "mariadb --no-defaults -u root --socket=%.*s -e 'CREATE DATABASE model_%d'",
             (int)strcspn(socket + 7, "&"), socket + 7, (int)getpid());
    return system(command) == 0 || run_fail(&job->run, "no database can be made");
}

static bool begin(struct job *job, const char *dir)
{
    struct run *run = &job->run;

    run_init(run, job->replay->recording, dir);
    if (!make_database(job))
        return false;
    run->options.mysql = job->url;
    run->keeps_rules = true;
    run->choose = choose;
    run->choose_ctx = job;
    if (!run_open_engine(run))
        return false;
    for (size_t i = 1; i < job->servers; i++) {
        snprintf(job->paths[i], sizeof job->paths[i], "%.4000s/server-%zu", job->replay->dir, i);
        if (!open_server(job, i))
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

    generator_init(g, recording, recording->seed, job->users);
    ok = begin(job, dir) && run_all(job, g);
    free(g);
    for (size_t i = 1; i < job->servers; i++) {
        tidings_close(job->engines[i]);
        replay_remove(job->paths[i]);
    }
    if (ok)
        run_close(&job->run);
    return ok;
}

bool servers_hold(struct replay *replay, size_t users, size_t ops, size_t servers)
{
    struct job *job = calloc(1, sizeof *job);
    bool ok;

    *job = (struct job){.replay = replay,
                        .users = users,
                        .ops = ops,
                        .servers = servers < SERVERS_MOST ? servers : SERVERS_MOST,
                        .random = replay->recording->seed,
                        .writer = -1};
    ok = replay_child(replay, child, job);
    free(job);
    return ok;
}
