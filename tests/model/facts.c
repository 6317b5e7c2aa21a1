/* SPDX-License-Identifier: MIT */
#include "facts.h"

#include "generate.h"
#include "run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MOST = 4200 };

struct job {
    struct replay *replay;
    size_t users, ops, times;
    struct run run;
};

/* ---- Bytes ----------------------------------------------------------------------------------- */

struct bytes_out {
    char *text;
    size_t n;
    FILE *file;
};

static bool write_bytes(void *ctx, const char *lines, size_t n)
{
    struct bytes_out *out = ctx;

    return fwrite(lines, 1, n, out->file) == n;
}

static bool export_all(struct run *run, struct bytes_out *out)
{
    struct tidings_export export = {.write = write_bytes, .ctx = out};
    enum tidings_err err;

    out->file = open_memstream(&out->text, &out->n);
    err = tidings_export(run->engine, &export);
    fclose(out->file);
    return err == TIDINGS_OK || run_fail(run, "export: %s", tidings_err_code(err));
}

/* In pieces of odd lengths, so that lines lie across them. */
struct bytes_in {
    const char *text;
    size_t n, at;
    struct run *run;
    char refused[256];
};

static ptrdiff_t read_bytes(void *ctx, char *to, size_t room)
{
    struct bytes_in *in = ctx;
    size_t n = in->n - in->at < 7919 ? in->n - in->at : 7919;

    n = n < room ? n : room;
    memcpy(to, in->text + in->at, n);
    in->at += n;
    return (ptrdiff_t)n;
}

static void note_refusal(void *ctx, uint64_t line, const char *field, const char *reason)
{
    struct bytes_in *in = ctx;

    if (in->refused[0] == '\0')
        snprintf(in->refused, sizeof in->refused, "line %llu: %s: %s", (unsigned long long)line,
                 field != NULL ? field : "", reason);
}

/* ---- The other engine ------------------------------------------------------------------------ */

static bool import_all(struct run *run, const struct bytes_out *facts)
{
    struct bytes_in in = {.text = facts->text, .n = facts->n, .run = run};
    struct tidings_import import = {.read = read_bytes, .refused = note_refusal, .ctx = &in};
    const char *message = "";
    enum tidings_err err;

    run->options.importing = true;
    if (!run_open_engine(run))
        return false;
    err = tidings_import(run->engine, &import, &message);
    tidings_close(run->engine);
    run->engine = NULL;
    run->options.importing = false;
    if (err != TIDINGS_OK)
        return run_fail(run, "import: %s: %s", tidings_err_code(err), message);
    if (import.rejected != 0 || import.repeated != 0)
        return run_fail(run, "import: %llu refused, %llu repeated, %s",
                        (unsigned long long)import.rejected, (unsigned long long)import.repeated,
                        in.refused);
    return run_open_engine(run);
}

/* The first line in which they differ. */
static bool same_bytes(struct run *run, const struct bytes_out *a, const struct bytes_out *b)
{
    size_t at = 0, begin = 0;

    if (a->n == b->n && memcmp(a->text, b->text, a->n) == 0)
        return true;
    for (; at < a->n && at < b->n && a->text[at] == b->text[at]; at++)
        if (a->text[at] == '\n')
            begin = at + 1;
    return run_fail(run, "exported again it differs:\n%.*s\n%.*s",
                    (int)strcspn(a->text + begin, "\n"), a->text + begin,
                    (int)strcspn(b->text + begin, "\n"), b->text + begin);
}

static bool hold_imported(struct run *run, const struct bytes_out *facts)
{
    struct bytes_out again = {0};
    bool ok = import_all(run, facts) && export_all(run, &again) && same_bytes(run, facts, &again) &&
              run_verify(run);

    free(again.text);
    run->imported = true;
    run->newest = (struct tidings_moment){0};
    ok =
        ok && run_sweep(run, atomic_load(&run->clock_ms), (uint32_t)run->options.settings.page_max);
    run->imported = false;
    return ok;
}

/* Into the same engine, or the one that TIDINGS_TEST_INTO names. */
static void choose_engine(const char *name)
{
    if (name != NULL)
        setenv("TIDINGS_TEST_ENGINE", name, 1);
    else
        unsetenv("TIDINGS_TEST_ENGINE");
}

/* Devices of their own, which know what the run's do: versions are of the engine that gave them. */
static void copy_clients(struct run *run)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *client = &run->story.clients[i];
        struct tidings_reading *rows = calloc(client->n + 1, sizeof *rows);

        if (client->n > 0)
            memcpy(rows, client->rows, client->n * sizeof *rows);
        client->rows = rows;
    }
}

static void give_back_clients(struct run *run, const struct client *clients)
{
    for (size_t i = 0; i < CLIENTS; i++)
        free(run->story.clients[i].rows);
    memcpy(run->story.clients, clients, sizeof run->story.clients);
}

/* With the run's engine set aside meanwhile. */
static bool hold_facts(struct job *job, size_t number)
{
    const char *into = getenv("TIDINGS_TEST_INTO"), *set = getenv("TIDINGS_TEST_ENGINE");
    char *from = set != NULL ? strdup(set) : NULL;
    struct run *run = &job->run;
    struct tidings *engine = run->engine;
    const char *dir = run->options.dir;
    struct tidings_moment newest = run->newest; /* tokens are of the engine that gave them */
    struct client clients[CLIENTS];
    struct bytes_out facts = {0};
    char path[PATH_MOST];
    bool ok = export_all(run, &facts);

    memcpy(clients, run->story.clients, sizeof clients);

    snprintf(path, sizeof path, "%s/facts-%zu", job->replay->dir, number);
    if (ok) {
        run->options.dir = path;
        choose_engine(into != NULL ? into : from);
        copy_clients(run);
        ok = hold_imported(run, &facts);
        tidings_close(run->engine);
        choose_engine(from);
        give_back_clients(run, clients);
        run->options.dir = dir;
        run->engine = engine;
        run->newest = newest;
    }
    free(facts.text);
    free(from);
    if (!job->replay->keep)
        replay_remove(path);
    return ok;
}

/* ---- The world ------------------------------------------------------------------------------- */

static bool run_all(struct job *job, struct generator *g)
{
    for (size_t i = 0, held = 0; i < job->ops; i++) {
        struct step *step = i + 1 < job->ops ? generator_next(g, &job->run) : generator_last(g);

        replay_begin_step(&job->run, i);
        if (!run_step(&job->run, step))
            return false;
        if ((i + 1) * job->times >= job->ops * (held + 1) && !hold_facts(job, held++))
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
    ok = run_open(&job->run, recording, dir) && run_all(job, g);
    free(g);
    if (ok)
        run_close(&job->run);
    return ok;
}

bool facts_hold(struct replay *replay, size_t users, size_t ops, size_t times)
{
    struct job *job = calloc(1, sizeof *job);
    bool ok;

    *job = (struct job){.replay = replay, .users = users, .ops = ops, .times = times};
    ok = replay_child(replay, child, job);
    free(job);
    return ok;
}
