/* SPDX-License-Identifier: MIT */
/*
 * A small community that has a bit of everything, and verdicts on what verify makes of damage done to it on purpose, one
 * row at a time. Damage must be found. Where it can be recomputed, repairing must make every public answer what it was;
 * where it cannot, repairing must leave everything else alone.
 */
#ifndef TESTS_LOCAL_COMMUNITY_H
#define TESTS_LOCAL_COMMUNITY_H

#include "contract/harness.h"
#include "local/damage.h"

enum { ANN = 1, BOB, CID, DAN, EVE, FAY, USERS = FAY };
enum { POSTS = 150 };

extern uint64_t posts[POSTS]; /* of ANN, oldest first */
extern uint64_t dans_post;
extern char *before;                            /* every public answer, while all was well */
extern const struct tidings_once followed_once; /* what FAY followed ANN with */

/* Around every test. */
int community_begin(void **state);
int community_end(void **state);

/* Every public answer as text; the caller frees. */
char *all_answers(void);

/* How many differences there are. TEST_REPORT=1 shows what verify says. */
uint64_t verify(bool repair);

/* The damage is found, looking changes nothing, and repairing makes everything as it was. */
void assert_mended(void);
/* The damage is found and nobody crashes over it. */
void assert_found(void);
/*
 * A record that cannot be read: found; and repairing touches nothing that hangs on it, so that with
 * the record back in its place (from a backup, say) all is as it was.
 */
void assert_left_alone(enum table table, struct key key, size_t cut);

#endif
