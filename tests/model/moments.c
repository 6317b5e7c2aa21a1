/* SPDX-License-Identifier: MIT */
#include "moments.h"

#include "generate.h"
#include "run.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_MOST = 4200, MIB = 1 << 20 };

/* What a directory is made of. */
enum source {
    FROM_LIVE,       /* the data directory of a running engine */
    FROM_BACKUP,     /* a backup that was made by a running engine */
    FROM_CLOSED,     /* the data directory after the run */
    FROM_DIR_BACKUP, /* a backup of that */
    SOURCES
};

static const char *const source_names[SOURCES] = {
    "the live directory", "a backup", "the closed directory", "a backup of the closed directory"};

struct moment {
    enum source source;
    int64_t until_ms;
    size_t steps; /* that had happened by then, when it was made */
    size_t number;
};

/* In memory that the processes share. */
struct moments {
    size_t n, wanted;
    size_t images; /* base images seen */
    struct moment at[MOMENTS_MOST];
    int64_t times[]; /* after each step, of the newest change */
};

/* One of the two processes. */
struct job {
    struct replay *replay;
    struct moments *moments;
    size_t users, ops;
    struct rng rng; /* apart from the generator's: the steps are those of the seed alone */
    const char *dir;
    struct run run;
};

static void path_of(const struct job *job, char path[PATH_MOST], const char *what, size_t number)
{
    snprintf(path, PATH_MOST, "%s/%s-%zu", job->replay->dir, what, number);
}

/* ---- Base images ----------------------------------------------------------------------------- */

struct images {
    size_t n;
    uint64_t newest;      /* the batch that the newest goes to */
    uint64_t newest_size; /* and its bytes */
    int64_t oldest_ms;    /* the time of the oldest */
};

static struct images images_of(const char *dir)
{
    struct images images = {.oldest_ms = INT64_MAX};
    char path[PATH_MOST + 300];
    DIR *stream;

    snprintf(path, sizeof path, "%s/snapshots", dir);
    stream = opendir(path);
    for (struct dirent *entry; stream != NULL && (entry = readdir(stream)) != NULL;) {
        struct stat st;
        uint64_t number;
        int64_t time_ms;

        if (sscanf(entry->d_name, "%" SCNu64 "-%" SCNd64 "-", &number, &time_ms) != 2)
            continue;
        snprintf(path, sizeof path, "%s/snapshots/%s", dir, entry->d_name);
        if (number >= images.newest && lstat(path, &st) == 0) {
            images.newest = number;
            images.newest_size = (uint64_t)st.st_size;
        }
        if (time_ms < images.oldest_ms)
            images.oldest_ms = time_ms;
        images.n++;
    }
    if (stream != NULL)
        closedir(stream);
    return images;
}

/* The earliest moment it can be restored to. */
static int64_t earliest(const char *dir)
{
    char path[PATH_MOST + 300];

    snprintf(path, sizeof path, "%s/log/0000000000000001.log", dir);
    return access(path, F_OK) == 0 ? 0 : images_of(dir).oldest_ms;
}

/* Lets the base image that is due be made: the run is over in less time than the keeper takes a look. */
static bool await_image(struct job *job)
{
    struct images before = images_of(job->dir);
    uint64_t least = before.newest_size > MIB ? before.newest_size : MIB;
    struct tidings_stats stats;

    tidings_stats(job->run.engine, &stats);
    if (stats.log_bytes < least)
        return true;
    for (int tries = 0; tries < 3000; tries++) {
        if (images_of(job->dir).newest > before.newest) {
            job->moments->images++;
            return true;
        }
        usleep(10000);
    }
    return run_fail(&job->run, "no base image in 30 s, with %" PRIu64 " bytes of log",
                    stats.log_bytes);
}

/* ---- The run, and directories made of it ------------------------------------------------------ */

/* By the ids: their upper bits are milliseconds since 2020. */
static void note_time(struct job *job, size_t step)
{
    struct tidings_stats stats;
    int64_t *times = job->moments->times;

    tidings_stats(job->run.engine, &stats);
    times[step] = step > 0 ? times[step - 1] : 0;
    if (stats.newest_id != 0) /* since it was opened */
        times[step] = (int64_t)(stats.newest_id >> 12) + INT64_C(1577836800000);
}

/* How many steps, of the first `most`, had happened by then. */
static size_t steps_until(const struct job *job, int64_t until_ms, size_t most)
{
    size_t n = 0;

    while (n < most && job->moments->times[n] <= until_ms)
        n++;
    return n;
}

