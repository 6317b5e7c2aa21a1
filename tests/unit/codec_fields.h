/* SPDX-License-Identifier: MIT */
/*
 * The fields of every operation that changes something, and of its answer, as tidings.h has them, and not as the codec does:
 * to be drawn at random, and to be compared.
 */
#ifndef TESTS_UNIT_CODEC_FIELDS_H
#define TESTS_UNIT_CODEC_FIELDS_H

#include "base/arena.h"
#include "tidings.h"
#include "unit/test.h"

/* Goes through the fields of two structs: fills the first at random, or compares it with the second. */
struct walk {
    struct rng *rng;
    struct arena *arena;
    bool draws;
};

/* Whether an operation of that kind changes something. */
bool is_change(int kind);

void draw_op(const struct walk *walk, enum tidings_op_kind kind, struct tidings_once *once,
             struct tidings_op *op);
void draw_answer(const struct walk *walk, enum tidings_op_kind kind, struct tidings_answer *answer);

/* Fail the test if they differ. */
void compare_ops(const struct walk *walk, struct tidings_op *a, const struct tidings_op *b);
void compare_answers(const struct walk *walk, enum tidings_op_kind kind, struct tidings_answer *a,
                     const struct tidings_answer *b);

#endif
