/* SPDX-License-Identifier: MIT */
/* Answers of operations that are to be made once, as bytes: what a host would store and send again.
 */
#ifndef TIDINGS_TESTS_RENDER_H
#define TIDINGS_TESTS_RENDER_H

#include "model.h"

enum { RENDER_MAX = 320 };

/* What `ctx` of a struct tidings_once points to. */
struct render {
    enum tidings_op_kind kind;
    char text[RENDER_MAX];
};

/* For struct tidings_once. Says what all answers of this kind say, in one line. */
bool render_answer(const struct tidings_once *once, const struct tidings_answer *answer,
                   struct tidings_text *bytes);

/* The same of the model's answer. The caller drops it. */
struct tidings_text model_render(const struct tidings_op *op, const struct model_answer *answer);

/* inbox.c: the line of a mark. */
int line_of_mark(char *line, uint64_t marked, uint64_t total);

/* The id in a line that begins with this word ("post ", "comment ", "scene "); 0 if it does not. */
uint64_t render_id(struct tidings_text bytes, const char *word);

#endif
