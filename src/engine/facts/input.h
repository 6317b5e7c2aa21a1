/* SPDX-License-Identifier: MIT */
/* Lines out of bytes that somebody reads. */
#ifndef FACTS_INPUT_H
#define FACTS_INPUT_H

#include "base/buf.h"
#include "tidings.h"

struct input {
    struct tidings_import *from;
    struct buf buf; /* read, and from `at` on not yet handed out */
    size_t at;
    uint64_t line; /* the number of the last one handed out */
    bool ended, failed;
};

enum input_got { INPUT_LINE, INPUT_LONG, INPUT_END, INPUT_FAILED };

void input_begin(struct input *input, struct tidings_import *from);
void input_release(struct input *input);

/* Something to know the input by again, made of its beginning; never 0. Before the first line. False if it cannot be read. */
bool input_check(struct input *input, uint64_t *check);

/* The next line, without its end; it stays until the next call. Empty lines are passed by. LONG: it was longer than any can
 * be, and is behind us. */
enum input_got input_next(struct input *input, char **line, size_t *n);

#endif
