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

/* ---- What the rows' comparisons are made of ---------------------------------------------------- */

struct diff {
    const struct tidings_op *op;
    struct report *report;
    size_t differences;
    const char *list; /* "rows" or NULL */
    size_t row;
};

/* Begins a line about a field; false if enough has been said. */
bool differs(struct diff *diff, const char *field);

void same_u64(struct diff *diff, const char *field, uint64_t want, uint64_t got);
void same_i64(struct diff *diff, const char *field, int64_t want, int64_t got);
void same_bool(struct diff *diff, const char *field, bool want, bool got);
void same_text(struct diff *diff, const char *field, struct tidings_text want,
               struct tidings_text got);

/* How many rows both have; the list goes on in both or in neither. */
size_t same_length(struct diff *diff, size_t want, size_t got);
void same_end(struct diff *diff, struct tidings_cursor want, struct tidings_cursor got);

void same_users(struct diff *diff, const struct model_answer *want,
                const struct tidings_answer *got);
void same_among(struct diff *diff, const struct model_answer *want,
                const struct tidings_answer *got);

void same_counts(struct diff *diff, const struct tidings_counts *want,
                 const struct tidings_counts *got);
/* The author and the story of what was deleted. */
void same_deleted(struct diff *diff, const struct model_answer *want,
                  const struct tidings_answer *got);

#endif
