/* SPDX-License-Identifier: MIT */
/* Many calls under way from one thread; each is a test that says whether it passed. */
#ifndef TIDINGS_TESTS_SUBMIT_H
#define TIDINGS_TESTS_SUBMIT_H

#include "world.h"

/* Hundreds in flight, finished in whatever order they are done; nothing is lost or done twice. */
bool submit_many(const char *dir, uint64_t seed);

/* The queue is full: busy, and that one has changed nothing; the others have. */
bool submit_to_a_full_queue(const char *dir, uint64_t seed);

/* More readers at the same moment than there may be. */
bool read_with_few_readers(const char *dir, uint64_t seed);

/* A second engine on the directory of an open one is refused, and does no harm. */
bool open_twice(const char *dir, uint64_t seed);

#endif
