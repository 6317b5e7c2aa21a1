/* SPDX-License-Identifier: MIT */
/* Whether a state of the disk gives back what it must. */
#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "powerloss.h"

enum { GO_ON = 25, PATIENCE_S = 120 };

/* Batches are there as a whole or not at all. Where one ended is told by the newest id, too: what changed
 * nothing has none of its own. */
static bool is_end(const struct script *script, const struct expectation *e, uint64_t newest)
{
    for (size_t i = 0; i <= script->n; i++)
        if (e->ends[i] && script->newest[i] == newest)
            return true;
    return false;
}

/* Where the data stand, and that it is between what was promised and what was asked for. */
static bool find_place(const struct script *script, struct run *run, const struct expectation *e,
                       size_t *place)
{
    uint64_t newest;
    if (!script_newest(run, &newest))
        return false;
    *place = script_place(script, newest);
    if (*place == SIZE_MAX)
        return run_fail(run, "newest id %" PRIu64 ": no change of the script ends there", newest);
    if (newest < script->newest[e->least])
        return run_fail(
            run,
            "LOST: %zu changes must have survived, only %zu are there (newest id %" PRIu64
            ", not %" PRIu64 ")",
            e->least, *place, newest, script->newest[e->least]);
    if (newest > script->newest[e->most])
        return run_fail(run, "%zu changes are there, but only %zu were asked for", *place, e->most);
    if (!is_end(script, e, newest))
        return run_fail(run, "%zu changes are there: a part of a batch", *place);
    return true;
}

/* Later operations give the right answers, too. */
static bool go_on(const struct script *script, struct run *run, size_t from)
{
    for (size_t i = from; i < script->n && i < from + GO_ON; i++) {
        atomic_store(&run->clock_ms, script_time(script, i));
        if (!run_call(run, &script->calls[i]))
            return run_fail(run, "change %zu, after the recovery", i);
    }
    return true;
}

static bool look(struct run *run, int64_t now_ms)
{
    return run_verify(run) && run_sweep(run, now_ms, (uint32_t)run->options.settings.page_max);
}

/* It must be all there from the oldest base image on, as for a recovery from that one; a restore to a moment reads it, too. */
static bool log_is_whole(struct run *run)
{
    const char *message = "";
    FILE *nowhere = fopen("/dev/null", "w");
    enum tidings_err err = tidings_print_log(run->options.dir, 0, false, nowhere, &message);
    fclose(nowhere);
    return !err || run_fail(run, "reading the log: %s: %s", tidings_err_code(err), message);
}

/* The least number that a name in the directory begins with; UINT64_MAX if there is none. */
static uint64_t least_number(const char *dir, const char *name)
{
    char path[SCRIPT_PATH];
    uint64_t least = UINT64_MAX;
    script_path(path, "%s/%s", dir, name);
    DIR *stream = opendir(path);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        uint64_t number = strtoull(entry->d_name, NULL, 10);
        if (number && number < least)
            least = number;
    }
    closedir(stream);
    return least;
}

/* A base image that came back without the log behind it would be taken for the state of every moment up to the next. */
static bool images_have_their_log(struct run *run)
{
    uint64_t image = least_number(run->options.dir, "snapshots");
    uint64_t first = least_number(run->options.dir, "log");
    return image == UINT64_MAX || first <= image + 1 ||
           run_fail(run, "a base image up to %" PRIu64 ", but the log begins with %" PRIu64, image,
                    first);
}

static bool recovers(const struct script *script, struct run *run, const struct expectation *e)
{
    size_t place;
    if (!run_open_engine(run) || !find_place(script, run, e, &place))
        return false;
    if (place > e->model)
        script_advance(script, run, e->model, place);
    else
        place = e->model; /* what followed changed nothing */
    if (!look(run, script_time(script, place)) || !go_on(script, run, place))
        return false;
    tidings_close(run->engine);
    return log_is_whole(run) && images_have_their_log(run) && run_open_engine(run) &&
           look(run, script_time(script, place + GO_ON));
}

void check(const struct script *script, struct run *run, const char *dir,
           const struct expectation *e)
{
    alarm(PATIENCE_S);
    if (!e->same_boot)
        script_another_boot(script);
    run->options.dir = dir;
    run->options.settings = script->recording->settings;
    use_small_files(&run->options.settings);
    run->outcome->report.n = 0;
    bool ok = recovers(script, run, e);
    if (ok)
        tidings_close(run->engine);
    _exit(ok ? EXIT_SUCCESS : EXIT_FAILURE);
}
