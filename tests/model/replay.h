/* SPDX-License-Identifier: MIT */
/*
 * Runs in a process of their own: one that crashes or hangs is one that failed, no more. The parent
 * never opens an engine, so it has no threads and may fork.
 */
#ifndef TIDINGS_TESTS_REPLAY_H
#define TIDINGS_TESTS_REPLAY_H

#include "recording.h"

struct run;

struct replay {
    struct recording *recording;
    const char *dir; /* runs make their data directories here, and take them away again */
    bool keep;       /* leave the data directory of a run */
    unsigned runs;   /* so far */
};

/* Makes up `ops` steps and runs them. The outcome is in the recording. */
void replay_new(struct replay *replay, size_t users, size_t ops);

/*
 * Runs the n steps of the recording whose numbers are in `kept`, and, from step `sweep_from` on, a
 * sweep after every `sweep_every` steps and after the last. True if that failed; the outcome's
 * failed_step is then a place in `kept`.
 */
bool replay_fails(struct replay *replay, const size_t *kept, size_t n, size_t sweep_from,
                  size_t sweep_every);

/*
 * Runs body in a process of its own, with the name of a directory that is not there yet. It answers whether all
 * was well, and says in the outcome's report why not. True if so, and it did not crash or hang.
 */
bool replay_child(struct replay *replay, bool (*body)(void *ctx, const char *dir), void *ctx);

/* In the child, before each step: it is the one to blame, and has so much time and no more. */
void replay_begin_step(struct run *run, size_t number);

/* Removes the directory with all that is in it. */
void replay_remove(const char *path);

/* Looks for fewer steps that fail as well, for so many seconds, and prints them. */
void shrink(struct replay *replay, unsigned seconds);

#endif
