/* SPDX-License-Identifier: MIT */
/* What somebody meant who mistyped a name. */
#ifndef CLI_HINT_H
#define CLI_HINT_H

#include <stdbool.h>
#include <stddef.h>

struct hint {
    const char *typed;
    size_t n;
    size_t distance; /* of the nearest so far; 0: nothing is near */
};

/* True if that name is near enough to have been meant, and nearer than those before. */
bool hint_is_nearer(struct hint *hint, const char *name);

#endif
