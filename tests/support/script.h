/* SPDX-License-Identifier: MIT */
/*
 * A script: the changes of a random run of the model test (tests/model), written down so that they can
 * be made again, in this order, on any engine. The engine's ids depend on the order and the times alone,
 * so they come out the same, and the model can follow without an engine. Where an engine's data stand in
 * the script is told by its newest id.
 */
#ifndef TIDINGS_TESTS_SCRIPT_H
#define TIDINGS_TESTS_SCRIPT_H

#include <sys/types.h>

#include "model/run.h"

enum { SCRIPT_PATH = 1024 };

struct script {
    struct recording *recording; /* the settings and users */
    struct model_call *calls;
    uint64_t *
        newest; /* the newest id before the first call, after it, after the second ... n + 1 of them */
    size_t n;
    char dir[SCRIPT_PATH]; /* where data directories can be made; the script's own */
};

/* Makes a script of about `steps` / 2 changes. False if that failed, with a word on stderr. */
bool script_make(struct script *script, uint64_t seed, size_t users, size_t steps,
                 const char *parent);
void script_free(struct script *script);

/* A copy whose ids live as long as the recording; the operation is the same. */
struct model_call script_keep_ids(struct recording *recording, const struct model_call *call);

/* Makes every body longer by so many bytes, so that the files grow. Answers and ids do not depend on it. */
void script_fatten(struct script *script, size_t bytes);

/* The newest id in the run's engine. */
bool script_newest(struct run *run, uint64_t *id);
/* How many of the script's changes lead to this newest id; SIZE_MAX if none do. */
size_t script_place(const struct script *script, uint64_t newest);
/* Lets the model alone make the changes from `from` on, up to but without `to`. */
void script_advance(const struct script *script, struct run *run, size_t from, size_t to);
/* Makes the first `n` changes on an engine that has none. False if it did not take them as it did at first. */
bool script_play(const struct script *script, struct tidings *engine, size_t n);
/* A change of the script as a run whose newest id is this one would see it: some changes before it may be missing there,
 * and what its token covers with them. */
struct model_call script_call(const struct script *script, const struct run *run, size_t at,
                              uint64_t newest);
/* The time of a change. */
int64_t script_time(const struct script *script, size_t at);

/* Writes a boot id that is not this machine's; from then on a process can be shown it. */
void script_boot_id(const struct script *script);
void script_another_boot(const struct script *script);

/* Sets a setting by its name; nothing happens if there is none of that name. */
void script_set(struct tidings_settings *settings, const char *name, uint64_t value);

/* Waits for a process. True if it ended with 0; otherwise adds to the report what it could not say. */
bool script_wait(pid_t pid, struct report *report);

/* Makes the directory, removes it with all that is in it, or copies one. */
void script_make_dir(const char *path);
void script_remove(const char *path);
void script_copy(const char *from, const char *to);
/* A new directory below $TMPDIR or, since tests wait for it so often, in memory. */
void script_temporary(char path[SCRIPT_PATH], const char *name);
/* Like snprintf; a path that is too long ends the program. */
void script_path(char path[SCRIPT_PATH], const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
