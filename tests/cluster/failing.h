/* SPDX-License-Identifier: MIT */
/*
 * For tests of what happens when MySQL fails: engines on a database of their own, connections of somebody else to it, calls that
 * are waited for later, and the server of tests/support/with-mariadb at command. When a test ends, verify must find nothing.
 *
 * A server's lanes take users by their number: those with even ones share a lane, and so a batch.
 */
#ifndef TESTS_CLUSTER_FAILING_H
#define TESTS_CLUSTER_FAILING_H

#include <pthread.h>

#include "cluster/sql_support.h"

enum { ENGINES = 2, PATIENCE_MS = 20000, ANN = 2, BOB = 4, CID = 6, DAN = 8, PLUG = 1000 };

extern struct tidings *engines[ENGINES]; /* the first is open when a test begins */
extern struct tidings_answer answer;
extern struct tidings_options options; /* for those that a test opens itself */

/* Setup and teardown; `state` may point to a number, the deadline_ms of its engines. */
int failing_begin(void **state);
int failing_end(void **state);
#define FAILING(name) cmocka_unit_test_setup_teardown(name, failing_begin, failing_end)

/* The URL of the test's database, for this user and by this socket, NULL: root, and the server's own. Stays until the next. */
const char *failing_url(const char *user, const char *socket);
void engine_start(unsigned i);
void engine_stop(unsigned i);
/* With other options, in place of the first. */
void engine_start_anew(const char *url);

/* ---- Somebody else -------------------------------------------------------------------------- */

/* A connection to the test's database. */
struct sql *foreign(void);
/* Polls until the statement answers that number, and no longer than PATIENCE_MS. */
void await(struct sql *sql, const char *text, uint64_t wanted);
/* So many transactions of the server wait for a lock. */
void await_lock_waits(struct sql *sql, uint64_t n);
/* Tells the server what to do: see tests/support/with-mariadb. */
void server_do(const char *word);
/* The same for whoever listens to the socket that the variable names: see tests/support/with-redis. */
void control_do(const char *variable, const char *word);

/* ---- Operations ----------------------------------------------------------------------------- */

enum tidings_err run(struct tidings_op op);
void must(struct tidings_op op);
struct tidings_op follow_op(uint64_t fan, uint64_t author);
struct tidings_op publish_op(uint64_t author);
struct tidings_op badge_op(uint64_t user);
uint64_t badge(uint64_t user);
uint64_t posts_of(uint64_t author);

/* One that is waited for later. */
struct asked {
    struct tidings *engine;
    struct tidings_op op;
    struct tidings_answer answer;
    struct tidings_call call;
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
};

void ask(struct asked *asked, struct tidings_op op);
/* Its outcome; `answer` is what was answered. */
enum tidings_err heard(struct asked *asked);

/* The lane of even users is kept from taking further calls until then, so that those become one batch. */
struct plug {
    struct sql *holder;
    struct asked asked;
};
void plug_put(struct plug *plug);
void plug_pull(struct plug *plug);

int64_t now_ms(void);
/* Polls: whether it happens within PATIENCE_MS. */
bool in_time(bool (*happens)(void));

#endif