static bool back_up(struct job *job, enum source source, const char *dest)
{
    struct tidings_backup backup = {.dest = dest};
    const char *message = "";
    enum tidings_err err = source == FROM_BACKUP
                               ? tidings_backup(job->run.engine, &backup, &message)
                               : tidings_backup_dir(job->dir, &backup, &message);

    return err == TIDINGS_OK ||
           run_fail(&job->run, "backup: %s: %s", tidings_err_code(err), message);
}

/* At the time of one of the steps done, or just before or after it. */
static int64_t some_moment(struct job *job, size_t done)
{
    int64_t at = job->moments->times[rng_below(&job->rng, done)];

    return at + (int64_t)rng_below(&job->rng, 3) - 1;
}

static bool restore_one(struct job *job, const char *from, const struct moment *moment)
{
    struct tidings_restore restore = {.from = from, .until_ms = moment->until_ms};
    char dir[PATH_MOST];
    const char *message = "";
    enum tidings_err err;

    path_of(job, dir, "moment", moment->number);
    restore.dir = dir;
    err = tidings_restore(&restore, &message);
    if (err != TIDINGS_OK)
        return run_fail(&job->run, "restoring %s to %" PRId64 ": %s: %s",
                        source_names[moment->source], moment->until_ms, tidings_err_code(err),
                        message);
    if (restore.time_ms > moment->until_ms)
        return run_fail(&job->run, "restored to %" PRId64 ", but it goes to %" PRId64,
                        moment->until_ms, restore.time_ms);
    return true;
}

/* Whether something happened at or before that time after something later: the clock was set back. */
static bool came_back(const struct job *job, int64_t until_ms, size_t done)
{
    bool later = false;

    for (size_t i = 0; i < done; i++) {
        if (later && job->moments->times[i] <= until_ms)
            return true;
        later |= job->moments->times[i] > until_ms;
    }
    return false;
}

/* Moments before the oldest base image are refused, not made up; unless the clock came by there again. */
static bool is_refused(struct job *job, const char *from, int64_t until_ms, size_t done)
{
    struct tidings_restore restore = {.from = from, .until_ms = until_ms};
    char dir[PATH_MOST];
    const char *message = "";
    enum tidings_err err;

    path_of(job, dir, "refused", job->moments->n);
    restore.dir = dir;
    err = tidings_restore(&restore, &message);
    return err == TIDINGS_NOT_FOUND || (err == TIDINGS_OK && came_back(job, until_ms, done)) ||
           run_fail(&job->run, "restoring to %" PRId64 ", which is not kept: %s", until_ms,
                    tidings_err_code(err));
}

/* One more directory, made when `done` steps are. */
static bool add_moment(struct job *job, enum source source, size_t done)
{
    struct moment moment = {.number = job->moments->n, .source = source};
    char backup[PATH_MOST];
    const char *from = job->dir;
    int64_t first_ms;

    if (source == FROM_BACKUP || source == FROM_DIR_BACKUP) {
        path_of(job, backup, "backup", moment.number);
        if (!back_up(job, source, backup))
            return false;
        from = backup;
    }
    first_ms = earliest(from);
    moment.until_ms = some_moment(job, done);
    if (moment.until_ms < first_ms && !is_refused(job, from, moment.until_ms, done))
        return false;
    while (moment.until_ms < first_ms) /* which the last step is not */
        moment.until_ms =
            rng_percent(&job->rng, 10) ? job->moments->times[done - 1] : some_moment(job, done);
    moment.steps = steps_until(job, moment.until_ms, done);
    job->moments->at[job->moments->n++] = moment;
    return restore_one(job, from, &moment);
}

/* Between two steps: half of the moments, evenly. */
static bool look_around(struct job *job, size_t done)
{
    struct moments *moments = job->moments;
    size_t half = moments->wanted / 2;

    if (done % (job->ops / 8 + 1) == 0 && !await_image(job))
        return false;
    while (moments->n < half && done * half >= job->ops * (moments->n + 1))
        if (!add_moment(job, moments->n % 2 ? FROM_BACKUP : FROM_LIVE, done))
            return false;
    return true;
}

