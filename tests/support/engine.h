/* SPDX-License-Identifier: MIT */
/*
 * The engine that the tests of the contract run on: TIDINGS_TEST_ENGINE names it, `local` if it is not set. Another word
 * ends the program with a message. Whoever opens an engine here gets the one chosen.
 *
 * `ahead` reads ahead for every change, as the engine otherwise does while data is not in memory. `replica` is a server alone on
 * a log in MySQL, `follower` one that hands every change to another: both need the server of tests/support/with-mariadb, where a
 * data directory has a database of its own.
 */
#ifndef TESTS_SUPPORT_ENGINE_H
#define TESTS_SUPPORT_ENGINE_H

#include "tidings.h"

/* As tidings_open. */
enum tidings_err engine_open(const struct tidings_options *options, struct tidings **engine,
                             const char **message);

/*
 * Another server on the data of an engine that is open: its own directory, `dir`, and the log in MySQL of options->dir. Only
 * on the engine `replica`.
 */
enum tidings_err engine_open_beside(const struct tidings_options *options, const char *dir,
                                    struct tidings **engine, const char **message);

/* How many servers a test of several has: TIDINGS_TEST_SERVERS on the engine `replica`, else 1. */
unsigned engine_servers(unsigned most);

/* Ends the program here, rather than where an engine is first opened, if there is none of that name. */
void engine_must_exist(void);

/* The name of the database that a directory stands for. */
enum { DATABASE_BYTES = 32 };
void engine_database(const char *dir, char name[DATABASE_BYTES]);

/* Do several servers have the same data, and a secret for that? */
bool engine_shares(void);

/* What can be told from a token here: to everybody else a moment says nothing. */
/* Was there what has this id? */
bool engine_covers(const struct tidings_moment *as_of, uint64_t id);
/* Was it made later? */
bool engine_is_newer(const struct tidings_moment *as_of, uint64_t id);
/* Is `later` no older than `earlier`? */
bool engine_went_on(const struct tidings_moment *earlier, const struct tidings_moment *later);

/* A token that the engine cannot have given yet. */
struct tidings_moment engine_beyond(const struct tidings_moment *newest, uint64_t by);

#endif
