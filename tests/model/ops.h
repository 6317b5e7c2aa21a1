/* SPDX-License-Identifier: MIT */
/*
 * What the model test knows of an operation: a row. How it is made up, what the model answers, how the answers are
 * compared, printed and swept. The rows stand in the files of their capabilities (relation.c, post.c ...), and one that is
 * missing does not link. A function that is NULL has nothing to do.
 */
#ifndef TIDINGS_TESTS_OPS_H
#define TIDINGS_TESTS_OPS_H

#include "compare.h"
#include "generate.h"
#include "invariants.h"
#include "model.h"
#include "recording.h"
#include "render.h"
#include "run.h"
#include "sweep.h"

struct op_row {
    /* Lists and tokens: where they are in the operation and in its answer; 0: it has none. */
    size_t page;
    size_t next;
    size_t as_of;
    bool delivers; /* what it makes is delivered: tokens of the moment before it are kept, too */
    bool endless;  /* any number is a place in its list, and there is always one to ask again at */

    /* Making it up: how often in which mood; its arguments; one of them made wrong; the clock to when it matters. */
    unsigned char weights[MOODS];
    void (*arguments)(struct generator *g, struct run *run, struct step *step);
    void (*mistake)(struct generator *g, struct step *step);
    void (*aim)(struct generator *g, struct run *run, const struct step *step);

    /* Its arguments in the step's line. */
    void (*report)(struct report *report, const struct step *step);

    /* Running it: fills in what the step only names; where its list begins, if not at the beginning; */
    bool (*resolve)(struct run *run, const struct step *step, struct tidings_op *op);
    struct place (*begin)(const struct run *run, const struct step *step);
    /* it has succeeded: what did the engine make up that the model must be told; both agree: what is learned from that; */
    bool (*learn)(struct run *run, struct model_call *call);
    bool (*heard)(struct run *run);
    /* and what is kept for later steps; where its list goes on in the model's terms, if the model leaves it open. */
    bool (*remember)(struct run *run, const struct step *step, const struct tidings_op *op);
    struct tidings_cursor (*model_next)(const struct run *run);

    /* The model: the name of the first bad argument, or NULL; then one of these. `write` says whether the operation counts
     * as a write made at call->t. */
    const char *(*check)(const struct model *model, const struct model_call *call);
    bool (*write)(struct model *model, const struct model_call *call, struct model_answer *answer);
    void (*read)(struct model *model, const struct model_call *call, struct model_answer *answer);

    /* The answer to a success: is it the model's; is it sound in itself; in one line, as what is to be made once stores it,
     * and the model's in the same words. */
    void (*compare)(struct diff *diff, const struct model_answer *want,
                    const struct tidings_answer *got);
    void (*hold)(struct check *check, const struct tidings_answer *answer);
    int (*line)(char *line, const struct tidings_answer *answer);
    int (*model_line)(char *line, const struct model_answer *answer);

    /* Everything that can be asked: once, and for each user. */
    bool (*sweep)(struct sweep *sweep);
    bool (*sweep_user)(struct sweep *sweep, uint64_t viewer);
};

#define X(name, lower, writes, args, answer) extern const struct op_row row_##lower;
TIDINGS_OPS(X)
#undef X

/* The row of an operation; NULL if there is no such operation. */
const struct op_row *op_row(enum tidings_op_kind kind);

#endif