static bool record(struct job *job, struct generator *g)
{
    struct run *run = &job->run;

    for (size_t i = 0; i < job->ops; i++) {
        struct step *step = i + 1 < job->ops ? generator_next(g, run) : generator_last(g);

        replay_begin_step(run, i);
        if (!run_step(run, step))
            return false;
        note_time(job, i);
        if (!look_around(job, i + 1))
            return false;
    }
    tidings_close(run->engine);
    run->engine = NULL;
    while (job->moments->n < job->moments->wanted)
        if (!add_moment(job, job->moments->n % 2 ? FROM_DIR_BACKUP : FROM_CLOSED, job->ops))
            return false;
    return job->moments->images > 0 || run_fail(run, "no base image was made in all the run");
}

/* The steps of the seed, in a world where base images are made. */
static bool child_record(void *ctx, const char *dir)
{
    struct job *job = ctx;
    struct recording *recording = job->replay->recording;
    struct generator *g = calloc(1, sizeof *g);
    bool ok;

    job->dir = dir;
    generator_init(g, recording, recording->seed, job->users);
    rng_seed(&job->rng, recording->seed);
    g->large_body_every = 3;
    recording->settings.body_max = 65536;
    recording->settings.log_segment_mb = 1;
    recording->settings.snapshot_log_mb = 1;
    recording->settings.log_days = 3650; /* the run takes place some years ago */
    ok = run_open(&job->run, recording, dir) && record(job, g);
    free(g);
    if (ok)
        run_close(&job->run);
    return ok;
}

/* ---- The same steps again --------------------------------------------------------------------- */

static bool run_up_to(struct job *job, size_t *done, size_t steps)
{
    for (; *done < steps; ++*done) {
        replay_begin_step(&job->run, *done);
        if (!run_step(&job->run, &job->replay->recording->steps[*done]))
            return false;
    }
    return true;
}

/* From here on with the directory that was restored. */
static bool change_over(struct job *job, const struct moment *moment, char dir[PATH_MOST])
{
    struct run *run = &job->run;
    struct step step = {.kind = STEP_REOPEN, .now_ms = atomic_load(&run->clock_ms)};

    path_of(job, dir, "moment", moment->number);
    run->options.dir = dir;
    if (!run_step(run, &step))
        return false;
    step.kind = STEP_VERIFY;
    if (!run_step(run, &step))
        return false;
    step.kind = STEP_SWEEP;
    step.op.u.page.limit = (uint32_t)run->options.settings.page_max;
    return run_step(run, &step);
}

static bool child_check(void *ctx, const char *first)
{
    struct job *job = ctx;
    char dir[PATH_MOST];
    size_t done = 0;

    if (!run_open(&job->run, job->replay->recording, first))
        return false;
    for (size_t i = 0; i < job->moments->n; i++) {
        const struct moment *moment = &job->moments->at[i];

        if (!run_up_to(job, &done, moment->steps))
            return false;
        if (!change_over(job, moment, dir))
            return run_fail(&job->run, "after %zu steps, restored to %" PRId64 " from %s",
                            moment->steps, moment->until_ms, source_names[moment->source]);
    }
    if (!run_up_to(job, &done, job->ops))
        return false;
    run_close(&job->run);
    return true;
}

/* ---- Both ------------------------------------------------------------------------------------ */

static int by_steps(const void *a, const void *b)
{
    size_t x = ((const struct moment *)a)->steps;
    size_t y = ((const struct moment *)b)->steps;

    return (x > y) - (x < y);
}

static void remove_all(struct job *job)
{
    static const char *const names[] = {"moment", "backup", "refused"};
    char path[PATH_MOST];

    for (size_t i = 0; i < job->moments->wanted; i++)
        for (size_t j = 0; j < sizeof names / sizeof names[0]; j++) {
            path_of(job, path, names[j], i);
            replay_remove(path);
        }
}

bool moments_hold(struct replay *replay, size_t users, size_t ops, size_t moments)
{
    size_t size = sizeof(struct moments) + ops * sizeof(int64_t);
    struct job *job = calloc(1, sizeof *job);
    bool ok;

    *job = (struct job){.replay = replay, .users = users, .ops = ops};
    job->moments = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (job->moments == MAP_FAILED) {
        perror("mmap");
        abort();
    }
    job->moments->wanted = moments;
    ok = replay_child(replay, child_record, job);
    if (ok) {
        qsort(job->moments->at, job->moments->n, sizeof *job->moments->at, by_steps);
        printf("%zu moments, %zu base images\n", job->moments->n, job->moments->images);
        ok = replay_child(replay, child_check, job);
    }
    if (!replay->keep)
        remove_all(job);
    munmap(job->moments, size);
    free(job);
    return ok;
}
