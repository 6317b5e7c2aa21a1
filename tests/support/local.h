/* SPDX-License-Identifier: MIT */
/*
 * What `as_of` is: the newest id there was, in the first part; the others are 0. Only for tests about the engine's tokens. To
 * everybody else a moment says nothing.
 */
#ifndef TESTS_SUPPORT_LOCAL_H
#define TESTS_SUPPORT_LOCAL_H

#include "tidings.h"

static inline uint64_t local_newest(const struct tidings_moment *as_of)
{
    return as_of->part[0];
}

static inline struct tidings_moment local_moment(uint64_t newest)
{
    return (struct tidings_moment){{newest}};
}

#endif
