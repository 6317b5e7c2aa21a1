/* SPDX-License-Identifier: MIT */
/* Questions about some users and posts, drawn from all that were exported, asked of two engines: whether both answer alike. */
#ifndef CLI_MOVE_COMPARE_H
#define CLI_MOVE_COMPARE_H

#include "tidings.h"

enum { DRAWN_MAX = 100 };

/* Each of those that came by with the same chance. */
struct drawn {
    uint64_t ids[DRAWN_MAX];
    uint64_t n, seen;
};

struct sample {
    struct drawn users, posts;
    uint64_t random;
};

/* Lines of an export, whole ones. */
void sample_draw(struct sample *sample, const char *lines, size_t n);

/* False if an answer differs, or there is none: *what says which. */
struct sample_outcome {
    uint64_t questions;
    char what[128];
};
bool sample_compare(const struct sample *sample, struct tidings *a, struct tidings *b,
                    struct sample_outcome *outcome);

#endif
