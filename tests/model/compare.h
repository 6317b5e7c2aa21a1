/* SPDX-License-Identifier: MIT */
#ifndef TIDINGS_TESTS_COMPARE_H
#define TIDINGS_TESTS_COMPARE_H

#include "model.h"
#include "report.h"

/*
 * Is the engine's answer the model's? Every field counts, except what the engine makes up: event
 * ids, as_of, and what a cursor looks like. If not: false, and in the report every field that
 * differs.
 */
bool compare_answers(const struct tidings_op *op, const struct model_answer *want,
                     const struct tidings_answer *got, struct report *report);

#endif
