/* SPDX-License-Identifier: MIT */
/*
 * A run: one engine and one model that are given the same operations, step by step, and must give
 * the same answers. A function that returns false has written into the outcome's report why.
 */
#ifndef TIDINGS_TESTS_RUN_H
#define TIDINGS_TESTS_RUN_H

#include "model.h"
#include "recording.h"
#include "run_story.h"

#include <stdatomic.h>

/* A place in a list, in the engine's terms and in the model's. */
struct place {
    uint32_t list;
    struct tidings_cursor engine;
    struct tidings_cursor model;
};

/* A token, and what it covers. */
struct kept_token {
    struct tidings_moment as_of;
    struct model_moment covers;
};

struct run {
    struct recording *recording;
    struct outcome *outcome;
    struct tidings_options options;
    _Atomic int64_t clock_ms;

    struct tidings *engine;
    struct model model;
    struct tidings_answer answer; /* the engine's and the model's to the last operation */
    struct model_answer expected;

    uint64_t *post_ids;   /* by number of publish; 0 if it has made none */
    uint32_t *publish_of; /* by index of the post in the model */
    size_t post_room;
    uint64_t *comment_ids; /* the same of comments */
    uint32_t *comment_of;
    struct place places[LISTS];
    struct kept_token slots[SLOTS];
    struct tidings_moment newest; /* the last token given */
    struct run_story story;

    /* Told of every operation that both have run, with all that the model had to be told; may be NULL. */
    void (*ran)(struct run *run, const struct model_call *call);
    void *ran_ctx;
    /* Errors of the storage are no difference: the operation has done nothing, and the model is not asked. */
    bool storage_fails;
};

/* Opens an engine in `dir`, which must be empty or missing. run_close works in any state. */
bool run_open(struct run *run, struct recording *recording, const char *dir);
void run_close(struct run *run);

/* The two halves of run_open: everything but the engine, and the engine in options.dir. */
void run_init(struct run *run, struct recording *recording, const char *dir);
bool run_open_engine(struct run *run);
/* tidings_verify finds nothing. */
bool run_verify(struct run *run);

bool run_step(struct run *run, const struct step *step);

/*
 * One operation on both, and every comparison there is; model_after is its cursor in the model's
 * terms. The answers stay in `answer` and `expected`.
 */
bool run_op(struct run *run, const struct tidings_op *op, struct tidings_cursor model_after);
/* The same with all that the operation says in the model's terms; the call's time and new ids are not used. */
bool run_call(struct run *run, const struct model_call *asked);

/* Whether the error is one of the storage, not of what was asked for. */
bool is_storage_error(enum tidings_err err);

/* Is the id of something new greater than all before it? */
bool run_check_new_id(struct run *run, uint64_t id, const char *what);

/* Where the list of the last answer goes on, in the model's terms. */
struct tidings_cursor run_model_next(const struct run *run, const struct tidings_op *op);
/* The id that a ref stands for. */
uint64_t run_ref_id(const struct run *run, const struct ref *ref);

/* sweep.c: asks everything that can be asked, `limit` rows a page. */
bool run_sweep(struct run *run, int64_t now_ms, uint32_t limit);

/* Writes into the report; false. */
bool run_fail(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
