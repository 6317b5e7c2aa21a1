/* SPDX-License-Identifier: MIT */
/* The smaller tests, each with an engine of its own; each says whether it passed. */
#ifndef TIDINGS_TESTS_SCENES_H
#define TIDINGS_TESTS_SCENES_H

#include "world.h"

/* How long a test that is about chance goes on. */
extern unsigned test_seconds;

/* together.c: an answer is of one moment. */
bool total_and_as_of_are_of_one_moment(const char *dir, uint64_t seed);

/* votes.c: sixteen threads vote on the same comments, and what is counted is what is there. */
bool votes_fold_and_unfold(const char *dir, uint64_t seed);

/* stories.c: who is told of scenes, and what is unread of that. */
bool notifications_are_counted_right(const char *dir, uint64_t seed);

/* Hundreds in flight, finished in whatever order they are done; nothing is lost or done twice. */
bool submit_many(const char *dir, uint64_t seed);

/* The queue is full: busy, and that one has changed nothing; the others have. */
bool submit_to_a_full_queue(const char *dir, uint64_t seed);

/* More readers at the same moment than there may be. */
bool read_with_few_readers(const char *dir, uint64_t seed);

/* A second engine on the directory of an open one is refused, and does no harm. */
bool open_twice(const char *dir, uint64_t seed);

#endif
