/* SPDX-License-Identifier: MIT */
/* Whether two engines hold the same: all facts of both, and questions about some users and posts. */
#ifndef CLI_MOVE_COMPARE_H
#define CLI_MOVE_COMPARE_H

#include "tidings.h"

/* What came by, each with the same chance, and what is found by chance in a shadow. */
enum { DRAWN_MAX = 50 };

struct drawn {
    uint64_t ids[2 * DRAWN_MAX];
    uint64_t n, seen;
};

struct sample {
    struct drawn users, posts;
    uint64_t random;
};

/* One that came by. */
void sample_see(struct sample *sample, enum tidings_subject subject, uint64_t id);
/* As many more, from anywhere. */
void sample_draw(struct sample *sample, struct tidings *shadow);

/* All facts of both, with progress of the second one's; false if they differ or cannot be read: *facts is untouched, *why says which. */
bool facts_compare(struct tidings *a, struct tidings *b, bool (*stop)(void), uint64_t *facts,
                   const char **why);

/* False if an answer differs, or there is none: *what says which. */
struct sample_outcome {
    uint64_t questions;
    char what[128];
};
bool sample_compare(const struct sample *sample, struct tidings *a, struct tidings *b,
                    struct sample_outcome *outcome);

#endif
